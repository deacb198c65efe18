"""Writes the tables of docs/results/convergence.md anew, of what the runs of convergence.py come to.

    build/python/bin/python python/examples/learnt_page.py convergence docs/results/convergence.md

A comment above each says what it shows: <!-- learnt WHAT DENSITY WAYS CASE.. -->. WHAT is one of
SHOWN; WAYS are all, distinct, compressed, codes, or names with commas between them; and a CASE is
lenet5-4 of four workers, lenet5-4-1000 of 1000 iterations.
"""

from __future__ import annotations

import argparse
import json
import math
import re
import shutil
import statistics
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import learnt
from convergence import Run, cluster_of, gradients_of, model_of
from learnt import Case, Forecast, Kinds, case_of, plain_runs
from networks import NETWORKS
from ways import CHOSEN, DENSE, selects

GROUPS = ("all", "distinct", "compressed", "codes")  # of ways
ALIKE = ("torch-ddp", "p-sgd", "ddp", "mg-wfbp", "ps")  # these learn what `dense` learns
MARK = re.compile(r"<!-- learnt ([^>]*) -->\n+(?:\|.*\n)*\n*")  # and the table behind it


@dataclass(frozen=True)
class Table:
    what: str
    density: float
    ways: str
    cases: tuple[Case, ...]

    def has(self, run: Run) -> bool:
        if case_of(run) not in self.cases:
            return False
        if self.ways == "compressed":
            return selects(run.way)
        is_code = run.way not in (*DENSE, *CHOSEN, "powersgd") and not selects(run.way)
        if self.ways == "codes":
            return is_code
        if self.ways == "distinct":
            return run.way not in (*ALIKE, *CHOSEN) and not is_code
        return self.ways == "all" or run.way in self.ways.split(",")


@dataclass(frozen=True)
class Facts:
    asked: argparse.Namespace
    found: Kinds
    goals: dict[Case, float]
    forecasts: dict[Run, Forecast]


# ---- a row of each way ---------------------------------------------------------------------------


def by_way(shown: Table, facts: Facts, cell: Callable[[Run, list[dict]], str]) -> list[list[str]]:
    """A column of each case; without ways of which no cell says anything."""
    rows: dict[str, dict[Case, str]] = {}
    for run, each in plain_runs(facts.found, shown.density).items():
        text = cell(run, each) if shown.has(run) else ""
        if text:
            rows.setdefault(run.way, {})[case_of(run)] = text
    return [[f"`{way}`", *(row.get(case, "") for case in shown.cases)] for way, row in rows.items()]


def titles(shown: Table, goals: dict[Case, float]) -> list[str]:
    """Titles of the cases with their goals; numbers of workers are named unless all are 4."""
    numbered = any(workers != 4 for _, workers, _ in shown.cases)
    return [
        case[0]
        + (f", {case[1]}" if numbered else "")
        + (f" ({goals[case]:.1%})" if case in goals else "")
        for case in shown.cases
    ]


def right(shown: Table, facts: Facts) -> list[list[str]]:
    """Shares that are right in the end, and the iterations to the goal."""
    rows = by_way(shown, facts, lambda run, each: learnt.right_of(each, facts.goals[case_of(run)]))
    return [["way", *titles(shown, facts.goals)], *rows]


def sent(shown: Table, facts: Facts) -> list[list[str]]:
    """Percent of dense bytes: sent ones, and what generated and recorded gradients foretell."""

    def cell(run: Run, each: list[dict]) -> str:
        foretold, sent_bytes = facts.forecasts[run], learnt.known_values(each, "bytes")
        known = [statistics.fmean(sent_bytes)] if sent_bytes else [None]
        known += [foretold.generated, foretold.recorded]
        percent = 4 * each[0]["parameters"] / 100
        shares = [None if one is None else one / percent for one in known]
        return ", ".join("?" if one is None else f"{one:.{int(one < 10)}f}" for one in shares)

    return [["way", *titles(shown, {})], *by_way(shown, facts, cell)]


def kept(shown: Table, facts: Facts) -> list[list[str]]:
    """The energy that goes at once, and the norm of what is left over a gradient's."""

    def cell(_: Run, each: list[dict]) -> str:
        energy, residual = (learnt.known_values(each, name) for name in ("energy_kept", "residual"))
        known = energy and residual
        return f"{statistics.fmean(energy):.1%}, {statistics.median(residual):.2f}" if known else ""

    return [["way", *titles(shown, {})], *by_way(shown, facts, cell)]


# ---- others --------------------------------------------------------------------------------------


def first(shown: Table, facts: Facts) -> list[list[str]]:
    """The trained way that `compare --accuracy` puts first, and how much later than the first one
    it reached the goal."""
    return [
        titles(shown, {}),
        [first_of(case, shown.density, facts) for case in shown.cases],
    ]


def first_of(case: Case, density: float, facts: Facts) -> str:
    folder, goal = facts.asked.folder, facts.goals[case]
    runs = {r: e for r, e in plain_runs(facts.found, density).items() if case_of(r) == case}
    took_s = {
        run.way: statistics.median(
            (learnt.reached(one, goal) or {"seconds": math.inf})["seconds"] for one in each
        )
        for run, each in runs.items()
        if learnt.is_plain(run)
    }
    counts = gradients_of(folder, Run(*case[:2], "topk", density, "plain", 0, case[2], 0))
    command = ["gradweave", "compare", model_of(folder, *case[:2]), "--json"]
    command += ["--cluster", cluster_of(facts.asked, *case[:2]), "--density", str(density)]
    command += ["--accuracy", learnt.file_of(folder, case, "-accuracy.json")]
    command += ["--counts", counts] if counts.exists() else []
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    ranked = [one["algorithm"] for one in json.loads(done.stdout)["results"]]
    best = next(way for way in ranked if way in took_s)  # one dense way's trainings are all others'
    later = took_s[best] / min(took_s.values()) - 1
    return f"`{best}`, +{later:.1%}" if math.isfinite(later) else f"`{best}`, never"


SHOWN = {one.__name__: one for one in (right, sent, kept, first)}


# ---- the page ------------------------------------------------------------------------------------


def parse(mark: str, goals: dict[Case, float], ways: set[str]) -> Table:
    parts = re.fullmatch(r"(\w+) (0?\.\d+) (\S+)((?:\s\w+-\d+(?:-\d+)?)+)", mark)
    if parts is None or parts[1] not in SHOWN:
        raise ValueError(f"expected {'|'.join(SHOWN)} DENSITY WAYS CASE.., got {mark}")
    cases = []
    for name in parts[4].split():
        network, workers, *iterations = name.split("-")
        own = [NETWORKS[network].iterations] if network in NETWORKS else []
        cases.append((network, int(workers), *(map(int, iterations) if iterations else own)))
        if cases[-1] not in goals:
            raise ValueError(f"{mark}: there are no runs of {name} by which goals are set")
    missing = set() if parts[3] in GROUPS else set(parts[3].split(",")) - ways
    if missing:
        raise ValueError(f"{mark}: there are no runs by {', '.join(sorted(missing))}")
    return Table(parts[1], float(parts[2]), parts[3], tuple(cases))


def forecasts_for(shown: list[Table], asked: argparse.Namespace, found: Kinds) -> dict:
    needed: Kinds = {}
    for one in shown:
        if one.what == "sent":  # forecasts take their time
            plain = plain_runs(found, one.density)
            needed |= {run: each for run, each in plain.items() if one.has(run)}
    return learnt.forecasts_of(asked, needed)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("page", type=Path)
    parser.add_argument("--cluster", help="as of learnt.py")
    asked = parser.parse_args()
    if shutil.which("gradweave") is None:
        parser.error("expected gradweave in PATH")
    found = learnt.read_runs(asked.folder / "runs.jsonl")
    goals = learnt.goals_of(found)
    text = asked.page.read_text()
    try:
        ways = {run.way for run in found}
        shown = [parse(mark[1], goals, ways) for mark in MARK.finditer(text)]
    except ValueError as error:
        parser.error(f"{asked.page}: {error}")
    learnt.write_accuracy(asked, found)  # which `compare` reads
    facts = Facts(asked, found, goals, forecasts_for(shown, asked, found))
    tables = iter([learnt.table(SHOWN[one.what](one, facts)) for one in shown])
    text = MARK.sub(lambda mark: f"<!-- learnt {mark[1]} -->\n\n{next(tables)}\n", text)
    asked.page.write_text(text.rstrip("\n") + "\n")


if __name__ == "__main__":
    main()
