"""A job's process group as libgradweave takes it: functions that C calls."""

from __future__ import annotations

import ctypes
import traceback

import torch
import torch.distributed as dist

from gradweave import _library


def view(address: int, count: int, dtype: torch.dtype) -> torch.Tensor:
    """Memory that C has, as a tensor."""
    size = count * dtype.itemsize
    return torch.frombuffer((ctypes.c_char * size).from_address(address), dtype=dtype)


def _bytes(address: int, count: int) -> torch.Tensor:
    return view(address, count, torch.uint8)


class LentGroup:
    """A process group of PyTorch, as functions for libgradweave. They run on its threads."""

    def __init__(self, group: dist.ProcessGroup | None) -> None:
        self.group = group
        self._left = False
        self._size = dist.get_world_size(group)
        self._works: dict[int, dist.Work] = {}
        self._started = 0
        self._complaint = ctypes.create_string_buffer(512)
        self.functions = _library.ProcessGroup(
            rank=dist.get_rank(group),
            size=self._size,
            allreduce=self._lend(_library.ALLREDUCE, self._allreduce),
            allgather=self._lend(_library.ALLGATHER, self._allgather),
            broadcast=self._lend(_library.BROADCAST, self._broadcast),
            reduce=self._lend(_library.REDUCE, self._reduce),
            gather=self._lend(_library.ROOTED, self._gather),
            scatter=self._lend(_library.ROOTED, self._scatter),
            start_send=self._lend(_library.START, self._send),
            start_receive=self._lend(_library.START, self._receive),
            wait=self._lend(_library.WAIT, self._wait),
            complain=_library.COMPLAIN(lambda _: ctypes.addressof(self._complaint)),
        )

    def _lend(self, kind, function):
        def lent(_context, *arguments) -> int:
            try:
                if self._left:
                    raise RuntimeError("the group has been left")
                function(*arguments)
            except Exception as error:  # which C cannot raise: it hears of the last line
                text = traceback.format_exception_only(error)[-1].strip().encode()[:511]
                self._complaint.value = text
                return 1
            return 0

        return kind(lent)

    def leave(self) -> None:
        """Refers to it no more; calls fail."""
        self._left = True
        self.group = None
        self._works.clear()

    def _global(self, rank: int) -> int:
        return rank if self.group is None else dist.get_global_rank(self.group, rank)

    def _parts(self, address: int | None, size: int) -> list[torch.Tensor]:
        return list(_bytes(address, self._size * size).split(size))

    def _is_own(self, rank: int) -> bool:
        return rank == dist.get_rank(self.group)

    def _allreduce(self, send, receive, count) -> None:
        sums = view(receive, count, torch.float32)
        sums.copy_(view(send, count, torch.float32))
        dist.all_reduce(sums, group=self.group)

    def _allgather(self, send, size, receive) -> None:
        dist.all_gather(self._parts(receive, size), _bytes(send, size), group=self.group)

    def _broadcast(self, root, data, size) -> None:
        dist.broadcast(_bytes(data, size), self._global(root), group=self.group)

    def _reduce(self, root, send, receive, count) -> None:
        sums = view(send, count, torch.float32).clone()
        dist.reduce(sums, self._global(root), group=self.group)
        if self._is_own(root):
            view(receive, count, torch.float32).copy_(sums)

    def _gather(self, root, send, size, receive) -> None:
        parts = self._parts(receive, size) if self._is_own(root) else None
        dist.gather(_bytes(send, size), parts, self._global(root), group=self.group)

    def _scatter(self, root, send, size, receive) -> None:
        parts = self._parts(send, size) if self._is_own(root) else None
        dist.scatter(_bytes(receive, size), parts, self._global(root), group=self.group)

    def _start(self, work: dist.Work | None, handle) -> None:
        self._started += 1
        handle[0] = self._started
        self._works[self._started] = work

    def _send(self, to, data, size, handle) -> None:
        self._start(dist.isend(_bytes(data, size), self._global(to), group=self.group), handle)

    def _receive(self, source, data, size, handle) -> None:
        self._start(dist.irecv(_bytes(data, size), self._global(source), group=self.group), handle)

    def _wait(self, handle) -> None:
        self._works.pop(handle).wait()
