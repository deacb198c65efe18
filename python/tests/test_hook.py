"""gradweave's hook in DistributedDataParallel, held to plain PyTorch that plays all ranks."""

from __future__ import annotations

import inspect
import math
from types import SimpleNamespace

import pytest

torch = pytest.importorskip("torch")
import torch.distributed as dist  # noqa: E402
from torch.utils.checkpoint import checkpoint  # noqa: E402

from ranks import on_all_ranks, on_ranks  # noqa: E402
from test_torch import assert_equal_on_ranks, flat, loss_of, network, train  # noqa: E402

import gradweave.torch as gt  # noqa: E402
from gradweave import GradweaveError  # noqa: E402
from gradweave.torch.hook import HookState, _Exchange  # noqa: E402

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
            loss_of(model, rank, step).backward()
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


@on_all_ranks
def test_halves_train_as_in_ddp_to_the_bit(rank: int) -> None:
    """All elements travel, and two ranks' means have one rounding."""
    theirs = network().bfloat16()
    train(_ddp(theirs), rank, 10, theirs)
    for algorithm in ("dense", "topk"):
        ours = network().bfloat16()
        ddp = _ddp(ours)
        state, hook = gt.comm_hook(algorithm, density=1, start_iteration=1)
        ddp.register_comm_hook(state, hook)
        train(ddp, rank, 10, ours)
        assert torch.equal(flat(ours), flat(theirs)), algorithm
        state.close()


@on_all_ranks(ranks=3)
def test_pipelines_train_in_ddp(rank: int) -> None:
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
    model = network()
    ddp = _ddp(model)
    ddp.register_comm_hook(*gt.comm_hook("topk", density=0.2 if rank == 1 else 0.1))
    with pytest.raises(gt.BadInput, match="rank 1 has density=0.2 where rank 0 has density=0.1"):
        train(ddp, rank, 3, model)
    dist.barrier()


@on_all_ranks
def test_failures_name_parameters(rank: int) -> None:
    for is_named, name in ((True, "2.weight"), (False, r"parameter of shape \[30, 50\]")):
        model = network()
        ddp = _ddp(model)
        named = model if is_named else None
        state, hook = gt.comm_hook("topk", density=0.1, start_iteration=1, module=named)
        ddp.register_comm_hook(state, hook)
        train(ddp, rank, 4, model)
        if rank == 0:
            row = torch.tensor(3)
            model[2].weight.register_hook(lambda one, row=row: one.index_fill(0, row, torch.nan))
        expected = f"{name}: element 150 of 1500: expected a number or an infinity, got NaN"
        with pytest.raises(GradweaveError, match=expected):
            train(ddp, rank, 1, model)
        state.close()


@pytest.mark.parametrize(
    ("algorithm", "options", "message"),
    [
        ("topk", {"start_iteration": 0}, "start_iteration: expected 1 at least, got 0"),
        ("topk", {"density": 0}, r"density: expected a number in \(0, 1\], got 0"),
        ("topk", {"compressor": "foo"}, 'got "foo"'),
        ("foo", {}, 'got "foo"'),
        (3, {}, "algorithm: expected a name, got int"),
        ("ps", {}, "ps: expected a pipeline without a server, as all ranks"),
        ("dense", {"exchange": "server"}, "dense: expected a pipeline without a server"),
    ],
)
def test_arguments_that_no_session_takes_are_refused_at_once(algorithm, options, message):
    with pytest.raises(gt.BadInput, match=message):
        gt.comm_hook(algorithm, **options)


@on_all_ranks
def test_ranks_with_fewer_inputs_join_as_with_ddps_hooks(rank: int) -> None:
    """Ranks without inputs exchange zeros, outside of backward passes, and their residuals."""
    for counts in ([7, 5], [1, 4], [0, 6]):
        ours, theirs, sparse = network(), network(), network()
        state, hook = gt.comm_hook("topk", density=1, start_iteration=1)  # all travels
        second_state, second_hook = gt.comm_hook("topk", density=0.1)
        hooked, plain, second = map(_ddp, (ours, theirs, sparse))
        hooked.register_comm_hook(state, hook)
        second.register_comm_hook(second_state, second_hook)
        for ddp, model in ((hooked, ours), (plain, theirs), (second, sparse)):
            with ddp.join():
                train(ddp, rank, counts[rank], model, momentum=0)
        torch.testing.assert_close(flat(ours), flat(theirs), rtol=1e-5, atol=1e-6)
        train(second, rank, 2, sparse, momentum=0)
        assert_equal_on_ranks(sparse)
        state.close()
        second_state.close()


# ---- DDP's buckets, as it rebuilds, reorders and skips them -------------------------------------


class Partly(torch.nn.Module):
    """One layer, registered before, among or after the others, gets no gradient."""

    def __init__(self, idle: str | None) -> None:
        super().__init__()
        torch.manual_seed(5)
        shapes = {"first": (20, 9), "middle": (9, 7), "last": (7, 4)}
        order = {"first": ["idle", *shapes], "middle": ["first", "idle", "middle", "last"],
                 "last": [*shapes, "idle"], None: [*shapes]}[idle]  # fmt: skip
        for name in order:
            setattr(self, name, torch.nn.Linear(*shapes.get(name, (5, 6))))

        self.uses_idle = False

    def forward(self, inputs):
        outputs = self.last(torch.tanh(self.middle(torch.tanh(self.first(inputs)))))
        return outputs + self.idle(inputs[:, :5]).sum() if self.uses_idle else outputs


_Flat = dict[torch.nn.Parameter, torch.Tensor]


class Watched:
    """The hook with what it was given on each rank, from which the reference follows by hand."""

    def __init__(self, state, hook) -> None:
        self._state, self._hook = state, hook
        self.buckets: list[list[torch.nn.Parameter]] = []
        self.gradients: list[_Flat] = [{} for _ in range(dist.get_world_size())]  # by rank

    def __call__(self, state, bucket):  # without types, which DDP compares with its own
        parameters = bucket.parameters()
        self.buckets.append(parameters)
        of_ranks = [torch.empty_like(bucket.buffer()) for _ in self.gradients]
        dist.all_gather(of_ranks, bucket.buffer())
        for gradients, flats in zip(self.gradients, of_ranks):
            parts = flats.clone().split([parameter.numel() for parameter in parameters])
            gradients.update(zip(parameters, parts))
        return self._hook(self._state, bucket)


def _compressed(gradients: list[_Flat], groups, residuals: list[_Flat], density: float) -> _Flat:
    """Means by top-k of each group; a rank's residuals are kept by parameter."""
    means: _Flat = {}
    for group in groups:
        sizes = [parameter.numel() for parameter in group]
        mean = torch.zeros(sum(sizes))
        for own, residual in zip(gradients, residuals):
            left = torch.cat([own[p] / len(gradients) + residual.get(p, 0) for p in group])
            chosen = left.abs().topk(max(1, int(density * len(left)))).indices
            mean[chosen] += left[chosen]
            left[chosen] = 0
            residual.update(zip(group, left.split(sizes)))
        means.update(zip(group, mean.split(sizes)))
    return means


def _follow(rank: int, idle: str | None, start: int, options: dict, renewed: int | None) -> None:
    """Each iteration's gradients are the reference's, bit for bit."""
    model = Partly(idle)
    state, hook = gt.comm_hook("topk", density=0.1, start_iteration=start)
    ddp, residuals, before = None, [{}, {}], []
    layouts = []
    for step in range(8):
        if step in (0, renewed):
            ddp = torch.nn.parallel.DistributedDataParallel(model, **options)
            watched = Watched(state, hook)

            def watch(state, bucket, watched=watched):
                return watched(state, bucket)

            ddp.register_comm_hook(None, watch)
        watched.buckets.clear()
        loss_of(ddp, rank, step).backward()
        buckets = list(watched.buckets)
        if step < start:
            means = {p: sum(own[p] for own in watched.gradients) / 2 for b in buckets for p in b}
        else:  # from the fourth iteration on, groups are the last one's buckets
            groups = before if step >= 3 else buckets
            means = _compressed(watched.gradients, groups, residuals, 0.1)
        for name, parameter in model.named_parameters():
            if parameter in means and not name.startswith("idle"):
                assert torch.equal(parameter.grad.flatten(), means[parameter]), (step, name)
        layouts.append([[id(p) for p in bucket] for bucket in buckets])
        before = buckets
        model.zero_grad()
    assert len(layouts[-1]) > 1
    if "static_graph" in options:
        assert layouts[0] == layouts[1] != layouts[2] == layouts[-1]
    state.close()


CAPS = [150 / 2**20, 300 / 2**20, 600 / 2**20]
SKIPS = {"find_unused_parameters": True, "skip_all_reduce_unused_params": True}


@pytest.mark.parametrize(
    ("idle", "start", "options", "renewed"),
    [
        (None, 1, {"bucket_cap_mb": 200 / 2**20}, None),
        (None, 1, {"static_graph": True, "bucket_cap_mb_list": CAPS}, None),
        (None, 2, {"static_graph": True, "bucket_cap_mb_list": CAPS}, None),
        ("middle", 1, {"static_graph": True, "bucket_cap_mb_list": CAPS}, None),
        ("first", 2, {"bucket_cap_mb": 100 / 2**20, **SKIPS}, None),
        ("last", 2, {"bucket_cap_mb": 100 / 2**20, **SKIPS}, None),
        (
            "first", 1,
            {"static_graph": True, "skip_all_reduce_unused_params": True,
             "bucket_cap_mb": 200 / 2**20}, None,
        ),
        (None, 2, {"bucket_cap_mb": 200 / 2**20}, 5),
    ],
)  # fmt: skip
def test_residuals_follow_parameters(tmp_path, idle, start, options, renewed):
    taken = inspect.signature(torch.nn.parallel.DistributedDataParallel.__init__).parameters
    if not set(options) <= set(taken):
        pytest.skip(f"this PyTorch's DistributedDataParallel lacks one of {list(options)}")
    on_ranks(tmp_path, _follow, idle, start, options, renewed)


def _changes(rank: int) -> None:
    for idle, uses, happened in (("first", False, "also got"), ("last", True, "did not get")):
        model = Partly(idle)
        model.uses_idle = uses
        ddp = torch.nn.parallel.DistributedDataParallel(model, bucket_cap_mb=100 / 2**20, **SKIPS)
        state, hook = gt.comm_hook("topk", density=0.1, module=model)
        ddp.register_comm_hook(state, hook)
        train(ddp, rank, 5, model)
        model.uses_idle = not uses
        expected = f"{happened} idle.(weight|bias): unused parameters must stay the same"
        with pytest.raises(GradweaveError, match=expected):
            train(ddp, rank, 1, model)
        state.close()


class Heads(torch.nn.Module):
    """Two layers that have nothing in common, each used in every other iteration."""

    def __init__(self, way: int) -> None:
        super().__init__()
        self.heads = torch.nn.ModuleList([torch.nn.Linear(20, 4), torch.nn.Linear(20, 4)])
        self.way = way

    def forward(self, inputs):
        self.way = 1 - self.way
        return self.heads[self.way](inputs)


def _in_turn(rank: int) -> None:
    for way, happened in ((0, "also got"), (1, "did not get")):
        model = Heads(way)
        ddp = torch.nn.parallel.DistributedDataParallel(model, bucket_cap_mb=100 / 2**20, **SKIPS)
        state, hook = gt.comm_hook("topk", density=0.1)
        ddp.register_comm_hook(state, hook)
        expected = f"{happened} parameter of shape .*: unused parameters must stay the same"
        with pytest.raises(GradweaveError, match=expected):
            train(ddp, rank, 10, model)
        state.close()


@pytest.mark.skipif(
    not set(SKIPS)
    <= set(inspect.signature(torch.nn.parallel.DistributedDataParallel.__init__).parameters),
    reason="this PyTorch's DistributedDataParallel skips no unused parameters",
)
@pytest.mark.parametrize("run", [_changes, _in_turn])
def test_other_unused_parameters_are_refused(tmp_path, run):
    on_ranks(tmp_path, run)


# ---- what the hook opens, and what it ends with --------------------------------------------------


@on_all_ranks
def test_all_exchanges_have_one_group(rank: int) -> None:
    """Counts those that the hook opens: for single buckets in two iterations, then for all."""
    opened, new_group = [], dist.new_group

    def count(*arguments, **options):
        opened.append(new_group(*arguments, **options))
        return opened[-1]

    dist.new_group = count
    model = network()
    ddp = _ddp(model)
    state, hook = gt.comm_hook("topk", density=0.1, start_iteration=1)
    ddp.register_comm_hook(state, hook)
    train(ddp, rank, 6, model)
    dist.new_group = new_group
    (own,) = opened
    assert own in dist.distributed_c10d._world.pg_map
    state.close()
    assert own not in dist.distributed_c10d._world.pg_map


class Repeated(torch.nn.Module):
    """Layers that are computed anew in backward passes within the backward pass."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = network()

    def forward(self, inputs):
        values = inputs.requires_grad_()
        for layer in self.layers:
            values = checkpoint(layer, values, use_reentrant=True)
        return values


@on_all_ranks
def test_reentrant_checkpoints_end_no_iteration(rank: int) -> None:
    """Gradients come in backward passes that end before the others' come."""
    plain, repeated = network(), Repeated()
    for model, options in ((plain, {}), (repeated, {"static_graph": True})):
        ddp = torch.nn.parallel.DistributedDataParallel(model, bucket_cap_mb=CAP / 2**20, **options)
        state, hook = gt.comm_hook("topk", density=1)
        ddp.register_comm_hook(state, hook)
        train(ddp, rank, 8, model)
        state.close()
    torch.testing.assert_close(flat(repeated), flat(plain), rtol=1e-5, atol=1e-6)


class _Recorded:
    """A session of two ranks that keeps what it was handed, in place of exchanging it."""

    ranks = 2

    def __init__(self) -> None:
        self.gradients: list[torch.Tensor] = []

    def begin(self) -> None:
        pass

    def ready(self, _index: int, gradient: torch.Tensor) -> None:
        self.gradients.append(gradient.float())

    def wait(self) -> None:
        pass

    def residual(self) -> list[torch.Tensor]:
        return [torch.full((3,), 0.125)]


def _record(parameter: torch.nn.Parameter) -> tuple[_Exchange, _Recorded]:
    """Returns an exchange of one parameter, and its session."""
    exchange = _Exchange.__new__(_Exchange)
    exchange._session = session = _Recorded()
    exchange._parameters, exchange._numbers = [parameter], {parameter: 0}
    exchange._missing, exchange._travelling, exchange._names = set(), [], {}
    return exchange, session


def _bucket(parameter: torch.nn.Parameter, gradient: list[float]) -> SimpleNamespace:
    flat = torch.tensor(gradient, dtype=parameter.dtype)
    return SimpleNamespace(parameters=lambda: [parameter], buffer=lambda: flat)


def test_residuals_lose_nothing_in_gradients_of_16_bits():
    """At 256 bfloat16 has steps of 2: what is smaller stays for later iterations."""
    parameter = torch.nn.Parameter(torch.zeros(3, dtype=torch.bfloat16))
    exchange, session = _record(parameter)
    state = HookState("topk", 1, None, 0, None, density=0.1, compressor=None, exchange=None)
    before = torch.tensor([0.3, 1.0, 8.2])
    state._residuals[parameter] = before.clone()
    exchange.send(_bucket(parameter, [256.0] * 3), state._residuals)
    sent = session.gradients[0] / 2
    assert torch.equal(sent + state._residuals[parameter], 128 + before)
    exchange.close = lambda: None
    state._close_exchange(exchange)
    assert torch.equal(sent + state._residuals[parameter], 128.125 + before)


@pytest.mark.parametrize(
    "dtype, overflows",
    [
        (torch.float32, math.inf),
        (torch.bfloat16, math.inf),
        (torch.float16, 65504.0),  # the largest, with its residual infinite
    ],
)
def test_gradients_that_overflow_leave_no_residual(dtype, overflows):
    """GradScaler skips the step of such an iteration; the next one's gradients are finite."""
    parameter = torch.nn.Parameter(torch.zeros(3, dtype=dtype))
    exchange, session = _record(parameter)
    residuals = {parameter: torch.tensor([100.0, -100.0, 0.3])}
    exchange.send(_bucket(parameter, [overflows, -overflows, 256.0]), residuals)
    rest = residuals.get(parameter, torch.zeros(3))
    total = torch.tensor([math.inf, -math.inf, 128 + 0.3])
    assert torch.equal(session.gradients[0] / 2 + rest, total)
    assert torch.equal(rest[:2], torch.zeros(2))
    exchange.send(_bucket(parameter, [1.0, 1.0, 1.0]), residuals)
    assert torch.equal(session.gradients[1][:2], torch.ones(2))
    assert session.gradients[1].isfinite().all()
