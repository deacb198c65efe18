#!/usr/bin/env bash
# DistributedDataParallel's join() calls communication hooks outside of a backward pass.
#
# Versions: PyTorch 2.15.0 (PyPI) on CPU, gloo, 2 ranks.
#
# One would guess: a communication hook runs while gradients are computed, as its gradients are those of a backward pass. It
# may then ask autograd to call something when the pass ends (queue_callback), as PyTorch's own hook for mixed precision does.
#
# What happens: inside `with model.join():` a rank that has no inputs left takes part in the others' exchanges by calling the
# hook from Python, with zeros, and no backward pass is on. The hook gets a RuntimeError there, and nowhere else.
#
# Why it matters: a hook that is tested with inputs of equal lengths fails first in the last iterations of an uneven epoch,
# on one rank, while the others wait for it. torch._C._current_graph_task_id() tells the two calls apart: -1 outside of a pass.
#
# Output seen (rank 0 has two batches, rank 1 one):
#
#    rank 0, batch 1: hook called within a backward pass: True
#    rank 1, batch 1: hook called within a backward pass: True
#    rank 1, no batch: hook called within a backward pass: False
#    rank 1: Final callbacks can only be installed during backward pass.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -c 'import ensurepip, venv' 2>/dev/null || { apt-get update -qq; apt-get install -y -qq python3-venv >/dev/null; }
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet torch==2.15.0 numpy==2.4.6

cat > "$folder/job.py" <<'EOJ'
import os
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

dist.init_process_group("gloo")
rank = dist.get_rank()
batch = "no batch"
said = []


def average(state, bucket):
    line = f"rank {rank}, {batch}: hook called within a backward pass: {torch._C._current_graph_task_id() != -1}"
    if line not in said:
        said.append(line)
    future = dist.all_reduce(bucket.buffer(), async_op=True).get_future()
    torch.autograd.Variable._execution_engine.queue_callback(lambda: None)
    return future.then(lambda done: done.value()[0] / 2)


model = DistributedDataParallel(torch.nn.Linear(4, 4))
model.register_comm_hook(None, average)
try:
    with model.join():
        for number in range(2 - rank):
            batch = f"batch {number + 1}"
            model(torch.ones(1, 4)).sum().backward()
            if rank == 0 and number == 0:
                print("\n".join(said), flush=True)
        batch = "no batch"
except RuntimeError as error:
    if rank == 1:
        print("\n".join(said + [f"rank 1: {error}".splitlines()[0]]), flush=True)
os._exit(0)
EOJ
OMP_NUM_THREADS=1 "$folder/venv/bin/python" -m torch.distributed.run --standalone --nproc-per-node 2 "$folder/job.py" \
    2>/dev/null | sort | tee "$folder/seen"
sed -n 's/^#    //p' "$0" | diff - "$folder/seen"
