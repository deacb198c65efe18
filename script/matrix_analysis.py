"""What the cells of script/validate-matrix come to: errors, decisions, a table and a picture.

A cell is one pipeline, predicted and measured:
{"pipeline", "model", "workers", "rate", "density", "compression", "iterations", "forecast_s",
 "predicted": {"iteration_s", "breakdown", ..}, "measured": {"iteration_s", "iteration_sd_s", ..}},
the two as `gradweave validate --json` has them. A dense pipeline has the density None and the
compression "none". `forecast_s` is what `compare` said before anything was measured.
"""

import csv
import math
import random
import statistics
import subprocess
import tempfile
from collections import Counter, defaultdict
from functools import partial
from pathlib import Path

PARTS = ("forward_s", "backward_s", "compress_s", "exposed_comm_s", "other_s")
AXES = ("pipeline", "model", "workers", "rate", "density", "compression")
CROSSED = (("compression", "density"), ("compression", "workers"), ("compression", "pipeline"))
DENSE_RIVALS = ("ddp", "mg-wfbp")  # which a compressed pipeline is worth its trouble against
RESAMPLES = 1000

# Student's t, 97.5th percentile, of 1 to 20 degrees of freedom.
STUDENT_T = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228)
STUDENT_T += (2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086)


def student_t(freedom):
    return STUDENT_T[freedom - 1] if freedom <= 20 else 1.96 + 2.5 / freedom


def quantile(values, share):
    """Linear between order statistics."""
    ordered = sorted(values)
    place = share * (len(ordered) - 1)
    below = int(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (place - below) * (ordered[above] - ordered[below])


def place_of(cell):
    """Where in the matrix: "lstm-ptb, 8 workers, 250mbit, 0.01, real", as far as there is one."""
    words = [cell["model"], f"{cell['workers']} workers", cell["rate"], cell["density"]]
    return ", ".join(str(word) for word in [*words, cell["compression"]] if word is not None)


# ---- a cell ---------------------------------------------------------------------------------


def is_significant(cell):
    """Whether the prediction is outside of the 95% interval of the measured iterations' mean."""
    measured, count = cell["measured"], cell["iterations"]
    if count < 2 or not measured.get("iteration_sd_s"):
        return None  # nothing is known of its spread
    reach = student_t(count - 1) * measured["iteration_sd_s"] / math.sqrt(count)
    return abs(cell["predicted"]["iteration_s"] - measured["iteration_s"]) > reach


def reach_of(cell):
    """How many times as far as its interval goes on that side the prediction was off: 1 at most is
    within; None without an interval."""
    predicted = cell["predicted"]
    if "iteration_low_s" not in predicted or "iteration_high_s" not in predicted:
        return None
    off_s = cell["measured"]["iteration_s"] - predicted["iteration_s"]
    end_s = predicted["iteration_high_s" if off_s > 0 else "iteration_low_s"]
    half_s = abs(end_s - predicted["iteration_s"])
    return abs(off_s) / half_s if half_s > 0 else math.inf if off_s else 0


# A mean that is known no better says nothing of errors of 10%. Of 462 cells two were, 15 and 21%
# off; of 1,701 two that a standard deviation below 0.1 had let pass, 0 and 14% off.
UNEVEN = 0.05


def disturbance_of(cell):
    """What others took of a machine's processors while it was measured, as a share, and the standard
    error of the mean iteration over it, but for what counts explain; 0: too little to make a
    difference."""
    predicted, measured = cell["predicted"], cell["measured"]
    apart_s = measured.get("iteration_sd_s", 0) - predicted.get("iteration_sd_s", 0)
    uneven = apart_s / measured["iteration_s"] / math.sqrt(cell["iterations"])
    taken = sum(measured.get("disturbance", {}).values())
    return taken + (uneven if uneven > UNEVEN else 0)


def judge(cell):
    """The cell with its errors. A part's is a share of the iteration, as a part may be nothing."""
    predicted, measured = cell["predicted"], cell["measured"]
    whole_s = measured["iteration_s"]
    parts = {
        part: (predicted["breakdown"][part] - measured["breakdown"][part]) / whole_s
        for part in PARTS
    }
    return {
        **cell,
        "error": (predicted["iteration_s"] - whole_s) / whole_s,
        "parts": parts,
        "significant": is_significant(cell),
        "reach": reach_of(cell),
    }


# ---- many cells -----------------------------------------------------------------------------


def share_of(flags):
    """Of those that are known: {"cells", "share"}, or None where none is."""
    flags = [flag for flag in flags if flag is not None]
    return {"cells": len(flags), "share": sum(flags) / len(flags)} if flags else None


def bootstrap(values, figures, generator):
    """95% percentile intervals of figures of the values: {name: [low, high]}."""
    found = {name: [] for name in figures}
    for _ in range(RESAMPLES):
        sample = generator.choices(values, k=len(values))
        for name, figure in figures.items():
            found[name].append(figure(sample))
    return {name: [quantile(all_, 0.025), quantile(all_, 0.975)] for name, all_ in found.items()}


FIGURES = {
    "mean": statistics.fmean,
    "median": statistics.median,
    "p95": lambda values: quantile(values, 0.95),
}


def summarise(cells, generator, error=lambda cell: cell["error"]):
    sizes = [abs(error(cell)) for cell in cells]
    worst = max(cells, key=lambda cell: abs(error(cell)))
    return {
        "cells": len(cells),
        **{name: figure(sizes) for name, figure in FIGURES.items()},
        "worst": abs(error(worst)),
        "worst_at": f"{worst['pipeline']}: {place_of(worst)}",
        "signed_mean": statistics.fmean(error(cell) for cell in cells),
        "intervals": bootstrap(sizes, FIGURES, generator),
    }


def summarise_cells(cells, generator):
    """`wide_enough`: how many times as wide intervals would have to be to hold 95% of the cells."""
    reaches = [cell["reach"] for cell in cells if cell["reach"] is not None]
    return {
        **summarise(cells, generator),
        "significant": share_of(cell["significant"] for cell in cells),
        "covered": share_of(reach <= 1 for reach in reaches),
        "wide_enough": quantile(reaches, 0.95) if reaches else None,
    }


def group_by(cells, key):
    """By an axis, or by what a function says of each."""
    groups = defaultdict(list)
    for cell in cells:
        groups[key(cell) if callable(key) else cell[key]].append(cell)
    return groups


def levels_of(cell, axes):
    return ", ".join("none" if cell[axis] is None else str(cell[axis]) for axis in axes)


def summarise_all(cells, generator):
    """Over all, by each axis and by two at once, and by part of the breakdown."""
    by = {
        " and ".join(axes): {
            value: summarise_cells(group, generator)
            for value, group in group_by(cells, partial(levels_of, axes=axes)).items()
        }
        for axes in (*((axis,) for axis in AXES), *CROSSED)
    }
    parts = {
        part: summarise(cells, generator, lambda cell, part=part: cell["parts"][part])
        for part in PARTS
    }
    return {"all": summarise_cells(cells, generator), "by": by, "parts": parts}


# ---- decisions ------------------------------------------------------------------------------


def find_decisions(cells):
    """All pipelines that one may choose from, each a list of cells, by place in the matrix."""
    dense, choices = defaultdict(list), defaultdict(list)
    for cell in cells:
        where = (cell["model"], cell["workers"], cell["rate"])
        if cell["compression"] == "none":
            dense[where].append(cell)
        else:
            choices[(*where, cell["density"], cell["compression"])].append(cell)
    return {where: group + dense[where[:3]] for where, group in choices.items()}


# What a decision rests on: what was said beforehand, or with counts as measured.
BASES = {
    "forecast": lambda cell: cell["forecast_s"],
    "recorded": lambda cell: cell["predicted"]["iteration_s"],
}


def regret_of(decisions, basis, generator):
    rows = []
    for where, group in decisions.items():
        best = min(group, key=lambda cell: cell["measured"]["iteration_s"])
        chosen = min(group, key=basis)
        lost = chosen["measured"]["iteration_s"] / best["measured"]["iteration_s"] - 1
        rows.append(
            {
                **dict(zip(AXES[1:], where)),
                "pipelines": len(group),
                "chosen": chosen["pipeline"],
                "best": best["pipeline"],
                "regret": lost,
            }
        )
    losses = [row["regret"] for row in rows]
    worst = max(rows, key=lambda row: row["regret"])
    return {
        "decisions": len(rows),
        "mean": statistics.fmean(losses),
        "mean_interval": bootstrap(losses, {"mean": statistics.fmean}, generator)["mean"],
        "worst": worst["regret"],
        "worst_at": f"{worst['chosen']} in place of {worst['best']}: {place_of(worst)}",
        "best_chosen": sum(row["chosen"] == row["best"] for row in rows) / len(rows),
        "rows": rows,
    }


def is_apart(one, other):
    """Whether their predicted intervals do not overlap; None where one has none."""
    ends = [("iteration_low_s" in cell["predicted"]) for cell in (one, other)]
    if not all(ends):
        return None
    low, high = sorted((one["predicted"], other["predicted"]), key=lambda p: p["iteration_low_s"])
    return low["iteration_high_s"] < high["iteration_low_s"]


def judge_verdicts(decisions):
    """Whether "faster than the best of DENSE_RIVALS" is said rightly, of compressed pipelines."""
    right, right_apart, wrong = [], [], []
    for group in decisions.values():
        rivals = [cell for cell in group if cell["pipeline"] in DENSE_RIVALS]
        if not rivals:
            continue
        rival = {
            side: min(rivals, key=lambda cell, side=side: cell[side]["iteration_s"])
            for side in ("predicted", "measured")
        }
        for cell in group:
            if cell["compression"] == "none":
                continue
            says = [
                cell[side]["iteration_s"] < rival[side][side]["iteration_s"]
                for side in ("predicted", "measured")
            ]
            right.append(says[0] == says[1])
            if not right[-1]:
                wrong.append(f"{cell['pipeline']}: {place_of(cell)}")
            if is_apart(cell, rival["predicted"]):
                right_apart.append(right[-1])
    return {"right": share_of(right), "right_where_apart": share_of(right_apart), "wrong": wrong}


# ---- the document ---------------------------------------------------------------------------


def analyse(cells, jobs, seed=1):
    """The part of matrix.json that follows from the cells; jobs are cells of real training jobs."""
    generator = random.Random(seed)
    cells = [judge(cell) for cell in cells]
    jobs = [judge(job) for job in jobs]
    decisions = find_decisions(cells)
    foretold = {where: group for where, group in decisions.items() if where[-1] == "real"}
    bases = {"forecast": foretold, "recorded": decisions}
    return {
        "summary": summarise_all(cells, generator) if cells else None,
        "jobs_summary": summarise_all(jobs, generator) if jobs else None,
        "regret": {
            name: regret_of(asked, BASES[name], generator) for name, asked in bases.items() if asked
        },
        "verdicts": judge_verdicts(decisions),
        "cells": cells,
        "jobs": jobs,
    }


def percent(value):
    return f"{100 * value:.1f}%"


def share_text(share):
    return "" if share is None else f"{100 * share['share']:.0f}%"


def times_text(times):
    return "" if times is None else f"{times:.1f}"


def table_row(name, summary):
    low, high = summary["intervals"]["mean"]
    return (
        f"| {name} | {summary['cells']} "
        f"| {percent(summary['mean'])} ({percent(low)} to {percent(high)}) "
        f"| {percent(summary['median'])} | {percent(summary['p95'])} | {percent(summary['worst'])} "
        f"| {summary['worst_at']} | {share_text(summary.get('significant'))} "
        f"| {share_text(summary.get('covered'))} | {times_text(summary.get('wide_enough'))} |"
    )


def mean_and_worst(cells):
    sizes = [abs(cell["error"]) for cell in cells]
    return f"{percent(statistics.fmean(sizes))}, {percent(max(sizes))}" if sizes else ""


def pipeline_rows(document):
    """Mean and worst error of each pipeline, apart where workers share processors."""
    yield "| `--algo` | cells | none or timed | real, a core each | real, shared cores | in interval |"
    yield "| --- | --- | --- | --- | --- | --- |"
    for name, cells in group_by(document["cells"], "pipeline").items():
        real = [cell for cell in cells if cell["compression"] == "real"]
        shared = [cell for cell in real if cell["workers"] > document["processors"]]
        parts = [
            [cell for cell in cells if cell not in real],
            [cell for cell in real if cell not in shared],
            shared,
        ]
        inside = share_of(None if cell["reach"] is None else cell["reach"] <= 1 for cell in cells)
        texts = [f"`{name}`", str(len(cells)), *map(mean_and_worst, parts), share_text(inside)]
        yield f"| {' | '.join(texts)} |"


def table_rows(document):
    summary, jobs = document["summary"], document["jobs_summary"]
    if summary:
        yield table_row("**all**", summary["all"])
        for axis in AXES[1:]:
            levels = summary["by"][axis].items()
            for value, one in levels if len(levels) > 1 else ():
                yield table_row(f"{axis} {value}", one)
        for axes in CROSSED:
            for value, one in sorted(summary["by"][" and ".join(axes)].items()):
                yield table_row(value, one)
        for part, one in summary["parts"].items():
            yield table_row(f"{part[:-2]}, of the iteration", one)
    if jobs:
        for name, one in jobs["by"]["model"].items():
            yield table_row(f"training {name}", one)
        yield table_row("**all training jobs**", jobs["all"])


def decision_lines(document):
    known = {"forecast": "as compare says beforehand", "recorded": "counts as measured"}
    for name, one in document["regret"].items():
        low, high = one["mean_interval"]
        yield (
            f"Regret ({known[name]}), {one['decisions']} decisions: mean {percent(one['mean'])} "
            f"({percent(low)} to {percent(high)}), worst {percent(one['worst'])} "
            f"({one['worst_at']}); the best one chosen in {percent(one['best_chosen'])}."
        )
    verdicts = document["verdicts"]
    if verdicts["right"]:
        apart = verdicts["right_where_apart"]
        told = f"; {percent(apart['share'])} of {apart['cells']} told apart" if apart else ""
        yield (
            f'Verdicts "worth it" against {" and ".join(DENSE_RIVALS)}: '
            f"{percent(verdicts['right']['share'])} of {verdicts['right']['cells']} right{told}."
        )


def absence_lines(document):
    for reason, names in document["left_out"].items():
        pipelines = Counter(name.split(":")[0] for name in names)
        listed = ", ".join(f"{name} {count}" for name, count in pipelines.most_common())
        yield f"Left out, {reason}: {len(names)} ({listed})."
    for failure in document["failed"]:
        yield f"Failed: {failure['cell']}: {failure['why']}."


def markdown(document):
    head = [
        "| | cells | mean error (95%) | median | p95 | worst | at | significant | in interval "
        "| 95% in so many times the interval |",
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    rest = [*decision_lines(document), *document["notes"], *absence_lines(document)]
    tables = [*pipeline_rows(document), "", *head, *table_rows(document)]
    return "\n".join([*tables, "", *[f"{line}\n" for line in rest]])


# ---- the picture ----------------------------------------------------------------------------

MODES = {
    "timed": "timed compression",
    "real": "real compression",
    "none": "no compression",
    "job": "training jobs",
}
DRAWN_MOST = 0.5  # errors beyond stand at the edge


def picture_rows(document):
    """Place, mode, error in percent, "point" or "median"; the name of each place; and the modes."""
    cells = document["cells"] + document["jobs"]
    names = list(dict.fromkeys(cell["pipeline"] for cell in cells))
    modes = [mode for mode in MODES if any(cell["compression"] == mode for cell in cells)]
    rows = []
    for place, name in enumerate(names):
        here = group_by([cell for cell in cells if cell["pipeline"] == name], "compression")
        present = [mode for mode in modes if mode in here]
        for column, mode in enumerate(present):
            errors = [max(-DRAWN_MOST, min(DRAWN_MOST, cell["error"])) for cell in here[mode]]
            x = place + 0.3 * (column - (len(present) - 1) / 2)
            for i, error in enumerate(errors):
                aside = 0.2 * ((i * 0.618) % 1 - 0.5)  # points side by side, the same every time
                rows.append([x + aside, modes.index(mode), 100 * error, "point"])
            rows.append([x, modes.index(mode), 100 * statistics.median(errors), "median"])
    return rows, names, modes


def draw(document, path):
    rows, names, modes = picture_rows(document)
    cells = document["cells"] + document["jobs"]
    beyond = sum(abs(cell["error"]) > DRAWN_MOST for cell in cells)
    cut = f"; {beyond} beyond {DRAWN_MOST:.0%} stand at the edge" if beyond else ""
    heading = f"Errors of predictions, {len(cells)} cells{cut}"
    titles = [MODES[mode] for mode in modes]
    with tempfile.NamedTemporaryFile("w", suffix=".csv") as data:
        csv.writer(data, lineterminator="\n").writerows(rows)
        data.flush()
        settings = {
            "data": data.name,
            "output": str(path),
            "heading": heading,
            "labels": " ".join(names),
            "colours": " ".join(str(list(MODES).index(mode)) for mode in modes),
        }
        text = "".join(f"{key}='{value}';" for key, value in settings.items())
        text += f"array titles[{len(titles)}]={titles};"
        script = Path(__file__).with_name("matrix.gp")
        subprocess.run(["gnuplot", "-e", text, script], check=True, stdout=subprocess.DEVNULL)
