"""What a job's own process group and this library's compressors cost, measured inside the job."""

from __future__ import annotations

import contextlib
import statistics
import sys
import time
from collections.abc import Callable, Iterable
from ctypes import byref, c_void_p
from os import PathLike, fspath
from typing import NoReturn

import torch
import torch.distributed as dist

from gradweave import _library
from gradweave._library import BadInput, GradweaveError, call, library
from gradweave.torch.group import LentGroup, open_without_others
from gradweave.torch.session import Session

_BAR = 30
_SMALL = 4096  # elements that a session takes a microsecond at most to copy
_MOST_TURNS = 100
_SESSION_SHARE = 0.05  # of the time for everything


class _Pass:
    """The backward pass of a step, again and again, which leaves all gradients as they were."""

    def __init__(self, step: Callable[[], torch.Tensor]) -> None:
        self._loss = step()
        if not isinstance(self._loss, torch.Tensor) or self._loss.grad_fn is None:
            raise BadInput("step: expected it to return a loss that a backward pass can begin at")
        self._leaves = _leaves(self._loss.grad_fn)
        self._gradients = [leaf.grad for leaf in self._leaves]
        self._handles: list[torch.utils.hooks.RemovableHandle] = []
        self._pass: int | None = None  # C's, that hears of gradients
        self.function = _library.BACKWARD(self._run)
        self.failure: BaseException | None = None

    def tell(self) -> None:
        """From now on C hears of gradients."""
        hook = lambda _: library.gradweave_pass_gradient(self._pass)
        self._listen(self._leaves, [hook] * len(self._leaves))

    def _listen(self, leaves: list[torch.Tensor], hooks: list[Callable]) -> None:
        for leaf, hook in zip(leaves, hooks):
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

    def session_s(self, group: dist.ProcessGroup | None, seconds: float) -> float:
        """What a session's calls add to the pass, without what it does with a gradient's elements.

        Passes of all ranks at once, by turns as an iteration of a session of each rank alone, which
        hears of small gradients only, and not: for so many seconds, 3 turns at least. The median,
        in the mean of the ranks.
        """
        self._run_or_raise()  # all is cold, and gradients are there to be looked at
        small = [leaf for leaf in self._leaves if _is_small(leaf.grad)]
        with contextlib.ExitStack() as opened:
            session = None
            if small:
                alone = open_without_others([dist.get_rank()], "gloo", None)
                opened.callback(dist.destroy_process_group, alone)
                session = Session([leaf.numel() for leaf in small], "dense", group=alone)
                opened.callback(session.close)
            more_s: list[float] = []
            turns = 3
            while len(more_s) < turns:
                dist.barrier(group)
                alone_s = self._time(None, [])
                dist.barrier(group)
                in_session_s = self._time(session, small)
                more_s.append(in_session_s - alone_s)
                if len(more_s) == 1:
                    turn_s = _mean(alone_s + in_session_s, group)
                    turns = max(turns, min(_MOST_TURNS, int(seconds / turn_s)))
        return max(0.0, _mean(statistics.median(more_s), group))

    def _time(self, session: Session | None, leaves: list[torch.Tensor]) -> float:
        if session:
            self._listen(
                leaves,
                [
                    lambda leaf, index=index: session.ready(index, leaf.grad)
                    for index in range(len(leaves))
                ],
            )
        began_s = time.perf_counter()
        if session:
            session.begin()
        self._run_or_raise()
        if session:
            session.wait()
        took_s = time.perf_counter() - began_s
        self._listen_no_more()
        return took_s

    def _run_or_raise(self) -> None:
        if self._run(None, None):
            _fail(GradweaveError("backward: it failed"), self.failure)

    def close(self) -> None:
        self._listen_no_more()
        for leaf, gradient in zip(self._leaves, self._gradients):
            leaf.grad = gradient
        self._loss = None  # and with it all that the backward pass needs


def _is_small(gradient: torch.Tensor | None) -> bool:
    """And such that a session takes it as it is."""
    return (
        gradient is not None
        and gradient.numel() <= _SMALL
        and gradient.device.type == "cpu"
        and gradient.dtype == torch.float32
        and gradient.layout is torch.strided
        and gradient.is_contiguous()
    )


def _mean(value: float, group: dist.ProcessGroup | None) -> float:
    """Over the ranks."""
    values = torch.tensor([value], dtype=torch.float64)
    dist.all_reduce(values, group=group)
    return values.item() / dist.get_world_size(group)


def _leaves(node) -> list[torch.Tensor]:
    """What a backward pass that begins at the node accumulates gradients of."""
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
    """On stderr, some times in a second."""

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
    backend = dist.get_backend(group)
    if backend != "gloo":
        raise BadInput(f"expected a process group of gloo, whose data is on CPUs, got {backend}")


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
    step: a call that runs a forward pass on this rank and returns its loss; how much its backward
    pass and exchanges slow each other is measured as well, and what a session's calls add to it.
    Its module must be the bare one, which exchanges nothing. progress: a bar, where rank 0's stderr is a terminal. force: over another
    kind of file. add: to the file that is there, of the same ranks, which keeps what is not
    measured.
    """
    _check_group(group)
    load = None if step is None else _Pass(step)
    draws = progress and dist.get_rank(group) == 0 and sys.stderr.isatty()
    bar = _Bar() if draws else None
    lent = LentGroup(group or dist.group.WORLD)
    ranks = c_void_p()
    try:
        session_s = 0.0
        if load is not None:
            session_s = load.session_s(group, _SESSION_SHARE * time_s)
            load.tell()
        asked = _library.Calibration(
            name=_text(name),
            command=b"gradweave.torch.calibrate",
            compressor=_text(_join(compressors)),
            only=_text(_join(only)),
            density=density,
            time_s=time_s if load is None else (1 - _SESSION_SHARE) * time_s,
            max_bytes=max_bytes,
            max_elements=max_elements,
            replace=int(force),
            add=int(add),
            backward=_library.BACKWARD() if load is None else load.function,
            session_s=session_s,
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
