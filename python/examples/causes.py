"""Measures the parts of an exchange in a job: copies, hooks, late ranks, threads, the network.

    script/cluster run --torch --realtime --name BOX -- python python/examples/causes.py [JOB]

JOB is FILE.py:FUNCTION, by default gradweave's VGG. Cases alternate, so that what disturbs a while
disturbs all alike; medians of iterations, in means of ranks.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

from gradweave.torch import Recorder, examples, job

ROUNDS, WARM_UP, ITERATIONS = 5, 4, 8


def _kept(_state, bucket):  # DDP compares annotations, which are text here
    """A comm hook that exchanges nothing."""
    future = torch.futures.Future()
    future.set_result(bucket.buffer())
    return future


def _bare(module, _optimizer):
    return module


def _recorded(module, optimizer):
    Recorder(module, optimizer)
    return module


def _ddp(exchanges: bool = True, **options):
    def wrap(module, _optimizer):
        model = DistributedDataParallel(module, **options)
        if not exchanges:
            model.register_comm_hook(None, _kept)
        return model

    return wrap


@dataclass(frozen=True)
class Case:
    wrap: Callable = _bare  # the module
    waits: bool = False  # ranks for each other, before a step
    drops: bool = True  # zero_grad() sets gradients to None, and does not write zeros


# Gradients that live in DDP's buckets are copied there all the same where zero_grad() drops them:
# then each backward pass makes new ones.
CASES = {
    "no exchange": Case(),
    "recorded, by hooks": Case(_recorded),
    "ranks wait for each other": Case(waits=True),
    "DDP that exchanges nothing": Case(_ddp(exchanges=False), waits=True),
    "the same without buffers": Case(_ddp(exchanges=False, broadcast_buffers=False), waits=True),
    "the same, gradients zeroed": Case(_ddp(exchanges=False), waits=True, drops=False),
    "zeroed in DDP's buckets": Case(
        _ddp(exchanges=False, gradient_as_bucket_view=True), waits=True, drops=False
    ),
    "DDP, 1,000 MB": Case(_ddp(bucket_cap_mb=1000)),
    "DDP, 25 MB": Case(_ddp(bucket_cap_mb=25)),
    "DDP, 1 MB": Case(_ddp(bucket_cap_mb=1)),
}


def _iterations(case: Case, the_job: job.Job) -> list[list[float]]:
    """Returns each one's seconds in all, of the backward pass, and of all the process's threads."""
    module, optimizer, step = the_job()
    model = case.wrap(module, optimizer)
    taken = []
    for _ in range(WARM_UP + ITERATIONS):
        began_s, used_s = time.perf_counter(), time.process_time()
        loss = step(model)
        forward_ended_s = time.perf_counter()
        loss.backward()
        backward_s = time.perf_counter() - forward_ended_s
        if case.waits:
            dist.barrier()
        optimizer.step()
        optimizer.zero_grad(set_to_none=case.drops)
        now_s = time.perf_counter()
        taken.append([now_s - began_s, backward_s, time.process_time() - used_s])
    return taken[WARM_UP:]


def _allreduce_s(elements: int) -> float:
    values = torch.ones(elements)
    taken = []
    for _ in range(3 + ITERATIONS):
        dist.barrier()
        began_s = time.perf_counter()
        dist.all_reduce(values)
        taken.append(time.perf_counter() - began_s)
    return statistics.median(taken[3:])


def main() -> None:
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    the_job = job.load(sys.argv[1]) if len(sys.argv) > 1 else examples.vgg
    elements = sum(parameter.numel() for parameter in the_job()[0].parameters())
    taken = {name: [] for name in CASES}
    alone_s = []
    for _ in range(ROUNDS):
        for name, case in CASES.items():
            taken[name] += _iterations(case, the_job)
        alone_s.append(_allreduce_s(elements))
    rows = [[statistics.median(column) for column in zip(*taken[name])] for name in CASES]
    means = torch.tensor(rows + [[statistics.median(alone_s), 0.0, 0.0]], dtype=torch.float64)
    dist.all_reduce(means)
    means *= 1e3 / dist.get_world_size()
    if dist.get_rank() == 0:
        print(f"{elements:,} parameters, ms        iteration  backward  processor")
        for name, row in zip(CASES, means.tolist()):
            print(f"{name:30} {row[0]:9.1f} {row[1]:9.1f} {row[2]:10.1f}")
        print(f"{'allreduce of all, alone':30} {means[-1, 0]:9.1f}")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
