# What a server's file is written with, and the machine that QEMU makes of it.

# The words of a server's file. All of them are called for each machine of it, the first being 1.
#   modules NAME...      loaded before the command
#   layer NAME           a layer of the cache, as zfs
#   drive ID [MIB [BYTES_PER_S]]
#                        a disk's image, for device; throttled by QEMU, reading and writing together
#   device ARGUMENT      a device of QEMU's
#   hardware ARGUMENT... whatever else QEMU takes
# Of a function `inside`, the text is run in the machine as root before the command.
modules() { wanted+=("$@"); }
layer() { layers+=("$1"); }
device() { arguments+=(-device "$1"); }
hardware() { arguments+=("$@"); }
drive() {
  local id=$1 mib=${2:-${MIB:-256}} limit=${3:-} file=$work/$machine-$1.img
  truncate -s "${mib}M" "$file"
  arguments+=(-drive "if=none,id=$id,file=$file,format=raw,cache=unsafe,discard=unmap${limit:+,throttling.bps-total=$limit}")
}
# drives COUNT [BYTES_PER_S]: virtio disks vda and on, with serials disk1 and on.
drives() {
  local i
  for i in $(seq "$1"); do
    drive "disk$i" "${MIB:-256}" "${2:-}"
    device "virtio-blk-pci,drive=disk$i,serial=disk$i"
  done
  modules virtio_blk
}
# link NAME: a card, of that model, to the other machine of a pair.
link() {
  local other=$((3 - machine)) path=$work/link
  hardware -netdev "dgram,id=link,local.type=unix,local.path=$path$machine,remote.type=unix,remote.path=$path$other"
  device "$1,romfile=,netdev=link,mac=52:54:00:00:00:0$machine"
}
# machines COUNT: of these the first runs the command, and `far COMMAND...` in it runs one in the
# second.
machines() { count=$1; }

# Which kernel, as a folder of the cache.
kernel() { newest "kernel${KERNEL:+-$KERNEL}-[0-9]"; }

# ready NAME: that it can be booted; fills the cache with what is lacking and takes no minutes.
ready() {
  file=$lab/servers/$1
  [ -f "$file" ] || { echo "machine: no server $1; there are: $(ls "$lab/servers" | xargs)" >&2; exit 2; }
  command -v qemu-system-x86_64 >/dev/null || {
    echo "machine: qemu-system-x86_64 is not installed: apt-get install --no-install-recommends qemu-system-x86" >&2
    exit 2
  }
  if [ -z "$(kernel)" ] || [ ! -d "$cache/$tools" ]; then filled build kernel "${KERNEL:-}"; fi
  version=$(cat "$cache/$(kernel)/version")
  local each
  for each in $(sed -n 's/^layer //p' "$file"); do "${each}_layer" >/dev/null || exit 3; done
}

run() {
  local name=$1 file pipe; shift
  ready "$name"
  sweep
  work=$(mktemp -d "$disks/brickyard-machine.$$.XXXXXX")
  out=${OUT:-$work/out}
  mkdir -p "$work/out" "$work/lab/far" "$out"
  started=()
  trap finish EXIT
  trap 'exit 129' HUP; trap 'exit 130' INT; trap 'exit 143' TERM
  cp "$lab/guest/stage.sh" "$work/lab/"
  cp -r "$lab/guest/bin" "$work/lab/"
  export -p >"$work/lab/environment"
  { printf 'cd %q\n' "$PWD"; [ $# = 0 ] && echo 'exec bash -i' || printf '%q ' exec "$@"; } \
    >"$work/lab/command"
  count=1 machine=1
  boot "$file"
  while [ "$machine" -lt "$count" ]; do machine=$((machine + 1)); boot "$file"; done
  wait "${started[0]}" || true
  # One that did not even start has opened no pipe, for which its reader waits.
  for pipe in "$work"/pipe*; do [ ! -p "$pipe" ] || : <>"$pipe"; done
  wait "${readers[@]}" 2>/dev/null || true
  if [ ! -e "$work/lab/status" ]; then
    echo "machine: $name died before its command ended:" >&2
    tail -n 40 "$work"/qemu1 "$work"/console1 >&2 || true
    exit 125
  fi
  exit "$(cat "$work/lab/status")"
}

# boot FILE: one machine of that server.
boot() {
  arguments=() wanted=() layers=()
  unset -f inside
  . "$1"
  if declare -f inside >/dev/null; then declare -f inside; echo inside; fi >"$work/lab/inside$machine"
  echo "${wanted[@]}" >"$work/lab/modules$machine"
  local folders=() each
  for each in "${layers[@]}"; do
    folders+=("$("${each}_layer")")
  done
  folders+=("$tools" "$(kernel)")
  console
  # It dies with whoever started it, however that ends.
  setsid setpriv --pdeathsig KILL qemu-system-x86_64 \
    -accel tcg,thread=multi,tb-size=256 -M q35 -cpu max,-hypervisor \
    -smp "${PROCESSORS:-1}" -m "${MEMORY:-1024}" -display none -no-reboot -nodefaults -no-user-config \
    -smbios type=0,vendor=Brickyard,version=1 \
    -smbios type=1,manufacturer=Brickyard,product=Lab-"$(basename "$1")",serial=LAB$machine \
    -kernel "$cache/$(kernel)/vmlinux" -initrd "$cache/$(kernel)/initrd.gz" \
    -append "console=ttyS0 quiet loglevel=3 panic=-1 mitigations=off nokaslr no_timer_check clocksource=hpet tsc=unstable nowatchdog lab.machine=$machine lab.layers=$(IFS=,; echo "${folders[*]}")" \
    -fsdev local,id=host,path=/,security_model=none,readonly=on,multidevs=remap \
    -device virtio-9p-pci,fsdev=host,mount_tag=host \
    -fsdev local,id=cache,path="$cache",security_model=none,readonly=on,multidevs=remap \
    -device virtio-9p-pci,fsdev=cache,mount_tag=cache \
    -fsdev local,id=lab,path="$work/lab",security_model=none -device virtio-9p-pci,fsdev=lab,mount_tag=lab \
    -fsdev local,id=out,path="$out",security_model=none -device virtio-9p-pci,fsdev=out,mount_tag=out \
    -device virtio-rng-pci -device virtio-serial-pci "${arguments[@]}" <&0 2>"$work/qemu$machine" &
  started+=($!)
}

# How the command speaks: by a terminal where the caller has one, else by two pipes.
console() {
  local pipe
  if [ "$machine" = 1 ] && [ -t 0 ] && [ -t 1 ]; then
    echo "stty rows $(tput lines) cols $(tput cols); export TERM=${TERM:-vt100}" >"$work/lab/terminal"
    arguments+=(-chardev stdio,id=terminal,signal=off -device virtconsole,chardev=terminal)
  else
    [ "$machine" != 1 ] || for pipe in 1 2; do
      mkfifo "$work/pipe$pipe"
      cat "$work/pipe$pipe" >&$pipe &
      readers+=($!)
      arguments+=(-chardev "file,id=pipe$pipe,path=$work/pipe$pipe" -device "virtserialport,chardev=pipe$pipe,nr=$pipe")
    done
  fi
  arguments+=(-chardev "file,id=serial,path=$work/console$machine" -serial chardev:serial)
}
readers=()

finish() {
  local each
  for each in "${started[@]}"; do kill -KILL "$each" 2>/dev/null || true; done
  wait "${started[@]}" 2>/dev/null || true
  rm -rf "$work"
  [ ! -t 0 ] || stty sane
}

# What one left that was killed itself.
disks=${BRICKYARD_LAB_DISKS:-/dev/shm}
sweep() {
  local folder
  for folder in "$disks"/brickyard-machine.*; do
    [ ! -d "$folder" ] || [ -d "/proc/$(basename "$folder" | cut -d. -f2)" ] || rm -rf "$folder"
  done
}
