#!/usr/bin/env python3
"""Writes the model files that ship with gradweave: traces/models/*.json.

Exact: the tensors' names, order and sizes, from the architectures' usual PyTorch definitions.

Published: ResNet-50's compute time (forward and backward) of 0.18 s on an Nvidia P102-100 with 16
images per worker, in the OMGS-SGD paper's section 1. Batch sizes are from its Table IV.

Estimated: everything else, from arithmetic counted in multiply-adds.

- A weight of a convolution, linear layer or LSTM takes m forward; backward m for its own gradient
  and m for its input's, which a network's first layer does not need. An LSTM and the decoder after
  it repeat this in every time step.
- Element-wise, per element of the layer's output: a bias takes 1 forward (add), 1 backward (sum);
  a batch norm's weight 3 forward (mean, variance, scaling) and 3 backward (a sum, and two for the
  input's gradient), its bias 1 and 1; an embedding 1 (look up) and 1 (scatter-add).
- Layers without parameters (ReLU, pooling, sums, an LSTM's gates, softmax) are not counted.
- Compute time is this arithmetic over the rate at which ResNet-50 does its own in 0.18 s.
- A third of it is forward, two thirds are backward; the backward time is shared out among the
  tensors in proportion to their backward arithmetic.

This flatters element-wise work, which memory bounds on a GPU: the real gaps before the gradients
of batch norms and biases are longer than these.
"""

import argparse
import json
import math
import os
import sys
from pathlib import Path
from typing import NamedTuple

RESNET50_COMPUTE_S = 0.18
FORWARD_SHARE = 1 / 3


class Tensor(NamedTuple):
    name: str
    shape: tuple
    elements: int
    forward: int    # multiply-adds per sample
    backward: int


class Image(NamedTuple):
    channels: int
    height: int
    width: int

    def size(self):
        return self.channels * self.height * self.width


class Conv(NamedTuple):
    channels: int   # of the output
    height: int     # of the kernel
    width: int
    stride: int
    padded: bool    # by half a kernel on each side


# ---- Recording the layers of a network ---------------------------------------------------------

class Network:
    """Collects tensors in forward order, with the arithmetic of each for one sample."""

    def __init__(self):
        self.tensors = []
        self.products = 0   # forward multiply-adds of convolutions and linear layers alone

    def add_product_weight(self, name, shape, uses):
        """A weight each of whose elements enters `uses` multiply-adds in the forward pass."""
        is_first_layer = not self.tensors
        elements = math.prod(shape)
        forward = elements * uses
        self.products += forward
        self.tensors.append(Tensor(name, shape, elements, forward,
                                   forward * (1 if is_first_layer else 2)))

    def add_element_wise(self, name, shape, work):
        """A tensor that takes `work` multiply-adds in each direction."""
        self.tensors.append(Tensor(name, shape, math.prod(shape), work, work))

    def add_conv(self, name, image, conv, bias=False):
        def output_length(length, kernel):
            padding = 2 * (kernel // 2) if conv.padded else 0
            return (length + padding - kernel) // conv.stride + 1

        output = Image(conv.channels, output_length(image.height, conv.height),
                       output_length(image.width, conv.width))
        shape = (conv.channels, image.channels, conv.height, conv.width)
        self.add_product_weight(f"{name}.weight", shape, output.height * output.width)
        if bias:
            self.add_element_wise(f"{name}.bias", (output.channels,), output.size())
        return output

    def add_batch_norm(self, name, image):
        self.add_element_wise(f"{name}.weight", (image.channels,), 3 * image.size())
        self.add_element_wise(f"{name}.bias", (image.channels,), image.size())

    def add_linear(self, name, inputs, outputs, steps=1):
        self.add_product_weight(f"{name}.weight", (outputs, inputs), steps)
        self.add_element_wise(f"{name}.bias", (outputs,), outputs * steps)


def same(channels, height, width=None, stride=1):
    """A convolution padded such that only the stride makes the image smaller."""
    return Conv(channels, height, width or height, stride, True)


def valid(channels, height, width=None, stride=1):
    """A convolution without padding."""
    return Conv(channels, height, width or height, stride, False)


# ---- ResNet-50 ---------------------------------------------------------------------------------

def build_resnet50():
    network = Network()
    image = network.add_conv("conv1", Image(3, 224, 224), same(64, 7, stride=2))
    network.add_batch_norm("bn1", image)
    image = Image(64, 56, 56)   # after the pooling
    for stage, (blocks, width) in enumerate([(3, 64), (4, 128), (6, 256), (3, 512)], start=1):
        for block in range(blocks):
            stride = 2 if block == 0 and stage > 1 else 1
            image = add_bottleneck(network, f"layer{stage}.{block}", image, width, stride,
                                   downsample=block == 0)
    network.add_linear("fc", image.channels, 1000)
    return network


def add_bottleneck(network, name, image, width, stride, downsample):
    """torchvision's block: the 3x3 convolution has the stride; the shortcut comes after bn3."""
    output = image
    convs = [same(width, 1), same(width, 3, stride=stride), same(4 * width, 1)]
    for index, conv in enumerate(convs, start=1):
        output = network.add_conv(f"{name}.conv{index}", output, conv)
        network.add_batch_norm(f"{name}.bn{index}", output)
    if downsample:
        name += ".downsample"
        shortcut = network.add_conv(f"{name}.0", image, same(4 * width, 1, stride=stride))
        network.add_batch_norm(f"{name}.1", shortcut)
    return output


# ---- VGG-16 for CIFAR-10 -----------------------------------------------------------------------

def build_vgg16_cifar10():
    network = Network()
    image = Image(3, 32, 32)
    index = 0   # in the sequence convolution, batch norm, ReLU, ..., pooling
    for convs, channels in [(2, 64), (2, 128), (3, 256), (3, 512), (3, 512)]:
        for _ in range(convs):
            image = network.add_conv(f"features.{index}", image, same(channels, 3), bias=True)
            network.add_batch_norm(f"features.{index + 1}", image)
            index += 3
        image = Image(channels, image.height // 2, image.width // 2)
        index += 1
    network.add_linear("classifier", image.size(), 10)
    return network


# ---- Inception-v4 ------------------------------------------------------------------------------

class Step(NamedTuple):
    """One convolution of an Inception block; `after` names its input, None is the block's own."""
    name: str
    after: str
    conv: Conv


def chain(branch, *convs, first=0):
    """A branch of numbered convolutions; number 0 is a pooling where `first` is 1."""
    names = [f"{branch}.{number}" for number in range(first, first + len(convs))]
    return [Step(*step) for step in zip(names, [None] + names, convs)]


INCEPTION_STEM = [
    *chain("branch0", same(64, 1), valid(96, 3)),
    *chain("branch1", same(64, 1), same(64, 1, 7), same(64, 7, 1), valid(96, 3)),
]
INCEPTION_A = [
    Step("branch0", None, same(96, 1)),
    *chain("branch1", same(64, 1), same(96, 3)),
    *chain("branch2", same(64, 1), same(96, 3), same(96, 3)),
    *chain("branch3", same(96, 1), first=1),
]
REDUCTION_A = [
    Step("branch0", None, valid(384, 3, stride=2)),
    *chain("branch1", same(192, 1), same(224, 3), valid(256, 3, stride=2)),
]
INCEPTION_B = [
    Step("branch0", None, same(384, 1)),
    *chain("branch1", same(192, 1), same(224, 1, 7), same(256, 7, 1)),
    *chain("branch2", same(192, 1), same(192, 7, 1), same(224, 1, 7), same(224, 7, 1),
           same(256, 1, 7)),
    *chain("branch3", same(128, 1), first=1),
]
REDUCTION_B = [
    *chain("branch0", same(192, 1), valid(192, 3, stride=2)),
    *chain("branch1", same(256, 1), same(256, 1, 7), same(320, 7, 1), valid(320, 3, stride=2)),
]
INCEPTION_C = [
    Step("branch0", None, same(256, 1)),
    Step("branch1_0", None, same(384, 1)),
    Step("branch1_1a", "branch1_0", same(256, 1, 3)),
    Step("branch1_1b", "branch1_0", same(256, 3, 1)),
    Step("branch2_0", None, same(384, 1)),
    Step("branch2_1", "branch2_0", same(448, 3, 1)),
    Step("branch2_2", "branch2_1", same(512, 1, 3)),
    Step("branch2_3a", "branch2_2", same(256, 1, 3)),
    Step("branch2_3b", "branch2_2", same(256, 3, 1)),
    *chain("branch3", same(256, 1), first=1),
]


def build_inception_v4():
    network = Network()
    image = Image(3, 299, 299)
    stem = [valid(32, 3, stride=2), valid(32, 3), same(64, 3)]
    for index, conv in enumerate(stem):
        image = add_conv_with_batch_norm(network, f"features.{index}", image, conv)
    blocks = [[Step("conv", None, valid(96, 3, stride=2))], INCEPTION_STEM,
              [Step("conv", None, valid(192, 3, stride=2))],
              *[INCEPTION_A] * 4, REDUCTION_A, *[INCEPTION_B] * 7, REDUCTION_B, *[INCEPTION_C] * 3]
    for index, steps in enumerate(blocks, start=len(stem)):
        image = add_inception_block(network, f"features.{index}", image, steps)
    network.add_linear("last_linear", image.channels, 1000)
    return network


def add_conv_with_batch_norm(network, name, image, conv):
    output = network.add_conv(f"{name}.conv", image, conv)
    network.add_batch_norm(f"{name}.bn", output)
    return output


def add_inception_block(network, name, image, steps):
    """Adds a block's branches; their ends are concatenated. A block that reduces the image by a
    stride has one more branch, which pools the block's input and has no tensors."""
    images = {None: image}
    for step in steps:
        images[step.name] = add_conv_with_batch_norm(network, f"{name}.{step.name}",
                                                     images[step.after], step.conv)
    inner = {step.after for step in steps}
    ends = [images[step.name] for step in steps if step.name not in inner]
    assert len({(end.height, end.width) for end in ends}) == 1, name
    channels = sum(end.channels for end in ends)
    if any(step.conv.stride > 1 for step in steps):
        channels += image.channels
    return Image(channels, ends[0].height, ends[0].width)


# ---- LSTM for the Penn Treebank ----------------------------------------------------------------

def build_lstm_ptb(words=10000, width=1500, layers=2, steps=35):
    network = Network()
    network.add_element_wise("encoder.weight", (words, width), width * steps)
    gates = 4 * width
    for layer in range(layers):
        for role in ("ih", "hh"):
            network.add_product_weight(f"rnn.weight_{role}_l{layer}", (gates, width), steps)
        for role in ("ih", "hh"):
            network.add_element_wise(f"rnn.bias_{role}_l{layer}", (gates,), gates * steps)
    network.add_linear("decoder", width, words, steps)
    return network


# ---- From arithmetic to times ------------------------------------------------------------------

class Model(NamedTuple):
    name: str
    build: object       # makes the Network
    batch_size: int     # per worker
    tensor_count: int   # expected, as is the next
    element_count: int
    title: str


RESNET50 = Model("resnet50", build_resnet50, 16, 161, 25557032, "ResNet-50 (ImageNet, 224x224)")
MODELS = [
    RESNET50,
    Model("vgg16-cifar10", build_vgg16_cifar10, 128, 54, 14728266,
          "VGG-16 with batch norm (CIFAR-10, 32x32)"),
    Model("inception-v4", build_inception_v4, 32, 449, 42679816,
          "Inception-v4 (ImageNet, 299x299)"),
    Model("lstm-ptb", build_lstm_ptb, 100, 11, 66034000,
          "2-layer LSTM (Penn Treebank, 35 time steps)"),
]


def count_arithmetic(network, batch_size):
    """Multiply-adds of one iteration, forward and backward."""
    return batch_size * sum(tensor.forward + tensor.backward for tensor in network.tensors)


def explain_source(model, rate):
    published = (f"the {RESNET50_COMPUTE_S} s that the OMGS-SGD paper gives for ResNet-50 at batch "
                 f"{RESNET50.batch_size} on an Nvidia P102-100")
    if model is RESNET50:
        origin = f"Compute time published: {published}. Estimated:"
    else:
        origin = ("Estimated: compute time (none is published for this model on this GPU), as its "
                  f"multiply-adds at batch {model.batch_size} over the rate of {rate:.3g} per s "
                  f"that follows from {published};")
    return (f"{model.title}. Tensors exact. {origin} forward : backward taken as 1 : 2, and the "
            "backward time shared among the tensors in proportion to their backward multiply-adds.")


def round_time(seconds):
    return float(f"{seconds:.5e}")


def describe_model(model, network, rate):
    """The model file's content."""
    tensors = network.tensors
    assert len(tensors) == model.tensor_count, model.name
    assert sum(tensor.elements for tensor in tensors) == model.element_count, model.name

    compute_s = count_arithmetic(network, model.batch_size) / rate
    backward_s = compute_s * (1 - FORWARD_SHARE)
    backward_work = sum(tensor.backward for tensor in tensors)
    forward_s = round_time(compute_s * FORWARD_SHARE)
    times = [round_time(backward_s * tensor.backward / backward_work) for tensor in tensors]
    assert all(time > 0 for time in times), model.name
    assert math.isclose(forward_s + math.fsum(times), compute_s, rel_tol=1e-5), model.name
    return {
        "schema": "gradweave/model@1",
        "name": model.name,
        "batch_size": model.batch_size,
        "bytes_per_element": 4,
        "forward_s": forward_s,
        "update_s": 0,
        "source": {"kind": "estimated", "device": "NVIDIA P102-100",
                   "note": explain_source(model, rate)},
        "tensors": [{"name": tensor.name, "elements": tensor.elements, "shape": list(tensor.shape),
                     "backward_s": time}
                    for tensor, time in zip(tensors, times)],
    }


# ---- Files -------------------------------------------------------------------------------------

def format_document(document):
    """JSON with one line for each field, and one for each tensor."""
    fields = [f" {json.dumps(key)}: {json.dumps(value)},\n"
              for key, value in document.items() if key != "tensors"]
    tensors = ",\n".join(f"  {json.dumps(tensor)}" for tensor in document["tensors"])
    return "{\n" + "".join(fields) + f' "tensors": [\n{tensors}\n ]\n}}\n'


def write_whole_file(path, text):
    """Writes beside the target and renames, so that no half-written target is ever left."""
    draft = path.with_name(path.name + ".tmp")
    draft.write_bytes(text.encode("utf-8"))
    os.replace(draft, path)


def main():
    parser = argparse.ArgumentParser(description="Write the model files that ship with gradweave.")
    parser.add_argument("--out", metavar="DIR", type=Path,
                        default=Path(__file__).resolve().parent / "models",
                        help="folder for the files (default: models, next to this script)")
    out = parser.parse_args().out
    rate = count_arithmetic(build_resnet50(), RESNET50.batch_size) / RESNET50_COMPUTE_S
    try:
        out.mkdir(parents=True, exist_ok=True)
        for model in MODELS:
            network = model.build()
            document = describe_model(model, network, rate)
            write_whole_file(out / f"{model.name}.json", format_document(document))
            compute_s = count_arithmetic(network, model.batch_size) / rate
            print(f"{model.name}: {model.tensor_count} tensors, {model.element_count:,} elements, "
                  f"{network.products / 1e9:.3f} G multiply-adds forward per sample, "
                  f"{compute_s:.3f} s at batch {model.batch_size}")
    except OSError as error:
        print(f"{parser.prog}: cannot write the models: {error}", file=sys.stderr)
        return 3
    return 0


if __name__ == "__main__":
    sys.exit(main())
