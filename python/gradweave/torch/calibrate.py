"""Measures inside a job what its process group and this library's compressors cost."""

from __future__ import annotations

import itertools
import statistics
import sys
import time
from collections.abc import Callable, Iterable
from ctypes import byref, c_void_p
from os import PathLike, fspath
from typing import NoReturn

import torch
import torch.distributed as dist
from torch import nn

from gradweave import _library
from gradweave._library import BadInput, GradweaveError, call, check_density, library
from gradweave.torch.distributed import Distributed
from gradweave.torch.group import NUMBERS, LentGroup, need_group

_BAR = 30
_IN_TURN = 3
_FEWEST_TURNS, _MOST_TURNS = 5, 100
_SESSION_SHARE = 0.05  # of the time for everything


class _Pass:
    """The backward pass of a step, again and again, which leaves all gradients as they were."""

    def __init__(self, step: Callable[[], torch.Tensor]) -> None:
        self._step = step
        self._loss = step()
        if not isinstance(self._loss, torch.Tensor) or self._loss.grad_fn is None:
            raise BadInput("step: expected it to return a loss that a backward pass can begin at")
        self._leaves = _leaves(self._loss.grad_fn)
        for leaf in self._leaves:
            if leaf.dtype not in NUMBERS:
                got = f"got one of shape {list(leaf.shape)} of {leaf.dtype}"
                raise BadInput(f"step: expected parameters of floats of 32 or 16 bits, {got}")
        self._gradients = [leaf.grad for leaf in self._leaves]
        self._handles: list[torch.utils.hooks.RemovableHandle] = []
        self._pass: int | None = None  # C's, that hears of gradients
        self.function = _library.BACKWARD(self._run)
        self.failure: BaseException | None = None

    def tell(self) -> None:
        """Tells C of gradients from now on."""
        self._listen(lambda _: library.gradweave_pass_gradient(self._pass))

    def _listen(self, hook: Callable[[torch.Tensor], None]) -> None:
        for leaf in self._leaves:
            self._handles.append(leaf.register_post_accumulate_grad_hook(hook))

    def _listen_no_more(self) -> None:
        for handle in self._handles:
            handle.remove()
        self._handles.clear()

    def _run(self, _context, c_pass: int | None) -> int:
        self._pass = c_pass
        try:
            for leaf in self._leaves:  # as after optimizer.zero_grad()
                leaf.grad = None
            self._loss.backward(retain_graph=True)
        except BaseException as error:  # which C cannot raise
            self.failure = error
            return 1
        return 0

    def _run_or_raise(self) -> None:
        if self._run(None, None):
            _fail(GradweaveError("backward: it failed"), self.failure)

    # ---- in a session ---------------------------------------------------------------------------

    def time_session(
        self, density: float, group: dist.ProcessGroup | None, seconds: float
    ) -> tuple[float, int]:
        """Measures what a session by `topk` adds to a step and its pass; returns its elements too.

        All ranks at once take turns in the session and with a barrier in its place, whose own time
        does not count: for so many seconds, at least 5 turns. The result is the difference of the
        medians, in the mean of the ranks.
        """
        came: list[torch.Tensor] = []
        self._listen(came.append)
        self._run_or_raise()
        self._listen_no_more()
        barrier_s = _median(lambda: dist.barrier(group))
        session = _Aside(came, density, group)
        apart_s: list[float] = []
        in_session_s: list[float] = []
        turns = _FEWEST_TURNS
        try:
            while len(apart_s) <= turns:
                dist.barrier(group)
                apart_s.append(self._time_steps(lambda: dist.barrier(group)) - barrier_s)
                dist.barrier(group)
                self._listen(session.hear)
                in_session_s.append(self._time_steps(lambda: None))
                self._listen_no_more()
                if len(apart_s) == 1:
                    turn_s = _IN_TURN * _mean(apart_s[0] + in_session_s[0], group)
                    turns = max(turns, min(_MOST_TURNS, int(seconds / turn_s)))
        finally:
            session.close()
        # The first turn finds nothing that it needs in memory.
        own_s = statistics.median(in_session_s[1:]) - statistics.median(apart_s[1:])
        return max(0.0, _mean(own_s, group)), sum(leaf.numel() for leaf in came)

    def _time_steps(self, then: Callable[[], None]) -> float:
        """Returns the mean time of a turn's steps but the first, which finds cold caches."""
        for count in range(_IN_TURN):
            if count == 1:
                began_s = time.perf_counter()
            for leaf in self._leaves:  # as after optimizer.zero_grad()
                leaf.grad = None
            self._step().backward()
            then()
        return (time.perf_counter() - began_s) / (_IN_TURN - 1)

    def close(self) -> None:
        self._listen_no_more()
        for leaf, gradient in zip(self._leaves, self._gradients):
            leaf.grad = gradient
        self._loss = None  # and with it all that the backward pass needs


class _Aside(Distributed):
    """A session of tensors that are not its own: it reads their gradients, and changes none."""

    def __init__(
        self, backwards: list[torch.Tensor], density: float, group: dist.ProcessGroup | None
    ) -> None:
        module = nn.ParameterList([nn.Parameter(_stand_in(one)) for one in reversed(backwards)])
        group = group or dist.group.WORLD
        super().__init__(module, "topk", density=density, group=group, init_sync=False)
        self._next = itertools.cycle(reversed(list(enumerate(module.parameters()))))

    def _listen(self) -> None:
        """Registers no hooks: `hear` passes the gradients on."""

    def hear(self, leaf: torch.Tensor) -> None:
        index, parameter = next(self._next)
        if _is_taken(leaf.grad):
            parameter.grad = leaf.grad
        elif parameter.grad is None:
            parameter.grad = torch.zeros_like(parameter)
        self.on_gradient(index, parameter)


def _is_taken(tensor: torch.Tensor) -> bool:
    """Returns whether a session on processors takes the tensor as it is."""
    return tensor.device.type == "cpu" and tensor.layout is torch.strided


def _stand_in(leaf: torch.Tensor) -> torch.Tensor:
    """Returns a tensor of the leaf's size: its own values where a session takes them."""
    return leaf.data if _is_taken(leaf) else torch.zeros(leaf.shape)


def _median(call: Callable[[], None]) -> float:
    """Returns the median time of many calls."""
    took_s = []
    for _ in range(_MOST_TURNS):
        began_s = time.perf_counter()
        call()
        took_s.append(time.perf_counter() - began_s)
    return statistics.median(took_s)


def _mean(value: float, group: dist.ProcessGroup | None) -> float:
    """Returns the mean over the ranks."""
    values = torch.tensor([value], dtype=torch.float64)
    dist.all_reduce(values, group=group)
    return values.item() / dist.get_world_size(group)


def _leaves(node) -> list[torch.Tensor]:
    """Lists the leaves whose gradients a backward pass from the node accumulates."""
    seen, found, open_nodes = {node}, [], [node]
    while open_nodes:
        node = open_nodes.pop()
        if hasattr(node, "variable"):
            found.append(node.variable)
        for following, _ in node.next_functions:
            if following is not None and following not in seen:
                seen.add(following)
                open_nodes.append(following)
    return found


class _Bar:
    """A progress bar on stderr, drawn at most ten times a second."""

    def __init__(self) -> None:
        self._drawn_s = 0.0
        self.function = _library.PROGRESS(self._draw)

    def _draw(self, _context, share: float, what: bytes) -> None:
        now_s = time.monotonic()
        if now_s < self._drawn_s + 0.1:
            return
        self._drawn_s = now_s
        full = round(share * _BAR)
        line = f"calibrate [{'#' * full}{'.' * (_BAR - full)}] {share:4.0%}  {what.decode()[:35]}"
        print(f"\r{line:<79}", end="", file=sys.stderr, flush=True)

    def close(self) -> None:
        print(f"\r{'':79}\r", end="", file=sys.stderr, flush=True)


def _check_group(group: dist.ProcessGroup | None) -> None:
    need_group(group)
    backend = dist.get_backend(group)
    if backend != "gloo":
        raise BadInput(f"expected a process group of gloo, whose data is on CPUs, got {backend}")


def _measures_overlap(only: str | None) -> bool:
    return only is None or "overlap" in only.split(",")


def _products() -> Callable[[], torch.Tensor]:
    """A step of a network of matrix products, where there is no job: 4.7 million parameters.

    Leaves PyTorch's random numbers as they were.
    """
    width, batch, depth = 768, 64, 8
    with torch.random.fork_rng(devices=[]):
        layers = [nn.Sequential(nn.Linear(width, width), nn.ReLU()) for _ in range(depth)]
        inputs = torch.randn(batch, width)
    network = nn.Sequential(*layers)
    return lambda: network(inputs).square().mean()


def _text(value: str | None) -> bytes | None:
    return None if value is None else value.encode()


def calibrate(
    path: str | PathLike[str],
    *,
    name: str | None = None,
    compressors: str | Iterable[str] | None = None,
    only: str | Iterable[str] | None = None,
    density: float = 0.001,
    time_s: float = 60,
    max_bytes: int = 0,
    max_elements: int = 0,
    group: dist.ProcessGroup | None = None,
    step: Callable[[], torch.Tensor] | None = None,
    progress: bool = True,
    force: bool = False,
    add: bool = False,
) -> None:
    """Measures the group's collectives and the compressors, and writes the cluster's file.

    As `gradweave calibrate` does, by the same code, but in the job's own processes. All ranks call
    it alike, with nothing else going on; rank 0 writes.

    compressors: only these, with everything else. only: collectives, compressors, "network" and
    "overlap", and nothing else. time_s: for everything. max_bytes, max_elements: the largest
    message and gradient to measure, 16 MiB and 2^24 unless given. group: by default all ranks.
    step: a call that runs a forward pass on this rank and returns its loss, again and again, by
    default that of a network of products: how much its backward pass and exchanges slow each other
    is measured with "overlap", and what a session adds to both. Its module must be the bare one,
    which exchanges nothing. progress: a bar, where
    rank 0's stderr is a terminal. force: over another kind of file. add: to the file that is there,
    of the same ranks, which keeps what is not measured.
    """
    _check_group(group)
    check_density(density)
    only = _join(only)  # an iterator gives its names once
    if step is None and _measures_overlap(only):
        step = _products()
    load = None if step is None else _Pass(step)
    draws = progress and dist.get_rank(group) == 0 and sys.stderr.isatty()
    bar = _Bar() if draws else None
    lent = LentGroup(group or dist.group.WORLD)
    ranks = c_void_p()
    try:
        session_s, session_elements = 0.0, 0
        if load is not None:
            seconds = _SESSION_SHARE * time_s
            session_s, session_elements = load.time_session(density, group, seconds)
            load.tell()
        asked = _library.Calibration(
            name=_text(name),
            command=b"gradweave.torch.calibrate",
            compressor=_text(_join(compressors)),
            only=_text(only),
            density=density,
            time_s=time_s if load is None else (1 - _SESSION_SHARE) * time_s,
            max_bytes=max_bytes,
            max_elements=max_elements,
            replace=int(force),
            add=int(add),
            backward=_library.BACKWARD() if load is None else load.function,
            session_s=session_s,
            session_elements=session_elements,
            progress=_library.PROGRESS() if bar is None else bar.function,
        )
        call("gradweave_join_group", byref(lent.functions), byref(ranks))
        try:
            call("gradweave_calibrate", byref(asked), ranks, fspath(path).encode())
        except GradweaveError as error:
            _fail(error, lent.failure or (load and load.failure))
    finally:
        for opened in (bar, load):
            if opened is not None:
                opened.close()
        library.gradweave_leave(ranks)


def _fail(error: GradweaveError, cause: BaseException | None) -> NoReturn:
    if cause is not None and not isinstance(cause, Exception):
        raise cause from None  # such as KeyboardInterrupt
    raise error from cause


def _join(names: str | Iterable[str] | None) -> str | None:
    return names if names is None or isinstance(names, str) else ",".join(names)
