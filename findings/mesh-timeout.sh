#!/usr/bin/env bash
# The timeout given to init_process_group holds for the default group only: groups of a DeviceMesh wait 30 minutes.
#
# Versions: PyTorch 2.15.0 (PyPI) on CPU, gloo, 4 ranks.
#
# One would guess: init_process_group(timeout=20 s) sets how long the job's collectives wait for a late rank. A DeviceMesh
# is made from that process group and takes no timeout of its own, and new_group without a timeout uses the job's.
#
# What happens: a mesh of one dimension uses the default group and its 20 s. A mesh of two dimensions makes new groups, and
# those, like any new_group, take the backend's default: 30 minutes. A rank that is 25 s late passes there.
#
# Why it matters: hybrid sharding and tensor parallelism exchange everything over such groups. A job with a short timeout,
# so that a lost rank ends it, hangs for half an hour; one with a long timeout for slow storage fails earlier than asked.
# Going from a mesh (4,) to a mesh (2, 2) changes it without a word.
#
# Output seen:
#
#    default group: 0:00:20
#    mesh (4,): 0:00:20
#    new_group(): 0:30:00
#    mesh (2, 2): 0:30:00 and 0:30:00
#    a rank 25 s late at an all-reduce in mesh (2, 2): no error
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -c 'import ensurepip, venv' 2>/dev/null || { apt-get update -qq; apt-get install -y -qq python3-venv >/dev/null; }
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet torch==2.15.0 numpy==2.4.6

cat > "$folder/job.py" <<'EOF'
import datetime
import time
import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh

dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=20))


def timeout(group):
    return group._get_backend(torch.device("cpu")).options._timeout


line = init_device_mesh("cpu", (4,))
square = init_device_mesh("cpu", (2, 2), mesh_dim_names=("nodes", "ranks"))
group = dist.new_group()
if dist.get_rank() == 1:
    time.sleep(25)
try:
    dist.all_reduce(torch.ones(1), group=square.get_group("ranks"))
    outcome = "no error"
except RuntimeError as error:
    outcome = type(error).__name__
if dist.get_rank() == 0:
    print("default group:", timeout(dist.group.WORLD))
    print("mesh (4,):", timeout(line.get_group()))
    print("new_group():", timeout(group))
    print("mesh (2, 2):", timeout(square.get_group("nodes")), "and", timeout(square.get_group("ranks")))
    print("a rank 25 s late at an all-reduce in mesh (2, 2):", outcome)
EOF
OMP_NUM_THREADS=1 "$folder/venv/bin/python" -m torch.distributed.run --standalone --nproc-per-node 4 "$folder/job.py" |
    tee "$folder/seen"
sed -n 's/^#    //p' "$0" | diff - "$folder/seen"
