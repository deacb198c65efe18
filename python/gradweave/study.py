"""Plans and predictions, of a model and a cluster: names of those that ship, or paths of files."""

from __future__ import annotations

import ctypes
import html
from collections.abc import Iterable, Sequence
from ctypes import byref
from dataclasses import dataclass, replace
from os import PathLike, fspath
from typing import Union

from gradweave import _library
from gradweave._library import BadInput, algorithms, call, check_density

Path = Union[str, "PathLike[str]"]


def _question(
    model: Path, cluster: Path, workers: int, density: float, interference: bool, accumulate: int
) -> _library.Question:
    check_density(density)
    if accumulate < 1:
        raise BadInput(f"accumulate: expected at least 1 micro-batch, got {accumulate}")
    return _library.Question(
        model=fspath(model).encode(),
        cluster=fspath(cluster).encode(),
        workers=workers,
        density=density,
        no_interference=int(not interference),
        accumulate=accumulate,
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


def _lines(rows: list[tuple[str, ...]], left: int = 1) -> str:
    """Columns of text, the first `left` of them flush left."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if i < left else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(row, widths))
        ).rstrip()
        for row in rows
    )


def _html(rows: list[tuple[str, ...]]) -> str:
    def line(cells: Iterable[str], tag: str) -> str:
        return "<tr>" + "".join(f"<{tag}>{html.escape(cell)}</{tag}>" for cell in cells) + "</tr>"

    return f"<table>{line(rows[0], 'th')}{''.join(line(row, 'td') for row in rows[1:])}</table>"


class Comparison(tuple):
    """Predictions, the fastest first; prints as a table, also in a notebook."""

    _HEADINGS = ("algorithm", "iteration", "compute", "compression", "exposed", "other", "groups")

    def __new__(cls, predictions: Iterable[Prediction]) -> Comparison:
        return super().__new__(cls, predictions)

    def _rows(self) -> list[tuple[str, ...]]:
        return [
            self._HEADINGS,
            *(
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
            ),
        ]

    def __str__(self) -> str:
        return _lines(self._rows())

    def _repr_html_(self) -> str:
        return _html(self._rows())


@dataclass(frozen=True)
class Plan:
    """Groups of a model's tensors that travel together, for a pipeline on a cluster."""

    algorithm: str
    policy: str | None  # None: the algorithm's own
    density: float
    groups: tuple[tuple[int, int], ...]  # first and last tensor of each, in the order of exchange
    names: tuple[str, ...]  # of the model's tensors, in forward order
    bytes: tuple[int, ...]  # of their gradients
    iteration_s: float
    lower_bound_s: float
    _asked: tuple
    ways: tuple[str, ...] = ()  # of each group of a mixed plan
    _mixed: tuple | None = None  # its choices, and the share of the energy to keep

    def by(self, policy: str) -> Plan:
        """Another policy's plan, for the same pipeline, model and cluster."""
        if self._mixed:
            raise ValueError("policy: expected a plan of one pipeline, got a mixed one")
        groups, summary = _plan(self._asked, len(self.names), self.algorithm, policy, None)
        return replace(
            self,
            policy=policy,
            groups=tuple(groups),
            iteration_s=summary.iteration_s,
            lower_bound_s=summary.lower_bound_s,
        )

    def _rows(self) -> list[tuple[str, ...]]:
        return [
            ("exchanged from", "to", "tensors", "bytes"),
            *(
                (
                    self.names[first],
                    self.names[last],
                    str(first - last + 1),
                    f"{sum(self.bytes[last : first + 1]):,}",
                )
                for first, last in self.groups
            ),
        ]

    def __str__(self) -> str:
        took = (
            f"{self.algorithm}: {_seconds(self.iteration_s)} an iteration, if operations that run "
            "at once do not slow each other"
        )
        return f"{took}\n\n{_lines(self._rows(), left=2)}"

    def _repr_html_(self) -> str:
        return _html(self._rows())

    def write(self, path: Path) -> None:
        """Writes the plan's file, as `gradweave plan --out` does."""
        if self._mixed:
            _plan_mixed(self._asked, len(self.names), *self._mixed, fspath(path))
            return
        _plan(self._asked, len(self.names), self.algorithm, self.policy, fspath(path))


def tensors(model: Path) -> list[_library.Tensor]:
    """Lists a model's tensors in forward order: name, elements, and bytes of the dense gradient."""
    count = ctypes.c_size_t()
    call("gradweave_model_tensors", fspath(model).encode(), None, byref(count))
    taken = (_library.Tensor * count.value)()
    call("gradweave_model_tensors", fspath(model).encode(), taken, byref(count))
    return list(taken)


def _plan(
    asked: tuple, most: int, algorithm: str, policy: str | None, path: str | None
) -> tuple[list, _library.PlanSummary]:
    groups = (_library.Group * most)()
    count = ctypes.c_size_t(most)
    summary = _library.PlanSummary()
    call(
        "gradweave_plan_pipeline",
        byref(_question(*asked)),
        algorithm.encode(),
        policy.encode() if policy else None,
        path.encode() if path else None,
        groups,
        byref(count),
        byref(summary),
    )
    return [(groups[g].first, groups[g].last) for g in range(count.value)], summary


def _plan_mixed(
    asked: tuple, most: int, choices: str, keep: float, path: str | None
) -> tuple[list, list, _library.PlanSummary]:
    groups = (_library.Group * most)()
    ways = (ctypes.c_size_t * most)()
    count = ctypes.c_size_t(most)
    summary = _library.PlanSummary()
    call(
        "gradweave_plan_mixed",
        byref(_question(*asked)),
        choices.encode(),
        keep,
        path.encode() if path else None,
        groups,
        ways,
        byref(count),
        byref(summary),
    )
    names = choices.split(",")
    return (
        [(groups[g].first, groups[g].last) for g in range(count.value)],
        [names[ways[g]] for g in range(count.value)],
        summary,
    )


def plan(
    model: Path,
    cluster: Path,
    *,
    algorithm: str | None = None,
    policy: str | None = None,
    choices: Sequence[str] = (),
    keep: float = 0,
    density: float = 0.001,
    workers: int = 0,
    interference: bool = True,
    accumulate: int = 1,
) -> Plan:
    """Plans which tensors travel together, by the pipeline's policy or another.

    Predictions count how operations that run at once slow each other, as far as the cluster's file
    says how much; without `interference` they do not. Plans and their `iteration_s` never do. With `accumulate` an iteration has so many
    micro-batches, each a forward and a backward pass; gradients travel with the last one's, as with
    DistributedDataParallel's no_sync.

    With `choices` in place of an algorithm each group travels by one of them, such as "dense" and
    "topk:0.01": the fastest plan of all merges and choices that keeps at least the share `keep` of a
    bell-shaped gradient's energy.
    """
    if (algorithm is None) == (not choices):
        raise ValueError("plan: expected an algorithm, or choices in place of it")
    asked = (model, cluster, workers, density, interference, accumulate)
    each = tensors(model)
    ways: list[str] = []
    mixed = (",".join(choices), keep) if choices else None
    if mixed is not None:
        groups, ways, summary = _plan_mixed(asked, len(each), *mixed, None)
    else:
        groups, summary = _plan(asked, len(each), algorithm, policy, None)
    return Plan(
        algorithm or "mixed",
        policy,
        density,
        tuple(groups),
        tuple(tensor.name.decode() for tensor in each),
        tuple(tensor.bytes for tensor in each),
        summary.iteration_s,
        summary.lower_bound_s,
        asked,
        tuple(ways),
        mixed,
    )


def predict(
    model: Path,
    cluster: Path,
    algorithm: str,
    *,
    density: float = 0.001,
    workers: int = 0,
    interference: bool = True,
    accumulate: int = 1,
) -> Prediction:
    """Simulates an iteration of a pipeline; the options are those of `plan`."""
    taken = _library.Prediction()
    question = _question(model, cluster, workers, density, interference, accumulate)
    call("gradweave_predict", byref(question), algorithm.encode(), byref(taken))
    return _prediction(taken)


def compare(
    model: Path,
    cluster: Path,
    *,
    density: float = 0.001,
    workers: int = 0,
    interference: bool = True,
    accumulate: int = 1,
) -> Comparison:
    """Predicts every pipeline that the cluster's file allows; the options are those of `plan`."""
    most = len(algorithms())
    taken = (_library.Prediction * most)()
    count = ctypes.c_size_t(most)
    question = _question(model, cluster, workers, density, interference, accumulate)
    call("gradweave_rank", byref(question), taken, byref(count))
    return Comparison(_prediction(taken[i]) for i in range(min(count.value, most)))


@dataclass(frozen=True)
class Advised:
    """A pipeline that may be recommended.

    Trainings of five small networks with it needed `least` to `most` times as many iterations as
    without compression, `median` in the median; NaN: nobody trained so. `expected_s` is the time of
    training for each iteration without compression, where runs that never learnt as much are
    repeated by ddp.
    """

    algorithm: str
    density: float  # that it is asked for
    iteration_s: float
    expected_s: float
    least: float
    median: float
    most: float


def advise(
    model: Path,
    cluster: Path,
    *,
    density: float | None = None,
    workers: int = 0,
    interference: bool = True,
    accumulate: int = 1,
) -> list[Advised]:
    """Lists what `gradweave advise` may recommend, with which training is soonest done first.

    The options are those of `plan`; without `density` it is the one of the trainings at which
    training is soonest done.
    """
    most = len(algorithms()) + 2
    taken = (_library.Advised * most)()
    count = ctypes.c_size_t(most)
    question = _question(model, cluster, workers, density or 1, interference, accumulate)
    question.density = density or 0
    call("gradweave_advise", byref(question), taken, byref(count))
    return [
        Advised(
            one.algorithm.decode(),
            *(getattr(one, name) for name, _ in _library.Advised._fields_[1:]),
        )
        for one in taken[: min(count.value, most)]
    ]


# ---- validating ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Measurement:
    """A measured iteration; parts that are not known are 0."""

    name: str
    algorithm: str | None  # that predicts it; None: nobody does
    groups: tuple[
        tuple[int, int], ...
    ]  # the plan that it ran with; none: by the algorithm's policy
    iteration_s: float
    forward_s: float = 0.0
    backward_s: float = 0.0
    compress_s: float = 0.0
    exposed_comm_s: float = 0.0
    other_s: float = 0.0
    comm_s: float = 0.0
    bytes_per_worker: float = 0.0
    iterations_s: tuple[float, ...] = ()  # each by itself, where known
    pace: float = 1.0  # what iterations without exchange took just before, over what all such took


@dataclass(frozen=True)
class Percentiles:
    """Percentiles of iteration times; None: of fewer iterations than 5, 59 and 299."""

    p50_s: float | None
    p95_s: float | None
    p99_s: float | None


def _percentiles(taken: Iterable[float]) -> Percentiles:
    return Percentiles(*(seconds or None for seconds in taken))


_PARTS = ("iteration_s", "forward_s", "backward_s", "compress_s", "exposed_comm_s", "other_s")


@dataclass(frozen=True)
class Validation:
    """Measurements beside their predictions; prints as `gradweave validate` does."""

    measurements: tuple[Measurement, ...]
    predictions: tuple[Prediction | None, ...]
    # Bounds of predicted iterations in 95% of cases; None: nobody knows.
    intervals: tuple[tuple[float, float] | None, ...]
    errors: tuple[float, ...]  # (predicted - measured) / measured
    mean_error: float  # of magnitudes
    largest_error: float
    measured_percentiles: tuple[Percentiles, ...]
    predicted_percentiles: tuple[Percentiles, ...]  # by the noise that was given

    def _rows(self) -> list[tuple[str, ...]]:
        headings = ("iteration", "forward", "backward", "compression", "exposed", "other")
        rows = [("", "", *headings, "error")]
        for measured, predicted, error in zip(self.measurements, self.predictions, self.errors):
            if predicted is not None:
                times = [_seconds(getattr(predicted, part)) for part in _PARTS]
                rows.append((measured.name, "predicted", *times, f"{100 * error:+.1f}%"))
            times = [_seconds(getattr(measured, part)) for part in _PARTS]
            rows.append(("" if predicted else measured.name, "measured", *times, ""))
        return rows

    def _percentile_rows(self) -> list[tuple[str, ...]]:
        """Returns no rows where no 95th percentile is known."""

        def cells(values: Percentiles, beside: Percentiles | None = None) -> list[str]:
            texts = []
            for name in values.__dataclass_fields__:
                value, other = getattr(values, name), getattr(beside, name, None)
                error = f" ({100 * (value / other - 1):+.1f}%)" if value and other else ""
                texts.append(_seconds(value) + error if value else "")
            return texts

        rows = [("", "", "50%", "95%", "99%")]
        all_of = zip(self.measurements, self.measured_percentiles, self.predicted_percentiles)
        for one, measured, predicted in all_of:
            if predicted.p50_s:
                rows.append((one.name, "predicted", *cells(predicted, measured)))
            rows.append(("" if predicted.p50_s else one.name, "measured", *cells(measured)))
        each = (*self.measured_percentiles, *self.predicted_percentiles)
        return rows if any(one.p95_s for one in each) else []

    def __str__(self) -> str:
        percentiles = self._percentile_rows()
        return (
            f"{_lines(self._rows(), left=2)}\n\nmean error {100 * self.mean_error:.1f}%, "
            f"largest {100 * self.largest_error:.1f}%"
        ) + (f"\n\n{_lines(percentiles, left=2)}" if percentiles else "")

    def _repr_html_(self) -> str:
        percentiles = self._percentile_rows()
        return _html(self._rows()) + (_html(percentiles) if percentiles else "")


def _measured(one: Measurement) -> _library.Measurement:
    return _library.Measurement(
        algorithm=one.algorithm.encode() if one.algorithm else None,
        name=one.name.encode(),
        groups=(_library.Group * len(one.groups))(*[_library.Group(*pair) for pair in one.groups]),
        group_count=len(one.groups),
        measured=_library.Prediction(
            **{part: getattr(one, part) for part in (*_PARTS, "comm_s", "bytes_per_worker")}
        ),
        iterations_s=(ctypes.c_double * len(one.iterations_s))(*one.iterations_s),
        iteration_count=len(one.iterations_s),
    )


def _interval(one: _library.Measurement) -> tuple[float, float] | None:
    return (one.prediction_low_s, one.prediction_high_s) if one.prediction_high_s > 0 else None


def validate(
    model: Path,
    cluster: Path,
    measurements: Iterable[Measurement],
    *,
    density: float = 0.001,
    workers: int = 0,
    interference: bool = True,
    accumulate: int = 1,
    iterations: int = 0,
    tolerance: float = 0.0,
    path: Path | None = None,
    noise: Path | None = None,
) -> Validation:
    """Says how far off the predictions of what was measured are; `path` gets the document.

    `noise` is a file of how the job's computing varies, by which percentiles are predicted.
    """
    given = tuple(measurements)
    taken = (_library.Measurement * len(given))(*[_measured(one) for one in given])
    validation = _library.Validation(
        iterations=iterations,
        tolerance=tolerance,
        path=fspath(path).encode() if path else None,
        noise=fspath(noise).encode() if noise else None,
    )
    question = _question(model, cluster, workers, density, interference, accumulate)
    call("gradweave_validate", byref(question), taken, len(given), byref(validation))
    return Validation(
        given,
        tuple(_prediction(one.prediction) if one.algorithm else None for one in taken),
        tuple(_interval(one) for one in taken),
        tuple(one.error for one in taken),
        validation.mean_error,
        validation.largest_error,
        tuple(_percentiles(one.measured_percentiles_s) for one in taken),
        tuple(_percentiles(one.prediction_percentiles_s) for one in taken),
    )
