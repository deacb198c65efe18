"""Any of gradweave's pipelines in a PyTorch job, in place of DistributedDataParallel.

    dist.init_process_group("gloo")
    model = ...
    distributed = gradweave.torch.distribute(model, "topk", density=0.001)
    for inputs, targets in batches:
        loss = criterion(model(inputs), targets)
        loss.backward()      # gradients travel meanwhile, and stand averaged in .grad afterwards
        optimizer.step()
        optimizer.zero_grad()

It runs on CPUs, with parameters of 32-bit floats; what else it meets it refuses.
"""

from __future__ import annotations

import ctypes
import inspect
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from ctypes import byref, c_void_p

import torch
import torch.distributed as dist

from gradweave import _library
from gradweave._library import BadInput, algorithms, call, library
from gradweave._recorder import Recorder
from gradweave.study import Plan, compare, plan, predict

__all__ = [
    "BadInput",
    "Distributed",
    "Plan",
    "Recorder",
    "algorithms",
    "check_buckets",
    "compare",
    "ddp_arguments",
    "distribute",
    "plan",
    "predict",
]


def _view(address: int, count: int, dtype: torch.dtype) -> torch.Tensor:
    """Memory that C has, as a tensor."""
    size = count * dtype.itemsize
    return torch.frombuffer((ctypes.c_char * size).from_address(address), dtype=dtype)


def _bytes(address: int, count: int) -> torch.Tensor:
    return _view(address, count, torch.uint8)


class _LentGroup:
    """A process group of PyTorch, as functions for libgradweave. They run on its threads."""

    def __init__(self, group: dist.ProcessGroup | None) -> None:
        self._group = group
        self._size = dist.get_world_size(group)
        self._works: dict[int, dist.Work] = {}
        self._started = 0
        self._complaint = ctypes.create_string_buffer(512)
        self.functions = _library.ProcessGroup(
            rank=dist.get_rank(group),
            size=self._size,
            allreduce=self._lend(_library.ALLREDUCE, self._allreduce),
            allgather=self._lend(_library.ALLGATHER, self._allgather),
            broadcast=self._lend(_library.BROADCAST, self._broadcast),
            reduce=self._lend(_library.REDUCE, self._reduce),
            gather=self._lend(_library.ROOTED, self._gather),
            scatter=self._lend(_library.ROOTED, self._scatter),
            start_send=self._lend(_library.START, self._send),
            start_receive=self._lend(_library.START, self._receive),
            wait=self._lend(_library.WAIT, self._wait),
            complain=_library.COMPLAIN(lambda _: ctypes.addressof(self._complaint)),
        )

    def _lend(self, kind, function):
        def lent(_context, *arguments) -> int:
            try:
                function(*arguments)
            except Exception as error:  # which C cannot raise: it hears of the last line
                text = traceback.format_exception_only(error)[-1].strip().encode()[:511]
                self._complaint.value = text
                return 1
            return 0

        return kind(lent)

    def _global(self, rank: int) -> int:
        return rank if self._group is None else dist.get_global_rank(self._group, rank)

    def _parts(self, address: int | None, size: int) -> list[torch.Tensor]:
        return list(_bytes(address, self._size * size).split(size))

    def _is_own(self, rank: int) -> bool:
        return rank == dist.get_rank(self._group)

    def _allreduce(self, send, receive, count) -> None:
        sums = _view(receive, count, torch.float32)
        sums.copy_(_view(send, count, torch.float32))
        dist.all_reduce(sums, group=self._group)

    def _allgather(self, send, size, receive) -> None:
        dist.all_gather(self._parts(receive, size), _bytes(send, size), group=self._group)

    def _broadcast(self, root, data, size) -> None:
        dist.broadcast(_bytes(data, size), self._global(root), group=self._group)

    def _reduce(self, root, send, receive, count) -> None:
        sums = _view(send, count, torch.float32).clone()
        dist.reduce(sums, self._global(root), group=self._group)
        if self._is_own(root):
            _view(receive, count, torch.float32).copy_(sums)

    def _gather(self, root, send, size, receive) -> None:
        parts = self._parts(receive, size) if self._is_own(root) else None
        dist.gather(_bytes(send, size), parts, self._global(root), group=self._group)

    def _scatter(self, root, send, size, receive) -> None:
        parts = self._parts(send, size) if self._is_own(root) else None
        dist.scatter(_bytes(receive, size), parts, self._global(root), group=self._group)

    def _start(self, work: dist.Work | None, handle) -> None:
        self._started += 1
        handle[0] = self._started
        self._works[self._started] = work

    def _send(self, to, data, size, handle) -> None:
        self._start(dist.isend(_bytes(data, size), self._global(to), group=self._group), handle)

    def _receive(self, source, data, size, handle) -> None:
        self._start(dist.irecv(_bytes(data, size), self._global(source), group=self._group), handle)

    def _wait(self, handle) -> None:
        self._works.pop(handle).wait()


def _check(name: str, parameter: torch.nn.Parameter) -> None:
    if parameter.device.type != "cpu" or parameter.dtype != torch.float32:
        raise BadInput(
            f"{name}: expected 32-bit floats on the CPU, got {parameter.dtype} on {parameter.device}"
        )


class Distributed:
    """Exchanges a module's gradients in each backward pass, until it is closed."""

    def __init__(
        self,
        module: torch.nn.Module,
        algorithm: str,
        *,
        density: float = 0.001,
        groups: Sequence[tuple[int, int]] = (),
        names: Sequence[str] = (),
        compressor: str | None = None,
        exchange: str | None = None,
        group: dist.ProcessGroup | None = None,
        seed: int = 0,
    ) -> None:
        self.module = module
        learning = {n: p for n, p in module.named_parameters() if p.requires_grad}
        for name, parameter in learning.items():
            _check(name, parameter)
        if not learning:
            raise BadInput("expected a module with parameters that learn")
        unknown = [name for name in names if name not in learning]
        if unknown:
            raise BadInput(f"{unknown[0]}: expected a parameter that learns, as the plan names it")
        self.parameters = [learning[name] for name in names or learning]
        self._unplanned = {n: p for n, p in learning.items() if names and n not in set(names)}
        self._lent = _LentGroup(group)
        self._session = c_void_p()
        self._ranks = c_void_p()
        self._synchronises = True
        self._begun = False
        self._queued = False
        self._without: set[int] = set()  # parameters that no gradient came of in this iteration
        self._handles: list[torch.utils.hooks.RemovableHandle] = []
        call("gradweave_join_group", byref(self._lent.functions), byref(self._ranks))
        try:
            self._open(algorithm, density, groups, compressor, exchange, seed)
        except Exception:
            self.close()
            raise
        self._agree_on_parameters()
        self._listen()

    def _open(self, algorithm, density, groups, compressor, exchange, seed) -> None:
        elements = (ctypes.c_uint64 * len(self.parameters))(*[p.numel() for p in self.parameters])
        plan = (_library.Group * len(groups))(*[_library.Group(*pair) for pair in groups])
        training = _library.Training(
            tensor_count=len(self.parameters),
            elements=elements,
            algorithm=algorithm.encode(),
            compressor=compressor.encode() if compressor else None,
            exchange=exchange.encode() if exchange else None,
            density=density,
            groups=plan,
            group_count=len(groups),
            average=1,
            seed=seed,
        )
        call("gradweave_session_open", byref(training), self._ranks, byref(self._session))
        serves = torch.tensor([library.gradweave_session_serves(self._session)])
        dist.all_reduce(serves, dist.ReduceOp.MAX, group=self._lent._group)
        if serves.item():
            raise BadInput(f"{algorithm}: expected a pipeline without a server, as all ranks train")

    def _agree_on_parameters(self) -> None:
        """Rank 0's, and its buffers, on all ranks."""
        for tensor in [*self.module.parameters(), *self.module.buffers()]:
            data = tensor.detach().contiguous()
            size = data.numel() * data.element_size()
            call("gradweave_ranks_broadcast", self._ranks, data.data_ptr(), size)
            tensor.detach().copy_(data)

    def _listen(self) -> None:
        for name, parameter in self._unplanned.items():
            self._handles.append(
                parameter.register_post_accumulate_grad_hook(
                    lambda _, name=name: self._refuse(name)
                )
            )
        self._handles.append(self.module.register_forward_pre_hook(self._before_forward))
        self._handles.append(self.module.register_forward_hook(self._after_forward))
        for index, parameter in enumerate(self.parameters):
            self._handles.append(
                parameter.register_post_accumulate_grad_hook(
                    lambda p, index=index: self._on_gradient(index, p)
                )
            )

    # ---- an iteration, on autograd's threads ----------------------------------------------------

    def _begin(self) -> None:
        if not self._begun:
            call("gradweave_session_begin", self._session)
            self._begun = True
            self._without = set(range(len(self.parameters)))

    def _before_forward(self, module, _inputs) -> None:
        if module.training and torch.is_grad_enabled() and self._synchronises:
            self._begin()

    def _after_forward(self, _module, _inputs, _outputs) -> None:
        if self._begun:
            library.gradweave_session_backward(self._session)

    @staticmethod
    def _refuse(name: str) -> None:
        raise BadInput(f"{name}: a gradient came, but the plan does not have it: record the job anew")

    def _on_gradient(self, index: int, parameter: torch.nn.Parameter) -> None:
        if not self._synchronises:
            return
        self._begin()
        if not self._queued:
            torch.autograd.Variable._execution_engine.queue_callback(self._finish)
            self._queued = True
        if not parameter.grad.is_contiguous():
            parameter.grad = parameter.grad.contiguous()
        address = parameter.grad.data_ptr()
        self._without.discard(index)
        call("gradweave_session_ready", self._session, index, address, address)

    def _finish(self) -> None:
        """When the backward pass ends: until the averages stand where the gradients were."""
        self._queued = False
        self._begun = False
        call("gradweave_session_wait", self._session)
        for index in self._without:
            self._take_others(index)

    def _take_others(self, index: int) -> None:
        """Of a parameter that this rank had no gradient of, which others may have had."""
        parameter = self.parameters[index]
        address = library.gradweave_session_aggregate(self._session, index)
        average = _view(address, parameter.numel(), torch.float32)
        if average.any():
            parameter.grad = average.clone().view_as(parameter)

    # ---- for the trainer ------------------------------------------------------------------------

    @contextmanager
    def no_sync(self) -> Iterator[None]:
        """Gradients only accumulate on each rank, as with DistributedDataParallel."""
        self._synchronises, before = False, self._synchronises
        try:
            yield
        finally:
            self._synchronises = before

    def verify(self) -> None:
        """Fails unless all ranks got the same averages, bit for bit; all ranks call it."""
        call("gradweave_session_verify", self._session)

    def measure(self) -> dict[str, float]:
        """Where the time of the last iteration went, in the mean of the ranks, which all call it."""
        took = _library.Prediction()
        call("gradweave_session_measure", self._session, byref(took))
        return {name: getattr(took, name) for name, _ in took._fields_ if name != "algorithm"}

    def close(self) -> None:
        """Gradients are the ranks' own again."""
        for handle in self._handles:
            handle.remove()
        self._handles.clear()
        library.gradweave_session_close(self._session)
        library.gradweave_leave(self._ranks)
        self._session, self._ranks = c_void_p(), c_void_p()


def _bucket_bytes(plan: Plan) -> list[int]:
    return [sum(plan.bytes[last : first + 1]) for first, last in plan.groups]


def ddp_arguments(plan: Plan) -> dict[str, list[float]]:
    """With which DistributedDataParallel's buckets become a dense plan's, from the second iteration on.

    `DistributedDataParallel(module, **ddp_arguments(plan))`; it takes such lists since PyTorch 2.13.
    """
    taken = inspect.signature(torch.nn.parallel.DistributedDataParallel.__init__).parameters
    if "bucket_cap_mb_list" not in taken:
        raise BadInput(
            "expected PyTorch 2.13 or newer, whose DistributedDataParallel takes "
            f"bucket_cap_mb_list, got {torch.__version__}"
        )
    return {"bucket_cap_mb_list": [size / 2**20 for size in _bucket_bytes(plan)]}


def check_buckets(module: torch.nn.parallel.DistributedDataParallel, plan: Plan) -> None:
    """Fails unless DDP's buckets are the plan's; to be asked after the third iteration."""
    text = module._get_ddp_logging_data().get("rebuilt_bucket_sizes")
    if text is None:
        raise BadInput("expected DistributedDataParallel to have rebuilt its buckets by now")
    sizes = [int(size) for size in str(text).split(",")]
    if sizes != _bucket_bytes(plan):
        raise BadInput(f"expected buckets of {_bucket_bytes(plan)} bytes, as planned, got {sizes}")


def distribute(module: torch.nn.Module, plan: Plan | str, **options) -> Distributed:
    """Lets a module's gradients travel by a plan, or by the pipeline of a name, all in one group.

    `options` are Distributed's. Parameters that a plan does not name must never get a gradient.
    """
    if isinstance(plan, str):
        return Distributed(module, plan, **options)
    options = {"density": plan.density, "groups": plan.groups, "names": plan.names, **options}
    return Distributed(module, plan.algorithm, **options)
