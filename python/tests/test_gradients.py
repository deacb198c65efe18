"""Gradients that are recorded in a job: as autograd gives them, before they travel."""

from __future__ import annotations

import base64
import copy

import pytest

torch = pytest.importorskip("torch")

import torch.distributed as dist  # noqa: E402
from ranks import on_all_ranks, on_ranks  # noqa: E402

import gradweave.torch as gt  # noqa: E402

ITERATIONS = 5


def network() -> torch.nn.Module:
    torch.manual_seed(3)
    return torch.nn.Sequential(torch.nn.Linear(6, 20), torch.nn.Tanh(), torch.nn.Linear(20, 3))


def values_of(document: dict) -> torch.Tensor:
    """[iteration, rank, element], as docs/files.md says."""
    scales = torch.tensor(document["scales"], dtype=torch.float64)
    coded = torch.tensor(list(base64.b64decode(document["values"]))).view(*scales.shape, -1)
    levels = coded % 128
    magnitudes = torch.where(levels == 0, 0.0, 2.0 ** ((levels - 127) / 8))
    return scales.unsqueeze(-1) * torch.where(coded >= 128, -magnitudes, magnitudes)


def loss_of(model: torch.nn.Module, inputs: torch.Tensor) -> torch.Tensor:
    return model(inputs).square().sum(dim=1).mean()


def assert_recorded(document: dict, expected: torch.Tensor) -> None:
    """Within half a step of a level; next to nothing is nothing."""
    recorded = values_of(document)
    assert recorded.shape == expected.shape
    scales = expected.abs().amax(dim=-1, keepdim=True)
    off = (recorded - expected).abs()
    assert ((off <= 0.0445 * expected.abs()) | (expected.abs() < 2**-15.7 * scales)).all()


def _train(rank: int, way: str) -> None:
    """Each rank's gradients beside those of a copy, which nobody averages."""
    model = network()
    recorder = gt.GradientRecorder(model, iterations=ITERATIONS)
    if way == "ddp":
        trained = torch.nn.parallel.DistributedDataParallel(model)
    else:
        trained = model
        distributed = gt.distribute(model, way, density=0.1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    own = []
    for iteration in range(ITERATIONS + 2):
        inputs = torch.randn(4, 6, generator=torch.Generator().manual_seed(100 * iteration + rank))
        alone = copy.deepcopy(network())
        alone.load_state_dict(model.state_dict())
        gradients = torch.autograd.grad(loss_of(alone, inputs), list(alone.parameters()))
        own.append(torch.cat([one.flatten() for one in gradients]))
        loss_of(trained, inputs).backward()
        optimizer.step()
        optimizer.zero_grad()
    document = recorder.document("m")
    of_ranks = [torch.empty_like(torch.stack(own)) for _ in range(dist.get_world_size())]
    dist.all_gather(of_ranks, torch.stack(own))
    assert_recorded(document, torch.stack(of_ranks, dim=1)[:ITERATIONS].double())
    assert [one["sampled"] for one in document["tensors"]] == [120, 20, 60, 3]
    if way != "ddp":
        distributed.close()


@pytest.mark.parametrize("way", ["topk", "omgs", "ddp"])
def test_own_gradients_are_recorded(tmp_path, way):
    on_ranks(tmp_path, _train, way)


def test_tensors_are_sampled_by_their_sizes(tmp_path):
    model = network()
    whole = gt.GradientRecorder(model)
    part = gt.GradientRecorder(model, elements=41, seed=5)
    same = gt.GradientRecorder(model, elements=41, seed=5)
    loss_of(model, torch.randn(4, 6)).backward()
    documents = [recorder.document() for recorder in (whole, part, same)]
    every, some, again = map(values_of, documents)
    assert documents[1]["values"] == documents[2]["values"]
    assert [one["sampled"] for one in documents[1]["tensors"]] == [24, 4, 12, 1]
    assert [one["elements"] for one in documents[1]["tensors"]] == [120, 20, 60, 3]
    first = every[0, 0, :120]
    assert (torch.isclose(some[0, 0, :24, None], first, rtol=0.1).any(dim=1)).all()
    path = tmp_path / "gradients.json"
    part.write(path, "mine")
    assert '"model": "mine"' in path.read_text()


def test_each_backward_pass_is_one():
    model = network()
    model.register_parameter("late", torch.nn.Parameter(torch.ones(2)))
    recorder = gt.GradientRecorder(model)
    for _ in range(3):
        loss_of(model, torch.randn(4, 6)).backward()
        model.zero_grad()
    recorder.close()
    loss_of(model, torch.randn(4, 6)).backward()
    document = recorder.document()
    assert [one["name"] for one in document["tensors"]][0] == "late"
    values = values_of(document)
    assert values.shape == (3, 1, 205)
    assert (values[:, 0, :2] == 0).all()


class Branches(torch.nn.Module):
    """Two heads that take turns, and a parameter without elements."""

    def __init__(self) -> None:
        super().__init__()
        self.trunk, self.a, self.b = (torch.nn.Parameter(torch.ones(1)) for _ in range(3))
        self.none = torch.nn.Parameter(torch.ones(0))

    def forward(self, inputs: torch.Tensor, head: str) -> torch.Tensor:
        return (inputs * self.trunk * getattr(self, head)).sum()


def test_parameters_without_a_gradient_are_recorded_as_none():
    model = Branches()
    recorder = gt.GradientRecorder(model)
    for number, head in enumerate("abba"):
        model(torch.tensor([2.0**number]), head).backward()
        model.zero_grad()
    document = recorder.document()
    assert [one["name"] for one in document["tensors"]] == ["trunk", "a", "b"]
    expected = torch.tensor([[1, 1, 0], [2, 0, 2], [4, 0, 4], [8, 8, 0]], dtype=torch.float64)
    assert torch.equal(values_of(document)[:, 0], expected)


def test_sparse_gradients_are_as_dense_ones():
    recorded = []
    for sparse in (False, True):
        torch.manual_seed(1)
        model = torch.nn.Embedding(7, 3, sparse=sparse)
        recorder = gt.GradientRecorder(model)
        model(torch.tensor([1, 5, 5])).square().sum().backward()
        recorded.append(recorder.document()["values"])
    assert recorded[0] == recorded[1]


@on_all_ranks
def test_ranks_sample_the_same(rank: int) -> None:
    model = network()
    recorder = gt.GradientRecorder(model, seed=rank)
    loss_of(model, torch.randn(4, 6)).backward()
    with pytest.raises(gt.BadInput, match="rank 1 has others than rank 0"):
        recorder.document()


def test_gradients_that_cannot_be_recorded_are_refused():
    with pytest.raises(gt.BadInput, match="expected backward passes"):
        gt.GradientRecorder(network()).document()
    with pytest.raises(gt.BadInput, match="expected elements and iterations, got 0 and 100"):
        gt.GradientRecorder(network(), elements=0)
    with pytest.raises(gt.BadInput, match="parameters that learn"):
        gt.GradientRecorder(network().requires_grad_(False))
    for odd in (float("nan"), float("inf")):
        model = network()
        recorder = gt.GradientRecorder(model)
        loss_of(model, torch.full((4, 6), odd)).backward()
        with pytest.raises(gt.BadInput, match="at most 1e\\+30, got inf"):
            recorder.document()
