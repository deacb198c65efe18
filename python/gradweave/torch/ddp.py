"""DistributedDataParallel with a plan of gradweave's."""

from __future__ import annotations

import inspect

import torch

from gradweave._library import BadInput
from gradweave.study import Plan


def _bucket_bytes(plan: Plan) -> list[int]:
    return [sum(plan.bytes[last : first + 1]) for first, last in plan.groups]


def ddp_arguments(plan: Plan) -> dict[str, list[float]]:
    """DistributedDataParallel's buckets become a dense plan's with it, in the second iteration.

    `DistributedDataParallel(module, **ddp_arguments(plan))`; since PyTorch 2.13.
    """
    taken = inspect.signature(torch.nn.parallel.DistributedDataParallel.__init__).parameters
    if "bucket_cap_mb_list" not in taken:
        raise BadInput(
            "expected PyTorch 2.13 or newer, whose DistributedDataParallel takes "
            f"bucket_cap_mb_list, got {torch.__version__}"
        )
    return {"bucket_cap_mb_list": [size / 2**20 for size in _bucket_bytes(plan)]}


def check_buckets(module: torch.nn.parallel.DistributedDataParallel, plan: Plan) -> None:
    """Fails unless DDP's buckets are the plan's; to be asked after the third iteration."""
    text = module._get_ddp_logging_data().get("rebuilt_bucket_sizes")
    if text is None:
        raise BadInput("expected DistributedDataParallel to have rebuilt its buckets by now")
    sizes = [int(size) for size in str(text).split(",")]
    if sizes != _bucket_bytes(plan):
        raise BadInput(f"expected buckets of {_bucket_bytes(plan)} bytes, as planned, got {sizes}")
