#!/usr/bin/env bash
# DistributedDataParallel's 8-bit hooks have a smallest step: buckets of small gradients become 0.
#
# Versions: PyTorch 2.15.0 (PyPI) on CPU, gloo, 2 ranks.
#
# One would guess: quantization_pertensor_hook and quantization_perchannel_hook scale each bucket, or each 512 elements
# of it, by its own range, so that gradients a thousand times smaller lose the same share of themselves in 8 bits.
#
# What happens: the hooks take their scale from observers made for weights and activations, whose smallest step is the
# epsilon of float32, 1.19e-7. A range below 255 such steps, 3e-5, has fewer levels than 256, and gradients below 6e-8
# are 0 however small their neighbours are. There is no residual either, so that they are lost, and no warning.
#
# Why it matters: gradients of large networks are often this small, by a mean over many tokens or late in training.
# Such layers stop learning, while others train on. A loss scaled up, as for float16, would help; float32 has no scaler.
#
# Output seen (each rank has the gradient [4, -2, 1, 0.5] times a factor; what the hooks give is divided by it):
#
#    quantization_pertensor_hook, factor 1: [4.0, -2.0, 0.988, 0.494]
#    quantization_pertensor_hook, factor 1e-06: [4.053, -2.027, 0.954, 0.477]
#    quantization_pertensor_hook, factor 1e-07: [3.576, -2.384, 1.192, 0.0]
#    quantization_pertensor_hook, factor 1e-08: [0.0, 0.0, 0.0, 0.0]
#    quantization_perchannel_hook, factor 1: [4.0, -2.0, 0.988, 0.494]
#    quantization_perchannel_hook, factor 1e-06: [4.053, -2.027, 0.954, 0.477]
#    quantization_perchannel_hook, factor 1e-07: [3.576, -2.384, 1.192, 0.0]
#    quantization_perchannel_hook, factor 1e-08: [0.0, 0.0, 0.0, 0.0]
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -c 'import ensurepip, venv' 2>/dev/null || { apt-get update -qq; apt-get install -y -qq python3-venv >/dev/null; }
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet torch==2.15.0 numpy==2.4.6

cat > "$folder/job.py" <<'END'
import torch
import torch.distributed as dist
from torch.distributed.algorithms.ddp_comm_hooks import quantization_hooks
from torch.nn.parallel import DistributedDataParallel


class Product(torch.nn.Module):
    """Its gradient is its input."""

    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.zeros(4))

    def forward(self, values):
        return (self.weight * values).sum()


dist.init_process_group("gloo")
for hook in quantization_hooks.quantization_pertensor_hook, quantization_hooks.quantization_perchannel_hook:
    for factor in 1, 1e-6, 1e-7, 1e-8:
        ddp = DistributedDataParallel(Product())
        ddp.register_comm_hook(None, hook)
        ddp(torch.tensor([4.0, -2.0, 1.0, 0.5]) * factor).backward()
        mean = [round(value / factor, 3) for value in ddp.module.weight.grad.tolist()]
        if dist.get_rank() == 0:
            print(f"{hook.__name__}, factor {factor}: {mean}")
dist.destroy_process_group()
END
OMP_NUM_THREADS=1 "$folder/venv/bin/python" -m torch.distributed.run --standalone --nproc-per-node 2 "$folder/job.py" |
    tee "$folder/seen"
sed -n 's/^#    //p' "$0" | diff - "$folder/seen"
