#!/usr/bin/env bash
# torch.distributed.reduce on gloo overwrites the tensors of the ranks that get no result, with sums of some ranks.
#
# Versions: PyTorch 2.15.0 (PyPI) on CPU, gloo, 4 ranks.
#
# One would guess: only the destination's tensor changes. The documentation says that only the destination receives the
# final result; the other ranks hand their tensor in as input and keep it.
#
# What happens: the tensor of every other rank becomes a mixture. Some of its elements are sums over two or three ranks,
# some even the result, and which ones depends on the rank and on the place in the tensor.
#
# Why it matters: training that gives every gradient an owner reduces each one to that owner. A rank that goes on to use
# its own gradient (accumulates the next micro-batch, computes a local norm, keeps what compression left out) uses other
# ranks' gradients too. Nothing fails, and a second reduce of the same tensors counts gradients twice.
#
# Output seen (rank r hands in four times 10^r, so that the digits tell whose gradients a sum has; destination rank 0):
#
#    rank 0: [1111.0, 1111.0, 1111.0, 1111.0]
#    rank 1: [1110.0, 1110.0, 1111.0, 1111.0]
#    rank 2: [1100.0, 1100.0, 1101.0, 1101.0]
#    rank 3: [1000.0, 1000.0, 1001.0, 1001.0]
#    reduced once more, rank 0: [4321.0, 4321.0, 4324.0, 4324.0]
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -c 'import ensurepip, venv' 2>/dev/null || { apt-get update -qq; apt-get install -y -qq python3-venv >/dev/null; }
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet torch==2.15.0 numpy==2.4.6

cat > "$folder/job.py" <<'EOF'
import torch
import torch.distributed as dist

dist.init_process_group("gloo")
gradient = torch.full((4,), 10.0 ** dist.get_rank())
dist.reduce(gradient, dst=0)
held = [None] * dist.get_world_size()
dist.all_gather_object(held, gradient.tolist())
dist.reduce(gradient, dst=0)
if dist.get_rank() == 0:
    for rank, elements in enumerate(held):
        print(f"rank {rank}: {elements}")
    print("reduced once more, rank 0:", gradient.tolist())
dist.destroy_process_group()
EOF
OMP_NUM_THREADS=1 "$folder/venv/bin/python" -m torch.distributed.run --standalone --nproc-per-node 4 "$folder/job.py" |
    tee "$folder/seen"
sed -n 's/^#    //p' "$0" | diff - "$folder/seen"
