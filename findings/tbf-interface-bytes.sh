#!/usr/bin/env bash
# Behind tc tbf, an interface counts 4% fewer bytes of the same transfer where tbf's burst is above 64 KiB.
#
# Versions: iproute2 6.1.0 (Debian 12), on Linux 6.x with tbf, network namespaces and a veth pair of MTU 1500. Needs root.
#
# One would guess: 64 MiB by TCP are some 46,000 packets with headers on an interface of MTU 1500, by the interface's
# counters (ip -s link, /proc/net/dev, /sys/class/net) as by tc's, and a burst of 16 or 256 KiB only shapes when they go.
#
# What happens: with a burst below 64 KiB, tbf cuts TCP's large segments into packets, and both counters agree. With a
# larger one the segments pass whole: tc still counts the packets and headers that they stand for, the interface counts
# each segment once with one header. The same payload differs by all headers but one per segment.
#
# Why it matters: limited rates between namespaces stand in for clusters, and bytes that a collective sends are read from
# interface counters. Their ratio to the payload moves with a burst, though the limit itself counts headers in both
# cases, so bytes over time disagree with the rate that was set. tc -s counts alike in both.
#
# Output seen (bytes over the payload, and packets):
#
#    burst 16 KiB: interface 4 to 5% over the payload, one per 1,448 bytes; tc 4 to 5% over the payload, one per 1,448 bytes
#    burst 256 KiB: interface below 1% over the payload, fewer; tc 4 to 5% over the payload, one per 1,448 bytes
set -euo pipefail
folder=$(mktemp -d)
near=$(basename "$folder").a
far=$(basename "$folder").b
trap 'rm -rf "$folder"; ip netns del "$near" 2>/dev/null || true; ip netns del "$far" 2>/dev/null || true' EXIT
{ command -v tc && command -v python3; } >/dev/null ||
    { apt-get update -qq; apt-get install -y -qq iproute2=6.1.0-3 python3-minimal >/dev/null; }
tc -V | grep -q 'iproute2-6.1.0'

cat > "$folder/transfer.py" <<'EOF'
import socket
import sys

PAYLOAD = 64 << 20
if sys.argv[1] == "receive":
    with socket.create_server(("10.77.0.2", 7777)) as server:
        print("listening", flush=True)
        connection, _ = server.accept()
        while connection.recv(1 << 20):
            pass
else:
    with socket.create_connection(("10.77.0.2", 7777)) as connection:
        connection.sendall(bytes(PAYLOAD))
        connection.shutdown(socket.SHUT_WR)
        connection.recv(1)
EOF

# Prints what $2 bytes in $3 packets are by the counter named $1.
describe() {
    awk -v bytes="$2" -v packets="$3" -v name="$1" 'BEGIN { payload = 64 * 2^20
        printf "%s %s over the payload, %s", name, (bytes > 1.04 * payload) ? "4 to 5%" : "below 1%",
            (packets > 0.8 * payload / 1448) ? "one per 1,448 bytes" : "fewer" }'
}

for burst in 16 256; do
    ip netns add "$near"
    ip netns add "$far"
    ip -n "$near" link add near type veth peer name far netns "$far"
    ip -n "$near" address add 10.77.0.1/24 dev near
    ip -n "$far" address add 10.77.0.2/24 dev far
    ip -n "$near" link set near up
    ip -n "$far" link set far up
    ip netns exec "$near" tc qdisc add dev near root tbf rate 500mbit burst ${burst}kb latency 400ms
    ip netns exec "$far" python3 "$folder/transfer.py" receive > "$folder/listening" &
    until [ -s "$folder/listening" ]; do sleep 0.1; done
    ip netns exec "$near" python3 "$folder/transfer.py" send
    wait
    read -r _ bytes packets _ < <(ip netns exec "$near" cat /proc/net/dev | awk '$1 == "near:" { print "near:", $10, $11 }')
    read -r tc_bytes tc_packets < <(ip netns exec "$near" tc -s qdisc show dev near | awk '$1 == "Sent" { print $2, $4 }')
    echo "burst $burst KiB: $(describe interface "$bytes" "$packets"); $(describe tc "$tc_bytes" "$tc_packets")"
    ip netns del "$near"
    ip netns del "$far"
    : > "$folder/listening"
done | tee "$folder/seen"
sed -n 's/^#    //p' "$0" | diff - "$folder/seen"
