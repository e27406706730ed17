# Scenarios of pools: each begins on no pool with the defaults of ZFS, and leaves json$n, and in
# read$n what its disks and its cache device have read meanwhile, in bytes.
settings=/sys/module/zfs/parameters
began() {
  umount /v 2>/dev/null || true
  zpool destroy -f tank 2>/dev/null || true
  for disk in vda vdb vdc; do wipefs -qaf "/dev/$disk"; blockdev --rereadpt "/dev/$disk"; done
  echo "$1" >$settings/zfs_arc_max
  echo 0 >$settings/zfs_prefetch_disable
  # As 2.1 has it: of 64 MiB ahead most are not read by the end of a short trial.
  echo 8388608 >$settings/zfetch_max_distance
  sync; echo 3 >/proc/sys/vm/drop_caches
}
pool() { zpool create -f -o cachefile=none -O mountpoint=/tank -O atime=off -O compression=off tank "$@"; }
# What is read before is offered to the cache device at once, what was read ahead too.
feeds_soon() {
  echo 0 >$settings/l2arc_noprefetch
  echo 1 >$settings/l2arc_feed_again
  echo 0 >$settings/l2arc_headroom
  echo 67108864 >$settings/l2arc_write_max
}
# volume SIZE PROPERTY...: a file system on a volume, at /v.
volume() {
  local size=$1; shift
  zfs create -s -V "$size" "$@" tank/vol
  udevadm settle
  mkfs.ext4 -q -E lazy_itable_init=0,lazy_journal_init=0 /dev/zvol/tank/vol
  mkdir -p /v; mount /dev/zvol/tank/vol /v
}
bytes_read() { awk -v disks=" $* " 'index(disks, " " $3 " ") { sum += $6 * 512 } END { print sum + 0 }' /proc/diskstats; }
# measured N WORKLOAD KNOB...
measured() {
  local n=$1 data cache; shift
  zpool sync tank
  data=$(bytes_read vda vdb) cache=$(bytes_read vdc)
  rm -f "/root/$n.db"
  brickyard run "$@" --replicates 1 --store "/root/$n.db" --json >"/mnt/out/json$n"
  echo "$(($(bytes_read vda vdb) - data)) $(($(bytes_read vdc) - cache))" >"/mnt/out/read$n"
}
