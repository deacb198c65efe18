"""gradweave's hook in DistributedDataParallel, held to plain PyTorch that plays all ranks."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")
import torch.distributed as dist  # noqa: E402
from ranks import on_ranks  # noqa: E402
from test_torch import assert_equal_on_ranks, batch, flat, network, train  # noqa: E402

import gradweave.torch as gt  # noqa: E402

CAP = 500  # bytes: three buckets of the network's
DENSE = 2  # iterations before the first that is compressed


def _ddp(model: torch.nn.Module) -> torch.nn.parallel.DistributedDataParallel:
    return torch.nn.parallel.DistributedDataParallel(model, bucket_cap_mb=CAP / 2**20)


def _buckets(parameters: list[torch.Tensor]) -> list[list[int]]:
    """DDP's rule, from the last parameter to the first: a bucket closes once it reaches the cap."""
    buckets: list[list[int]] = [[]]
    for index in reversed(range(len(parameters))):
        if sum(4 * parameters[i].numel() for i in buckets[-1]) >= CAP:
            buckets.append([])
        buckets[-1].append(index)
    return buckets


def _play(ranks: int, steps: int, density: float) -> torch.Tensor:
    """top-k with error feedback, of each bucket alone."""
    model = network()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    parameters = list(model.parameters())
    buckets = _buckets(parameters)
    assert len(buckets) == 3
    sizes = [sum(parameters[i].numel() for i in bucket) for bucket in buckets]
    residuals = [[torch.zeros(size) for size in sizes] for _ in range(ranks)]
    for step in range(steps):
        averages = [torch.zeros(size) for size in sizes]
        for rank in range(ranks):
            inputs, targets = batch(rank, step)
            torch.nn.functional.cross_entropy(model(inputs), targets).backward()
            for b, bucket in enumerate(buckets):
                share = torch.cat([parameters[i].grad.flatten() for i in bucket]) / ranks
                if step < DENSE:
                    averages[b] += share
                    continue
                residual = residuals[rank][b].add_(share)
                chosen = residual.abs().topk(max(1, int(density * sizes[b]))).indices
                averages[b][chosen] += residual[chosen]
                residual[chosen] = 0
            optimizer.zero_grad()
        for average, bucket in zip(averages, buckets):
            parts = average.split([parameters[i].numel() for i in bucket])
            for index, part in zip(bucket, parts):
                parameters[index].grad = part.view_as(parameters[index]).clone()
        optimizer.step()
        optimizer.zero_grad()
    return flat(model)


def _topk(rank: int, expected: torch.Tensor) -> None:
    model = network()
    ddp = _ddp(model)
    state, hook = gt.comm_hook("topk", density=0.05, start_iteration=DENSE)
    ddp.register_comm_hook(state, hook)
    train(ddp, rank, 20, model)
    assert_equal_on_ranks(model)
    assert torch.equal(flat(model), expected)
    state.close()


def test_topk_in_ddp_is_the_reference_bit_for_bit(tmp_path):
    torch.set_num_threads(1)
    on_ranks(tmp_path, _topk, _play(2, 20, 0.05))


def _others(rank: int) -> None:
    ours, theirs = network(), network()
    state, hook = gt.comm_hook("lags", density=1, start_iteration=1)  # all travels
    ddp = torch.nn.parallel.DistributedDataParallel(ours, find_unused_parameters=True)
    ddp.register_comm_hook(state, hook)
    train(ddp, rank, 10, ours)
    train(torch.nn.parallel.DistributedDataParallel(theirs), rank, 10, theirs)
    torch.testing.assert_close(flat(ours), flat(theirs), rtol=1e-5, atol=1e-6)
    state.close()
    for algorithm in ("exdyna", "randk", "gs-sgd"):
        model = network()
        ddp = _ddp(model)
        state, hook = gt.comm_hook(algorithm, density=0.3)
        ddp.register_comm_hook(state, hook)
        losses = train(ddp, rank, 60, model, momentum=0)
        assert_equal_on_ranks(model)
        assert sum(losses[-10:]) < 0.9 * sum(losses[:10]), algorithm
        state.close()
    with pytest.raises(gt.BadInput, match="start_iteration: expected 1 at least, got 0"):
        gt.comm_hook("topk", start_iteration=0)
    model = network()
    ddp = _ddp(model)
    ddp.register_comm_hook(*gt.comm_hook("topk", start_iteration=1))
    with pytest.raises(gt.BadInput, match="start_iteration is too small"):
        train(ddp, rank, 3, model)
    model = network()
    ddp = _ddp(model)
    ddp.register_comm_hook(*gt.comm_hook("ps"))
    with pytest.raises(gt.BadInput, match="ps: expected a pipeline without a server, as all ranks"):
        train(ddp, rank, 3, model)
    dist.barrier()


def test_pipelines_train_in_ddp(tmp_path):
    on_ranks(tmp_path, _others, ranks=3)
