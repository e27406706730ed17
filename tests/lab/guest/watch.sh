# Beside the test's own script: tells whoever waits outside that the guest's kernel still runs, and
# when its disks have stopped, where every process waits.
done_by_disks() { awk '$3 ~ /^ubd/ {n += $4 + $8 + $15} END {print n + 0}' /proc/diskstats; }
# Processes that wait for a device, uninterruptibly.
waiting() { awk '$3 == "D" {print $1}' /proc/[0-9]*/stat 2>/dev/null | tr '\n' ' '; }
still=0 last=
while sleep 2; do
  cut -d' ' -f1 /proc/uptime > /mnt/out/beat
  now="$(done_by_disks) $(waiting)"
  if [ "$now" = "$last" ] && [[ $now = *" "[0-9]* ]]; then still=$((still + 1)); else still=0; fi
  last=$now
  [ "$still" -ge 30 ] || continue
  for process in $(waiting); do
    echo "$process: $(tr '\0' ' ' < /proc/"$process"/cmdline) $(cat /proc/"$process"/comm)"
    cat /proc/"$process"/stack 2>/dev/null
  done > /mnt/out/hung.new
  cat /proc/diskstats /proc/mdstat >> /mnt/out/hung.new 2>/dev/null
  mv /mnt/out/hung.new /mnt/out/hung
  exit
done
