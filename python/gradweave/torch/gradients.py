"""A training's gradients, as far as they were sampled: what `simulate --counts` selects from."""

from __future__ import annotations

import base64
import math

import torch
import torch.distributed as dist

from gradweave._library import BadInput
from gradweave.torch.parameters import learning
from gradweave.torch.recorder import write_document

LEVELS = 127  # of magnitudes, beside 0
STEPS_TO_TWICE = 8
MOST = 1e30  # of any magnitude


class GradientRecorder:
    """Records a sample of a module's gradients through hooks while it trains, on all ranks at once.

        recorder = GradientRecorder(model)     # before `distribute` or DistributedDataParallel
        ...                                    # iterations as usual
        recorder.write("gradients.json", name="mine")

    Each rank's own gradients are recorded, as they are before they travel: after each backward pass,
    up to so many `iterations`, what has accumulated by then. All ranks sample the same elements,
    about so many in all: of each tensor a share, one at least, which follows from the `seed`.
    """

    def __init__(
        self,
        module: torch.nn.Module,
        elements: int = 65536,
        iterations: int = 100,
        seed: int = 0,
        group: dist.ProcessGroup | None = None,
    ) -> None:
        named = [(n, p) for n, p in learning(module).items() if p.numel()]
        if elements < 1 or iterations < 1:
            raise BadInput(f"expected elements and iterations, got {elements} and {iterations}")
        self._group = group
        self._iterations = iterations
        self._asked = elements, seed
        self._names = [name for name, _ in named]
        self._sizes = [parameter.numel() for _, parameter in named]
        generator = torch.Generator().manual_seed(seed)
        share = min(1.0, elements / sum(self._sizes))
        self._sampled = [
            torch.randperm(size, generator=generator)[: max(1, round(share * size))].sort().values
            for size in self._sizes
        ]
        self._now: dict[int, torch.Tensor] = {}
        self._done: list[torch.Tensor] = []
        self._handles = [
            parameter.register_post_accumulate_grad_hook(
                lambda parameter, index=index: self._on_gradient(index, parameter)
            )
            for index, (_, parameter) in enumerate(named)
        ]

    def _on_gradient(self, index: int, parameter: torch.nn.Parameter) -> None:
        if len(self._done) == self._iterations:
            return
        if not self._now:
            torch.autograd.Variable._execution_engine.queue_callback(self._end_iteration)
        gradient = parameter.grad.detach()
        gradient = gradient.to_dense() if gradient.is_sparse else gradient
        chosen = self._sampled[index].to(parameter.device)
        self._now[index] = gradient.flatten()[chosen].float().cpu()

    def _end_iteration(self) -> None:
        """Keeps the iteration's values, with zeros for parameters that got no gradient."""
        values = [
            self._now.get(index, torch.zeros(len(sampled)))
            for index, sampled in enumerate(self._sampled)
        ]
        self._done.append(torch.cat(values))
        self._now = {}

    def document(self, name: str = "recorded") -> dict:
        """The `gradweave/gradients@1` document; with a process group all ranks call it."""
        coded = [_encode(values) for values in self._done]
        own = self._names, self._sizes, self._asked, coded
        gathered = [own]
        if dist.is_initialized():
            gathered = [own] * dist.get_world_size(self._group)
            dist.all_gather_object(gathered, own, group=self._group)
        for rank, other in enumerate(gathered):
            if other[:3] != gathered[0][:3]:
                raise BadInput(
                    "expected the same parameters, elements and seed on all ranks, but rank "
                    f"{rank} has others than rank 0"
                )
        of_ranks = [coded for *_, coded in gathered]
        counts = {len(coded) for coded in of_ranks}
        if len(counts) != 1 or counts == {0}:
            raise BadInput(
                f"expected backward passes, as many on each rank, got {sorted(counts)}"
            )
        largest = max(scale for coded in of_ranks for scale, _ in coded)
        if not largest <= MOST:
            raise BadInput(f"expected gradients of at most {MOST:g}, got {largest}")
        iterations = list(zip(*of_ranks))
        return {
            "schema": "gradweave/gradients@1",
            "model": name,
            "source": {
                "kind": "recorded",
                "iterations": len(iterations),
                "ranks": len(of_ranks),
                "note": "a sample of each rank's own gradients, recorded by hooks in a PyTorch job "
                f"(torch {torch.__version__})",
            },
            "tensors": [
                {"name": name, "elements": size, "sampled": len(sampled)}
                for name, size, sampled in zip(self._names, self._sizes, self._sampled)
            ],
            "scales": [[scale for scale, _ in ranks] for ranks in iterations],
            "values": base64.b64encode(
                b"".join(levels for ranks in iterations for _, levels in ranks)
            ).decode(),
        }

    def write(self, path: str, name: str = "recorded") -> None:
        """Writes the document on rank 0; all ranks call it."""
        write_document(path, self.document(name), self._group)

    def close(self) -> None:
        """Records no more."""
        for handle in self._handles:
            handle.remove()
        self._handles.clear()


def _encode(values: torch.Tensor) -> tuple[float, bytes]:
    """The largest magnitude, and a byte for each value: docs/files.md has their meaning."""
    magnitudes = values.abs().nan_to_num(nan=math.inf)
    scale = magnitudes.max().item()
    below = torch.log2(magnitudes.double() / (scale or 1.0)).nan_to_num()
    levels = (LEVELS + STEPS_TO_TWICE * below).round().clamp(0, LEVELS)
    coded = levels.to(torch.uint8) | ((values < 0).to(torch.uint8) << 7)
    return scale, bytes(coded.tolist())
