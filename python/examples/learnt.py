"""Tables and pictures of the runs of convergence.py.

    build/python/bin/python python/examples/learnt.py convergence

prints what is right in the end, and after how many iterations the goal was reached, of all networks
by the ways at one density, and how far predictions of iterations are off. The folder gets table.md
with all that was found of all runs, of each network what `gradweave compare --accuracy` ranks by
and, where there is gnuplot, two pictures: of accuracy and loss over iterations and over seconds,
and of what was sent and what was left.
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import os
import shutil
import statistics
import subprocess
import tempfile
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

import gradweave
from convergence import Run, cluster_of, gradients_of, model_of
from networks import NETWORKS
from ways import CHOSEN, DENSE, HOOKS, selects

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


def plain_runs(found: Kinds, density: float) -> Kinds:
    """Those at one density, with plain momentum and no warm-up, and the dense ones."""
    return {
        run: each
        for run, each in found.items()
        if (run.momentum, run.warm_up) == ("plain", 0)
        and (run.density == density or not selects(run.way))
    }


# ---- to a goal -----------------------------------------------------------------------------------


def reached(run: dict, share: float) -> dict | None:
    """The first judgement of which so many are right."""
    return next((one for one in run["curve"] if one["right"] >= share), None)


def is_plain(run: Run) -> bool:
    """Returns whether `compare` predicts the run."""
    return (run.momentum, run.warm_up) == ("plain", 0) and run.way not in (*HOOKS, *CHOSEN)


def goals_of(found: Kinds) -> dict[Case, float]:
    """Returns each case's goal, 90% of what dense pipelines come to."""
    ends = defaultdict(list)
    for run, each in found.items():
        if run.way in DENSE and is_plain(run):
            ends[case_of(run)] += [one["curve"][-1]["right"] for one in each]
    return {case: round(0.9 * statistics.fmean(right), 3) for case, right in ends.items()}


def sent_over_asked(asked: argparse.Namespace, run: Run, each: list[dict]) -> float | None:
    """Mean bytes in judged iterations over what the pipeline sends if it selects what was asked."""
    sent = known_values(each, "bytes")
    if not selects(run.way) or not sent:
        return None
    foretold = predict(
        run,
        model_of(asked.folder, run.network, run.workers),
        Path(cluster_of(asked, run.network, run.workers)),
    )
    return foretold and float(f"{statistics.fmean(sent) / foretold.bytes_per_worker:.3g}")


def write_accuracy(asked: argparse.Namespace, found: Kinds) -> None:
    """Writes a file of each case for `gradweave compare --accuracy`, and for traces/accuracy."""
    for case, goal in goals_of(found).items():
        network = NETWORKS[case[0]]
        trainings = []
        for run, each in found.items():
            is_plain_way = (run.momentum, run.warm_up) == ("plain", 0) and run.way not in CHOSEN
            if case_of(run) != case or not is_plain_way:
                continue
            training = {
                "algorithm": run.way,
                "density": run.density,
                "workers": run.workers,
                "iterations": [(reached(one, goal) or {}).get("iteration") for one in each],
            }
            sent = sent_over_asked(asked, run, each)
            trainings.append(training | ({"sent": sent} if sent else {}))
        document = {
            "schema": "gradweave/accuracy@1",
            "model": case[0].removesuffix("_adamw"),
            "goal": goal,
            "judged_every": network.judged_every,
            "trained": case[2],
            "optimizer": network.described(),
            "batch_size": network.batch,
            "trainings": trainings,
        }
        path = file_of(asked.folder, case, "-accuracy.json")
        path.write_text(json.dumps(document, indent=1) + "\n")


# ---- predictions ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class Forecast:
    """A forecast of an iteration: DistributedDataParallel has that of `ddp`, its hooks have none.

    Seconds are by what recorded gradients select, or else as asked; bytes are what a worker sends.
    """

    iteration_s: float | None = None
    then_s: float | None = None  # of a machine with the pace that it had in the middle run
    asked: float | None = None
    generated: float | None = None
    recorded: float | None = None  # in the iterations that were judged, whose bytes are known


def took_s(run: dict) -> float:
    """An iteration."""
    return run["curve"][-1]["seconds"] / run["curve"][-1]["iteration"]


def middle(each: list[dict]) -> dict:
    """The run whose iterations took longer than those of half of the others."""
    return sorted(each, key=took_s)[len(each) // 2]


def paced(path: Path, run: dict, folder: Path) -> Path:
    """The model, which without exchanges takes what it took while it was trained."""
    model = json.loads(path.read_text())
    tensors = model["tensors"]
    own_s = model["forward_s"] + sum(one["backward_s"] for one in tensors) + model["update_s"]
    pace = run["alone_s"] / own_s
    for one in tensors:
        one["backward_s"] *= pace
        one.pop("backward_low_s", None)  # what it varies within is not predicted from
        one.pop("backward_high_s", None)
    model["forward_s"] *= pace
    model["update_s"] *= pace
    (folder / path.name).write_text(json.dumps(model))
    return folder / path.name


def predict(run: Run, model: Path, cluster: Path) -> gradweave.Prediction | None:
    try:
        return gradweave.predict(
            model,
            cluster,
            {"torch-ddp": "ddp"}.get(run.way, run.way),
            workers=run.workers,
            density=run.density if selects(run.way) else 0.001,
        )
    except gradweave.BadInput:  # the cluster's file lacks something
        return None


def simulate(
    run: Run, model: Path, cluster: Path, counts: str | Path, iterations: int, *options
) -> dict | None:
    """Returns a simulation's document; None where `gradweave` is missing, or cannot simulate it."""
    if shutil.which("gradweave") is None:
        return None
    command = ["gradweave", "simulate", model, "--algo", run.way, "--workers", str(run.workers)]
    command += ["--cluster", cluster]
    command += ["--density", str(run.density), "--counts", counts, "-n", str(iterations)]
    done = subprocess.run([*command, "--json", *options], capture_output=True, text=True)
    return json.loads(done.stdout) if done.returncode == 0 else None


def forecast(asked: argparse.Namespace, run: Run, each: list[dict]) -> Forecast:
    if run.way in (*HOOKS, *CHOSEN) and run.way != "torch-ddp":
        return Forecast()
    model = model_of(asked.folder, run.network, run.workers)
    cluster = Path(cluster_of(asked, run.network, run.workers))
    with tempfile.TemporaryDirectory() as name:
        scratch = Path(name)
        then = paced(model, middle(each), scratch)
        foretold, foretold_then = predict(run, model, cluster), predict(run, then, cluster)
        if foretold is None:
            return Forecast()
        found = Forecast(foretold.iteration_s, foretold_then.iteration_s, foretold.bytes_per_worker)
        if not selects(run.way):
            return found
        generated = simulate(run, model, cluster, "trained", 100)
        if generated:
            found = replace(found, generated=generated["bytes_per_worker"])
        counts, gradients = scratch / "counts.json", gradients_of(asked.folder, run)
        if not is_plain(run) or not gradients.exists():
            return found
        by_counts = simulate(run, model, cluster, gradients, run.iterations, "--counts-out", counts)
        if by_counts is None:
            return found
        by_counts_then = simulate(run, then, cluster, counts, run.iterations)
        document = json.loads(counts.read_text())
        judged = {one["iteration"] for taken in each for one in taken["curve"] if one["bytes"]}
        numbered = enumerate(document["iterations"], start=1)
        document["iterations"] = [one for number, one in numbered if number in judged]
        counts.write_text(json.dumps(document))
        in_judged = simulate(run, model, cluster, counts, len(judged))
        return replace(
            found,
            iteration_s=by_counts["iteration_s"],
            then_s=by_counts_then["iteration_s"],
            recorded=in_judged["bytes_per_worker"],
        )


def forecasts_of(asked: argparse.Namespace, found: Kinds) -> dict[Run, Forecast]:
    with ThreadPoolExecutor(os.cpu_count()) as threads:
        of_each = threads.map(lambda kind: forecast(asked, *kind), found.items())
        return dict(zip(found, of_each))


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


def in_ms(seconds: float | None) -> str:
    return f"{1e3 * seconds:.2f} ms" if seconds else ""


def known_values(each: list[dict], name: str) -> list[float]:
    """In all judgements of the runs that know it."""
    values = [one[name] for taken in each for one in taken["curve"]]
    return [value for value in values if value is not None]


def row_of(run: Run, each: list[dict], foretold: Forecast, goal: float | None) -> list[str]:
    ends = [taken["curve"][-1] for taken in each]
    names = ("bytes", "energy_kept", "residual")
    sent, energy, residual = (known_values(each, name) for name in names)
    each_sent = [statistics.fmean(sent) if sent else None]
    each_sent += [foretold.asked, foretold.generated, foretold.recorded]
    return [
        *(run.network, run.workers, f"`{run.way}`", run.density, run.momentum, run.warm_up),
        run.iterations,
        with_interval([one["right"] for one in ends]),
        *to_goal(each, goal, foretold.iteration_s),
        *map(in_ms, (took_s(middle(each)), foretold.iteration_s, foretold.then_s)),
        *(f"{one / (4 * each[0]['parameters']):.2%}" if one else "" for one in each_sent),
        f"{statistics.fmean(energy):.1%}" if energy else "",
        f"{statistics.median(residual):.2f}" if residual else "",
    ]


def table(rows: list[list]) -> str:
    rows = [rows[0], ["---"] * len(rows[0]), *rows[1:]]
    return "".join("| " + " | ".join(map(str, cells)) + " |\n" for cells in rows)


def right_of(each: list[dict], goal: float | None) -> str:
    """Percent right in the end ± half of its 95% interval, and behind it the iterations to the
    goal and how many runs did not reach it; a dagger where some diverged."""
    right = with_interval([one["curve"][-1]["right"] for one in each]).replace("%", "")
    mean, _, half = right.partition(" ± ")
    half = f" ±{float(half):.{int(float(half) < 1)}f}" if half else ""
    after = to_goal(each, goal, None)[0].replace(" never", "×")
    after += "†" if any(one["diverged"] for one in each) else ""
    return f"{mean}{half} ({after})" if after else f"{mean}{half}"


def summary(found: Kinds, density: float) -> str:
    """Tables plain runs by way: what is right, and the iterations to the goal behind it."""
    goals = goals_of(found)
    cases = list(dict.fromkeys(map(case_of, found)))
    cells = defaultdict(lambda: dict.fromkeys(cases, ""))
    for run, each in plain_runs(found, density).items():
        cells[run.way][case_of(run)] = right_of(each, goals.get(case_of(run)))
    titles = [
        f"{case[0]}, {case[1]} workers, {case[2]} iterations"
        + (f" ({goals[case]:.1%})" if case in goals else "")
        for case in cases
    ]
    rows = [[f"`{way}`", *map(by_case.get, cases)] for way, by_case in cells.items()]
    return table([["way", *titles], *rows])


def differences(each: list[dict]) -> list[tuple[float, float]]:
    """How far any of these runs, of which only seeds differ, is off as a forecast of another one's
    iteration: as it is, and if it had computed at the other's pace."""
    found = []
    for known, run in itertools.permutations(each, 2):
        exchanges_s = took_s(known) - known["alone_s"]
        foretold = took_s(known), run["alone_s"] + exchanges_s
        found.append(tuple(seconds / took_s(run) - 1 for seconds in foretold))
    return found


def errors_rows(found: Kinds, forecasts: dict[Run, Forecast], density: float) -> list[list]:
    """How far predicted iterations of plain runs are off: of each case, and of all."""
    shown = [run for run in plain_runs(found, density) if forecasts[run].iteration_s]
    alike = [run for run in shown if not run.served]
    groups = {case: [r for r in alike if case_of(r) == case] for case in map(case_of, alike)}
    for workers in sorted({run.workers for run in alike}):
        groups["all", workers, ""] = [run for run in alike if run.workers == workers]
    groups["all", "", ""] = alike
    groups["with a server", "", ""] = [run for run in shown if run.served]

    def size(errors: list[float]) -> str:
        return f"{statistics.fmean(map(abs, errors)):.1%} ({statistics.median(errors):+.1%})"

    def row(runs: list[Run]) -> list:
        took = [took_s(middle(found[run])) for run in runs]
        off = [forecasts[run].iteration_s / seconds - 1 for run, seconds in zip(runs, took)]
        then = [forecasts[run].then_s / seconds - 1 for run, seconds in zip(runs, took)]
        between = zip(*(one for run in runs for one in differences(found[run])))
        within = sum(abs(error) <= 0.05 for error in then)
        by_seed = (f"{statistics.fmean(map(abs, one)):.1%}" for one in between)
        return [len(runs), size(off), size(then), within, ", ".join(by_seed)]

    titles = ["network", "workers", "iterations", "ways", "off by", "at the pace then"]
    titles += ["of these within 5%", "a run by another one, at its pace"]
    return [titles, *([*title, *row(runs)] for title, runs in groups.items() if runs)]


# ---- pictures ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Panel:
    over: str  # of a judgement, as value
    value: str
    label: str
    scale: float = 1
    settings: str = ""


RIGHT = ("right", "right (%)", 100, "set yrange [0:100]")
LOSS = ("held_out_loss", "loss of what is held out")
LEARNT = [Panel(over, *value) for value in (RIGHT, LOSS) for over in ("iteration", "seconds")]
SENT = [
    Panel("iteration", "sent", "sent (% of dense)", 100, "set logscale y"),
    Panel("iteration", "energy_kept", "energy that goes at once (%)", 100, "set logscale y"),
    Panel("iteration", "residual", "residual over gradient (norms)"),
]
AXES = {"iteration": "iterations", "seconds": "training (s)"}
GNUPLOT = """
set terminal pngcairo size {width},{height} font "sans,13"
set output "{picture}"
set multiplot layout {rows},{columns} title "{title}" noenhanced \\
    margins screen {left},{right},{bottom},{top} spacing screen {across},{down}
set border 3
set xtics nomirror
set ytics nomirror
set grid xtics ytics lt 1 lc rgb "#dddddd"
"""
KEY = "set key at screen 0.995,{top} right top Left reverse noenhanced samplen 3 spacing 1.3\n"
COLOURS = ("#333333", "#3f6f9f", "#e8a33d", "#62b58f", "#d95f5f", "#8f6fb0", "#9aa0a6")


def mean_curve(each: list[dict], name: str) -> list[float]:
    """Returns means of the runs, at each judgement that all have; NaN where nothing is known."""
    curves = [run["curve"] for run in each]
    if name == "sent":
        dense = 4 * each[0]["parameters"]
        curves = [[{name: one["bytes"] and one["bytes"] / dense} for one in c] for c in curves]
    values = [[one[name] for one in judged] for judged in zip(*curves)]
    return [math.nan if None in known else statistics.fmean(known) for known in values]


def draw(
    picture: Path, title: str, panels: list[Panel], columns: int, shown: list[tuple[str, str, list]]
) -> None:
    """In every panel a curve of each way's runs, as name, colour and runs."""
    rows = len(panels) // columns
    width, height = 190 + 440 * columns, 110 + 320 * rows
    top = 1 - 60 / height
    script = GNUPLOT.format(
        **dict(picture=picture, title=title, rows=rows, columns=columns, top=top),
        **dict(width=width, height=height, left=90 / width, right=1 - 170 / width),
        **dict(bottom=60 / height, across=90 / width, down=75 / height),
    )
    for panel in panels:
        script += f'set xlabel "{AXES[panel.over]}"\nset ylabel "{panel.label}" offset 1\n'
        script += "set autoscale y\nunset logscale\n" + panel.settings + "\n"
        script += KEY.format(top=top) if panel is panels[-1] else "unset key\n"
        plots = []
        for index, (label, colour, each) in enumerate(shown):
            points = zip(mean_curve(each, panel.over), mean_curve(each, panel.value))
            lines = [f"{over} {panel.scale * one}" for over, one in points if not math.isnan(one)]
            if not lines:  # it diverged before it was judged
                continue
            script += f"$run{index} << end\n" + "\n".join(lines) + "\nend\n"
            plots.append(
                f"$run{index} using 1:2 with linespoints pointtype 7 pointsize 0.5 "
                f'linewidth 2 linecolor rgb "{colour}" title "{label}"'
            )
        script += "plot " + ", ".join(plots) + "\n" if plots else "set multiplot next\n"
    subprocess.run(["gnuplot"], input=script, text=True, check=True)


def draw_all(folder: Path, found: Kinds, ways: list[str], density: float) -> None:
    """Without gnuplot nothing."""
    if shutil.which("gnuplot") is None:
        return
    for case in goals_of(found):
        shown = [
            (way, COLOURS[index % len(COLOURS)], each)
            for index, way in enumerate(ways)
            for run, each in plain_runs(found, density).items()
            if (case_of(run), run.way) == (case, way)
        ]
        title = f"{case[0]}, {case[1]} workers, density {density:g}"
        compressed = [one for one in shown if selects(one[0])]
        if shown:
            draw(file_of(folder, case, ".png"), title, LEARNT, 2, shown)
        if compressed:
            draw(file_of(folder, case, "-sent.png"), title, SENT, 3, compressed)


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
    forecasts = forecasts_of(asked, found)
    rows = [
        row_of(run, each, forecasts[run], goals.get(case_of(run)))
        for run, each in found.items()
    ]
    (asked.folder / "table.md").write_text(table([HEADINGS, *rows]))
    print()
    print(table(errors_rows(found, forecasts, asked.density)), end="")
    write_accuracy(asked, found)
    draw_all(asked.folder, found, asked.ways.split(","), asked.density)


if __name__ == "__main__":
    main()
