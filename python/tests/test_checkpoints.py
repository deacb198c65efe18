"""Jobs that go on from a checkpoint, and jobs in which a rank fails."""

from __future__ import annotations

import os
import time

import pytest

torch = pytest.importorskip("torch")
import torch.distributed as dist  # noqa: E402
from test_torch import SERVED, batch, flat, network, on_ranks  # noqa: E402

import gradweave.torch as gt  # noqa: E402
from gradweave._library import GradweaveError  # noqa: E402

HALF = 8  # steps before the checkpoint, and after it


def _train(model, optimizer, rank: int, steps: range) -> None:
    for step in steps:
        inputs, targets = batch(rank, step)
        torch.nn.functional.cross_entropy(model(inputs), targets).backward()
        optimizer.step()
        optimizer.zero_grad()


def _open(algorithm: str):
    model = network()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    return model, optimizer, gt.distribute(model, algorithm, density=0.05, seed=7)


def _first_half(rank: int, folder: str) -> None:
    for algorithm in [name for name in gt.algorithms() if name not in SERVED]:
        model, optimizer, distributed = _open(algorithm)
        _train(model, optimizer, rank, range(HALF))
        document = {
            "model": model.state_dict(),
            "optimizer": optimizer.state_dict(),
            "distributed": distributed.state_dict(),
        }
        torch.save(document, os.path.join(folder, f"{algorithm}-{rank}.pt"))
        _train(model, optimizer, rank, range(HALF, 2 * HALF))
        torch.save(flat(model), os.path.join(folder, f"{algorithm}-{rank}-end.pt"))
        distributed.close()


def _second_half(rank: int, folder: str) -> None:
    changed = []
    for algorithm in [name for name in gt.algorithms() if name not in SERVED]:
        end = torch.load(os.path.join(folder, f"{algorithm}-{rank}-end.pt"))
        for with_state in (True, False):
            model, optimizer, distributed = _open(algorithm)
            document = torch.load(os.path.join(folder, f"{algorithm}-{rank}.pt"))
            model.load_state_dict(document["model"])
            optimizer.load_state_dict(document["optimizer"])
            if with_state:
                distributed.load_state_dict(document["distributed"])
            _train(model, optimizer, rank, range(HALF, 2 * HALF))
            if with_state:
                assert torch.equal(flat(model), end), algorithm
            elif not torch.equal(flat(model), end):
                changed.append(algorithm)
            distributed.close()
    # The others keep nothing.
    assert set(gt.algorithms()) - SERVED - set(changed) == {"dense", "p-sgd", "ddp", "mg-wfbp"}


def test_every_pipeline_goes_on_bit_for_bit(tmp_path):
    files = tmp_path / "files"
    files.mkdir()
    on_ranks(tmp_path, _first_half, str(files))
    on_ranks(tmp_path, _second_half, str(files))


# ---- with other ranks ---------------------------------------------------------------------------


def _save(rank: int, folder: str) -> None:
    """Two of topk's iterations; what was sent, and what there was to send."""
    model = network()
    distributed = gt.distribute(model, "topk", density=0.05)
    sent = torch.zeros_like(flat(model))
    for step in range(2):
        inputs, targets = batch(rank, step)
        torch.nn.functional.cross_entropy(model(inputs), targets).backward()
        sent += torch.cat([p.grad.flatten() for p in model.parameters()])
        model.zero_grad()
    all_gradients = torch.zeros_like(sent)
    for step in range(2):
        inputs, targets = batch(rank, step)
        with distributed.no_sync():
            torch.nn.functional.cross_entropy(model(inputs), targets).backward()
    all_gradients += torch.cat([p.grad.flatten() for p in model.parameters()])
    dist.all_reduce(all_gradients)
    torch.save(all_gradients / 2 - sent, os.path.join(folder, "unsent.pt"))
    torch.save(distributed.state_dict(), os.path.join(folder, f"{rank}.pt"))
    distributed.close()


def _go_on(rank: int, folder: str, ranks: int) -> None:
    unsent = torch.load(os.path.join(folder, "unsent.pt"))
    old = [torch.load(os.path.join(folder, f"{r}.pt")) for r in range(2)]
    model = network()
    distributed = gt.distribute(model, "lags", density=1)  # all travels at once
    with pytest.raises(gt.BadInput, match="states of one job, each on one rank"):
        distributed.load_state_dict(*old[:1], *old[:1])
    distributed.load_state_dict(*old[rank::ranks])
    (0 * model(batch(0, 0)[0]).sum()).backward()
    travelled = torch.cat([p.grad.flatten() for p in model.parameters()])
    torch.testing.assert_close(travelled, unsent, rtol=1e-5, atol=1e-7)
    assert unsent.abs().max() > 0
    distributed.close()


def _lose(rank: int, folder: str) -> None:
    """One rank goes on alone, without what the other had."""
    old = [torch.load(os.path.join(folder, f"{r}.pt")) for r in range(2)]
    distributed = gt.distribute(network(), "topk", density=0.05)
    with pytest.warns(UserWarning, match=r"what ranks \[1\] had not sent is lost: of 2 states, 1"):
        distributed.load_state_dict(old[0])
    other = dict(old[0], parameters=["a"])
    with pytest.raises(gt.BadInput, match=r"state of rank 0: expected parameters \['0.weight'"):
        distributed.load_state_dict(other)
    damaged = dict(old[0], session=old[0]["session"].clone())
    damaged["session"][300] += 1
    with pytest.raises(gt.BadInput, match="state of rank 0: state: expected it as it was saved"):
        distributed.load_state_dict(damaged)
    distributed.close()
    distributed = gt.distribute(network(), "topk", density=0.06)
    own = distributed.state_dict()
    distributed.close()
    distributed = gt.distribute(network(), "topk", density=0.05)
    with pytest.raises(gt.BadInput, match="elements of groups, and kept ones: expected the sess"):
        distributed.load_state_dict(own)
    distributed.close()


def _alone(rank: int, folder: str) -> None:
    _go_on(rank, folder, 1)
    _lose(rank, folder)


def test_nothing_is_lost_with_other_ranks(tmp_path):
    files = tmp_path / "files"
    files.mkdir()
    on_ranks(tmp_path, _save, str(files))
    on_ranks(tmp_path, _alone, str(files), ranks=1)
    on_ranks(tmp_path, _go_on, str(files), 3, ranks=3)


# ---- ranks that differ, and ranks that fail -----------------------------------------------------


def _differ(rank: int) -> None:
    model = torch.nn.Sequential(torch.nn.Linear(20, 8), torch.nn.BatchNorm1d(8))
    distributed = gt.distribute(model, "topk")
    distributed.check_parameters(buffers=True)
    model(torch.randn(4, 20, generator=torch.Generator().manual_seed(rank)))
    distributed.check_parameters()
    with pytest.raises(GradweaveError, match="1.running_mean: expected the same on all ranks, but"):
        distributed.check_parameters(buffers=True)
    if rank == 2:
        with torch.no_grad():
            model[0].bias[3] = torch.nextafter(model[0].bias[3], torch.tensor(1.0))
    with pytest.raises(GradweaveError, match="0.bias: .* but rank 2's differs from rank 0's"):
        distributed.check_parameters()
    distributed.close()


def _fail(rank: int, algorithm: str, dies: bool) -> None:
    """The others' process group would wait for half an hour."""
    model = network()
    distributed = gt.distribute(model, algorithm, density=0.05)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    _train(model, optimizer, rank, range(2))
    inputs, targets = batch(rank, 2)
    if rank == 1 and dies:
        time.sleep(1)  # by when the others have what they were sent
        os._exit(0)
    if rank == 1:
        inputs[0, 0] = torch.nan
    expected = "(?i)clos|reset" if dies else "expected a number or an infinity, got NaN"
    with pytest.raises(GradweaveError, match=expected) as raised:
        torch.nn.functional.cross_entropy(model(inputs), targets).backward()
    assert dies or rank == 1 or str(raised.value).startswith("rank 1: ")
    distributed.close()
    if dies:
        os._exit(0)
    dist.barrier()  # rank 1 was still there when the others failed


def _leave(rank: int) -> None:
    """A rank that gives up between forward and backward lets the others fail by closing."""
    model = network()
    distributed = gt.distribute(model, "lags", density=0.05)
    loss = model(batch(rank, 0)[0]).sum()
    if rank == 1:
        distributed.close()
    else:
        with pytest.raises(GradweaveError, match="(?i)clos|reset"):
            loss.backward()
        distributed.close()
    dist.barrier()


def _all(rank: int) -> None:
    _differ(rank)
    _fail(rank, "topk", False)
    _fail(rank, "gs-sgd", False)
    _leave(rank)


def test_ranks_that_differ_or_fail_end_all(tmp_path):
    on_ranks(tmp_path, _all, ranks=3)


def test_a_rank_that_dies_ends_all(tmp_path):
    on_ranks(tmp_path, _fail, "dense", True, ranks=3)
