# Fills the cache folder with what servers are made of, all from Debian's packages: a kernel, the
# programs that the guest has beside this machine's, and ZFS. Nothing is installed and no file of
# apt's on this machine is changed: lists and packages have a folder of their own.
#
#   apt/                 lists and packages
#   kernel-VERSION/      a layer: usr/lib/modules/VERSION; beside it vmlinux and the initrd
#   tools-2/             a layer: programs and their libraries
#   zfs-2.1-KERNEL/      a layer: modules for that kernel, zpool and zfs; zfs-backports-KERNEL likewise
#
# A layer is a tree that the guest lays over this machine's root.

cache=${BRICKYARD_LAB_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/brickyard-lab}

# What the guest has beside this machine's programs. A change of this list is a new layer: count up
# the number.
tools=tools-2
tool_packages=(
  busybox-static kmod udev pciutils pci.ids usbutils nvme-cli smartmontools lsscsi sg3-utils sdparm hdparm
  dmidecode ethtool iproute2 iputils-ping iperf3 fio open-iscsi
  mdadm lvm2 dmsetup thin-provisioning-tools cryptsetup-bin bcache-tools
  xfsprogs e2fsprogs btrfs-progs
)

# told COMMAND...: its output is shown only when it fails.
told() {
  local log status=0
  log=$(mktemp)
  (renice -n 5 "$BASHPID" >/dev/null; "$@") >"$log" 2>&1 || status=$?
  [ $status = 0 ] || { echo "machine: $* failed:" >&2; tail -n 30 "$log" >&2; }
  rm -f "$log"
  return $status
}

# private COMMAND...: apt-get or apt-cache with lists and packages of our own.
private() {
  local command=$1; shift
  "$command" -o Dir::Etc::sourcelist="$cache/apt/sources.list" -o Dir::Etc::sourceparts=/dev/null \
    -o Dir::State::lists="$cache/apt/lists" -o Dir::Cache="$cache/apt" \
    -o APT::Sandbox::User=root -o Debug::NoLocking=1 -o Acquire::Languages=none "$@"
}

# Where this machine has Debian from, there is contrib and backports too.
lists() {
  [ -z "${listed:-}" ] || return 0
  local keys=/usr/share/keyrings/debian-archive-keyring.gpg site suite component from=
  mkdir -p "$cache"/apt/{lists,archives}/partial
  suite=$(. /etc/os-release && echo "$VERSION_CODENAME")
  : >"$cache/apt/sources.list"
  while read -r site release component; do
    case "$release" in
      "$suite") from=$site ;;
      "$suite-security") echo "deb [signed-by=$keys] $site $release main" ;;
    esac
  done < <(apt-get indextargets --format '$(SITE) $(RELEASE) $(COMPONENT)' 'Created-By: Packages') \
    >>"$cache/apt/sources.list"
  [ -n "$from" ] || { echo "machine: apt knows no mirror of $suite: apt-get update" >&2; return 1; }
  printf "deb [signed-by=$keys] $from %s main contrib\n" "$suite" "$suite-updates" \
    "$suite-backports" >>"$cache/apt/sources.list"
  told private apt-get update
  listed=1
}

# unpack FOLDER FILE...: packages into a layer. What is a link into usr in this machine's root is
# none of a layer's folders; half of a kernel is for screens, sound and radio.
unpack() {
  local into=$1 file part; shift
  for file in "$@"; do
    dpkg-deb --fsys-tarfile "$file" | nice -n 5 tar -x -C "$into" --exclude='*/kernel/sound' \
      --exclude='*/kernel/drivers/gpu' --exclude='*/kernel/drivers/media' \
      --exclude='*/kernel/drivers/net/wireless' --exclude='./usr/share/doc' \
      --exclude='./usr/share/man' --exclude='./boot/System.map*'
  done
  for part in bin sbin lib lib32 lib64; do
    [ -d "$into/$part" ] && [ ! -L "$into/$part" ] || continue
    mkdir -p "$into/usr/$part"
    cp -al "$into/$part/." "$into/usr/$part/"
    rm -r "${into:?}/$part"
  done
}

# fetched FOLDER PACKAGE...: exactly these into a layer.
fetched() {
  local into=$1 files; shift
  files=$(mktemp -d "$cache/apt/XXXXXX")
  (cd "$files" && told private apt-get download "$@")
  unpack "$into" "$files"/*.deb
  rm -r "$files"
}

# with_dependencies FOLDER PACKAGE...: into a layer, with all they need that this machine lacks.
with_dependencies() {
  local into=$1 files; shift
  files=$(mktemp -d "$cache/apt/XXXXXX")
  mkdir "$files/partial"
  told private apt-get -o Dir::Cache::archives="$files" install --no-install-recommends --reinstall \
    --download-only -y -qq "$@"
  unpack "$into" "$files"/*.deb
  rm -r "$files"
}

# finished NEW NAME: a layer is there whole or not at all.
finished() {
  [ -e "$cache/$2" ] && rm -rf "$1" || mv "$1" "$cache/$2"
}

# newest PATTERN: of the layers whose name begins with it, the newest.
newest() { ls "$cache" 2>/dev/null | grep -x "$1[^ ]*" | sort -V | tail -n 1; }

# kmod_as NAME ARGUMENT...: depmod or modprobe, which this machine may lack.
kmod_as() {
  local name=$1 kmod=$cache/$tools/usr/bin/kmod; shift
  (LD_LIBRARY_PATH=$cache/$tools/usr/lib/x86_64-linux-gnu exec -a "$name" "$kmod" "$@")
}

make_tools() {
  [ ! -d "$cache/$tools" ] || return 0
  echo "machine: fetching the guest's programs" >&2
  lists
  local new=$cache/$tools.new
  rm -rf "$new"; mkdir -p "$new"
  with_dependencies "$new" "${tool_packages[@]}"
  finished "$new" "$tools"
}

# make_kernel [backports]: of Debian's stable release, or of its backports.
make_kernel() {
  local from=${1:-} version
  [ -z "$(newest "kernel${from:+-$from}-[0-9]")" ] || return 0
  echo "machine: fetching a kernel${from:+ of $from}" >&2
  lists
  local target=() package new
  [ -z "$from" ] || target=(-t "$(. /etc/os-release && echo "$VERSION_CODENAME-$from")")
  package=$(private apt-cache "${target[@]}" depends linux-image-amd64 |
    awk '$1 == "Depends:" && !found {print $2; found = 1}')
  version=${package#linux-image-}
  new=$cache/kernel.new
  rm -rf "$new"; mkdir -p "$new"
  fetched "$new" "$package"
  kmod_as depmod -b "$new/usr" "$version"
  vmlinux "$new/boot/vmlinuz-$version" "$new/vmlinux"
  initrd "$new" "$version"
  echo "$version" >"$new/version"
  finished "$new" "kernel${from:+-$from}-$version"
}

# vmlinux PACKED UNPACKED: QEMU starts an unpacked kernel directly (PVH), which saves the guest the
# seconds that unpacking takes.
vmlinux() {
  local at
  for at in $(grep -abo $'\xfd7zXZ' "$1" | cut -d: -f1); do
    tail -c +$((at + 1)) "$1" | xz -dc >"$2" 2>/dev/null || true
    [ "$(head -c 4 "$2")" != $'\x7fELF' ] || return 0
  done
  echo "machine: no xz-packed kernel in $1" >&2
  return 1
}

# initrd KERNEL VERSION: a busybox, what mounts the root, and guest/init.sh.
initrd() {
  local kernel=$1 version=$2 work=$1/initrd.d module path count=0
  rm -rf "$work"; mkdir -p "$work"/{bin,proc,sys,dev,mods,host,cache,memory,root}
  cp "$(find "$cache/$tools" /bin -path '*bin/busybox' -print -quit 2>/dev/null)" "$work/bin/busybox"
  for module in virtio_pci virtio_console 9pnet_virtio 9p overlay; do
    kmod_as modprobe -d "$kernel/usr" -S "$version" --show-depends "$module"
  done | awk '$1 == "insmod" && !seen[$2]++ {print $2}' >"$work/mods/list"
  while read -r path; do
    count=$((count + 1))
    case "$path" in
      *.xz) xz -dc "$path" >"$work/mods/$(printf %02d $count)-$(basename "$path" .xz)" ;;
      *) cp "$path" "$work/mods/$(printf %02d $count)-$(basename "$path")" ;;
    esac
  done <"$work/mods/list"
  rm "$work/mods/list"
  cp "$lab/guest/init.sh" "$work/init"
  chmod +x "$work/init"
  (cd "$work" && find . | bin/busybox cpio -o -H newc 2>/dev/null | gzip -1) >"$kernel/initrd.gz"
  rm -rf "$work"
}
