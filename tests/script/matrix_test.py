"""script/validate-matrix without a box: what made-up cells come to, resuming, and wrong usage.

GRADWEAVE is the program.
"""

import contextlib
import importlib.util
import io
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from importlib.machinery import SourceFileLoader
from pathlib import Path
from unittest import mock

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "script/validate-matrix"
sys.path.insert(0, str(ROOT / "script"))
sys.dont_write_bytecode = True

import matrix_analysis as analysis

loader = SourceFileLoader("validate_matrix", str(SCRIPT))
matrix = importlib.util.module_from_spec(importlib.util.spec_from_loader("validate_matrix", loader))
loader.exec_module(matrix)


def side(iteration_s, forward_s=0.0, **more):
    breakdown = {part: 0.0 for part in analysis.PARTS} | {"forward_s": forward_s}
    return {"iteration_s": iteration_s, "breakdown": breakdown, **more}


def cell(pipeline, predicted, measured, **more):
    return {
        "pipeline": pipeline,
        "model": "tiny",
        "workers": 2,
        "rate": "1gbit",
        "density": 0.001,
        "compression": "real",
        "iterations": 5,
        "forecast_s": predicted["iteration_s"],
        "predicted": predicted,
        "measured": measured,
        **more,
    }


def dense(pipeline, predicted, measured, **more):
    return cell(pipeline, predicted, measured, density=None, compression="none", **more)


class Errors(unittest.TestCase):
    def setUp(self):
        # 1 to 20%, alternately too fast and too slow, of two pipelines.
        self.cells = [
            cell("topk" if i <= 10 else "lags", side(1 + i / 100 * (-1) ** i), side(1.0), workers=i)
            for i in range(1, 21)
        ]

    def test_mean_median_percentile_and_worst(self):
        found = analysis.analyse(self.cells, [])["summary"]
        self.assertAlmostEqual(found["all"]["mean"], 0.105)
        self.assertAlmostEqual(found["all"]["median"], 0.105)
        self.assertAlmostEqual(found["all"]["p95"], 0.1905)
        self.assertAlmostEqual(found["all"]["worst"], 0.2)
        self.assertAlmostEqual(found["all"]["signed_mean"], 0.005)
        self.assertEqual(found["all"]["worst_at"], "lags: tiny, 20 workers, 1gbit, 0.001, real")
        self.assertAlmostEqual(found["by"]["pipeline"]["topk"]["mean"], 0.055)
        self.assertAlmostEqual(found["by"]["pipeline"]["lags"]["mean"], 0.155)
        self.assertEqual(found["by"]["workers"]["7"]["cells"], 1)

    def test_intervals_are_seeded_and_as_wide_as_resampling_makes_them(self):
        once = analysis.analyse(self.cells, [], seed=3)["summary"]["all"]["intervals"]
        again = analysis.analyse(self.cells, [], seed=3)["summary"]["all"]["intervals"]
        other = analysis.analyse(self.cells, [], seed=4)["summary"]["all"]["intervals"]
        self.assertEqual(once, again)
        self.assertNotEqual(once, other)
        # The mean's standard error is 0.0577 / sqrt(20) = 0.0129.
        self.assertAlmostEqual(once["mean"][0], 0.105 - 1.96 * 0.0129, delta=0.004)
        self.assertAlmostEqual(once["mean"][1], 0.105 + 1.96 * 0.0129, delta=0.004)

    def test_parts_are_shares_of_the_iteration(self):
        cells = [cell("topk", side(1.0, forward_s=0.5), side(2.0, forward_s=0.6))]
        found = analysis.analyse(cells, [])["summary"]["parts"]
        self.assertAlmostEqual(found["forward_s"]["signed_mean"], -0.05)
        self.assertEqual(found["compress_s"]["mean"], 0)

    def test_differences_within_repeats_are_not_significant(self):
        # Four iterations: the interval of their mean reaches 3.182 sd / 2.
        noisy = cell("a", side(1.01), side(1.0, iteration_sd_s=0.01), iterations=4)
        quiet = cell("b", side(1.01), side(1.0, iteration_sd_s=0.005), iterations=4)
        single = cell("c", side(1.01), side(1.0), iterations=1)
        no_spread = cell("d", side(1.01), side(1.0, iteration_sd_s=0), iterations=4)
        found = analysis.analyse([noisy, quiet, single, no_spread], [])
        judged = [one["significant"] for one in found["cells"]]
        self.assertEqual(judged, [False, True, None, None])
        self.assertEqual(found["summary"]["all"]["significant"], {"cells": 2, "share": 0.5})

    def test_coverage_counts_cells_with_ranges(self):
        ranges = [(0.9, 1.2), (1.0, 1.15), (1.05, 1.2), (1.02, 1.1)]
        cells = [
            cell(str(low), side(1.1, iteration_low_s=low, iteration_high_s=high), side(1.0))
            for low, high in ranges
        ]
        covered = analysis.analyse([*cells, cell("topk", side(1.1), side(1.0))], [])
        self.assertEqual(covered["summary"]["all"]["covered"], {"cells": 4, "share": 0.5})

    def test_says_how_wide_intervals_would_have_to_be(self):
        # 1 s is as many times as far as the interval of 1.1 goes down; only that side counts.
        for times in (0.5, 1.5, 4.0):
            low_s = 1.1 - 0.1 / times
            one = cell("topk", side(1.1, iteration_low_s=low_s, iteration_high_s=9.0), side(1.0))
            found = analysis.analyse([one], [])["summary"]["all"]
            self.assertAlmostEqual(found["wide_enough"], times)
        slow = [
            cell("topk", side(1.0, iteration_low_s=0.9, iteration_high_s=1.1), side(1 + i / 100))
            for i in range(21)
        ]
        self.assertAlmostEqual(analysis.analyse(slow, [])["summary"]["all"]["wide_enough"], 1.9)
        nothing = analysis.analyse([cell("topk", side(1.1), side(1.0))], [])["summary"]["all"]
        self.assertIsNone(nothing["wide_enough"])

    def test_two_axes_at_once(self):
        timed = [{**one, "compression": "timed", "density": 0.01} for one in self.cells[:4]]
        found = analysis.analyse([*self.cells, *timed], [])["summary"]["by"]
        crossed = found["compression and density"]
        self.assertEqual(sorted(crossed), ["real, 0.001", "timed, 0.01"])
        self.assertAlmostEqual(crossed["timed, 0.01"]["mean"], 0.025)
        self.assertEqual(found["compression and pipeline"]["real, lags"]["cells"], 10)


class Decisions(unittest.TestCase):
    def setUp(self):
        self.cells = [
            cell("topk", side(1.0), side(1.1), forecast_s=2.0),  # chosen, but lags is faster
            cell("lags", side(1.2), side(1.0), forecast_s=1.5),
            cell("topk", side(1.0), side(0.8), density=0.01),  # chosen rightly
            cell("lags", side(1.4), side(1.4), density=0.01),  # slower than ddp, as is said
            dense("ddp", side(1.3), side(1.05)),
            dense("mg-wfbp", side(1.25), side(1.25)),
        ]

    def test_regret(self):
        found = analysis.analyse(self.cells, [])["regret"]
        self.assertAlmostEqual(found["recorded"]["mean"], 0.05)
        self.assertAlmostEqual(found["recorded"]["worst"], 0.1)
        self.assertIn("topk in place of lags", found["recorded"]["worst_at"])
        self.assertEqual(found["recorded"]["best_chosen"], 0.5)
        # Beforehand mg-wfbp looked fastest where lags is.
        self.assertAlmostEqual(found["forecast"]["worst"], 0.25)
        self.assertEqual(found["forecast"]["rows"][0]["pipelines"], 4)

    def test_timed_compression_has_no_forecast(self):
        for one in self.cells[:2]:
            one["compression"] = "timed"
        found = analysis.analyse(self.cells, [])["regret"]
        self.assertEqual(found["recorded"]["decisions"], 2)
        self.assertEqual(found["forecast"]["decisions"], 1)

    def test_verdicts_against_the_best_dense_pipeline(self):
        found = analysis.analyse(self.cells, [])["verdicts"]
        # Measured, ddp at 1.05 s is the one to beat: topk at 1.1 s is not worth it.
        self.assertEqual(found["right"], {"cells": 4, "share": 0.75})
        self.assertEqual(found["wrong"], ["topk: tiny, 2 workers, 1gbit, 0.001, real"])
        self.assertIsNone(found["right_where_apart"])

    def test_verdicts_where_ranges_do_not_meet(self):
        for one, (low, high) in zip(
            self.cells, [(0.9, 1.26), (1.1, 1.2), (0.9, 1.1), (1.3, 1.5), (1.2, 1.4), (1.22, 1.27)]
        ):
            one["predicted"] |= {"iteration_low_s": low, "iteration_high_s": high}
        found = analysis.analyse(self.cells, [])["verdicts"]
        self.assertEqual(found["right_where_apart"], {"cells": 3, "share": 1.0})


class Presentation(unittest.TestCase):
    def setUp(self):
        job = cell("torch-ddp:25", side(1.1), side(1.0), rate=None, density=None, compression="job")
        cells = [cell("topk", side(1.6), side(1.0)), dense("ddp", side(1.01), side(1.0))]
        self.document = {
            **analysis.analyse(cells, [job]),
            "left_out": {
                "for a reason": ["ps: tiny, 2 workers, 1gbit", "ps: tiny, 4 workers, 1gbit"]
            },
            "failed": [{"cell": "lags: tiny", "why": "status 3"}],
            "notes": [],
            "processors": 2,
        }

    def test_table(self):
        text = analysis.markdown(self.document)
        self.assertIn("| `topk` | 1 |  | 60.0%, 60.0% |  | ", text)
        self.assertIn("| `ddp` | 1 | 1.0%, 1.0% |  |  | ", text)
        self.assertIn("| **all** | 2 | 30.5% ", text)
        self.assertIn("| real, 0.001 | 1 | 60.0% ", text)
        self.assertIn("| none, 2 | 1 | 1.0% ", text)
        self.assertIn("| **all training jobs** | 1 | 10.0% ", text)
        self.assertIn("Left out, for a reason: 2 (ps 2).", text)
        self.assertIn("Failed: lags: tiny: status 3.", text)

    def test_jobs_alone_are_analysed(self):
        found = analysis.analyse([], self.document["jobs"])
        self.assertIsNone(found["summary"])
        self.assertEqual(found["regret"], {})

    @unittest.skipUnless(shutil.which("gnuplot"), "needs gnuplot")
    def test_picture(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "matrix.png"
            analysis.draw(self.document, path)
            self.assertEqual(path.read_bytes()[:4], b"\x89PNG")


class MadeUpBox:
    """Calibrates by the shipped file, and measures what fails for one pipeline; others disturb the
    first measurements."""

    def __init__(self, *_):
        self.ran, self.fails, self.calibrations = [], "lags", 0
        self.disturbances, self.spreads_s, self.drifts = {}, {}, False

    def __call__(self, name, nodes, rate):
        self.nodes, self.rate = nodes, rate
        return self

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def up(self):
        pass

    down = renew = up

    def run(self, ranks, command, most_s):
        if "--check" in command:
            if self.drifts:
                why = "c.json does not describe this cluster any more: 3 of 9 sizes moved"
                raise matrix.RunFailed("status 1: it says nothing", 1, f"table\n\n{why}\n")
            return ""
        if command[1] == "calibrate":
            self.ran.append("calibrate")
            self.calibrations += 1
            text = (ROOT / "traces/clusters/box-4x1gbit.json").read_text()
            Path(command[-1]).write_text(text + self.calibrations * "\n")
            return ""
        pipelines = command[command.index("--algo") + 1]
        self.ran.append(pipelines)
        if self.fails in pipelines.split(","):
            raise matrix.RunFailed("status 3: as made up")
        return json.dumps({"results": [*map(self.measure, reversed(pipelines.split(",")))]})

    def measure(self, pipeline):
        measured = side(1.0)
        disturbances = self.disturbances.get(pipeline)
        if disturbances:
            measured = side(1.5, disturbance={"stolen": 0.01, "others": disturbances.pop(0)})
        spreads_s = self.spreads_s.get(pipeline)
        if spreads_s:
            measured = side(1.5, iteration_sd_s=spreads_s.pop(0))
        found = {"algorithm": pipeline, "groups": 1, "iterations": 9}
        return {**found, "predicted": side(1.02), "measured": measured}


class Runs(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.out = Path(folder.name)
        self.box = MadeUpBox()

    def run_matrix(self, *more):
        """Exit status, and what ran, of three pipelines on one model among two workers."""
        self.box.ran = []
        arguments = ["--gradweave", os.environ["GRADWEAVE"], "--out", str(self.out)]
        arguments += ["--jobs", str(self.out), "--models", "resnet50", "--workers", "2", "--rates"]
        arguments += ["1gbit", "--densities", "0.001", "--compression", "real"]
        arguments += ["--algo", "ddp,lags,topk", *more]
        with (
            mock.patch.object(matrix, "Box", self.box),
            mock.patch.object(analysis, "draw"),
            mock.patch.object(sys, "argv", [str(SCRIPT), *arguments]),
            contextlib.redirect_stdout(io.StringIO()),
            contextlib.redirect_stderr(io.StringIO()),
        ):
            status = matrix.main()
        return status, sorted(self.box.ran)

    def document(self):
        return json.loads((self.out / "matrix.json").read_text())

    def test_goes_on_after_a_failure_and_resumes(self):
        status, ran = self.run_matrix()
        self.assertEqual((status, ran), (3, ["calibrate", "ddp", "lags", "lags,topk", "topk"]))
        document = self.document()
        self.assertEqual([one["pipeline"] for one in document["cells"]], ["ddp", "topk"])
        self.assertAlmostEqual(document["summary"]["all"]["mean"], 0.02)
        self.assertIn("as made up", document["failed"][0]["why"])
        self.box.fails = None
        self.assertEqual(self.run_matrix(), (0, ["lags"]))
        self.assertEqual(self.run_matrix(), (0, []))
        self.assertEqual(len(self.document()["cells"]), 3)

    def test_runs_again_what_came_from_elsewhere(self):
        self.box.fails = None
        self.run_matrix()
        (path,) = (self.out / "cells").glob("topk-*")
        found = json.loads(path.read_text())
        path.write_text(json.dumps({**found, "inputs": {**found["inputs"], "calibration": "x"}}))
        self.assertEqual(self.run_matrix(), (0, ["topk"]))
        self.assertEqual(self.run_matrix("--models", "vgg16-cifar10", "--algo", "ddp")[1], ["ddp"])
        more = ("--calibration-time", "7")
        self.assertEqual(self.run_matrix(*more), (0, ["calibrate", "ddp", "lags,topk"]))

    def test_measures_once_more_what_was_disturbed(self):
        self.box.fails, self.box.disturbances = None, {"topk": [0.3]}
        algorithms = ("--algo", "lags,topk")
        self.assertEqual(self.run_matrix(*algorithms), (0, ["calibrate", "lags,topk", "topk"]))
        self.assertEqual(self.document()["notes"], [])
        self.assertAlmostEqual(self.document()["summary"]["all"]["mean"], 0.02)
        self.box.disturbances = {"ddp": [0.1, 0.3]}
        self.assertEqual(self.run_matrix("--algo", "ddp"), (0, ["ddp", "ddp"]))
        (kept,) = self.document()["cells"]
        self.assertEqual(kept["measured"]["disturbance"]["others"], 0.1)
        (note,) = self.document()["notes"]
        self.assertIn("Disturbed, or of uneven iterations: ddp: resnet50, 2 workers", note)

    def test_measures_once_more_what_was_uneven(self):
        self.box.fails, self.box.spreads_s = None, {"topk": [0.3], "lags": [0.1]}
        algorithms = ("--algo", "lags,topk")
        self.assertEqual(self.run_matrix(*algorithms), (0, ["calibrate", "lags,topk", "topk"]))
        self.assertEqual(self.document()["notes"], [])
        self.box.spreads_s = {"ddp": [0.3, 0.4]}
        self.assertEqual(self.run_matrix("--algo", "ddp"), (0, ["ddp", "ddp"]))
        (kept,) = self.document()["cells"]
        self.assertEqual(kept["measured"]["iteration_sd_s"], 0.3)

    def test_says_that_the_box_drifts(self):
        self.box.fails, self.box.drifts = None, True
        self.assertEqual(self.run_matrix(), (0, ["calibrate", "ddp", "lags,topk"]))
        (note,) = self.document()["notes"]
        self.assertEqual(
            note,
            "At 1gbit, after all cells: c.json does not describe this cluster any more: "
            "3 of 9 sizes moved.",
        )

    def test_says_what_it_leaves_out(self):
        self.run_matrix("--longest", "3")
        ((why, names),) = self.document()["left_out"].items()
        self.assertIn("--longest", why)
        self.assertEqual(names, ["ddp: resnet50, 2 workers, 1gbit, none"])

    def test_analyses_what_is_there(self):
        self.box.fails = None
        self.run_matrix()
        for path in (self.out / "cells").glob("topk-*"):
            path.unlink()
        self.assertEqual(self.run_matrix("--analyse"), (0, []))
        self.assertEqual(len(self.document()["cells"]), 2)
        self.assertIn("not in the folder", self.document()["left_out"])

    def test_one_half_has_each_pair_of_levels(self):
        options = mock.Mock(models=["a", "b"], workers=[2, 4], rates=["1gbit"], algo=["topk"])
        options.densities, options.compression = [0.001, 0.01], ["timed", "real"]
        options.pipelines = {"topk": "topk"}
        cells = [{**one, "cost_s": 9, "job_s": 1} for one in matrix.cells_at(options, "1gbit")]
        fits, rest = matrix.choose(cells, 80)
        self.assertEqual((len(fits), len(rest)), (8, 8))
        for axis in ("model", "workers"):
            pairs = {(one[axis], one["density"], one["compression"]) for (one,) in fits}
            self.assertEqual(len(pairs), 8)


class Usage(unittest.TestCase):
    def test_wrong_usage_ends_with_status_2(self):
        for arguments, message in (
            (["--models", "resnet51"], 'or vgg16-cifar10 or vgg16-h200, got "resnet51"'),
            (["--workers", "2,1"], '--workers: expected 2 to 15, got "1"'),
            (["--rates", "fast"], '--rates: expected a rate such as 1gbit, got "fast"'),
            (["--densities", "0"], 'above 0 and at most 1, got "0"'),
            (["--compression", "gzip"], 'timed or real, got "gzip"'),
            (["--algo", "topkk"], 'got "topkk"'),
            (["--time", "soon"], '--time: expected 1 or more, got "soon"'),
            (["--gradweave", "/nowhere"], "expected a program that is built, got /nowhere"),
            (["--unknown"], "unrecognized arguments: --unknown"),
        ):
            with self.subTest(arguments=arguments):
                command = [SCRIPT, "--gradweave", os.environ["GRADWEAVE"], *arguments]
                answer = subprocess.run(command, capture_output=True, text=True, check=False)
                self.assertEqual((answer.returncode, answer.stdout), (2, ""))
                self.assertIn(message, answer.stderr)


if __name__ == "__main__":
    unittest.main()
