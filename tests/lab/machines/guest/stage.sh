# Second stage, in the overlay: mounts, modules, what the server's file does inside; then the
# command. Its exit status goes to the share, and the machine is switched off however it ends.
export PATH=/mnt/lab/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root
off() { echo o >/proc/sysrq-trigger; sleep 60; }
trap off EXIT
mount -t tmpfs t /run; mkdir -p /dev/shm /dev/pts; mount -t tmpfs t /dev/shm
mount -t devpts p /dev/pts; mkdir -p /run/lock /run/lvm /run/udev
ln -sfn /proc/self/fd /dev/fd; ln -sfn fd/0 /dev/stdin; ln -sfn fd/1 /dev/stdout; ln -sfn fd/2 /dev/stderr
mount -t cgroup2 c /sys/fs/cgroup; mount -t debugfs d /sys/kernel/debug
machine=$(sed -n 's/.*lab[.]machine=\([0-9]*\).*/\1/p' /proc/cmdline)
hostname "lab$machine"
ip link set lo up
path=$PATH
. /mnt/lab/environment 2>/dev/null
PATH=$path:$PATH; unset path TMPDIR OUT
export PATH HOME=/root MACHINE=$machine
read -r -a modules <"/mnt/lab/modules$machine"
# Links below /dev/disk, names of cards, and whatever else a server's udev makes of its devices.
/usr/lib/systemd/systemd-udevd --daemon
modprobe -a configfs "${modules[@]}"
mount -t configfs c /sys/kernel/config
udevadm settle
# What does not come up as its file says is no server: no command runs in it.
bash -e "/mnt/lab/inside$machine" || exit
cut -d' ' -f1 /proc/uptime >"/mnt/lab/up$machine"
# obey: the far machine's work, one command after another, each when it is whole.
obey() {
  local number=1 order
  while :; do
    order=/mnt/lab/far/$number
    if [ -e "$order" ]; then
      bash "$order" >"$order.said" 2>&1 </dev/null
      echo $? >"$order.new"; mv "$order.new" "$order.status"
      number=$((number + 1))
    else
      sleep 0.1
    fi
  done
}
if [ "$machine" != 1 ]; then
  obey
elif [ -e /mnt/lab/terminal ]; then
  setsid -c bash -c '. /mnt/lab/terminal; . /mnt/lab/command' <>/dev/hvc0 >&0 2>&1
else
  bash /mnt/lab/command </dev/null >/dev/vport*p1 2>/dev/vport*p2
fi
echo $? >/mnt/lab/status.new; mv /mnt/lab/status.new /mnt/lab/status
