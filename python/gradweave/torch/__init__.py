"""Any of gradweave's pipelines in a PyTorch job, in place of DistributedDataParallel.

    dist.init_process_group("gloo")
    model = ...
    model = gradweave.torch.distribute(model, "topk", density=0.001)
    for inputs, targets in batches:
        loss = criterion(model(inputs), targets)
        loss.backward()      # gradients travel meanwhile, and stand averaged in .grad afterwards
        optimizer.step()
        optimizer.zero_grad()

The model is then called as before. Parameters are floats of 32 or 16 bits on the CPU or on one GPU
of their rank; others are refused.
"""

try:
    import torch  # noqa: F401
except ModuleNotFoundError:
    raise ImportError("gradweave.torch needs PyTorch: pip install torch") from None

from gradweave._library import BadInput, algorithms
from gradweave.study import Plan, compare, plan, predict
from gradweave.torch.calibrate import calibrate
from gradweave.torch.ddp import check_buckets, ddp_arguments
from gradweave.torch.distributed import Distributed, distribute
from gradweave.torch.gradients import GradientRecorder
from gradweave.torch.hook import comm_hook
from gradweave.torch.recorder import Recorder

__all__ = [
    "BadInput",
    "Distributed",
    "GradientRecorder",
    "Plan",
    "Recorder",
    "algorithms",
    "calibrate",
    "check_buckets",
    "comm_hook",
    "compare",
    "ddp_arguments",
    "distribute",
    "plan",
    "predict",
]
