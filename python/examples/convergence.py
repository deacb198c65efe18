"""How well networks learn when their gradients travel in each way, and how fast.

    torchrun --nproc-per-node 5 python/examples/convergence.py --workers 4 --folder convergence

The folder gets runs.jsonl, a line for each run, and what gradweave predicts from: the networks as
models, and of each with its workers the cluster, calibrated in the job. What it has is not done
again. What the runs come to, learnt.py says.

A way is one of gradweave's pipelines, or `torch-ddp`, `torch-fp16` and `torch-powersgd`:
DistributedDataParallel, and its hooks; or `mixed`, `mixed:0.95` and `mixed:0.99`: the optimal plan
of --choices for each group, which keeps at least such a share of a gradient's energy; or PowerSGD
by another rank, as `powersgd:2`. Each run begins with the same parameters on all ranks, and another
seed has other parameters and batches. One process more than workers is needed by pipelines with a
server.
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import torch
import torch.distributed as dist
from torch import nn

import gradweave
from gradweave import algorithms
from gradweave._library import has_server
from gradweave.torch import GradientRecorder, Recorder, calibrate
from gradweave.torch.distributed import check_equal
from networks import MOMENTUM, NETWORKS, Batch
from ways import CHOSEN, HOOKS, MIXED, RANKS, Ddp, Live, Watch, correct_momentum, selects

# ---- a run ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Run:
    network: str
    workers: int
    way: str
    density: float  # 1 of ways that send all elements
    momentum: str  # "plain", or "corrected" (correct_momentum)
    warm_up: int  # iterations in which density falls to that, in four steps from 25%
    iterations: int
    seed: int

    @property
    def served(self) -> bool:
        return self.way not in (*HOOKS, *CHOSEN) and has_server(self.way)

    def stages(self) -> list[tuple[int, float]]:
        """How many iterations have which density, as in Deep Gradient Compression (section 3.3)."""
        steps = 4 if self.warm_up and self.density < 0.25 else 0
        falling = [0.25 * (self.density / 0.25) ** (step / 4) for step in range(steps)]
        each = [
            self.warm_up * (step + 1) // 4 - self.warm_up * step // 4
            for step in range(steps)
        ]
        return [*zip(each, falling), (self.iterations - sum(each), self.density)]


@dataclass(frozen=True)
class Groups:
    """Groups of so many workers: the script's own, and of exchanges, without and with a server."""

    own: dist.ProcessGroup | None
    exchange: dist.ProcessGroup | None
    served: dist.ProcessGroup | None


def loss_of(scores: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    """Returns the loss of pictures, or of all letters of texts."""
    return nn.functional.cross_entropy(scores.flatten(0, -2), targets.flatten())


def judge(module: nn.Module, held_out: Batch) -> tuple[float, float]:
    """Loss and the share of what is foretold rightly, on examples that were not learnt from."""
    module.eval()
    with torch.no_grad():
        scores = module(held_out[0])
    module.train()
    right = (scores.argmax(-1) == held_out[1]).float().mean().item()
    return loss_of(scores, held_out[1]).item(), right


def check_same(module: nn.Module, group: dist.ProcessGroup) -> None:
    """Fails unless all workers hold the same parameters, bit for bit."""

    def gather(own: list[int]) -> list[list[int]]:
        of_ranks = [own] * dist.get_world_size(group)
        dist.all_gather_object(of_ranks, own, group=group)
        return of_ranks

    check_equal(dict(module.named_parameters()), gather)


def means_of(own: list[float], group: dist.ProcessGroup) -> list[float]:
    """Over the ranks, which all call it."""
    sums = torch.tensor(own, dtype=torch.float64)
    dist.all_reduce(sums, group=group)
    return (sums / dist.get_world_size(group)).tolist()


def time_barrier(group: dist.ProcessGroup, times: int) -> float:
    """Returns the median time of a barrier at which all ranks are already."""
    took_s = []
    for _ in range(times):
        began = time.perf_counter()
        dist.barrier(group)
        took_s.append(time.perf_counter() - began)
    return statistics.median(took_s)


class Alone:
    """A network of which nothing is exchanged and nothing learnt; its workers make and use it."""

    def __init__(self, name: str, workers: int, group: dist.ProcessGroup) -> None:
        network = NETWORKS[name]
        self.module = network.module()
        self.optimizer = network.optimizer(self.module)
        for parameters in self.optimizer.param_groups:
            parameters["lr"] = 0.0
        self.batch = network.batch // workers
        Watch(self.module)  # whose hooks a training has too
        self._data = network.data()
        self._group = group
        self._generator = torch.Generator().manual_seed(0)
        self._sampled_s: list[float] = []
        self._barriers_s: list[float] = []

    def iterate(self, iterations: int) -> list[float]:
        """Returns the seconds of each iteration; ranks wait for each other before a step."""
        took_s, began = [], time.perf_counter()
        for _ in range(iterations):
            inputs, targets = self._data.draw(self.batch, self._generator)
            loss = loss_of(self.module(inputs), targets)
            loss.backward()
            dist.barrier(self._group)
            self.optimizer.step()
            self.optimizer.zero_grad()
            loss.item()
            has_diverged(self.module)
            now = time.perf_counter()
            took_s.append(now - began)
            began = now
        return took_s

    def sample(self) -> None:
        """Samples the pace of a machine that others use too, which changes within seconds."""
        self._sampled_s += self.iterate(11)[1:]
        self._barriers_s.append(time_barrier(self._group, 10))

    def sampled_s(self) -> float:
        """Returns the median of the samples, in the mean of the workers, without barriers."""
        own_s = statistics.median(self._sampled_s) - statistics.median(self._barriers_s)
        return means_of([own_s], self._group)[0]


def open_way(
    run: Run, module: nn.Module, groups: Groups, planned: gradweave.Plan | None
) -> Ddp | Live:
    if run.way in HOOKS:
        return Ddp(module, run.way, groups.exchange)
    group = groups.served if run.served else groups.exchange
    first = run.stages()[0][1]
    return Live(module, planned, first, run.seed, group)


@dataclass
class Judgement:
    """A judgement of a network after so many iterations, by the mean of the workers."""

    iteration: int
    seconds: float  # of training alone, as Stopwatch has them
    loss: float  # of the iterations since the judgement before
    held_out_loss: float
    right: float
    bytes: float | None  # sent by a worker in the last iteration, if that is known
    energy_kept: float | None  # in the last iteration, and ...
    residual: float | None  # ... left, as Watch has them; PyTorch's hooks show neither,
    # nor does the iteration in which a network diverges


class Stopwatch:
    """A stopwatch for iterations. The first one, and the first after a judgement, find cold caches:
    they count as the mean of the others."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch  # what that spends is not training
        self._iterations = 0
        self._cold = True
        self._timed_s: list[float] = []
        self._began_s = 0.0

    def _now_s(self) -> float:
        return time.perf_counter() - self._watch.spent_s

    def begin(self) -> None:
        self._began_s = self._now_s()

    def end(self) -> None:
        self._iterations += 1
        if not self._cold:
            self._timed_s.append(self._now_s() - self._began_s)
        self._cold = False

    def interrupt(self) -> None:
        self._cold = True

    def seconds(self) -> float:
        return self._iterations * statistics.fmean(self._timed_s or [0.0])


def has_diverged(module: nn.Module) -> bool:
    """Returns whether parameters are too large to learn, or no numbers: alike on all workers."""
    largest = [parameter.detach().abs().max() for parameter in module.parameters()]
    return not torch.stack(largest).max().item() < 1e3


def learn(run: Run, groups: Groups, planned: gradweave.Plan | None) -> dict | None:
    """Trains, and returns what rank 0 writes of the run; its workers and server call it."""
    network = NETWORKS[run.network]
    alone = Alone(run.network, run.workers, groups.own) if dist.get_rank() < run.workers else None
    torch.manual_seed(run.seed)
    module = network.module()
    corrected = run.momentum == "corrected"
    mask = correct_momentum(module, MOMENTUM) if corrected else lambda: None
    optimizer = network.optimizer(module, 0 if corrected else MOMENTUM)
    watch = Watch(module)
    is_watched = run.way not in HOOKS
    way = open_way(run, module, groups, planned)
    data = network.data()
    generator = torch.Generator().manual_seed(1000 * run.seed + dist.get_rank())
    stopwatch = Stopwatch(watch)
    done, losses, curve, diverged = 0, [], [], False
    for stage, (count, density) in enumerate(run.stages()):
        if stage > 0:
            way.change_density(density)
        if way.serves:
            way.serve()
        if way.serves or diverged:
            continue
        for iteration in range(done + 1, done + count + 1):
            judged = iteration % network.judged_every == 0 or iteration == run.iterations
            if judged and is_watched:
                watch.begin(way)
            stopwatch.begin()
            inputs, targets = data.draw(network.batch // run.workers, generator)
            loss = loss_of(way.model(inputs), targets)
            loss.backward()
            mask()
            network.step(module, optimizer, iteration)
            losses.append(loss.item())
            diverged = has_diverged(module)
            stopwatch.end()
            if not judged and not diverged:
                continue
            shows = judged and is_watched
            own = [statistics.fmean(losses), stopwatch.seconds()]
            own += watch.end(way, run.workers) if shows else [0.0, 0.0]
            mean_loss, seconds, kept, left = means_of(own, groups.own)
            first = dist.get_rank() == 0
            held_out = judge(module, data.held_out) if first else (0.0, 0.0)
            shown = (kept, left) if shows else (None, None)
            sent = way.sent_bytes()
            curve.append(
                Judgement(iteration, seconds, mean_loss, *held_out, sent, *shown)
            )
            losses.clear()
            dist.barrier(groups.own)  # or others would wait for rank 0 in what is timed
            alone.sample()
            stopwatch.interrupt()
            if diverged:
                break
        done += count
    if not way.serves:
        check_same(module, groups.own)
    way.close()
    parameters = sum(one.numel() for one in module.parameters())
    found = {**vars(run), "parameters": parameters, "diverged": diverged}
    found["alone_s"] = alone.sampled_s() if alone else None
    return {**found, "curve": [vars(one) for one in curve]}


# ---- all runs ------------------------------------------------------------------------------------


def momenta_of(asked: argparse.Namespace, network: str) -> list[str]:
    """Momentum is corrected where there is any: not with AdamW."""
    return ["plain"] if NETWORKS[network].adamw else asked.momentum


def all_runs(asked: argparse.Namespace) -> Iterator[Run]:
    """Seed by seed, so that what is cut short has a little of everything."""
    for seed in range(asked.seeds):
        for network in asked.networks:
            for workers in asked.workers:
                for way in asked.ways:
                    for density in asked.densities if selects(way) else (1.0,):
                        for momentum in momenta_of(asked, network):
                            for warm_up in asked.warm_up if selects(way) else (0,):
                                yield Run(
                                    network,
                                    workers,
                                    way,
                                    density,
                                    momentum,
                                    warm_up,
                                    asked.iterations or NETWORKS[network].iterations,
                                    seed,
                                )


def open_groups(workers: int) -> Groups:
    """All ranks call it."""
    ranks = dist.get_world_size()
    return Groups(
        own=dist.new_group(range(workers)),
        exchange=dist.new_group(range(workers)),
        served=dist.new_group(range(workers + 1)) if workers < ranks else None,
    )


def model_of(folder: Path, network: str, workers: int) -> Path:
    return folder / f"{network}-{workers}.json"


def record(name: str, workers: int, group: dist.ProcessGroup, folder: Path) -> None:
    """Records a network's tensors and times for predictions and plans, as so many workers at once
    have them; these call it."""
    alone = Alone(name, workers, group)
    barrier_s = time_barrier(group, 50)
    recorder = Recorder(alone.module, alone.optimizer, group=group, barrier_s=barrier_s)
    alone.iterate(NETWORKS[name].iterations)
    recorder.write(model_of(folder, name, workers), name, alone.batch)
    recorder.close()


def gradients_of(folder: Path, run: Run) -> Path:
    """Returns the gradients' file of plain runs by topk that differ by nothing else."""
    name = f"{run.network}-{run.workers}-{run.density:g}-{run.iterations}"
    return folder / f"{name}-gradients.json"


def record_gradients(run: Run, groups: Groups, planned: gradweave.Plan, path: Path) -> None:
    """Records the gradients of a run, to forecast selections from, without times or judgements. Its
    workers call it."""
    network = NETWORKS[run.network]
    torch.manual_seed(run.seed)
    module = network.module()
    optimizer = network.optimizer(module)
    recorder = GradientRecorder(module, iterations=run.iterations, group=groups.own)
    way = open_way(run, module, groups, planned)
    generator = torch.Generator().manual_seed(1000 * run.seed + dist.get_rank())
    for iteration in range(1, run.iterations + 1):
        inputs, targets = network.data().draw(network.batch // run.workers, generator)
        loss_of(way.model(inputs), targets).backward()
        network.step(module, optimizer, iteration)
    recorder.write(path, run.network)
    recorder.close()
    way.close()


def cluster_of(asked: argparse.Namespace, network: str, workers: int) -> str | Path:
    """Returns the cluster's file that was asked for, or calibrated in the job."""
    return asked.cluster or asked.folder / f"{network}-{workers}-cluster.json"


def calibrate_all(asked: argparse.Namespace, workers: int, group: dist.ProcessGroup) -> None:
    """Measures exchanges and compressors among so many workers; then, for each network, exchanges
    once more, and how they and its backward pass slow each other. The workers call it, with nothing
    else going on."""
    base, part = asked.folder / f"cluster-{workers}.json", asked.folder / "cluster.part.json"
    largest = 1 << 20  # elements: more than any network has
    options = {"max_elements": largest, "max_bytes": 4 * largest, "group": group}
    if not base.exists():
        calibrate(base, time_s=asked.calibration_time, **options)
    collectives = list(json.loads(base.read_text())["collectives"])
    options |= {"time_s": asked.calibration_time / 4, "add": True}
    for name in asked.networks:
        path = cluster_of(asked, name, workers)
        if path.exists():
            continue
        network = NETWORKS[name]
        module = network.module()
        inputs, targets = network.data().draw(network.batch // workers, torch.Generator())
        step = lambda: loss_of(module(inputs), targets)
        if dist.get_rank(group) == 0:
            shutil.copy(base, part)
        calibrate(part, name=path.stem, only=collectives, **options)
        calibrate(part, name=path.stem, only="overlap", step=step, **options)
        if dist.get_rank(group) == 0:
            part.rename(path)
        dist.barrier(group)


def options_of(asked: argparse.Namespace, way: str, density: float) -> dict:
    """Returns what the way's plan is made by."""
    if way in MIXED:
        keep = float(way.partition(":")[2] or 0)
        return {"policy": "optimal", "choices": asked.choices.split(","), "keep": keep}
    if way in RANKS:
        return {"policy": "optimal", "choices": [way]}
    return {"algorithm": way, "density": density if selects(way) else 0.001}


def plan_all(asked: argparse.Namespace) -> dict[tuple, gradweave.Plan]:
    """The plan of each way."""
    plans = {}
    for name in asked.networks:
        for way in set(asked.ways) - set(HOOKS):
            for density in asked.densities if selects(way) else (1.0,):
                for workers in asked.workers:
                    plans[name, way, density, workers] = gradweave.plan(
                        model_of(asked.folder, name, workers),
                        cluster_of(asked, name, workers),
                        workers=workers,
                        **options_of(asked, way, density),
                    )
    return plans


def done_already(path: Path) -> set[Run]:
    lines = path.read_text().splitlines() if path.exists() else []
    fields = Run.__dataclass_fields__
    return {Run(**{name: json.loads(line)[name] for name in fields}) for line in lines}


def run_all(asked: argparse.Namespace) -> None:
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank, ranks = dist.get_rank(), dist.get_world_size()
    runs = asked.folder / "runs.jsonl"
    asked.folder.mkdir(parents=True, exist_ok=True)
    groups = {workers: open_groups(workers) for workers in asked.workers}
    for workers, group in groups.items():
        if rank < workers:
            for name in asked.networks:
                if not model_of(asked.folder, name, workers).exists():
                    record(name, workers, group.own, asked.folder)
            if not asked.cluster:
                calibrate_all(asked, workers, group.own)
        dist.barrier()
    said = [done_already(runs), plan_all(asked)] if rank == 0 else [None, None]
    dist.broadcast_object_list(said)
    agreed, plans = said
    began = time.monotonic()
    for run in all_runs(asked):
        planned = plans.get((run.network, run.way, run.density, run.workers))
        gradients = gradients_of(asked.folder, run)
        records = run.way == "topk" and (run.momentum, run.warm_up) == ("plain", 0)
        if rank < run.workers and records and not gradients.exists():
            record_gradients(run, groups[run.workers], planned, gradients)
        dist.barrier()
        takes = run.workers + run.served
        if run in agreed or takes > ranks:
            continue
        if rank < takes:
            found = learn(run, groups[run.workers], planned)
        if rank == 0:
            with runs.open("a") as file:
                file.write(json.dumps(found) + "\n")
            last = found["curve"][-1]
            took = f"{time.monotonic() - began:.0f} s"
            print(
                f"{took}: {run}: loss {last['loss']:.3f}, {last['right']:.1%} right",
                flush=True,
            )
    dist.barrier()
    dist.destroy_process_group()


# ---- asking --------------------------------------------------------------------------------------


def parse(arguments: list[str]) -> argparse.Namespace:
    about, _, rest = __doc__.partition("\n\n")
    parser = argparse.ArgumentParser(
        description=about,
        epilog=rest,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    every = [*HOOKS, *algorithms(), *CHOSEN]

    def names(known: list[str]) -> Callable[[str], list[str]]:
        def split(given: str) -> list[str]:
            for name in given.split(","):
                if name not in known:
                    raise argparse.ArgumentTypeError(
                        f"{name}: expected one of {', '.join(known)}"
                    )
            return given.split(",")

        return split

    def numbers(kind: type) -> Callable[[str], list]:
        return lambda given: [kind(one) for one in given.split(",")]

    parser.add_argument(
        "--networks", type=names(list(NETWORKS)), default=list(NETWORKS)
    )
    parser.add_argument("--ways", type=names(every), default=every)
    parser.add_argument(
        "--choices",
        default="dense,bf16,int8,topk:0.01",
        help="that mixed plans are made of (dense,bf16,int8,topk:0.01)",
    )
    parser.add_argument("--workers", type=numbers(int), default=[4])
    parser.add_argument("--densities", type=numbers(float), default=[0.1, 0.01, 0.001])
    parser.add_argument(
        "--momentum", type=names(["plain", "corrected"]), default=["plain"]
    )
    parser.add_argument("--warm-up", type=numbers(int), default=[0], help="iterations")
    parser.add_argument(
        "--cluster", help="that plans are made for; calibrated in the job unless given"
    )
    parser.add_argument(
        "--calibration-time", type=float, default=120, help="seconds, of each number of workers"
    )
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--iterations", type=int, help="of each run; the network's own")
    parser.add_argument("--folder", type=Path, default=Path("convergence"))
    return parser.parse_args(arguments)


def main() -> None:
    run_all(parse(sys.argv[1:]))


if __name__ == "__main__":
    main()
