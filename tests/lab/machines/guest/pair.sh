# Two machines with a card of Intel's each, on a wire of $wire bits per second, then on one without a
# limit, whose card is set.
card=$(basename /sys/class/net/e*)
export BRICKYARD_TOKEN=0123456789abcdef0123456789abcdef
far "BRICKYARD_TOKEN=$BRICKYARD_TOKEN setsid -f $program receive --listen 10.8.0.2 \
  >/root/receive.log 2>&1 </dev/null"
until far "grep listens /root/receive.log"; do sleep 1; done
cd /root
shape "$wire"; far "shape $wire"
brickyard send 10.8.0.2 tcp-stream direction=send,receive stop=6s warm-up=2s --replicates 1 \
  --store wire.db --json >/mnt/out/wire.json
brickyard report 1 --store wire.db --format text
brickyard query "SELECT direction, peer_interrupts_per_s FROM tcp_stream" --store wire.db \
  --format csv >/mnt/out/wire.csv
tc qdisc del dev "$card" root; far "tc qdisc del dev \$(basename /sys/class/net/e*) root"
ethtool -c "$card" | grep ^rx-usecs: >/mnt/out/before
ethtool -g "$card" | grep ^RX: >>/mnt/out/before
# What is in force meanwhile, by ethtool, and not by the program that set it.
(while sleep 0.2; do
  echo "$(ethtool -c "$card" | awk '/^rx-usecs:/ { print $2 }') $(ethtool -g "$card" |
    awk '/^RX:/ { ring = $2 } END { print ring }')"
done) >/root/seen 2>/dev/null &
looks=$!
brickyard send 10.8.0.2 tcp-stream direction=receive network-interface="$card" \
  interrupt-coalescing=20us,2ms rx-ring=256,4096 stop=3s warm-up=1s --replicates 1 \
  --store card.db --json >/mnt/out/card.json
kill $looks
sort /root/seen | uniq -c | sort -n >/mnt/out/seen
brickyard report 1 --store card.db --format text
ethtool -c "$card" | grep ^rx-usecs: >/mnt/out/after
ethtool -g "$card" | grep ^RX: >>/mnt/out/after
