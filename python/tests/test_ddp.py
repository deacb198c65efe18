"""What gradweave adds to DistributedDataParallel, and what it keeps of it."""

from __future__ import annotations

import json
import os
import warnings

import pytest

torch = pytest.importorskip("torch")
from ranks import on_ranks  # noqa: E402
from test_torch import CLUSTER, batch, flat, network, train  # noqa: E402

import gradweave.torch as gt  # noqa: E402
from gradweave.torch import ddp as ddps  # noqa: E402
from gradweave.torch import ways  # noqa: E402

# ---- buckets by one cap -------------------------------------------------------------------------


def _older(monkeypatch) -> None:
    """A PyTorch whose DistributedDataParallel takes no list of caps."""

    def __init__(self, module, bucket_cap_mb=None): ...

    monkeypatch.setattr(torch.nn.parallel.DistributedDataParallel, "__init__", __init__)


def _write(folder: str, backward_s: float) -> tuple[str, str]:
    """network()'s tensors, and a cluster of two."""
    model, cluster = os.path.join(folder, "model.json"), os.path.join(folder, "cluster.json")
    tensors = [
        {"name": name, "elements": parameter.numel(), "backward_s": backward_s}
        for name, parameter in network().named_parameters()
    ]
    document = {"schema": "gradweave/model@1", "name": "small", "bytes_per_element": 4,
                "forward_s": 1e-4, "tensors": tensors}  # fmt: skip
    for path, content in ((model, document), (cluster, CLUSTER)):
        with open(path, "w", encoding="utf-8") as file:
            json.dump(content, file)
    return model, cluster


def _buckets(sizes: list[int], cap: int) -> list[list[int]]:
    """DDP's rule: from the last tensor on; a bucket closes once it reaches the cap."""
    buckets: list[list[int]] = [[]]
    for size in reversed(sizes):
        if sum(buckets[-1]) >= cap:
            buckets.append([])
        buckets[-1].append(size)
    return buckets


def _iteration_s(buckets: list[list[int]], backward_s: float) -> float:
    curve = CLUSTER["collectives"]["allreduce"][0]
    computed = exchanged = 1e-4
    for bucket in buckets:
        computed += len(bucket) * backward_s
        took = curve["alpha_s"] + curve["beta_s_per_byte"] * sum(bucket)
        exchanged = max(computed, exchanged) + took
    return max(computed, exchanged)


def _capped(_rank: int, plan: gt.Plan, cap: dict[str, float]) -> None:
    module = network()
    ddp = torch.nn.parallel.DistributedDataParallel(module, **cap)
    train(ddp, 0, 4, module)
    gt.check_buckets(ddp, plan)


def _cap(plan: gt.Plan, monkeypatch) -> tuple[dict[str, float], list[str]]:
    """What an older PyTorch gets, and what it is warned of."""
    with monkeypatch.context() as older, warnings.catch_warnings(record=True) as warned:
        _older(older)
        warnings.simplefilter("always")
        arguments = gt.ddp_arguments(plan)
    assert list(arguments) == ["bucket_cap_mb"]
    return arguments, [str(one.message) for one in warned]


@pytest.mark.parametrize("backward_s", [1e-5, 2e-5, 3e-5, 6e-5, 1e-4])
def test_older_ddp_gets_the_best_cap(tmp_path, monkeypatch, backward_s):
    model, cluster = _write(str(tmp_path), backward_s)
    plan = gt.plan(model, cluster, algorithm="p-sgd", policy="optimal")
    sizes = list(plan.bytes)
    held = [sum(sizes[i:]) for i in range(len(sizes))]
    least_s = min(_iteration_s(_buckets(sizes, cap), backward_s) for cap in held)
    arguments, warned = _cap(plan, monkeypatch)
    cap = round(arguments["bucket_cap_mb"] * 2**20)
    assert _iteration_s(_buckets(sizes, cap), backward_s) == pytest.approx(least_s, rel=1e-9)
    if backward_s != 2e-5:  # one cap makes the plan
        assert not warned
        return
    assert f"{least_s:.6f} s an iteration by prediction" in warned[0]
    assert f"the plan {plan.iteration_s:.6f} s" in warned[0]
    assert least_s > 1.01 * plan.iteration_s


def test_a_cap_makes_ddps_buckets(tmp_path, monkeypatch):
    model, cluster = _write(str(tmp_path), 3e-5)
    plan = gt.plan(model, cluster, algorithm="p-sgd", policy="optimal")
    assert len(plan.groups) == 3
    on_ranks(tmp_path, _capped, plan, _cap(plan, monkeypatch)[0])


def _measured(rank: int, model: str, cluster: str) -> None:
    """The way torch-ddp:plan with one cap, which does not make the plan."""

    def job():
        module, (inputs, targets) = network(), batch(rank, 0)

        def step(trained):
            return torch.nn.functional.cross_entropy(trained(inputs), targets)

        return module, torch.optim.SGD(module.parameters(), lr=0.1), step

    ways.ddp_arguments = ddps._with_one_cap
    sizes = [4 * parameter.numel() for parameter in network().parameters()]
    setting = ways.Setting(0.001, model, sizes, cluster)
    with pytest.warns(UserWarning, match="one cap for all buckets"):
        cap = round(ddps._with_one_cap(setting.plan("ddp", "optimal"))["bucket_cap_mb"] * 2**20)
        (measured,) = ways.measure(job, ["torch-ddp:plan"], setting, iterations=1)
    held = [sum(sizes[last : first + 1]) for first, last in measured.groups]
    assert held == [sum(bucket) for bucket in _buckets(sizes, cap)]


def test_what_one_cap_makes_of_a_plan_is_measured(tmp_path):
    model, cluster = _write(str(tmp_path), 2e-5)
    on_ranks(tmp_path, _measured, model, cluster)


# ---- what trainers do besides -------------------------------------------------------------------


CLIP = 1.1  # norm of a gradient


def _clipped(model, rank: int, learns, accumulates) -> list[float]:
    """Two batches to a step, clipped, with a falling learning rate; the norms before clipping."""
    optimizer = torch.optim.SGD(learns.parameters(), lr=0.1, momentum=0.9)
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, step_size=5, gamma=0.5)
    norms = []
    for step in range(20):
        with accumulates():
            inputs, targets = batch(rank, 2 * step)
            torch.nn.functional.cross_entropy(model(inputs), targets).backward()
        inputs, targets = batch(rank, 2 * step + 1)
        torch.nn.functional.cross_entropy(model(inputs), targets).backward()
        norms.append(torch.nn.utils.clip_grad_norm_(learns.parameters(), CLIP).item())
        optimizer.step()
        schedule.step()
        optimizer.zero_grad()
    return norms


def _besides(rank: int) -> None:
    ours, theirs = network(), network()
    distributed = gt.distribute(ours, "p-sgd", groups=[(5, 3), (2, 0)])
    ddp = torch.nn.parallel.DistributedDataParallel(theirs)
    norms = _clipped(ours, rank, ours, distributed.no_sync)
    assert norms == pytest.approx(_clipped(ddp, rank, theirs, ddp.no_sync), rel=1e-4)
    assert min(norms) < CLIP < max(norms)  # some were clipped, some not
    torch.testing.assert_close(flat(ours), flat(theirs), rtol=1e-4, atol=1e-5)
    distributed.check_parameters()
    distributed.close()


def test_accumulation_clipping_and_schedules_are_ddps(tmp_path):
    on_ranks(tmp_path, _besides)
