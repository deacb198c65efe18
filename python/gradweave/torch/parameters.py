"""Checks of a module's parameters and buffers, when a session takes them and in each iteration."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import chain
from operator import methodcaller

import torch
from torch._utils import _flatten_dense_tensors, _unflatten_dense_tensors
from torch.nn.parameter import is_lazy
from torch.utils._python_dispatch import is_traceable_wrapper_subclass

from gradweave._library import BadInput
from gradweave.torch.group import NUMBERS
from gradweave.torch.session import Session

_DENSE = torch.strided
_EXPECTED = "expected floats of 32 or 16 bits on the CPU or on one GPU"
_ANEW = "close() and distribute the module anew"


def _check_shaped(name: str, tensor: torch.Tensor) -> None:
    if is_lazy(tensor):
        raise BadInput(f"{name}: expected a tensor with a shape: run a forward pass first")


def _check_plain(name: str, tensor: torch.Tensor) -> None:
    """Fails unless a rank can send the tensor's bytes."""
    if is_traceable_wrapper_subclass(tensor):
        raise BadInput(
            f"{name}: expected a plain tensor that each rank has in full, got "
            f"{type(tensor).__name__}, as FSDP2 and tensor parallelism make; frozen ones want "
            "init_sync=False and broadcast_buffers=False"
        )


def _check(name: str, parameter: torch.nn.Parameter, device: torch.device) -> None:
    _check_shaped(name, parameter)
    _check_plain(name, parameter)
    taken = device.type in ("cpu", "cuda") and parameter.dtype in NUMBERS
    if parameter.device != device or not taken:
        raise BadInput(f"{name}: {_EXPECTED}, got {parameter.dtype} on {parameter.device}")


def learning(module: torch.nn.Module) -> dict[str, torch.nn.Parameter]:
    """Lists the parameters that learn, by name; fails unless a session can take them all."""
    found = {name: p for name, p in module.named_parameters() if p.requires_grad}
    if not found:
        raise BadInput("expected a module with parameters that learn")
    device = next(iter(found.values())).device
    for name, parameter in found.items():
        _check(name, parameter, device)
    return found


class GradientCheck:
    """Compares gradients with their parameters as these were registered: C takes their bytes."""

    def __init__(self, registered: Mapping[str, torch.nn.Parameter]) -> None:
        self._names = list(registered)
        self._sizes = [parameter.numel() for parameter in registered.values()]
        self._dtypes = [parameter.dtype for parameter in registered.values()]
        self._device = next(iter(registered.values())).device
        self._ordinal = -1 if self._device.type == "cpu" else self._device.index

    def fits(self, index: int, gradient: torch.Tensor) -> bool:
        """Compares one; called for each gradient, when the backward pass has emptied the caches."""
        return (
            gradient.dtype is self._dtypes[index]
            and gradient.layout is _DENSE
            and gradient.numel() == self._sizes[index]
            and gradient.get_device() == self._ordinal
        )

    def failure(self, index: int, gradient: torch.Tensor) -> BadInput:
        """Says why a gradient does not fit."""
        name, size, dtype = self._names[index], self._sizes[index], self._dtypes[index]
        if gradient.layout is not torch.strided:
            return BadInput(f"{name}: expected a gradient that is dense, got {gradient.layout}")
        return BadInput(
            f"{name}: expected a gradient of {size} of {dtype} on {self._device}, as when it was "
            f"distributed, got {gradient.numel()} of {gradient.dtype} on {gradient.device}: "
            f"{_ANEW}"
        )


class Roster:
    """The parameters of a module that learned when it was registered; others must not.

    Ranks send each other the tensors `sent` as they are, by name.
    """

    def __init__(self, module: torch.nn.Module, sent: Mapping[str, torch.Tensor]) -> None:
        self._module = module
        for name, tensor in chain(module.named_parameters(), module.named_buffers()):
            _check_shaped(name, tensor)
        for name, tensor in sent.items():
            _check_plain(name, tensor)
        self.registered = learning(module)
        self._look()

    def _look(self) -> None:
        """Lists all that the module and its parts hold, in their order, for check() to compare."""
        of_parts = [(part._modules, part._parameters) for part in self._module.modules()]
        self._holders = list(chain.from_iterable(of_parts))
        self._held = self._list_held()
        self._places = list(map(id, self._held))
        named = {id(parameter) for parameter in self.registered.values()}
        self._frozen = [
            p for p in self._module.parameters() if id(p) not in named and not p.requires_grad
        ]

    def _list_held(self) -> list[torch.nn.Module | torch.nn.Parameter | None]:
        return list(chain.from_iterable(map(methodcaller("values"), self._holders)))

    def check(self) -> None:
        """Fails unless the module has the registered parameters, and no others began to learn.

        Called for each iteration: where nothing has changed, it only compares addresses.
        """
        if list(map(id, self._list_held())) != self._places:
            self._compare()
            self._look()
        elif any([parameter.requires_grad for parameter in self._frozen]):
            self._compare()

    def _compare(self) -> None:
        now = dict(self._module.named_parameters(remove_duplicate=False))
        for name, parameter in self.registered.items():
            if now.get(name) is not parameter:
                became = "is gone" if name not in now else "is another one"
                raise BadInput(
                    f"{name}: expected the parameter that was distributed, but it {became}: {_ANEW}"
                )
        named = {id(parameter) for parameter in self.registered.values()}
        for name, parameter in now.items():
            if parameter.requires_grad and id(parameter) not in named:
                raise BadInput(
                    f"{name}: expected a parameter that was distributed, or that does not learn: "
                    f"{_ANEW}"
                )


def _registered(
    kind: tuple[torch.dtype, torch.device], name: str, holder: dict, key: str, size: int
) -> torch.Tensor:
    """Returns a buffer; fails unless it is as when its module was distributed."""
    buffer = holder.get(key)
    if buffer is None or (buffer.dtype, buffer.device) != kind or buffer.numel() != size:
        got = "none" if buffer is None else f"{buffer.numel()} of {buffer.dtype} on {buffer.device}"
        raise BadInput(
            f"{name}: expected a buffer of {size} elements of {kind[0]} on {kind[1]}, as when its "
            f"module was distributed, got {got}: {_ANEW}"
        )
    return buffer


class Buffers:
    """A module's buffers, which travel together: those of a type and device in one message."""

    def __init__(self, module: torch.nn.Module) -> None:
        self._places: dict[tuple[torch.dtype, torch.device], list[tuple[str, dict, str, int]]] = {}
        seen: set[int] = set()
        for path, part in module.named_modules():
            for key, buffer in part._buffers.items():
                if buffer is None or id(buffer) in seen:
                    continue
                seen.add(id(buffer))
                name = f"{path}.{key}" if path else key
                place = (name, part._buffers, key, buffer.numel())
                self._places.setdefault((buffer.dtype, buffer.device), []).append(place)

    def share(self, session: Session, root: int) -> None:
        """Gives the buffers of rank `root` to all ranks that train; all call it."""
        for kind, places in self._places.items():
            buffers = [_registered(kind, *place) for place in places]
            flat = _flatten_dense_tensors(buffers)
            session.share(flat, root)
            if session.rank != root:
                with torch.no_grad():
                    for buffer, new in zip(buffers, _unflatten_dense_tensors(flat, buffers)):
                        buffer.copy_(new)
