#!/usr/bin/env bash
# bfloat16 gradients of embeddings and LayerNorm stop growing after 256 equal terms, so they depend on ranks and threads.
#
# Versions: PyTorch 2.15.0 (PyPI) on CPU, gloo, DistributedDataParallel on 1 and 4 ranks.
#
# One would guess: one batch of 4,096 tokens gives one gradient, however many ranks share it and whatever a layer's type.
# Products and sums of bfloat16 are accumulated in float32, as those of Linear are.
#
# What happens: the backward passes of Embedding and LayerNorm add in bfloat16, where 256 + 1 is 256. A token's gradient
# stops at 256 of its 4,096 occurrences. 4 ranks see 1,024 occurrences each, stop at 256 of those, and average to a
# gradient that is four times as large. LayerNorm keeps one such sum per thread, so its gradient of the bias grows with
# torch.set_num_threads. Launching by torchrun alone changes it, as that gives each of several ranks one thread.
#
# Why it matters: comparing runs on different numbers of ranks is how one checks data-parallel training, and on CPU such a
# check of a bfloat16 model finds a factor that is nobody's bug in the exchange. Frequent tokens and padding train slower.
# Parameters in float32 under autocast help Embedding; LayerNorm then still adds in bfloat16.
#
# Output seen (the mean loss's gradient; its true value is 1):
#
#    1 rank: Linear 1.0, Embedding 0.0625, LayerNorm with 1 thread 0.0625, 2 threads 0.125, 4 threads 0.25, under autocast 0.0625
#    4 ranks: Linear 1.0, Embedding 0.25, LayerNorm with 1 thread 0.25, 2 threads 0.5, 4 threads 1.0, under autocast 0.25
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -c 'import ensurepip, venv' 2>/dev/null || { apt-get update -qq; apt-get install -y -qq python3-venv >/dev/null; }
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet torch==2.15.0 numpy==2.4.6

cat > "$folder/job.py" <<'EOF'
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

dist.init_process_group("gloo")
ranks = dist.get_world_size()
tokens = 4096 // ranks


def gradient(layer, inputs, parameter, threads=1):
    torch.set_num_threads(threads)
    model = DistributedDataParallel(layer)
    (model(inputs).sum() / tokens).backward()
    return getattr(layer, parameter).grad.flatten()[0].item()


ones = torch.ones(tokens, 1, dtype=torch.bfloat16)
found = f"Linear {gradient(torch.nn.Linear(1, 1, dtype=torch.bfloat16), ones, 'bias')}, Embedding "
same_token = torch.zeros(tokens, dtype=torch.long)
found += f"{gradient(torch.nn.Embedding(2, 1, dtype=torch.bfloat16), same_token, 'weight')}, LayerNorm with"
rows = torch.ones(tokens, 8, dtype=torch.bfloat16)
for threads in 1, 2, 4:
    value = gradient(torch.nn.LayerNorm(8, dtype=torch.bfloat16), rows, "bias", threads)
    found += f" {threads} thread{'s' if threads > 1 else ''} {value},"
with torch.autocast("cpu", dtype=torch.bfloat16):
    found += f" under autocast {gradient(torch.nn.LayerNorm(8), rows, 'bias')}"
if dist.get_rank() == 0:
    print(f"{ranks} rank{'s' if ranks > 1 else ''}: {found}")
dist.destroy_process_group()
EOF
for ranks in 1 4; do
    OMP_NUM_THREADS=1 "$folder/venv/bin/python" -m torch.distributed.run --standalone --nproc-per-node $ranks "$folder/job.py"
done | tee "$folder/seen"
sed -n 's/^#    //p' "$0" | diff - "$folder/seen"
