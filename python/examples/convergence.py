"""How well networks learn when their gradients travel in each way, and how fast.

    torchrun --nproc-per-node 5 python/examples/convergence.py --workers 4 --out convergence.jsonl
    build/python/bin/python python/examples/convergence.py --show convergence.jsonl

Data come with packages: scikit-learn's handwritten digits, and the text that Debian's bible-kjv
prints. A way is one of gradweave's pipelines, or `torch-ddp`, `torch-fp16` and `torch-powersgd`:
DistributedDataParallel, and its hooks. Each run begins with the same parameters on all ranks, and
another seed has other parameters and batches. --out gets a line for each run; runs that it has are
not run again. One process more than workers is needed by pipelines with a server.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.algorithms.ddp_comm_hooks import default_hooks, powerSGD_hook

import gradweave
from gradweave import algorithms
from gradweave._library import has_server
from gradweave.torch import Recorder, distribute, examples
from gradweave.torch.distributed import check_equal

# ---- data ----------------------------------------------------------------------------------------

Batch = tuple[torch.Tensor, torch.Tensor]


@dataclass(frozen=True)
class Data:
    """Examples to learn from, and others to be judged by."""

    draw: Callable[[int, torch.Generator], Batch]
    held_out: Batch


@cache
def digits() -> Data:
    """1,797 pictures of 8 x 8, of which every fifth is held out."""
    from sklearn.datasets import load_digits

    found = load_digits()
    pictures = torch.tensor(found.images, dtype=torch.float32).unsqueeze(1) / 16 - 0.3
    classes = torch.tensor(found.target)
    held = torch.arange(len(classes)) % 5 == 0
    known, labels = pictures[~held], classes[~held]

    def draw(size: int, generator: torch.Generator) -> Batch:
        chosen = torch.randint(len(labels), (size,), generator=generator)
        return known[chosen], labels[chosen]

    return Data(draw, (pictures[held], classes[held]))


@cache
def text(length: int) -> Data:
    """4.4 million letters, the last 1% of them held out; pieces of a length and their successors."""
    printed = subprocess.run(
        ["bible", "-f", "gen1:1-rev22:21"], check=True, stdout=subprocess.PIPE
    ).stdout
    letters = torch.frombuffer(bytearray(printed), dtype=torch.uint8).long() % 128
    split = len(letters) * 99 // 100
    known, held = letters[:split], letters[split:]

    def pieces(of: torch.Tensor, starts: list[int]) -> Batch:
        found = torch.stack([of[start : start + length + 1] for start in starts])
        return found[:, :-1], found[:, 1:]

    def draw(size: int, generator: torch.Generator) -> Batch:
        starts = torch.randint(len(known) - length - 1, (size,), generator=generator)
        return pieces(known, starts.tolist())

    evenly = range(0, len(held) - length - 1, len(held) // 200)
    return Data(draw, pieces(held, list(evenly)))


# ---- networks ------------------------------------------------------------------------------------


def fnn3() -> nn.Module:
    """Three full layers: 85,002 parameters."""
    layers = [
        nn.Flatten(),
        nn.Linear(64, 256),
        nn.ReLU(),
        nn.Linear(256, 256),
        nn.ReLU(),
    ]
    return nn.Sequential(*layers, nn.Linear(256, 10))


def lenet5() -> nn.Module:
    """Two convolutions and three full layers, as LeNet-5, for 8 x 8."""
    layers = [
        nn.Conv2d(1, 6, 5, padding=2),
        nn.ReLU(),
        nn.Conv2d(6, 16, 3, padding=1),
        nn.ReLU(),
    ]
    layers += [nn.MaxPool2d(2), nn.Flatten(), nn.Linear(256, 120), nn.ReLU()]
    return nn.Sequential(*layers, nn.Linear(120, 84), nn.ReLU(), nn.Linear(84, 10))


def resnet20() -> nn.Module:
    """Three stages of three blocks of two convolutions, as ResNet-20, half as wide."""
    layers: list[nn.Module] = [
        nn.Conv2d(1, 8, 3, 1, 1, bias=False),
        nn.BatchNorm2d(8),
        nn.ReLU(),
    ]
    for channels, width in ((8, 8), (8, 16), (16, 32)):
        stride = 1 if channels == width else 2
        layers += [examples.Block(channels, width, stride)]
        layers += [examples.Block(width, width, 1), examples.Block(width, width, 1)]
    return nn.Sequential(
        *layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(32, 10)
    )


def lstm() -> nn.Module:
    """Two layers of 128 that foretell letters."""
    return examples.Lstm(128)


def gpt() -> nn.Module:
    """Two layers of 128 with two heads that foretell letters."""
    return examples.Transformer(128, 2, 32)


@dataclass(frozen=True)
class Network:
    """`batch` is of all workers together, so that any number of them does the same."""

    module: Callable[[], nn.Module]
    data: Callable[[], Data]
    batch: int
    rate: float  # of learning
    iterations: int
    judged_every: int


NETWORKS = {
    "fnn3": Network(fnn3, digits, 64, 0.1, 200, 20),
    "lenet5": Network(lenet5, digits, 64, 0.05, 200, 20),
    "resnet20": Network(resnet20, digits, 64, 0.05, 120, 20),
    "lstm": Network(lstm, lambda: text(32), 64, 0.5, 200, 20),
    "gpt": Network(gpt, lambda: text(32), 64, 0.1, 200, 20),
}

# ---- ways ----------------------------------------------------------------------------------------

HOOKS = ("torch-ddp", "torch-fp16", "torch-powersgd")
MOMENTUM = 0.9
DENSE = (*HOOKS, "dense", "p-sgd", "ddp", "mg-wfbp", "ps")


class _Ddp:
    """DistributedDataParallel, with one of its hooks or none."""

    serves = False

    def __init__(self, module: nn.Module, name: str, group: dist.ProcessGroup) -> None:
        self.model = nn.parallel.DistributedDataParallel(module, process_group=group)
        if name == "torch-fp16":
            self.model.register_comm_hook(group, default_hooks.fp16_compress_hook)
        elif name == "torch-powersgd":
            state = powerSGD_hook.PowerSGDState(group, 2, start_powerSGD_iter=2)
            self.model.register_comm_hook(state, powerSGD_hook.powerSGD_hook)

    def sent_bytes(self) -> float | None:
        return None  # nothing in PyTorch counts them

    def close(self) -> None:
        pass


class _Live:
    """One of gradweave's pipelines, by a plan for its groups."""

    def __init__(
        self,
        module: nn.Module,
        name: str,
        density: float,
        seed: int,
        group: dist.ProcessGroup,
        planned: list[tuple[int, int]],
    ) -> None:
        self.model = module
        self._open = lambda density: distribute(
            module, name, density=density, seed=seed, group=group, groups=planned
        )
        self._distributed = self._open(density)

    @property
    def serves(self) -> bool:
        return self._distributed.serves

    def serve(self) -> None:
        """Until the others close, or change the density."""
        self._distributed.serve()

    def change_density(self, density: float) -> None:
        """What was not sent yet stays; all call it."""
        state = self._distributed.state_dict()
        self._distributed.close()
        self._distributed = self._open(density)
        self._distributed.load_state_dict(state, residual_only=True)

    def sent_bytes(self) -> float | None:
        """Of the last iteration, in the mean of the workers; all call it."""
        return self._distributed.measure()["bytes_per_worker"]

    def close(self) -> None:
        self._distributed.close()


def correct_momentum(module: nn.Module, momentum: float) -> Callable[[], None]:
    """Lets each worker's velocity travel in place of its gradient (Deep Gradient Compression,
    section 3.1). Call what it returns after a backward pass: velocities end where any worker has
    sent something (3.2)."""
    velocities = {one: torch.zeros_like(one) for one in module.parameters()}

    def gather(parameter: nn.Parameter) -> None:
        velocity = velocities[parameter].mul_(momentum).add_(parameter.grad)
        parameter.grad.copy_(velocity)

    def mask() -> None:
        for parameter, velocity in velocities.items():
            velocity[parameter.grad != 0] = 0

    for parameter in velocities:
        parameter.register_post_accumulate_grad_hook(gather)
    return mask


# ---- a run ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Run:
    network: str
    workers: int
    way: str
    density: float  # 1 of dense ways
    momentum: str  # "plain", or "corrected" (correct_momentum)
    warm_up: int  # iterations in which density falls to that, in four steps from 25%
    seed: int

    @property
    def served(self) -> bool:
        return self.way not in HOOKS and has_server(self.way)

    def stages(self, iterations: int) -> list[tuple[int, float]]:
        """How many iterations have which density, as in Deep Gradient Compression (section 3.3)."""
        steps = 4 if self.warm_up and self.density < 0.25 else 0
        falling = [0.25 * (self.density / 0.25) ** (step / 4) for step in range(steps)]
        each = [
            self.warm_up * (step + 1) // 4 - self.warm_up * step // 4
            for step in range(steps)
        ]
        return [*zip(each, falling), (iterations - sum(each), self.density)]


@dataclass(frozen=True)
class Groups:
    """Of so many workers: for the script itself, and for exchanges, without and with a server."""

    own: dist.ProcessGroup | None
    exchange: dist.ProcessGroup | None
    served: dist.ProcessGroup | None


def loss_of(scores: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    """Of pictures, or of each letter of texts."""
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


def open_way(
    run: Run, module: nn.Module, groups: Groups, planned: list
) -> _Ddp | _Live:
    if run.way in HOOKS:
        return _Ddp(module, run.way, groups.exchange)
    group = groups.served if run.served else groups.exchange
    first = run.stages(NETWORKS[run.network].iterations)[0][1]
    return _Live(module, run.way, first, run.seed, group, planned)


def learn(run: Run, groups: Groups, planned: list[tuple[int, int]]) -> dict | None:
    """What rank 0 writes of a run; its workers and server call it."""
    network = NETWORKS[run.network]
    torch.manual_seed(run.seed)
    module = network.module()
    corrected = run.momentum == "corrected"
    mask = correct_momentum(module, MOMENTUM) if corrected else lambda: None
    momentum = 0 if corrected else MOMENTUM
    optimizer = torch.optim.SGD(module.parameters(), lr=network.rate, momentum=momentum)
    way = open_way(run, module, groups, planned)
    data = network.data()
    generator = torch.Generator().manual_seed(1000 * run.seed + dist.get_rank())
    done, took_s, losses, curve = 0, 0.0, [], []
    for stage, (iterations, density) in enumerate(run.stages(network.iterations)):
        if stage > 0:
            way.change_density(density)
        if way.serves:
            way.serve()
            continue
        for iteration in range(done + 1, done + iterations + 1):
            inputs, targets = data.draw(network.batch // run.workers, generator)
            began = time.perf_counter()
            loss = loss_of(way.model(inputs), targets)
            loss.backward()
            mask()
            optimizer.step()
            optimizer.zero_grad()
            took_s += time.perf_counter() - began
            losses.append(loss.item())
            if iteration % network.judged_every == 0:
                means = torch.tensor(
                    [statistics.fmean(losses), took_s], dtype=torch.float64
                )
                dist.all_reduce(means, group=groups.own)
                loss_mean, mean_s = (means / run.workers).tolist()
                judged = (
                    judge(module, data.held_out) if dist.get_rank() == 0 else (0.0, 0.0)
                )
                curve.append([iteration, mean_s, loss_mean, *judged, way.sent_bytes()])
                losses.clear()
        done += iterations
    if not way.serves:
        check_same(module, groups.own)
    way.close()
    parameters = sum(one.numel() for one in module.parameters())
    return {**vars(run), "parameters": parameters, "curve": curve}


# ---- all runs ------------------------------------------------------------------------------------


def all_runs(asked: argparse.Namespace) -> Iterator[Run]:
    """Seed by seed, so that what is cut short has a little of everything."""
    for seed in range(asked.seeds):
        for network in asked.networks:
            for workers in asked.workers:
                for way in asked.ways:
                    for density in (1.0,) if way in DENSE else asked.densities:
                        for momentum in asked.momentum:
                            for warm_up in (0,) if way in DENSE else asked.warm_up:
                                yield Run(
                                    network,
                                    workers,
                                    way,
                                    density,
                                    momentum,
                                    warm_up,
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


def record(name: str, path: Path) -> None:
    """What plans are made from: the network's tensors and times, as this process alone has them."""
    network = NETWORKS[name]
    module = network.module()
    optimizer = torch.optim.SGD(module.parameters(), lr=0.0)
    recorder = Recorder(module, optimizer)
    generator = torch.Generator().manual_seed(0)
    for _ in range(recorder.warm_up + 5):
        inputs, targets = network.data().draw(network.batch // 4, generator)
        loss_of(module(inputs), targets).backward()
        optimizer.step()
        optimizer.zero_grad()
    recorder.write(path, name)


def plan_all(asked: argparse.Namespace) -> dict[tuple, list[tuple[int, int]]]:
    """The groups of each pipeline, on the cluster that plans are made for."""
    plans = defaultdict(list)
    with tempfile.TemporaryDirectory() as folder:
        for name in asked.networks:
            path = Path(folder) / f"{name}.json"
            record(name, path)
            for way in set(asked.ways) - set(HOOKS):
                for density in (1.0,) if way in DENSE else asked.densities:
                    for workers in asked.workers:
                        planned = gradweave.plan(
                            path,
                            asked.cluster,
                            algorithm=way,
                            workers=workers,
                            density=0.001 if way in DENSE else density,
                        )
                        plans[name, way, density, workers] = list(planned.groups)
    return plans


def done_already(path: Path) -> set[Run]:
    lines = path.read_text().splitlines() if path.exists() else []
    fields = Run.__dataclass_fields__
    return {Run(**{name: json.loads(line)[name] for name in fields}) for line in lines}


def run_all(asked: argparse.Namespace) -> None:
    torch.set_num_threads(1)
    first = os.environ.get("RANK", "0") == "0"
    said = [done_already(asked.out), plan_all(asked)] if first else [None, None]
    dist.init_process_group("gloo")
    rank, ranks = dist.get_rank(), dist.get_world_size()
    dist.broadcast_object_list(said)
    agreed, plans = said
    groups = {workers: open_groups(workers) for workers in asked.workers}
    began = time.monotonic()
    for run in all_runs(asked):
        takes = run.workers + run.served
        if run in agreed or takes > ranks:
            continue
        planned = plans[run.network, run.way, run.density, run.workers]
        if rank < takes:
            found = learn(run, groups[run.workers], planned)
        if rank == 0:
            with asked.out.open("a") as file:
                file.write(json.dumps(found) + "\n")
            last = found["curve"][-1]
            took = f"{time.monotonic() - began:.0f} s"
            print(f"{took}: {run}: loss {last[2]:.3f}, {last[4]:.1%} right", flush=True)
    dist.barrier()
    dist.destroy_process_group()


# ---- what they come to ---------------------------------------------------------------------------

STUDENT_T = (
    math.inf,
    12.706,
    4.303,
    3.182,
    2.776,
    2.571,
)  # 97.5th percentile, by freedom


def with_interval(shares: list[float]) -> str:
    """Their mean and half of its 95% interval, of which one alone says nothing."""
    mean = statistics.fmean(shares)
    if len(shares) < 2:
        return f"{mean:.1%}"
    spread = statistics.stdev(shares) / math.sqrt(len(shares))
    return f"{mean:.1%} +- {STUDENT_T[min(len(shares) - 1, 5)] * spread:.1%}"


def reached(curve: list[list[float]], share: float) -> list[float] | None:
    """The first judgement of which so many are right."""
    return next((one for one in curve if one[4] >= share), None)


def show(path: Path) -> None:
    found = defaultdict(list)
    for line in path.read_text().splitlines():
        one = json.loads(line)
        kind = tuple(one[name] for name in Run.__dataclass_fields__ if name != "seed")
        found[kind].append(one)
    print(
        "| network | workers | way | density | momentum | warm-up | right | 90% after | sent |"
    )
    print("| --- | --- | --- | --- | --- | --- | --- | --- | --- |")
    for (network, workers, way, *settings), runs in found.items():
        dense = found.get((network, workers, "torch-ddp", 1.0, "plain", 0))
        row = [network, workers, f"`{way}`", *settings]
        row.append(with_interval([one["curve"][-1][4] for one in runs]))
        after = []
        if dense:
            goal = 0.9 * statistics.fmean(one["curve"][-1][4] for one in dense)
            after = [reached(one["curve"], goal) for one in runs]
        known = [one for one in after if one]
        missed = f", {len(after) - len(known)} never" if len(known) < len(after) else ""
        median = f"{statistics.median(one[0] for one in known):.0f}" if known else ""
        row.append((median + missed).removeprefix(", "))
        sent = [one[5] for run in runs for one in run["curve"] if one[5] is not None]
        all_bytes = 4 * runs[0]["parameters"]
        row.append(f"{statistics.fmean(sent) / all_bytes:.2%}" if sent else "")
        print("| " + " | ".join(map(str, row)) + " |")


def parse(arguments: list[str]) -> argparse.Namespace:
    about, _, rest = __doc__.partition("\n\n")
    parser = argparse.ArgumentParser(
        description=about,
        epilog=rest,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    every = [*HOOKS, *algorithms()]

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
    parser.add_argument("--workers", type=numbers(int), default=[4])
    parser.add_argument("--densities", type=numbers(float), default=[0.1, 0.01, 0.001])
    parser.add_argument(
        "--momentum", type=names(["plain", "corrected"]), default=["plain"]
    )
    parser.add_argument("--warm-up", type=numbers(int), default=[0], help="iterations")
    parser.add_argument(
        "--cluster", default="box-4x1gbit", help="that plans are made for"
    )
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--out", type=Path, default=Path("convergence.jsonl"))
    parser.add_argument(
        "--show", type=Path, metavar="FILE", help="of runs; runs nothing"
    )
    return parser.parse_args(arguments)


def main() -> None:
    asked = parse(sys.argv[1:])
    if asked.show:
        show(asked.show)
    else:
        run_all(asked)


if __name__ == "__main__":
    main()
