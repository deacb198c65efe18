#!/usr/bin/env bash
# PowerSGD's hook makes a matrix NaN, or stops training it, after one iteration in which its gradient is zero.
#
# Versions: PyTorch 2.15.0 (PyPI) on CPU, gloo, 2 ranks.
#
# One would guess: a matrix that takes no part in an iteration (an expert without tokens, a branch that a gate closes)
# keeps its value there, and is trained again when it takes part again.
#
# What happens: with matrix_approximation_rank 1, the default, and 2 the columns of a factor are divided by their norm. A
# zero gradient makes them 0 / 0, and the matrix NaN for good: the hook waits for a ZeroDivisionError, which tensors never
# raise. With the orthogonalization_epsilon that its documentation gives against this the factor is 0, and as each
# iteration begins with the factor of the one before, it stays 0: whatever gradients come later, the matrix never moves
# again, and nothing says so. From rank 3 on a QR factorisation gives a zero matrix columns of norm 1, and it trains on.
#
# Why it matters: rank 1 is what one tries first, and gradients that are zero once are common in networks of experts and
# with padded or frozen parts. The loss goes on falling, as the rest of the network learns; the epsilon makes a loud
# failure a silent one.
#
# Output seen (the gate of one matrix is closed in iteration 2 of 50, the first that PowerSGD compresses; its last step):
#
#    rank 1, epsilon 0: NaN
#    rank 1, epsilon 1e-08: does not move
#    rank 2, epsilon 0: NaN
#    rank 2, epsilon 1e-08: does not move
#    rank 4, epsilon 0: moves
#    rank 4, epsilon 1e-08: moves
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


class Experts(torch.nn.Module):
    """Two matrices, of which a gate can leave out the second."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(1)
        self.first = torch.nn.Parameter(torch.randn(16, 16))
        self.second = torch.nn.Parameter(torch.randn(16, 16))

    def forward(self, rows, gate):
        return (rows @ self.first + gate * (rows @ self.second)).square().mean()


def train(rank, epsilon):
    ddp = DistributedDataParallel(Experts())
    state = PowerSGDState(None, matrix_approximation_rank=rank, start_powerSGD_iter=2, orthogonalization_epsilon=epsilon)
    ddp.register_comm_hook(state, powerSGD_hook)
    rows = torch.Generator().manual_seed(dist.get_rank())
    for iteration in range(50):
        before = ddp.module.second.detach().clone()
        ddp(torch.randn(8, 16, generator=rows), gate=0.0 if iteration == 2 else 1.0).backward()
        with torch.no_grad():
            for parameter in ddp.parameters():
                parameter -= 0.1 * parameter.grad
                parameter.grad = None
    after = ddp.module.second.detach()
    return "NaN" if after.isnan().any() else "does not move" if torch.equal(before, after) else "moves"


dist.init_process_group("gloo")
for rank in (1, 2, 4):
    for epsilon in (0, 1e-8):
        seen = train(rank, epsilon)
        if dist.get_rank() == 0:
            print(f"rank {rank}, epsilon {epsilon}: {seen}")
dist.barrier()  # no rank goes while another still averages
dist.destroy_process_group()
EOF
OMP_NUM_THREADS=1 "$folder/venv/bin/python" -m torch.distributed.run --standalone --nproc-per-node 2 "$folder/job.py" |
    tee "$folder/seen"
sed -n 's/^#    //p' "$0" | diff - "$folder/seen"
