"""Training by the library's sessions, held to DistributedDataParallel and to plain PyTorch."""

from __future__ import annotations

import dataclasses
import json
import os
import pathlib

import pytest

torch = pytest.importorskip("torch")
import torch.distributed as dist  # noqa: E402
from ranks import RANKS, on_all_ranks, on_ranks  # noqa: E402

import gradweave.torch as gt  # noqa: E402
from gradweave import _library  # noqa: E402
from gradweave.torch import session as sessions  # noqa: E402

SERVED = {"ps", "sketched-sgd", "layer-drop"}


def network() -> torch.nn.Module:
    torch.manual_seed(1)
    return torch.nn.Sequential(
        torch.nn.Linear(20, 50), torch.nn.Tanh(), torch.nn.Linear(50, 30), torch.nn.Linear(30, 4)
    )


def batch(rank: int, step: int) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(1000 * rank + step)
    inputs = torch.randn(16, 20, generator=generator)
    return inputs, inputs[:, :4].roll(1, dims=1).argmax(dim=1)


def loss_of(model, rank: int, step: int) -> torch.Tensor:
    inputs, targets = batch(rank, step)
    return torch.nn.functional.cross_entropy(model(inputs.to(flat(model).dtype)), targets)


def train(model, rank: int, steps: int, learns: torch.nn.Module, momentum=0.9) -> list[float]:
    optimizer = torch.optim.SGD(learns.parameters(), lr=0.1, momentum=momentum)
    losses = []
    for step in range(steps):
        loss = loss_of(model, rank, step)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        losses.append(loss.item())
    return losses


def flat(module: torch.nn.Module) -> torch.Tensor:
    return torch.cat([p.detach().flatten() for p in module.parameters()])


def assert_equal_on_ranks(module: torch.nn.Module, group=None) -> None:
    own = flat(module)
    all_ranks = [torch.empty_like(own) for _ in range(dist.get_world_size(group))]
    dist.all_gather(all_ranks, own, group=group)
    assert all(torch.equal(own, other) for other in all_ranks)


# ---- dense ----------------------------------------------------------------------------------


@on_all_ranks
def test_dense_pipelines_train_as_ddp_does(rank: int) -> None:
    ours, theirs = network(), network()
    groups = [(5, 3), (2, 0)]
    distributed = gt.distribute(ours, "p-sgd", groups=groups)
    train(ours, rank, 50, ours)
    train(torch.nn.parallel.DistributedDataParallel(theirs), rank, 50, theirs)
    torch.testing.assert_close(flat(ours), flat(theirs), rtol=1e-5, atol=1e-6)
    assert_equal_on_ranks(ours)
    distributed.close()


@on_all_ranks
def test_halves_train_as_ddp_does_to_the_bit(rank: int) -> None:
    """Two ranks' sums have one rounding, whatever the buckets are."""
    for dtype in (torch.bfloat16, torch.float16):
        ours, theirs = network().to(dtype), network().to(dtype)
        distributed = gt.distribute(ours, "p-sgd", groups=[(5, 3), (2, 0)])
        train(ours, rank, 30, ours)
        assert torch.isfinite(flat(ours)).all()
        elements = sum(p.numel() for p in ours.parameters())
        assert distributed.measure()["bytes_per_worker"] == 2 * elements
        train(torch.nn.parallel.DistributedDataParallel(theirs), rank, 30, theirs)
        assert torch.equal(flat(ours), flat(theirs))
        assert_equal_on_ranks(ours)
        distributed.close()


class _Mixed(torch.nn.Module):
    """Its parameters' gradients are the inputs."""

    def __init__(self) -> None:
        super().__init__()
        self.short = torch.nn.Parameter(torch.zeros(1000, dtype=torch.bfloat16))
        self.long = torch.nn.Parameter(torch.zeros(1000))

    def forward(self, gradient: torch.Tensor) -> torch.Tensor:
        return (self.short * gradient.bfloat16()).float().sum() + (self.long * gradient).sum()


@on_all_ranks(ranks=3)
def test_parameters_of_two_types_are_averaged_in_floats(rank: int) -> None:
    """Each gradient of bf16 is rounded once, after its sum."""
    model = _Mixed()
    distributed = gt.distribute(model, "dense")
    inputs = [torch.randn(1000, generator=torch.Generator().manual_seed(r)) for r in range(3)]
    model(inputs[rank]).backward()
    for got, parts in ((model.short.grad, [i.bfloat16() for i in inputs]), (model.long.grad, inputs)):
        exact = sum(part.double() for part in parts) / 3
        half_a_step = 2**-8 if got.dtype == torch.bfloat16 else 2**-22
        assert ((got.double() - exact).abs() <= exact.abs() * half_a_step + 1e-6).all()
    assert distributed.measure()["bytes_per_worker"] == 4 * 2000
    distributed.close()


# ---- sparse, against one process that plays all ranks ---------------------------------------


def _play(
    steps: int, groups: dict[int, float], dtype: torch.dtype = torch.float32, ranks: int = RANKS
) -> tuple[torch.Tensor, list[torch.Tensor]]:
    """top-k with error feedback in plain PyTorch: the parameters, and what each rank has not sent,
    in 32-bit floats whatever the parameters' type is. `groups` are densities by a group's last
    tensor, the first group first; at density 1 all of it is sent."""
    model = network().to(dtype)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    # Of equal magnitudes the first ones are sent, those of the last tensor before others.
    parameters = list(model.parameters())[::-1]
    sizes = [p.numel() for p in parameters]
    ends = [sum(sizes[: len(sizes) - last]) for last in groups]
    parts = [slice(begin, end) for begin, end in zip([0, *ends], ends)]
    residuals = [torch.zeros(sum(sizes)) for _ in range(ranks)]
    for step in range(steps):
        average = torch.zeros(sum(sizes))
        for rank, residual in enumerate(residuals):
            loss_of(model, rank, step).backward()
            residual += torch.cat([p.grad.flatten().float() for p in parameters]) / ranks
            optimizer.zero_grad()
            for part, density in zip(parts, groups.values()):
                left = residual[part]
                ordered = left.abs().argsort(descending=True, stable=True)
                chosen = ordered[: max(1, int(density * len(left)))]
                average[part][chosen] += left[chosen]
                left[chosen] = 0
        for parameter, part in zip(parameters, average.split(sizes)):
            parameter.grad = part.view_as(parameter).to(dtype, copy=True)
        optimizer.step()
        optimizer.zero_grad()
    return flat(model), [torch.cat(one.split(sizes)[::-1]) for one in residuals]


def _residual(distributed) -> torch.Tensor:
    return torch.cat([part.flatten() for part in distributed.residual().values()])


def _topk(rank: int, expected: torch.Tensor, residuals: list[torch.Tensor]) -> None:
    model = network().to(expected.dtype)
    distributed = gt.distribute(model, "topk", density=0.05)
    train(model, rank, 30, model)
    distributed.verify()
    assert torch.equal(flat(model), expected)
    assert torch.equal(_residual(distributed), residuals[rank])
    distributed.close()


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_topk_is_the_reference_bit_for_bit(tmp_path, dtype):
    torch.set_num_threads(1)
    on_ranks(tmp_path, _topk, *_play(30, {0: 0.05}, dtype))


# ---- mixed plans ----------------------------------------------------------------------------


def _mixed(rank, plan: gt.Plan, steps: int, expected: torch.Tensor, residuals) -> None:
    ranks = dist.get_world_size()
    exact = {"rtol": 0, "atol": 0} if ranks == 2 else {"rtol": 1e-4, "atol": 1e-6}  # orders of sums
    model = network()
    distributed = gt.distribute(model, plan)
    train(model, rank, steps, model)
    distributed.verify()
    assert_equal_on_ranks(model)
    torch.testing.assert_close(flat(model), expected, **exact)
    torch.testing.assert_close(_residual(distributed), residuals[rank], **exact)
    state, left = distributed.exchange_state(), _residual(distributed)
    distributed.close()

    again = gt.distribute(model, plan)
    again.load_exchange_state(state)
    assert torch.equal(_residual(again), left)
    again.close()
    dense = dataclasses.replace(plan, ways=("dense",) * len(plan.groups))
    for residual_only, message in ((False, "compressor|plan or density"), (True, "a residual")):
        again = gt.distribute(model, dense)
        with pytest.raises(gt.BadInput, match=message):
            again.load_exchange_state(state, residual_only=residual_only)
        again.close()


@pytest.mark.parametrize("ranks", [2, 4])
def test_each_group_of_a_mixed_plan_goes_its_way(tmp_path, ranks):
    """What is hidden behind the backward pass loses nothing; the rest travels by top-k."""
    torch.set_num_threads(1)
    tensors = [
        {"name": name, "elements": p.numel(), "backward_s": 1e-4}
        for name, p in network().named_parameters()
    ]
    model = {"schema": "gradweave/model@1", "name": "m", "tensors": tensors, "forward_s": 1e-3}
    (tmp_path / "m.json").write_text(json.dumps(model))
    (tmp_path / "c.json").write_text(json.dumps(CLUSTER))
    plan = gt.plan(tmp_path / "m.json", tmp_path / "c.json", choices=("dense", "topk:0.05"))
    assert set(plan.ways) == {"dense", "topk:0.05"}
    with pytest.raises(gt.BadInput, match="expected a dense plan, .* got one of mixed"):
        gt.ddp_arguments(plan)
    groups = {
        last: 1 if way == "dense" else 0.05 for (_, last), way in zip(plan.groups, plan.ways)
    }
    steps = 30 if ranks == 2 else 5
    on_ranks(tmp_path, _mixed, plan, steps, *_play(steps, groups, ranks=ranks), ranks=ranks)


# ---- all pipelines --------------------------------------------------------------------------


def _learn(rank: int, algorithm: str, model: torch.nn.Module, distributed, group=None) -> None:
    losses = train(model, rank, 60, model, momentum=0)  # with it, randk's late gradients overshoot
    distributed.verify()
    distributed.check_parameters()
    assert_equal_on_ranks(model, group)
    took = distributed.measure()
    parts = ("forward_s", "backward_s", "compress_s", "exposed_comm_s", "other_s")
    assert abs(sum(took[part] for part in parts) - took["iteration_s"]) < 1e-9
    assert sum(losses[-10:]) < 0.9 * sum(losses[:10]), algorithm


@on_all_ranks
def test_every_pipeline_trains(rank: int) -> None:
    for algorithm in sorted(set(gt.algorithms()) - SERVED):
        model = network()
        distributed = gt.distribute(model, algorithm, density=0.3)
        with pytest.raises(gt.BadInput, match="expected a rank that serves, got rank . of 2"):
            distributed.serve()
        _learn(rank, algorithm, model, distributed)
        distributed.close()


# ---- with a server --------------------------------------------------------------------------


def _served(rank: int) -> None:
    pair = dist.new_group([0, 1])
    for algorithm in sorted(SERVED):
        model = network()
        distributed = gt.distribute(model, algorithm, density=0.3, groups=[(5, 3), (2, 0)])
        assert (distributed.serves, distributed.trainers) == (rank == 2, 2)
        if rank == 2:
            assert distributed.serve(10) == 10
            assert distributed.serve() == 50
            assert torch.equal(flat(model), flat(network()))
        else:
            _learn(rank, algorithm, model, distributed, pair)
        distributed.close()
        if algorithm == "ps" and rank < 2:
            theirs = network()
            ddp = torch.nn.parallel.DistributedDataParallel(theirs, process_group=pair)
            train(ddp, rank, 60, theirs, momentum=0)
            torch.testing.assert_close(flat(model), flat(theirs), rtol=1e-5, atol=1e-6)


def _among_others(rank: int) -> None:
    """Ranks 1 to 3 of four, by a group that the job has; the server is the last of it."""
    group = dist.new_group([1, 2, 3])
    if rank == 0:
        return
    model = network()
    distributed = gt.distribute(model, "ps", group=group)
    if distributed.serves:
        assert (rank, distributed.serve()) == (3, 5)
    else:
        train(model, rank, 5, model)
        distributed.check_parameters()
    distributed.close()
    dist.barrier(group)


def test_the_last_rank_serves(tmp_path):
    on_ranks(tmp_path, _served, ranks=3)
    on_ranks(tmp_path, _among_others, ranks=4)


@on_all_ranks(ranks=1)
def test_a_server_has_whom_to_serve(rank: int) -> None:
    with pytest.raises(gt.BadInput, match="a rank more than its workers, the server, got 1"):
        gt.distribute(network(), "ps")


# ---- from a recorded job to its plan --------------------------------------------------------

CLUSTER = {
    "schema": "gradweave/cluster@1",
    "name": "two",
    "workers": 2,
    "collectives": {
        "allreduce": [{"workers": 2, "alpha_s": 5e-5, "beta_s_per_byte": 1e-8}],
        "allgather": [{"workers": 2, "alpha_s": 5e-5, "beta_s_per_byte": 1e-8}],
    },
    "compressors": {"topk": {"fixed_s": 1e-5, "per_element_s": 1e-9}},
}


class Backwards(torch.nn.Module):
    """Names its layers from the last to the first; one learns nothing."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(3)
        self.last = torch.nn.Linear(50, 4)
        self.idle = torch.nn.Linear(3, 3)
        self.first = torch.nn.Linear(20, 50)

    def forward(self, inputs):
        return self.last(torch.tanh(self.first(inputs)))


def _buckets(rank: int, merged: gt.Plan, cluster: str, model: str) -> None:
    """DDP with the plan's buckets, and with others."""
    for plan in (merged, gt.plan(model, cluster, algorithm="p-sgd")):
        module = Backwards()
        module.idle.requires_grad_(False)
        arguments = gt.ddp_arguments(plan)
        if "bucket_cap_mb_list" not in arguments:
            return  # before PyTorch 2.11
        ddp = torch.nn.parallel.DistributedDataParallel(module, **arguments)
        train(ddp, rank, 4, module)
        gt.check_buckets(ddp, plan)
        other = plan.groups[:1] + ((plan.groups[0][1] - 1, 0),) if len(plan.groups) == 4 else None
        if other:
            with pytest.raises(gt.BadInput, match="expected the plan's buckets, of"):
                gt.check_buckets(ddp, dataclasses.replace(plan, groups=other))


def _planned(rank: int, folder: str) -> None:
    model_path, cluster_path = os.path.join(folder, "model.json"), os.path.join(folder, "c.json")
    model = Backwards()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    recorder = gt.Recorder(model, optimizer)
    for step in range(8):
        loss_of(model, rank, step).backward()
        optimizer.step()
        optimizer.zero_grad()
    recorder.write(model_path, name="backwards", batch_size=16)
    recorder.close()
    if rank == 0:
        with open(cluster_path, "w", encoding="utf-8") as file:
            json.dump(CLUSTER, file)
    dist.barrier()
    _buckets(rank, gt.plan(model_path, cluster_path, algorithm="mg-wfbp"), cluster_path, model_path)
    plan = gt.plan(model_path, cluster_path, algorithm="lags", density=0.2)
    assert sorted(plan.names) == sorted(
        f"{a}.{b}" for a in ("first", "last") for b in ("bias", "weight")
    )
    assert plan.names.index("first.weight") < plan.names.index("last.weight")
    assert len(plan.groups) == 4
    distributed = gt.distribute(model, plan)
    losses = train(model, rank, 60, model, momentum=0)
    distributed.verify()
    assert_equal_on_ranks(model)
    assert sum(losses[-10:]) < 0.9 * sum(losses[:10])
    with pytest.raises(gt.BadInput, match="idle.weight: a gradient came, but the plan does not"):
        model.idle.weight.sum().backward()
    distributed.close()
    with pytest.raises(gt.BadInput, match="expected a parameter that learns, as the plan names it"):
        gt.distribute(network(), plan)


def test_a_recorded_job_trains_by_its_plan(tmp_path):
    on_ranks(tmp_path, _planned, str(tmp_path))


# ---- what trainers do besides ---------------------------------------------------------------


class Forked(torch.nn.Module):
    """Rank 0 takes the one way, the others the other; a part is frozen."""

    def __init__(self, rank: int) -> None:
        super().__init__()
        torch.manual_seed(2)
        self.rank = rank
        self.frozen = torch.nn.Linear(20, 20).requires_grad_(False)
        self.ways = torch.nn.ModuleList([torch.nn.Linear(20, 4), torch.nn.Linear(20, 4)])

    def forward(self, inputs):
        return self.ways[min(self.rank, 1)](self.frozen(inputs))


@on_all_ranks
def test_ranks_may_differ_in_what_they_use(rank: int) -> None:
    model = Forked(rank)
    distributed = gt.distribute(model, "dense")
    train(model, rank, 5, model)
    assert_equal_on_ranks(model)
    before = flat(model)
    with distributed.no_sync():
        loss_of(model, rank, 0).backward()
    alone = [None if p.grad is None else p.grad.clone() for p in model.parameters()]
    assert any(gradient is not None for gradient in alone)
    loss_of(model, rank, 0).backward()
    gradients = torch.cat([p.grad.flatten() for _, p in distributed.named_learning()])
    summed = gradients.clone()
    dist.all_reduce(summed)
    assert torch.equal(summed, RANKS * gradients)
    assert torch.equal(before, flat(model))
    distributed.close()
    session, gradient = sessions.Session([3], "dense"), torch.ones(3)
    session.begin()
    session.ready(0, gradient)
    with pytest.raises(_library.GradweaveError, match="each tensor once .* got 0 again"):
        session.ready(0, gradient)
    session.close()
    with pytest.raises(gt.BadInput, match="names: expected one for each of 2 sizes, got 1"):
        sessions.Session([3, 4], "dense", names=["first"])
    with pytest.raises(gt.BadInput, match="on the CPU or on one GPU, got torch.float64"):
        gt.distribute(network().double(), "topk")
    with pytest.raises(gt.BadInput, match='got "magic"'):
        gt.distribute(network(), "magic")
    with pytest.raises(gt.BadInput, match="parameters that learn"):
        gt.distribute(network().requires_grad_(False), "topk")


@on_all_ranks
def test_an_overflow_skips_one_step(rank: int) -> None:
    """More gradients are infinite than top-k sends; GradScaler then makes the scale small."""
    for algorithm in ("topk", "gtopk", "randk"):
        model = torch.nn.Linear(100, 1, bias=False)
        distributed = gt.distribute(model, algorithm, density=0.05)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        scaler = torch.amp.GradScaler("cpu", init_scale=2.0**127, backoff_factor=2.0**-120)
        steps, before = 0, flat(model)
        for step in range(20):
            optimizer.zero_grad()
            scaler.scale(distributed(torch.full((1, 100), 16.0)).sum() / 8).backward()
            scaler.step(optimizer)
            scaler.update()
            steps += not torch.equal(flat(model), before)
            before = flat(model)
        assert scaler.get_scale() == 2.0**7 and steps == 19, algorithm
        assert flat(model).isfinite().all() and _residual(distributed).isfinite().all()
        distributed.close()


# ---- on a GPU ------------------------------------------------------------------------------------


TYPES = [torch.float32, torch.bfloat16, torch.float16]


def _on_gpu(rank: int) -> None:
    """A GPU that is emulated computes in the memory that tensors on the CPU have."""
    sessions._stream = lambda _: 0
    sizes, gpu = [300, 1, 40], torch.device("cuda", 0)
    for algorithm in ("dense", "topk", "gtopk", "exdyna", "hard-threshold"):
        for dtypes in (TYPES[:1] * 3, TYPES[1:2] * 3, TYPES):
            kinds = [
                sessions.Session(
                    sizes, algorithm, density=0.05, groups=[(2, 2), (1, 0)], gpu=at, dtypes=dtypes
                )
                for at in (None, gpu)
            ]
            for step in range(3):
                generator = torch.Generator().manual_seed(10 * step + rank)
                drawn = [
                    torch.randn(size, generator=generator).to(dtype)
                    for size, dtype in zip(sizes, dtypes)
                ]
                means = [[gradient.clone() for gradient in drawn] for _ in kinds]
                for session, gradients in zip(kinds, means):
                    _exchange(session, gradients)
                    session.verify()
                for expected, got in zip(*means):
                    assert torch.equal(expected, got), algorithm
                assert torch.equal(kinds[0].save(), kinds[1].save()), algorithm
            for session in kinds:
                session.close()


def _exchange(session: sessions.Session, gradients: list[torch.Tensor]) -> None:
    session.begin()
    for index, gradient in enumerate(gradients):
        session.ready(index, gradient)
    session.wait()


def _trains_halves(rank: int) -> None:
    """The same losses and parameters as on the CPU, of a model of bfloat16."""
    sessions._stream = lambda _: 0
    for algorithm in ("dense", "bf16", "int8", "topk"):
        trained = []
        for gpu in (None, torch.device("cuda", 0)):
            model = network().bfloat16()
            parameters = list(model.parameters())
            sizes, dtypes = [p.numel() for p in parameters], [p.dtype for p in parameters]
            session = sessions.Session(sizes, algorithm, density=0.3, gpu=gpu, dtypes=dtypes)
            optimizer, losses = torch.optim.SGD(parameters, lr=0.1), []
            for step in range(60):
                loss = loss_of(model, rank, step)
                loss.backward()
                _exchange(session, [p.grad for p in parameters])
                optimizer.step()
                optimizer.zero_grad()
                losses.append(loss.item())
            session.close()
            assert_equal_on_ranks(model)
            assert sum(losses[-10:]) < 0.9 * sum(losses[:10]), algorithm
            trained.append((losses, flat(model)))
        assert trained[0][0] == trained[1][0], algorithm
        assert torch.equal(trained[0][1], trained[1][1]), algorithm


@pytest.mark.parametrize("run", [_on_gpu, _trains_halves])
def test_gpus_train_as_the_cpu(tmp_path, run):
    if b"emulated GPU" not in pathlib.Path(_library.library._name).read_bytes():
        pytest.skip("expected a library with an emulated GPU: -DGRADWEAVE_CUDA=EMULATED")
    on_ranks(tmp_path, run)
