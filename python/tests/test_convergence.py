"""convergence.py of python/examples and what is said of it: two networks, five pipelines."""

from __future__ import annotations

import json
import math
import os
import pathlib
import statistics
import subprocess
import sys

import pytest

pytest.importorskip("sklearn")

EXAMPLES = pathlib.Path(__file__).parents[1] / "examples"
SCRIPT = EXAMPLES / "convergence.py"
PROGRAM = EXAMPLES.parents[1] / "build" / "release" / "cli" / "gradweave"
WAYS = ("p-sgd", "topk", "dgc", "exdyna", "ps")
ASKED = [
    *("--networks", "fnn3,lenet5", "--ways", ",".join(WAYS), "--densities", "0.05"),
    *("--workers", "2", "--seeds", "1", "--iterations", "100", "--calibration-time", "8"),
]

DIVERGES = """
import dataclasses, json, os, sys
sys.path.insert(0, "{}")
import torch.distributed as dist
import convergence
from networks import NETWORKS

NETWORKS["fnn3"] = dataclasses.replace(NETWORKS["fnn3"], rate=1.0)
store = "file://" + os.path.abspath("store")
dist.init_process_group("gloo", init_method=store, rank=0, world_size=1)
run = convergence.Run("fnn3", 1, "randk", 0.01, "plain", 0, 200, 0)
print(json.dumps(convergence.learn(run, convergence.open_groups(1), run.way)))
"""


ADAMW = """
import dataclasses, json, os, sys
sys.path.insert(0, "{}")
import torch.distributed as dist
import convergence, networks

networks.NETWORKS["fnn3"] = dataclasses.replace(networks.NETWORKS["fnn3"], rate=0.003, adamw=True)
seen = []
class Seen(networks.torch.optim.AdamW):
    def step(self):
        (group,) = self.param_groups
        norms = [one.grad.norm() for one in group["params"]]
        seen.append((group["lr"], networks.torch.stack(norms).norm().item()))
        super().step()
networks.torch.optim.AdamW = Seen
store = "file://" + os.path.abspath("store-adamw")
dist.init_process_group("gloo", init_method=store, rank=0, world_size=1)
run = convergence.Run("fnn3", 1, "topk", 0.05, "plain", 0, 60, 0)
found = convergence.learn(run, convergence.open_groups(1), run.way)
learnt = [one for one in seen if one[0] > 0]
print(json.dumps([found["curve"][0]["right"], found["curve"][-1]["right"], learnt]))
"""


def _ran(folder: pathlib.Path, command: list[str], status: int = 0) -> str:
    """Returns what the script prints, or complains of where it is to fail."""
    path = f"{PROGRAM.parent}:{os.environ['PATH']}"  # learnt.py asks it for counts
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PATH": path}
    command = [sys.executable, *command]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    assert done.returncode == status, done.stderr
    return done.stderr if status else done.stdout


def _runs(folder: pathlib.Path) -> list[dict]:
    lines = (folder / "convergence" / "runs.jsonl").read_text().splitlines()
    return [json.loads(line) for line in lines]


def _train(folder: pathlib.Path) -> str:
    command = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "3", str(SCRIPT)]
    return _ran(folder, [*command, *ASKED])


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> pathlib.Path:
    folder = tmp_path_factory.mktemp("convergence")
    _train(folder)
    return folder


def test_networks_learn_by_each(folder):
    """Parameters that differ between ranks would have ended it."""
    runs = _runs(folder)
    assert len(runs) == 2 * len(WAYS)
    for run in runs:
        first, *_, last = run["curve"]
        assert last["loss"] < 0.8 * first["loss"], run["way"]
        assert 0 < run["alone_s"] < 1, run["way"]
        assert last["held_out_loss"] < first["held_out_loss"], run["way"]
        dense = run["way"] in ("p-sgd", "ps")
        for one in run["curve"]:
            assert one["energy_kept"] == 1 if dense else 0 < one["energy_kept"] < 1, run["way"]
            assert one["residual"] == 0 if dense else one["residual"] > 0, run["way"]


def test_predictions_know_the_job(folder):
    """Exchanges of the job, and what each network's own backward pass does to them."""
    base = json.loads((folder / "convergence" / "cluster-2.json").read_text())
    for name in ("fnn3", "lenet5"):
        cluster = json.loads((folder / "convergence" / f"{name}-2-cluster.json").read_text())
        assert cluster["workers"] == 2
        assert cluster["compressors"] == base["compressors"]
        assert cluster["collectives"].keys() == base["collectives"].keys()
        assert cluster["collectives"] != base["collectives"]  # measured once more
        assert "backward" in cluster["overlap"]["factors"]["allreduce"], name


def test_diverged_trainings_are_kept(folder):
    """Random elements of momentum that is out of date, at ten times the rate."""
    command = ["-c", DIVERGES.format(EXAMPLES)]
    run = json.loads(_ran(folder, command).splitlines()[-1])
    assert run["diverged"]
    assert run["curve"][-1]["iteration"] < run["iterations"]
    assert run["curve"][-1]["right"] < 0.5


def test_adamw_warms_up_and_clips(tmp_path):
    """Its rate rises in 20 iterations, and no update is by a gradient beyond norm 1."""
    command = ["-c", ADAMW.format(EXAMPLES)]
    first, last, seen = json.loads(_ran(tmp_path, command).splitlines()[-1])
    assert last > 0.8 and last >= first
    rates, norms = zip(*seen)
    assert rates[0] == pytest.approx(0.003 / 20) and rates[9] == pytest.approx(0.0015)
    assert rates[19:] == (0.003,) * 41
    assert max(norms) < 1 + 1e-5 and max(norms) > 0.99


def test_finished_trainings_are_not_repeated(folder):
    before = (folder / "convergence" / "runs.jsonl").read_bytes()
    assert "right" not in _train(folder)
    assert (folder / "convergence" / "runs.jsonl").read_bytes() == before


def test_iterations_to_the_goal_are_kept(folder):
    command = [str(EXAMPLES / "learnt.py"), "convergence", "--density", "0.05"]
    shown, errors = _ran(folder, command).split("\n\n")
    assert len(shown.splitlines()) == 2 + len(WAYS)
    rows = [line.split(" | ") for line in errors.splitlines()]
    _, _, *cases, by_two, all_of_them, with_server = rows
    assert [row[3] for row in cases] == ["4", "4"]
    assert (by_two[:4], all_of_them[3]) == (["| all", "2", "", "8"], "8")
    assert (with_server[0], with_server[3]) == ("| with a server", "2")
    table = (folder / "convergence" / "table.md").read_text().splitlines()
    assert len(table) == 2 + 2 * len(WAYS)
    then = table[0].split(" | ").index("at its pace then")
    assert all(row.split(" | ")[then].endswith(" ms") for row in table[2:])
    sent, recorded = (table[0].split(" | ").index(name) for name in ("sent", "recorded"))
    for row in (line.split(" | ") for line in table[2:]) if PROGRAM.exists() else ():
        if row[2] in ("`dgc`", "`exdyna`"):  # what these select hangs on the gradients
            assert 0.5 < float(row[recorded].rstrip("%")) / float(row[sent].rstrip("%")) < 2
    for name in ("fnn3", "lenet5"):
        for picture in (f"{name}-2-100.png", f"{name}-2-100-sent.png"):
            assert (folder / "convergence" / picture).read_bytes().startswith(b"\x89PNG")
        accuracy = json.loads((folder / "convergence" / f"{name}-2-100-accuracy.json").read_text())
        runs = _runs(folder)
        assert accuracy["trained"] == 100
        for training in accuracy["trainings"]:
            asked = training["algorithm"] in ("topk", "gtopk")  # which send what they are asked to
            assert not asked or 0.95 < training["sent"] < 1.05
            (run,) = (r for r in runs if (r["network"], r["way"]) == (name, training["algorithm"]))
            right = {one["iteration"]: one["right"] for one in run["curve"]}
            (iteration,) = training["iterations"]
            end = iteration or math.inf
            assert all(share < accuracy["goal"] for at, share in right.items() if at < end)
            assert iteration is None or right[iteration] >= accuracy["goal"]


# ---- the page ------------------------------------------------------------------------------------

needs_program = pytest.mark.skipif(not PROGRAM.exists(), reason="gradweave is not built")
PAGE = """# What they learn

<!-- learnt right 0.05 all fnn3-2-100 lenet5-2-100 -->

| of another day |
| --- |

Between.

<!-- learnt sent 0.05 topk,dgc
fnn3-2-100 -->

<!-- learnt first 0.05 all fnn3-2-100 -->

Behind.
"""


@needs_program
def test_tables_are_put_where_comments_ask_for_them(folder):
    page = folder / "page.md"
    page.write_text(PAGE)
    command = [str(EXAMPLES / "learnt_page.py"), "convergence", "page.md"]
    _ran(folder, command)
    parts = page.read_text().split("\n\n")
    assert [parts[0], parts[3], parts[-1]] == [PAGE.split("\n\n")[i] for i in (0, 3, -1)]
    right, sent, first = (
        [[cell.strip() for cell in line.strip("|").split("|")] for line in parts[i].splitlines()]
        for i in (2, 5, 7)
    )
    assert [row[0] for row in right[2:]] == [f"`{way}`" for way in WAYS]
    runs = {(one["network"], one["way"]): one for one in _runs(folder)}
    for row in right[2:]:
        for name, cell in zip(("fnn3", "lenet5"), row[1:]):
            last = runs[name, row[0].strip("`")]["curve"][-1]
            assert cell.startswith(f"{100 * last['right']:.1f}")
    assert [row[0] for row in sent[2:]] == ["`topk`", "`dgc`"]
    for row in sent[2:]:
        run = runs["fnn3", row[0].strip("`")]
        bytes_sent = statistics.fmean(one["bytes"] for one in run["curve"])
        percent = 100 * bytes_sent / (4 * run["parameters"])
        assert float(row[1].split(", ")[0]) == pytest.approx(percent, abs=0.5)
    way, later = first[2][0].split(", ")
    goal = json.loads((folder / "convergence" / "fnn3-2-100-accuracy.json").read_text())["goal"]
    there_s = {
        f"`{name}`": min(one["seconds"] for one in run["curve"] if one["right"] >= goal)
        for (network, name), run in runs.items()
        if network == "fnn3" and any(one["right"] >= goal for one in run["curve"])
    }
    assert later == f"+{there_s[way] / min(there_s.values()) - 1:.1%}"
    before = page.read_text()
    _ran(folder, command)
    assert page.read_text() == before


@needs_program
@pytest.mark.parametrize(
    ("mark", "why"),
    [
        ("wrong 0.05 all fnn3-2-100", "expected right|sent|"),
        ("right 0.05 fnn3-2-100", "expected right|sent|"),
        ("right 0.05 all fnn3-4-100", "there are no runs of fnn3-4-100"),
        ("right 0.05 topk,lags fnn3-2-100", "there are no runs by lags"),
    ],
)
def test_a_page_that_asks_for_what_is_not_there_stays(folder, mark, why):
    page = folder / "wrong.md"
    page.write_text(f"<!-- learnt {mark} -->\n\n| kept |\n")
    command = [str(EXAMPLES / "learnt_page.py"), "convergence", "wrong.md"]
    assert why in _ran(folder, command, status=2)
    assert page.read_text().endswith("| kept |\n")
