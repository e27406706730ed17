# Second stage, in the overlay: mounts, modules, throttles; then the test's own script.
export PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root NO_COLOR=1
mount -t tmpfs t /run; mkdir -p /dev/shm; mount -t tmpfs t /dev/shm
modules=/lib/modules/$(uname -r); mkdir -p "$modules"
mount --bind /usr/lib/uml/modules/"$(uname -r)" "$modules"
mkdir -p /mnt/out; mount -t hostfs -o @HERE@/out out /mnt/out
mkdir -p /sys/fs/cgroup; mount -t tmpfs cg /sys/fs/cgroup
for group in blkio memory; do
  mkdir /sys/fs/cgroup/$group; mount -t cgroup -o $group $group /sys/fs/cgroup/$group
done
# Every ubd disk delivers so much; disks are 16 minor numbers apart.
for disk in /sys/block/ubd*; do
  for kind in read write; do
    echo "$(cat "$disk"/dev) @LIMIT@" > /sys/fs/cgroup/blkio/blkio.throttle.${kind}_bps_device
  done
done
cd /root || exit 1
bash @HERE@/watch.sh > /dev/null 2>&1 &
bash @HERE@/script.sh > /mnt/out/said 2>&1
echo $? > /mnt/out/status
sync
poweroff -f
