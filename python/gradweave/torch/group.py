"""A job's process group as libgradweave takes it: functions that C calls."""

from __future__ import annotations

import contextlib
import ctypes
import gc
import threading
import traceback
from datetime import timedelta

import torch
import torch.distributed as dist

# Optimizers load this module, whose functions keep the default group that there is by then, so that
# destroy_process_group ends no thread of gloo's, and one of those may abort the process as it ends.
import torch.distributed.nn.functional  # before there is a group

from gradweave import _library
from gradweave._library import BadInput

_threads = threading.local()
NUMBERS = (torch.float32, torch.bfloat16, torch.float16)  # enum gradweave_number
_WHOLE = 1  # the context of the group itself; its parts have larger ones
_OVERDUE = 1  # the tag of a message that nobody sends; sessions' tags are 2 to 5
_SWAPPED = 6  # the tag of parts of collectives


def _stay() -> None:
    """Python keeps what it knows of this thread of C's: to make it anew takes 30 us a call."""
    if not hasattr(_threads, "stays"):
        _threads.stays = True
        ctypes.pythonapi.PyGILState_Ensure()


def view(address: int, count: int, dtype: torch.dtype) -> torch.Tensor:
    """Returns C's memory as a tensor."""
    size = count * dtype.itemsize
    return torch.frombuffer((ctypes.c_char * size).from_address(address), dtype=dtype)


def _bytes(address: int, count: int) -> torch.Tensor:
    return view(address, count, torch.uint8)


def _parts(address: int, size: int, group: dist.ProcessGroup) -> list[torch.Tensor]:
    return list(_bytes(address, dist.get_world_size(group) * size).split(size))


def need_group(group: dist.ProcessGroup | None) -> None:
    """Fails unless there is one that this rank is in."""
    if not dist.is_initialized():
        raise BadInput(
            "expected a process group: call torch.distributed.init_process_group on all ranks first"
        )
    if dist.get_rank(group) < 0:
        raise BadInput("group: expected one that this rank is in")


def global_rank(group: dist.ProcessGroup, rank: int) -> int:
    """Returns the rank's number among all ranks, which torch.distributed takes."""
    return dist.get_global_rank(group, rank)


def backend_of(group: dist.ProcessGroup) -> object:
    """Returns what callers keep until nothing else refers to the group: its threads can then end.

    They may want the interpreter's lock, for tensors that they still hold. A backend waits for them
    without that lock; before PyTorch 2.8 a group waited with it, forever.
    """
    return group._get_backend(torch.device("cpu"))


def leave_all() -> None:
    """Destroys the process group of all ranks, and has its threads end before the interpreter does.

    They abort where they drop a tensor after that. DistributedDataParallel, which has the group, is
    part of cycles.
    """
    gc.collect()
    backend = backend_of(dist.group.WORLD)
    dist.destroy_process_group()
    del backend


def timeout_of(
    group: dist.ProcessGroup, device: torch.device = torch.device("cpu")
) -> timedelta | None:
    """Returns the timeout that a group was made with; None: new groups have it anyway."""
    options = getattr(group._get_backend(device), "options", None)
    return getattr(options, "_timeout", None)


class OwnGroup:
    """Connections of gradweave's own between all ranks, until they are closed.

    Sessions on them may follow each other. They close when one fails on a rank, so that no other
    rank waits for that.
    """

    def __init__(self, gpu: torch.device | None = None) -> None:
        need_group(None)
        timeout = timeout_of(dist.group.WORLD, gpu or torch.device("cpu"))
        opened = dist.new_group(timeout=timeout, backend="gloo" if gpu else None)
        self.group: dist.ProcessGroup | None = opened  # None: closed
        dist.barrier(opened)  # until all are connected: who fails at once closes it

    def interrupt(self) -> None:
        """Ends what a thread exchanges, here and on the others.

        gloo closes all connections of a group once a message is overdue; nothing else ends it.
        """
        if self.group is None or (ranks := dist.get_world_size(self.group)) == 1:
            return
        other = global_rank(self.group, (dist.get_rank(self.group) + 1) % ranks)
        never = torch.empty(1, dtype=torch.uint8)
        with contextlib.suppress(RuntimeError):
            work = dist.irecv(never, other, group=self.group, tag=_OVERDUE)
            work.wait(timedelta(milliseconds=1))

    def close(self) -> None:
        """Connections close once nobody refers to them."""
        group, self.group = self.group, None
        if group is not None:
            backend = backend_of(group)
            with contextlib.suppress(ValueError, AssertionError):  # destroyed with all groups
                dist.destroy_process_group(group)
            del group, backend


_names: set[str] = set()  # of groups of only some ranks


def open_without_others(
    ranks: list[int], backend: str, timeout: timedelta | None
) -> dist.ProcessGroup:
    """A group that the job's other ranks do not hear of.

    PyTorch makes its name of its ranks and how many groups there are (2.14 and newer: were). Under
    a name that a group had before, gloo would find addresses that are gone: groups of this rank
    alone make it another. How many there were is what the others count, who name new ones so.
    """
    c10d, fillers = dist.distributed_c10d, []
    count = c10d._world.group_count
    while (name := c10d._hash_ranks_to_str(ranks)) in _names:
        own = [dist.get_rank()]
        fillers.append(dist.new_group(own, backend=backend, use_local_synchronization=True))
    _names.add(name)
    opened = dist.new_group(ranks, timeout, backend, use_local_synchronization=True)
    for filler in fillers:
        dist.destroy_process_group(filler)
    c10d._world.group_count = count
    return opened


class LentGroup:
    """A process group of PyTorch, as functions for libgradweave. They run on its threads."""

    def __init__(self, group: dist.ProcessGroup) -> None:
        self.group: dist.ProcessGroup | None = group  # None: left
        self._groups = {_WHOLE: group}  # by their contexts
        self._others: list[dist.ProcessGroup] = []  # of ranks that are no part's
        self._works: dict[int, dist.Work] = {}
        self._started = 0
        self._complaint = ctypes.create_string_buffer(512)
        self.failure: BaseException | None = None  # the last one that C was told of
        self.functions = _library.ProcessGroup(
            name=f"{dist.get_backend(group)}, PyTorch {torch.__version__}".encode(),
            rank=dist.get_rank(group),
            size=dist.get_world_size(group),
            context=_WHOLE,
            allreduce=self._lend(_library.ALLREDUCE, self._allreduce),
            allgather=self._lend(_library.ALLGATHER, self._allgather),
            broadcast=self._lend(_library.BROADCAST, self._broadcast),
            gather=self._lend(_library.ROOTED, self._gather),
            scatter=self._lend(_library.ROOTED, self._scatter),
            alltoall=self._lend(_library.ALLGATHER, self._alltoall),
            start_send=self._lend(_library.START, self._send),
            start_receive=self._lend(_library.START, self._receive),
            wait=self._lend(_library.WAIT, self._wait),
            open_first=self._lend(_library.OPEN_FIRST, self._open_first),
            complain=_library.COMPLAIN(lambda _: ctypes.addressof(self._complaint)),
            close=_library.CLOSE(self._close),
        )

    def _lend(self, kind, function):
        groups = self._groups

        def lent(context, *arguments) -> int:
            try:
                _stay()
                if context not in groups:
                    raise RuntimeError("the group has been left")
                function(groups[context], *arguments)
            except BaseException as error:  # which C cannot raise: it hears of the last line
                self.failure = error
                text = (
                    traceback.format_exception_only(type(error), error)[-1].strip().encode()[:511]
                )
                self._complaint.value = text
                return 1
            return 0

        return kind(lent)

    def leave(self) -> None:
        """Refers to it no more, nor to frames that do; calls fail."""
        self.group = None
        self.failure = None
        self._groups.clear()
        self._works.clear()

    # ---- collectives ----------------------------------------------------------------------------

    def _swap(self, group, sent: list[torch.Tensor], received: list[torch.Tensor]) -> None:
        """Sends a part to each rank and receives one from each; the own parts stay as they are.

        gloo's alltoall, and its allgather of two ranks, send before they receive. Where a rank is
        late, its note that it can receive then stands behind its own data, and the link carries
        one direction after the other.

        The last element is a message of its own, for which this waits first: where a connection
        closes, gloo tells receives that have not begun, but not the one that is under way.
        """
        started = []
        for start, tensors in ((dist.irecv, received), (dist.isend, sent)):
            for rank, tensor in enumerate(tensors):
                if rank != dist.get_rank(group):
                    name = global_rank(group, rank)
                    pieces = tensor.split(max(1, tensor.numel() - 1))
                    works = [start(one, name, group=group, tag=_SWAPPED) for one in pieces]
                    started += works[::-1]
        for work in started:
            work.wait()

    def _allreduce(self, group, number, send, receive, count) -> None:
        """Two ranks swap all they have, in the time that halves of it and their sums would take."""
        own, sums = (view(address, count, NUMBERS[number]) for address in (send, receive))
        if dist.get_world_size(group) == 2:
            self._swap(group, [own] * 2, [sums] * 2)
            sums.add_(own)
        else:
            sums.copy_(own)
            dist.all_reduce(sums, group=group)

    def _allgather(self, group, send, size, receive) -> None:
        own, ranks = _bytes(send, size), dist.get_world_size(group)
        if ranks == 2:
            parts = _parts(receive, size, group)
            self._swap(group, [own] * 2, parts)
            parts[dist.get_rank(group)].copy_(own)
        else:
            dist.all_gather_into_tensor(_bytes(receive, ranks * size), own, group=group)

    def _broadcast(self, group, root, data, size) -> None:
        dist.broadcast(_bytes(data, size), global_rank(group, root), group=group)

    def _gather(self, group, root, send, size, receive) -> None:
        parts = _parts(receive, size, group) if dist.get_rank(group) == root else None
        dist.gather(_bytes(send, size), parts, global_rank(group, root), group=group)

    def _scatter(self, group, root, send, size, receive) -> None:
        parts = _parts(send, size, group) if dist.get_rank(group) == root else None
        dist.scatter(_bytes(receive, size), parts, global_rank(group, root), group=group)

    def _alltoall(self, group, send, size, receive) -> None:
        sent, received = _parts(send, size, group), _parts(receive, size, group)
        self._swap(group, sent, received)
        rank = dist.get_rank(group)
        received[rank].copy_(sent[rank])

    # ---- messages -------------------------------------------------------------------------------

    def _start(self, work: dist.Work | None, handle) -> None:
        self._started += 1
        handle[0] = self._started
        self._works[self._started] = work

    def _send(self, group, to, data, size, handle) -> None:
        self._start(dist.isend(_bytes(data, size), global_rank(group, to), group=group), handle)

    def _receive(self, group, source, data, size, handle) -> None:
        self._start(dist.irecv(_bytes(data, size), global_rank(group, source), group=group), handle)

    def _wait(self, _group, handle) -> None:
        self._works.pop(handle).wait()

    # ---- parts ----------------------------------------------------------------------------------

    def _open_first(self, group, size, part) -> None:
        """Opens a part, on all ranks of the job where the group has them all: its name is new."""
        ranks = dist.get_process_group_ranks(group)
        takes_part = dist.get_rank(group) < size
        backend, timeout = dist.get_backend(group), timeout_of(group)
        if len(ranks) == dist.get_world_size():
            opened = dist.new_group(ranks[:size], timeout, backend)
        else:
            members = ranks[:size] if takes_part else ranks[size:]
            opened = open_without_others(members, backend, timeout)
            if not takes_part:
                self._others.append(opened)
        if takes_part:
            part[0] = context = 1 + max(self._groups)
            self._groups[context] = opened

    def _close(self, context) -> None:
        """Leaves nothing behind of what has been opened."""
        if context != _WHOLE:
            part = self._groups.pop(context)
            backend = backend_of(part)
            dist.destroy_process_group(part)
            del part, backend
        else:
            for other in self._others:
                dist.destroy_process_group(other)
            self._others.clear()
