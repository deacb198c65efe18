"""The ways in which a job's gradients can travel, each measured over iterations of the job.

A way is the name of one of gradweave's pipelines without a server, `torch-ddp[:CAP_MB]`
(DistributedDataParallel), either with `:plan` behind it (the same with the optimal plan),
`torch-fp16`, `torch-bf16`, `torch-powersgd` and `torch-topk` (DDP's hooks, and one as users write
it), `torch-none` (no exchange at all), or `torch-barrier` (the same, but ranks wait for each other
before a step, as if they exchanged).
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import torch
import torch.distributed as dist
from torch.distributed.algorithms.ddp_comm_hooks import default_hooks, powerSGD_hook

from gradweave._library import BadInput, algorithms, has_server
from gradweave.study import Measurement, Plan, plan
from gradweave.torch.ddp import check_buckets, ddp_arguments
from gradweave.torch.distributed import check_equal, distribute
from gradweave.torch.job import Job, Recording

_IDLE = ("torch-none", "torch-barrier")
_HALVES = {
    "torch-fp16": default_hooks.fp16_compress_hook,
    "torch-bf16": default_hooks.bf16_compress_hook,
}
_HOOKS = (*_HALVES, "torch-powersgd", "torch-topk")


def _is_size(text: str) -> bool:
    try:
        return float(text) > 0
    except ValueError:
        return False


def check(name: str) -> None:
    """Fails unless there is such a way."""
    kind, _, argument = name.partition(":")
    if kind == "torch-ddp" and _is_size(argument):
        return
    way = kind if argument == "plan" else name
    if way == "torch-ddp" or name in (*_IDLE, *_HOOKS):
        return
    if way not in algorithms():
        raise BadInput(
            f"{name}: expected a pipeline of gradweave's or torch-ddp, either with :plan behind it, "
            f"torch-ddp:CAP_MB, {', '.join((*_IDLE, *_HOOKS))}"
        )
    if has_server(way):
        raise BadInput(f"{name}: expected a pipeline without a server, as all ranks train here")


def exchanges(name: str) -> bool:
    """Whether ranks hear of each other's gradients by this way."""
    return name not in _IDLE


@dataclass(frozen=True)
class Setting:
    """Inputs of plans; without a cluster there are none, and all travels in one group."""

    density: float
    model: str = ""  # file
    tensor_bytes: Sequence[int] = ()  # of the gradients in it
    cluster: str = ""
    interference: bool = True

    def plan(self, algorithm: str, policy: str | None = None) -> Plan:
        return plan(
            self.model,
            self.cluster,
            algorithm=algorithm,
            policy=policy,
            density=self.density,
            workers=dist.get_world_size(),
            interference=self.interference,
        )


# ---- one way -------------------------------------------------------------------------------------


class _Way:
    """No exchange, and what all others have: `model` is trained; times() are the last pass's."""

    algorithm: str | None = None  # that predicts it; None: nobody does
    groups: Sequence[tuple[int, int]] = ()

    def __init__(self, module: torch.nn.Module, lockstep: bool = False) -> None:
        self.model = module
        self.lockstep = lockstep
        self._began = self._forward_ended = self._ready = 0.0
        self._handles = [
            module.register_forward_pre_hook(self._on_forward),
            module.register_forward_hook(self._after_forward),
        ]
        for parameter in module.parameters():
            if parameter.requires_grad:
                self._handles.append(
                    parameter.register_post_accumulate_grad_hook(self._on_gradient)
                )

    def _on_forward(self, *_) -> None:
        self._began = time.perf_counter()

    def _after_forward(self, *_) -> None:
        self._forward_ended = time.perf_counter()

    def _on_gradient(self, _) -> None:
        self._ready = time.perf_counter()

    def warmed_up(self) -> None:
        """Called before iterations are measured."""

    def computed_s(self) -> float:
        """Returns the time from the iteration's beginning to this rank's last gradient."""
        return self._ready - self._began

    def times(self, backward_ended: float) -> dict[str, float]:
        """Returns the parts of the pass: all time after the last gradient is exposed exchange."""
        return {
            "forward_s": self._forward_ended - self._began,
            "backward_s": self._ready - self._forward_ended,
            "exposed_comm_s": backward_ended - self._ready,
        }

    def close(self) -> None:
        for handle in self._handles:
            handle.remove()


class _Ddp(_Way):
    """DistributedDataParallel, predicted with the buckets that it really has."""

    algorithm = "ddp"

    def __init__(
        self, module: torch.nn.Module, setting: Setting, planned: Plan | None, **cap
    ) -> None:
        super().__init__(module)
        cap = ddp_arguments(planned) if planned else cap
        self.model = torch.nn.parallel.DistributedDataParallel(module, **cap)
        self._planned = planned if "bucket_cap_mb_list" in cap else None  # as one cap makes others
        self._bytes = setting.tensor_bytes

    def warmed_up(self) -> None:
        if self._planned:
            check_buckets(self.model, self._planned)
        text = self.model._get_ddp_logging_data().get("rebuilt_bucket_sizes")
        sizes = [int(size) for size in str(text).split(",")] if text else [sum(self._bytes)]
        groups, tensor = [], len(self._bytes)
        for size in sizes:
            first = tensor - 1
            while size > 0 and tensor > 0:
                tensor -= 1
                size -= self._bytes[tensor]
            if size != 0:
                raise BadInput("expected DDP's buckets to hold gradients in the recorded order")
            groups.append((first, tensor))
        self.groups = groups


@dataclass
class _TopK:
    """State of what a user would write: torch.topk of each bucket, with error feedback."""

    density: float
    residuals: dict[int, torch.Tensor] = field(default_factory=dict)

    def exchange(self, bucket):  # DDP compares annotations, which are text here
        gradient = bucket.buffer()
        residual = self.residuals.get(bucket.index())
        if residual is None or residual.numel() != gradient.numel():
            residual = self.residuals[bucket.index()] = torch.zeros_like(gradient)
        residual += gradient
        count = max(1, int(self.density * residual.numel()))
        indices = residual.abs().topk(count, sorted=False).indices
        own = torch.stack([residual[indices].view(torch.int32), indices.to(torch.int32)])
        residual[indices] = 0
        size = dist.get_world_size()
        entries = [torch.empty_like(own) for _ in range(size)]
        work = dist.all_gather(entries, own, async_op=True)

        def add(_) -> torch.Tensor:
            gradient.zero_()
            for values, places in entries:
                gradient.index_add_(0, places.long(), values.view(torch.float32) / size)
            return gradient

        return work.get_future().then(add)


class _Hooked(_Way):
    """DistributedDataParallel with a hook that PyTorch brings, or a user's."""

    def __init__(self, module: torch.nn.Module, name: str, density: float) -> None:
        super().__init__(module)
        # PowerSGD starts the exchanges of several buckets in another order on each rank.
        cap = {"bucket_cap_mb": 1e6} if name == "torch-powersgd" else {}
        self.model = torch.nn.parallel.DistributedDataParallel(module, **cap)
        if name in _HALVES:
            self.model.register_comm_hook(None, _HALVES[name])
        elif name == "torch-powersgd":
            state = powerSGD_hook.PowerSGDState(None, 4, start_powerSGD_iter=2)
            self.model.register_comm_hook(state, powerSGD_hook.powerSGD_hook)
        else:
            self.model.register_comm_hook(_TopK(density), _TopK.exchange)


class _Live(_Way):
    """A pipeline of gradweave's, by its own plan."""

    def __init__(self, module: torch.nn.Module, name: str, setting: Setting) -> None:
        super().__init__(module)
        self.algorithm, _, optimal = name.partition(":")
        policy = "optimal" if optimal else None
        planned = setting.plan(self.algorithm, policy) if setting.cluster else None
        self.groups = planned.groups if planned else ()
        self._distributed = distribute(module, planned or self.algorithm, density=setting.density)

    def times(self, backward_ended: float) -> dict[str, float]:
        return self._distributed.measure()

    def close(self) -> None:
        self._distributed.close()
        super().close()


def _need_all_used(name: str, module: torch.nn.Module, setting: Setting) -> None:
    learning = sum(parameter.requires_grad for parameter in module.parameters())
    if setting.tensor_bytes and learning > len(setting.tensor_bytes):
        raise BadInput(
            f"{name}: expected gradients of all {learning} parameters that learn, as "
            f"DistributedDataParallel does, got {len(setting.tensor_bytes)}: freeze the others"
        )


def _open(name: str, module: torch.nn.Module, setting: Setting) -> _Way:
    kind, _, argument = name.partition(":")
    if name in _IDLE:
        return _Way(module, name == "torch-barrier")
    if kind.startswith("torch-"):
        _need_all_used(name, module, setting)
    if argument == "plan" and not setting.cluster:
        raise BadInput(f"{name}: expected a way without a plan, as no cluster is known")
    if kind == "torch-ddp":
        planned = setting.plan("ddp", "optimal") if argument == "plan" else None
        cap = {"bucket_cap_mb": float(argument)} if argument and not planned else {}
        return _Ddp(module, setting, planned, **cap)
    if name in _HOOKS:
        return _Hooked(module, name, setting.density)
    return _Live(module, name, setting)


# ---- measuring -----------------------------------------------------------------------------------

_LEAST_RECORDED = 2  # iterations before those of a way in a round
_PARTS = ("forward_s", "backward_s", "compress_s", "exposed_comm_s")


@dataclass
class _Times:
    """Iterations of one way, in means of the ranks."""

    name: str
    algorithm: str | None = None
    groups: Sequence[tuple[int, int]] = ()
    iterations: list[dict[str, float]] = field(default_factory=list)
    alone_s: list[float] = field(default_factory=list)  # recorded just before them

    def measurement(self, alone_s: float) -> Measurement:
        """The mean of the middle half of the iterations, by how long they took; `alone_s` is what
        recorded ones take on the whole."""
        ordered = sorted(self.iterations, key=lambda one: one["iteration_s"])
        quarter = len(ordered) // 4
        middle = ordered[quarter : len(ordered) - quarter]
        mean = {key: sum(one[key] for one in middle) / len(middle) for key in middle[0]}
        each_s = tuple(one["iteration_s"] for one in self.iterations)
        pace = statistics.median(self.alone_s) / alone_s if self.alone_s else 1.0
        return Measurement(
            self.name, self.algorithm, tuple(self.groups), **mean, iterations_s=each_s, pace=pace
        )


def _iterate(way: _Way, optimizer: torch.optim.Optimizer, step) -> dict[str, float]:
    began = time.perf_counter()
    step(way.model).backward()
    if way.lockstep:
        dist.barrier()
    backward_ended = time.perf_counter()
    optimizer.step()
    optimizer.zero_grad()
    took_s = time.perf_counter() - began
    known = way.times(backward_ended)
    parts = {key: known.get(key, 0.0) for key in (*_PARTS, "comm_s", "bytes_per_worker")}
    other_s = took_s - sum(parts[key] for key in _PARTS)
    return {"iteration_s": took_s, "computed_s": way.computed_s(), **parts, "other_s": other_s}


def _of_ranks(iterations: list[dict[str, float]]) -> list[dict[str, float]]:
    """Means of ranks. Waiting for the last one's gradients is not exchange but its backward pass."""
    values = torch.tensor([list(one.values()) for one in iterations], dtype=torch.float64)
    last_s = torch.tensor([one["computed_s"] for one in iterations], dtype=torch.float64)
    dist.all_reduce(values)
    dist.all_reduce(last_s, op=dist.ReduceOp.MAX)
    values /= dist.get_world_size()
    means = [dict(zip(iterations[0], row)) for row in values.tolist()]
    for one, computed_s in zip(means, last_s.tolist()):
        late_s = min(computed_s - one.pop("computed_s"), one["exposed_comm_s"])
        one["backward_s"] += late_s
        one["exposed_comm_s"] -= late_s
    return means


def _mean_of_ranks(own: list[float]) -> list[float]:
    means = torch.tensor(own, dtype=torch.float64)
    dist.all_reduce(means)
    return (means / dist.get_world_size()).tolist()


def measure(
    job: Job,
    names: Sequence[str],
    setting: Setting,
    iterations: int = 20,
    warm_up: int = 4,
    rounds: int = 4,
    recording: Recording | None = None,
) -> list[Measurement]:
    """Iterations of each way, in rounds, so that what disturbs a while disturbs all alike.

    All ranks call it. Each way of a round begins the job anew, and with some iterations of the
    recording, which holds those alone in the end.
    """
    if recording:
        recording.forget()
    all_times = [_Times(name) for name in names]
    rounds = min(rounds, iterations)
    recorded = max(_LEAST_RECORDED, -(-iterations // (rounds * len(names))))
    for number in range(rounds):
        for times in all_times:
            if recording:
                times.alone_s += _mean_of_ranks(recording.run(recorded))
            module, optimizer, step = job()
            way = _open(times.name, module, setting)
            for _ in range(warm_up):
                _iterate(way, optimizer, step)
            way.warmed_up()
            times.algorithm, times.groups = way.algorithm, way.groups
            count = iterations // rounds + (number < iterations % rounds)
            dist.barrier()
            taken = [_iterate(way, optimizer, step) for _ in range(count)]
            times.iterations += _of_ranks(taken)
            way.close()
    every_s = [alone_s for times in all_times for alone_s in times.alone_s]
    alone_s = statistics.median(every_s) if every_s else 0.0
    return [times.measurement(alone_s) for times in all_times]


# ---- training ------------------------------------------------------------------------------------


def _gather(own: list[int]) -> list[list[int]]:
    of_ranks = [own] * dist.get_world_size()
    dist.all_gather_object(of_ranks, own)
    return of_ranks


def train(job: Job, name: str, setting: Setting, iterations: int) -> Iterator[tuple[float, float]]:
    """Each iteration's loss and how long it took, in means of the ranks, which all call it.

    Fails at the end unless all ranks hold the same parameters, where the way exchanges anything.
    """
    module, optimizer, step = job()
    way = _open(name, module, setting)
    losses: list[torch.Tensor] = []

    def kept(model: torch.nn.Module) -> torch.Tensor:
        losses[:] = [step(model)]
        return losses[0]

    for _ in range(iterations):
        took_s = _iterate(way, optimizer, kept)["iteration_s"]
        means = torch.tensor([losses[0].item(), took_s], dtype=torch.float64)
        dist.all_reduce(means)
        loss, mean_s = (means / dist.get_world_size()).tolist()
        yield loss, mean_s
    if exchanges(name):
        check_equal(dict(module.named_parameters()), _gather)
    way.close()
