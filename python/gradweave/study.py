"""Plans and predictions, of a model and a cluster: names of those that ship, or paths of files."""

from __future__ import annotations

import ctypes
import json
from collections.abc import Iterable
from ctypes import byref
from dataclasses import dataclass
from os import PathLike, fspath

from gradweave import _library
from gradweave._library import algorithms, call

_MOST_GROUPS = 1 << 20

Path = "str | PathLike[str]"


def _question(
    model: Path, cluster: Path, workers: int, density: float, interference: bool
) -> _library.Question:
    return _library.Question(
        model=fspath(model).encode(),
        cluster=fspath(cluster).encode(),
        workers=workers,
        density=density,
        interference=int(interference),
    )


def _seconds(value: float) -> str:
    for unit, name in ((1.0, "s"), (1e-3, "ms"), (1e-6, "us")):
        if value >= unit:
            return f"{value / unit:.4g} {name}"
    return "0 s" if value == 0 else f"{value / 1e-9:.4g} ns"


@dataclass(frozen=True)
class Prediction:
    """An iteration of a pipeline; its five parts add up to `iteration_s`."""

    algorithm: str
    iteration_s: float
    forward_s: float
    backward_s: float
    compress_s: float
    exposed_comm_s: float
    other_s: float
    comm_s: float
    bytes_per_worker: float
    group_count: int

    def __str__(self) -> str:
        return str(Comparison([self]))

    def _repr_html_(self) -> str:
        return Comparison([self])._repr_html_()


def _prediction(taken: _library.Prediction) -> Prediction:
    values = {name: getattr(taken, name) for name, _ in taken._fields_}
    values["algorithm"] = values["algorithm"].decode()
    return Prediction(**values)


class Comparison(tuple):
    """Predictions, the fastest first; prints as a table, also in a notebook."""

    _HEADINGS = ("algorithm", "iteration", "compute", "compression", "exposed", "other", "groups")

    def __new__(cls, predictions: Iterable[Prediction]) -> Comparison:
        return super().__new__(cls, predictions)

    def _rows(self) -> list[tuple[str, ...]]:
        return [
            (
                one.algorithm,
                _seconds(one.iteration_s),
                _seconds(one.forward_s + one.backward_s),
                _seconds(one.compress_s),
                _seconds(one.exposed_comm_s),
                _seconds(one.other_s),
                str(one.group_count),
            )
            for one in self
        ]

    def __str__(self) -> str:
        rows = [self._HEADINGS, *self._rows()]
        widths = [max(len(row[i]) for row in rows) for i in range(len(self._HEADINGS))]
        return "\n".join(
            "  ".join(
                cell.rjust(width) if i else cell.ljust(width)
                for i, (cell, width) in enumerate(zip(row, widths))
            )
            for row in rows
        )

    def _repr_html_(self) -> str:
        def line(cells: Iterable[str], tag: str) -> str:
            return "<tr>" + "".join(f"<{tag}>{cell}</{tag}>" for cell in cells) + "</tr>"

        body = "".join(line(row, "td") for row in self._rows())
        return f"<table>{line(self._HEADINGS, 'th')}{body}</table>"


@dataclass(frozen=True)
class Plan:
    """Which tensors of a model travel together, for a pipeline on a cluster."""

    algorithm: str
    density: float
    groups: tuple[tuple[int, int], ...]  # first and last tensor of each, in the order of exchange
    names: tuple[str, ...]  # of the model's tensors, in forward order
    bytes: tuple[int, ...]  # of their gradients
    iteration_s: float
    lower_bound_s: float
    _asked: tuple

    def write(self, path: Path) -> None:
        """As `gradweave plan --out` does."""
        _plan(self._asked, self.algorithm, fspath(path))


def _plan(asked: tuple, algorithm: str, path: str | None) -> tuple[list, _library.PlanSummary]:
    groups = (_library.Group * _MOST_GROUPS)()
    count = ctypes.c_size_t(_MOST_GROUPS)
    summary = _library.PlanSummary()
    call(
        "gradweave_plan_pipeline",
        byref(_question(*asked)),
        algorithm.encode(),
        path.encode() if path else None,
        groups,
        byref(count),
        byref(summary),
    )
    return [(groups[g].first, groups[g].last) for g in range(count.value)], summary


def plan(
    model: Path,
    cluster: Path,
    *,
    algorithm: str,
    density: float = 0.001,
    workers: int = 0,
    interference: bool = False,
) -> Plan:
    """The plan that a pipeline makes by its policy for a model, the path of its file."""
    asked = (model, cluster, workers, density, interference)
    groups, summary = _plan(asked, algorithm, None)
    with open(model, encoding="utf-8") as file:
        document = json.load(file)
    each = document.get("bytes_per_element", 4)
    return Plan(
        algorithm,
        density,
        tuple(groups),
        tuple(tensor["name"] for tensor in document["tensors"]),
        tuple(each * tensor["elements"] for tensor in document["tensors"]),
        summary.iteration_s,
        summary.lower_bound_s,
        asked,
    )


def predict(
    model: Path,
    cluster: Path,
    algorithm: str,
    *,
    density: float = 0.001,
    workers: int = 0,
    interference: bool = False,
) -> Prediction:
    """Simulates an iteration of a pipeline."""
    taken = _library.Prediction()
    question = _question(model, cluster, workers, density, interference)
    call("gradweave_predict", byref(question), algorithm.encode(), byref(taken))
    return _prediction(taken)


def compare(
    model: Path,
    cluster: Path,
    *,
    density: float = 0.001,
    workers: int = 0,
    interference: bool = False,
) -> Comparison:
    """Predicts every pipeline that the cluster's file allows."""
    most = len(algorithms())
    taken = (_library.Prediction * most)()
    count = ctypes.c_size_t(most)
    question = _question(model, cluster, workers, density, interference)
    call("gradweave_rank", byref(question), taken, byref(count))
    return Comparison(_prediction(taken[i]) for i in range(min(count.value, most)))
