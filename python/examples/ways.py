"""The ways in which convergence.py lets gradients travel, and what it does with them besides."""

from __future__ import annotations

import math
import time
from collections.abc import Callable

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.algorithms.ddp_comm_hooks import default_hooks, powerSGD_hook

from gradweave import Plan
from gradweave._library import is_sparse
from gradweave.torch import distribute

HOOKS = ("torch-ddp", "torch-fp16", "torch-powersgd")
MIXED = ("mixed", "mixed:0.95", "mixed:0.99")  # ways by group that keep so much of the energy
RANKS = ("powersgd:1", "powersgd:2", "powersgd:8")  # others than 4
CHOSEN = (*MIXED, *RANKS)  # by plans of choices
DENSE = (*HOOKS, "dense", "p-sgd", "ddp", "mg-wfbp", "ps")


def selects(way: str) -> bool:
    """Returns whether the way sends a share of the elements, by a density."""
    return way not in (*HOOKS, *CHOSEN) and is_sparse(way)


class Ddp:
    """DistributedDataParallel, with one of its hooks or none."""

    serves = False

    def __init__(self, module: nn.Module, name: str, group: dist.ProcessGroup) -> None:
        # PowerSGD starts the exchanges of several buckets in another order on each rank.
        cap_mb = 1 << 20 if name == "torch-powersgd" else None
        self.model = nn.parallel.DistributedDataParallel(
            module, process_group=group, bucket_cap_mb=cap_mb
        )
        if name == "torch-fp16":
            self.model.register_comm_hook(group, default_hooks.fp16_compress_hook)
        elif name == "torch-powersgd":
            state = powerSGD_hook.PowerSGDState(group, 2, start_powerSGD_iter=2)
            self.model.register_comm_hook(state, powerSGD_hook.powerSGD_hook)

    def sent_bytes(self) -> float | None:
        return None  # nothing in PyTorch counts them

    def close(self) -> None:
        pass


class Live:
    """One of gradweave's pipelines, or a mixed plan's ways, by a plan for its groups."""

    def __init__(
        self,
        module: nn.Module,
        plan: Plan,
        density: float,
        seed: int,
        group: dist.ProcessGroup,
    ) -> None:
        self.model = module
        self._open = lambda density: distribute(
            module, plan, density=density, seed=seed, group=group
        )
        self._distributed = self._open(density)

    @property
    def serves(self) -> bool:
        return self._distributed.serves

    def serve(self) -> None:
        """Until the others close, or change the density."""
        self._distributed.serve()

    def change_density(self, density: float) -> None:
        """Goes on with another density, and keeps what was not sent yet; all call it."""
        state = self._distributed.exchange_state()
        self._distributed.close()
        self._distributed = self._open(density)
        self._distributed.load_exchange_state(state, residual_only=True)

    def sent_bytes(self) -> float | None:
        """Returns the last iteration's bytes, in the mean of the workers; all call it."""
        return self._distributed.measure()["bytes_per_worker"]

    def residual(self) -> dict[str, torch.Tensor]:
        """Returns what this worker has not sent yet, of means."""
        return self._distributed.residual()

    def close(self) -> None:
        self._distributed.close()


def correct_momentum(module: nn.Module, momentum: float) -> Callable[[], None]:
    """Lets each worker's velocity travel in place of its gradient (Deep Gradient Compression,
    section 3.1). Call what it returns after a backward pass: velocities end where any worker has
    sent something (3.2)."""
    velocities = {one: torch.zeros_like(one) for one in module.parameters()}

    def gather(parameter: nn.Parameter) -> None:
        velocity = velocities[parameter].mul_(momentum).add_(parameter.grad)
        parameter.grad.copy_(velocity)

    def mask() -> None:
        for parameter, velocity in velocities.items():
            velocity[parameter.grad != 0] = 0

    for parameter in velocities:
        parameter.register_post_accumulate_grad_hook(gather)
    return mask


class Watch:
    """Watches what becomes of a worker's gradient in an iteration.

    Made before a way is opened, so that it sees gradients before they travel.
    """

    def __init__(self, module: nn.Module) -> None:
        self._module = module
        self._gradients: dict[nn.Parameter, torch.Tensor] | None = None
        self._before: dict[str, torch.Tensor] = {}
        self.spent_s = 0.0  # in iterations that were watched
        for parameter in module.parameters():
            parameter.register_post_accumulate_grad_hook(self._see)

    def _see(self, parameter: nn.Parameter) -> None:
        if self._gradients is not None:
            began = time.perf_counter()
            self._gradients[parameter] = parameter.grad.clone()
            self.spent_s += time.perf_counter() - began

    def begin(self, way: Live) -> None:
        self._gradients, self._before = {}, way.residual()

    def end(self, way: Live, workers: int) -> tuple[float, float]:
        """The share of the energy of what was to be sent that was, and the norm of what is left
        over that of the gradient: 1 and 0 where nothing is kept back."""
        gradients, self._gradients = self._gradients, None
        after = way.residual()
        new = asked = left = 0.0
        for name, parameter in self._module.named_parameters():
            gradient = gradients[parameter] / workers
            new += gradient.square().sum().item()
            asked += (self._before[name] + gradient).square().sum().item()
            left += after[name].square().sum().item()
        return 1 - left / asked, math.sqrt(left / new)
