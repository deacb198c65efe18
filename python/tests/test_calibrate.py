"""Tests of calibrating a job from inside: its process group, and its backward pass."""

from __future__ import annotations

import json
import os
from collections.abc import Callable

import pytest

torch = pytest.importorskip("torch")
import ranks  # noqa: E402
import torch.distributed as dist  # noqa: E402

import gradweave.torch as gt  # noqa: E402
from gradweave._library import GradweaveError  # noqa: E402
from gradweave.torch.calibrate import _Pass  # noqa: E402


def _end_together(rank: int, run: Callable[..., None], *arguments) -> None:
    run(rank, *arguments)
    dist.barrier()


def on_ranks(size: int, folder, run: Callable[..., None], *arguments) -> None:
    ranks.on_ranks(folder, _end_together, run, *arguments, ranks=size)


def read(path) -> dict:
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def assert_no_groups_are_left() -> None:
    assert list(dist.distributed_c10d._world.pg_map) == [dist.group.WORLD]


def write_model(path) -> None:
    tensors = [{"name": n, "elements": 250_000, "backward_s": 0.01} for n in ("first", "second")]
    model = {"name": "two", "forward_s": 0.01, "update_s": 0, "tensors": tensors}
    with open(path, "w", encoding="utf-8") as file:
        json.dump({"schema": "gradweave/model@1", **model}, file)


# ---- what is measured -----------------------------------------------------------------------


SIZE = 65536


def of_products(path: str) -> str:
    """Returns the file of a calibration beside matrix products, in place of a job's pass."""
    return path + ".products.json"


def _calibrate(rank: int, path: str) -> None:
    module = torch.nn.Sequential(*[torch.nn.Linear(200, 200) for _ in range(4)])
    module[0].weight.grad = before = torch.ones(200, 200)
    sizes = {"max_bytes": SIZE, "max_elements": SIZE}
    gt.calibrate(path, time_s=3, only=["allgather", "allreduce", "topk"], **sizes)
    step = lambda: module(torch.ones(64, 200)).sum()
    gt.calibrate(path, time_s=5, only="overlap", step=step, add=True, **sizes)
    state = torch.random.get_rng_state()
    gt.calibrate(of_products(path), time_s=3, **sizes)
    assert bool((torch.random.get_rng_state() == state).all())
    in_session = _Pass(step)
    longer_s, elements = in_session.time_session(0.001, None, 1)
    in_session.close()
    assert 0 < longer_s < 0.1 and elements == 4 * (200 * 200 + 200)
    raw = read(path)["collectives"]["allgather"][0]["raw"]
    assert all(one["median_s"] > 0 for one in raw)
    assert_no_groups_are_left()
    assert module[0].weight.grad is before and bool((before == 1).all())
    assert all(p.grad is None for p in list(module.parameters())[1:])


def test_a_running_job_is_calibrated(tmp_path):
    path, model = str(tmp_path / "here.json"), str(tmp_path / "model.json")
    on_ranks(2, tmp_path, _calibrate, path)
    cluster = read(path)
    assert cluster["name"] == "here" and cluster["workers"] == 2
    assert sorted(cluster["collectives"]) == ["allgather", "allreduce"]
    assert all([c["workers"] for c in curves] == [2] for curves in cluster["collectives"].values())
    assert list(cluster["compressors"]) == ["topk"]
    source = cluster["source"]
    assert source["transport"] == "group" and "mpi" not in source
    assert source["group"] == f"gloo, PyTorch {torch.__version__}"
    assert sorted(cluster["overlap"]["factors"]) == ["allgather", "allreduce", "alltoall"]
    for factors in cluster["overlap"]["factors"].values():
        assert all(point["compute"]["factor"] > 0 for point in factors["backward"])
    assert cluster["overlap"]["backward_s"] > 0
    unasked = read(of_products(path))["overlap"]
    assert sorted(unasked["factors"]) == ["allgather", "allreduce", "alltoall"]
    assert all(pairs["backward"] for pairs in unasked["factors"].values())
    assert unasked["backward_s"] > 0
    assert 0 <= cluster["overlap"].get("session_s", 0) < 0.1
    write_model(model)
    predicted = {one.algorithm for one in gt.compare(model, path)}
    assert {"topk", "omgs", "p-sgd"} <= predicted
    points = [
        point
        for pairs in cluster["overlap"]["factors"].values()
        for listed in pairs.values()
        for point in listed
    ]
    factors = [one[side]["factor"] for one in points for side in ("compute", "communication")]
    apart = gt.predict(model, path, "p-sgd", interference=False).iteration_s
    beside = gt.predict(model, path, "p-sgd").iteration_s
    assert 0.999 * min(1, *factors) * apart <= beside <= 1.001 * max(1, *factors) * apart
    for point in points:  # so much that the first exchange is not hidden by the pass
        point["communication"] = {"factor": 100 * point["communication"]["factor"]}
    with open(path, "w", encoding="utf-8") as file:
        json.dump(cluster, file)
    assert gt.predict(model, path, "p-sgd").iteration_s > beside


def _parts(rank: int, folder: str) -> None:
    two = dist.new_group([0, 2])
    if rank != 1:
        path = os.path.join(folder, "two.json")
        module = torch.nn.Linear(8, 8)
        step = lambda: module(torch.ones(8)).sum()
        only = "allreduce,overlap"
        gt.calibrate(path, time_s=1, only=only, max_bytes=SIZE, group=two, step=step)
    dist.barrier()
    dist.destroy_process_group(two)
    path = os.path.join(folder, "three.json")
    gt.calibrate(path, name="all", time_s=1, only="allreduce", max_bytes=SIZE)
    assert_no_groups_are_left()


def test_parts_of_a_group_are_measured(tmp_path):
    on_ranks(3, tmp_path, _parts, str(tmp_path))
    for name, workers in (("two", [2]), ("three", [2, 3])):
        cluster = read(tmp_path / f"{name}.json")
        assert [curve["workers"] for curve in cluster["collectives"]["allreduce"]] == workers
    assert cluster["name"] == "all"


def _again(rank: int, folder: str) -> None:
    """Groups of the same ranks are opened anew, where those before have been closed."""
    some = dist.new_group([1, 2, 3])
    for turn in range(4):
        group = some if turn in (1, 2) else None
        if group is None or rank > 0:
            path = os.path.join(folder, f"{turn}.json")
            gt.calibrate(path, time_s=0.3, only="allreduce", max_bytes=4096, group=group)


def test_a_job_is_calibrated_again(tmp_path):
    on_ranks(4, tmp_path, _again, str(tmp_path))
    assert len([name for name in os.listdir(tmp_path) if name.endswith(".json")]) == 4


# ---- what is refused ------------------------------------------------------------------------


class _Broken(torch.autograd.Function):
    @staticmethod
    def forward(_context, value):
        return value.clone()

    @staticmethod
    def backward(_context, _gradient):
        raise ArithmeticError("no gradient today")


def _loss() -> torch.Tensor:
    return torch.ones(1, requires_grad=True).exp()


def _double_loss() -> torch.Tensor:
    return torch.ones(1, requires_grad=True, dtype=torch.float64).exp()


def _refused(rank: int, folder: str) -> None:
    path, model = os.path.join(folder, "new.json"), os.path.join(folder, "model.json")
    cases = [
        ('expected some of .* got "tpok"', {"compressors": "topk,tpok"}),
        ('each once, got "allgater"', {"only": iter(["allgater"])}),
        ("expected no compressor", {"only": "allgather", "compressors": "topk"}),
        ("expected overlap in it", {"only": "topk", "step": _loss}),
        ("density: expected", {"density": 0}),
        ("time_s: expected", {"time_s": -1.0}),
        ("expected it to return a loss", {"step": lambda: torch.ones(1)}),
        (r"32 or 16 bits, got one of shape \[1\] of torch.float64", {"step": _double_loss}),
    ]
    for message, options in cases:
        with pytest.raises(gt.BadInput, match=message):
            gt.calibrate(path, **{"time_s": 1, **options})
    with pytest.raises(gt.BadInput, match='expected "gradweave/cluster@1", got "gradweave/model@1"'):
        gt.calibrate(model, add=True, force=True, time_s=1)
    with pytest.raises(GradweaveError, match="new.json: "):
        gt.calibrate(path, add=True, time_s=1)
    with pytest.raises(gt.BadInput, match='got "gradweave/model", which force replaces'):
        gt.calibrate(model, time_s=1)
    with pytest.raises(GradweaveError, match="nowhere/new.json: cannot be written"):
        gt.calibrate(os.path.join(folder, "nowhere", "new.json"), time_s=1)
    alone = dist.new_group([rank], use_local_synchronization=True)
    with pytest.raises(gt.BadInput, match="at least 2 ranks"):
        gt.calibrate(path, group=alone)
    dist.destroy_process_group(alone)
    with pytest.raises(GradweaveError, match="backward: it failed") as caught:
        gt.calibrate(
            path,
            time_s=0.5,
            only="overlap",
            step=lambda: _Broken.apply(torch.ones(1, requires_grad=True)),
        )
    assert isinstance(caught.value.__cause__, ArithmeticError)
    assert_no_groups_are_left()
    assert not os.path.exists(path)
    gt.calibrate(model, time_s=0.5, only="topk", max_elements=SIZE, force=True)


def test_impossible_requests_are_refused_on_all_ranks(tmp_path):
    write_model(tmp_path / "model.json")
    on_ranks(2, tmp_path, _refused, str(tmp_path))
    assert read(tmp_path / "model.json")["schema"] == "gradweave/cluster@1"
