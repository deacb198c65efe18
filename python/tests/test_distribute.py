"""Users' scripts around `distribute`: they run as with DistributedDataParallel, or are refused."""

from __future__ import annotations

import contextlib
import copy
import math
import pickle
import time

import pytest

torch = pytest.importorskip("torch")
import torch.distributed as dist  # noqa: E402
from ranks import on_all_ranks, on_ranks  # noqa: E402
from test_torch import SERVED, assert_equal_on_ranks, batch, flat, loss_of, network, train  # noqa: E402
from torch.distributed.algorithms.ddp_comm_hooks import powerSGD_hook  # noqa: E402
from torch.distributed.fsdp import fully_shard  # noqa: E402
from torch.nn.parallel import DistributedDataParallel  # noqa: E402
from torch.testing._internal.two_tensor import TwoTensor  # noqa: E402

import gradweave.torch as gt  # noqa: E402
from gradweave._library import GradweaveError  # noqa: E402


def _pass(model, rank: int, step: int = 0, dtype=torch.float32) -> None:
    model(batch(rank, step)[0].to(dtype)).square().mean().backward()


# ---- a module that changes ----------------------------------------------------------------------


@on_all_ranks
def test_gradients_of_another_type_are_refused(rank: int) -> None:
    """C would read and write as many bytes as floats have."""
    for algorithm in ("topk", "dense", "lags"):
        for dtype in (torch.bfloat16, torch.half, torch.double):
            model = network()
            gt.distribute(model, algorithm)
            _pass(model, rank)
            model.to(dtype)
            model.zero_grad()
            with pytest.raises(gt.BadInput) as raised:
                _pass(model, rank, dtype=dtype)
            assert str(raised.value) == (
                "3.bias: expected a gradient of 4 of torch.float32 on cpu, as when it was "
                f"distributed, got 4 of {dtype} on cpu: close() and distribute the module anew"
            )
            if dtype == torch.double:
                with pytest.raises(gt.BadInput, match=f"0.weight: expected floats .* got {dtype}"):
                    gt.distribute(model, algorithm)
            model.float().zero_grad()
            again = gt.distribute(model, algorithm)
            train(again, rank, 3, model)
            assert_equal_on_ranks(model)
            again.close()


class Parts(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = torch.nn.Linear(20, 8)
        self.frozen = torch.nn.Linear(8, 8).requires_grad_(False)
        self.drop = torch.nn.Dropout(0.0)
        self.last = torch.nn.Linear(8, 4)

    def forward(self, inputs):
        return self.last(self.drop(self.frozen(self.first(inputs))))


def _replace(model: Parts) -> None:
    model.last = torch.nn.Linear(8, 4)


def _assign(model: Parts) -> None:
    model.load_state_dict({n: p.clone() for n, p in model.state_dict().items()}, assign=True)


def _add(model: Parts) -> None:
    model.scale = torch.nn.Parameter(torch.ones(1))


def _delete(model: Parts) -> None:
    model.last.register_parameter("bias", None)


def _unfreeze(model: Parts) -> None:
    model.frozen.requires_grad_(True)


CHANGES = {
    _assign: "first.weight: expected the parameter that was distributed, but it is another one",
    _replace: "last.weight: expected the parameter that was distributed, but it is another one",
    _delete: "last.bias: expected the parameter that was distributed, but it is gone",
    _add: "scale: expected a parameter that was distributed, or that does not learn",
    _unfreeze: "frozen.weight: expected a parameter that was distributed, or that does not learn",
}


def _change(rank: int, algorithm: str) -> None:
    """On the last rank that trains alone, so that the others only hear of it."""
    for change, message in CHANGES.items():
        model = Parts()
        distributed = gt.distribute(model, algorithm)
        if distributed.serves:
            with pytest.raises(gt.BadInput, match=message):
                distributed.serve()
        else:
            _pass(model, rank)
            model.zero_grad()
            if rank == 1:
                change(model)
            with pytest.raises(gt.BadInput, match=message):
                _pass(model, rank)
        if rank != 1:
            change(model)
        again = gt.distribute(model, algorithm)  # the one that failed is closed
        if again.serves:
            again.serve()
        else:
            train(again, rank, 3, model)
            again.check_parameters()
        again.close()


def _change_nothing(rank: int) -> None:
    model = Parts()
    distributed = gt.distribute(model, "topk", density=0.1)
    _pass(model, rank)
    for parameter in model.parameters():
        parameter.data = parameter.data.clone()
    model.drop = torch.nn.Identity()
    model.load_state_dict(model.state_dict())
    model.zero_grad()
    train(model, rank, 3, model)
    distributed.check_parameters()
    distributed.close()


def _move_a_buffer(rank: int) -> None:
    model = _normed()
    distributed = gt.distribute(model, "topk")
    _pass(model, rank)
    if rank == 1:
        model[1].running_mean = model[1].running_mean.to("meta")
    expected = "1.running_mean: expected a buffer of 8 .* on cpu, .* got 8 of .* on meta"
    with pytest.raises(gt.BadInput, match=expected):
        _pass(model, rank)
    distributed.close()


def _train_what_is_not_planned(rank: int) -> None:
    """On rank 1 alone."""
    model = network()
    names = [name for name, _ in model.named_parameters() if name[0] != "3"]
    distributed = gt.distribute(model, "topk", names=names)
    model[3].requires_grad_(rank == 1)
    with pytest.raises(gt.BadInput, match="3.*: a gradient came, but the plan does not have it"):
        _pass(model, rank)
    distributed.close()


def _change_what_else_there_is(rank: int) -> None:
    _change_nothing(rank)
    _move_a_buffer(rank)
    _train_what_is_not_planned(rank)


def test_a_module_that_changes_is_refused_until_it_is_distributed_anew(tmp_path):
    on_ranks(tmp_path, _change, "topk")
    on_ranks(tmp_path, _change, "ps", ranks=3)
    on_ranks(tmp_path, _change_what_else_there_is)


# ---- parameters without gradients, and buffers --------------------------------------------------


class Branches(torch.nn.Module):
    """Rank 0 takes the first branch, others the second, nobody the third."""

    def __init__(self, rank: int) -> None:
        super().__init__()
        torch.manual_seed(2)
        self.own = min(rank, 1)
        self.branches = torch.nn.ModuleList([torch.nn.Linear(20, 4) for _ in range(3)])

    def forward(self, inputs):
        return self.branches[self.own](inputs)


def _leave_out(rank: int, algorithm: str) -> None:
    """Also where one rank is late to say that it has none. Signs have no zero to send."""
    unused = algorithm == "onebit"
    model, theirs = Branches(rank), Branches(rank)
    distributed = gt.distribute(model, algorithm, density=0.5)
    if distributed.serves:
        distributed.serve()
        distributed.close()
        return
    note = distributed._session.note_absent
    distributed._session.note_absent = lambda flags: (time.sleep(0.05 * (rank == 1)), note(flags))
    for step in range(2):
        model.zero_grad()
        _pass(model, rank, step)
        has = [p.grad is not None for p in model.parameters()]
        assert has == [True, True, True, True, unused, unused], algorithm
    if algorithm == "dense":
        ddp = DistributedDataParallel(theirs, find_unused_parameters=True)
        _pass(ddp, rank, 1)
        for own, other in zip(model.parameters(), theirs.parameters()):
            assert (own.grad is None) == (other.grad is None)
            assert own.grad is None or torch.allclose(own.grad, other.grad)
    distributed.close()


def _take_turns(rank: int) -> None:
    """Sessions on one of the job's groups, where rank 1 is late to read what others lack."""
    group = dist.new_group([0, 1])
    model = Branches(rank)
    for _ in range(3):
        distributed = gt.distribute(model, "dense", group=group)
        read = distributed._session.read_notes
        distributed._session.read_notes = lambda: (time.sleep(0.5 * (rank == 1)), read())[1]
        model.zero_grad()
        _pass(model, rank)
        distributed.close()
        assert [p.grad is None for p in model.branches[2].parameters()] == [True, True]


def _freeze(rank: int, algorithm: str) -> None:
    """Neither weight decay nor momentum nor what was not sent yet moves it."""
    model = network()
    distributed = gt.distribute(model, algorithm, density=0.05)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, weight_decay=0.1)
    for step in range(6):
        if step == 3:
            model[2].requires_grad_(False)
            before = flat(model[2])
        if step == 5:
            model[2].requires_grad_(True)
        _pass(model, rank, step)
        optimizer.step()
        optimizer.zero_grad()
        assert step < 3 or torch.equal(before, flat(model[2])) == (step < 5)
    distributed.check_parameters()
    distributed.close()


def _freeze_all(rank: int) -> None:
    for algorithm in sorted(set(gt.algorithms()) - SERVED):
        _leave_out(rank, algorithm)
    for algorithm in ("dense", "topk", "lags", "gaussiank"):
        _freeze(rank, algorithm)


def _leave_out_served(rank: int) -> None:
    for algorithm in sorted(SERVED):
        _leave_out(rank, algorithm)


def test_a_parameter_without_gradients_on_all_ranks_keeps_none(tmp_path):
    on_ranks(tmp_path, _freeze_all)
    on_ranks(tmp_path, _take_turns)
    on_ranks(tmp_path, _leave_out, "dense", ranks=3)
    on_ranks(tmp_path, _leave_out_served, ranks=4)


def _normed() -> torch.nn.Module:
    torch.manual_seed(4)
    return torch.nn.Sequential(
        torch.nn.Linear(20, 8), torch.nn.BatchNorm1d(8), torch.nn.Linear(8, 4)
    )


def _share_buffers(rank: int, algorithm: str) -> None:
    trainers = dist.get_world_size() - (algorithm == "ps")
    some = dist.new_group(list(range(trainers)))
    for shares in (True, False):
        model, theirs = _normed(), _normed()
        model[1].running_mean += rank  # which the first forward pass that shares makes rank 0's
        theirs[1].running_mean += rank
        distributed = gt.distribute(model, algorithm, broadcast_buffers=shares)
        if distributed.serves:
            distributed.serve()
            distributed.close()
            continue
        train(distributed, rank, 8, model)
        ddp = DistributedDataParallel(theirs, process_group=some, broadcast_buffers=shares)
        train(ddp, rank, 8, theirs)
        for own, other in zip(model.buffers(), theirs.buffers()):
            torch.testing.assert_close(own, other, rtol=1e-5, atol=1e-6)
        with pytest.raises(GradweaveError, match="1.running_mean: expected the same on all ranks"):
            distributed.check_parameters(buffers=True)  # each has seen a batch of its own since
        for trained in (distributed, ddp):
            with torch.no_grad():
                trained(batch(rank, 0)[0])  # each rank has buffers of its own again
            trained.eval()
            with torch.no_grad():
                trained(batch(rank, 0)[0])
        for own, other in zip(model.buffers(), theirs.buffers()):
            torch.testing.assert_close(own, other, rtol=1e-5, atol=1e-6)
        distributed.close()


def _evaluate(rank: int) -> None:
    """After a pass that trained all evaluate with rank 0's buffers; also when it was closed."""
    model = _normed()
    distributed = gt.distribute(model, "topk")
    train(distributed, rank, 2, model)
    model.eval()
    if rank == 0:
        model(batch(0, 0)[0])  # the bare module, alone
    with torch.no_grad():
        distributed(batch(0, 0)[0])
    distributed.check_parameters(buffers=True)
    model.train()
    train(distributed, rank, 2, model)
    distributed.close()
    distributed(batch(rank, 0)[0])


def _begin_alike(rank: int) -> None:
    """Only DDP's old name for it leaves buffers alone at first as well."""
    for option, mean in (("forward_sync_buffers", 0), ("broadcast_buffers", rank)):
        model = _normed()
        model[1].running_mean.fill_(rank)
        distributed = gt.distribute(model, "dense", **{option: False})
        assert bool((model[1].running_mean == mean).all())
        train(distributed, rank, 2, model)
        with torch.no_grad():
            distributed(batch(rank, 0)[0])
        with pytest.raises(GradweaveError, match="1.running_mean: expected the same on all ranks"):
            distributed.check_parameters(buffers=True)
        distributed.close()


def test_buffers_are_rank_0s_as_with_ddp(tmp_path):
    on_ranks(tmp_path, _begin_alike)
    on_ranks(tmp_path, _share_buffers, "dense")
    on_ranks(tmp_path, _share_buffers, "ps", ranks=4)
    on_ranks(tmp_path, _evaluate)


# ---- uneven inputs ------------------------------------------------------------------------------


def _join(rank: int, algorithm: str, counts: list[int], stops: bool = False) -> None:
    """`stops`: rank 1 begins an iteration more, and ends between its two passes."""
    model, theirs = _normed(), _normed()
    trainers = len(counts)
    some = dist.new_group(list(range(trainers)))
    distributed = gt.distribute(model, algorithm, density=0.3)
    if distributed.serves:
        assert distributed.serve() == max(counts)
    else:
        with distributed.join():
            train(distributed, rank, counts[rank], model, momentum=0)
            if stops and rank == 1:
                distributed(batch(rank, counts[rank])[0])
        distributed.check_parameters(buffers=len(set(counts)) > 1)
        if algorithm in ("dense", "ps"):
            ddp = DistributedDataParallel(theirs, process_group=some)
            with ddp.join():
                train(ddp, rank, counts[rank], theirs, momentum=0)
            torch.testing.assert_close(flat(model), flat(theirs), rtol=1e-5, atol=1e-6)
    distributed.close()


def _evaluate_within(rank: int) -> None:
    """Each rank evaluates after its iterations; rank 0 has none."""
    model = _normed()
    distributed = gt.distribute(model, "dense")
    with torch.no_grad():
        distributed(batch(rank, 0)[0])
    with distributed.join():
        for _ in range(rank):
            model.train()
            train(distributed, rank, 1, model)
            model.eval()
            distributed(batch(rank, 0)[0])
    distributed.check_parameters(buffers=True)
    model.train()
    train(distributed, rank, 2, model)
    distributed.check_parameters()
    distributed.close()


def _join_all(rank: int) -> None:
    _evaluate_within(rank)
    for algorithm in ("dense", "topk", "gaussiank"):
        for counts in ([5, 3, 4], [2, 6, 2], [3, 3, 3], [0, 2, 1]):
            _join(rank, algorithm, counts)
        _join(rank, algorithm, [3, 2, 3], stops=True)
    distributed = gt.distribute(network(), "topk")
    with pytest.raises(GradweaveError, match="join: rank 1 has no inputs left, and rank 0 has"):
        with distributed.join(throw_on_early_termination=True):
            train(distributed, rank, [3, 2, 3][rank], distributed.module)
    with pytest.raises(gt.BadInput, match="divide_by_initial_world_size: expected True"):
        with distributed.join(divide_by_initial_world_size=False):
            pass
    distributed.close()


def test_ranks_with_fewer_inputs_take_part_until_the_others_end(tmp_path):
    on_ranks(tmp_path, _join_all, ranks=3)
    on_ranks(tmp_path, _join, "ps", [2, 4, 3], ranks=4)
    on_ranks(tmp_path, _join, "ps", [3, 2, 4], True, ranks=4)


# ---- in place of DistributedDataParallel --------------------------------------------------------


def _replace_ddp(rank: int, is_bare: bool) -> None:
    """The same lines train by either; an optimizer takes the bare module's parameters, or its."""
    trained, names = [], []
    arguments = {"find_unused_parameters": True, "broadcast_buffers": False, "device_ids": None}
    for wrap in (
        lambda module: DistributedDataParallel(module, **arguments),
        lambda module: gt.distribute(module, "dense", process_group=dist.group.WORLD, **arguments),
    ):
        module = network()
        before = torch.optim.SGD(module.parameters(), lr=0.1)
        model = wrap(module)
        assert isinstance(model, torch.nn.Module) and model.module is module
        assert model.train() is model and model.to("cpu") is model
        assert model.requires_grad_(True) is model
        optimizer = before if is_bare else torch.optim.SGD(model.parameters(), lr=0.1)
        for step in range(4):
            with model.no_sync() if step == 1 else contextlib.nullcontext():
                loss_of(model, rank, step).backward()
            if step != 1:
                torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
                optimizer.step()
                model.zero_grad()
        assert model.eval() is model and not module.training
        trained.append(flat(module))
        names.append([[name for name, _ in model.named_parameters()], list(model.state_dict())])
    torch.testing.assert_close(trained[0], trained[1], rtol=1e-5, atol=1e-6)
    assert names[0] == names[1]
    with pytest.raises(AttributeError, match="nonsense"):
        model.nonsense
    model.close()


def _copy(rank: int) -> None:
    """Copies of the bare module are bare; those of what distributes it would share its ranks."""
    module = network()
    model = gt.distribute(module, "topk", density=0.1)
    for copied in (copy.deepcopy(module), pickle.loads(pickle.dumps(module))):
        _pass(copied, rank)
        train(gt.distribute(copied, "dense"), rank, 2, copied)
        copied.zero_grad()
    train(model, rank, 2, module)
    model.check_parameters()
    for copies in (copy.deepcopy, copy.copy, pickle.dumps):
        with pytest.raises(gt.BadInput, match="expected to copy or to pickle the bare module"):
            copies(model)
    model.close()


REFUSED = {
    "bucket_cap_mb: expected None, as groups= says what travels together": {"bucket_cap_mb": 25},
    "gradient_as_bucket_view: expected False": {"gradient_as_bucket_view": True},
    "device_ids: expected that of the module's parameters, cpu, got cuda:0": {"device_ids": [0]},
    "device_ids: expected None, as gradweave has nothing like it": {"device_ids": [0, 1]},
    "expected None, as gradients travel as the parameters' type": {"mixed_precision": "bf16"},
    "forward_sync_buffers: expected none beside broadcast_buffers": {
        "broadcast_buffers": True,
        "forward_sync_buffers": False,
    },
    "process_group: expected none beside group": {"group": 1, "process_group": 1},
    r"density: expected a number in \(0, 1\], got 0": {"density": 0},
    r"density: expected a number in \(0, 1\], got 50": {"density": 50},
    r"density: expected a number in \(0, 1\], got nan": {"density": math.nan},
    r"density: expected a number in \(0, 1\], got '1%'": {"density": "1%"},
    r"density: expected a number in \(0, 1\], got None": {"density": None},
    "groups: expected pairs of numbers of tensors, .* got None": {"groups": None},
    r"groups: expected pairs of numbers of tensors, .* got \[5, 0\]": {"groups": [5, 0]},
    "compressor: expected a name, got int": {"compressor": 3},
}


def _wrap_twice(rank: int) -> None:
    """DistributedDataParallel around a distributed module, made before that or after it."""
    for is_first in (True, False):
        module = network()
        ddp = DistributedDataParallel(module) if is_first else None
        distributed = gt.distribute(module, "dense")
        ddp = ddp or DistributedDataParallel(module)
        with pytest.raises(gt.BadInput, match="got a forward pass of DistributedDataParallel aro"):
            _pass(ddp, rank)
        distributed.close()
    inner, outer = network(), torch.nn.Linear(20, 20)
    distributed = gt.distribute(inner, "dense")
    outer.register_forward_hook(lambda _module, _inputs, output: distributed(output))
    _pass(DistributedDataParallel(outer), rank)  # which has other parameters
    assert_equal_on_ranks(inner)
    distributed.close()


def _refuse(rank: int) -> None:
    model = network()
    for message, options in REFUSED.items():
        with pytest.raises(gt.BadInput, match=message):
            gt.distribute(model, algorithm="topk", **options)
    with pytest.raises(gt.BadInput, match="algorithm: expected a name, got NoneType"):
        gt.distribute(model, None)
    with pytest.raises(gt.BadInput, match="module: expected a torch.nn.Module, got generator"):
        gt.distribute(model.parameters(), "topk")
    with pytest.raises(TypeError, match="unexpected keyword argument 'densty'"):
        gt.distribute(model, "topk", densty=0.1)
    with pytest.raises(gt.BadInput, match="expected a bare module, got DistributedDataParallel"):
        gt.distribute(DistributedDataParallel(model), "topk")
    with pytest.raises(gt.BadInput, match="1: expected a bare module, got DistributedDataPar"):
        inner = DistributedDataParallel(torch.nn.Linear(2, 2))
        gt.distribute(torch.nn.Sequential(torch.nn.Linear(2, 2), inner), "topk")
    distributed = gt.distribute(model, "topk")
    for again in (model, model[3], distributed):
        with pytest.raises(gt.BadInput, match="close.. "):
            gt.distribute(again, "topk")
    with pytest.raises(gt.BadInput, match="0: expected a bare module, got what distribute.. ret"):
        gt.distribute(torch.nn.Sequential(distributed), "topk")
    distributed.close()
    gt.distribute(model, "topk").close()
    sharded = network()
    fully_shard(sharded)
    with pytest.raises(gt.BadInput, match="0.weight: expected a plain tensor .* got .*FSDP2"):
        gt.distribute(sharded, "topk")
    sharded = network()
    fully_shard(sharded[0].requires_grad_(False))
    with pytest.raises(gt.BadInput, match="0.weight: expected a plain tensor .* got .*FSDP2"):
        gt.distribute(sharded, "topk")
    with pytest.raises(gt.BadInput, match="0.weight: expected a tensor with a shape"):
        gt.distribute(torch.nn.Sequential(torch.nn.LazyLinear(4)), "topk")
    wrapped = network()
    wrapped.scales = torch.nn.Parameter(
        TwoTensor(torch.ones(3), torch.ones(3)), requires_grad=False
    )
    for options in ({}, {"init_sync": False}, {"broadcast_buffers": False}):
        wrapped.register_buffer("shifts", TwoTensor(torch.ones(3), torch.ones(3)))
        with pytest.raises(gt.BadInput, match="s: expected a plain tensor .*; frozen ones"):
            gt.distribute(wrapped, "topk", **options)
    pair = dist.new_group([0])
    if rank == 1:
        with pytest.raises(gt.BadInput, match="group: expected one that this rank is in"):
            gt.distribute(model, "topk", group=pair)


def _wrap_tensors(rank: int) -> None:
    """Frozen tensors that hold others, such as quantised ones, stay each rank's own."""
    model = network()
    model.scales = torch.nn.Parameter(TwoTensor(torch.ones(3), torch.ones(3)), requires_grad=False)
    model.register_buffer("shifts", TwoTensor(torch.ones(3), torch.full((3,), float(rank))))
    distributed = gt.distribute(model, "topk", init_sync=False, broadcast_buffers=False)
    with distributed.join():
        train(distributed, rank, 2 + rank, model)
    distributed.check_parameters()
    with pytest.raises(GradweaveError, match="shifts: expected the same on all ranks"):
        distributed.check_parameters(buffers=True)
    distributed.close()


def test_acts_as_ddp_does_or_says_why_not(tmp_path):
    on_ranks(tmp_path, _wrap_tensors)
    on_ranks(tmp_path, _replace_ddp, True)
    on_ranks(tmp_path, _replace_ddp, False)
    on_ranks(tmp_path, _copy)
    on_ranks(tmp_path, _refuse)
    on_ranks(tmp_path, _wrap_twice)


def test_a_missing_process_group_is_named(tmp_path):
    for call in (
        lambda: gt.distribute(network(), "topk"),
        lambda: gt.calibrate(str(tmp_path / "cluster.json")),
    ):
        with pytest.raises(gt.BadInput, match="init_process_group on all ranks first"):
            call()


# ---- factors ------------------------------------------------------------------------------------


class Wide(torch.nn.Module):
    """A matrix that is worth two factors of rank 4, one that is not, and their vectors."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(3)
        self.layers = torch.nn.Sequential(
            torch.nn.Linear(64, 48), torch.nn.Tanh(), torch.nn.Linear(48, 2)
        )

    def forward(self, inputs):
        return self.layers(inputs)


def _step_once(model, rank: int, step: int) -> list:
    """One input, so that each rank's gradient of a matrix has rank 1."""
    generator = torch.Generator().manual_seed(100 * step + rank)
    model.zero_grad()
    model(torch.randn(1, 64, generator=generator)).square().sum().backward()
    return [parameter.grad.clone() for parameter in model.parameters()]


@on_all_ranks
def test_factors_of_as_many_inputs_as_their_rank_are_the_mean(rank: int) -> None:
    """As with PyTorch's hook: the sum of up to four matrices of rank 1 is two factors of rank 4."""
    assert dist.get_world_size() <= 4
    own, theirs = Wide(), DistributedDataParallel(Wide())
    dense = DistributedDataParallel(Wide())
    state = powerSGD_hook.PowerSGDState(None, 4, start_powerSGD_iter=2)
    theirs.register_comm_hook(state, powerSGD_hook.powerSGD_hook)
    distributed = gt.distribute(own, "powersgd")
    for step in range(4):
        expected = _step_once(dense, rank, step)
        for model in (own, theirs):
            for got, mean in zip(_step_once(model, rank, step), expected):
                assert torch.allclose(got, mean, rtol=1e-3, atol=2e-5)
    assert_equal_on_ranks(own)
    distributed.close()


@on_all_ranks
def test_what_factors_leave_out_is_sent_later(rank: int) -> None:
    """Of a gradient that stays, the mean of what was sent comes near: error feedback."""
    model, dense = Wide(), DistributedDataParallel(Wide())
    distributed = gt.distribute(model, "powersgd", compressor="powersgd:1")
    mean = _step_once(dense, rank, 0)[0]
    sent = torch.zeros_like(mean)
    errors = []
    for _ in range(80):
        sent += _step_once(model, rank, 0)[0]
        errors.append(((sent / (len(errors) + 1) - mean).norm() / mean.norm()).item())
    assert errors[0] > 0.05
    assert errors[-1] < 0.25 * errors[0]
    distributed.close()


class Gated(torch.nn.Module):
    """A matrix that a gate leaves out, and a vector whose gradients differ between ranks."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(5)
        self.matrix = torch.nn.Parameter(torch.randn(40, 40))
        self.vector = torch.nn.Parameter(torch.zeros(40))

    def forward(self, inputs, gate: float, slope: float):
        return gate * (inputs @ self.matrix).square().mean() + slope * self.vector.sum()


@on_all_ranks
def test_one_gradient_of_zeros_does_not_stop_a_matrix(rank: int) -> None:
    """Unlike PyTorch's hook of rank 1 and 2; and vectors are the mean, without a residual."""
    mean = sum(range(dist.get_world_size())) / dist.get_world_size()
    for factors in (1, 2, 4):
        model = Gated()
        distributed = gt.distribute(model, "powersgd", compressor=f"powersgd:{factors}")
        generator = torch.Generator().manual_seed(rank)
        for step in range(12):
            model.zero_grad()
            gate = 0.0 if step in (0, 5) else 1.0
            model(torch.randn(8, 40, generator=generator), gate, float(rank)).backward()
            moves = model.matrix.grad.abs().max().item()
            assert 0 < moves < 100 if step > 0 else moves == 0
            assert torch.equal(model.vector.grad, torch.full((40,), mean))
        assert_equal_on_ranks(model)
        distributed.close()
