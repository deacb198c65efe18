"""Tests of the advice on measurements beside their predictions."""

from __future__ import annotations

import types

import pytest

torch = pytest.importorskip("torch")

from gradweave.study import Advised, Measurement, Validation  # noqa: E402
from gradweave.torch import advice  # noqa: E402


# Factors with a middle half whose mean is 1, and a median of 0.995.
UNEVEN = (0.96, 0.98, 0.985, 0.99, 1.0, 1.025, 1.04, 1.06)


def _advice(
    measured_ms: list[float], predicted_ms: list[float | None], needed: float = 1.1
) -> list[str]:
    """Advises on DDP, DDP with the plan, topk, and no exchange; intervals are 3% wide each way.

    Trainings with topk needed so many times as many iterations.
    """
    names = ("torch-ddp", "torch-ddp:plan", "topk", "torch-none")
    measurements = tuple(
        Measurement(name, None, (), ms / 1e3, iterations_s=tuple(ms / 1e3 * one for one in each))
        for name, ms, each in zip(names, measured_ms, (UNEVEN, *3 * [(0.99, 1.0, 1.01)]))
    )
    intervals = [ms and (0.97e-3 * ms, 1.03e-3 * ms) for ms in (*predicted_ms, None)]
    validation = Validation(measurements, (), tuple(intervals), (), 0.0, 0.0, (), ())
    planned = types.SimpleNamespace(algorithm="topk", density=0.001)
    topk = Advised("topk", 0.001, 0.08, 0.08 * needed, needed, needed, needed + 1)
    return advice.lines(validation, planned, 0.2, "study", [topk])


def _sole(said: list[str], beginning: str) -> str:
    (line,) = [line for line in said if line.startswith(beginning)]
    return line


@pytest.mark.parametrize(
    ("measured_ms", "predicted_ms", "change", "buckets"),
    [
        # 85% too fast, as beside other work on the machine.
        ([400, 360, 80, 70], [60, 355, 82],
         "contradict each other: torch-ddp took 400 ms, and 58.2 to 61.8 ms by prediction",
         "contradict each other: torch-ddp took 400 ms"),
        # Too slow by as much; the other buckets gain less than their prediction is off.
        ([400, 360, 80, 70], [410, 401, 405], "topk took 80 ms, and 392.9 to 417.2 ms by prediction",
         "torch-ddp:plan took 360 ms, and 389 to 413 ms by prediction"),
        ([80, 81, 80.5, 70], [80, 81, 80.5],
         "topk was measured to be 0.99 times as fast as torch-ddp", "which may be no gain"),
    ],
)  # fmt: skip
def test_contradictory_measurements_give_no_advice(measured_ms, predicted_ms, change, buckets):
    said = _advice(measured_ms, predicted_ms)
    assert said[1].startswith("No change: ") and change in said[1]
    assert buckets in _sole(said, "Without loss: no change of ")


@pytest.mark.parametrize(
    ("measured_ms", "predicted_ms", "sure"),
    [
        ([400, 360, 80, 70], [405, 355, 82], "5.00"),
        ([400, 360, 80, 70], [None, None, None], "5.00"),
        ([400, 360, 80, 70], [430, 355, 60], "5.00"),  # predictions would gain more
        # The pipeline is faster than both the measured and the predicted DDP, which differ.
        ([400, 360, 80, 70], [101, 355, 82], "1.22"),
        ([400, 360, 80, 70], [405, 355, 160], "2.43"),
    ],
)
def test_a_gain_is_as_sure_as_predictions_allow(measured_ms, predicted_ms, sure):
    said = _advice(measured_ms, predicted_ms)
    assert "5.00 times as fast (95%: " in _sole(said, "Gain: ")
    assert f"fewer than {sure} times as many iterations" in _sole(said, "Cost: ")
    assert (f"of which {sure} times is sure" in _sole(said, "Gain: ")) == (sure != "5.00")


def test_other_buckets_are_advised():
    said = _advice([400, 360, 80, 70], [405, 355, 82])
    assert "takes 360 ms, 1.11 times as fast (95%: " in _sole(said, "Without loss: ")


@pytest.mark.parametrize(
    ("measured_ms", "faster"),
    [([400, 360, 80, 100], "topk took 80 ms"), ([400, 90, 130, 100], "torch-ddp:plan took 90 ms")],
)
def test_a_way_faster_than_no_exchange_refutes_the_measurements(measured_ms, faster):
    said = _advice(measured_ms, [None, None, None])
    assert len(said) == 2
    assert said[1].startswith(f"No change: {faster}, less than no exchange at all, 100 ms: ")


def test_a_way_as_fast_as_no_exchange_does_not_refute_measurements():
    assert "it would be 82 ms (0% less)" in _sole(
        _advice([400, 360, 80, 82], [None, None, None]), "Gain: "
    )


@pytest.mark.parametrize(("needed", "pays"), [(4.9, True), (5.1, False)])
def test_a_gain_that_trainings_need_is_no_change(needed, pays):
    said = _advice([400, 360, 80, 70], [405, 355, 82], needed)
    times = f"needed {needed} to {needed + 1:.2g} times as many iterations as without compression"
    assert times in _sole(said, "Cost: " if pays else "No change: ")


def test_only_what_may_be_recommended_is_chosen(monkeypatch):
    """Of compressed ones, as soonest trained; those within 5% by what they keep."""
    shares = {"topk": 0.2, "gtopk": 0.4, "dgc": 0.9}
    monkeypatch.setattr(advice, "energy_kept", lambda job, planned: shares[planned])
    advised = [
        Advised("topk", 0.01, 0.1, 0.2, 1, 2, 3),
        Advised("gtopk", 0.01, 0.08, 0.208, 1, 2.6, 3),
        Advised("dgc", 0.01, 0.05, 0.25, 1, 5, 6),
        Advised("ddp", 0.01, 0.15, 0.15, 1, 1, 1),
    ]
    assert advice.choose(None, advised, str) == ("gtopk", 0.4)
    shares["ddp"] = 1.0
    assert advice.choose(None, advised[-1:], str) == ("ddp", 1.0)
