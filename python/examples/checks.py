"""Measures what a session's checks of the module and its gradients cost an iteration.

    OMP_NUM_THREADS=1 torchrun --nproc-per-node 2 python/examples/checks.py [PAIRS]

A network of 100 parameter tensors trains by turns with the checks of each iteration and without
them, in so many PAIRS (300) by each pipeline: that the module is the one that was distributed, and
that gradients have the types and sizes of its parameters. Without them a function is still called
for each gradient, which checks nothing. Times are means of the ranks, whose iterations are one.
"""

from __future__ import annotations

import random
import statistics
import sys
import time

import torch
import torch.distributed as dist
from torch import nn

from gradweave.torch import Distributed

LAYERS, WIDTH, BATCH = 50, 256, 32  # each with a weight and a bias
PIPELINES = ("dense", "topk", "lags")
WARM_UP, RESAMPLES = 20, 1000


def _fit(_index: int, _gradient: torch.Tensor) -> bool:
    return True


class Checked(Distributed):
    """A session whose checks can be left out."""

    checks = True

    def __init__(self, *arguments, **options) -> None:
        super().__init__(*arguments, **options)
        self._fits = self._gradient_check.fits

    def leave_out(self, leaves_out: bool) -> None:
        self.checks = not leaves_out
        self._gradient_check.fits = _fit if leaves_out else self._fits

    def _check_roster(self) -> None:
        if self.checks:
            super()._check_roster()


def _iteration_s(model: Checked, optimizer, inputs: torch.Tensor) -> tuple[float, float]:
    """Returns the seconds of an iteration by the clock, and this thread's of a processor."""
    dist.barrier()
    began_s, worked_s = time.perf_counter(), time.thread_time()
    model(inputs).square().mean().backward()
    optimizer.step()
    optimizer.zero_grad()
    return time.perf_counter() - began_s, time.thread_time() - worked_s


def _interval(values: list[float]) -> str:
    draws = [statistics.median(random.choices(values, k=len(values))) for _ in range(RESAMPLES)]
    low, *_, high = statistics.quantiles(draws, n=40)
    return f"{1e6 * statistics.median(values):7.0f} us (95%: {1e6 * low:.0f} to {1e6 * high:.0f})"


def _compare(algorithm: str, pairs: int) -> None:
    torch.manual_seed(0)
    module = nn.Sequential(*[nn.Linear(WIDTH, WIDTH) for _ in range(LAYERS)])
    groups = [(i, i) for i in reversed(range(2 * LAYERS))] if algorithm == "lags" else []
    model = Checked(module, algorithm, density=0.01, groups=groups)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.001)
    inputs = torch.randn(BATCH, WIDTH)
    times = {True: [], False: []}
    for pair in range(WARM_UP + pairs):
        for leaves_out in (True, False)[:: 1 if pair % 2 else -1]:
            model.leave_out(leaves_out)
            taken = _iteration_s(model, optimizer, inputs)
            if pair >= WARM_UP:
                times[leaves_out].append(taken)
    model.close()
    means = torch.tensor([times[True], times[False]], dtype=torch.float64)
    dist.all_reduce(means)
    bare, checked = (means / dist.get_world_size()).tolist()
    if dist.get_rank() != 0:
        return
    for index, name in enumerate(("by the clock", "of a processor")):
        median_s = statistics.median(one[index] for one in bare)
        more_s = [with_it[index] - without[index] for with_it, without in zip(checked, bare)]
        share = 100 * statistics.median(more_s) / median_s
        print(
            f"{algorithm:6} {name:14} {1e3 * median_s:7.2f} ms, checks {_interval(more_s)}, "
            f"{share:+.2f}%",
            flush=True,
        )


def main() -> None:
    dist.init_process_group("gloo")
    torch.set_num_threads(1)
    pairs = int(sys.argv[1]) if len(sys.argv) > 1 else 300
    for algorithm in PIPELINES:
        _compare(algorithm, pairs)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
