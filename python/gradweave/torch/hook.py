"""A communication hook, for those who keep DistributedDataParallel."""

from __future__ import annotations

from collections.abc import Callable

import torch
import torch.distributed as dist
from torch.distributed.algorithms.ddp_comm_hooks import default_hooks

from gradweave._library import BadInput
from gradweave.torch.session import Session


class HookState:
    """What the hook keeps from one of DDP's buckets to the next; comm_hook makes it."""

    def __init__(
        self, algorithm: str, start_iteration: int, group: dist.ProcessGroup | None, **options
    ) -> None:
        if start_iteration < 1:
            raise BadInput(f"start_iteration: expected 1 at least, got {start_iteration}")
        self._algorithm = algorithm
        self._options = options
        self._group = group
        self._dense_left = start_iteration
        self._sizes: list[int] = []  # elements of DDP's buckets, in their order
        self._session: Session | None = None
        self._travelling: list[tuple[torch.futures.Future, torch.Tensor]] = []

    def exchange(self, bucket: dist.GradBucket) -> torch.futures.Future:
        """Buckets come in their order, on all ranks alike."""
        return self._average(bucket) if self._dense_left > 0 else self._compress(bucket)

    def _average(self, bucket: dist.GradBucket) -> torch.futures.Future:
        if bucket.index() == 0:
            self._sizes.clear()
        self._sizes.append(bucket.buffer().numel())
        if bucket.is_last():
            self._dense_left -= 1
        return default_hooks.allreduce_hook(self._group, bucket)

    def _compress(self, bucket: dist.GradBucket) -> torch.futures.Future:
        index, gradients = bucket.index(), bucket.buffer()
        self._check(index, gradients)
        if self._session is None:
            self._session = self._open()
        if index == 0:
            self._session.begin()
        future = torch.futures.Future()
        self._travelling.append((future, gradients))
        self._session.ready(len(self._sizes) - 1 - index, gradients)
        if bucket.is_last():
            self._session.wait()
            for sent, means in self._travelling:
                sent.set_result(means)
            self._travelling.clear()
        return future

    def _check(self, index: int, gradients: torch.Tensor) -> None:
        if gradients.device.type != "cpu" or gradients.dtype != torch.float32:
            raise BadInput(
                f"bucket {index}: expected 32-bit floats on the CPU, got {gradients.dtype} on "
                f"{gradients.device}"
            )
        if index >= len(self._sizes) or gradients.numel() != self._sizes[index]:
            raise BadInput(
                f"bucket {index}: expected DDP's buckets to stay as they were in the last dense "
                f"iteration, {self._sizes} elements, got {gradients.numel()}: start_iteration is "
                "too small"
            )

    def _open(self) -> Session:
        """Tensors are numbered in forward order, which buckets come in the opposite of."""
        groups = [(i, i) for i in reversed(range(len(self._sizes)))]
        sizes = self._sizes[::-1]
        session = Session(sizes, self._algorithm, groups=groups, group=self._group, **self._options)
        if session.trainers < session.ranks:
            session.close()
            raise BadInput(
                f"{self._algorithm}: expected a pipeline without a server, as all ranks of "
                "DistributedDataParallel train"
            )
        return session

    def close(self) -> None:
        """After the last iteration."""
        if self._session is not None:
            self._session.close()


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
) -> tuple[HookState, Callable]:
    """`ddp.register_comm_hook(*comm_hook("topk", density=0.001))`: a state and a hook.

    Each of DDP's buckets is compressed by the pipeline, with error feedback, and exchanged while
    the backward pass goes on. The first `start_iteration` iterations are dense, as DDP changes its
    buckets once after the first. `group` is DDP's process_group.
    """
    options = {"density": density, "compressor": compressor, "exchange": exchange, "seed": seed}
    return HookState(algorithm, start_iteration, group, **options), _hook
