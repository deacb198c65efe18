"""Advice on a job: the change, how much faster it gets, and what that costs."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
import torch.distributed as dist

from gradweave._library import has_server, is_sparse
from gradweave.study import Advised, Measurement, Plan, Validation
from gradweave.torch.distributed import distribute
from gradweave.torch.job import Job
from gradweave.torch.recorder import middle_half

# Predictions that are no further apart do not tell which pipeline is faster.
_ALIKE = 1.05


def _milliseconds(seconds: float) -> str:
    return f"{1e3 * seconds:.4g} ms"


def _mean(iterations_s: Sequence[float]) -> float:
    """The mean of the middle half, as a measurement's `iteration_s` is."""
    values = torch.tensor(iterations_s, dtype=torch.float64)
    return values[middle_half(values)].mean().item()


@dataclass(frozen=True)
class Way:
    """A measured way, and where its prediction is in 95% of cases; None: nobody knows."""

    measured: Measurement
    interval_s: tuple[float, float] | None

    def __str__(self) -> str:
        took = f"{self.measured.name} took {_milliseconds(self.measured.iteration_s)}"
        low, high = (f"{1e3 * end_s:.4g}" for end_s in self.interval_s)
        return f"{took}, and {low} to {high} ms by prediction"


class Gain:
    """The number of `times` that `after` is as fast as `before`, with its 95% bootstrap interval.

    `sure` counts, in place of a measurement that makes the gain larger than its prediction allows,
    the end of the prediction's interval with the smallest gain. `contradictions` are the ways of
    these measurements: the machine was another meanwhile, or what is believed of it is wrong.
    """

    def __init__(self, before: Way, after: Way) -> None:
        sides = before.measured.iterations_s, after.measured.iterations_s
        draws = random.Random(1)
        ratios = sorted(
            _mean(draws.choices(sides[0], k=len(sides[0])))
            / _mean(draws.choices(sides[1], k=len(sides[1])))
            for _ in range(1000)
        )
        self.low, self.high = ratios[25], ratios[974]
        self.before, self.after = before.measured, after.measured
        before_s, after_s = before.measured.iteration_s, after.measured.iteration_s
        self.times = before_s / after_s
        self.contradictions = []
        if before.interval_s and before_s > before.interval_s[1]:
            before_s = before.interval_s[0]
            self.contradictions.append(before)
        if after.interval_s and after_s < after.interval_s[0]:
            after_s = after.interval_s[1]
            self.contradictions.append(after)
        self.sure = before_s / after_s

    def __str__(self) -> str:
        text = f"{self.times:.2f} times as fast (95%: {self.low:.2f} to {self.high:.2f})"
        if not self.contradictions:
            return text
        reasons = ", and ".join(map(str, self.contradictions))
        return f"{text}, of which {self.sure:.2f} times is sure, as {reasons}"

    def why_not(self) -> str | None:
        """Says why it is not known that `after` is faster than `before`; None: it is."""
        if self.low <= 1:
            return (
                f"{self.after.name} was measured to be {self.times:.2f} times as fast as "
                f"{self.before.name} (95%: {self.low:.2f} to {self.high:.2f}), which may be no gain"
            )
        if self.sure <= 1:
            return (
                "measurement and prediction contradict each other: "
                f"{', and '.join(map(str, self.contradictions))}. Other work on the machine or its "
                "network does that: measure again"
            )
        return None


def energy_kept(job: Job, planned: Plan) -> float:
    """The share of an averaged gradient's energy that arrives in an iteration without residual.

    1 - |dense - arrived|^2 / |dense|^2 over all parameters; the rest waits in residuals.
    """
    module, _, step = job()
    dense: dict[torch.nn.Parameter, torch.Tensor] = {}

    def keep(parameter: torch.nn.Parameter) -> None:
        dense[parameter] = parameter.grad.clone()

    learning = [p for p in module.parameters() if p.requires_grad]
    handles = [p.register_post_accumulate_grad_hook(keep) for p in learning]
    distributed = distribute(module, planned)
    step(module).backward()
    lost = whole = 0.0
    for parameter in learning:  # in one order on all ranks
        average = dense.get(parameter, torch.zeros_like(parameter))
        dist.all_reduce(average)
        average /= dist.get_world_size()
        arrived = 0.0 if parameter.grad is None else parameter.grad
        lost += (average - arrived).double().square().sum().item()
        whole += average.double().square().sum().item()
    distributed.close()
    for handle in handles:
        handle.remove()
    return 1 - lost / whole if whole > 0 else 1.0


def choose(
    job: Job, advised: Sequence[Advised], plan: Callable[[str], Plan]
) -> tuple[Plan, float]:
    """Chooses the pipeline that keeps most energy among those that are about the soonest trained.

    Takes those that may be recommended, and of these, if there are any, those that compress.
    Returns the share that the pipeline keeps too; all ranks call it, alike.
    """
    able = [one for one in advised if not has_server(one.algorithm)]
    able = [one for one in able if is_sparse(one.algorithm)] or able
    soonest_s = min(one.expected_s for one in able)
    alike = {one.algorithm for one in able if one.expected_s <= _ALIKE * soonest_s}
    plans = [plan(algorithm) for algorithm in sorted(alike)]
    kept = [(energy_kept(job, planned), planned) for planned in plans]
    share, planned = max(kept, key=lambda pair: pair[0])
    return planned, share


def _refuted(none: Way, ways: Sequence[Way]) -> str | None:
    """Says which way was faster than no exchange at all, which none can be; None: none was."""
    for way in ways:
        gain = Gain(none, way)
        if gain.low > 1 and gain.times > _ALIKE:
            return (
                f"{way.measured.name} took {_milliseconds(way.measured.iteration_s)}, less than no "
                f"exchange at all, {_milliseconds(none.measured.iteration_s)}: other work on the "
                "machine was in these measurements. Measure again"
            )
    return None


def _needed(one: Advised) -> str:
    return (
        f"needed {one.least:.2g} to {one.most:.2g} times as many iterations as without compression "
        f"(median {one.median:.2g})"
    )


def lines(
    validation: Validation, planned: Plan, kept: float, folder: str, advised: Sequence[Advised]
) -> list[str]:
    """The advice: what is, what to change, what it gains, what it costs, and what is left.

    `validation` is of DDP, DDP with the optimal dense plan, the pipeline of `planned`, and no
    exchange. `folder` is where the model and the cluster are kept. `advised` may be recommended.
    """
    ddp, dense, best, none = validation.measurements
    now, buckets, change, idle = map(Way, validation.measurements, validation.intervals)
    gain, of_buckets = Gain(now, change), Gain(now, buckets)
    refuted = _refuted(idle, (now, buckets, change))
    trained = min(
        (one for one in advised if one.algorithm == planned.algorithm),
        key=lambda one: one.iteration_s,
    )
    files = ", ".join(f"'{Path(folder) / name}.json'" for name in ("model", "cluster"))
    said = [
        f"Now: DistributedDataParallel takes {_milliseconds(ddp.iteration_s)} an iteration, of "
        f"which {_milliseconds(ddp.exposed_comm_s)} wait for the network."
    ]
    if refuted:
        return [*said, f"No change: {refuted}."]
    why = gain.why_not()
    if not why and gain.sure <= trained.median:
        why = (
            f"{best.name} takes {_milliseconds(best.iteration_s)}, {gain}, but trainings of five "
            f"small networks with it {_needed(trained)}"
        )
    if why:
        said.append(f"No change: {why}.")
    else:
        less = max(0, 1 - none.iteration_s / best.iteration_s)
        said += [
            f"Change: in place of DistributedDataParallel(model), gradweave.torch.distribute("
            f"model, gradweave.plan({files}, algorithm='{planned.algorithm}', "
            f"density={planned.density:g})).",
            f"Gain: {_milliseconds(best.iteration_s)} an iteration, {gain}; without any "
            f"exchange it would be {_milliseconds(none.iteration_s)} ({100 * less:.0f}% less).",
            "Cost: none, as nothing is left out."
            if not is_sparse(planned.algorithm)
            else f"Cost: {100 * kept:.1f}% of a gradient's energy arrives at once, the rest in "
            "later iterations (error feedback): it pays if training needs fewer than "
            f"{gain.sure:.2f} times as many iterations. Trainings of five small networks with it "
            f"{_needed(trained)}. Compare accuracies before you keep it.",
        ]
    why = of_buckets.why_not()
    if why:
        said.append(f"Without loss: no change of DistributedDataParallel's buckets: {why}.")
    else:
        said.append(
            "Without loss: DistributedDataParallel(model, **gradweave.torch.ddp_arguments("
            f"gradweave.plan({files}, algorithm='ddp', policy='optimal'))) takes "
            f"{_milliseconds(dense.iteration_s)}, {of_buckets}. With find_unused_parameters=True "
            "its buckets stay in another order: ddp_arguments(plan, model, "
            "find_unused_parameters=True)."
        )
    return said
