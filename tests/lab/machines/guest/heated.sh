# Reads a drive whose limit falls to a third, and which warns, once it has read for some seconds.
# The temperature of an emulated drive never changes: it is the drive's word alone. $fast is the limit
# before, bytes per second.
limit() { monitor block_set_io_throttle plain "$1" 0 0 0 0 0; }
blocks_read() { awk '{ print $3 }' "/sys/block/$drive/stat"; }
controller=$(dirname "$(grep -l NVME0001 /sys/class/nvme/*/serial)")
drive=$(basename "$(ls -d "$controller"/nvme*n1)")
mkfs.ext4 -q -E lazy_itable_init=0,lazy_journal_init=0 "/dev/$drive"
mkdir /hot; mount "/dev/$drive" /hot
limit "$fast"
brickyard run sequential-read --dir /hot --replicates 1 --store /root/hot.db --json stop=16s \
  file-size=24MiB block-size=128KiB queue-depth=4 >/mnt/out/heated.json &
load=$!
before=$(blocks_read)
until [ $(($(blocks_read) - before)) -gt $((fast * 6 / 512)) ]; do sleep 0.2; done
limit $((fast / 3))
monitor qom-set /machine/peripheral/plain-nvme smart_critical_warning 2
wait $load
brickyard inspect --no-measure --json >/mnt/out/hot.json
echo "$fast" >/mnt/out/fast
umount /hot
monitor qom-set /machine/peripheral/plain-nvme smart_critical_warning 0
limit 20000000
