"""What advise says of measurements beside their predictions."""

from __future__ import annotations

import types

import pytest

torch = pytest.importorskip("torch")

from gradweave.study import Measurement, Validation  # noqa: E402
from gradweave.torch import advice  # noqa: E402


def _advice(measured_ms: list[float], predicted_ms: list[float]) -> list[str]:
    """Of DDP, DDP with the plan, topk, and no exchange, each iteration within 1% of its mean."""
    names = ("torch-ddp", "torch-ddp:plan", "topk", "torch-none")
    each = (0.99, 1.0, 1.01)
    measurements = tuple(
        Measurement(name, None, (), ms / 1e3, iterations_s=tuple(ms / 1e3 * x for x in each))
        for name, ms in zip(names, measured_ms)
    )
    predictions = (*(types.SimpleNamespace(iteration_s=ms / 1e3) for ms in predicted_ms), None)
    validation = Validation(measurements, predictions, (), 0.0, 0.0, (), ())
    planned = types.SimpleNamespace(algorithm="topk", density=0.001)
    return advice.lines(validation, planned, 0.2, "study")


@pytest.mark.parametrize(
    ("measured_ms", "predicted_ms", "change", "buckets"),
    [
        ([400, 360, 80, 70], [405, 355, 82], "Change: ", "takes 360 ms, 1.11 times as fast"),
        # 85% too fast, as beside other work on the machine: 340 ms, and 320 to gain.
        ([400, 360, 80, 70], [60, 355, 82],
         "contradict each other: torch-ddp took 400 ms, and 60 ms by prediction; they are 340 ms "
         "apart, and topk would gain 320 ms", "torch-ddp:plan would gain 40 ms"),
        # Too slow by as much; the other buckets gain less than their prediction is off.
        ([400, 360, 80, 70], [410, 401, 405], "topk took 80 ms, and 405 ms by prediction",
         "torch-ddp:plan took 360 ms, and 401 ms by prediction"),
        ([80, 81, 80.5, 70], [80, 81, 80.5],
         "topk was measured to be 0.99 times as fast as torch-ddp", "which may be no gain"),
    ],
)  # fmt: skip
def test_what_contradicts_itself_is_no_advice(measured_ms, predicted_ms, change, buckets):
    said = _advice(measured_ms, predicted_ms)
    assert change in said[1]
    assert any(line.startswith("Gain: ") for line in said) == (change == "Change: ")
    assert any(line.startswith("Change: ") for line in said) == (change == "Change: ")
    assert buckets in said[-1]
