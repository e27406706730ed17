# Layers on layers of devices, in a guest. `$dev` is the device that the next layer lies on, `$n`
# the layer's number; each is undone by `clean`. Origins are on $slow, caches on $fast.
slow=${slow:-/dev/ubda} fast=${fast:-/dev/ubdb}
modprobe -a loop dm-mod dm-cache dm-cache-smq dm-writecache bcache raid0
export DM_DISABLE_UDEV=1
# $pvs: the devices that it may look at. What lies on a cache is seen on what is below it as well.
lvm() {
  local accept= pv
  for pv in $pvs; do accept+="\"a|^$pv\$|\","; done
  "$@" -y > /dev/null 2>> /mnt/out/tools --config "
    devices{filter=[$accept\"r|.*|\"] scan=[\"/dev\"] use_devicesfile=0 scan_lvs=1}
    activation{udev_sync=0 udev_rules=0} backup{backup=0 archive=0}"
}
undo=()
later() { undo=("$*" "${undo[@]}"); }
clean() {
  for step in "${undo[@]}"; do
    eval "$step" > /dev/null 2>> /mnt/out/tools || echo "not undone: $step"
  done
  undo=() dev=$slow n=0
  for disk in $slow $fast; do dd if=/dev/zero of=$disk bs=1M count=4 oflag=direct status=none; done
}
# What the layer below was before is not to be taken for what it is now.
next() { n=$((n + 1)); dd if=/dev/zero of="$dev" bs=1M count=1 oflag=direct status=none; }
kernel_name() {
  local major minor
  read -r major minor <<< "$(stat -Lc '0x%t 0x%T' "$dev")"
  basename "$(readlink "/sys/dev/block/$((major)):$((minor))")"
}
sectors() { blockdev --getsz "$1"; }
mapped() { dmsetup create "$1" --table "$2"; later "dmsetup remove $1"; dev=/dev/mapper/$1; }

linear() { next; mapped "lin$n" "0 $(sectors "$dev") linear $dev 0"; }
md() {
  next
  mdadm --create "/dev/md$n" --run --force --level=0 --raid-devices=1 "$dev" 2>> /mnt/out/tools
  later "mdadm --stop /dev/md$n"
  dev=/dev/md$n
}
volume() {
  next
  pvs=$dev
  lvm pvcreate -ff "$dev"; lvm vgcreate "v$n" "$dev"; lvm lvcreate -Zn -Wn -l 100%FREE -n l "v$n"
  later "pvs='$pvs' lvm vgchange -an v$n"
  dev=/dev/mapper/v$n-l
}
# looped on|off: with direct I/O or through the page cache.
looped() {
  next
  mkfs.ext4 -qF "$dev"; mkdir -p "/m/$n"; mount "$dev" "/m/$n"; later "umount /m/$n"
  fallocate -l "$(df --output=avail -m "/m/$n" | awk 'END {print int($1 * 0.9)}')M" "/m/$n/file"
  dev=$(losetup -f --show --direct-io="$1" "/m/$n/file")
  later "losetup -d $dev"
}
# bcache MODE
bcache() {
  next
  make-bcache --wipe-bcache -b 64k -C $fast > /dev/null 2>> /mnt/out/tools
  make-bcache --wipe-bcache -B "$dev" > /dev/null 2>> /mnt/out/tools
  echo $fast > /sys/fs/bcache/register; echo "$dev" > /sys/fs/bcache/register
  until [ -e /sys/block/bcache0/bcache/cache_mode ]; do sleep 0.1; done
  local set; set=$(ls -d /sys/fs/bcache/*-*)
  echo "${set##*/}" > /sys/block/bcache0/bcache/attach
  echo "$1" > /sys/block/bcache0/bcache/cache_mode
  echo 0 > /sys/block/bcache0/bcache/sequential_cutoff
  [ "$1" != writeback ] || echo 0 > /sys/block/bcache0/bcache/writeback_running
  echo 0 > "$set/congested_read_threshold_us"; echo 0 > "$set/congested_write_threshold_us"
  later "while [ -e $set ] || [ -e /sys/block/bcache0 ]; do sleep 0.1; done"
  later "echo 1 > $set/stop"
  later "echo 1 > /sys/block/bcache0/bcache/stop"
  dev=/dev/bcache0
}
# dm_cache MODE
dm_cache() {
  next
  local on=$dev all; all=$(sectors $fast)
  mapped "meta$n" "0 16384 linear $fast 0"
  mapped "data$n" "0 $((all - 16384)) linear $fast 16384"
  dd if=/dev/zero of="/dev/mapper/meta$n" bs=1M count=1 oflag=direct status=none
  local parts="/dev/mapper/meta$n /dev/mapper/data$n $on"
  mapped "cache$n" "0 $(sectors "$on") cache $parts 128 1 $1 smq 0"
}
writecache() { next; mapped "write$n" "0 $(sectors "$dev") writecache s $dev $fast 512 0"; }
# lvm_cache MODE
lvm_cache() {
  next
  pvs="$dev $fast"
  lvm pvcreate -ff "$dev" $fast; lvm vgcreate "v$n" "$dev" $fast
  lvm lvcreate -Zn -Wn -l 100%PVS -n l "v$n" "$dev"
  lvm lvcreate -Zn -Wn -L 100M -n c "v$n" $fast
  later "pvs='$pvs' lvm vgchange -an v$n"
  lvm lvconvert --type cache --cachevol "v$n/c" --cachemode "$1" --chunksize 64k "v$n/l"
  dev=/dev/mapper/v$n-l
}

# pool all|metadata: a volume on a pool of ZFS, of which that stays in memory.
pool() {
  next
  zpool create -f -o cachefile=none -O mountpoint=none -O compression=off "p$n" "$dev"
  later "zpool destroy -f p$n"
  zfs create -s -V "$(($(sectors "$dev") / 2048 * 7 / 10))M" -o "primarycache=$1" "p$n/v"
  until [ -e "/dev/zvol/p$n/v" ]; do sleep 0.1; done
  dev=/dev/zvol/p$n/v
}

# measured NUMBER FILESYSTEM: a file system on the stack, a run, and what it said.
measured() {
  mkdir -p /srv/x
  case $2 in
    ext4) mkfs.ext4 -qF "$dev" ;;
    btrfs) mkfs.btrfs -qf "$dev" ;;
    zfs)
      zpool create -f -o cachefile=none -O mountpoint=legacy -O primarycache=metadata top "$dev"
      later "zpool destroy -f top"
      dev=top
      ;;
  esac
  mount -t "$2" "$dev" /srv/x; later "umount /srv/x"
  rm -f brickyard.db*
  brickyard run sequential-read --dir /srv/x file-size=16MiB streams=1 block-size=256KiB \
      stop=12MiB --replicates 1 --json > "/mnt/out/json$1" || true
}
clean
