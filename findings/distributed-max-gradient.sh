#!/usr/bin/env bash
# The gradient through a distributed maximum is the maximum of the ranks' gradients, also where the maximum was not.
#
# Versions: PyTorch 2.15.0 (PyPI) on CPU, gloo, 4 ranks.
#
# One would guess: torch.distributed.nn.functional.all_reduce(x, op=MAX) has the gradient of a maximum: the sum of what
# arrives on all ranks, on the rank that held the largest x, and 0 on the others. With PRODUCT, that sum times the product
# of the other ranks' x. The function is differentiable by its purpose and accepts every operation.
#
# What happens: the backward pass applies the forward pass's operation to the gradients. With SUM that is right. With MAX
# every rank gets the largest of the gradients, with PRODUCT their product. Nothing warns.
#
# Why it matters: a scale shared by all ranks (the largest absolute value, for 8-bit formats) or the maximum in a softmax
# whose classes are spread over ranks is such a call. Its gradients look plausible, are wrong on every rank, and change
# with what other ranks' losses weigh.
#
# Output seen (rank r holds x = r + 1; its loss is r + 2 times the reduced x; gradients of the sum of all losses by x,
# expected by differences and returned):
#
#    SUM: expected [14.0, 14.0, 14.0, 14.0], returned [14.0, 14.0, 14.0, 14.0]
#    MAX: expected [0.0, 0.0, 0.0, 14.0], returned [5.0, 5.0, 5.0, 5.0]
#    PRODUCT: expected [336.0, 168.0, 112.0, 84.0], returned [120.0, 120.0, 120.0, 120.0]
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -c 'import ensurepip, venv' 2>/dev/null || { apt-get update -qq; apt-get install -y -qq python3-venv >/dev/null; }
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet torch==2.15.0 numpy==2.4.6

cat > "$folder/job.py" <<'EOF'
import math
import torch
import torch.distributed as dist
import torch.distributed.nn.functional as differentiable

dist.init_process_group("gloo")
rank, ranks = dist.get_rank(), dist.get_world_size()
held = [float(i + 1) for i in range(ranks)]
for name, reduce in ("SUM", sum), ("MAX", max), ("PRODUCT", math.prod):
    x = torch.tensor([held[rank]], requires_grad=True)
    y = differentiable.all_reduce(x, op=getattr(dist.ReduceOp, name))
    ((rank + 2) * y).sum().backward()
    returned = [None] * ranks
    dist.all_gather_object(returned, x.grad.item())

    step = 0.0625
    weight = sum(i + 2 for i in range(ranks))
    expected = []
    for i in range(ranks):
        moved = [held[j] + (step if j == i else 0) for j in range(ranks)]
        expected.append(round(weight * (reduce(moved) - reduce(held)) / step, 6))
    if rank == 0:
        print(f"{name}: expected {expected}, returned {returned}")
dist.destroy_process_group()
EOF
OMP_NUM_THREADS=1 "$folder/venv/bin/python" -m torch.distributed.run --standalone --nproc-per-node 4 "$folder/job.py" |
    tee "$folder/seen"
sed -n 's/^#    //p' "$0" | diff - "$folder/seen"
