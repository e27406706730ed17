#!/bin/bash
# First process of the guest: its root is the host's, read-only through hostfs; what is written goes
# to memory. @HERE@ is the folder that the test made.
export PATH=/usr/sbin:/usr/bin:/sbin:/bin
mount -nt proc p /proc; mount -nt sysfs s /sys; mount -nt tmpfs t /mnt
insmod /usr/lib/uml/modules/"$(uname -r)"/kernel/fs/overlayfs/overlay.ko
mkdir -p /mnt/u /mnt/w /mnt/n
mount -nt overlay -o lowerdir=/,upperdir=/mnt/u,workdir=/mnt/w ov /mnt/n || exit 1
mount -n --move /proc /mnt/n/proc; mount -n --move /sys /mnt/n/sys; mount -nt devtmpfs d /mnt/n/dev
exec chroot /mnt/n /bin/bash @HERE@/stage.sh
