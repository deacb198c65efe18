#!/usr/bin/env bash
# PyTorch has two ways to average float16 gradients over ranks, and each loses other gradients than the other.
#
# Versions: PyTorch 2.15.0 (PyPI) on CPU, gloo, 4 ranks.
#
# One would guess: the mean of four equal numbers is that number in any type that can hold it, so that
# DistributedDataParallel's fp16_compress_hook and an allreduce of float16 with ReduceOp.AVG give the same.
#
# What happens: the hook divides by the number of ranks before it sums, and gradients of up to 1.2e-7 become 0 on four
# ranks, although float16 can hold them. ReduceOp.AVG sums first, in float16, and divides the sum: from 16,384 on the
# mean of four ranks is infinite, although float16 reaches 65,504. (Loss scaling for the one makes the other worse.)
#
# Why it matters: who replaces the hook by an allreduce of his own, or the other way round, changes which gradients
# survive. The limits move with the number of ranks: a job that trains on 4 can overflow on 8, or stop learning its
# small gradients, with the same loss scale.
#
# Output seen (each of 4 ranks has the gradient [60000, 1e-7]):
#
#    float32: [60000.0, 1.0000000116860974e-07]
#    float16 alone: [60000.0, 1.1920928955078125e-07]
#    fp16_compress_hook: [60000.0, 0.0]
#    ReduceOp.AVG: [inf, 1.1920928955078125e-07]
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -c 'import ensurepip, venv' 2>/dev/null || { apt-get update -qq; apt-get install -y -qq python3-venv >/dev/null; }
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet torch==2.15.0 numpy==2.4.6

cat > "$folder/job.py" <<'EOF'
import torch
import torch.distributed as dist
from torch.distributed.algorithms.ddp_comm_hooks.default_hooks import fp16_compress_hook
from torch.nn.parallel import DistributedDataParallel


class Product(torch.nn.Module):
    """Its gradient is its input."""

    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.zeros(2))

    def forward(self, values):
        return (self.weight * values).sum()


dist.init_process_group("gloo")
gradient = torch.tensor([60000.0, 1e-7])
means = {}


def average_by_ddp(hook):
    ddp = DistributedDataParallel(Product())
    if hook is not None:
        ddp.register_comm_hook(None, hook)
    ddp(gradient).backward()
    return ddp.module.weight.grad


means["float32"] = average_by_ddp(None)
means["float16 alone"] = gradient.half()
means["fp16_compress_hook"] = average_by_ddp(fp16_compress_hook)
means["ReduceOp.AVG"] = gradient.half()
dist.all_reduce(means["ReduceOp.AVG"], op=dist.ReduceOp.AVG)
if dist.get_rank() == 0:
    for way, mean in means.items():
        print(f"{way}: {mean.tolist()}")
dist.barrier()  # no rank goes while another still averages
dist.destroy_process_group()
EOF
OMP_NUM_THREADS=1 "$folder/venv/bin/python" -m torch.distributed.run --standalone --nproc-per-node 4 "$folder/job.py" |
    tee "$folder/seen"
sed -n 's/^#    //p' "$0" | diff - "$folder/seen"
