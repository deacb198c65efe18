"""Tests of DistributedDataParallel with a plan's buckets."""

from __future__ import annotations

import dataclasses
import inspect
import itertools
import json
import os
import warnings
from functools import partial

import pytest

torch = pytest.importorskip("torch")
from ranks import on_all_ranks, on_ranks  # noqa: E402
from test_torch import CLUSTER, Backwards, flat, loss_of, network, train  # noqa: E402

import gradweave.torch as gt  # noqa: E402
from gradweave.torch import ddp as ddps  # noqa: E402
from gradweave.torch import ways  # noqa: E402

# ---- buckets by one cap -------------------------------------------------------------------------


def _older(monkeypatch) -> None:
    """A PyTorch whose DistributedDataParallel takes no list of caps."""

    def __init__(self, module, bucket_cap_mb=None): ...

    monkeypatch.setattr(torch.nn.parallel.DistributedDataParallel, "__init__", __init__)


def _write(
    folder: str, backward_s: dict[str, float] | float, module: torch.nn.Module | None = None
) -> tuple[str, str]:
    """Writes a cluster of two, and the tensors of network() or a module: all, or those that
    `backward_s` names, in its order."""
    model, cluster = os.path.join(folder, "model.json"), os.path.join(folder, "cluster.json")
    sizes = {name: one.numel() for name, one in (module or network()).named_parameters()}
    if isinstance(backward_s, float):
        backward_s = dict.fromkeys(sizes, backward_s)
    tensors = [
        {"name": name, "elements": sizes[name], "backward_s": own_s}
        for name, own_s in backward_s.items()
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
    """Returns the arguments of an older PyTorch, and the text of its warning."""
    with monkeypatch.context() as older, warnings.catch_warnings(record=True) as warned:
        _older(older)
        warnings.simplefilter("always")
        arguments = gt.ddp_arguments(plan)
    assert list(arguments) == ["bucket_cap_mb", "find_unused_parameters"]
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
        module = network()
        step = partial(loss_of, rank=rank, step=0)
        return module, torch.optim.SGD(module.parameters(), lr=0.1), step

    ways.ddp_arguments = ddps._with_one_cap
    sizes = [4 * parameter.numel() for parameter in network().parameters()]
    setting = ways.Setting(0.001, model, sizes, cluster)
    with pytest.warns(UserWarning, match="one cap for all buckets"):
        cap = round(ddps._with_one_cap(setting.plan("ddp", "optimal"))["bucket_cap_mb"] * 2**20)
        (measured,) = ways.measure(job, ["torch-ddp:plan"], setting, iterations=1)
    held = [sum(sizes[last : first + 1]) for first, last in measured.groups]
    assert held == [sum(bucket) for bucket in _buckets(sizes, cap)]


def test_buckets_of_one_cap_are_measured_against_the_plan(tmp_path):
    model, cluster = _write(str(tmp_path), 2e-5)
    on_ranks(tmp_path, _measured, model, cluster)


def _layers() -> torch.nn.Module:
    """Nine tensors of 399,424 bytes: a bucket of 1 MiB has three of them, one of 2 MiB six."""
    torch.manual_seed(7)
    return torch.nn.Sequential(*[torch.nn.Linear(316, 316, bias=False) for _ in range(9)])


def _bucketed(rank: int, model: str, cluster: str) -> None:
    def job():
        module, inputs = _layers(), torch.randn(4, 316)

        def step(trained):
            return trained(inputs).square().mean()

        return module, torch.optim.SGD(module.parameters(), lr=0.1), step

    setting = ways.Setting(0.001, model, [4 * 316 * 316] * 9, cluster)
    taken = ways.measure(job, ["torch-ddp", "torch-ddp:2"], setting, iterations=1, rounds=1)
    for way, policy, counts in zip(taken, ("ddp", "bucket:2MiB"), ([3, 6], [6, 3])):
        assert [first - last + 1 for first, last in way.groups] == counts
        assert tuple(way.groups) == setting.plan("ddp", policy).groups


def test_a_cap_is_the_first_buckets_too(tmp_path):
    on_ranks(tmp_path, _bucketed, *_write(str(tmp_path), 1e-5, _layers()))


# ---- buckets that DDP never rebuilds -------------------------------------------------------------

needs_caps = pytest.mark.skipif(
    "bucket_cap_mb_list"
    not in inspect.signature(torch.nn.parallel.DistributedDataParallel.__init__).parameters,
    reason="this PyTorch's DistributedDataParallel has one cap for all buckets",
)

READY_S = {"last.bias": 1e-4, "last.weight": 2e-4, "first.bias": 3e-4, "first.weight": 5e-4}


def _write_backwards(folder: str) -> tuple[str, str]:
    """Backwards()'s tensors as a recording has them: in the order of gradients, without idle's."""
    names = sorted(READY_S, key=READY_S.get, reverse=True)
    before_s = [*(READY_S[name] for name in names[1:]), 0.0]
    own_s = {name: READY_S[name] - earlier_s for name, earlier_s in zip(names, before_s)}
    return _write(folder, own_s, Backwards())


def _least_registered() -> list[int]:
    """Bytes of the fastest buckets of all that there are, from the last registered parameter on."""
    curve = CLUSTER["collectives"]["allreduce"][0]
    named = [*Backwards().named_parameters()][::-1]
    best_s, best = float("inf"), []
    for ends in itertools.product([False, True], repeat=len(named) - 1):
        ready_s = exchanged_s = 0.0
        buckets = [0]
        for (name, parameter), closes in zip(named, (*ends, True)):
            ready_s = max(ready_s, READY_S.get(name, 0.0))
            buckets[-1] += 4 * parameter.numel()
            if closes:
                took_s = curve["alpha_s"] + curve["beta_s_per_byte"] * buckets[-1]
                exchanged_s = max(ready_s, exchanged_s) + took_s
                buckets.append(0)
        if exchanged_s < best_s - 1e-12:
            best_s, best = exchanged_s, buckets[:-1]
    return best


def _moved(_rank: int, plan: gt.Plan) -> None:
    """Checks buckets of equal layers after two gradients have changed places: sizes stay alike."""
    module = _layers()
    ddp = torch.nn.parallel.DistributedDataParallel(module, **gt.ddp_arguments(plan))
    for done in range(4):
        if done < 3:
            with pytest.raises(gt.BadInput, match="rebuilds its buckets in, three, got fewer"):
                gt.check_buckets(ddp, plan)
        ddp(torch.ones(4, 316)).square().mean().backward()
    gt.check_buckets(ddp, plan)
    names = (*plan.names[:7], plan.names[8], plan.names[7])  # both in the first bucket
    gt.check_buckets(ddp, dataclasses.replace(plan, names=names))
    names = (plan.names[-1], *plan.names[1:-1], plan.names[0])
    with pytest.raises(gt.BadInput, match="8.weight's gradient came where the plan has 0.weight's"):
        gt.check_buckets(ddp, dataclasses.replace(plan, names=names))


@needs_caps
def test_buckets_that_hold_other_parameters_are_noticed(tmp_path):
    plan = gt.plan(*_write(str(tmp_path), 1e-5, _layers()), algorithm="ddp", policy="bucket:2MiB")
    assert [first - last + 1 for first, last in plan.groups] == [6, 3]
    on_ranks(tmp_path, _moved, plan)


def _unused(rank: int, plan: gt.Plan, least: list[int]) -> None:
    ddp_of = torch.nn.parallel.DistributedDataParallel
    module = Backwards()
    arguments = gt.ddp_arguments(plan, module, find_unused_parameters=True)
    ddp = ddp_of(module, **arguments)
    train(ddp, rank, 4, module)
    sizes = [int(size) for size in ddp._get_ddp_logging_data()["bucket_sizes"].split(",")]
    assert sizes == least
    gt.check_buckets(ddp, plan)
    with pytest.raises(gt.BadInput, match="dense plan, as .* got one of topk: distribute"):
        gt.ddp_arguments(dataclasses.replace(plan, algorithm="topk"))
    with pytest.raises(TypeError, match="multiple values for keyword argument 'find_unused"):
        ddp_of(module, find_unused_parameters=True, **gt.ddp_arguments(plan))
    each = plan.by("per-tensor")
    caps = gt.ddp_arguments(each)["bucket_cap_mb_list"]
    mirrored = ddp_of(Backwards(), bucket_cap_mb_list=caps, find_unused_parameters=True)
    train(mirrored, rank, 4, mirrored.module)
    with pytest.raises(gt.BadInput, match="keeps its first buckets, in the order in which param"):
        gt.check_buckets(mirrored, each)
    static = ddp_of(Backwards(), bucket_cap_mb_list=caps, static_graph=True)
    train(static, rank, 2, static.module)
    with pytest.raises(gt.BadInput, match="buckets in, four, with static_graph=True, got fewer"):
        gt.check_buckets(static, each)
    train(static, rank, 2, static.module)
    with pytest.raises(gt.BadInput, match="idle.weight, idle.bias came without a gradient in the"):
        gt.check_buckets(static, each)


@needs_caps
def test_a_plan_for_unused_parameters_is_for_the_order_of_registration(tmp_path):
    plan = gt.plan(*_write_backwards(str(tmp_path)), algorithm="p-sgd", policy="optimal")
    least = _least_registered()
    assert 1 < len(least) < 6
    with pytest.raises(gt.BadInput, match="expected the module, ddp_arguments"):
        gt.ddp_arguments(plan, find_unused_parameters=True)
    with pytest.raises(gt.BadInput, match="first.weight: expected a parameter that learns"):
        gt.ddp_arguments(plan, network(), find_unused_parameters=True)
    on_ranks(tmp_path, _unused, plan, least)


@needs_caps
def test_buckets_of_gradients_in_another_order_are_named(tmp_path):
    model, cluster = _write(str(tmp_path), 3e-5)
    plan = gt.plan(model, cluster, algorithm="p-sgd", policy="optimal")
    on_ranks(tmp_path, _reordered, plan)


def _reordered(rank: int, plan: gt.Plan) -> None:
    names = plan.names[1::-1] + plan.names[2:]
    module = network()
    ddp = torch.nn.parallel.DistributedDataParallel(module, bucket_cap_mb_list=[1e-4])
    train(ddp, rank, 4, module)
    with pytest.raises(gt.BadInput, match="made without ddp_arguments of this plan"):
        gt.check_buckets(ddp, plan)
    with pytest.raises(gt.BadInput, match="0.bias's gradient came where the plan has 0.weight's"):
        gt.check_buckets(ddp, dataclasses.replace(plan, names=names))


# ---- what trainers do besides -------------------------------------------------------------------


CLIP = 1.1  # norm of a gradient


def _clipped(model, rank: int, learns, accumulates) -> list[float]:
    """Two batches to a step, clipped, with a falling learning rate; the norms before clipping."""
    optimizer = torch.optim.SGD(learns.parameters(), lr=0.1, momentum=0.9)
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, step_size=5, gamma=0.5)
    norms = []
    for step in range(20):
        with accumulates():
            loss_of(model, rank, 2 * step).backward()
        loss_of(model, rank, 2 * step + 1).backward()
        norms.append(torch.nn.utils.clip_grad_norm_(learns.parameters(), CLIP).item())
        optimizer.step()
        schedule.step()
        optimizer.zero_grad()
    return norms


@on_all_ranks
def test_accumulation_clipping_and_schedules_are_ddps(rank: int) -> None:
    ours, theirs = network(), network()
    distributed = gt.distribute(ours, "p-sgd", groups=[(5, 3), (2, 0)])
    ddp = torch.nn.parallel.DistributedDataParallel(theirs)
    norms = _clipped(ours, rank, ours, distributed.no_sync)
    assert norms == pytest.approx(_clipped(ddp, rank, theirs, ddp.no_sync), rel=1e-4)
    assert min(norms) < CLIP < max(norms)  # some were clipped, some not
    torch.testing.assert_close(flat(ours), flat(theirs), rtol=1e-4, atol=1e-5)
    distributed.check_parameters()
    distributed.close()
