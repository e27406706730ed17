# ZFS, of Debian's contrib: its modules are built here for one kernel of the cache, outside a running
# kernel, and kept beside its programs as one layer.

# The layer's name for the kernel that is booted; ZFS=backports is the newer one.
zfs_layer() {
  local name
  name=$(newest "zfs-${ZFS:-2.1}-$version")
  [ -n "$name" ] || {
    echo "machine: no ZFS for kernel $version is cached: tests/lab/machine build zfs ${ZFS:-}" >&2
    return 3
  }
  echo "$name"
}

# make_zfs [2.1|backports]: for the kernel that KERNEL says.
make_zfs() {
  local from=${1:-2.1} target=() version work new file
  [ "$from" = 2.1 ] || target=(-t "$(. /etc/os-release && echo "$VERSION_CODENAME-$from")")
  version=$(cat "$cache/$(kernel)/version")
  [ -z "$(newest "zfs-$from-$version")" ] || return 0
  for file in gcc make xz; do
    command -v $file >/dev/null || { echo "machine: building ZFS needs $file" >&2; return 1; }
  done
  echo "machine: building ZFS ($from) for $version; minutes" >&2
  lists
  work=$cache/zfs.work new=$cache/zfs.new
  rm -rf "$work" "$new"; mkdir -p "$work" "$new/usr/lib/modules/$version/extra"
  headers "$work" "$version"
  with_dependencies "$new" "${target[@]}" zfsutils-linux
  fetched "$work" "${target[@]}" zfs-dkms
  (
    cd "$work"/usr/src/zfs-*
    told ./configure --with-config=kernel --with-linux="$work/usr/src/linux-headers-${version%-amd64}-common" \
      --with-linux-obj="$work/usr/src/linux-headers-$version"
    told make -j2
    find module -name '*.ko' -exec cp {} "$new/usr/lib/modules/$version/extra/" \;
  )
  strip --strip-debug "$new/usr/lib/modules/$version"/extra/*.ko
  # One list of modules for the kernel's and these; the layer has that list alone.
  mkdir -p "$work/all/lib/modules"
  cp -al "$cache/$(kernel)/usr/lib/modules/$version" "$work/all/lib/modules/"
  rm -f "$work/all/lib/modules/$version"/modules.{dep,alias,symbols,softdep,devname}*
  cp -r "$new/usr/lib/modules/$version/extra" "$work/all/lib/modules/$version/"
  kmod_as depmod -b "$work/all" "$version"
  cp "$work/all/lib/modules/$version"/modules.{dep,alias,symbols,softdep,devname}* \
    "$new/usr/lib/modules/$version/"
  rm -rf "$work"
  finished "$new" "zfs-$from-$version"
}

# headers FOLDER VERSION: what a module is built with. Debian's own name each other by absolute path.
headers() {
  local work=$1 version=$2 base=${2%-amd64} kbuild
  kbuild=$(private apt-cache depends "linux-headers-$version" | awk '/Depends: linux-kbuild/ {print $2; exit}')
  fetched "$work" "linux-headers-$version" "linux-headers-$base-common" "$kbuild"
  sed -i "s#/usr/src/#$work/usr/src/#g; s#/usr/lib/linux-kbuild#$work/usr/lib/linux-kbuild#g" \
    "$work/usr/src/linux-headers-$version/Makefile" "$work/usr/src/linux-headers-$version/.kernelvariables" 2>/dev/null || true
}
