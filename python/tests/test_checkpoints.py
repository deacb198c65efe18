"""Jobs that go on from a checkpoint, and jobs in which a rank fails."""

from __future__ import annotations

import os
import time
import warnings
from datetime import timedelta

import pytest

torch = pytest.importorskip("torch")
import torch.distributed as dist  # noqa: E402
from ranks import on_all_ranks, on_ranks  # noqa: E402
from test_torch import SERVED, batch, flat, loss_of, network  # noqa: E402
from torch.nn.parallel import DistributedDataParallel  # noqa: E402

import gradweave.torch as gt  # noqa: E402
from gradweave._library import GradweaveError  # noqa: E402
from gradweave.torch import session  # noqa: E402

HALF = 8  # steps before the checkpoint, and after it


def _train(model, optimizer, rank: int, steps: range, distributed) -> None:
    if distributed.serves:
        assert distributed.serve(len(steps)) == len(steps)
        return
    for step in steps:
        loss_of(model, rank, step).backward()
        optimizer.step()
        optimizer.zero_grad()


def _open(algorithm: str):
    model = network()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    return model, optimizer, gt.distribute(model, algorithm, density=0.05, seed=7)


def _first_half(rank: int, folder: str, algorithms: list[str], _keepers: set[str]) -> None:
    for algorithm in algorithms:
        model, optimizer, distributed = _open(algorithm)
        _train(model, optimizer, rank, range(HALF), distributed)
        document = {
            "model": model.state_dict(),
            "optimizer": optimizer.state_dict(),
            "distributed": distributed.exchange_state(),
        }
        torch.save(document, os.path.join(folder, f"{algorithm}-{rank}.pt"))
        _train(model, optimizer, rank, range(HALF, 2 * HALF), distributed)
        torch.save(flat(model), os.path.join(folder, f"{algorithm}-{rank}-end.pt"))
        distributed.close()


def _second_half(rank: int, folder: str, algorithms: list[str], keepers: set[str]) -> None:
    changed = set()
    for algorithm in algorithms:
        end = torch.load(os.path.join(folder, f"{algorithm}-{rank}-end.pt"))
        for with_state in (True, False):
            model, optimizer, distributed = _open(algorithm)
            document = torch.load(os.path.join(folder, f"{algorithm}-{rank}.pt"))
            model.load_state_dict(document["model"])
            optimizer.load_state_dict(document["optimizer"])
            if with_state:
                distributed.load_exchange_state(document["distributed"])
            _train(model, optimizer, rank, range(HALF, 2 * HALF), distributed)
            if with_state:
                assert torch.equal(flat(model), end), algorithm
            elif not torch.equal(flat(model), end):
                changed.add(algorithm)
            served = distributed.serves
            distributed.close()
    assert changed == (set() if served else keepers), changed ^ keepers


def _take_over(rank: int, folder: str) -> None:
    """The server keeps no gradients, so that none is lost without it."""
    olds = [torch.load(os.path.join(folder, f"sketched-sgd-{old}.pt")) for old in range(3)]
    states = [old["distributed"] for old in olds]
    for given in (states, states[:2]):
        _, _, distributed = _open("topk")
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            distributed.load_exchange_state(*given)
        distributed.close()


def test_every_pipeline_goes_on_bit_for_bit(tmp_path):
    files = tmp_path / "files"
    files.mkdir()
    unserved = set(gt.algorithms()) - SERVED
    keepers = unserved - {"dense", "p-sgd", "ddp", "mg-wfbp", "bf16", "fp16", "bf16-fp32"}
    for half in (_first_half, _second_half):
        on_ranks(tmp_path, half, str(files), sorted(unserved), keepers)
        on_ranks(tmp_path, half, str(files), sorted(SERVED), SERVED - {"ps"}, ranks=3)
    on_ranks(tmp_path, _take_over, str(files), ranks=1)


def _save_weights(rank: int, folder: str) -> None:
    """A script saves and loads as with DistributedDataParallel, which takes the file as well."""
    path = os.path.join(folder, "weights.pt")
    module = network()
    model = gt.distribute(module, "topk", density=0.05)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    _train(model, optimizer, rank, range(3), model)
    assert not torch.equal(flat(module), flat(network()))
    if rank == 0:
        torch.save(model.state_dict(), path)
    dist.barrier()
    for wrap in (DistributedDataParallel, lambda bare: gt.distribute(bare, "dense")):
        bare = network()
        wrap(bare).load_state_dict(torch.load(path))
        assert torch.equal(flat(bare), flat(module))
    bare = network()
    bare.load_state_dict(model.module.state_dict())
    assert torch.equal(flat(bare), flat(module))
    with pytest.raises(gt.BadInput, match="load_state_dict: expected parameters and buffers, got"):
        model.load_state_dict(model.exchange_state())
    for weights in (model.state_dict(), module.state_dict()):
        for state in (weights, weights if rank == 1 else model.exchange_state()):
            with pytest.raises(gt.BadInput, match="load_exchange_state: expected what exchange_st"):
                model.load_exchange_state(state)
    assert torch.equal(flat(bare), flat(module))
    model.close()


def test_weights_are_saved_as_with_ddp(tmp_path):
    files = tmp_path / "files"
    files.mkdir()
    on_ranks(tmp_path, _save_weights, str(files))


# ---- with other ranks ---------------------------------------------------------------------------


def _save(rank: int, folder: str) -> None:
    """Two of topk's iterations; what was sent, and what there was to send."""
    model = network()
    distributed = gt.distribute(model, "topk", density=0.05)
    sent = torch.zeros_like(flat(model))
    for step in range(2):
        loss_of(model, rank, step).backward()
        sent += torch.cat([p.grad.flatten() for p in model.parameters()])
        model.zero_grad()
    all_gradients = torch.zeros_like(sent)
    for step in range(2):
        with distributed.no_sync():
            loss_of(model, rank, step).backward()
    all_gradients += torch.cat([p.grad.flatten() for p in model.parameters()])
    dist.all_reduce(all_gradients)
    torch.save(all_gradients / 2 - sent, os.path.join(folder, "unsent.pt"))
    torch.save(distributed.exchange_state(), os.path.join(folder, f"{rank}.pt"))
    distributed.close()


def _go_on(rank: int, folder: str, ranks: int) -> None:
    unsent = torch.load(os.path.join(folder, "unsent.pt"))
    old = [torch.load(os.path.join(folder, f"{r}.pt")) for r in range(2)]
    model = network()
    distributed = gt.distribute(model, "lags", density=1)  # all travels at once
    with pytest.raises(gt.BadInput, match="on one rank, got rank 0's on ranks 0 and [01]"):
        distributed.load_exchange_state(old[0], *old[: int(ranks == 1)])
    with pytest.raises(gt.BadInput, match="got those of a job of 2 ranks and those of a job of 5"):
        distributed.load_exchange_state(old[0], dict(old[1], ranks=5))
    with pytest.raises(gt.BadInput, match="states of one job, got none"):
        distributed.load_exchange_state()
    distributed.load_exchange_state(*old[rank::ranks], residual_only=ranks == 2)
    (0 * model(batch(0, 0)[0]).sum()).backward()
    travelled = torch.cat([p.grad.flatten() for p in model.parameters()])
    torch.testing.assert_close(travelled, unsent, rtol=1e-5, atol=1e-7)
    assert unsent.abs().max() > 0
    with pytest.raises(gt.BadInput, match="expected it before the first iteration, got 1"):
        distributed.load_exchange_state(*old[rank::ranks], residual_only=True)
    distributed.close()


def _lose(rank: int, folder: str) -> None:
    """One rank goes on alone, without what the other had."""
    old = [torch.load(os.path.join(folder, f"{r}.pt")) for r in range(2)]
    distributed = gt.distribute(network(), "topk", density=0.05)
    with pytest.warns(UserWarning, match=r"what ranks \[1\] had not sent is lost: of 2 states, 1"):
        distributed.load_exchange_state(old[0])
    other = dict(old[0], parameters=["a"])
    with pytest.raises(gt.BadInput, match=r"state of rank 0: expected parameters \['0.weight'"):
        distributed.load_exchange_state(other)
    damaged = dict(old[0], session=old[0]["session"].clone())
    damaged["session"][300] += 1
    with pytest.raises(gt.BadInput, match="state of rank 0: state: expected it as it was saved"):
        distributed.load_exchange_state(damaged)
    distributed.close()
    model = network()
    distributed = gt.distribute(model, "topk", density=0.06)
    output = model(batch(rank, 0)[0])
    with pytest.raises(gt.BadInput, match="call it between iterations"):
        distributed.exchange_state()
    output.sum().backward()
    own = distributed.exchange_state()
    distributed.close()
    distributed = gt.distribute(network(), "topk", density=0.05)
    with pytest.raises(gt.BadInput, match=r"density: expected 0.05, got 0.06 .residual_only=True"):
        distributed.load_exchange_state(own)
    distributed.close()


def _alone(rank: int, folder: str) -> None:
    _go_on(rank, folder, 1)
    _lose(rank, folder)


def test_residuals_survive_other_numbers_of_ranks_and_pipelines(tmp_path):
    files = tmp_path / "files"
    files.mkdir()
    on_ranks(tmp_path, _save, str(files))
    on_ranks(tmp_path, _alone, str(files), ranks=1)
    on_ranks(tmp_path, _go_on, str(files), 3, ranks=3)
    on_ranks(tmp_path, _go_on, str(files), 2)


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


def _fail(rank: int, algorithm: str, dies: bool, failing: int = 1) -> None:
    """The others' process group would wait for half an hour."""
    model = network()
    distributed = gt.distribute(model, algorithm, density=0.05)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    _train(model, optimizer, rank, range(2), distributed)
    inputs, targets = batch(rank, 2)
    if rank == failing and dies:
        time.sleep(1)  # by when the others have what they were sent
        os._exit(0)
    if rank == failing:
        inputs[0, 0] = torch.nan
    expected = "(?i)clos|reset" if dies else "expected a number or an infinity, got NaN"
    expected = "expected serve.. on the rank that serves" if failing == 2 and not dies else expected
    with pytest.raises(GradweaveError, match=expected) as raised:
        if distributed.serves and rank != failing:
            distributed.serve()
        torch.nn.functional.cross_entropy(model(inputs), targets).backward()
    assert dies or rank == failing or str(raised.value).startswith(f"rank {failing}: ")
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


@on_all_ranks(ranks=3)
def test_ranks_that_differ_or_fail_end_all(rank: int) -> None:
    _differ(rank)
    _fail(rank, "topk", False)
    _fail(rank, "gs-sgd", False)
    _leave(rank)


def test_a_rank_that_dies_ends_all(tmp_path):
    on_ranks(tmp_path, _fail, "dense", True, ranks=3)


@on_all_ranks(ranks=3)
def test_a_server_ends_with_its_trainers(rank: int) -> None:
    _fail(rank, "sketched-sgd", False)
    _fail(rank, "layer-drop", False, 0)
    _fail(rank, "ps", False, 2)
    _leave_the_server(rank)
    _load_without_the_server(rank)


def _leave_the_server(rank: int) -> None:
    """Who stops serving too early lets the trainers fail."""
    model = network()
    distributed = gt.distribute(model, "ps")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    _train(model, optimizer, rank, range(1), distributed)
    if distributed.serves:
        distributed.close()
    else:
        with pytest.raises(GradweaveError, match="(?i)clos|reset"):
            _train(model, optimizer, rank, range(1), distributed)
        distributed.close()
    dist.barrier()


def _load_without_the_server(rank: int) -> None:
    distributed = gt.distribute(network(), "sketched-sgd")
    if distributed.serves:
        assert distributed.serve() == 0
    else:
        with pytest.raises(gt.BadInput, match="load_exchange_state on the rank that serves"):
            distributed.load_exchange_state(distributed.exchange_state())
    distributed.close()


@on_all_ranks(ranks=2)
def test_a_trainer_does_not_wait_for_a_server_that_never_listens(rank: int) -> None:
    """The trainer does not wait for a server as long as for the others' gradients."""
    session._LISTENS = timedelta(seconds=1)
    session.Session._await_next = lambda self: None
    model = network()
    distributed = gt.distribute(model, "ps")
    if not distributed.serves:
        with pytest.raises(GradweaveError, match="expected a server that listens"):
            model(batch(rank, 0)[0]).sum().backward()
    dist.barrier()  # the server was still there when the trainer failed
    distributed.close()


@pytest.mark.parametrize("failing", [0, 1, 2])
def test_a_dead_rank_ends_server_and_trainers(tmp_path, failing):
    on_ranks(tmp_path, _fail, "ps", True, failing, ranks=3)
