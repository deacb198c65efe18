#!/usr/bin/env bash
# PowerSGD's hook keeps residuals of tensors that it does not compress, and they grow with every iteration.
#
# Versions: PyTorch 2.15.0 (PyPI) on CPU, gloo, 2 ranks.
#
# One would guess: vectors such as biases are "directly allreduced without compression", so that their mean gradient is
# that of an allreduce, and error feedback has nothing of them to keep.
#
# What happens: the residual of a bucket is the gradient that went in less the mean that came out, of all its tensors. For
# one that was not compressed that is how far this rank's gradient is from the mean. It is added to the next gradient, and
# as nothing ever takes it away, the residual is the sum of these distances over all iterations. Over the ranks they cancel
# out, in exact arithmetic: in bfloat16 the residual has soon eaten the digits of the gradient.
#
# Why it matters: the mean of bfloat16 gradients is wrong by a factor of 4 below, of a tensor that nobody compressed, and
# later ones differ from iteration to iteration by how the data of a rank differ from the others'. In float32 the same
# residual takes longer. Who compares hooks sees a loss of PowerSGD's that no rank cures.
#
# Output seen (a vector whose gradient is 1.5 on rank 0 and -1 on rank 1, so 0.25 in the mean):
#
#    float32 allreduce: gradient 0.25 after 10, 0.25 after 100, 0.25 after 1000
#    float32 powerSGD_hook: gradient 0.25 after 10, 0.25 after 100, 0.25 after 1000; residual 1247.5
#    bfloat16 allreduce: gradient 0.25 after 10, 0.25 after 100, 0.25 after 1000
#    bfloat16 powerSGD_hook: gradient 0.25 after 10, 0.25 after 100, 1.0 after 1000; residual 256.0
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -c 'import ensurepip, venv' 2>/dev/null || { apt-get update -qq; apt-get install -y -qq python3-venv >/dev/null; }
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet torch==2.15.0 numpy==2.4.6

cat > "$folder/job.py" <<'EOF'
import torch
import torch.distributed as dist
from torch.distributed.algorithms.ddp_comm_hooks.powerSGD_hook import PowerSGDState, powerSGD_hook
from torch.nn.parallel import DistributedDataParallel


class Product(torch.nn.Module):
    """Its gradient is its input."""

    def __init__(self, type):
        super().__init__()
        self.bias = torch.nn.Parameter(torch.zeros(16, dtype=type))

    def forward(self, value):
        return (self.bias * value).sum()


def average(type, state):
    ddp = DistributedDataParallel(Product(type))
    if state is not None:
        ddp.register_comm_hook(state, powerSGD_hook)
    seen = []
    for iteration in range(1, 1001):
        ddp.zero_grad()
        ddp(1.5 if dist.get_rank() == 0 else -1.0).backward()
        if iteration in (10, 100, 1000):
            seen.append(f"{ddp.module.bias.grad[0].item()} after {iteration}")
    return "gradient " + ", ".join(seen)


dist.init_process_group("gloo")
for type in (torch.float32, torch.bfloat16):
    state = PowerSGDState(None, start_powerSGD_iter=2)
    name = str(type).removeprefix("torch.")
    dense, hooked = average(type, None), average(type, state)
    if dist.get_rank() == 0:
        print(f"{name} allreduce: {dense}")
        print(f"{name} powerSGD_hook: {hooked}; residual {state.error_dict[0][0].item()}")
dist.barrier()  # no rank goes while another still averages
dist.destroy_process_group()
EOF
OMP_NUM_THREADS=1 "$folder/venv/bin/python" -m torch.distributed.run --standalone --nproc-per-node 2 "$folder/job.py" |
    tee "$folder/seen"
sed -n 's/^#    //p' "$0" | diff - "$folder/seen"
