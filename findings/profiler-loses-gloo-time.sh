#!/usr/bin/env bash
# torch.profiler loses the time of gloo's collectives: cut at the end, absent if begun before, none in the table's total.
#
# Versions: PyTorch 2.15.0 (PyPI) on CPU, gloo, 2 ranks, of which one comes 1 s late to each collective.
#
# One would guess: a collective in a trace has its duration; a step that waits a second for one has an event of a second;
# and the table sorted by self CPU time puts what takes the time first.
#
# What happens: a collective that is still under way when the profile ends is recorded as ending there (only
# "finished": false among its args tells); one that began before the profile has no event at all, though the
# profiled code waits for it; and events of gloo's threads have self CPU time 0 and are not part of the table's total, so
# the total of a second spent in an all-reduce is some milliseconds. Waiting itself has no event.
#
# Why it matters: frameworks overlap collectives with what follows, also over a step's border, and profiles record few
# steps. Costs of collectives fitted to such traces are too low, by any factor, unless unfinished ones are left out, and
# a table that looks as if communication took nothing is read as such.
#
# Output seen (on the punctual rank; the waits take 1 s each):
#
#    still under way at the end: recorded below half of what it took, finished: False
#    begun before the profile: 0 events of it, waited for over 0.5 s in the profile
#    whole all-reduce in the profile: its event above 0.5 s, the table's total self CPU time below 0.1 s
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -c 'import ensurepip, venv' 2>/dev/null || { apt-get update -qq; apt-get install -y -qq python3-venv >/dev/null; }
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet torch==2.15.0 numpy==2.4.6

cat > "$folder/job.py" <<'EOF'
import json
import sys
import time
import torch
import torch.distributed as dist
from torch.profiler import ProfilerActivity, profile

dist.init_process_group("gloo")
rank = dist.get_rank()
gradient = torch.ones(1 << 16)


def begin():
    """Both ranks meet; then rank 1 is a second late to the all-reduce that rank 0 begins at once."""
    dist.barrier()
    if rank == 1:
        time.sleep(1)
    return dist.all_reduce(gradient, async_op=True), time.monotonic()


def reductions(profiler):
    name = f"{sys.argv[1]}/trace{rank}.json"
    profiler.export_chrome_trace(name)
    with open(name) as file:
        return [event for event in json.load(file)["traceEvents"] if event.get("name") == "gloo:all_reduce"]


def say(text):
    if rank == 0:
        print(text)


with profile(activities=[ProfilerActivity.CPU]):  # starts the profiler's threads
    begin()[0].wait()

dist.barrier()
with profile(activities=[ProfilerActivity.CPU]) as profiler:
    work, started = begin()
    time.sleep(0.05)
work.wait()
took = time.monotonic() - started
event = max(reductions(profiler), key=lambda event: event["ts"])
say(f"still under way at the end: recorded {'below' if event['dur'] < 0.5e6 * took else 'above'} half of what it took, "
    f"finished: {event['args'].get('finished')}")

work, _ = begin()
with profile(activities=[ProfilerActivity.CPU]) as profiler:
    started = time.monotonic()
    work.wait()
    waited = time.monotonic() - started
say(f"begun before the profile: {len(reductions(profiler))} events of it, waited for "
    f"{'over' if waited > 0.5 else 'below'} 0.5 s in the profile")

with profile(activities=[ProfilerActivity.CPU]) as profiler:
    begin()[0].wait()
averages = profiler.key_averages()
longest = max(event["dur"] for event in reductions(profiler))
say(f"whole all-reduce in the profile: its event {'above' if longest > 0.5e6 else 'below'} 0.5 s, the table's total "
    f"self CPU time {'below' if sum(row.self_cpu_time_total for row in averages) < 0.1e6 else 'above'} 0.1 s")
dist.destroy_process_group()
EOF
OMP_NUM_THREADS=1 "$folder/venv/bin/python" -m torch.distributed.run --standalone --nproc-per-node 2 "$folder/job.py" \
    "$folder" | tee "$folder/seen"
sed -n 's/^#    //p' "$0" | diff - "$folder/seen"
