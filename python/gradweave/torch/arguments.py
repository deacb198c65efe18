"""DistributedDataParallel's keyword arguments, as far as `distribute` takes them."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

import torch
from torch.nn.parallel import DistributedDataParallel

from gradweave._library import BadInput

# Any parameter may have no gradient. None may have two in a backward pass, as DDP's static_graph lets
# those of a module in two reentrant checkpoints.
_IN_ANY_CASE = {"find_unused_parameters", "static_graph"}
_REASONS = {
    "bucket_cap_mb": "groups= says what travels together, and gradweave.plan finds it",
    "bucket_cap_mb_list": "groups= says what travels together, and gradweave.plan finds it",
    "gradient_as_bucket_view": "gradients stay where the backward pass puts them",
    "mixed_precision": "gradients travel as the parameters' type",
}


def check_ddp_arguments(given: Mapping[str, Any], device: torch.device) -> None:
    """Fails unless DDP has these arguments, and what they ask for is so without them."""
    known = inspect.signature(DistributedDataParallel.__init__).parameters
    for name, value in given.items():
        if name not in known:
            raise TypeError(f"distribute() got an unexpected keyword argument '{name}'")
        default = known[name].default
        is_device = name == "output_device" or (name == "device_ids" and _is_one(value))
        if is_device and value is not None:
            _check_device(name, value[0] if name == "device_ids" else value, device)
        elif name not in _IN_ANY_CASE and value is not default and value != default:
            reason = _REASONS.get(name, "gradweave has nothing like it")
            raise BadInput(f"{name}: expected {default}, as {reason}, got {value}")


def _is_one(value: Any) -> bool:
    return isinstance(value, (list, tuple)) and len(value) == 1


def _check_device(name: str, value: Any, device: torch.device) -> None:
    named = torch.device("cuda", value) if isinstance(value, int) else torch.device(value)
    if named != device:
        raise BadInput(f"{name}: expected that of the module's parameters, {device}, got {named}")
