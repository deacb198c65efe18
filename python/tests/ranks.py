"""A job's ranks: processes forked from one that has done nothing but import what all of them want.

Most of what a test took would be each rank's import of PyTorch, and of what its first optimizer
wants. Some jobs of test_job.py and test_hooks.py are started as users start them.
"""

from __future__ import annotations

import importlib
import multiprocessing
import os
import socket
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import torch
import torch.distributed as dist
import torch.multiprocessing as mp

from gradweave.torch.group import leave_all

RANKS = 2  # of most jobs

forked = multiprocessing.get_context("forkserver")
forked.set_forkserver_preload(
    ["pytest", "gradweave.torch", "gradweave.torch.__main__", "torch._dynamo"]
)


def place(ranks: int) -> dict[str, str]:
    """Returns what torchrun tells all ranks."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    return {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port, "WORLD_SIZE": str(ranks)}


def _enter(rank: int, ranks: int, store: str, run: Callable[..., None], arguments: tuple) -> None:
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=ranks)
    run(rank, *arguments)
    leave_all()


def on_ranks(folder, run: Callable[..., None], *arguments, ranks: int = RANKS) -> None:
    """Each calls `run` with its rank and the arguments; they find each other by the folder."""
    store = os.path.join(folder, f"store-{len(os.listdir(folder))}")
    arguments = (ranks, store, run, arguments)
    mp.start_processes(_enter, arguments, nprocs=ranks, start_method="forkserver")


@dataclass(frozen=True)
class _Body:
    """A test's function of the rank, which each rank finds by the test's name."""

    module: str
    name: str

    def __call__(self, rank: int) -> None:
        getattr(importlib.import_module(self.module), self.name).body(rank)


def on_all_ranks(body: Callable[[int], None] | None = None, *, ranks: int = RANKS):
    """Makes a test of a function of the rank, which all ranks call at once."""
    if body is None:
        return partial(on_all_ranks, ranks=ranks)

    def test(tmp_path) -> None:
        on_ranks(tmp_path, _Body(body.__module__, body.__name__), ranks=ranks)

    test.body = body
    return test
