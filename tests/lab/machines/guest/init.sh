#!/bin/busybox sh
# First process of the guest, in its initrd: the root is this machine's, read-only over 9p, under the
# layers of the cache; what is written goes to memory.
B=/bin/busybox
$B mount -t proc p /proc; $B mount -t sysfs s /sys; $B mount -t devtmpfs d /dev
for module in /mods/*; do $B insmod "$module"; done
word() { $B sed -n "s/.*lab[.]$1=\([^ ]*\).*/\1/p" /proc/cmdline; }
nine=trans=virtio,version=9p2000.L,msize=512000
$B mount -t 9p -o $nine,cache=loose,ro host /host
$B mount -t 9p -o $nine,cache=loose,ro cache /cache
lower=
for layer in $(word layers | $B tr , ' '); do lower=$lower/cache/$layer:; done
$B mount -t tmpfs t /memory; $B mkdir -p /memory/upper /memory/work
$B mount -t overlay -o "lowerdir=$lower/host,upperdir=/memory/upper,workdir=/memory/work" o /root
for folder in proc sys dev; do $B mount --move /$folder /root/$folder; done
$B mkdir -p /root/mnt/lab /root/mnt/out
$B mount -t 9p -o $nine lab /root/mnt/lab
$B mount -t 9p -o $nine out /root/mnt/out
exec $B switch_root /root /bin/bash /mnt/lab/stage.sh
