"""python -m gradweave.torch: a user's job by each way of exchanging, on two ranks."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
from ranks import forked, on_all_ranks, place  # noqa: E402

from gradweave.torch import ways  # noqa: E402
from gradweave.torch.__main__ import main  # noqa: E402

JOB = """
import torch

def job():
    torch.manual_seed(0)
    module = torch.nn.Sequential(
        torch.nn.Linear(64, 300), torch.nn.ReLU(), torch.nn.Linear(300, 300), torch.nn.Linear(300, 4)
    )
    def step(model):
        return model(torch.randn(8, 64)).square().mean()
    return module, torch.optim.SGD(module.parameters(), lr=0.01), step
"""
CLUSTER = {
    "schema": "gradweave/cluster@1",
    "name": "two",
    "workers": 2,
    "collectives": {
        "allreduce": [{"workers": 2, "alpha_s": 5e-4, "beta_s_per_byte": 2e-9}],
        "allgather": [{"workers": 2, "alpha_s": 5e-4, "beta_s_per_byte": 3e-9}],
    },
    "compressors": {"topk": {"fixed_s": 1e-5, "per_element_s": 1e-9}},
}


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "train.py").write_text(JOB)
    (tmp_path / "cluster.json").write_text(json.dumps(CLUSTER))
    return tmp_path


def start(folder, *arguments: str, ranks: int = 2) -> tuple[int, str, str]:
    """Status, stdout and stderr of rank 0, started as torchrun starts ranks."""
    # Before PyTorch 2.11 there is a warning where one cap, all that DDP takes, misses the plan.
    environment = {**os.environ, **place(ranks), "PYTHONWARNINGS": "ignore:PyTorch"}
    started = [
        subprocess.Popen(
            [sys.executable, "-m", "gradweave.torch", *arguments],
            cwd=folder,
            env={**environment, "RANK": str(rank)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in range(ranks)
    ]
    texts = [process.communicate(timeout=300) for process in started]
    assert not texts[-1][0], "expected rank 0 alone to print"
    return started[0].returncode, *texts[0]


def _run_rank(folder, arguments: tuple[str, ...], environment: dict[str, str], files: str) -> None:
    os.chdir(folder)
    os.environ.update(environment)
    warnings.filterwarnings("ignore", "PyTorch")
    for number, stream in enumerate((sys.stdout, sys.stderr), 1):
        path = os.path.join(files, f"{environment['RANK']}-{number}")
        os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT), stream.fileno())
    sys.exit(main(list(arguments)))


def run(folder, *arguments: str, ranks: int = 2) -> tuple[int, str, str]:
    """Does what start() does, in processes that have PyTorch already."""
    told = place(ranks)
    with tempfile.TemporaryDirectory() as files:
        started = [
            forked.Process(
                target=_run_rank, args=(folder, arguments, {**told, "RANK": str(rank)}, files)
            )
            for rank in range(ranks)
        ]
        for process in started:
            process.start()
        for process in started:
            process.join(timeout=300)
            process.kill()
        texts = [
            [Path(files, f"{rank}-{number}").read_text() for number in (1, 2)]
            for rank in range(ranks)
        ]
    assert not texts[-1][0], "expected rank 0 alone to print"
    return started[0].exitcode, *texts[0]


def test_records_and_validates_a_job(folder):
    asked = ["record", "train.py:job", "--out", "m.json", "--noise", "n.json", "--batch-size", "8"]
    asked += ["--gradients", "g.json", "--gradient-iterations", "7", "--density", "0.01"]
    status, out, err = start(folder, *asked)
    assert (status, err) == (0, "")
    noise = json.loads((folder / "n.json").read_text())
    assert [len(factors) for factors in noise["factors"]] == [2] * 20
    model = json.loads((folder / "m.json").read_text())
    gradients = json.loads((folder / "g.json").read_text())
    assert [len(scales) for scales in gradients["scales"]] == [2] * 7
    sizes = {one["name"]: one["elements"] for one in model["tensors"]}
    assert {one["name"]: one["elements"] for one in gradients["tensors"]} == sizes
    assert len(model["tensors"]) == 6 and "6 tensors, 111,004 elements" in out
    hooks = ["torch-fp16", "torch-bf16", "torch-powersgd", "torch-topk"]
    ways = f"torch-none,torch-ddp,torch-ddp:0.1,torch-ddp:plan,{','.join(hooks)}"
    asked = ["validate", "train.py:job", "--cluster", "cluster.json", "--model", "m.json"]
    asked += ["--iterations", "4", "--algo", f"{ways},topk,lags,topk:plan", "--out", "v.json"]
    status, out, err = start(folder, *asked)
    assert (status, err) == (0, "")
    document = json.loads((folder / "v.json").read_text())
    assert [one["algorithm"] for one in document["results"]] == [
        "torch-ddp",
        "torch-ddp:0.1",
        "torch-ddp:plan",
        "topk",
        "lags",
        "topk:plan",
    ]
    assert "was not measured beside a backward pass: predictions may be off; --calibrate" in out
    assert document["results"][1]["groups"] > 1  # 444,016 bytes in buckets of 0.1 MiB
    unpredicted = [one["name"] for one in document["unpredicted"]]
    assert unpredicted == ["torch-none", *hooks]
    for one in document["results"]:
        parts = one["measured"]["breakdown"].values()
        assert sum(parts) == pytest.approx(one["measured"]["iteration_s"])
        assert one["algorithm"] in out
    status, out, err = run(folder, *asked, "--tolerance", "1e-9", "--force", "--no-interference")
    assert (status, err) == (1, "") and "note: cluster.json" not in out
    asked = ["validate", "train.py:job", "--cluster", "p102-1gbe-16", "--model", "m.json"]
    status, out, err = run(folder, *asked, "--iterations", "1", "--algo", "torch-ddp")
    assert (status, err) == (0, "")
    assert "note: p102-1gbe-16 is one that ships, and was not measured in this job: predict" in out


def test_a_job_is_calibrated_before_it_is_validated(folder):
    asked = ["validate", "train.py:job", "--calibrate", "--time", "1", "--cluster", "c.json"]
    asked += ["--algo", "topk,torch-ddp", "--iterations", "2", "--out", "v.json"]
    status, out, err = run(folder, *asked)
    assert (status, err) == (0, "measuring network and compressors, 1 s ...\n")
    assert "c.json" not in out  # which would be a note that it is not the job's own
    measured = json.loads((folder / "c.json").read_text())
    assert measured["workers"] == 2 and "backward" in str(measured["overlap"]["factors"])
    results = json.loads((folder / "v.json").read_text())["results"]
    assert [one["algorithm"] for one in results] == ["topk", "torch-ddp"]
    assert all(one["predicted"]["iteration_s"] > 0 for one in results)


def test_a_job_of_halves_is_recorded_and_validated(folder):
    halves = JOB.replace("    def step", "    module.bfloat16()\n    def step")
    (folder / "halves.py").write_text(halves.replace("(8, 64)", "(8, 64, dtype=torch.bfloat16)"))
    asked = ["validate", "halves.py:job", "--cluster", "cluster.json", "--algo", "dense,topk"]
    status, out, err = run(folder, *asked, "--iterations", "3", "--out", "v.json")
    assert (status, err) == (0, "")
    results = json.loads((folder / "v.json").read_text())["results"]
    assert sorted(one["algorithm"] for one in results) == ["dense", "topk"]


def test_percentiles_stand_beside_measured_ones(folder):
    asked = ["validate", "train.py:job", "--cluster", "cluster.json", "--algo", "topk,torch-none"]
    status, out, err = run(folder, *asked, "--iterations", "60", "--out", "v.json")
    assert (status, err) == (0, "")
    document = json.loads((folder / "v.json").read_text())
    (pair,), (alone,) = document["results"], document["unpredicted"]
    assert document["noise_iterations"] >= 60
    for one in (pair["predicted"], pair["measured"], alone):
        percentiles = one["iteration_percentiles_s"]
        assert list(percentiles) == ["50", "95"]  # a 99th takes 299
        assert 0 < percentiles["50"] <= percentiles["95"]
    table = [line.split() for line in out.split("largest")[1].splitlines()[2:]]
    assert [row[:2] for row in table[1:3]] == [["topk", "predicted"], ["measured", table[2][1]]]
    assert table[0] == ["50%", "95%", "99%"] and table[3][:2] == ["torch-none", "measured"]


class _Recorded:
    """A recording whose iterations take twice as long before each second way."""

    def __init__(self) -> None:
        self.runs = 0

    def run(self, iterations: int) -> list[float]:
        self.runs += 1
        return [0.01 * (2 - self.runs % 2)] * iterations

    def forget(self) -> None:
        self.runs = 0


@on_all_ranks
def test_a_machine_that_was_another_is_told(rank: int) -> None:
    def job():
        module = torch.nn.Linear(4, 4)
        optimizer = torch.optim.SGD(module.parameters(), lr=0.1)
        return module, optimizer, lambda model: model(torch.ones(1, 4)).sum()

    names = ["torch-none", "torch-barrier", "topk", "torch-none"]
    measured = ways.measure(job, names, ways.Setting(0.1), 2, recording=_Recorded())
    paces = [one.pace for one in measured]
    assert paces == pytest.approx([2 / 3, 4 / 3, 2 / 3, 4 / 3])
    assert ways.measure(job, names[:1], ways.Setting(0.1), 2)[0].pace == 1


def test_threads_end_with_the_process_group(tmp_path):
    joins = f"""
import os, torch, gradweave.torch
import torch.distributed as dist
dist.init_process_group("gloo", init_method="file://{tmp_path}/store", rank=0, world_size=1)
torch.optim.SGD([torch.zeros(1, requires_grad=True)])
dist.destroy_process_group()
print(len(os.listdir("/proc/self/task")))
"""
    alone = {**os.environ, "OMP_NUM_THREADS": "1"}
    ran = subprocess.run([sys.executable, "-c", joins], env=alone, capture_output=True, text=True)
    assert ran.stdout == "1\n", ran.stderr


def test_trains_an_example(folder):
    asked = ["train-example", "transformer", "--density", "0.01"]
    for way, iterations, each in (("topk", 21, 2), ("torch-ddp:5", 6, 1)):
        status, out, err = run(folder, *asked, "--iterations", str(iterations), "--algo", way)
        assert (status, err) == (0, "")
        *lines, last = out.splitlines()
        numbers = [*range(each, iterations, each), iterations]
        assert [line.split()[0] for line in lines] == [str(number) for number in numbers]
        losses = [float(line.split()[2]) for line in lines]
        assert losses[-1] < 0.9 * losses[0] and all(float(line.split()[3]) > 0 for line in lines)
        assert last == f"transformer by {way}: parameters are equal on all 2 ranks"
    status, out, err = run(folder, *asked, "--iterations", "1", "--algo", "torch-none")
    assert (status, err) == (0, "") and out.endswith(" by torch-none: nothing was exchanged\n")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["advise", "train.py:job"], "torchrun --nproc-per-node 2 -m gradweave.torch advise ..."),
        (["calibrate", "--out", "c.json"], "expected at least 2 ranks, got 1: start it on all of"),
        (
            ["validate", "train.py:job", "--calibrate", "--algo", "topk"],
            "gradweave.torch validate --calibrate ...",
        ),
        (["validate", "train.py:job", "--algo", "topk"], "or --calibrate, which does so first"),
        (["record", "train.py:work", "--out", "m.json"], "train.py: expected a function work"),
        (["record", "none.py:job", "--out", "m.json"], "none.py: expected a file that exists"),
        (["record", "train.py", "--out", "m.json"], "expected FILE.py:FUNCTION, got train.py"),
        (
            ["record", "train.py:job", "--out", "train.py"],
            "train.py: expected a file that does not",
        ),
        (
            ["validate", "train.py:job", "--cluster", "c.json", "--algo", "top"],
            "top: expected a pip",
        ),
        (
            ["validate", "train.py:job", "--cluster", "c.json", "--algo", "torch-ddp:x"],
            "torch-ddp:x: expected",
        ),
        (
            ["validate", "train.py:job", "--cluster", "c.json", "--algo", "topk,ps"],
            "ps: expected a pipeline without a server, as all ranks train here",
        ),
        (
            [
                "validate",
                "train.py:job",
                "--cluster",
                "c.json",
                "--model",
                "train.py",
                "--algo",
                "topk",
            ],
            "gradweave.torch: train.py: line 2, column 1: expected valid JSON",
        ),
        (
            ["validate", "train.py:job", "--cluster", "train.py", "--algo", "torch-ddp:plan"],
            "gradweave.torch: train.py: line 2, column 1: expected valid JSON",
        ),
        (
            ["validate", "train.py:job", "--cluster", "c.json", "--noise", "n", "--algo", "topk"],
            "--noise: expected --model beside it",
        ),
        (
            ["record", "train.py:job", "--out", "m.json", "--noise", "cluster.json"],
            "cluster.json: expected a file that does not",
        ),
        (["train-example", "--algo", "torch-ddp:plan"], "torch-ddp:plan: expected a way without"),
    ],
)
def test_bad_input_is_refused(folder, arguments, message):
    before = sorted(path.name for path in folder.iterdir())
    status, out, err = run(folder, *arguments, ranks=1)
    assert (status, out) == (2, "") and message in err and err.count("\n") == 1
    assert sorted(path.name for path in folder.iterdir() if path.name != "__pycache__") == before


@pytest.mark.parametrize("dtype", ["float64"])
@pytest.mark.parametrize(
    ("ranks", "arguments"),
    [
        (1, ["record", "{}", "--out", "m.json"]),
        (2, ["calibrate", "--out", "c.json", "--job", "{}"]),
        (1, ["validate", "{}", "--cluster", "cluster.json", "--algo", "dense", "--out", "v.json"]),
        (2, ["advise", "{}"]),
    ],
)
def test_parameters_of_another_type_are_refused_before_anything_is_measured(
    folder, dtype, ranks, arguments
):
    half = JOB.replace("    def step", f"    module[2].to(torch.{dtype})\n    def step")
    (folder / "half.py").write_text(half)
    before = sorted(path.name for path in folder.iterdir())
    asked = [argument.format("half.py:job") for argument in arguments]
    status, out, err = run(folder, *asked, ranks=ranks)
    assert (status, out) == (2, "")
    expected = "expected floats of 32 or 16 bits on the CPU or on one GPU"
    assert f"2.weight: {expected}, got torch.{dtype}" in err
    assert sorted(path.name for path in folder.iterdir() if path.name != "__pycache__") == before


def test_numbers_that_make_no_sense_are_refused(capsys):
    cases = {
        "--iterations": ("x", "1.5", "0"),
        "--timeout": ("x", "0", "nan"),
        "--density": ("x", "0", "1.5"),
    }
    expected = ("an integer above 0", "a number above 0", "a number in (0, 1]")
    for (option, texts), right in zip(cases.items(), expected):
        for text in texts:
            with pytest.raises(SystemExit) as ended:
                main(["record", "train.py:job", "--out", "m.json", option, text])
            assert ended.value.code == 2
            error = f"error: argument {option}: expected {right}, got {text}\n"
            assert capsys.readouterr().err.endswith(error)


def test_a_file_that_cannot_be_written_is_named(folder):
    status, out, err = run(folder, "record", "train.py:job", "--out", "none/m.json", ranks=1)
    assert (status, out) == (3, "")
    assert err == "gradweave.torch: none/m.json: cannot be written: No such file or directory\n"
    status, out, err = run(folder, "advise", "train.py:job", "--folder", "train.py/of")
    assert (status, out) == (3, "")
    assert err == "gradweave.torch: train.py/of: cannot be made: Not a directory\n"


def test_a_failure_of_the_jobs_own_says_where(folder):
    (folder / "train.py").write_text("def job():\n    raise FileNotFoundError('/data/train.bin')\n")
    status, out, err = run(folder, "record", "train.py:job", "--out", "m.json", ranks=1)
    assert (status, out) == (3, "")
    assert "train.py\", line 2, in job\n" in err
    assert err.endswith("\nFileNotFoundError: /data/train.bin\n")


_STEP = "return model(torch.randn(8, 64)).square().mean()"
_END = "return module, torch.optim.SGD(module.parameters(), lr=0.01), step"


@pytest.mark.parametrize(
    ("line", "other", "message"),
    [
        (_END, "return 3", "it to return (module, optimizer, step), got int"),
        (_END, "return module, step", "to return (module, optimizer, step), got (Sequential, func"),
        (_STEP, _STEP.replace("model(", "module("), "step(module) to call the module that it is"),
        (_STEP, f"{_STEP}.item()", "step(module) to return a loss of one element, got float"),
        (_STEP, "return model(torch.ones(8, 64))", "got [8, 4], requires_grad=True"),
        (_STEP, f"{_STEP}.detach()", "got [], requires_grad=False"),
        (
            _STEP,
            f"loss = {_STEP[7:]}; loss.backward(); return loss",
            "step(module) to return before the backward pass",
        ),
    ],
)
def test_a_job_that_is_none_is_named(folder, line, other, message):
    (folder / "train.py").write_text(JOB.replace(line, other))
    asked = ["validate", "train.py:job", "--cluster", "cluster.json", "--algo", "torch-ddp"]
    status, out, err = run(folder, *asked, ranks=1)
    assert (status, out) == (2, "") and err.startswith("gradweave.torch: train.py:job: expected ")
    assert message in err and err.count("\n") == 1


def test_bad_input_of_one_rank_is_bad_input_on_all(folder):
    swaps = """    def step(model):
        if os.environ["RANK"] == "1" and any(one.module is module for one in distributed._open):
            module[2].bias = torch.nn.Parameter(torch.zeros(300))
"""
    job = "import os\nfrom gradweave.torch import distributed\n" + JOB
    (folder / "train.py").write_text(job.replace("    def step(model):\n", swaps))
    asked = ["record", "train.py:job", "--out", "m.json", "--gradients", "g.json"]
    status, _, err = run(folder, *asked)
    assert status == 2 and "rank 1: 2.bias: expected the parameter that was distributed" in err


def test_a_rank_that_does_not_answer_is_not_waited_for(folder):
    environment = {**os.environ, **place(2)}
    joins = "import time, torch.distributed as d; d.init_process_group('gloo'); time.sleep(600)"
    asleep = subprocess.Popen([sys.executable, "-c", joins], env={**environment, "RANK": "1"})
    command = [sys.executable, "-m", "gradweave.torch", "calibrate", "--out", "c.json"]
    asked = subprocess.run(
        [*command, "--timeout", "2"],
        cwd=folder,
        env={**environment, "RANK": "0"},
        capture_output=True,
        text=True,
        timeout=120,
    )
    asleep.kill()
    asleep.wait()
    assert asked.returncode == 3
    assert "Timed out" in asked.stderr
    assert not (folder / "c.json").exists()
