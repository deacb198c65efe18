"""python -m gradweave.torch: a job's times, network and predictions, on all of its ranks."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import sys
import tempfile
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import TypeVar

import torch
import torch.distributed as dist

from gradweave._library import BadInput, GradweaveError, file_errors
from gradweave.study import Advised, Validation, advise, tensors, validate
from gradweave.torch import advice, examples, job, launcher, ways
from gradweave.torch.calibrate import calibrate
from gradweave.torch.group import leave_all

Number = TypeVar("Number", int, float)

BAD_INPUT, FAILED, BEYOND = 2, 3, 1
_CALIBRATION_S = 60.0

_EPILOG = """\
FILE.py:FUNCTION names the job: FUNCTION() returns (module, optimizer, step), and step(module) the
loss of this rank's next batch. Start it on all ranks: torchrun --nproc-per-node 2 -m
gradweave.torch ..., or mpirun or srun -n 2 python -m gradweave.torch ...; mpirun on several hosts
with -x MASTER_ADDR=HOST, of rank 0.

Exit status: 0 done, 1 an error beyond --tolerance, 2 bad input, 3 failed.
"""

# ---- ranks ---------------------------------------------------------------------------------------


def _join(timeout_s: float) -> None:
    """The process group of the ranks that torchrun, mpirun or srun started; alone: of one."""
    launcher.complete(os.environ)
    dist.init_process_group("gloo", timeout=timedelta(seconds=timeout_s))


def _is_first() -> bool:
    return dist.get_rank() == 0


def _say(text: object) -> None:
    if _is_first():
        print(text, flush=True)


def _say_progress(text: str) -> None:
    if _is_first():
        print(text, file=sys.stderr, flush=True)


def _need_ranks(verb: str) -> None:
    """Fails on a rank alone, which has no network to measure."""
    if dist.get_world_size() == 1:
        raise BadInput(
            "expected at least 2 ranks, got 1: start it on all of them, as with torchrun "
            f"--nproc-per-node 2 -m gradweave.torch {verb} ..."
        )


def _check_target(path: str, force: bool) -> None:
    if Path(path).exists() and not force:
        raise BadInput(f"{path}: expected a file that does not exist, or --force")


# ---- what is asked for ---------------------------------------------------------------------------


def _number(
    kind: type[Number], is_allowed: Callable[[Number], bool], expected: str
) -> Callable[[str], Number]:
    """Returns a reader of an option's numbers, which says what it `expected` of others."""

    def read(text: str) -> Number:
        with contextlib.suppress(ValueError):
            if is_allowed(value := kind(text)):
                return value
        raise argparse.ArgumentTypeError(f"expected {expected}, got {text}")

    return read


_share = _number(float, lambda value: 0 < value <= 1, "a number in (0, 1]")
_positive = _number(float, lambda value: value > 0, "a number above 0")
_count = _number(int, lambda value: value > 0, "an integer above 0")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m gradweave.torch",
        description="Records, calibrates, validates, advises and trains inside a PyTorch job.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="VERB")

    def add(name: str, text: str, of_job: bool, writes: bool = True) -> argparse.ArgumentParser:
        verb = verbs.add_parser(
            name,
            help=text,
            description=text,
            epilog=_EPILOG,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        if of_job:
            verb.add_argument("job", metavar="FILE.py:FUNCTION")
        verb.add_argument(
            "--threads",
            type=_count,
            default=1,
            metavar="N",
            help="that each rank computes with (1)",
        )
        verb.add_argument(
            "--timeout",
            type=_positive,
            default=300.0,
            metavar="S",
            help="most to wait for other ranks before the job ends (300)",
        )
        if writes:
            verb.add_argument("--force", action="store_true", help="replace files that exist")
        return verb

    def add_density(
        verb: argparse.ArgumentParser, default: float | None = 0.001, said: str = "0.001"
    ) -> None:
        verb.add_argument(
            "--density",
            type=_share,
            default=default,
            metavar="R",
            help=f"share of elements that sparse pipelines send ({said})",
        )

    def add_time(verb: argparse.ArgumentParser, text: str) -> None:
        verb.add_argument(
            "--time",
            type=_positive,
            default=_CALIBRATION_S,
            metavar="S",
            help=f"{text}({_CALIBRATION_S:g})",
        )

    verb = add("record", "Writes the job's network with its own times.", of_job=True)
    verb.add_argument("--out", required=True, metavar="MODEL.json")
    verb.add_argument(
        "--noise",
        metavar="NOISE.json",
        help="keep how each rank's iterations vary, for gradweave simulate --noise sample:NOISE.json",
    )
    verb.add_argument(
        "--gradients",
        metavar="GRADIENTS.json",
        help="then train by topk at --density for --gradient-iterations, and keep a sample of the "
        "gradients, for gradweave simulate --counts GRADIENTS.json",
    )
    verb.add_argument("--batch-size", type=_count, metavar="B")
    verb.add_argument("--iterations", type=_count, default=20, metavar="N", help="(20)")
    verb.add_argument(
        "--gradient-iterations", type=_count, default=100, metavar="N", help="(100)"
    )
    add_density(verb)

    verb = add("calibrate", "Measures the job's process group and compressors.", of_job=False)
    verb.add_argument("--out", required=True, metavar="CLUSTER.json")
    verb.add_argument("--compressor", metavar="C[,D..]", help="these alone (all)")
    verb.add_argument(
        "--only", metavar="X[,Y..]", help="these collectives and compressors, network, overlap"
    )
    add_time(verb, "")
    verb.add_argument(
        "--add", action="store_true", help="to the file, which keeps what is not measured"
    )
    verb.add_argument(
        "--job",
        metavar="FILE.py:FUNCTION",
        help="whose backward pass is measured beside collectives (one of matrix products)",
    )
    add_density(verb)

    verb = add("validate", "Runs the job with each pipeline, beside its prediction.", of_job=True)
    verb.add_argument("--cluster", metavar="CLUSTER.json", help="that was calibrated in the job")
    verb.add_argument(
        "--calibrate",
        action="store_true",
        help="calibrate in the job first, into CLUSTER.json where --cluster is given",
    )
    add_time(verb, "to calibrate ")
    verb.add_argument("--model", metavar="MODEL.json", help="of the job (it is recorded first)")
    verb.add_argument(
        "--noise",
        metavar="NOISE.json",
        help="that was recorded with this model, to predict percentiles of iterations by",
    )
    verb.add_argument(
        "--algo",
        required=True,
        metavar="A[,B..]",
        help="pipelines of gradweave's, torch-ddp, either with :plan behind it, torch-ddp:CAP_MB, "
        "torch-none, torch-barrier, torch-fp16, torch-bf16, torch-powersgd, torch-topk",
    )
    verb.add_argument("--iterations", type=_count, default=20, metavar="N", help="(20)")
    verb.add_argument(
        "--no-interference",
        dest="interference",
        action="store_false",
        help="leave out of predictions how operations that run at once slow each other (as the "
        "cluster's file says)",
    )
    verb.add_argument(
        "--tolerance",
        type=_positive,
        default=0.0,
        metavar="T",
        help="exit status 1 if an error is larger",
    )
    verb.add_argument("--out", metavar="VALIDATION.json")
    add_density(verb)

    verb = add("advise", "Says what to change in the job, and what it gains.", of_job=True)
    verb.add_argument(
        "--folder",
        metavar="DIR",
        help="keeps model.json, cluster.json and validation.json here (nowhere)",
    )
    add_time(verb, "to calibrate ")
    verb.add_argument("--iterations", type=_count, default=20, metavar="N", help="(20)")
    add_density(verb, None, "the one at which recorded trainings are soonest done")

    text = "Trains a network of gradweave's own, to try a pipeline on."
    verb = add("train-example", text, of_job=False, writes=False)
    names = ("vgg", "resnet", "lstm", "transformer")
    verb.add_argument("example", nargs="?", choices=names, default=names[0], help="(vgg)")
    verb.add_argument("--algo", default="topk", metavar="A", help="as for validate (topk)")
    verb.add_argument("--iterations", type=_count, default=100, metavar="N", help="(100)")
    add_density(verb)
    return parser


# ---- verbs ---------------------------------------------------------------------------------------


def _record(asked: argparse.Namespace) -> int:
    paths = list(filter(None, (asked.out, asked.noise, asked.gradients)))
    if len(set(paths)) < len(paths):
        raise BadInput("--out, --noise, --gradients: expected a file for each")
    for path in paths:
        _check_target(path, asked.force)
    name = Path(asked.out).stem
    recording = job.Recording(job.load(asked.job))
    recording.run(asked.iterations)
    recording.write(asked.out, name, asked.batch_size, asked.noise)
    if asked.gradients:
        the_job = job.load(asked.job)
        iterations = asked.gradient_iterations
        job.record_gradients(the_job, asked.gradients, name, asked.density, iterations)
    if _is_first():
        model = json.loads(Path(asked.out).read_text())
        backward_s = sum(tensor["backward_s"] for tensor in model["tensors"])
        elements = sum(tensor["elements"] for tensor in model["tensors"])
        _say(
            f"{asked.out}: {len(model['tensors'])} tensors, {elements:,} elements; forward "
            f"{1e3 * model['forward_s']:.4g} ms, backward {1e3 * backward_s:.4g} ms, update "
            f"{1e3 * model['update_s']:.4g} ms"
        )
    return 0


def _calibrate(asked: argparse.Namespace) -> int:
    if not asked.only:  # compressors are measured on one rank as well
        _need_ranks(asked.verb)
    _check_target(asked.out, asked.force or asked.add)
    calibrate(
        asked.out,
        compressors=asked.compressor,
        only=asked.only,
        density=asked.density,
        time_s=asked.time,
        step=job.forward_of(job.load(asked.job)) if asked.job else None,
        force=asked.force,
        add=asked.add,
    )
    return 0


# ---- validate ------------------------------------------------------------------------------------

_DRIFT = 0.03  # of the machine's pace, beyond which it is said


class _Copies:
    """Rank 0's files on every rank, as others' hosts may not have them. Errors name rank 0's."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._copies: dict[str, str] = {}  # by rank 0's file

    def of(self, path: str) -> str:
        """Returns this rank's copy as it is now; names of no file stay names."""
        content = [None]
        if _is_first() and Path(path).is_file():
            with file_errors(path, "read", BadInput):
                content = [Path(path).read_bytes()]
        dist.broadcast_object_list(content)
        if content[0] is None:
            return path
        name = f"{dist.get_rank()}-{len(self._copies)}-{Path(path).name}"
        copy = self._copies.setdefault(path, str(Path(self._folder) / name))
        Path(copy).write_bytes(content[0])
        return copy

    def __enter__(self) -> _Copies:
        return self

    def __exit__(self, _kind, error: BaseException | None, _traceback) -> None:
        if isinstance(error, GradweaveError):
            text = str(error)
            for path, copy in self._copies.items():
                text = text.replace(copy, path)
            raise type(error)(text) from None


def _taken_by_others() -> tuple[int, int]:
    """Ticks of this host's processors that other virtual machines took, and all (proc(5))."""
    try:
        ticks = [int(tick) for tick in Path("/proc/stat").read_text().split("\n")[0].split()[1:9]]
    except (OSError, ValueError):
        return 0, 0
    return ticks[7], sum(ticks)


@dataclass
class _Study:
    """A job's model and cluster, and what is measured and predicted with them."""

    asked: argparse.Namespace
    copies: _Copies
    model: str  # rank 0's file
    cluster: str
    noise: str | None  # rank 0's file, recorded with the model
    recording: job.Recording | None  # that the model is of; None: it was given

    def setting(self) -> ways.Setting:
        model = self.copies.of(self.model)
        if not Path(model).is_file():
            raise BadInput(f"{model}: expected the file of a model that was recorded")
        return ways.Setting(
            model=model,
            tensor_bytes=[tensor.bytes for tensor in tensors(model)],
            cluster=self.copies.of(self.cluster),
            density=self.asked.density,
            interference=self.asked.interference,
        )

    def record(self, iterations: int) -> None:
        self.recording.run(iterations)
        self.write_model()

    def write_model(self) -> None:
        name = self.asked.job.rpartition(":")[2]
        self.recording.write(self.model, name, noise=self.noise)

    def advise(self) -> list[Advised]:
        """What may be recommended, by all that is recorded so far; settles the density."""
        setting = self.setting()
        found = advise(
            setting.model,
            setting.cluster,
            density=self.asked.density,
            workers=dist.get_world_size(),
        )
        self.asked.density = found[0].density
        return found

    def validate(self, names: list[str], out: str | None) -> Validation:
        """Plans are made with the model so far; predictions with all that is recorded meanwhile."""
        before = _taken_by_others()
        measurements = ways.measure(
            job.load(self.asked.job),
            names,
            self.setting(),
            self.asked.iterations,
            recording=self.recording,
        )
        taken, whole = (after - early for after, early in zip(_taken_by_others(), before))
        if taken > 0.02 * whole:
            _say(
                f"note: other virtual machines took {taken / whole:.0%} of the processors "
                "meanwhile: measurements are too slow\n"
            )
        for one in measurements:
            if abs(one.pace - 1) > _DRIFT:
                _say(
                    f"note: just before {one.name}'s iterations those without any exchange took "
                    f"{abs(one.pace - 1):.0%} {'more' if one.pace > 1 else 'less'} than all such: "
                    "the machine was another then\n"
                )
        if self.recording:
            self.write_model()
        setting = self.setting()
        return validate(
            setting.model,
            setting.cluster,
            measurements,
            density=setting.density,
            workers=dist.get_world_size(),
            interference=setting.interference,
            iterations=self.asked.iterations,
            tolerance=self.asked.tolerance,
            path=out if _is_first() else None,
            noise=self.copies.of(self.noise) if self.noise else None,
        )


def _calibrate_in(the_job: job.Job, path: str, density: float, time_s: float) -> None:
    _say_progress(f"measuring network and compressors, {time_s:g} s ...")
    step = job.forward_of(the_job)
    calibrate(path, name="here", density=density, time_s=time_s, step=step, force=True)


def _note_cluster(path: str, interference: bool) -> None:
    """Says where a cluster that was validated is not this job's, and how to measure what is."""
    if not _is_first():
        return
    missing = []
    if not Path(path).is_file():
        missing.append("is one that ships, and was not measured in this job")
    else:
        read = json.loads(Path(path).read_text())
        factors = read.get("overlap", {}).get("factors", {}).values()
        if interference and not any("backward" in pairs for pairs in factors):
            missing.append("was not measured beside a backward pass")
        workers, ranks = read.get("workers"), dist.get_world_size()
        if workers != ranks:
            missing.append(f"is of {workers} workers, this job has {ranks}")
    if missing:
        _say(
            f"note: {path} {' and '.join(missing)}: predictions may be off; --calibrate measures "
            "the job's own first\n"
        )


def _validate(asked: argparse.Namespace) -> int:
    names = asked.algo.split(",")
    for name in names:
        ways.check(name)
    if not (asked.cluster or asked.calibrate):
        raise BadInput(
            "--cluster: expected the file of a cluster calibrated in this job (python -m "
            f"gradweave.torch calibrate --job {asked.job} --out CLUSTER.json), or --calibrate, "
            "which does so first, got neither"
        )
    if asked.cluster and asked.calibrate:
        _check_target(asked.cluster, asked.force)
    if asked.noise and not asked.model:
        raise BadInput("--noise: expected --model beside it, as the job is recorded otherwise")
    if asked.out:
        _check_target(asked.out, asked.force)
    if asked.calibrate:
        _need_ranks(f"{asked.verb} --calibrate")
    with tempfile.TemporaryDirectory() as folder, _Copies(folder) as copies:
        recording = None if asked.model else job.Recording(job.load(asked.job))
        model = asked.model or str(Path(folder) / "model.json")
        noise = asked.noise if asked.model else str(Path(folder) / "noise.json")
        cluster = asked.cluster or str(Path(folder) / "cluster.json")
        if asked.calibrate:
            _calibrate_in(job.load(asked.job), cluster, asked.density, asked.time)
        study = _Study(asked, copies, model, cluster, noise, recording)
        if recording:
            study.record(asked.iterations)
        validation = study.validate(names, asked.out)
        _note_cluster(cluster, asked.interference)
    _say(validation)
    return BEYOND if 0 < asked.tolerance < validation.largest_error else 0


# ---- advise --------------------------------------------------------------------------------------

_FILES = ("model", "cluster", "validation")


def _advise_in(asked: argparse.Namespace, folder: str, noise: str, copies: _Copies) -> None:
    model, cluster, out = (str(Path(folder) / f"{name}.json") for name in _FILES)
    the_job = job.load(asked.job)
    study = _Study(asked, copies, model, cluster, noise, job.Recording(the_job))
    _say_progress("recording the job ...")
    study.record(asked.iterations)
    _calibrate_in(the_job, cluster, asked.density or 0.01, asked.time)
    advised = study.advise()
    planned, kept = advice.choose(the_job, advised, study.setting().plan)
    _say_progress(f"running {planned.algorithm} and DistributedDataParallel ...\n")
    names = ["torch-ddp", "torch-ddp:plan", planned.algorithm, "torch-none"]
    validation = study.validate(names, out)
    _say(f"{validation}\n")
    for line in advice.lines(validation, planned, kept, asked.folder or ".", study.advise()):
        _say(line)


def _advise(asked: argparse.Namespace) -> int:
    asked.interference, asked.tolerance = True, 0.0
    _need_ranks(asked.verb)
    if asked.folder is not None:
        for name in _FILES:
            _check_target(str(Path(asked.folder) / f"{name}.json"), asked.force)
        with file_errors(asked.folder, "made"):
            Path(asked.folder).mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, _Copies(folder) as copies:
        _advise_in(asked, asked.folder or folder, str(Path(folder) / "noise.json"), copies)
    return 0


# ---- train-example -------------------------------------------------------------------------------


def _train_example(asked: argparse.Namespace) -> int:
    ways.check(asked.algo)
    setting = ways.Setting(density=asked.density)
    each = ways.train(getattr(examples, asked.example), asked.algo, setting, asked.iterations)
    every = -(-asked.iterations // 20)
    since: list[tuple[float, float]] = []
    for number, of_ranks in enumerate(each, 1):
        since.append(of_ranks)
        if number % every == 0 or number == asked.iterations:
            loss, took_s = (sum(values) / len(since) for values in zip(*since))
            _say(f"{number:6}  loss {loss:8.4f}  {1e3 * took_s:9.2f} ms an iteration")
            since.clear()
    equal = f"parameters are equal on all {dist.get_world_size()} ranks"
    outcome = equal if ways.exchanges(asked.algo) else "nothing was exchanged"
    _say(f"{asked.example} by {asked.algo}: {outcome}")
    return 0


_VERBS = {
    "record": _record,
    "calibrate": _calibrate,
    "validate": _validate,
    "advise": _advise,
    "train-example": _train_example,
}


def main(arguments: list[str] | None = None) -> int:
    asked = _parser().parse_args(arguments)
    torch.set_num_threads(asked.threads)
    try:
        _join(asked.timeout)
        return _VERBS[asked.verb](asked)
    except GradweaveError as error:
        print(f"gradweave.torch: {error}", file=sys.stderr)
        return BAD_INPUT if isinstance(error, BadInput) else FAILED
    except Exception:  # the job's own
        traceback.print_exc()
        return FAILED
    finally:
        if dist.is_initialized():
            leave_all()


if __name__ == "__main__":
    sys.exit(main())
