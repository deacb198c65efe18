"""A user's own job, `FILE.py:FUNCTION`.

FUNCTION() returns (module, optimizer, step); step(module) returns the loss of this rank's next
batch. Nothing in it needs to know of ranks.
"""

from __future__ import annotations

import importlib.util
import operator
import sys
import time
from collections.abc import Callable
from os import PathLike
from pathlib import Path

import torch
import torch.distributed as dist

from gradweave._library import BadInput
from gradweave.torch.distributed import distribute
from gradweave.torch.gradients import GradientRecorder
from gradweave.torch.parameters import learning
from gradweave.torch.recorder import Recorder

Step = Callable[[torch.nn.Module], torch.Tensor]
Job = Callable[[], "tuple[torch.nn.Module, torch.optim.Optimizer, Step]"]


def load(text: str) -> Job:
    """The function that `FILE.py:FUNCTION` names."""
    path, _, name = text.rpartition(":")
    if not path.endswith(".py"):
        raise BadInput(f"expected FILE.py:FUNCTION, got {text}")
    if not Path(path).is_file():
        raise BadInput(f"{path}: expected a file that exists, for {text}")
    specification = importlib.util.spec_from_file_location(Path(path).stem, path)
    module = importlib.util.module_from_spec(specification)
    sys.modules[specification.name] = module
    sys.path.insert(0, str(Path(path).resolve().parent))
    specification.loader.exec_module(module)
    function = getattr(module, name, None)
    if not callable(function):
        raise BadInput(f"{path}: expected a function {name} in it")
    return lambda: _begin(function, text)


def _begin(function: Job, text: str) -> tuple[torch.nn.Module, torch.optim.Optimizer, Step]:
    """The job anew, whose parameters a session can take: before anything is measured with it."""
    begun = function()
    kinds = (torch.nn.Module, torch.optim.Optimizer, Callable)
    given = begun if isinstance(begun, tuple) else (begun,)
    if len(given) != len(kinds) or not all(map(isinstance, given, kinds)):
        got = ", ".join(type(one).__name__ for one in given)
        got = f"({got})" if isinstance(begun, tuple) else got
        raise BadInput(f"{text}: expected it to return (module, optimizer, step), got {got}")
    module, optimizer, step = begun
    learning(module)
    return module, optimizer, _checked(step, text)


def _checked(step: Step, text: str) -> Step:
    """The step, which fails if its first call does not use the model, or does not return a loss."""
    is_first = True

    def checked(model: torch.nn.Module) -> torch.Tensor:
        nonlocal is_first
        if not is_first:
            return step(model)
        is_first = False
        calls = []
        handle = model.register_forward_pre_hook(lambda *_: calls.append(model))
        before = [parameter.grad for parameter in model.parameters()]
        loss = step(model)
        handle.remove()
        if not calls:
            raise BadInput(
                f"{text}: expected step(module) to call the module that it is given, which "
                "exchanges gradients, got a step that does not"
            )
        is_tensor = isinstance(loss, torch.Tensor)
        if not is_tensor or loss.numel() != 1 or not loss.requires_grad:
            got = type(loss).__name__
            if is_tensor:
                got = f"{list(loss.shape)}, requires_grad={loss.requires_grad}"
            expected = "expected step(module) to return a loss of one element"
            raise BadInput(f"{text}: {expected}, got {got}")
        after = [parameter.grad for parameter in model.parameters()]
        if any(map(operator.is_not, before, after)):
            raise BadInput(f"{text}: expected step(module) to return before the backward pass")
        return loss

    return checked


class Recording:
    """The job's model, as far as it was recorded: all ranks compute, and nothing is exchanged.

    Ranks wait for each other before a step. So they do when they exchange, and then want memory and
    what else they share at one time.
    """

    def __init__(self, job: Job) -> None:
        self._job = job
        self._recorder: Recorder | None = None

    def run(self, iterations: int) -> list[float]:
        """So many iterations more, of the job begun anew; and how long each took here."""
        module, optimizer, step = self._job()
        if self._recorder is None:
            self._recorder = Recorder(module, optimizer)
        else:
            self._recorder.go_on(module, optimizer)
        taken_s = []
        for _ in range(self._recorder.warm_up + iterations):
            began_s = time.perf_counter()
            step(module).backward()
            if dist.is_initialized():
                dist.barrier()
            optimizer.step()
            optimizer.zero_grad()
            taken_s.append(time.perf_counter() - began_s)
        return taken_s[self._recorder.warm_up :]

    def forget(self) -> None:
        """All iterations so far; the order of the tensors stays, which plans go by."""
        self._recorder.forget()

    def write(
        self,
        path: str | PathLike[str],
        name: str = "recorded",
        batch_size: int | None = None,
        noise: str | None = None,
    ) -> None:
        """Writes the model on rank 0; all ranks call it."""
        self._recorder.write(path, name, batch_size, noise)


def record_gradients(
    job: Job, path: str | PathLike[str], name: str, density: float, iterations: int
) -> None:
    """Trains the job anew by top-k and keeps a sample of its gradients, on rank 0; all ranks call
    it."""
    module, optimizer, step = job()
    recorder = GradientRecorder(module, iterations=iterations)
    distributed = distribute(module, "topk", density=density)
    for _ in range(iterations):
        step(module).backward()
        optimizer.step()
        optimizer.zero_grad()
    recorder.write(path, name)
    recorder.close()
    distributed.close()


def forward_of(job: Job) -> Callable[[], torch.Tensor]:
    """A forward pass of the job's, as `calibrate` takes it."""
    module, _, step = job()
    return lambda: step(module)
