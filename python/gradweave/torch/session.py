"""A session of libgradweave on a job's ranks, which all fail when one does."""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import os
import socket
import weakref
import zlib
from collections.abc import Iterable, Sequence
from ctypes import byref, c_void_p
from datetime import timedelta
from itertools import zip_longest
from typing import Any

import torch
import torch.distributed as dist

from gradweave import _library
from gradweave._library import BadInput, GradweaveError, call, check_density, failure, library
from gradweave.torch.group import NUMBERS, LentGroup, OwnGroup, global_rank, need_group, view

# Steps that all ranks take together: those that train compare bits of a byte, which has one for
# each step, and rank 0 sends the server the step's index, apart from C's own messages.
_DEEDS = (
    "close",
    "iterate",
    "verify",
    "measure",
    "trace",
    "check_parameters",
    "load_exchange_state",
)
_TAG, _FLAGS, _MEETING, _SHARED = 2, 3, 4, 5
_HOWEVER_LONG = timedelta(days=3650)
_LISTENS = timedelta(minutes=1)  # the server, when rank 0 tells it the next step
_WAITED_IN_VAIN = "a rank failed, or had fewer iterations: join() is for uneven inputs"
_LEFT_BY_PEER = ("closed by peer", "reset by peer")  # gloo's words for what another rank caused
_EXPLAINS = timedelta(seconds=2)  # time for that rank to say why
_CONNECTS = timedelta(seconds=2)  # to a store on a host that may have gone


def _stream(gpu: torch.device) -> int:
    """Returns the CUDA stream that gradients are made on from now on."""
    return torch.cuda.current_stream(gpu).cuda_stream


def make_training(
    sizes: Sequence[int],
    algorithm: str,
    *,
    density: float,
    groups: Sequence[tuple[int, int]] = (),
    ways: Sequence[str] = (),
    compressor: str | None,
    exchange: str | None,
    seed: int = 0,
    gpu: torch.device | None = None,
    names: Sequence[str] = (),
    dtypes: Sequence[torch.dtype] = (),
    rows: Sequence[int] = (),
) -> _library.Training:
    """Returns what C opens a session by; fails unless its types and the density make sense."""
    check_density(density)
    chosen = {"algorithm": algorithm, "compressor": compressor, "exchange": exchange}
    for option, name in chosen.items():
        if not isinstance(name, str) and (option == "algorithm" or name is not None):
            raise BadInput(f"{option}: expected a name, got {type(name).__name__}")
    try:
        pairs = [_library.Group(first, last) for first, last in groups]
    except (TypeError, ValueError):
        expected = "groups: expected pairs of numbers of tensors, the first and the last"
        raise BadInput(f"{expected}, got {groups!r}") from None
    if len(ways) not in (0, len(pairs)):
        raise BadInput(f"ways: expected one for each of {len(pairs)} groups, got {len(ways)}")
    where = _library.Gpu(gpu.index, _stream(gpu)) if gpu else None
    return _library.Training(
        tensor_count=len(sizes),
        elements=(ctypes.c_uint64 * len(sizes))(*sizes),
        names=(ctypes.c_char_p * len(names))(*map(str.encode, names)) if names else None,
        numbers=(ctypes.c_int * len(dtypes))(*map(NUMBERS.index, dtypes)) if dtypes else None,
        algorithm=algorithm.encode(),
        compressor=compressor.encode() if compressor else None,
        exchange=exchange.encode() if exchange else None,
        density=float(density),
        groups=(_library.Group * len(pairs))(*pairs),
        group_count=len(pairs),
        average=1,
        seed=seed,
        gpu=ctypes.pointer(where) if where else None,
        ways=(ctypes.c_char_p * len(ways))(*map(str.encode, ways)) if ways else None,
        rows=(ctypes.c_uint64 * len(rows))(*rows) if rows else None,
    )


def first_dimensions(parameters: Iterable[torch.Tensor]) -> list[int]:
    """Returns the rows of the matrices that PowerSGD compresses; 0: it has one dimension."""
    return [parameter.shape[0] if parameter.dim() > 1 else 0 for parameter in parameters]


def check_options(algorithm: str, **options) -> int:
    """Fails for names and a density that no session takes; returns how many ranks would serve."""
    servers = ctypes.c_size_t()
    call("gradweave_session_check", byref(make_training([1], algorithm, **options)), byref(servers))
    return servers.value


class _OnGpu:
    """Wraps a GPU's memory that C has for torch.as_tensor."""

    def __init__(self, address: int, elements: int) -> None:
        self.__cuda_array_interface__ = {
            "version": 3,
            "shape": (elements,),
            "typestr": "<f4",
            "data": (address, False),
        }


def _is_there(store: dist.Store) -> bool:
    """Whether the store has not gone with its rank: a TCPStore that asks prints where it failed."""
    while isinstance(store, dist.PrefixStore):
        store = store.underlying_store
    if isinstance(store, dist.TCPStore):
        try:
            socket.create_connection((store.host, store.port), _CONNECTS.total_seconds()).close()
        except OSError:
            return False
    return True


_open: weakref.WeakSet[Session] = weakref.WeakSet()


@atexit.register
def _close_all() -> None:
    """Tells ranks that go on; ends threads that still exchange: they would abort the process."""
    for session in list(_open):
        session.say_that_it_ended("ended")
        if session.in_flight:
            session.close()


class Session:
    """Exchanges tensors of `sizes` elements, the means of which all ranks get.

    Without `group` it has connections of its own between all ranks, which it closes in the end; an
    OwnGroup it closes only when it fails on one. Whatever fails, the session is then over. Tensors
    on a GPU, which `gpu` names, travel through the host's memory. Messages call tensors by `names`,
    or by their numbers; they are 32-bit floats, or of `dtypes`. Fails on all ranks unless they
    agree on these arguments, and on `alike`, which says what else must be the same.

    Of pipelines with a server the last rank is that: it only serves, and the others train.
    """

    def __init__(
        self,
        sizes: Sequence[int],
        algorithm: str,
        *,
        density: float = 0.001,
        groups: Sequence[tuple[int, int]] = (),
        ways: Sequence[str] = (),
        compressor: str | None = None,
        exchange: str | None = None,
        group: dist.ProcessGroup | OwnGroup | None = None,
        seed: int = 0,
        gpu: torch.device | None = None,
        names: Sequence[str] = (),
        dtypes: Sequence[torch.dtype] = (),
        rows: Sequence[int] = (),
        alike: Sequence[str] = (),
    ) -> None:
        self._own: OwnGroup | None = None
        if names and len(names) != len(sizes):
            raise BadInput(f"names: expected one for each of {len(sizes)} sizes, got {len(names)}")
        if group is None or isinstance(group, OwnGroup):
            self._own = group or OwnGroup(gpu)
            self._lent = LentGroup(self._own.group)
        else:
            need_group(group)
            if dist.get_backend(group) == "nccl":
                raise BadInput("group: expected one that takes the host's memory, as gloo's do")
            self._lent = LentGroup(group)
        self._keeps_own = False  # when it closes
        self._gpu = gpu
        self._sizes = list(sizes)
        # The group keeps the store as well, also when the process group of all ranks is destroyed.
        self._store: dist.Store | None = dist.distributed_c10d._get_default_store()
        self._key = f"gradweave/{self.group.group_name}"  # in the store
        self._iteration = 0
        self.rank, self.ranks = dist.get_rank(self.group), dist.get_world_size(self.group)
        self.serves, self.trainers = False, self.ranks
        self._next: tuple[dist.Work, torch.Tensor] | None = None  # of a server: _DEEDS' index
        self.in_flight = False  # from an iteration's beginning until it was waited for
        self._session = c_void_p()
        self._joined = c_void_p()
        self._error = _library.Error()
        options = {
            "algorithm": algorithm,
            "density": density,
            "groups": groups,
            "ways": ways,
            "compressor": compressor,
            "exchange": exchange,
            "seed": seed,
        }
        dtypes = list(dtypes) or [torch.float32] * len(sizes)
        tensors = zip(names or range(len(sizes)), sizes, dtypes)
        call("gradweave_join_group", byref(self._lent.functions), byref(self._joined))
        try:
            self._check_alike(
                *alike,
                *(f"{name}={value}" for name, value in options.items()),
                *(f"tensor {name} of {size} elements of {dtype}" for name, size, dtype in tensors),
            )
            training = make_training(
                sizes, **options, gpu=gpu, names=names, dtypes=dtypes, rows=rows
            )
            call("gradweave_session_open", byref(training), self._joined, byref(self._session))
            self.serves = library.gradweave_session_serves(self._session) != 0
            self._open_notes()
            self.trainers = self._gather(self.serves).count(False)
            if self.serves:
                self._await_next()
        except Exception:
            self.close()
            raise
        self._keeps_own = isinstance(group, OwnGroup)
        _open.add(self)

    @property
    def group(self) -> dist.ProcessGroup | None:
        return self._lent.group

    @property
    def iterations(self) -> int:
        """How many have begun."""
        return self._iteration - 1

    def _check_alike(self, *own: str) -> None:
        """Fails unless all ranks pass the same; all of it travels only where its sums differ."""
        if len(set(self._gather(zlib.crc32("\n".join(own).encode())))) == 1:
            return
        of_ranks = self._gather(own)
        for rank, other in enumerate(of_ranks):
            for first, one in zip_longest(of_ranks[0], other, fillvalue="no more"):
                if first != one:
                    raise BadInput(
                        f"expected the same on all ranks, but rank {rank} has {one} where rank 0 "
                        f"has {first}"
                    )

    def gather(self, deed: str, thing: Any) -> list[Any]:
        """Returns what every rank passes to it in `deed`; None for a server that is in serve()."""
        self._meet(deed)
        return self._gather(thing)

    def _gather(self, thing: Any) -> list[Any]:
        """Returns every rank's thing, by rank; a server calls it as well."""
        things = [None] * self.ranks
        try:
            dist.all_gather_object(things, thing, group=self.group)
        except RuntimeError as error:
            expected = "expected all ranks to call the same"
            raise self.end(GradweaveError(f"{expected}: {error}")) from None
        return things

    def broadcast(self, tensor: torch.Tensor) -> None:
        """Gives all ranks rank 0's tensor."""
        data = tensor.detach().cpu().contiguous()
        size = data.numel() * data.element_size()
        if size == 0:
            return
        self._call("gradweave_ranks_broadcast", self._joined, data.data_ptr(), size)
        tensor.detach().copy_(data)

    # ---- an iteration ---------------------------------------------------------------------------

    def begin(self) -> None:
        self._together("iterate")
        self._begin()

    def _begin(self) -> None:
        self._call("gradweave_session_begin", self._session)
        self._iteration += 1
        self.in_flight = True

    def backward(self) -> None:
        library.gradweave_session_backward(self._session)

    def ready(self, index: int, gradient: torch.Tensor) -> None:
        """Hands over a gradient, whose place the mean takes by the time that wait() returns.

        It is called for each tensor, when the backward pass has emptied the caches: each call in
        Python then takes a microsecond, so that this does without _call.
        """
        address = gradient.data_ptr()
        status = library.gradweave_session_ready(
            self._session, index, address, address, self._error
        )
        if status != 0:
            raise self.end(failure(status, self._error))

    def wait(self) -> None:
        self._call("gradweave_session_wait", self._session)
        self.in_flight = False

    def mean(self, index: int, elements: int) -> torch.Tensor:
        """Returns a tensor's mean, valid until the next iteration begins."""
        address = library.gradweave_session_aggregate(self._session, index)
        if self._gpu is None:
            return view(address, elements, torch.float32)
        return torch.as_tensor(_OnGpu(address, elements), device=self._gpu)

    def verify(self) -> None:
        self._meet("verify")
        self._verify()

    def _verify(self) -> None:
        self._call("gradweave_session_verify", self._session)

    def measure(self) -> dict[str, float]:
        self._meet("measure")
        return self._measure()

    def _measure(self) -> dict[str, float]:
        took = _library.Prediction()
        self._call("gradweave_session_measure", self._session, byref(took))
        return {name: getattr(took, name) for name, _ in took._fields_ if name != "algorithm"}

    def trace(self, path: str) -> None:
        self._meet("trace")
        own = os.fsencode(path) if self.rank == 0 else None
        self._call("gradweave_session_trace", self._session, own)

    # ---- gradients that a rank has none of -------------------------------------------------------

    def _note(self, rank: int) -> str:
        """Returns the store's key for a rank's note; two take turns, as ranks may be one ahead."""
        return f"{self._key}/{rank}/{self._iteration % 2}"

    def _write_note(self, flags: bytes) -> None:
        """Writes to the store, and waits until it is there, which set() alone does not."""
        note = self._note(self.rank)
        self._store.set(note, self._iteration.to_bytes(8, "little") + flags)
        self._store.check([note])

    def note_absent(self, flags: bytes) -> None:
        """Notes a byte for each tensor, before wait(), on a rank that lacks gradients.

        Ranks that have all of them note nothing, so that it costs them nothing. No rank's wait()
        returns before each rank has passed on what it has of all tensors, which comes after this.
        """
        try:
            self._write_note(flags)
        except RuntimeError as error:
            raise self.end(GradweaveError(str(error))) from None

    def read_notes(self) -> list[bytes | None]:
        """Returns this iteration's notes after wait(), by rank; None: the rank has all gradients."""
        try:
            notes = self._store.multi_get([self._note(rank) for rank in range(self.trainers)])
        except RuntimeError as error:
            raise self.end(GradweaveError(str(error))) from None
        now = self._iteration.to_bytes(8, "little")
        return [note[8:] if note[:8] == now else None for note in notes]

    def _open_notes(self) -> None:
        """Replaces what an earlier session of the group left, which all ranks have read by now.

        No rank comes here before each one has left that session, and compares its arguments.
        """
        for self._iteration in (0, 1):
            self._write_note(b"")
        self._iteration = 1

    # ---- among ranks that train -----------------------------------------------------------------

    def _unite(self, flags: torch.Tensor, tag: int) -> None:
        """Puts the bits of all ranks that train into each one's bytes.

        After each round a rank has those of twice as many ranks before it.
        """
        distance = 1
        while distance < self.trainers:
            to, source = (
                global_rank(self.group, (self.rank + step) % self.trainers)
                for step in (distance, -distance)
            )
            theirs = torch.empty_like(flags)
            works = (
                dist.irecv(theirs, source, group=self.group, tag=tag),
                dist.isend(flags, to, group=self.group, tag=tag),
            )
            for work in works:
                work.wait()
            flags |= theirs
            distance *= 2

    def unite(self, flags: torch.Tensor) -> None:
        """Puts the bits of all ranks that train into each one's bytes; all call it."""
        self._need_open()
        try:
            self._unite(flags, _FLAGS)
        except RuntimeError as error:
            raise self.end(GradweaveError(str(error))) from None

    def share(self, tensor: torch.Tensor, root: int) -> None:
        """Gives rank `root`'s tensor to all ranks that train, twice as many in each round."""
        self._need_open()
        data = tensor.detach().cpu().contiguous()
        if data.numel() == 0:
            return
        place = (self.rank - root) % self.trainers
        distance = 1
        try:
            while distance < self.trainers:
                gives = place < distance
                partner = place + distance if gives else place - distance
                if partner < self.trainers and place < 2 * distance:
                    other = global_rank(self.group, (partner + root) % self.trainers)
                    move = dist.send if gives else dist.recv
                    move(data.view(-1).view(torch.uint8), other, group=self.group, tag=_SHARED)
                distance *= 2
        except RuntimeError as error:
            raise self.end(GradweaveError(str(error))) from None
        if self.rank != root:
            tensor.detach().copy_(data)

    def _meet(self, deed: str) -> None:
        """Begins what all ranks call; fails unless they do, before one waits in it for the others.

        Those that train meet first, as long as the group's timeout lets them, then tell the server.
        """
        self._need_open()
        if not self.serves:
            called = torch.tensor([1 << _DEEDS.index(deed)], dtype=torch.uint8)
            try:
                self._unite(called, _MEETING)
            except RuntimeError as error:
                expected = f"{deed}: expected all ranks to call it: {error}"
                raise self.end(GradweaveError(expected)) from None
            calls = [one for bit, one in enumerate(_DEEDS) if int(called) >> bit & 1]
            if len(calls) > 1:
                got = " and ".join(calls)
                raise self.end(BadInput(f"expected all ranks to call the same, got {got}"))
        self._together(deed)

    # ---- with a server --------------------------------------------------------------------------

    def serve(self, iterations: int | None = None) -> int:
        """Takes part in what the trainers do: until they close, or in so many iterations."""
        served = 0
        while served != iterations and (deed := self._hear()) != "close":
            if deed == "iterate":
                self._begin()
                self.wait()
                served += 1
            elif deed == "verify":
                self._verify()
            elif deed in ("measure", "trace"):
                self._measure()
            else:
                self._gather(None)
        return served

    def _together(self, deed: str) -> None:
        """Tells the server, if there is one, that all ranks are about to do `deed`."""
        if self.serves and (told := self._hear()) != deed:
            expected = f"expected rank 0 to call what this rank does, {deed}, got {told}"
            raise self.end(BadInput(expected))
        try:
            self._tell(deed)
        except RuntimeError as error:
            raise self.end(GradweaveError(f"expected a server that listens: {error}")) from None

    def _tell(self, deed: str) -> None:
        if self.group is not None and self.rank == 0 and self.trainers < self.ranks:
            told = torch.tensor([_DEEDS.index(deed)], dtype=torch.uint8)
            server = global_rank(self.group, self.trainers)
            # A message that comes just as the server closes is not always refused by gloo.
            dist.isend(told, server, group=self.group, tag=_TAG).wait(_LISTENS)

    def _await_next(self) -> None:
        """Listens for the next deed early, so that rank 0 never waits for the server to listen."""
        told = torch.empty(1, dtype=torch.uint8)
        work = dist.irecv(told, global_rank(self.group, 0), group=self.group, tag=_TAG)
        self._next = work, told

    def _hear(self) -> str:
        """Returns rank 0's next deed, after any time: trainers may evaluate, or write files."""
        if self._next is None:
            return "close"
        work, told = self._next
        try:
            work.wait(_HOWEVER_LONG)
        except RuntimeError as error:
            expected = "expected trainers that go on or close"
            raise self.end(GradweaveError(f"{expected}: {error}")) from None
        deed = _DEEDS[int(told)]
        self._next = None
        if deed != "close":
            self._await_next()
        return deed

    # ---- going on later -------------------------------------------------------------------------

    def save(self) -> torch.Tensor:
        """Returns this rank's state between iterations, as bytes."""
        self._need_open()
        size = library.gradweave_session_state_size(self._session)
        state = torch.empty(size, dtype=torch.uint8)
        call("gradweave_session_save", self._session, state.data_ptr())
        return state

    def load(self, state: torch.Tensor, *, residual_only: bool = False) -> None:
        """Goes on as the session that was saved; or only adds its residual to this one's."""
        self._need_open()
        state = state.contiguous()
        name = "gradweave_session_add_residual" if residual_only else "gradweave_session_load"
        call(name, self._session, state.data_ptr(), state.numel())

    def residual(self) -> list[torch.Tensor]:
        """Returns the part of each tensor's means that this rank has not sent yet."""
        self._need_open()
        flat = torch.empty(sum(self._sizes), dtype=torch.float32)
        call("gradweave_session_residual", self._session, flat.data_ptr())
        return list(flat.split(self._sizes[::-1]))[::-1]

    # ---- the end --------------------------------------------------------------------------------

    def _need_open(self) -> None:
        if self.group is None:
            raise BadInput("expected a session that is open, got one that was closed, or failed")

    def _call(self, name: str, *arguments) -> None:
        self._need_open()
        try:
            call(name, *arguments)
        except GradweaveError as error:
            raise self.end(error) from None

    def end(self, error: GradweaveError) -> GradweaveError:
        """Lets the others' calls fail as well, and returns what to raise: the first error."""
        said = str(error)
        if self._waited_in_vain(error):
            said = f"{error} ({_WAITED_IN_VAIN})"
        was_left = any(words in said for words in _LEFT_BY_PEER)
        if was_left and self._own is not None:
            # gloo closes connections of a rank whose wait timed out, before that rank knows
            with contextlib.suppress(RuntimeError):
                self._store.wait([self._key], _EXPLAINS)
        first = self._say_first(f"{type(error).__name__}: rank {self.rank}: {said}")
        self._interrupt()
        self._keeps_own = False
        self._leave()
        kind, rank, text = first.split(": ", 2)
        raised = getattr(_library, kind)
        if text == said:
            return raised(said)
        return raised(f"{rank}: {text}" if was_left else f"{rank}: {text} (here: {error})")

    def _say_first(self, own: str) -> str:
        """Writes why this rank ends to the store, unless another did; returns the first's."""
        if self._own is not None and _is_there(self._store):
            with contextlib.suppress(RuntimeError):
                return self._store.compare_set(self._key, "", own).decode(errors="replace")
        return own

    def say_that_it_ended(self, how: str) -> None:
        """Tells the ranks that go on, which fail then."""
        count = self.iterations
        when = f"in iteration {count}" if self.in_flight else f"after {count} iterations"
        hint = "" if self.serves else ", and others went on: join() is for uneven inputs"
        self._say_first(f"GradweaveError: rank {self.rank}: {how} {when}{hint}")

    def _waited_in_vain(self, error: GradweaveError) -> bool:
        """Whether the process group failed while it exchanged gradients."""
        refused = isinstance(error, BadInput)
        return self.in_flight and not refused and isinstance(self._lent.failure, RuntimeError)

    def _interrupt(self) -> None:
        """Ends what a thread exchanges, here and on the others."""
        if self.in_flight and self._own is not None:
            self._own.interrupt()
            self._keeps_own = False
        self.in_flight = False

    def _leave(self) -> None:
        """Connections close once nobody refers to them."""
        self._lent.leave()
        own, self._own = self._own, None
        self._next = self._store = None
        if own is not None and not self._keeps_own:
            own.close()

    def close(self) -> None:
        if self in _open and not self._keeps_own:
            self.say_that_it_ended("closed")
        _open.discard(self)
        if self.in_flight:
            self._interrupt()
        else:
            with contextlib.suppress(RuntimeError):  # the server may have closed before
                self._tell("close")
        library.gradweave_session_close(self._session)
        library.gradweave_leave(self._joined)
        self._session, self._joined = c_void_p(), c_void_p()
        self._leave()
