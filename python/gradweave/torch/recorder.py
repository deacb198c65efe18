"""A training job's own times, as a model for gradweave: what `plan` and `compare` ask for."""

from __future__ import annotations

import json
import math
import os
import time
from dataclasses import dataclass, field

import torch
import torch.distributed as dist

from gradweave._library import BadInput, file_errors
from gradweave.torch.parameters import learning


@dataclass
class _Iteration:
    """Moments of one iteration: from where a step began to where the next one did."""

    started_s: float  # with the last iteration's step, by which ranks have waited for each other
    began_s: float  # the first forward pass after it
    forward_ended_s: float = 0.0
    ready_s: dict[int, float] = field(default_factory=dict)  # per parameter, last backward pass
    ended_s: float = 0.0  # with its own step


class Recorder:
    """Records a module's iterations through hooks while it trains, on all ranks at once.

        recorder = Recorder(model, optimizer)
        ...                         # some iterations as usual
        recorder.write("model.json", name="mine", batch_size=32)

    Of several backward passes before a step (gradient accumulation) the last one counts as the
    backward pass and all before it as forward. What a job does between a step and the next forward
    pass counts as update, with the step. With a process group (`group`, or that of all ranks) a
    gradient is ready once it is so on all its ranks, as none can exchange it before. The first
    `warm_up` iterations are left out.

    Where ranks exchange nothing, but wait for each other before each step, and that takes
    `barrier_s` by itself, what iterations take beyond it and their last rank counts as forward:
    some waited for processors that others had, before they saw that the wait was over.
    """

    def __init__(
        self,
        module: torch.nn.Module,
        optimizer: torch.optim.Optimizer,
        warm_up: int = 3,
        group: dist.ProcessGroup | None = None,
        barrier_s: float | None = None,
    ) -> None:
        named = learning(module)
        device = next(iter(named.values())).device
        if device.type != "cpu":
            raise BadInput(f"expected parameters on the CPU, got them on {device}")
        self._names = list(named)
        # An empty parameter counts as one element: a model has none without.
        self._shapes = [list(p.shape) if p.numel() else [1] for p in named.values()]
        # as sessions send gradients that are not compressed
        dtypes = {p.dtype for p in named.values()}
        self._bytes_per_element = dtypes.pop().itemsize if len(dtypes) == 1 else 4
        self.warm_up = warm_up
        self._group = group
        self._barrier_s = barrier_s
        self._now: _Iteration | None = None
        self._step_began_s: float | None = None
        self._done: list[_Iteration] = []
        self._kept: list[_Iteration] = []
        self._settled: list[int] | None = None
        self._handles: list[torch.utils.hooks.RemovableHandle] = []
        self._listen(module, optimizer)

    def _listen(self, module: torch.nn.Module, optimizer: torch.optim.Optimizer) -> None:
        self._handles = [
            module.register_forward_pre_hook(self._on_forward),
            module.register_forward_hook(self._after_forward),
            optimizer.register_step_pre_hook(lambda *_: self._on_step()),
        ]
        learning = [p for p in module.parameters() if p.requires_grad]
        for index, parameter in enumerate(learning):
            self._handles.append(
                parameter.register_post_accumulate_grad_hook(
                    lambda _, index=index: self._on_gradient(index)
                )
            )

    def go_on(self, module: torch.nn.Module, optimizer: torch.optim.Optimizer) -> None:
        """Records another copy of the module from now on, whose warm-up is left out as well."""
        self.close()
        self._kept, self._done = self._iterations(), []
        self._now = self._step_began_s = None
        self._listen(module, optimizer)

    def forget(self) -> None:
        """Drops all that was recorded so far, but for the order of the gradients."""
        self._kept, self._done = [], []

    def _iterations(self) -> list[_Iteration]:
        return self._kept + self._done[self.warm_up :]

    # ---- moments --------------------------------------------------------------------------------

    def _on_forward(self, module: torch.nn.Module, _inputs) -> None:
        if self._now is None and module.training and torch.is_grad_enabled():
            now_s = time.perf_counter()
            started_s = now_s if self._step_began_s is None else self._step_began_s
            self._now = _Iteration(started_s, began_s=now_s)

    def _after_forward(self, *_) -> None:
        if self._now is not None:
            self._now.forward_ended_s = time.perf_counter()
            self._now.ready_s = {}

    def _on_gradient(self, index: int) -> None:
        if self._now is not None:
            self._now.ready_s[index] = time.perf_counter()

    def _on_step(self) -> None:
        self._step_began_s = time.perf_counter()
        if self._now is not None and self._now.ready_s:
            self._now.ended_s = self._step_began_s
            self._done.append(self._now)
        self._now = None

    # ---- what came out --------------------------------------------------------------------------

    def _order(self, iterations: list[_Iteration]) -> list[int]:
        """Parameters as their gradients became ready, by the median moment; found once."""
        seen = set(iterations[0].ready_s)
        for iteration in iterations:
            changed = seen ^ set(iteration.ready_s)
            if changed:
                names = ", ".join(sorted(self._names[i] for i in changed)[:3])
                raise BadInput(
                    f"expected gradients of the same parameters in each iteration, but {names} "
                    "had one in some only"
                )
        if self._settled is not None and set(self._settled) == seen:
            return self._settled
        moments = {
            i: _median([one.ready_s[i] - one.forward_ended_s for one in iterations]) for i in seen
        }
        return sorted(seen, key=moments.__getitem__)

    def _settle(self, own: list[int]) -> list[int]:
        """Rank 0's order, on all ranks."""
        orders = [own]
        if dist.is_initialized():
            orders = [own] * dist.get_world_size(self._group)
            dist.all_gather_object(orders, own, group=self._group)
        for rank, order in enumerate(orders):
            changed = set(orders[0]) ^ set(order)
            if changed:
                names = ", ".join(sorted(self._names[i] for i in changed)[:3])
                raise BadInput(
                    f"expected gradients of the same parameters on all ranks, but {names} had one "
                    f"on rank 0 or rank {rank} only"
                )
        self._settled = orders[0]
        return orders[0]

    def _need(self, iterations: list[_Iteration]) -> None:
        if not iterations:
            raise BadInput(
                f"expected more than {self.warm_up} iterations with an optimizer's step, got "
                f"{len(self._done)}"
            )

    def model(self, name: str = "recorded", batch_size: int | None = None) -> dict:
        """The `gradweave/model@1` document; with a process group all ranks call it."""
        iterations = self._iterations()
        self._need(iterations)
        order = self._settle(self._order(iterations))
        # A column each for update, forward and the tensors.
        durations_s = _durations(iterations, order, self._group)
        if self._barrier_s is not None:
            waited_s = _periods(iterations, self._group) - durations_s.sum(dim=1) - self._barrier_s
            durations_s[:, 1] += waited_s.clamp(min=0)
        middle = middle_half(durations_s.sum(dim=1))
        means_s = durations_s[middle].mean(dim=0).tolist()
        low_s, high_s = durations_s.quantile(torch.tensor([0.05, 0.95]).double(), dim=0).tolist()
        unused = [self._names[i] for i in range(len(self._names)) if i not in set(order)]
        note = "" if not unused else f" Left out, as no gradient came: {', '.join(unused)}."
        document = {
            "schema": "gradweave/model@1",
            "name": name,
            "bytes_per_element": self._bytes_per_element,
            "forward_s": means_s[1],
            "update_s": means_s[0],
            "source": _source(
                iterations,
                "means of the middle half of the iterations, recorded by hooks in a PyTorch "
                f"job (torch {torch.__version__}); a gradient is ready when all ranks' are.{note}",
                self._group,
            ),
            "tensors": [
                {
                    "name": self._names[index],
                    "shape": self._shapes[index],
                    "elements": math.prod(self._shapes[index]),
                    "backward_s": mean_s,
                    "backward_low_s": min(low, mean_s),
                    "backward_high_s": max(high, mean_s),
                }
                for index, mean_s, low, high in reversed(
                    list(zip(order, means_s[2:], low_s[2:], high_s[2:]))
                )
            ],
        }
        if batch_size is not None:
            document["batch_size"] = batch_size
        return document

    def noise(self, name: str = "recorded") -> dict:
        """The `gradweave/noise@1` document of the same iterations; all ranks call it.

        From an iteration's beginning to a rank's last gradient, over what the model takes: there an
        iteration is as long as that of its last rank.
        """
        iterations = self._iterations()
        self._need(iterations)
        own_s = torch.tensor(
            [max(one.ready_s.values()) - one.started_s for one in iterations], dtype=torch.float64
        )
        ranks_s = [own_s]
        if dist.is_initialized():
            ranks_s = [torch.empty_like(own_s) for _ in range(dist.get_world_size(self._group))]
            dist.all_gather(ranks_s, own_s, group=self._group)
        each_s = torch.stack(ranks_s, dim=1)
        last_s = each_s.max(dim=1).values
        compute_s = last_s[middle_half(last_s)].mean().item()
        return {
            "schema": "gradweave/noise@1",
            "model": name,
            "compute_s": compute_s,
            "source": _source(
                iterations,
                "each rank's forward and backward pass with the update before it, recorded by hooks "
                f"in a PyTorch job (torch {torch.__version__}), over compute_s",
                self._group,
            ),
            "factors": (each_s / compute_s).tolist(),
        }

    def write(
        self,
        path: str,
        name: str = "recorded",
        batch_size: int | None = None,
        noise: str | None = None,
    ) -> None:
        """Writes the model, and the file `noise` of its iterations, on rank 0; all ranks call it."""
        write_document(path, self.model(name, batch_size), self._group)
        if noise is not None:
            write_document(noise, self.noise(name), self._group)

    def close(self) -> None:
        """Records no more."""
        for handle in self._handles:
            handle.remove()
        self._handles.clear()


def _source(iterations: list[_Iteration], note: str, group: dist.ProcessGroup | None) -> dict:
    return {
        "kind": "recorded",
        "device": "cpu",
        "iterations": len(iterations),
        "ranks": dist.get_world_size(group) if dist.is_initialized() else 1,
        "note": note,
    }


def middle_half(times_s: torch.Tensor) -> torch.Tensor:
    """Returns the numbers of iterations outside of the fastest and the slowest quarter."""
    quarter = len(times_s) // 4
    return times_s.argsort()[quarter : len(times_s) - quarter]


def write_document(path: str, document: dict, group: dist.ProcessGroup | None) -> None:
    """Writes the document on rank 0."""
    if dist.is_initialized() and dist.get_rank(group) != 0:
        return
    beside = f"{path}.{os.getpid()}"
    with file_errors(path, "written"):
        with open(beside, "w", encoding="utf-8") as file:
            json.dump(document, file, indent=1)
            file.write("\n")
        os.replace(beside, path)


def _durations(
    iterations: list[_Iteration], order: list[int], group: dist.ProcessGroup | None
) -> torch.Tensor:
    """Per iteration how long update, forward and each tensor's part of the backward pass took.

    Of all ranks: the means of update and forward, and between moments when gradients were ready on
    the last one.
    """
    moments = torch.tensor(
        [
            [one.began_s, one.forward_ended_s, *(one.ready_s[index] for index in order)]
            for one in iterations
        ],
        dtype=torch.float64,
    )
    moments -= torch.tensor([[one.started_s] for one in iterations], dtype=torch.float64)
    before, ready = moments[:, :2].clone(), moments[:, 2:].contiguous()
    if dist.is_initialized():
        dist.all_reduce(before, group=group)
        before /= dist.get_world_size(group)
        dist.all_reduce(ready, op=dist.ReduceOp.MAX, group=group)
    moments = torch.cat([before, ready], dim=1).cummax(dim=1).values
    return moments.diff(dim=1, prepend=torch.zeros(len(iterations), 1, dtype=torch.float64))


def _periods(iterations: list[_Iteration], group: dist.ProcessGroup | None) -> torch.Tensor:
    """How long iterations took from step to step, in means of ranks."""
    each_s = torch.tensor([one.ended_s - one.started_s for one in iterations], dtype=torch.float64)
    if dist.is_initialized():
        dist.all_reduce(each_s, group=group)
        each_s /= dist.get_world_size(group)
    return each_s


def _median(values: list[float]) -> float:
    ordered = sorted(values)
    half = len(ordered) // 2
    return ordered[half] if len(ordered) % 2 else (ordered[half - 1] + ordered[half]) / 2
