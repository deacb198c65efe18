"""Jobs that no example and nothing that ships was tuned on: `unseen.py:cnn`, `:mlp`, `:gpt`, `:lstm`.

Each function returns what `python -m gradweave.torch` takes. Batches are drawn anew for each step.
"""

import torch
from torch import nn


def _classify(module, batch, shape, classes):
    def step(model):
        labels = torch.randint(classes, (batch,))
        return nn.functional.cross_entropy(model(torch.randn(batch, *shape)), labels)

    return module, torch.optim.SGD(module.parameters(), lr=0.01, momentum=0.9), step


def _continue_texts(module, batch, length, words):
    def step(model):
        texts = torch.randint(words, (batch, length + 1))
        logits = model(texts[:, :-1])
        return nn.functional.cross_entropy(logits.flatten(0, 1), texts[:, 1:].flatten())

    return module, torch.optim.SGD(module.parameters(), lr=0.01, momentum=0.9), step


def cnn():
    """Four stages of two convolutions, 5.4 million parameters."""
    layers, channels = [], 3
    for width in (48, 96, 192, 448):
        for size in (3, 3):
            layers += [nn.Conv2d(channels, width, size, padding=1), nn.BatchNorm2d(width), nn.ReLU()]
            channels = width
        layers.append(nn.MaxPool2d(2))
    head = [nn.Flatten(), nn.Linear(channels * 4, 1200), nn.ReLU(), nn.Linear(1200, 20)]
    return _classify(nn.Sequential(*layers, *head), 12, (3, 32, 32), 20)


def mlp():
    """Six layers, 6.9 million parameters."""
    widths = (600, 1400, 1400, 1400, 1000, 700, 50)
    layers = []
    for inner, outer in zip(widths, widths[1:]):
        layers += [nn.Linear(inner, outer), nn.GELU()]
    return _classify(nn.Sequential(*layers[:-1]), 96, (600,), 50)


class _Gpt(nn.Module):
    def __init__(self, words=3000, width=288, depth=5, length=48):
        super().__init__()
        self.words, self.places = nn.Embedding(words, width), nn.Embedding(length, width)
        layer = nn.TransformerEncoderLayer(width, 6, 4 * width, 0.0, "gelu", True, norm_first=True)
        self.layers = nn.TransformerEncoder(layer, depth, enable_nested_tensor=False)
        self.head = nn.Linear(width, words)

    def forward(self, texts):
        length = texts.shape[1]
        mask = nn.Transformer.generate_square_subsequent_mask(length)
        inputs = self.words(texts) + self.places(torch.arange(length))
        return self.head(self.layers(inputs, mask, is_causal=True))


def gpt():
    """Five blocks of width 288, 6.7 million parameters."""
    return _continue_texts(_Gpt(), 6, 48, 3000)


class _Lstm(nn.Module):
    def __init__(self, words=4000, width=420):
        super().__init__()
        self.words = nn.Embedding(words, width)
        self.lstm = nn.LSTM(width, width, 2, batch_first=True)
        self.head = nn.Linear(width, words)

    def forward(self, texts):
        return self.head(self.lstm(self.words(texts))[0])


def lstm():
    """Two layers of 420 cells, 6.2 million parameters."""
    return _continue_texts(_Lstm(), 10, 24, 4000)
