"""Jobs to try things on: `gradweave/torch/examples.py:vgg`, `:resnet`, `:lstm`, `:transformer`.

Each function returns what `python -m gradweave.torch` takes: the module, its optimizer, and a step
that computes the loss of this rank's next batch. Texts are real (the manual that Python brings);
pictures are drawn: a pattern for each of ten classes, in noise.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
import torch.distributed as dist
from torch import nn

Job = tuple[nn.Module, torch.optim.Optimizer, Callable[[nn.Module], torch.Tensor]]


def _generator() -> torch.Generator:
    """Draws each rank's own batches."""
    rank = dist.get_rank() if dist.is_initialized() else 0
    return torch.Generator().manual_seed(1000 + rank)


# ---- pictures ------------------------------------------------------------------------------------


def _pictures(module: nn.Module, batch: int) -> Job:
    patterns = torch.randn(10, 3, 32, 32, generator=torch.Generator().manual_seed(0))
    generator = _generator()

    def step(model: nn.Module) -> torch.Tensor:
        classes = torch.randint(10, (batch,), generator=generator)
        noise = torch.randn(batch, 3, 32, 32, generator=generator)
        return nn.functional.cross_entropy(model(patterns[classes] + noise), classes)

    return module, torch.optim.SGD(module.parameters(), lr=0.01, momentum=0.9), step


def vgg() -> Job:
    """VGG-11 with a narrow classifier: 9.8 million parameters in 36 tensors."""
    torch.manual_seed(0)
    layers: list[nn.Module] = []
    channels = 3
    for width in (64, 0, 128, 0, 256, 256, 0, 512, 512, 0, 512, 512, 0):
        if width == 0:
            layers.append(nn.MaxPool2d(2))
            continue
        layers += [nn.Conv2d(channels, width, 3, padding=1), nn.BatchNorm2d(width), nn.ReLU()]
        channels = width
    layers += [nn.Flatten(), nn.Linear(512, 1024), nn.ReLU(), nn.Linear(1024, 10)]
    return _pictures(nn.Sequential(*layers), batch=8)


class Block(nn.Module):
    def __init__(self, channels: int, width: int, stride: int) -> None:
        super().__init__()
        self.convolutions = nn.Sequential(
            nn.Conv2d(channels, width, 3, stride, 1, bias=False),
            nn.BatchNorm2d(width),
            nn.ReLU(),
            nn.Conv2d(width, width, 3, 1, 1, bias=False),
            nn.BatchNorm2d(width),
        )
        self.shortcut = nn.Sequential()
        if channels != width:
            self.shortcut = nn.Sequential(
                nn.Conv2d(channels, width, 1, stride, bias=False), nn.BatchNorm2d(width)
            )

    def forward(self, values: torch.Tensor) -> torch.Tensor:
        return torch.relu(self.convolutions(values) + self.shortcut(values))


def resnet() -> Job:
    """ResNet-18 for pictures of 32 x 32: 11.2 million parameters in 62 tensors."""
    torch.manual_seed(0)
    layers: list[nn.Module] = [nn.Conv2d(3, 64, 3, 1, 1, bias=False), nn.BatchNorm2d(64), nn.ReLU()]
    channels = 64
    for width, stride in ((64, 1), (128, 2), (256, 2), (512, 2)):
        layers += [Block(channels, width, stride), Block(width, width, 1)]
        channels = width
    layers += [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, 10)]
    return _pictures(nn.Sequential(*layers), batch=4)


# ---- texts ---------------------------------------------------------------------------------------


def _text() -> torch.Tensor:
    """The topics of Python's manual: some 700,000 bytes."""
    from pydoc_data.topics import topics

    return torch.tensor(list("\n".join(topics.values()).encode()), dtype=torch.long) % 128


def _letters(module: nn.Module, batch: int, length: int, lr: float) -> Job:
    text = _text()
    generator = _generator()

    def step(model: nn.Module) -> torch.Tensor:
        starts = torch.randint(len(text) - length - 1, (batch,), generator=generator)
        pieces = torch.stack([text[start : start + length + 1] for start in starts.tolist()])
        scores = model(pieces[:, :-1])
        return nn.functional.cross_entropy(scores.flatten(0, 1), pieces[:, 1:].flatten())

    return module, torch.optim.SGD(module.parameters(), lr=lr, momentum=0.9), step


class Lstm(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(128, width)
        self.lstm = nn.LSTM(width, width, num_layers=2, batch_first=True)
        self.scores = nn.Linear(width, 128)

    def forward(self, letters: torch.Tensor) -> torch.Tensor:
        return self.scores(self.lstm(self.embedding(letters))[0])


def lstm() -> Job:
    """Two layers of 650 that foretell letters: 6.9 million parameters in 11 tensors."""
    torch.manual_seed(0)
    return _letters(Lstm(650), batch=8, length=24, lr=0.1)


class Transformer(nn.Module):
    def __init__(self, width: int, layers: int, length: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(128, width)
        self.places = nn.Parameter(0.02 * torch.randn(length, width))
        layer = nn.TransformerEncoderLayer(
            width, width // 64, 4 * width, dropout=0.0, batch_first=True, norm_first=True
        )
        self.layers = nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)
        self.scores = nn.Linear(width, 128)
        self.register_buffer("mask", nn.Transformer.generate_square_subsequent_mask(length))

    def forward(self, letters: torch.Tensor) -> torch.Tensor:
        values = self.embedding(letters) + self.places
        return self.scores(self.layers(values, mask=self.mask, is_causal=True))


def transformer() -> Job:
    """Four layers of 384 that foretell letters: 7.2 million parameters in 52 tensors."""
    torch.manual_seed(0)
    return _letters(Transformer(384, 4, 64), batch=4, length=64, lr=0.01)
