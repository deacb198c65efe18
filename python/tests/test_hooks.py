"""Jobs that a session's hooks must bear: checkpoints, branches, accumulation, failures, copies."""

from __future__ import annotations

import copy
import json
import os
import subprocess
import sys

import pytest

torch = pytest.importorskip("torch")
import torch.distributed as dist  # noqa: E402
from torch.nn.parallel import DistributedDataParallel  # noqa: E402
from torch.utils.checkpoint import checkpoint  # noqa: E402

import gradweave.torch as gt  # noqa: E402
from gradweave._library import GradweaveError  # noqa: E402
from gradweave.torch import ways  # noqa: E402

from ranks import RANKS, on_all_ranks, on_ranks  # noqa: E402
from test_torch import batch, flat, loss_of, network  # noqa: E402


class Checkpointed(torch.nn.Module):
    def __init__(self, reentrant: bool) -> None:
        super().__init__()
        self.layers, self.reentrant = network(), reentrant

    def forward(self, inputs):
        values = self.layers[0](inputs)
        for layer in self.layers[1:]:
            values = checkpoint(layer, values, use_reentrant=self.reentrant)
        return values


@on_all_ranks
def test_checkpoints_end_no_iteration(rank: int) -> None:
    trained = []
    for reentrant in (False, True):
        model = Checkpointed(reentrant)
        distributed = gt.distribute(model, "topk", density=0.05)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for step in range(5):
            loss_of(model, rank, step).backward()
            optimizer.step()
            optimizer.zero_grad()
        distributed.close()
        trained.append(flat(model))
    assert torch.equal(*trained)


class Branches(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(2)
        self.first = torch.nn.Linear(20, 20)
        self.ways = torch.nn.ModuleList([torch.nn.Linear(20, 4), torch.nn.Linear(20, 4)])

    def forward(self, inputs, way: int):
        return self.ways[way](self.first(inputs))


@on_all_ranks
def test_ranks_with_different_branches_stay_equal(rank: int) -> None:
    for algorithm in ("dense", "topk"):
        model = Branches()
        distributed = gt.distribute(model, algorithm, density=0.02)
        options = {"lr": 0.05, "momentum": 0.9, "weight_decay": 1e-2}
        optimizer = torch.optim.SGD(model.parameters(), **options)
        for step in range(10):
            model(batch(rank, step)[0], (step + rank) % 2).square().mean().backward()
            optimizer.step()
            optimizer.zero_grad()
        distributed.check_parameters()
        distributed.close()
    recorder = gt.Recorder(model, optimizer, warm_up=0)
    model(batch(rank, 0)[0], rank).square().mean().backward()
    optimizer.step()
    with pytest.raises(gt.BadInput, match="ways.0.bias, .* on rank 0 or rank 1 only"):
        recorder.model()


@on_all_ranks
def test_accumulated_gradients_are_averaged(rank: int) -> None:
    """Gradients that no_sync() left of a branch that the last pass does not take travel too."""
    gradients = []
    for ours in (False, True):
        model = Branches()
        if ours:
            wrapped = distributed = gt.distribute(model, "dense")
        else:
            wrapped = DistributedDataParallel(model, find_unused_parameters=True)
        forward = model if ours else wrapped
        with wrapped.no_sync():
            forward(batch(rank, 1)[0], 0).square().mean().backward()
        forward(batch(rank, 2)[0], 1).square().mean().backward()
        gradients.append(torch.cat([p.grad.flatten() for p in model.parameters()]))
    distributed.close()
    assert torch.allclose(*gradients, rtol=1e-5, atol=1e-7)


@on_all_ranks
def test_gradients_that_are_asked_for_stay_the_ranks_own(rank: int) -> None:
    """Gradients that autograd.grad returns are the rank's own; those of backward() are averages."""
    model = network()
    distributed = gt.distribute(model, "dense")
    parameters = list(model.parameters())
    loss = model(batch(rank, 0)[0]).square().mean()
    own = torch.autograd.grad(loss, parameters)
    assert all(p.grad is None for p in parameters)
    model.zero_grad()
    model(batch(rank, 0)[0]).square().mean().backward()
    for gradient, parameter in zip(own, parameters):
        dist.all_reduce(gradient)
        assert torch.allclose(gradient / RANKS, parameter.grad, rtol=1e-5, atol=1e-7)
    distributed.close()


def _traced(rank: int, path: str) -> None:
    model = network()
    distributed = gt.distribute(model, "lags", density=0.1, groups=[(5, 2), (1, 0)])
    for step in range(2):
        model(batch(rank, step)[0]).square().mean().backward()
    distributed.trace(path)
    took = distributed.measure()
    distributed.close()
    if rank == 0:
        with open(path, encoding="utf-8") as file:
            document = json.load(file)
        ((start_s, end_s),) = document["otherData"]["iterations_s"]
        assert end_s - start_s == pytest.approx(took["iteration_s"])
        spans = [event for event in document["traceEvents"] if event["ph"] == "X"]
        sent = [span for span in spans if span["cat"] == "exchange"]
        assert len({span["pid"] for span in spans}) == RANKS and len(sent) == 2 * RANKS, spans


def test_a_live_iteration_has_a_timeline(tmp_path):
    on_ranks(tmp_path, _traced, str(tmp_path / "live.json"))


@on_all_ranks
def test_impossible_uses_are_refused(rank: int) -> None:
    model = network()
    distributed = gt.distribute(model, "dense")
    assert copy.deepcopy(model)(batch(rank, 0)[0]).shape == (16, 4)
    distributed.close()
    with pytest.raises(gt.BadInput, match="one that was closed"):
        distributed.verify()
    with pytest.raises(gt.BadInput, match="one that was closed"):
        distributed.exchange_state()
    dist.barrier()

    steps = gt.distribute(model, "dense")
    for parameter in model.parameters():
        optimizer = torch.optim.SGD([parameter], lr=0.1)
        parameter.register_post_accumulate_grad_hook(
            lambda _, optimizer=optimizer: (optimizer.step(), optimizer.zero_grad(), None)[-1]
        )
    with pytest.raises(GradweaveError, match="expected its gradient to stay"):
        model(batch(rank, 0)[0]).sum().backward()
    steps.close()
    dist.barrier()

    words = torch.nn.Embedding(10, 3, sparse=True)
    sparse = gt.distribute(words, "dense")
    with pytest.raises(GradweaveError, match="weight: expected a gradient that is dense"):
        words(torch.tensor([1, 2])).sum().backward()
    sparse.close()


def test_ddp_wants_all_gradients():
    recorded = ways.Setting(0.01, tensor_bytes=[4000, 200])
    with pytest.raises(gt.BadInput, match="of all 6 parameters that learn, .* got 2: freeze"):
        ways._open("torch-ddp", network(), recorded)


RAISES = """
import sys, torch, torch.distributed as dist, gradweave.torch as gt
dist.init_process_group("gloo", init_method=sys.argv[2], rank=int(sys.argv[1]), world_size=2)
class Raises(torch.autograd.Function):
    @staticmethod
    def forward(_, values): return values.clone()
    @staticmethod
    def backward(_, gradient):
        if sys.argv[1] == "1": raise ValueError("the user's error")
        return gradient
layers = torch.nn.Sequential(*[torch.nn.Linear(2000, 2000) for _ in range(3)])
distributed = gt.distribute(layers, "p-sgd", groups=[(i, i) for i in reversed(range(6))])
values = Raises.apply(layers[0](torch.randn(4, 2000)))
layers[2](layers[1](values)).sum().backward()
"""


def test_a_rank_that_raises_ends_the_job(tmp_path):
    store = f"file://{tmp_path}/store"
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    jobs = [
        subprocess.Popen(
            [sys.executable, "-c", RAISES, str(rank), store],
            stderr=subprocess.PIPE,
            env=environment,
            text=True,
        )
        for rank in range(RANKS)
    ]
    told = [job.communicate(timeout=60)[1] for job in jobs]
    assert [job.returncode for job in jobs] == [1, 1], told
    assert "ValueError: the user's error" in told[1]
