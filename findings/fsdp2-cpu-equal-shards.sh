#!/usr/bin/env bash
# On CPU, every rank initialises its shard of an FSDP2 model with the same numbers: weights repeat with the period of a shard.
#
# Versions: PyTorch 2.15.0 (PyPI) on CPU, gloo, 4 ranks.
#
# One would guess: a model built on the meta device, sharded by fully_shard and initialised by reset_parameters() after
# torch.manual_seed(0) on all ranks has the weights of a model initialised by one process, or at least independent ones.
#
# What happens: each rank fills its shard from the start of the same random sequence, so the four shards of a weight are
# equal. An 8 x 16 matrix has rank 2. Without equal seeds a replicated DTensor differs between ranks instead. PyTorch
# warns that random operators "may not have complete support on cpu device mesh", and trains.
#
# Why it matters: tests and experiments of sharded training run on CPU first. There, neurons a shard apart start as copies
# of one another, more of them with more ranks, and losses depend on the number of ranks for a reason that has nothing to
# do with sharding. Initialising before sharding, or broadcasting a full state dict, avoids it.
#
# Output seen:
#
#    matrix rank of a Linear(16, 8) initialised by one process: 8
#    matrix rank of the same layer sharded over 4 ranks and then initialised: 2
#    its four shards are equal: True
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -c 'import ensurepip, venv' 2>/dev/null || { apt-get update -qq; apt-get install -y -qq python3-venv >/dev/null; }
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet torch==2.15.0 numpy==2.4.6

cat > "$folder/job.py" <<'EOF'
import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

dist.init_process_group("gloo")
torch.manual_seed(0)
alone = torch.nn.Linear(16, 8, bias=False)

with torch.device("meta"):
    sharded = torch.nn.Linear(16, 8, bias=False)
fully_shard(sharded, mesh=init_device_mesh("cpu", (dist.get_world_size(),)))
sharded.to_empty(device="cpu")
torch.manual_seed(0)
sharded.reset_parameters()
weight = sharded.weight.full_tensor()
shards = weight.chunk(dist.get_world_size())
if dist.get_rank() == 0:
    print("matrix rank of a Linear(16, 8) initialised by one process:", torch.linalg.matrix_rank(alone.weight).item())
    print("matrix rank of the same layer sharded over 4 ranks and then initialised:",
          torch.linalg.matrix_rank(weight).item())
    print("its four shards are equal:", all(torch.equal(shard, shards[0]) for shard in shards))
dist.destroy_process_group()
EOF
OMP_NUM_THREADS=1 "$folder/venv/bin/python" -m torch.distributed.run --standalone --nproc-per-node 4 "$folder/job.py" |
    tee "$folder/seen"
sed -n 's/^#    //p' "$0" | diff - "$folder/seen"
