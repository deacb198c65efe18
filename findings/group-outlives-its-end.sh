#!/usr/bin/env bash
# destroy_process_group ends no thread of gloo's once an optimizer was made after init_process_group.
#
# Versions: PyTorch 2.15.0 (PyPI) on CPU, gloo, 1 rank.
#
# One would guess: destroy_process_group closes the default group's connections and ends its threads. Whether the process
# made an optimizer, which has nothing to do with process groups, makes no difference.
#
# What happens: an optimizer loads torch.distributed.nn.functional, whose functions have the default group as the default of
# their arguments. Loaded while there is a default group, they keep that very group for as long as the process lives:
# its three threads go on behind destroy_process_group. Loaded before init_process_group they keep None, and the threads end.
#
# Why it matters: jobs call init_process_group first and make their optimizer later, so nearly all are in this state. A
# thread that still holds a collective's tensors when the interpreter has ended terminates the process (std::terminate, exit
# by SIGABRT): it was seen on 2 ranks in 5 of 20 jobs, all of whose work was done, and torchrun then reports the job
# as failed. Sockets and memory of the group stay as well. Importing the module first avoids it.
#
# Output seen:
#
#    optimizer made after init_process_group: 4 threads before, 4 after destroy_process_group
#    module loaded before init_process_group: 4 threads before, 1 after destroy_process_group
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -c 'import ensurepip, venv' 2>/dev/null || { apt-get update -qq; apt-get install -y -qq python3-venv >/dev/null; }
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet torch==2.15.0 numpy==2.4.6

cat > "$folder/job.py" <<'EOJ'
import os
import sys
import torch
import torch.distributed as dist

store, early = sys.argv[1:]
if early == "early":
    import torch.distributed.nn.functional
dist.init_process_group("gloo", init_method=f"file://{store}", rank=0, world_size=1)
torch.optim.SGD([torch.zeros(1, requires_grad=True)])
before = len(os.listdir("/proc/self/task"))
dist.destroy_process_group()
after = len(os.listdir("/proc/self/task"))
made = "module loaded before" if early == "early" else "optimizer made after"
print(f"{made} init_process_group: {before} threads before, {after} after destroy_process_group")
EOJ
for early in late early; do
    OMP_NUM_THREADS=1 "$folder/venv/bin/python" "$folder/job.py" "$folder/store-$early" "$early"
done | tee "$folder/seen"
sed -n 's/^#    //p' "$0" | diff - "$folder/seen"
