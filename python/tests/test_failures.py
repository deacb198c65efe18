"""Ranks that fail, or that call for different things, and what each of them says."""

from __future__ import annotations

import contextlib
import re
import subprocess
import sys
import time
from datetime import timedelta

import pytest

torch = pytest.importorskip("torch")
import torch.distributed as dist  # noqa: E402
from ranks import on_all_ranks, on_ranks, place  # noqa: E402
from test_torch import batch, network, train  # noqa: E402

import gradweave.torch as gt  # noqa: E402
from gradweave._library import GradweaveError  # noqa: E402
from gradweave.torch import group, session  # noqa: E402


def _pass(model, rank: int) -> None:
    model(batch(rank, 0)[0]).square().mean().backward()


# ---- ranks that do not do the same --------------------------------------------------------------

NAMES = [name for name, _ in network().named_parameters()]
DIFFERING = {  # on rank 0 and on rank 1
    "density": (0.1, 0.2),
    "groups": ([], [(5, 3), (2, 0)]),
    "compressor": (None, "randk"),
    "exchange": (None, "allgather"),
    "seed": (1, 2),
    "broadcast_buffers": (True, False),
    "init_sync": (False, True),
}


@on_all_ranks
def test_ranks_that_ask_for_different_things_are_refused(rank: int) -> None:
    for option, values in DIFFERING.items():
        first, other = (f"{option}={value}" for value in values)
        expected = re.escape(f"but rank 1 has {other} where rank 0 has {first}")
        with pytest.raises(gt.BadInput, match=expected):
            gt.distribute(network(), "topk", **{option: values[rank]})
    with pytest.raises(gt.BadInput, match="rank 1 has algorithm=ps where rank 0 has algorithm=to"):
        gt.distribute(network(), ["topk", "ps"][rank])
    with pytest.raises(gt.BadInput, match="rank 1 has tensor 3.bias of 4 elements of .* where rank 0 ha"):
        gt.distribute(network(), "topk", names=[NAMES, NAMES[::-1]][rank])
    model = network()
    model[2].requires_grad_(rank == 0)
    expected = "rank 1 has 2.weight of .*, requires_grad=False where rank 0 has 2.weight of .*=True"
    with pytest.raises(gt.BadInput, match=expected):
        gt.distribute(model, "topk")
    other = torch.nn.Linear(4, 4 + rank)
    with pytest.raises(gt.BadInput, match=r"rank 1 has weight of shape \(5, 4\), .* \(4, 4\)"):
        gt.distribute(other, "topk")


@on_all_ranks
def test_uneven_inputs_end_with_a_hint(rank: int) -> None:
    distributed = gt.distribute(network(), "dense")
    expected = r"^rank 1: closed after 2 iterations, and others .*: join\(\) is for uneven inputs$"
    fails = pytest.raises(GradweaveError, match=expected)
    with fails if rank == 0 else contextlib.nullcontext():
        train(distributed, rank, 3 - rank, distributed.module)
    distributed.close()
    dist.barrier()


ENDS = """
import sys, torch, torch.distributed as dist, gradweave.torch as gt
rank = int(sys.argv[1])
dist.init_process_group("gloo", init_method=sys.argv[2], rank=rank, world_size=2)
layer = torch.nn.Linear(20, 4)
model = gt.distribute(layer, "topk", density=0.1)
for _ in range(3 + rank):
    model(torch.ones(2, 20)).sum().backward()
dist.destroy_process_group()
"""


def test_a_rank_whose_script_ends_is_named(tmp_path):
    jobs = [
        subprocess.Popen(
            [sys.executable, "-c", ENDS, str(rank), f"file://{tmp_path}/store"],
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in range(2)
    ]
    told = [job.communicate(timeout=60)[1] for job in jobs]
    assert [job.returncode for job in jobs] == [0, 1], told
    expected = "rank 0: ended after 3 iterations, and others went on: join() is for uneven inputs"
    assert told[1].endswith(f"gradweave._library.GradweaveError: {expected}\n")


CALLS = {
    "verify": (),
    "measure": (),
    "trace": ("trace.json",),
    "check_parameters": (),
    "load_exchange_state": (),
}


def _call_apart(rank: int) -> None:
    names = list(CALLS)
    for pair in zip(names, names[1:]):
        distributed = gt.distribute(network(), "topk")
        expected = f"expected all ranks to call the same, got {pair[0]} and {pair[1]}"
        with pytest.raises(gt.BadInput, match=expected):
            getattr(distributed, pair[rank])(*CALLS[pair[rank]])
        distributed.close()


def _say_late(end):
    def wait_and_end(self, error):
        time.sleep(0.5)
        return end(self, error)

    return wait_and_end


def _call_alone(rank: int) -> None:
    session._EXPLAINS = timedelta(minutes=1)
    if rank == 0:  # whose timeout reaches rank 1 before rank 0 can say of it
        session.Session.end = _say_late(session.Session.end)
        group.timeout_of = lambda *_: timedelta(seconds=4)
    for name in ("measure", "check_parameters"):
        model = network()
        dist.barrier()
        distributed = gt.distribute(model, "topk")
        _pass(model, rank)
        with pytest.raises(GradweaveError, match=f"{name}: expected all ranks to call it: .*4000"):
            if rank == 0:
                getattr(distributed, name)()
            else:
                _pass(model, rank)
        distributed.close()


@on_all_ranks
def test_calls_that_not_all_ranks_make_are_named(rank: int) -> None:
    _call_apart(rank)
    _call_alone(rank)


LAST = """
import sys, torch, torch.distributed as dist, gradweave.torch as gt
rank = int(sys.argv[1])
dist.init_process_group("gloo", init_method=sys.argv[2], rank=rank, world_size=2)
model = gt.distribute(torch.nn.Linear(20, 4), "topk", density=0.1)
model(torch.ones(2, 20)).sum().backward()
if rank == 1:
    sys.stdin.read()
model.close()
"""


def test_a_rank_that_ends_after_the_stores_says_nothing(tmp_path):
    told = place(2)
    store = f"tcp://{told['MASTER_ADDR']}:{told['MASTER_PORT']}"
    first, last = (
        subprocess.Popen(
            [sys.executable, "-c", LAST, str(rank), store],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for rank in range(2)
    )
    for job in (first, last):
        assert job.communicate(timeout=60)[0] == "" and job.returncode == 0


# ---- failures -----------------------------------------------------------------------------------


def _meet_nan(rank: int) -> None:
    for algorithm in ("topk", "lags", "gs-sgd", "hard-threshold", "sidco"):
        model = network()
        distributed = gt.distribute(model, algorithm, density=0.1)
        if rank == 0:
            row = torch.tensor(3)
            model[2].weight.register_hook(lambda one: one.index_fill(0, row, torch.nan))
        expected = "2.weight: element 150 of 1500: expected a number or an infinity, got NaN"
        with pytest.raises(GradweaveError, match=expected):
            _pass(model, rank)
        distributed.close()


class _Lost:
    """A store that neither knows of another rank's failure nor can wait for it."""

    def __init__(self) -> None:
        self.said: list[str] = []

    def wait(self, *_) -> None:
        raise RuntimeError("the connection to the store was lost")

    def compare_set(self, _key: str, _expected: str, own: str) -> bytes:
        self.said.append(own)
        return own.encode()


def _lose_the_store(_rank: int) -> None:
    one, store = session.Session([3], "dense"), _Lost()
    one._store = store
    error = one.end(gt.BadInput("Connection closed by peer"))
    assert store.said == ["BadInput: rank 0: Connection closed by peer"]
    assert repr(error) == "BadInput('Connection closed by peer')"
    one.close()


def test_failures_name_what_failed(tmp_path):
    on_ranks(tmp_path, _meet_nan)
    on_ranks(tmp_path, _lose_the_store, ranks=1)
