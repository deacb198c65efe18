"""A module's gradients, exchanged by a session of libgradweave while the backward pass goes on."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from ctypes import byref, c_void_p

import torch
import torch.distributed as dist

from gradweave import _library
from gradweave._library import BadInput, call, library
from gradweave.study import Plan
from gradweave.torch.group import LentGroup, view


def _check(name: str, parameter: torch.nn.Parameter) -> None:
    if parameter.device.type != "cpu" or parameter.dtype != torch.float32:
        raise BadInput(
            f"{name}: expected 32-bit floats on the CPU, got {parameter.dtype} on "
            f"{parameter.device}"
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
        self._lent = LentGroup(group)
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
        dist.all_reduce(serves, dist.ReduceOp.MAX, group=self._lent.group)
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
        raise BadInput(
            f"{name}: a gradient came, but the plan does not have it: record the job anew"
        )

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
        average = view(address, parameter.numel(), torch.float32)
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
        """Where the last iteration's time went, in the mean of the ranks, which all call it."""
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


def distribute(module: torch.nn.Module, plan: Plan | str, **options) -> Distributed:
    """Lets a module's gradients travel by a plan, or by the pipeline of a name, all in one group.

    `options` are Distributed's. Parameters that a plan does not name must never get a gradient.
    """
    if isinstance(plan, str):
        return Distributed(module, plan, **options)
    options = {"density": plan.density, "groups": plan.groups, "names": plan.names, **options}
    return Distributed(module, plan.algorithm, **options)
