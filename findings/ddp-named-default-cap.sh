#!/usr/bin/env bash
# DistributedDataParallel(m, bucket_cap_mb=25) has other buckets than DistributedDataParallel(m), whose cap is 25 MiB.
#
# Versions: PyTorch 2.15.0 (PyPI) on CPU, gloo, 2 ranks.
#
# One would guess: to name an argument's documented default changes nothing.
#
# What happens: by default the first bucket that a backward pass fills closes at 1 MiB, so that the exchange begins early. A
# cap that is named holds for the first bucket as well: with 25 there is no small one.
#
# Why it matters: the last layers' gradients wait for a bucket 25 times as large before the first byte travels. Who tries
# caps of 10, 25 and 50, with the default as "25", compares two rules and not three sizes, and who writes the default down in
# a configuration file changes the job.
#
# Output seen (20 layers of 700 by 700, the rebuilt buckets in bytes):
#
#    by default: 1962800, 27479200, 9814000
#    bucket_cap_mb=25: 27479200, 11776800
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -c 'import ensurepip, venv' 2>/dev/null || { apt-get update -qq; apt-get install -y -qq python3-venv >/dev/null; }
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet torch==2.15.0 numpy==2.4.6

cat > "$folder/job.py" <<'EOJ'
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

dist.init_process_group("gloo")
for name, arguments in (("by default", {}), ("bucket_cap_mb=25", {"bucket_cap_mb": 25})):
    model = DistributedDataParallel(torch.nn.Sequential(*(torch.nn.Linear(700, 700) for _ in range(20))), **arguments)
    for _ in range(3):
        model(torch.ones(1, 700)).sum().backward()
    if dist.get_rank() == 0:
        print(f"{name}: {model._get_ddp_logging_data()['rebuilt_bucket_sizes']}")
dist.destroy_process_group()
EOJ
OMP_NUM_THREADS=1 "$folder/venv/bin/python" -m torch.distributed.run --standalone --nproc-per-node 2 "$folder/job.py" |
    tee "$folder/seen"
sed -n 's/^#    //p' "$0" | diff - "$folder/seen"
