"""Plans and predictions from Python: the library's own, by the same names."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

import gradweave
from gradweave.study import Measurement, validate

MODEL = {
    "schema": "gradweave/model@1",
    "name": "small",
    "forward_s": 0.003,
    "tensors": [
        {"name": "a", "elements": 9408, "backward_s": 0.0012},
        {"name": "b", "elements": 64, "backward_s": 0.0001},
        {"name": "c", "elements": 2048000, "backward_s": 0.003},
    ],
}
CLUSTER = {
    "schema": "gradweave/cluster@1",
    "name": "four",
    "workers": 4,
    "collectives": {
        "allreduce": [{"workers": 4, "alpha_s": 5e-4, "beta_s_per_byte": 2e-8}],
        "allgather": [{"workers": 4, "alpha_s": 5e-4, "beta_s_per_byte": 3e-8}],
    },
    "compressors": {"topk": {"fixed_s": 1e-5, "per_element_s": 1e-9}},
}


@pytest.fixture
def files(tmp_path):
    for name, document in (("model", MODEL), ("cluster", CLUSTER)):
        (tmp_path / f"{name}.json").write_text(json.dumps(document))
    return tmp_path / "model.json", tmp_path / "cluster.json"


def test_an_iteration_adds_up_by_hand(files):
    took = gradweave.predict(*files, "dense")
    backward_s, elements = 0.0043, 9408 + 64 + 2048000
    exchange_s = 5e-4 + 2e-8 * 4 * elements
    assert took.iteration_s == pytest.approx(0.003 + backward_s + exchange_s)
    assert took.exposed_comm_s == pytest.approx(exchange_s)
    assert (took.algorithm, took.group_count, took.compress_s) == ("dense", 1, 0)
    sparse = gradweave.predict(*files, "topk", density=0.01)
    assert sparse.bytes_per_worker == 8 * int(0.01 * elements)


def test_advice_is_the_commands(files):
    """As `gradweave advise` has it: topk where trainings pay, at their density."""
    advised = gradweave.study.advise(*files, density=0.01)
    by_name = {one.algorithm: one for one in advised}
    durations = [one.expected_s for one in advised]
    assert durations == sorted(durations)
    assert gradweave.study.advise(*files)[0].density in (0.01, 0.001)
    assert by_name["ddp"].median == 1 and 1 < by_name["topk"].least < by_name["topk"].most
    assert by_name["topk"].iteration_s == gradweave.predict(*files, "topk", density=0.01).iteration_s
    assert not any(one.algorithm == "topk" for one in gradweave.study.advise(*files, density=1e-6))


def test_the_fastest_comes_first(files):
    ranking = gradweave.compare(*files)
    times = [one.iteration_s for one in ranking]
    assert times == sorted(times) and len(ranking) > 5
    assert ranking[0] == gradweave.predict(*files, ranking[0].algorithm)
    lines = str(ranking).splitlines()
    assert len(lines) == 1 + len(ranking)
    assert lines[0].split()[:2] == ["algorithm", "iteration"]
    assert len({len(line) for line in lines}) == 1
    assert ranking._repr_html_().count("<tr>") == 1 + len(ranking)


def test_micro_batches_come_before_what_is_exchanged(files):
    passes_s = 0.003 + 0.0043
    for algorithm in ("dense", "topk", "omgs"):
        one = gradweave.predict(*files, algorithm)
        four = gradweave.predict(*files, algorithm, accumulate=4)
        assert four.iteration_s == pytest.approx(one.iteration_s + 3 * passes_s)
        assert four.forward_s == pytest.approx(4 * 0.003)
        plans = [gradweave.plan(*files, algorithm=algorithm, accumulate=n) for n in (1, 4)]
        assert plans[1].iteration_s == pytest.approx(plans[0].iteration_s + 3 * passes_s)
        assert plans[1].groups == plans[0].groups
        assert plans[1].by("single").iteration_s > plans[0].by("single").iteration_s + 2 * passes_s
    assert gradweave.predict(*files, "omgs", accumulate=4) in gradweave.compare(*files, accumulate=4)
    measured = Measurement("topk", "topk", (), four.iteration_s)
    validation = validate(*files, [measured], accumulate=4)
    assert validation.predictions[0].forward_s == pytest.approx(4 * 0.003)


def test_intervals_are_those_that_the_document_has(files, tmp_path):
    path = tmp_path / "validation.json"
    measurements = [Measurement(name, name, (), 0.4) for name in ("ddp", "topk")]
    validation = validate("resnet50", "box-4x1gbit", measurements, path=path)
    predicted = [one["predicted"] for one in json.loads(path.read_text())["results"]]
    keys = ("iteration_low_s", "iteration_high_s")
    written = [tuple(one[key] for key in keys) for one in predicted]
    assert [pytest.approx(interval) for interval in written] == list(validation.intervals)
    assert all(low < high for low, high in validation.intervals)
    assert validate(*files, measurements[:1]).intervals == (None,)


def test_a_plan_is_the_pipelines(files, tmp_path):
    plan = gradweave.plan(*files, algorithm="omgs-optimal", density=0.01)
    assert plan.names == ("a", "b", "c")
    assert plan.groups[0][0] == 2 and plan.groups[-1][1] == 0
    assert plan.iteration_s == pytest.approx(plan.lower_bound_s)
    took = gradweave.predict(*files, "omgs-optimal", density=0.01)
    assert plan.iteration_s == pytest.approx(took.iteration_s)
    lines = str(plan).splitlines()
    assert lines[0].startswith("omgs-optimal: ") and len(lines) == 3 + len(plan.groups)
    assert lines[-1].split()[1] == "a" and len(lines[-1]) == len(lines[-2])
    assert plan._repr_html_().count("<tr>") == 1 + len(plan.groups)
    plan.write(tmp_path / "plan.json")
    written = json.loads((tmp_path / "plan.json").read_text())
    assert [(g[0], g[-1]) for g in written["groups"]] == list(plan.groups)
    assert written["density"] == 0.01


def test_a_model_that_ships_is_planned():
    plan = gradweave.plan("resnet50", "box-4x1gbit", algorithm="ddp")
    assert len(plan.names) == 161 and sum(plan.bytes) == 4 * 25557032
    assert sum(first - last + 1 for first, last in plan.groups) == 161


def test_mixed_plans_are_those_of_the_program(tmp_path):
    choices = ("dense", "topk:0.01", "topk:0.1")
    fastest = gradweave.plan("resnet50", "box-4x1gbit", choices=choices)
    kept = gradweave.plan("resnet50", "box-4x1gbit", choices=choices, keep=0.9)
    kept.write(tmp_path / "plan.json")
    document = json.loads((tmp_path / "plan.json").read_text())
    assert [way["choice"] for way in document["ways"]] == list(kept.ways)
    assert document["iteration_s"] == kept.iteration_s > fastest.iteration_s
    assert "dense" in fastest.ways and "topk:0.01" in fastest.ways
    with pytest.raises(ValueError, match="choices"):
        gradweave.plan("resnet50", "box-4x1gbit")
    with pytest.raises(gradweave.BadInput, match='got "zip"'):
        gradweave.plan("resnet50", "box-4x1gbit", choices=["zip"])


def test_impossible_requests_are_refused(files, tmp_path):
    with pytest.raises(gradweave.BadInput, match='got "magic"'):
        gradweave.predict(*files, "magic")
    with pytest.raises(gradweave.BadInput, match="nowhere.json"):
        gradweave.compare(tmp_path / "nowhere.json", files[1])
    with pytest.raises(gradweave.BadInput, match="accumulate: expected at least 1 micro-batch, got 0"):
        gradweave.predict(*files, "omgs", accumulate=0)
    with pytest.raises(gradweave.BadInput, match="at most 4096 micro-batches, got 4097"):
        gradweave.compare(*files, accumulate=4097)
    for density in (0, 2, "1%"):
        with pytest.raises(gradweave.BadInput, match=r"density: expected a number in \(0, 1\], got"):
            gradweave.plan(*files, algorithm="omgs", density=density)


def test_without_pytorch_its_part_says_what_it_needs():
    code = "import sys; sys.modules['torch'] = None; import gradweave.torch"
    asked = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert asked.stderr.endswith("\nImportError: gradweave.torch needs PyTorch: pip install torch\n")
