#!/usr/bin/env bash
# Collectives of one gloo group overtake one another: two run at a time, and a third waits for one of the two.
#
# Versions: PyTorch 2.15.0 (PyPI) on CPU, gloo, 2 ranks.
#
# One would guess: collectives that a program starts one after the other in one group run and end in that order, as
# NCCL's on one stream do; or all of them run at once, since each has its own work object.
#
# What happens: a group has two threads. A small all-reduce started just behind one of 256 MiB is done long before it. Started
# behind two large ones it is done only when one of those is.
#
# Why it matters: the buckets of DistributedDataParallel are such a sequence. On gloo two of them share the link: what a
# bucket costs depends on its neighbours, and a small last one may be done before a large one that was started earlier.
# A model that runs buckets one after the other, each at its own measured cost, does not describe that, even where the
# sum of the times agrees.
#
# Output seen (five rounds):
#
#    small behind one large: the large one still running when the small one was done, in 5 of 5
#    small behind two large: both large ones still running when the small one was done, in 0 of 5
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -c 'import ensurepip, venv' 2>/dev/null || { apt-get update -qq; apt-get install -y -qq python3-venv >/dev/null; }
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet torch==2.15.0 numpy==2.4.6

cat > "$folder/job.py" <<'EOF'
import torch
import torch.distributed as dist

ROUNDS = 5
dist.init_process_group("gloo")
large = [torch.ones(1 << 26) for _ in range(2)]
small = torch.ones(1)
for tensor in large:
    dist.all_reduce(tensor)


def overtaken(count):
    """Rounds in which all of `count` large all-reduces still ran when a small one, started last, was done."""
    rounds = 0
    for _ in range(ROUNDS):
        dist.barrier()
        works = [dist.all_reduce(tensor, async_op=True) for tensor in large[:count]]
        dist.all_reduce(small)
        rounds += not any(work.is_completed() for work in works)
        for work in works:
            work.wait()
    return rounds


one, two = overtaken(1), overtaken(2)
if dist.get_rank() == 0:
    print(f"small behind one large: the large one still running when the small one was done, in {one} of {ROUNDS}")
    print(f"small behind two large: both large ones still running when the small one was done, in {two} of {ROUNDS}")
dist.destroy_process_group()
EOF
OMP_NUM_THREADS=1 "$folder/venv/bin/python" -m torch.distributed.run --standalone --nproc-per-node 2 "$folder/job.py" |
    tee "$folder/seen"
sed -n 's/^#    //p' "$0" | diff - "$folder/seen"
