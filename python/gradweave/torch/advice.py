"""What to change in a job, by how much it gets faster, and what that costs."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from pathlib import Path

import torch
import torch.distributed as dist

from gradweave._library import has_server
from gradweave.study import Measurement, Plan, Prediction, Validation
from gradweave.torch.distributed import distribute
from gradweave.torch.job import Job

# Predictions that are no further apart do not tell which pipeline is faster.
_ALIKE = 1.05


def speedup(before_s: Sequence[float], after_s: Sequence[float]) -> tuple[float, float, float]:
    """How many times as fast, by the medians, and its 95% interval (percentile bootstrap)."""

    def median(values: Sequence[float]) -> float:
        return torch.tensor(values, dtype=torch.float64).quantile(0.5).item()

    draws = random.Random(1)
    ratios = sorted(
        median(draws.choices(before_s, k=len(before_s)))
        / median(draws.choices(after_s, k=len(after_s)))
        for _ in range(1000)
    )
    return median(before_s) / median(after_s), ratios[25], ratios[974]


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
    job: Job, ranking: Sequence[Prediction], plan: Callable[[str], Plan]
) -> tuple[Plan, float]:
    """Of the pipelines that are predicted to be about the fastest, the one that keeps most energy.

    With it the share that it keeps; all ranks call it, alike.
    """
    able = [one for one in ranking if not has_server(one.algorithm)]
    fastest_s = min(one.iteration_s for one in able)
    plans = [plan(one.algorithm) for one in able if one.iteration_s <= _ALIKE * fastest_s]
    kept = [(energy_kept(job, planned), planned) for planned in plans]
    share, planned = max(kept, key=lambda pair: pair[0])
    return planned, share


def _milliseconds(seconds: float) -> str:
    return f"{1e3 * seconds:.4g} ms"


def why_not(
    before: Measurement, predicted_before: Prediction, after: Measurement, predicted: Prediction
) -> str | None:
    """Why it is not known that `after` is faster than `before`; None: it is.

    Both were measured and predicted. Where one of the two predictions is further from what was
    measured than `after` is from `before`, the machine was another meanwhile, or what is believed
    of it is wrong: the gain may be as wrong.
    """
    gained_s = before.iteration_s - after.iteration_s
    times, low, high = speedup(before.iterations_s, after.iterations_s)
    if low <= 1:
        return (
            f"{after.name} was measured to be {times:.2f} times as fast as {before.name} (95%: "
            f"{low:.2f} to {high:.2f}), which may be no gain"
        )
    for measured, prediction in ((before, predicted_before), (after, predicted)):
        apart_s = abs(measured.iteration_s - prediction.iteration_s)
        if apart_s >= gained_s:
            return (
                f"measurement and prediction contradict each other: {measured.name} took "
                f"{_milliseconds(measured.iteration_s)}, and "
                f"{_milliseconds(prediction.iteration_s)} by prediction; they are "
                f"{_milliseconds(apart_s)} apart, and {after.name} would gain "
                f"{_milliseconds(gained_s)}. Other work on the machine or its network does that: "
                "measure again"
            )
    return None


def lines(validation: Validation, planned: Plan, kept: float, folder: str) -> list[str]:
    """The advice: what is, what to change, what it gains, what it costs, and what is left.

    `validation` is of DDP, DDP with the optimal dense plan, the pipeline of `planned`, and no
    exchange. `folder` is where the model and the cluster are kept.
    """
    ddp, dense, best, none = validation.measurements
    predicted_ddp, predicted_dense, predicted_best, _ = validation.predictions
    files = ", ".join(f"'{Path(folder) / name}.json'" for name in ("model", "cluster"))

    def gain(over: Measurement) -> str:
        times, low, high = speedup(ddp.iterations_s, over.iterations_s)
        return f"{times:.2f} times as fast (95%: {low:.2f} to {high:.2f})"

    said = [
        f"Now: DistributedDataParallel takes {_milliseconds(ddp.iteration_s)} an iteration, of "
        f"which {_milliseconds(ddp.exposed_comm_s)} wait for the network."
    ]
    why = why_not(ddp, predicted_ddp, best, predicted_best)
    if why:
        said.append(f"No change: {why}.")
    else:
        ratio = none.iteration_s / best.iteration_s
        said += [
            f"Change: in place of DistributedDataParallel(model), gradweave.torch.distribute("
            f"model, gradweave.plan({files}, algorithm='{planned.algorithm}', "
            f"density={planned.density:g})).",
            f"Gain: {_milliseconds(best.iteration_s)} an iteration, {gain(best)}; without any "
            f"exchange it would be {_milliseconds(none.iteration_s)} ({100 * (1 - ratio):.0f}% "
            "less).",
            f"Cost: {100 * kept:.1f}% of a gradient's energy arrives at once, the rest in later "
            "iterations (error feedback): it pays if training needs fewer than "
            f"{ddp.iteration_s / best.iteration_s:.2f} times as many iterations. Compare "
            "accuracies before you keep it.",
        ]
    why = why_not(ddp, predicted_ddp, dense, predicted_dense)
    if why:
        said.append(f"Without loss: no change of DistributedDataParallel's buckets: {why}.")
    else:
        said.append(
            "Without loss: DistributedDataParallel(model, **gradweave.torch.ddp_arguments("
            f"gradweave.plan({files}, algorithm='ddp', policy='optimal'))) takes "
            f"{_milliseconds(dense.iteration_s)}, {gain(dense)}. With find_unused_parameters=True "
            "its buckets stay in another order: ddp_arguments(plan, model, "
            "find_unused_parameters=True)."
        )
    return said
