#!/usr/bin/env bash
# cluster.sh path/to/script/cluster path/to/cluster_rank path/to/transport_test
#
# The cluster of network namespaces: what it refuses, that it is what was asked for, that it carries an allgather at the
# set rate, that the communicator keeps its promises between its hosts, and that it leaves nothing behind. Skipped, by exit status 77, where it cannot be.
set -uo pipefail

cluster=$1 rank=$2 promises=$3
name=gw-test-$$
work=$(mktemp -d)
failures=0

skip() {
    echo "skipped: $1"
    exit 77
}
[ "$(id -u)" -eq 0 ] || skip "needs root"
for tool in ip tc mpirun cc; do
    command -v "$tool" >/dev/null || skip "needs $tool"
done
unshare --net --uts --mount true 2>/dev/null || skip "network namespaces are not allowed here"

# shellcheck disable=SC2317 # called by the trap
clean_up() {
    "$cluster" down --name "$name"
    ip netns delete "$name-7" 2>/dev/null
    rm -rf "$work"
}
trap clean_up EXIT

fail() {
    echo "FAILED: $1"
    failures=$((failures + 1))
}

# expect STATUS COMMAND...: leaves what it said in $work/out and $work/err.
expect() {
    local wanted=$1 got=0
    shift
    "$@" >"$work/out" 2>"$work/err" || got=$?
    [ "$got" -eq "$wanted" ] || { fail "expected status $wanted, got $got: $*"; cat "$work/err"; }
}

# says FILE PATTERN: of the last command.
says() {
    grep -q -e "$2" "$work/$1" || { fail "expected \"$2\" in std$1, got:"; cat "$work/$1"; }
}

# Names that exist only because the cluster does; the namespaces, what is under /run, processes on its nodes.
left_over() {
    ip netns list | grep -o "^${name}[^ ]*"
    find /run/gradweave-cluster -path "*/$name*" 2>/dev/null
    pgrep -f "sleep 98765$$"
}

nothing_is_left() {
    local left
    left=$(left_over)
    [ -z "$left" ] || fail "left behind after $1: $left"
}

# ---- what is refused ------------------------------------------------------------------------------

# refuses PATTERN ARGUMENTS...: status 2, one line that says why, nothing on stdout.
refuses() {
    local pattern=$1
    shift
    expect 2 "$cluster" "$@"
    says err "$pattern"
    [ "$(wc -l <"$work/err")" -eq 1 ] || fail "expected one line: $(cat "$work/err")"
    [ ! -s "$work/out" ] || fail "expected nothing on stdout: $(cat "$work/out")"
}

refuses_bad_input() {
    local up=(up --name "$name" --nodes 2 --rate 1gbit)
    refuses 'expected --nodes' up --rate 1gbit
    refuses 'expected --rate' up --nodes 2
    refuses '2 to 16' up --nodes 1 --rate 1gbit
    refuses '2 to 16' up --nodes 17 --rate 1gbit
    refuses 'a rate such as' up --nodes 2 --rate fast
    refuses 'a rate such as' up --nodes 2 --rate 0gbit
    refuses 'bytes' "${up[@]}" --burst 10
    refuses 'lower-case' up --nodes 2 --rate 1gbit --name 'a b'
    refuses 'lower-case' status --name ../x
    refuses 'expected --uplink' "${up[@]}" --nodes-per-switch 1
    refuses 'fewer than' "${up[@]}" --uplink 1gbit --nodes-per-switch 2
    refuses 'got "--fast"' "${up[@]}" --fast
    refuses 'got "more"' down more
    refuses 'a value after it' up --nodes
    refuses 'expected -- COMMAND' run --name "$name"
    refuses 'is not up' run --name "$name" -- true
    refuses '999 ranks' run --name "$name" -n 0 -- true
    expect 2 "$cluster" sideways
    says err usage
    expect 1 "$cluster" status --name "$name"
    says err 'is not up'
    nothing_is_left "refusals"
}

# With nothing in PATH but what the script itself is made of.
refuses_without_tools() {
    local tool
    mkdir "$work/bin"
    for tool in bash dirname id; do ln -s "$(command -v "$tool")" "$work/bin/$tool"; done
    expect 2 env PATH="$work/bin" "$cluster" up --name "$name" --nodes 2 --rate 1gbit
    says err 'needs ip: script/install'
    chmod a+rx "$work"
    cp "$cluster" "$work/cluster" # others than root may not see where the checkout is
    expect 2 setpriv --reuid 65534 --clear-groups bash "$work/cluster" up --name "$name" --nodes 2 --rate 1gbit
    says err 'needs root'
}

# ---- what it is -----------------------------------------------------------------------------------

# What torchrun would set; the first node's address is everybody's.
tells_torch() {
    local i
    # shellcheck disable=SC2016 # for the ranks
    expect 0 "$cluster" run --torch --name "$name" -n 3 -- \
        sh -c 'echo "$RANK of $WORLD_SIZE at $MASTER_ADDR:$MASTER_PORT by $GLOO_SOCKET_IFNAME"'
    for i in 0 1 2; do says out "^$i of 3 at 10\.99\.0\.1:29500 by eth0"; done
}

# Each node has processors of its own, as far as there are enough; all of them together are this machine's.
shares_processors_out() {
    # shellcheck disable=SC2016 # for the ranks
    expect 0 "$cluster" run --torch --name "$name" -- sh -c 'echo "$RANK $(taskset -cp $$ | sed "s/.*: //")"'
    sort -n "$work/out" >"$work/affinity"
    python3 - "$work/affinity" <<'PYTHON' || fail "expected processors shared out, got $(cat "$work/affinity")"
import os, sys

machine = sorted(os.sched_getaffinity(0))
nodes = [line.split()[1] for line in open(sys.argv[1])]
sets = []
for text in nodes:
    ends = [(part.split("-") * 2)[:2] for part in text.split(",")]
    sets.append({cpu for low, high in ends for cpu in range(int(low), int(high) + 1)})
sizes = [len(one) for one in sets]
assert set().union(*sets) == set(machine)
assert max(sizes) - min(sizes) <= 1 and min(sizes) >= 1
assert sum(sizes) == max(len(machine), len(sets))
PYTHON
}

# A thread gets its place by its name; who looks for what nobody takes lets others have the processor.
has_messages_come_first() {
    cat >"$work/threads.py" <<'PYTHON'
import ctypes, os, select, threading, time

library = ctypes.CDLL(None)
library.pthread_setname_np.argtypes = [ctypes.c_void_p, ctypes.c_char_p]


def priority_as(name):
    library.pthread_setname_np(threading.get_ident(), name)
    return os.sched_getparam(0).sched_priority


names = (b"gloo_tcp_loop", b"pt_gloo_runloop", b"gw_exchange", b"gw_compute", b"python")
priorities = [priority_as(name) for name in names]
readable, written = os.pipe()
os.write(written, b"never read")
epoll = select.epoll()
epoll.register(readable, select.EPOLLIN)
looks, end_s = 0, time.monotonic() + 0.2
while time.monotonic() < end_s:
    looks += len(epoll.poll(1))
print("priorities", priorities, "looks", looks, "slept" if looks < 20000 else "never slept")
PYTHON
    expect 0 "$cluster" run --torch --realtime --name "$name" -n 1 -- python3 "$work/threads.py"
    says out 'priorities \[3, 3, 3, 2, 1\] looks [1-9][0-9]* slept'
    expect 0 "$cluster" run --torch --name "$name" -n 1 -- python3 "$work/threads.py"
    says out 'priorities \[0, 0, 0, 0, 0\] looks [1-9][0-9]* slept'
}

# Rank r on node r, each host a node, further ranks from the first node on.
places_ranks_in_order() {
    expect 0 "$cluster" run --name "$name" -n 6 -- "$rank" 8
    says out "^$name-0 $name-1 $name-2 $name-3 $name-0 $name-1 "
    expect 0 "$cluster" run --name "$name" -n 2 -- "$rank" 8
    says out "^$name-0 $name-1 [0-9]"
}

passes_on_exit_statuses() {
    local status
    for status in 1 2 3; do
        # shellcheck disable=SC2016 # a rank expands it
        expect "$status" "$cluster" run --name "$name" -n 2 -- bash -c 'exit $((OMPI_COMM_WORLD_RANK == 0 ? '"$status"' : 0))'
        [ ! -s "$work/err" ] || fail "expected nothing more to be said: $(cat "$work/err")"
    done
    refuses 'none of this name' run --name "$name" -- "$work/no-such-program"
}

# mpirun names the rank, if it does not end before; then it is said that one was killed.
names_what_was_killed() {
    local try
    for ((try = 0; try < 10; try++)); do
        # shellcheck disable=SC2016
        expect 137 "$cluster" run --name "$name" -- bash -c '[ "$OMPI_COMM_WORLD_RANK" -ne 2 ] || kill -9 $$; sleep 9'
        ! grep -q "rank 2 .*on node $name-2 " "$work/err" || return 0
        says err 'a rank was killed by signal 9'
    done
    fail "expected mpirun to name the rank in one of 10 runs"
}

# carries RANKS RATE BYTES: within 10% of RATE, in bytes per second. Others at work on this machine make it slower at
# times, never faster: the best of ten tries counts.
carries() {
    local try got best=0
    for try in 1 2 3 4 5 6 7 8 9 10; do
        expect 0 "$cluster" run --realtime --name "$name" -n "$1" -- "$rank" "$3"
        got=$(awk '{print $NF}' "$work/out")
        best=$((got > best ? got : best))
        [ $((best * 10)) -lt $(($2 * 9)) ] || break
    done
    echo "$1 nodes: $best bytes/s in try $try, set rate $2"
    if [ $((best * 10)) -lt $(($2 * 9)) ] || [ $((best * 10)) -gt $(($2 * 11)) ]; then
        fail "expected an allgather at $2 bytes/s within 10%, got $best"
    fi
}

# ---- how it ends ----------------------------------------------------------------------------------

# up is killed in the midst, once it has made this namespace.
crash_at() {
    "$cluster" up --name "$name" --nodes 4 --rate 1gbit &
    local script=$! waited=0
    until [ -e "/run/netns/$1" ] || [ $((waited += 1)) -gt 1000 ]; do sleep 0.01; done
    kill -KILL "$script"
    wait "$script"
} 2>/dev/null

cleans_up_after_a_crash() {
    local namespace
    for namespace in "$name.switch-0" "$name-2"; do
        crash_at "$namespace"
        expect 1 "$cluster" status --name "$name"
    done
    expect 0 "$cluster" up --name "$name" --nodes 2 --rate 1gbit
    expect 0 "$cluster" status --name "$name"
    [ "$(ip netns list | grep -c "^$name-")" -eq 2 ] || fail "expected two nodes: $(ip netns list)"
}

# A job whose script is killed goes by itself; what hangs on a node goes with down.
ends_what_runs() {
    "$cluster" run --name "$name" -- sleep "98765$$" 2>/dev/null &
    local script=$! waited=0
    until [ "$(pgrep -fc "^sleep 98765$$")" -eq 2 ] || [ $((waited += 1)) -gt 100 ]; do sleep 0.1; done
    refuses 'is being used' run --name "$name" -- true
    kill -KILL "$script"
    wait "$script" 2>/dev/null
    until [ "$(pgrep -fc "^sleep 98765$$")" -eq 0 ] || [ $((waited += 1)) -gt 200 ]; do sleep 0.1; done
    [ "$waited" -le 200 ] || fail "expected the job to start, and to end with the script that started it"
    ip netns exec "$name-1" sleep "98765$$" &
    local hanging=$!
    disown
    expect 0 "$cluster" down --name "$name"
    nothing_is_left down
    kill "$hanging" 2>/dev/null
    expect 0 "$cluster" down --name "$name"
}

# down ends a job that runs, and waits for an up or says that it is in the way.
takes_turns() {
    expect 0 "$cluster" up --name "$name" --nodes 2 --rate 1gbit
    "$cluster" run --name "$name" -- sleep "98765$$" 2>/dev/null &
    local script=$! waited=0
    until [ "$(pgrep -fc "^sleep 98765$$")" -eq 2 ] || [ $((waited += 1)) -gt 100 ]; do sleep 0.1; done
    expect 0 "$cluster" down --name "$name"
    wait "$script" && fail "expected the job to be lost"
    nothing_is_left "down beside a run"
    "$cluster" up --name "$name" --nodes 4 --rate 1gbit &
    script=$!
    until [ -e "/run/netns/$name-0" ] || [ $((waited += 1)) -gt 1000 ]; do sleep 0.01; done
    expect 0 "$cluster" down --name "$name"
    wait "$script" || fail "expected up to be waited for"
    nothing_is_left "down beside an up"
    mkdir -p "/run/gradweave-cluster/$name"
    flock "/run/gradweave-cluster/$name/lock" sleep 30 &
    script=$!
    sleep 0.2
    expect 3 "$cluster" down --name "$name"
    says err 'another script/cluster has been using'
    pkill -P "$script"
    wait "$script"
    expect 0 "$cluster" down --name "$name"
    nothing_is_left "a lock that was held"
}

leaves_strangers_alone() {
    ip netns add "$name-7"
    refuses 'is not from here' up --name "$name" --nodes 8 --rate 1gbit
    ip netns delete "$name-7" || fail "expected another's namespace to be left alone"
    nothing_is_left "a refusal for another's namespace"
    expect 0 "$cluster" down --name "$name"
}

refuses_bad_input
refuses_without_tools
leaves_strangers_alone
before=$(ip -o link | wc -l && ip route)
expect 0 "$cluster" up --name "$name" --nodes 4 --rate 1gbit
[ "$before" = "$(ip -o link | wc -l && ip route)" ] || fail "expected this machine's own network to stay as it is"
expect 0 "$cluster" status --name "$name"
says out "4 nodes.*1gbit"
says out "$name-3 .*10\.99\.0\.4"
places_ranks_in_order
tells_torch
shares_processors_out
has_messages_come_first
passes_on_exit_statuses
names_what_was_killed
expect 0 "$cluster" run --name "$name" -n 3 -- "$promises" # long exchanges take another way than within a host
expect 0 "$cluster" up --name "$name" --nodes 4 --rate 500mbit
carries 4 62500000 2000000
expect 0 "$cluster" up --name "$name" --nodes 2 --rate 1gbit --uplink 200mbit
carries 2 25000000 1000000
expect 0 "$cluster" down --name "$name"
cleans_up_after_a_crash
ends_what_runs
takes_turns
[ "$failures" -eq 0 ] && echo "all as expected"
exit "$((failures > 0))"
