"""Measures what gradweave's hooks cost a job by themselves: Recorder's, and those of a session.

    OMP_NUM_THREADS=1 torchrun --nproc-per-node 2 python/examples/hooks.py [MINUTES]

A session's group is each rank alone here. Gradients of 16 elements, with nothing between them, show
what the hooks take in all from caches that hold them; small gradients of gradweave's example jobs,
what one takes where the backward pass has emptied the caches. Then the jobs' iterations are
recorded and not by turns, for so many MINUTES in all (2).
"""

from __future__ import annotations

import random
import statistics
import sys
import time
from collections.abc import Callable

import torch
import torch.distributed as dist
from torch import nn

from gradweave.torch import Recorder, distribute, examples

FEW, MANY, ELEMENTS, ROUNDS = 10, 1000, 16, 100
JOBS = ("vgg", "resnet", "lstm", "transformer")
SMALL = 4096  # elements that a session takes a microsecond at most to copy
WATCHED, RESAMPLES = 12, 1000  # iterations; draws of the bootstrap


def _of_ranks(own: list[float]) -> list[float]:
    of_ranks = [own] * dist.get_world_size()
    dist.all_gather_object(of_ranks, own)
    return [one for rank in of_ranks for one in rank]


# ---- whose hooks, each of which gives back how to remove them ------------------------------------


def _nobody(_module, _optimizer) -> Callable[[], None]:
    return lambda: None


def _recorder(module, optimizer) -> Callable[[], None]:
    return Recorder(module, optimizer).close


def _session(module, _optimizer) -> Callable[[], None]:
    alone = dist.new_group([dist.get_rank()], use_local_synchronization=True)
    return distribute(module, "dense", group=alone).close


WAYS = {"none": _nobody, "Recorder": _recorder, "session": _session}


# ---- tensors with nothing between them -----------------------------------------------------------


class Tensors(nn.Module):
    def __init__(self, count: int) -> None:
        super().__init__()
        self.values = nn.ParameterList([torch.ones(ELEMENTS) for _ in range(count)])

    def forward(self) -> torch.Tensor:
        return torch.stack(list(self.values)).sum()


def _tensors_us() -> dict[str, tuple[float, float]]:
    """Returns what each way's hooks take for a tensor, and for an iteration besides."""
    cases = {(way, count): Tensors(count) for way in WAYS for count in (FEW, MANY)}
    optimizers = {case: torch.optim.SGD(cases[case].values[:1], lr=0.0) for case in cases}
    removes = [WAYS[case[0]](cases[case], optimizers[case]) for case in cases]
    taken_s = {case: [] for case in cases}
    for _ in range(ROUNDS):
        for case, module in cases.items():
            module.zero_grad()
            began_s = time.perf_counter()
            module().backward()
            optimizers[case].step()
            taken_s[case].append(time.perf_counter() - began_s)
    for remove in removes:
        remove()
    median_us = {case: 1e6 * statistics.median(_of_ranks(taken_s[case])) for case in cases}
    costs = {}
    for way in list(WAYS)[1:]:
        few, many = (median_us[way, count] - median_us["none", count] for count in (FEW, MANY))
        tensor = (many - few) / (MANY - FEW)
        costs[way] = tensor, few - FEW * tensor
    return costs


# ---- jobs ----------------------------------------------------------------------------------------


def _iteration_s(module, optimizer, step) -> float:
    dist.barrier()
    began_s = time.perf_counter()
    step(module).backward()
    optimizer.step()
    optimizer.zero_grad()
    return time.perf_counter() - began_s


def _hook_us(job, way: str) -> float:
    """Times a small gradient's hook, between one hook before and one behind it.

    Returns the mean over the gradients of an iteration, in the median over iterations and ranks.
    """
    module, optimizer, _ = job
    small = [p for p in module.parameters() if p.numel() <= SMALL]
    before_s, behind_s = [], []

    def listen(moments_s) -> list:
        hook = lambda _: moments_s.append(time.perf_counter())
        return [p.register_post_accumulate_grad_hook(hook) for p in small]

    handles = listen(before_s)
    remove = WAYS[way](module, optimizer)
    handles += listen(behind_s)
    means_s = []
    for _ in range(WATCHED):
        before_s.clear()
        behind_s.clear()
        _iteration_s(*job)
        means_s.append((sum(behind_s) - sum(before_s)) / len(before_s))
    for handle in handles:
        handle.remove()
    remove()
    return 1e6 * statistics.median(_of_ranks(means_s))


def _by_turns(job, seconds: float) -> tuple[list[float], list[float]]:
    """Seconds of iterations without hooks, and of recorded ones beside them."""
    taken_s = {"none": [], "Recorder": []}
    pairs = torch.tensor(seconds / (2 * _iteration_s(*job)))
    dist.broadcast(pairs, 0)
    for pair in range(max(2, int(pairs))):
        for way in list(taken_s)[:: 1 if pair % 2 else -1]:
            remove = WAYS[way](*job[:2])
            taken_s[way].append(_iteration_s(*job))
            remove()
    return _of_ranks(taken_s["none"]), _of_ranks(taken_s["Recorder"])


def _more(ratios: list[float]) -> str:
    """How much more the median is, with its interval."""
    draws = [statistics.median(random.choices(ratios, k=len(ratios))) for _ in range(RESAMPLES)]
    low, *_, high = statistics.quantiles(draws, n=40)
    middle, low, high = (100 * (ratio - 1) for ratio in (statistics.median(ratios), low, high))
    return f"{middle:+.2f}% (95%: {low:+.2f} to {high:+.2f})"


def main() -> None:
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    seconds = 60 * float(sys.argv[1] if len(sys.argv) > 1 else 2) / len(JOBS)
    tensors_us = _tensors_us()
    lines = ["nothing between tensors   a tensor   an iteration besides"]
    for way, (tensor, besides) in tensors_us.items():
        lines.append(f"{way:22} {tensor:8.2f} us {besides:16.0f} us")
    lines += [
        "",
        "             tensors  iteration  session: a tensor    all  Recorder: a tensor   all",
    ]
    recorded, all_ratios = [], []
    for name in JOBS:
        job = getattr(examples, name)()
        for _ in range(3):
            _iteration_s(*job)
        hook_us = {way: _hook_us(job, way) for way in WAYS}
        bare_s, recorded_s = _by_turns(job, seconds)
        job_us = 1e6 * statistics.median(bare_s)
        tensors = len(list(job[0].parameters()))
        line = f"{name:12} {tensors:7} {job_us / 1e3:7.1f} ms"
        for way in ("session", "Recorder"):
            tensor_us = hook_us[way] - hook_us["none"]
            share = (tensors * tensor_us + tensors_us[way][1]) / job_us
            line += f" {tensor_us:14.1f} us  {share:6.2%}"
        lines.append(line)
        ratios = [a / b for a, b in zip(recorded_s, bare_s)]
        all_ratios += ratios
        recorded.append(f"{name:12} {_more(ratios)}")
    lines += ["", "a recorded iteration takes more", *recorded, f"{'all':12} {_more(all_ratios)}"]
    if dist.get_rank() == 0:
        print("\n".join(lines))
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
