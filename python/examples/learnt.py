"""What the runs of convergence.py come to.

    build/python/bin/python python/examples/learnt.py convergence

prints what is right in the end, and after how many iterations the goal was reached, of all networks
by the ways at one density. The folder gets table.md with all that was found of all runs, of each
network what `gradweave compare --accuracy` ranks by and, where there is gnuplot, a picture of
accuracy over iterations and over seconds.
"""

from __future__ import annotations

import argparse
import json
import math
import shutil
import statistics
import subprocess
import tempfile
from collections import defaultdict
from dataclasses import replace
from pathlib import Path

import gradweave
from convergence import Run, cluster_of, gradients_of, model_of
from networks import NETWORKS
from ways import DENSE, HOOKS

Kinds = dict[Run, list[dict]]  # by a run with seed 0, those with any seed
Case = tuple[str, int, int]  # network, workers and iterations: by which ways are compared


def case_of(run: Run) -> Case:
    return run.network, run.workers, run.iterations


def file_of(folder: Path, case: Case, ending: str) -> Path:
    """Named after the network and its workers, and after iterations that are not its own."""
    network, workers, iterations = case
    own = iterations == NETWORKS[network].iterations
    return folder / f"{network}-{workers}{'' if own else f'-{iterations}'}{ending}"


def read_runs(path: Path) -> Kinds:
    found = defaultdict(list)
    for line in path.read_text().splitlines():
        one = json.loads(line)
        run = Run(**{name: one[name] for name in Run.__dataclass_fields__})
        found[replace(run, seed=0)].append(one)
    return found


# ---- to a goal -----------------------------------------------------------------------------------


def reached(run: dict, share: float) -> dict | None:
    """The first judgement of which so many are right."""
    return next((one for one in run["curve"] if one["right"] >= share), None)


def is_plain(run: Run) -> bool:
    """As `compare` predicts it."""
    return (run.momentum, run.warm_up) == ("plain", 0) and run.way not in HOOKS


def goals_of(found: Kinds) -> dict[Case, float]:
    """Of each case 90% of what dense pipelines come to."""
    ends = defaultdict(list)
    for run, each in found.items():
        if run.way in DENSE and is_plain(run):
            ends[case_of(run)] += [one["curve"][-1]["right"] for one in each]
    return {case: round(0.9 * statistics.fmean(right), 3) for case, right in ends.items()}


def write_accuracy(folder: Path, found: Kinds) -> None:
    for case, goal in goals_of(found).items():
        trainings = [
            {
                "algorithm": run.way,
                "density": run.density,
                "workers": run.workers,
                "iterations": [(reached(one, goal) or {}).get("iteration") for one in each],
            }
            for run, each in found.items()
            if case_of(run) == case and is_plain(run)
        ]
        document = {
            "schema": "gradweave/accuracy@1",
            "model": case[0],
            "goal": goal,
            "judged_every": NETWORKS[case[0]].judged_every,
            "trainings": trainings,
        }
        path = file_of(folder, case, "-accuracy.json")
        path.write_text(json.dumps(document, indent=1) + "\n")


# ---- predictions ---------------------------------------------------------------------------------


def compute_s(model: dict) -> float:
    """Of an iteration, without exchanges."""
    tensors_s = sum(tensor["backward_s"] for tensor in model["tensors"])
    return model["forward_s"] + tensors_s + model["update_s"]


def slowed(model: dict, pace: float) -> dict:
    tensors = [one | {"backward_s": pace * one["backward_s"]} for one in model["tensors"]]
    for one in tensors:  # what it varies within is not predicted from
        one.pop("backward_low_s", None)
        one.pop("backward_high_s", None)
    return model | {
        "forward_s": pace * model["forward_s"],
        "update_s": pace * model["update_s"],
        "tensors": tensors,
    }


def predict(
    asked: argparse.Namespace, run: Run, now_s: float | None = None
) -> gradweave.Prediction | None:
    """Of DistributedDataParallel as `ddp`, of its hooks nothing. With `now_s`, of a machine that
    takes so long for what was recorded."""
    algorithm = {"torch-ddp": "ddp"}.get(run.way, run.way)
    if algorithm in HOOKS:
        return None
    path = model_of(asked.folder, run.network, run.workers)
    with tempfile.TemporaryDirectory() as folder:
        if now_s is not None:
            model = json.loads(path.read_text())
            path = Path(folder) / path.name
            path.write_text(json.dumps(slowed(model, now_s / compute_s(model))))
        try:
            return gradweave.predict(
                path,
                cluster_of(asked, run.network, run.workers),
                algorithm,
                workers=run.workers,
                density=0.001 if run.way in DENSE else run.density,
                interference=True,
            )
        except gradweave.BadInput:  # the cluster's file lacks something
            return None


def simulated_bytes(asked: argparse.Namespace, run: Run, *options: str | Path) -> float | None:
    """What a worker sends, in the mean; nothing where `gradweave simulate` is not there."""
    if run.way in DENSE or shutil.which("gradweave") is None:
        return None
    command = ["gradweave", "simulate", model_of(asked.folder, run.network, run.workers)]
    command += ["--cluster", cluster_of(asked, run.network, run.workers), "--algo", run.way]
    command += ["--workers", str(run.workers), "--density", str(run.density), "--json", *options]
    done = subprocess.run(command, capture_output=True, text=True)
    return json.loads(done.stdout)["bytes_per_worker"] if done.returncode == 0 else None


def generated_bytes(asked: argparse.Namespace, run: Run) -> float | None:
    """By generated gradients."""
    return simulated_bytes(asked, run, "--counts", "trained", "-n", "100")


def recorded_bytes(asked: argparse.Namespace, run: Run, judged: set[int]) -> float | None:
    """By recorded ones, in the iterations that were judged, whose bytes are known."""
    if not is_plain(run):
        return None
    gradients = gradients_of(asked.folder, run)
    with tempfile.TemporaryDirectory() as scratch:
        path = Path(scratch) / "counts.json"
        options = ["--counts", gradients, "-n", str(run.iterations), "--counts-out", path]
        if simulated_bytes(asked, run, *options) is None:
            return None
        counts = json.loads(path.read_text())
        each = enumerate(counts["iterations"], start=1)
        counts["iterations"] = [one for number, one in each if number in judged]
        path.write_text(json.dumps(counts))
        options = ["--counts", path, "-n", str(len(judged))]
        return simulated_bytes(asked, run, *options)


# ---- the table -----------------------------------------------------------------------------------

T_97_5 = (math.inf, 12.706, 4.303, 3.182, 2.776, 2.571)  # Student's, by degrees of freedom


def with_interval(shares: list[float]) -> str:
    """Their mean and half of its 95% interval, of which one alone says nothing."""
    mean = statistics.fmean(shares)
    if len(shares) < 2:
        return f"{mean:.1%}"
    spread = statistics.stdev(shares) / math.sqrt(len(shares))
    return f"{mean:.1%} ± {T_97_5[min(len(shares) - 1, 5)] * spread:.1%}"


HEADINGS = [
    *("network", "workers", "way", "density", "momentum", "warm-up", "iterations"),
    *("right", "goal after", "seconds", "seconds predicted", "iteration", "iteration predicted"),
    "at its pace then",
    *("sent", "as asked", "generated", "recorded", "energy kept", "residual"),
]


def to_goal(each: list[dict], goal: float | None, iteration_s: float | None) -> list[str]:
    """Iterations to it, seconds and predicted seconds: medians of the runs that come there."""
    after = [reached(one, goal) for one in each] if goal else []
    known = [one for one in after if one]
    missed = f"{len(after) - len(known)} never" if len(known) < len(after) else ""
    if not known:
        return [missed, "", ""]
    iterations = statistics.median(one["iteration"] for one in known)
    return [
        ", ".join(filter(None, [f"{iterations:g}", missed])),
        f"{statistics.median(one['seconds'] for one in known):.2f} s",
        f"{iterations * iteration_s:.2f} s" if iteration_s else "",
    ]


def row_of(asked: argparse.Namespace, run: Run, each: list[dict], goal: float | None) -> list[str]:
    judged = [one for taken in each for one in taken["curve"]]
    ends = [taken["curve"][-1] for taken in each]
    sent = [one["bytes"] for one in judged if one["bytes"] is not None]
    predicted = predict(asked, run)
    iteration_s = predicted and predicted.iteration_s

    def of_dense(sent_bytes: float | None) -> str:
        return f"{sent_bytes / (4 * each[0]['parameters']):.2%}" if sent_bytes else ""

    row = [run.network, run.workers, f"`{run.way}`", run.density, run.momentum, run.warm_up]
    row += [run.iterations]
    row += [with_interval([one["right"] for one in ends]), *to_goal(each, goal, iteration_s)]
    row += [f"{1e3 * took_s(each):.2f} ms", f"{1e3 * iteration_s:.2f} ms" if iteration_s else ""]
    then = predict(asked, run, alone_s(each)) if alone_s(each) else None
    row += [f"{1e3 * then.iteration_s:.2f} ms" if then else ""]
    row += [of_dense(statistics.fmean(sent) if sent else None)]
    row += [of_dense(predicted and predicted.bytes_per_worker)]
    row += [of_dense(generated_bytes(asked, run))]
    iterations = {one["iteration"] for one in judged if one["bytes"] is not None}
    row += [of_dense(recorded_bytes(asked, run, iterations))]
    if run.way in HOOKS:
        return [*row, "", ""]
    shown = [one for one in judged if one["energy_kept"] is not None]
    row += [f"{statistics.fmean(one['energy_kept'] for one in shown):.1%}" if shown else ""]
    return [*row, f"{statistics.median(one['residual'] for one in shown):.2f}" if shown else ""]


def table(rows: list[list]) -> str:
    rows = [rows[0], ["---"] * len(rows[0]), *rows[1:]]
    return "".join("| " + " | ".join(map(str, cells)) + " |\n" for cells in rows)


def summary(found: Kinds, density: float) -> str:
    """Of plain runs by each way: what is right, and the iterations to the goal behind it."""
    goals = goals_of(found)
    cases = list(dict.fromkeys(map(case_of, found)))
    cells = defaultdict(lambda: dict.fromkeys(cases, ""))
    for run, each in found.items():
        if (run.momentum, run.warm_up) != ("plain", 0):
            continue
        if run.way in DENSE or run.density == density:
            right = with_interval([one["curve"][-1]["right"] for one in each])
            diverged = sum(one["diverged"] for one in each)
            after = to_goal(each, goals.get(case_of(run)), None)[0]
            after += f", {diverged} diverged" if diverged else ""
            cells[run.way][case_of(run)] = f"{right} ({after})" if after else right
    titles = [
        f"{case[0]}, {case[1]} workers, {case[2]} iterations"
        + (f" ({goals[case]:.1%})" if case in goals else "")
        for case in cases
    ]
    rows = [[f"`{way}`", *map(by_case.get, cases)] for way, by_case in cells.items()]
    return table([["way", *titles], *rows])


def took_s(each: list[dict]) -> float:
    """An iteration, in the median of the runs."""
    ends = [taken["curve"][-1] for taken in each]
    return statistics.median(one["seconds"] / one["iteration"] for one in ends)


def alone_s(each: list[dict]) -> float | None:
    """What was recorded took that long around these runs, in the median."""
    known = [one["alone_s"] for one in each if "alone_s" in one]
    return statistics.median(known) if known else None


def print_errors(asked: argparse.Namespace, found: Kinds) -> None:
    """How far predicted iterations are off, of each case."""
    errors = defaultdict(lambda: ([], []))
    for run, each in found.items():
        for off, pace_s in zip(errors[case_of(run)], (None, alone_s(each))):
            predicted = predict(asked, run, pace_s)
            if predicted:
                off.append(predicted.iteration_s / took_s(each) - 1)
    for (network, workers, iterations), (off, then) in errors.items():
        if off:
            print(
                f"{network}, {workers} workers, {iterations} iterations: of {len(off)} iterations "
                f"the predictions are off by {statistics.median(off):+.1%} in the median, "
                f"{statistics.fmean(map(abs, off)):.1%} in the mean of magnitudes; at the pace that "
                f"the machine had then {statistics.median(then):+.1%}, "
                f"{statistics.fmean(map(abs, then)):.1%}"
            )


# ---- pictures ------------------------------------------------------------------------------------

GNUPLOT = """
set terminal pngcairo size 1200,560 font "sans,13"
set output "{picture}"
set multiplot layout 1,2 title "{title}" noenhanced
set border 3
set xtics nomirror
set ytics nomirror
set grid xtics ytics lt 1 lc rgb "#dddddd"
unset key
set ylabel "right (%)"
set yrange [0:100]
set xlabel "iterations"
plot {iterations}
set xlabel "training (s)"
unset ylabel
set key outside right top Left reverse noenhanced samplen 3 spacing 1.3
plot {seconds}
"""
COLOURS = ("#333333", "#3f6f9f", "#e8a33d", "#62b58f", "#d95f5f", "#8f6fb0", "#9aa0a6")


def draw(picture: Path, title: str, shown: list[tuple[str, list[dict]]]) -> None:
    """The means of each one's runs; without gnuplot nothing."""
    if shutil.which("gnuplot") is None:
        return
    script, plots = "", {"iterations": [], "seconds": []}
    for index, (label, each) in enumerate(shown):
        rows = (
            " ".join(
                str(statistics.fmean(one[name] for one in judged))
                for name in ("iteration", "seconds", "right")
            )
            for judged in zip(*(run["curve"] for run in each))
        )
        script += f"$run{index} << end\n" + "\n".join(rows) + "\nend\n"
        for column, name in ((1, "iterations"), (2, "seconds")):
            plots[name].append(
                f"$run{index} using {column}:(100 * $3) with linespoints pointtype 7 pointsize 0.5 "
                f'linewidth 2 linecolor rgb "{COLOURS[index % len(COLOURS)]}" title "{label}"'
            )
    script += GNUPLOT.format(
        picture=picture, title=title, **{name: ", ".join(each) for name, each in plots.items()}
    )
    subprocess.run(["gnuplot"], input=script, text=True, check=True)


def draw_all(folder: Path, found: Kinds, ways: list[str], density: float) -> None:
    for case in goals_of(found):
        shown = [
            (run.way, each)
            for way in ways
            for run, each in found.items()
            if (case_of(run), run.way) == (case, way)
            and (run.momentum, run.warm_up) == ("plain", 0)
            and (run.way in DENSE or run.density == density)
        ]
        title = f"{case[0]}, {case[1]} workers, density {density:g}"
        if shown:
            draw(file_of(folder, case, ".png"), title, shown)


# ---- all of it -----------------------------------------------------------------------------------


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument(
        "--cluster", help="of predictions; what was calibrated in the job unless given"
    )
    parser.add_argument("--density", type=float, default=0.01, help="of what is printed and drawn")
    parser.add_argument(
        "--ways",
        default="p-sgd,ddp,topk,gaussiank,gtopk,exdyna,gs-sgd",
        help="that are drawn: the first seven at most have colours of their own",
    )
    asked = parser.parse_args()
    found = read_runs(asked.folder / "runs.jsonl")
    goals = goals_of(found)
    print(summary(found, asked.density), end="")
    rows = [
        row_of(asked, run, each, goals.get(case_of(run)))
        for run, each in found.items()
    ]
    (asked.folder / "table.md").write_text(table([HEADINGS, *rows]))
    print()
    print_errors(asked, found)
    write_accuracy(asked.folder, found)
    draw_all(asked.folder, found, asked.ways.split(","), asked.density)


if __name__ == "__main__":
    main()
