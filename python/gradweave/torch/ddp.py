"""DistributedDataParallel with a plan of gradweave's."""

from __future__ import annotations

import inspect
import warnings
from itertools import accumulate

import torch

from gradweave._library import BadInput
from gradweave.study import Plan


def _bucket_bytes(plan: Plan) -> list[int]:
    return [sum(plan.bytes[last : first + 1]) for first, last in plan.groups]


def _caps(plan: Plan) -> list[int]:
    """In bytes, at least 5% apart: what the first bucket holds if it ends with some tensor."""
    caps: list[int] = []
    for held in accumulate(reversed(plan.bytes)):
        if not caps or held >= 1.05 * caps[-1]:
            caps.append(held)
    return caps


def _with_one_cap(plan: Plan) -> dict[str, float]:
    """DDP closes each bucket once it reaches the cap, as this policy does."""
    plans = {cap: plan.by(f"bucket:{cap}") for cap in _caps(plan)}
    best = min(plans, key=lambda cap: plans[cap].iteration_s)
    if plans[best].iteration_s > (1 + 1e-9) * plan.iteration_s:
        warnings.warn(
            f"PyTorch {torch.__version__} has one cap for all buckets: {best / 2**20:.4g} MiB take "
            f"{plans[best].iteration_s:.6f} s an iteration by prediction, the plan "
            f"{plan.iteration_s:.6f} s (since PyTorch 2.11)",
            stacklevel=3,
        )
    return {"bucket_cap_mb": best / 2**20}


def ddp_arguments(plan: Plan) -> dict[str, list[float] | float]:
    """DistributedDataParallel's buckets become a dense plan's with it, in the second iteration.

    `DistributedDataParallel(module, **ddp_arguments(plan))`. Before PyTorch 2.11 they come as close
    as one cap for all of them lets them, and a warning says what that costs.
    """
    taken = inspect.signature(torch.nn.parallel.DistributedDataParallel.__init__).parameters
    if "bucket_cap_mb_list" not in taken:
        return _with_one_cap(plan)
    return {"bucket_cap_mb_list": [size / 2**20 for size in _bucket_bytes(plan)]}


def check_buckets(module: torch.nn.parallel.DistributedDataParallel, plan: Plan) -> None:
    """Fails unless DDP's buckets are the plan's; to be asked after the third iteration."""
    text = module._get_ddp_logging_data().get("rebuilt_bucket_sizes")
    if text is None:
        raise BadInput("expected DistributedDataParallel to have rebuilt its buckets by now")
    sizes = [int(size) for size in str(text).split(",")]
    if sizes != _bucket_bytes(plan):
        raise BadInput(f"expected buckets of {_bucket_bytes(plan)} bytes, as planned, got {sizes}")
