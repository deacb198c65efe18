"""Small networks that learn from what packages bring: scikit-learn's handwritten digits, and the
text that Debian's bible-kjv prints."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import torch
from torch import nn

from gradweave.torch import examples

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


MOMENTUM = 0.9
WARM_UP, CLIP, DECAY = 20, 1.0, 0.1  # iterations, largest norm and weight decay with AdamW


@dataclass(frozen=True)
class Network:
    """`batch` is of all workers together, so that any number of them does the same."""

    module: Callable[[], nn.Module]
    data: Callable[[], Data]
    batch: int
    rate: float  # of learning
    iterations: int
    judged_every: int
    adamw: bool = False  # in place of SGD with momentum

    def described(self) -> str:
        """Its optimizer, for files of trainings."""
        if not self.adamw:
            return f"SGD, momentum {MOMENTUM}, learning rate {self.rate:g}"
        return (
            f"AdamW, betas 0.9 and 0.95, weight decay {DECAY}, learning rate {self.rate:g} after "
            f"{WARM_UP} iterations of linear warm-up, gradients clipped to norm {CLIP:g}"
        )

    def optimizer(self, module: nn.Module, momentum: float = MOMENTUM) -> torch.optim.Optimizer:
        if self.adamw:
            return torch.optim.AdamW(
                module.parameters(), lr=self.rate, betas=(0.9, 0.95), weight_decay=DECAY
            )
        return torch.optim.SGD(module.parameters(), lr=self.rate, momentum=momentum)

    def step(self, module: nn.Module, optimizer: torch.optim.Optimizer, iteration: int) -> None:
        """Updates the parameters by their averaged gradients; iterations count from 1."""
        if self.adamw:
            for group in optimizer.param_groups:
                group["lr"] = self.rate * min(1, iteration / WARM_UP)
            nn.utils.clip_grad_norm_(module.parameters(), CLIP)
        optimizer.step()
        optimizer.zero_grad()


NETWORKS = {
    "fnn3": Network(fnn3, digits, 64, 0.1, 200, 20),
    "lenet5": Network(lenet5, digits, 64, 0.05, 200, 20),
    "resnet20": Network(resnet20, digits, 64, 0.05, 120, 20),
    "lstm": Network(lstm, lambda: text(32), 64, 0.5, 200, 20),
    "gpt": Network(gpt, lambda: text(32), 64, 0.1, 200, 20),
    "lstm_adamw": Network(lstm, lambda: text(32), 64, 0.01, 200, 20, adamw=True),
    "gpt_adamw": Network(gpt, lambda: text(32), 64, 0.003, 200, 20, adamw=True),
}
