"""DistributedDataParallel with a plan of gradweave's."""

from __future__ import annotations

import inspect
import json
import tempfile
import warnings
from collections.abc import Sequence
from itertools import accumulate, chain
from pathlib import Path
from typing import Any

import torch
from torch.nn.parallel import DistributedDataParallel

from gradweave import study
from gradweave._library import BadInput, is_sparse
from gradweave.study import Plan


def _bucket_bytes(plan: Plan) -> list[int]:
    return [sum(plan.bytes[last : first + 1]) for first, last in plan.groups]


# ---- one cap for all buckets ---------------------------------------------------------------------


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


# ---- buckets in the order in which parameters are registered -------------------------------------


def _learning(module: torch.nn.Module) -> dict[str, torch.nn.Parameter]:
    """The parameters that DDP puts into buckets, in the order in which they are registered."""
    ignored = set(getattr(module, "_ddp_params_and_buffers_to_ignore", ()))
    named = module.named_parameters()
    return {name: p for name, p in named if p.requires_grad and name not in ignored}


def _registered(plan: Plan, module: torch.nn.Module) -> Plan:
    """A plan for parameters that travel in the reverse of the order of registration.

    A parameter waits there for all that are registered behind it. Those without a gradient in the
    plan travel as well: DDP takes them for ready once the backward pass begins.
    """
    learning = _learning(module)
    if list(learning) == list(plan.names):
        return plan
    missing = [name for name in plan.names if name not in learning]
    if missing:
        raise BadInput(f"{missing[0]}: expected a parameter that learns, as the plan names it")
    path, cluster, workers, density, interference, micro_batches = plan._asked
    if not Path(path).is_file():
        raise BadInput(f"{path}: expected the file of a recorded model, to reorder its tensors")
    model = json.loads(Path(path).read_text())
    took_s = {tensor["name"]: tensor["backward_s"] for tensor in model["tensors"]}
    ready_s = dict(zip(reversed(plan.names), accumulate(took_s[n] for n in reversed(plan.names))))
    tensors: list[dict[str, Any]] = []
    computed_s = 0.0
    for name, parameter in reversed(learning.items()):
        waited_s = max(0.0, ready_s.get(name, 0.0) - computed_s)
        computed_s += waited_s
        tensors.append({"name": name, "elements": parameter.numel(), "backward_s": waited_s})
    model["tensors"] = tensors[::-1]
    with tempfile.TemporaryDirectory() as folder:
        reordered = Path(folder) / "model.json"
        reordered.write_text(json.dumps(model))
        return study.plan(
            reordered,
            cluster,
            algorithm=plan.algorithm,
            policy=plan.policy,
            density=density,
            workers=workers,
            interference=interference,
            accumulate=micro_batches,
        )


def ddp_arguments(
    plan: Plan, module: torch.nn.Module | None = None, *, find_unused_parameters: bool = False
) -> dict[str, Any]:
    """DistributedDataParallel's buckets become a dense plan's with it, in the second iteration.

    `DistributedDataParallel(module, **ddp_arguments(plan))`. Before PyTorch 2.11 they come as close
    as one cap for all of them lets them, and a warning says what that costs.

    With `find_unused_parameters` DDP never rebuilds its buckets: they stay in the order in which
    the parameters of `module` are registered, and the plan is made anew for that order. With
    `static_graph` DDP does rebuild them, before the third iteration: leave the option out then.
    """
    if plan.ways or is_sparse(plan.algorithm):
        raise BadInput(
            f"expected a dense plan, as DistributedDataParallel compresses nothing, got one of "
            f"{plan.algorithm}: distribute(module, plan) trains by it"
        )
    taken = inspect.signature(DistributedDataParallel.__init__).parameters
    if not find_unused_parameters:
        # The option is among the arguments, so that no other value of it is passed beside them.
        arguments: dict[str, Any] = {"find_unused_parameters": False}
        if "bucket_cap_mb_list" not in taken:
            return {**_with_one_cap(plan), **arguments}
        return {"bucket_cap_mb_list": [size / 2**20 for size in _bucket_bytes(plan)], **arguments}
    if "bucket_cap_mb_list" not in taken:
        raise BadInput(
            "find_unused_parameters: expected PyTorch 2.11 or newer, which has a cap for each "
            f"bucket, got {torch.__version__}"
        )
    if module is None:
        raise BadInput(
            "find_unused_parameters: expected the module, ddp_arguments(plan, module, "
            "find_unused_parameters=True), as DistributedDataParallel's buckets then stay in the "
            "order in which its parameters are registered"
        )
    # DDP fills the buckets from the first parameter on, and exchanges them from the last one on.
    sizes = reversed(_bucket_bytes(_registered(plan, module)))
    return {
        "bucket_cap_mb_list": [size / 2**20 for size in sizes],
        "find_unused_parameters": True,
        "static_graph": False,
    }


# ---- whether DDP has the plan's buckets ----------------------------------------------------------


def _sizes(text: str) -> list[int]:
    return [int(size) for size in text.split(",")]


def _why_rebuilt_differ(
    order: Sequence[str], planned: Sequence[str], learning: dict[str, torch.nn.Parameter]
) -> str:
    """`order` is that in which gradients came, and so of DDP's buckets."""
    extra = [name for name in order if name not in set(planned)]
    if extra:
        return (
            f"{', '.join(extra[:3])} came without a gradient in the plan, and travels all the "
            "same: freeze what gets none"
        )
    for got, expected in zip(order, planned):
        if got != expected:
            return f"{got}'s gradient came where the plan has {expected}'s"
    dtypes = {str(parameter.dtype) for parameter in learning.values()}
    if len(dtypes) > 1:
        return f"parameters of {' and '.join(sorted(dtypes))} travel in buckets of their own"
    return "they were made without ddp_arguments of this plan"


def check_buckets(module: DistributedDataParallel, plan: Plan) -> None:
    """Fails, and says why, unless DDP's buckets are the plan's; asked after the third iteration.

    With static_graph it is asked after the fourth. With find_unused_parameters: unless they are
    those of the plan for the order of registration.
    """
    data = module._get_ddp_logging_data()
    learning = _learning(module.module)
    if module.find_unused_parameters and not module.static_graph:
        expected = _bucket_bytes(_registered(plan, module.module))
        sizes, holds_others = _sizes(data["bucket_sizes"]), False  # in the order of registration
        why = (
            "with find_unused_parameters=True DistributedDataParallel keeps its first buckets, in "
            "the order in which parameters are registered: ddp_arguments(plan, module, "
            "find_unused_parameters=True) plans for that"
        )
    else:
        if not data.get("has_rebuilt_buckets"):
            count = "four, with static_graph=True" if module.static_graph else "three"
            raise BadInput(
                "check_buckets: expected as many iterations before it as DistributedDataParallel "
                f"rebuilds its buckets in, {count}, got fewer"
            )
        expected, sizes = _bucket_bytes(plan), _sizes(data["rebuilt_bucket_sizes"])
        names, indices = list(learning), data["rebuilt_per_bucket_param_indices"]
        buckets = [[names[int(index)] for index in one.split()] for one in indices.split(",")]
        holds_others = list(map(set, buckets)) != [
            set(plan.names[last : first + 1]) for first, last in plan.groups
        ]
        why = _why_rebuilt_differ(list(chain(*buckets)), plan.names[::-1], learning)
    if sizes != expected or holds_others:
        raise BadInput(f"expected the plan's buckets, of {expected} bytes, got {sizes}: {why}")
