"""A module's gradients, exchanged by a session of libgradweave while the backward pass goes on."""

from __future__ import annotations

import ctypes
import weakref
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import chain
from typing import Any

import torch
import torch.distributed as dist
from torch.nn.parallel import DataParallel, DistributedDataParallel
from torch.utils._python_dispatch import is_traceable_wrapper_subclass
from torch.utils._pytree import tree_leaves

from gradweave._library import BadInput, GradweaveError
from gradweave.study import Plan
from gradweave.torch.arguments import check_ddp_arguments
from gradweave.torch.checkpoints import Checkpoints, is_exchange_state
from gradweave.torch.parameters import Buffers, GradientCheck, Roster
from gradweave.torch.session import Session, first_dimensions
from gradweave.torch.uneven import ENDED, ITERATES, SHARES_BUFFERS, UnevenInputs

_FROZEN, _LEARNS, _IS_THERE = 0, 1, 2  # a parameter without a gradient, twice; one with it

_open: weakref.WeakSet[Distributed] = weakref.WeakSet()


def _check_bare(module: torch.nn.Module) -> None:
    """Fails if another object exchanges the module's gradients; closes those that have failed."""
    if not isinstance(module, torch.nn.Module):
        raise BadInput(f"module: expected a torch.nn.Module, got {type(module).__name__}")
    for name, part in module.named_modules():
        kind = type(part).__name__
        if isinstance(part, Distributed):
            raise BadInput(
                f"{name or 'module'}: expected a bare module, got what distribute() returned: "
                "close() that, and distribute its .module"
            )
        if isinstance(part, (DistributedDataParallel, DataParallel)) or "FullySharded" in kind:
            raise BadInput(
                f"{name or 'module'}: expected a bare module, got {kind}, which exchanges "
                "gradients itself: distribute the module before it is wrapped"
            )
    own = {id(one) for one in (*module.modules(), *module.parameters())}
    for other in list(_open):
        hooked = [("module", other.module), *other.named_learning()]
        shared = [name for name, one in hooked if id(one) in own]
        if shared and other.is_over:
            other.close()
        elif shared:
            raise BadInput(
                f"{shared[0]}: expected one that is not distributed yet: close() what distribute "
                "returned first"
            )


def _checksum(tensor: torch.Tensor) -> int:
    if is_traceable_wrapper_subclass(tensor):
        parts, _ = tensor.__tensor_flatten__()
        return zlib.crc32(str([_checksum(getattr(tensor, part)) for part in parts]).encode())
    data = tensor.detach().cpu().contiguous()
    size = data.numel() * data.element_size()
    return zlib.crc32((ctypes.c_char * size).from_address(data.data_ptr())) if size else 0


def check_equal(
    tensors: dict[str, torch.Tensor], gather: Callable[[list[int]], list[list[int]]]
) -> None:
    """Fails unless all ranks that `gather` hears of hold the same bits; all ranks call it."""
    sums = gather([_checksum(tensor) for tensor in tensors.values()])
    for index, name in enumerate(tensors):
        for rank, of_rank in enumerate(sums):
            if of_rank[index] != sums[0][index]:
                raise GradweaveError(
                    f"{name}: expected the same on all ranks, but rank {rank}'s differs from "
                    "rank 0's"
                )


class _ModuleHook:
    """Calls a method for a module. Copies of the module, pickled ones too, have one without it."""

    def __init__(self, method: Callable[..., None] | None = None) -> None:
        self._method = method

    def __call__(self, *arguments) -> None:
        if self._method is not None:
            self._method(*arguments)

    def __reduce__(self) -> tuple:
        return _ModuleHook, ()


class Distributed(torch.nn.Module):
    """Exchanges the gradients of its `module` in each backward pass, until it is closed.

    It stands in the place of DistributedDataParallel: it is a module that holds the bare one, as
    `module`, and its `state_dict()` has the names that DistributedDataParallel gives parameters.

    Pipelines with a server (`ps`, `sketched-sgd`, `layer-drop`) take the last rank for it: `serves`
    is true there, and that rank calls `serve()` where the other ranks train.
    """

    def __init__(
        self,
        module: torch.nn.Module,
        algorithm: str,
        *,
        density: float = 0.001,
        groups: Sequence[tuple[int, int]] = (),
        ways: Sequence[str] = (),
        names: Sequence[str] = (),
        compressor: str | None = None,
        exchange: str | None = None,
        group: dist.ProcessGroup | None = None,
        seed: int = 0,
        broadcast_buffers: bool | None = None,
        forward_sync_buffers: bool | None = None,
        init_sync: bool = True,
        process_group: dist.ProcessGroup | None = None,
        **ddp_arguments,
    ) -> None:
        super().__init__()
        _check_bare(module)
        self.module = module
        if broadcast_buffers is not None and forward_sync_buffers is not None:
            expected = "expected none beside broadcast_buffers, its old name"
            raise BadInput(f"forward_sync_buffers: {expected}")
        buffers_begin_alike = broadcast_buffers is not False
        shares_buffers = (
            buffers_begin_alike if forward_sync_buffers is None else forward_sync_buffers
        )
        sent = dict(module.named_parameters()) if init_sync else {}
        if shares_buffers or (init_sync and buffers_begin_alike):
            sent.update(module.named_buffers())
        self._roster = Roster(module, sent)
        learning = self._roster.registered
        unknown = [name for name in names if name not in learning]
        if unknown:
            raise BadInput(f"{unknown[0]}: expected a parameter that learns, as the plan names it")
        self._learning = {name: learning[name] for name in names or learning}
        self._names = list(self._learning)
        self._in_order = list(self._learning.values())
        self._unplanned = {n: p for n, p in learning.items() if n not in self._learning}
        self._gradient_check = GradientCheck(self._learning)
        self._synchronises = True
        self._begun = False
        self._queued = False
        self._uneven: UnevenInputs | None = None
        self._gradients: dict[int, torch.Tensor] = {}  # those that came, where C finds them
        self._handles: list[torch.utils.hooks.RemovableHandle] = []
        held = [*module.named_parameters(), *module.named_buffers()]
        device = self._in_order[0].device
        check_ddp_arguments(ddp_arguments, device)
        if group is not None and process_group is not None:
            raise BadInput("process_group: expected none beside group, which is the same")
        self._session = Session(
            [p.numel() for p in self._in_order],
            algorithm,
            density=density,
            groups=groups,
            ways=ways,
            compressor=compressor,
            exchange=exchange,
            group=group or process_group,
            seed=seed,
            gpu=device if device.type == "cuda" else None,
            names=self._names,
            dtypes=[p.dtype for p in self._in_order],
            rows=first_dimensions(self._in_order),
            alike=[
                *(
                    f"{name} of shape {tuple(one.shape)}, {one.dtype}, "
                    f"requires_grad={one.requires_grad}"
                    for name, one in held
                ),
                f"broadcast_buffers={buffers_begin_alike}",
                f"forward_sync_buffers={shares_buffers}",
                f"init_sync={init_sync}",
            ],
        )
        self._shared_buffers = Buffers(module) if shares_buffers and not self.serves else None
        self._buffers_differ = True  # maybe: none have been shared since a pass trained
        self._checkpoints = Checkpoints(self._session, self._names, density)
        _open.add(self)
        if init_sync:
            for tensor in sent.values():
                self._session.broadcast(tensor)
        self._listen()

    def _listen(self) -> None:
        if self.serves:
            self._handles.append(
                self.module.register_forward_pre_hook(_ModuleHook(self._refuse_to_train))
            )
            return
        for name, parameter in self._unplanned.items():
            self._handles.append(
                parameter.register_post_accumulate_grad_hook(
                    lambda _, name=name: self._refuse(
                        f"{name}: a gradient came, but the plan does not have it: record the job "
                        "anew"
                    )
                )
            )
        self._handles += (
            self.module.register_forward_pre_hook(_ModuleHook(self._before_forward)),
            self.module.register_forward_hook(_ModuleHook(self._after_forward)),
        )
        for index, parameter in enumerate(self._in_order):
            self._handles.append(
                parameter.register_post_accumulate_grad_hook(partial(self.on_gradient, index))
            )

    def forward(self, *inputs, **options) -> Any:
        """Calls the module, also to evaluate, with the buffers that all ranks then share.

        The bare module shares them only where it trains, and may evaluate on one rank alone.
        """
        if not self._queued:
            self._share_buffers()
        return self.module(*inputs, **options)

    def named_learning(self) -> Iterator[tuple[str, torch.nn.Parameter]]:
        """Lists the parameters whose gradients travel, in the order of the plan's numbers."""
        return iter(self._learning.items())

    # ---- an iteration, on autograd's threads ----------------------------------------------------

    def _begin(self) -> None:
        if not self._begun:
            if self._uneven:
                self._uneven.announce(ITERATES)
            self._session.begin()
            self._begun = True

    def _check_roster(self) -> None:
        try:
            self._roster.check()
        except BadInput as error:
            raise self._session.end(error) from None

    def _check_around(self) -> None:
        """Fails if a DistributedDataParallel that has the same parameters calls the module."""
        around = DistributedDataParallel._get_active_ddp_module()
        if around and not set(around._module_parameters).isdisjoint(self._in_order):
            self._refuse(
                "expected a distributed module to exchange its gradients alone, got a forward pass "
                "of DistributedDataParallel around it, which would exchange them too"
            )

    def _share_buffers(self) -> None:
        """Gives all ranks rank 0's buffers, unless they have had them since a pass that trained.

        Inside join() all get those of a rank that has inputs.
        """
        shares = self._shared_buffers is not None and self._buffers_differ
        if not shares or (self._uneven and self._begun):
            return
        self._buffers_differ = False
        root = self._uneven.announce(SHARES_BUFFERS)[1] if self._uneven else 0
        try:
            self._shared_buffers.share(self._session, root)
        except BadInput as error:
            raise self._session.end(error) from None

    def _before_forward(self, module, _inputs) -> None:
        """Shares buffers and begins an iteration; shallow copies of the module are passed over.

        With a server the backward pass begins it, as the server would wait for its end.
        """
        if module is not self.module:
            return
        if self._queued:
            self._refuse("expected a backward pass that ends, got one that failed")
        if module.training and torch.is_grad_enabled() and self._synchronises:
            self._check_around()
            self._check_roster()
            self._share_buffers()
            self._buffers_differ = True
            if self.trainers == self._session.ranks:
                self._begin()

    def _after_forward(self, module, _inputs, outputs) -> None:
        if module is not self.module:
            return
        if self._begun:
            self._session.backward()
        for output in tree_leaves(outputs):
            if isinstance(output, torch.Tensor) and output.requires_grad:
                output.register_hook(self._on_backward)

    def _on_backward(self, _gradient: torch.Tensor | None = None) -> None:
        """Queues the iteration's end once the backward pass reaches what the module returned.

        The first gradient of a parameter may come from a graph of a checkpoint within this pass:
        an iteration that is queued there would end with the checkpoint's.
        """
        if self._synchronises and not self._queued:
            if not self._begun:
                self._check_roster()
                self._begin()
            torch.autograd.Variable._execution_engine.queue_callback(self._finish)
            self._queued = True

    def _refuse(self, message: str) -> None:
        raise self._session.end(BadInput(message))

    def _refuse_to_train(self, module, _inputs) -> None:
        if module.training and torch.is_grad_enabled():
            self._refuse("expected serve() on the rank that serves, got a forward pass that trains")

    def on_gradient(self, index: int, parameter: torch.nn.Parameter) -> None:
        """Takes the gradient of the parameter with that number in the plan's order."""
        if not self._synchronises:
            return
        if not self._queued:
            self._on_backward()
        gradient = parameter.grad
        if not self._gradient_check.fits(index, gradient):
            raise self._session.end(self._gradient_check.failure(index, gradient))
        if not gradient.is_contiguous():
            gradient = parameter.grad = gradient.contiguous()
        self._gradients[index] = gradient
        self._session.ready(index, gradient)

    def _finish(self) -> None:
        """Ends the iteration with the backward pass: the averages are then in `.grad`."""
        absent = [i for i in range(len(self._in_order)) if i not in self._gradients]
        for index in absent:  # those that no_sync() left
            if self._in_order[index].grad is not None:
                self.on_gradient(index, self._in_order[index])
        absent = [i for i in absent if i not in self._gradients]
        self._queued = False
        self._begun = False
        self._exchange(absent)
        for index, gradient in self._gradients.items():
            if self._in_order[index].grad is not gradient:
                self._refuse(
                    f"{self._names[index]}: expected its gradient to stay until backward() "
                    "returns, as its average goes there"
                )
        self._gradients.clear()

    def _exchange(self, absent: list[int]) -> None:
        """Waits for averages, also of those parameters that this rank has no gradient of."""
        if not absent:
            self._session.wait()
            return
        flags = bytearray([_IS_THERE]) * len(self._in_order)
        for index in absent:
            flags[index] = _LEARNS if self._in_order[index].requires_grad else 0
        self._session.note_absent(bytes(flags))
        self._session.wait()
        notes = self._session.read_notes()
        for index in absent:
            of_ranks = [_IS_THERE if note is None else note[index] for note in notes]
            self._take_others(index, max(of_ranks))

    def _take_others(self, index: int, state: int) -> None:
        """Sets the average of a parameter that this rank had no gradient of, if others had one.

        If no rank had one `.grad` stays None, as with DistributedDataParallel. Residuals that
        travelled now still count, unless the parameter is frozen on all ranks.
        """
        parameter = self._in_order[index]
        if state == _FROZEN:
            return
        if not self._gradient_check.fits(index, parameter):
            raise self._session.end(self._gradient_check.failure(index, parameter))
        average = self._session.mean(index, parameter.numel())
        if state == _IS_THERE or bool(average.any()):
            parameter.grad = average.to(parameter.dtype, copy=True).view_as(parameter)

    # ---- for the trainer ------------------------------------------------------------------------

    @property
    def serves(self) -> bool:
        """Whether this rank does not train, but is the server."""
        return self._session.serves

    @property
    def trainers(self) -> int:
        """The number of ranks that train: all, or all but the server. Averages are over them."""
        return self._session.trainers

    def serve(self, iterations: int | None = None) -> int:
        """Takes part in what the trainers do: until they close, or in so many iterations.

        Returns in how many. Only on the rank that serves, whose own module is not trained; it need
        not call what all ranks call (`verify`, `measure`, `check_parameters`) while it is in here.
        """
        if not self.serves:
            raise BadInput(
                f"serve: expected a rank that serves, got rank {self._session.rank} of "
                f"{self._session.ranks}, which trains"
            )
        if iterations is not None and iterations < 1:
            raise BadInput(f"iterations: expected 1 at least, got {iterations}")
        return self._session.serve(iterations)

    @contextmanager
    def no_sync(self) -> Iterator[None]:
        """Lets gradients only accumulate on each rank, as with DistributedDataParallel."""
        self._synchronises, before = False, self._synchronises
        try:
            yield
        finally:
            self._synchronises = before

    @contextmanager
    def join(
        self,
        divide_by_initial_world_size: bool = True,
        enable: bool = True,
        throw_on_early_termination: bool = False,
    ) -> Iterator[None]:
        """Lets ranks train in here whose inputs end in different iterations, as DDP's does.

        All ranks that train enter it, and leave it together: who has none left takes part in the
        others' iterations without gradients, which count as zero, and ends with their parameters
        and buffers. With `throw_on_early_termination` all fail instead.
        """
        if not divide_by_initial_world_size:
            raise BadInput(
                "divide_by_initial_world_size: expected True, as averages are over all ranks"
            )
        if not enable or self.serves:
            yield
            return
        self._uneven = UnevenInputs(self._session, throw_on_early_termination)
        try:
            yield
            self._go_along()
            self._buffers_differ = True  # on all ranks alike, whatever each has called
        finally:
            self._uneven = None

    def _go_along(self) -> None:
        """Takes part in the others' iterations until no rank has inputs left."""
        if self._begun:
            self._uneven.note_unfinished()
            self._finish()
        while (heard := self._uneven.announce(ENDED))[0] != ENDED:
            step, root = heard
            if step == ITERATES:
                self._session.begin()
                self._session.note_absent(bytes(len(self._in_order)))
                self._session.wait()
            elif self._shared_buffers is not None:
                self._shared_buffers.share(self._session, root)
        root = self._uneven.find_trained()
        if root is None:
            return
        shares_buffers = self._shared_buffers is not None
        for tensor in chain(self._in_order, self.module.buffers() if shares_buffers else ()):
            self._session.share(tensor, root)

    def verify(self) -> None:
        """Fails unless all ranks got the same averages, bit for bit; all ranks call it.

        Who calls it waits for the others as long as the process group's timeout lets it, and fails
        if they call something else; so do all calls that all ranks make.
        """
        self._session.verify()

    def measure(self) -> dict[str, float]:
        """Returns the parts of the last iteration, in s and means of ranks; all ranks call it."""
        return self._session.measure()

    def trace(self, path: str) -> None:
        """Writes the last iteration's timeline of all ranks, which all call it, on rank 0.

        ui.perfetto.dev opens it, as it does the predicted one (`gradweave simulate --trace`).
        """
        self._session.trace(path)

    def check_parameters(self, *, buffers: bool = False) -> None:
        """Fails unless all ranks that train hold the same parameters, bit for bit; all call it.

        `buffers=True` compares buffers too, which differ after a forward pass that trains until
        the next one.
        """
        tensors = dict(self.module.named_parameters())
        if buffers:
            tensors.update(self.module.named_buffers())
        check_equal(
            tensors, lambda own: self._session.gather("check_parameters", own)[: self.trainers]
        )

    # ---- going on later -------------------------------------------------------------------------

    def exchange_state(self) -> dict[str, Any]:
        """Returns the residuals of this rank, and all else that its session goes on from.

        Each rank has another one, and saves it in a file of its own: between iterations.
        """
        self._need_to_be_between("exchange_state")
        return self._checkpoints.save()

    def residual(self) -> dict[str, torch.Tensor]:
        """Returns the part of each parameter's gradient that this rank has not sent yet.

        It is a part of a mean over the ranks that train: zeros where a pipeline keeps nothing back.
        Call it between iterations.
        """
        self._need_to_be_between("residual")
        parts = self._session.residual()
        return {
            name: part.view_as(parameter)
            for name, parameter, part in zip(self._names, self._in_order, parts)
        }

    def _need_to_be_between(self, name: str) -> None:
        if self._begun:
            raise BadInput(
                f"{name}: expected a backward pass since the last forward pass that trains, "
                "got none: call it between iterations"
            )

    def load_state_dict(
        self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False
    ) -> Any:
        """Takes parameters and buffers, as every module does."""
        if is_exchange_state(state_dict):
            raise BadInput(
                "load_state_dict: expected parameters and buffers, got what exchange_state() "
                "returned: load_exchange_state() takes it"
            )
        return super().load_state_dict(state_dict, strict=strict, assign=assign)

    def load_exchange_state(self, *states: dict[str, Any], residual_only: bool = False) -> None:
        """Goes on from what ranks have saved; all ranks call it, before the first iteration.

        With as many ranks as then, each gives its own, and the job goes on bit for bit as the saved
        one would have. With others each old rank's goes to one new rank, which may get several or
        none: what did not travel yet is added to its own, and the rest begins anew; so it does with
        `residual_only`, which takes what another pipeline, plan or density has saved. A server has
        nothing of the kind, and takes a server's state alone, or none.
        """
        self._checkpoints.load(states, residual_only)

    @property
    def is_over(self) -> bool:
        """Whether it was closed, or has failed."""
        return self._session.group is None

    def __reduce_ex__(self, _protocol) -> tuple:
        raise BadInput(
            "expected to copy or to pickle the bare module, .module, got what distribute() "
            "returned, whose connections have no copy"
        )

    def close(self) -> None:
        """Stops exchanging: gradients are each rank's own again."""
        for handle in self._handles:
            handle.remove()
        self._handles.clear()
        self._shared_buffers = None
        self._session.close()
        _open.discard(self)


def distribute(module: torch.nn.Module, algorithm: str | Plan, **options) -> Distributed:
    """Lets a module's gradients travel by a plan, or by the pipeline of a name, all in one group.

    `options` are Distributed's, and those of DistributedDataParallel that make sense without its
    buckets. Parameters that a plan does not name must never get a gradient.
    """
    if isinstance(algorithm, Plan):
        plan, algorithm = algorithm, algorithm.algorithm
        planned = {"groups": plan.groups, "ways": plan.ways, "names": plan.names}
        options = {"density": plan.density, **planned, **options}
    return Distributed(module, algorithm, **options)
