"""Times gradweave_compress by hand (one group, no overlap) beside DDP and gradweave's sessions.

    script/cluster run --torch --realtime --name BOX -- python python/examples/by_hand.py [JOB..]

JOB is FILE.py:FUNCTION, by default gradweave's examples. Ways alternate, so that what disturbs a
while disturbs all alike; medians of iterations, in means of ranks.
"""

from __future__ import annotations

import ctypes
import statistics
import sys
import time

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

from gradweave import _library
from gradweave.torch import distribute, examples, job

ROUNDS, WARM_UP, ITERATIONS, DENSITY = 4, 4, 5, 0.001

# ---- by hand -------------------------------------------------------------------------------------


class _Compression(ctypes.Structure):
    _fields_ = [
        ("compressor", ctypes.c_char_p),
        ("elements", ctypes.c_size_t),
        ("kept", ctypes.c_size_t),
        ("worker", ctypes.c_size_t),
        ("workers", ctypes.c_size_t),
        ("seed", ctypes.c_uint64),
        ("threshold", ctypes.c_double),
        ("layers", ctypes.c_void_p),
        ("layer_count", ctypes.c_size_t),
        ("threads", ctypes.c_size_t),
    ]


for _name, _count in (("gradweave_compressor_open", 3), ("gradweave_compress", 6)):
    getattr(_library.library, _name).argtypes = [ctypes.c_void_p] * _count


class ByHand:
    """Compresses all gradients at once when the backward pass has ended, and gathers what is kept."""

    def __init__(self, module: torch.nn.Module, compressor: str) -> None:
        self.parameters = [p for p in module.parameters() if p.requires_grad]
        elements = sum(p.numel() for p in self.parameters)
        self.residual = torch.zeros(elements)
        self.compressor = ctypes.c_void_p()
        asked = _Compression(
            compressor=compressor.encode(),
            elements=elements,
            kept=max(1, int(DENSITY * elements)),
            worker=dist.get_rank(),
            workers=dist.get_world_size(),
            seed=1,
            threads=1,
        )
        _library.call(
            "gradweave_compressor_open", ctypes.byref(asked), ctypes.byref(self.compressor)
        )

    def _compress(self, gradient: torch.Tensor) -> torch.Tensor:
        """Returns the kept elements as bits: a row of value and index for each."""
        entries, count = ctypes.c_void_p(), ctypes.c_size_t()
        _library.call(
            "gradweave_compress",
            self.compressor,
            gradient.data_ptr(),
            self.residual.data_ptr(),
            ctypes.byref(entries),
            ctypes.byref(count),
        )
        kept = (ctypes.c_int32 * (2 * count.value)).from_address(entries.value)
        return torch.frombuffer(kept, dtype=torch.int32).view(-1, 2)

    def exchange(self) -> None:
        gradient = torch.cat([p.grad.flatten() for p in self.parameters])
        own = self._compress(gradient)
        counts = [torch.zeros(1, dtype=torch.long) for _ in range(dist.get_world_size())]
        dist.all_gather(counts, torch.tensor([len(own)]))
        padded = torch.zeros(int(max(counts)), 2, dtype=torch.int32)
        padded[: len(own)] = own
        received = [torch.empty_like(padded) for _ in counts]
        dist.all_gather(received, padded)
        gradient.zero_()
        for rows, count in zip(received, counts):
            values, indices = rows[: int(count)].t().contiguous()
            shares = values.view(torch.float32) / len(counts)
            gradient.index_add_(0, indices.long(), shares)
        for parameter, part in zip(
            self.parameters, gradient.split([p.numel() for p in self.parameters])
        ):
            parameter.grad.copy_(part.view_as(parameter))


# ---- the ways ------------------------------------------------------------------------------------


def _none(module):
    return module, None, None


def _ddp(module):
    return DistributedDataParallel(module), None, None


def _by_hand(compressor):
    return lambda module: (module, ByHand(module, compressor).exchange, None)


def _session(pipeline):
    def wrap(module):
        return module, None, distribute(module, pipeline, density=DENSITY).close

    return wrap


# How the module is wrapped, what follows a backward pass, and the end.
WAYS = {
    "no exchange": _none,
    "DDP": _ddp,
    "topk, by hand": _by_hand("topk"),
    "topk": _session("topk"),
    "gaussiank, by hand": _by_hand("gaussiank"),
    "gaussiank": _session("gaussiank"),
}


def _iterations(wrap, the_job) -> list[float]:
    module, optimizer, step = the_job()
    model, exchange, close = wrap(module)
    taken = []
    for _ in range(WARM_UP + ITERATIONS):
        began_s = time.perf_counter()
        step(model).backward()
        if exchange:
            exchange()
        optimizer.step()
        optimizer.zero_grad()
        taken.append(time.perf_counter() - began_s)
    if close:
        close()
    return taken[WARM_UP:]


def main() -> None:
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    every = [examples.vgg, examples.resnet, examples.lstm, examples.transformer]
    jobs = [job.load(name) for name in sys.argv[1:]] or every
    for the_job in jobs:
        taken = {name: [] for name in WAYS}
        for _ in range(ROUNDS):
            for name, wrap in WAYS.items():
                dist.barrier()
                taken[name] += _iterations(wrap, the_job)
        medians = torch.tensor([statistics.median(each) for each in taken.values()])
        dist.all_reduce(medians)
        medians *= 1e3 / dist.get_world_size()
        if dist.get_rank() == 0:
            rows = (f"{name} {ms:.0f} ms" for name, ms in zip(WAYS, medians.tolist()))
            print(f"{the_job.__name__}: {', '.join(rows)}", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
