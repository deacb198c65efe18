"""A communication hook, for those who keep DistributedDataParallel."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence

import torch
import torch.distributed as dist
from torch.distributed.algorithms.ddp_comm_hooks import default_hooks

from gradweave._library import BadInput
from gradweave.torch.group import NUMBERS, OwnGroup
from gradweave.torch.session import Session, check_options, first_dimensions

# DDP rebuilds its buckets before the second iteration, with static_graph before the third.
_SETTLED = 3

_Bucket = Sequence[torch.nn.Parameter]


def _is_backward() -> bool:
    """Whether a backward pass goes on: DDP's join() exchanges zeros outside of one."""
    return torch._C._current_graph_task_id() != -1


def _is_nested() -> bool:
    """Whether this backward pass was begun within another one, as reentrant checkpoints do."""
    passes, frame = 0, sys._getframe()
    while frame is not None:
        passes += frame.f_code is torch.autograd.backward.__code__
        frame = frame.f_back
    return passes > 1


class _Exchange:
    """A session whose tensors are parameters, and whose groups are buckets of them."""

    def __init__(
        self,
        buckets: Sequence[_Bucket],
        algorithm: str,
        names: Mapping[torch.nn.Parameter, str],
        **options,
    ) -> None:
        self.layout = [[id(parameter) for parameter in bucket] for bucket in buckets]
        ready = [parameter for bucket in buckets for parameter in bucket]
        # Tensors are numbered in forward order; gradients come in the opposite order.
        self._parameters = ready[::-1]
        self._numbers = {parameter: i for i, parameter in enumerate(self._parameters)}
        groups = []
        first = len(ready) - 1
        for bucket in buckets:
            groups.append((first, first - len(bucket) + 1))
            first -= len(bucket)
        sizes = [parameter.numel() for parameter in self._parameters]
        self._names = names
        called = list(map(self._name, self._parameters))
        dtypes = [parameter.dtype for parameter in self._parameters]
        self._session = Session(
            sizes,
            algorithm,
            groups=groups,
            names=called,
            dtypes=dtypes,
            rows=first_dimensions(self._parameters),
            **options,
        )
        self._missing: set[torch.nn.Parameter] = set()
        self._travelling: list[tuple[torch.futures.Future, torch.Tensor]] = []

    def send(
        self, bucket: dist.GradBucket, residuals: dict[torch.nn.Parameter, torch.Tensor]
    ) -> torch.futures.Future:
        """Sends a bucket's gradients, and with them their residuals of other sessions.

        Takes those out of `residuals`, but for what finite gradients of 16 bits cannot hold. The
        future is done once all parameters have come.
        """
        if not self._missing:
            self._session.begin()
            self._missing.update(self._parameters)
        parameters, gradients = bucket.parameters(), bucket.buffer()
        future = torch.futures.Future()
        self._travelling.append((future, gradients))
        parts = gradients.split([parameter.numel() for parameter in parameters])
        for parameter, gradient in zip(parameters, parts):
            if parameter not in self._missing:
                raise self._changed("also got", parameter)
            left = residuals.pop(parameter, None)
            if left is not None:
                # Sessions keep means; float() returns a gradient of 32 bits itself.
                total = gradient.float().add_(left, alpha=self._session.ranks)
                if gradient.dtype != torch.float32:
                    gradient.copy_(total)
                    rest = (total - gradient) / self._session.ranks
                    rest.nan_to_num_(nan=0, posinf=0, neginf=0)  # if gradient overflows
                    residuals.update({parameter: rest} if rest.any() else {})
            self._session.ready(self._numbers[parameter], gradient)
            self._missing.remove(parameter)
        if not self._missing:
            self._session.wait()
            for sent, means in self._travelling:
                sent.set_result(means)
            self._travelling.clear()
        elif _is_backward():
            torch.autograd.Variable._execution_engine.queue_callback(self._check_complete)
        return future

    def _check_complete(self) -> None:
        """At the end of a backward pass, before DDP waits for the futures."""
        if self._missing and not _is_nested():
            raise self._changed("did not get", next(iter(self._missing)))

    def _changed(self, happened: str, parameter: torch.nn.Parameter) -> BadInput:
        error = BadInput(
            "expected DistributedDataParallel's buckets to hold the same parameters in each "
            f"iteration, {happened} {self._name(parameter)}: unused parameters must stay the same"
        )
        return self._session.end(error)

    def _name(self, parameter: torch.nn.Parameter) -> str:
        return self._names.get(parameter, f"parameter of shape {list(parameter.shape)}")

    def residuals(self) -> dict[torch.nn.Parameter, torch.Tensor]:
        return dict(zip(self._parameters, self._session.residual()))

    def close(self) -> None:
        self._session.close()


class HookState:
    """The hook's state from one of DDP's buckets to the next; comm_hook makes it.

    DDP may rebuild its buckets, leave some out (skip_all_reduce_unused_params), and number none of
    them (static_graph, in the first iteration): only their parameters tell buckets apart. An
    iteration begins with the first parameter that comes again: all must use the same.
    """

    def __init__(
        self,
        algorithm: str,
        start_iteration: int,
        group: dist.ProcessGroup | None,
        seed: int,
        module: torch.nn.Module | None,
        **options,
    ) -> None:
        if start_iteration < 1:
            raise BadInput(f"start_iteration: expected 1 at least, got {start_iteration}")
        if check_options(algorithm, **options) > 0:
            raise BadInput(
                f"{algorithm}: expected a pipeline without a server, as all ranks of "
                "DistributedDataParallel train"
            )
        self._algorithm = algorithm
        self._options = options
        self._group = group
        self._own: OwnGroup | None = None  # of all exchanges in turn, where group is None
        self._seed = seed
        named = () if module is None else module.named_parameters()
        self._names = {parameter: name for name, parameter in named}
        self._start = start_iteration
        self._iteration = 0
        self._buckets: list[_Bucket] = []  # that came in this iteration
        self._came: set[torch.nn.Parameter] = set()
        self._exchange: _Exchange | None = None
        self._residuals: dict[torch.nn.Parameter, torch.Tensor] = {}  # that no session has

    def exchange(self, bucket: dist.GradBucket) -> torch.futures.Future:
        """Exchanges a bucket. Buckets come in their order, on all ranks alike."""
        parameters = bucket.parameters()
        if not self._came.isdisjoint(parameters):
            self._begin_iteration()
        self._buckets.append(parameters)
        self._came.update(parameters)
        if self._iteration < self._start:
            return default_hooks.allreduce_hook(self._group, bucket)
        self._check(bucket)
        if self._exchange is None:
            return self._send_alone(bucket)
        return self._exchange.send(bucket, self._residuals)

    def _begin_iteration(self) -> None:
        """Opens a session for the last iteration's buckets, once DDP has rebuilt them."""
        self._iteration += 1
        last, self._buckets = self._buckets, []
        self._came.clear()
        if self._iteration < max(self._start, _SETTLED):
            return
        if self._exchange is not None:
            if self._exchange.layout == [[id(p) for p in bucket] for bucket in last]:
                return
            self._close_exchange(self._exchange)
        self._exchange = self._open(last)

    def _send_alone(self, bucket: dist.GradBucket) -> torch.futures.Future:
        """Exchanges a bucket while the buckets that come after it are unknown."""
        exchange = self._open([bucket.parameters()])
        future = exchange.send(bucket, self._residuals)
        self._close_exchange(exchange)
        return future

    def _open(self, buckets: Sequence[_Bucket]) -> _Exchange:
        self._seed += 1  # so that the next session draws something else
        if self._group is None and (self._own is None or self._own.group is None):
            self._own = OwnGroup()
        group = self._group or self._own
        return _Exchange(
            buckets, self._algorithm, self._names, group=group, seed=self._seed, **self._options
        )

    def _close_exchange(self, exchange: _Exchange) -> None:
        for parameter, residual in exchange.residuals().items():
            self._residuals[parameter] = residual.add_(self._residuals.get(parameter, 0))
        exchange.close()

    def _check(self, bucket: dist.GradBucket) -> None:
        gradients = bucket.buffer()
        if gradients.device.type != "cpu" or gradients.dtype not in NUMBERS:
            raise BadInput(
                f"bucket {bucket.index()}: expected floats of 32 or 16 bits on the CPU, got "
                f"{gradients.dtype} on {gradients.device}"
            )

    def close(self) -> None:
        """After the last iteration."""
        if self._exchange is not None:
            self._exchange.close()
        if self._own is not None:
            self._own.close()


def _hook(state, bucket):  # without types, which DDP compares with its own
    return state.exchange(bucket)


def comm_hook(
    algorithm: str,
    *,
    density: float = 0.001,
    start_iteration: int = 2,
    compressor: str | None = None,
    exchange: str | None = None,
    group: dist.ProcessGroup | None = None,
    seed: int = 0,
    module: torch.nn.Module | None = None,
) -> tuple[HookState, Callable]:
    """`ddp.register_comm_hook(*comm_hook("topk", density=0.001))`: a state and a hook.

    Each of DDP's buckets is compressed by the pipeline, with error feedback, and exchanged while
    the backward pass goes on. The first `start_iteration` iterations are dense. In the first three,
    as DDP may rebuild its buckets before the third, those that are compressed travel one after
    another. `group` is DDP's process_group. Messages call parameters as `module` does, or by their
    shapes.
    """
    options = {"density": density, "compressor": compressor, "exchange": exchange}
    return HookState(algorithm, start_iteration, group, seed, module, **options), _hook
