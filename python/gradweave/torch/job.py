"""A user's own job, `FILE.py:FUNCTION`.

FUNCTION() returns (module, optimizer, step); step(module) returns the loss of this rank's next
batch. Nothing in it needs to know of ranks.
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from os import PathLike
from pathlib import Path

import torch
import torch.distributed as dist

from gradweave._library import BadInput
from gradweave.torch.recorder import Recorder

Step = Callable[[torch.nn.Module], torch.Tensor]
Job = Callable[[], "tuple[torch.nn.Module, torch.optim.Optimizer, Step]"]


def load(text: str) -> Job:
    """The function that `FILE.py:FUNCTION` names."""
    path, _, name = text.rpartition(":")
    if not path.endswith(".py") or not Path(path).is_file():
        raise BadInput(f"expected FILE.py:FUNCTION with a file that exists, got {text}")
    specification = importlib.util.spec_from_file_location(Path(path).stem, path)
    module = importlib.util.module_from_spec(specification)
    sys.modules[specification.name] = module
    sys.path.insert(0, str(Path(path).resolve().parent))
    specification.loader.exec_module(module)
    if not callable(getattr(module, name, None)):
        raise BadInput(f"{path}: expected a function {name} in it")
    return getattr(module, name)


def record(
    job: Job,
    path: str | PathLike[str],
    *,
    name: str = "recorded",
    iterations: int = 20,
    batch_size: int | None = None,
) -> None:
    """Writes the job's model: nothing is exchanged, but ranks wait for each other before a step.

    So they do when they exchange, and then want memory and what else they share at one time.
    """
    module, optimizer, step = job()
    recorder = Recorder(module, optimizer)
    for _ in range(recorder.warm_up + iterations):
        step(module).backward()
        if dist.is_initialized():
            dist.barrier()
        optimizer.step()
        optimizer.zero_grad()
    recorder.write(path, name, batch_size)
    recorder.close()


def forward_of(job: Job) -> Callable[[], torch.Tensor]:
    """A forward pass of the job's, as `calibrate` takes it."""
    module, _, step = job()
    return lambda: step(module)
