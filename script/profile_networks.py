#!/usr/bin/env python3
"""Backward times of real networks, tensor by tensor, measured with PyTorch: models for gradweave.

Networks have random weights and random inputs; their times do not depend on either. A hook on each
parameter marks when its gradient is ready: on a GPU by an event on its stream, on a CPU by the clock.
A tensor's time is from the gradient before it being ready to its own being ready, median over
iterations. Marks take a little time themselves; all times are scaled so that their sum is the
backward pass's without marks, and the file says by how much.
"""
import argparse
import datetime
import json
import os
import statistics
import sys
import time

try:
    import torch
except ImportError:  # --help works without it
    torch = None


# ---- networks ------------------------------------------------------------------------------------

def vision(name, classes=1000):
    import torchvision

    network = getattr(torchvision.models, name)(weights=None)

    def inputs(batch, device):
        return torch.randn(batch, 3, 224, 224, device=device), torch.randint(classes, (batch,), device=device)

    def loss(network, images, labels):
        return torch.nn.functional.cross_entropy(network(images), labels)

    return network, inputs, loss


def language(network, words, length):
    def inputs(batch, device):
        tokens = torch.randint(words, (batch, length), device=device)
        return tokens, tokens

    def loss(network, tokens, labels):
        return network(input_ids=tokens, labels=labels).loss

    return network, inputs, loss


def bert_large():
    import transformers

    config = transformers.BertConfig(hidden_size=1024, num_hidden_layers=24, num_attention_heads=16,
                                     intermediate_size=4096)
    return language(transformers.BertForMaskedLM(config), config.vocab_size, 512)


def gpt2():
    import transformers

    config = transformers.GPT2Config()
    return language(transformers.GPT2LMHeadModel(config), config.vocab_size, 1024)


# name: (title, samples a worker, what makes it)
NETWORKS = {
    "resnet50": ("ResNet-50, 224x224 images", 64, lambda: vision("resnet50")),
    "vgg16": ("VGG-16, 224x224 images", 64, lambda: vision("vgg16")),
    "bert-large": ("BERT-large, masked language model, 512 tokens", 8, bert_large),
    "gpt2": ("GPT-2 (124 million), 1,024 tokens", 8, gpt2),
}


# ---- marks in time -------------------------------------------------------------------------------

class CpuMark:
    def __init__(self):
        self.at_s = time.perf_counter()

    def until_s(self, other):
        return other.at_s - self.at_s


class GpuMark:
    def __init__(self):
        self.event = torch.cuda.Event(enable_timing=True)
        self.event.record()

    def until_s(self, other):
        return 1e-3 * self.event.elapsed_time(other.event)


def finish(device):
    if device.type == "cuda":
        torch.cuda.synchronize()


# ---- one network ---------------------------------------------------------------------------------

class Training:
    def __init__(self, name, batch, device, precision):
        _, self.batch, make = NETWORKS[name]
        self.batch = batch or self.batch
        self.device = device
        self.mark = GpuMark if device.type == "cuda" else CpuMark
        self.network, inputs, self.loss = make()
        self.network.to(device).train()
        self.inputs = inputs(self.batch, device)
        self.autocast = torch.autocast(device.type, torch.bfloat16, enabled=precision == "bf16")
        self.optimizer = torch.optim.SGD(self.network.parameters(), lr=1e-6, momentum=0.9)
        self.ready = []  # (name, mark) of this iteration
        self.hooks = []

    def watch(self):
        for name, parameter in self.network.named_parameters():
            if parameter.requires_grad:
                self.hooks.append(parameter.register_post_accumulate_grad_hook(
                    lambda _, name=name: self.ready.append((name, self.mark()))))

    def unwatch(self):
        for hook in self.hooks:
            hook.remove()
        self.hooks = []

    def iterate(self):
        """Seconds of forward, backward and update, and of each tensor that is watched, as they became ready."""
        self.ready = []
        self.optimizer.zero_grad(set_to_none=True)
        begun = self.mark()
        with self.autocast:
            loss = self.loss(self.network, *self.inputs)
        forwarded = self.mark()
        loss.backward()
        backed = self.mark()
        self.optimizer.step()
        updated = self.mark()
        finish(self.device)
        tensors, last = [], forwarded
        for name, mark in self.ready:
            tensors.append((name, last.until_s(mark)))
            last = mark
        return begun.until_s(forwarded), forwarded.until_s(backed), backed.until_s(updated), tensors


def repeat(training, warm_ups, iterations):
    for _ in range(warm_ups):
        training.iterate()
    return [training.iterate() for _ in range(iterations)]


def median(values):
    return statistics.median(values)


def spread(values):
    """From the 5th to the 95th percentile, relative to the median."""
    ordered = sorted(values)
    low, high = ordered[int(0.05 * (len(ordered) - 1))], ordered[-1 - int(0.05 * (len(ordered) - 1))]
    return (high - low) / median(values)


def profile(name, batch, device, precision, warm_ups, iterations):
    training = Training(name, batch, device, precision)
    plain = repeat(training, warm_ups, iterations)
    training.watch()
    marked = repeat(training, 3, iterations)
    training.unwatch()
    order = [tensor for tensor, _ in marked[0][3]]
    if any([tensor for tensor, _ in one[3]] != order for one in marked):
        raise RuntimeError("gradients do not become ready in one order")
    backward_s = median([one[1] for one in plain])
    times_s = {tensor: median([one[3][i][1] for one in marked]) for i, tensor in enumerate(order)}
    scale = backward_s / sum(times_s.values())
    sizes = {tensor: parameter.numel() for tensor, parameter in training.network.named_parameters()}
    return {
        "schema": "gradweave/model@1",
        "name": name,
        "batch_size": training.batch,
        "bytes_per_element": 4,
        "forward_s": median([one[0] for one in plain]),
        "update_s": median([one[2] for one in plain]),
        "source": source(name, device, precision, iterations, plain, marked, scale),
        "tensors": [{"name": tensor, "elements": sizes[tensor], "backward_s": scale * max(times_s[tensor], 0)}
                    for tensor in reversed(order)],
    }


def source(name, device, precision, iterations, plain, marked, scale):
    gpu = device.type == "cuda"
    return {
        "kind": "measured",
        "note": f"{NETWORKS[name][0]}; random weights and inputs; training with SGD with momentum. Tensors stand in "
                "the reverse of the order in which their gradients become ready; times are medians, from one "
                "gradient being ready to the next, scaled so that they add up to the backward pass without marks.",
        "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "device": torch.cuda.get_device_name(device) if gpu else "CPU",
        "precision": precision,
        "iterations": iterations,
        "backward_s": median([one[1] for one in plain]),
        "backward_spread": spread([one[1] for one in plain]),
        "backward_with_marks_s": median([one[1] for one in marked]),
        "scale": scale,
        "pytorch": torch.__version__,
        **({"cuda": torch.version.cuda, "cudnn": torch.backends.cudnn.version()} if gpu else {}),
    }


# ---- the program ---------------------------------------------------------------------------------

def write(document, path):
    with open(path + ".partial", "w") as file:
        tensors = document.pop("tensors")
        head = json.dumps(document, indent=1)[:-2]
        body = ",\n".join("  " + json.dumps(tensor) for tensor in tensors)
        file.write(f'{head},\n "tensors": [\n{body}\n ]\n}}\n')
    os.replace(path + ".partial", path)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("networks", nargs="*", help=f"some of {', '.join(NETWORKS)} (default: all)")
    parser.add_argument("--out", default=".", help="folder for NETWORK.json (default: this one)")
    parser.add_argument("--device", default="cuda", choices=["cuda", "cpu"])
    parser.add_argument("--precision", default="tf32", choices=["fp32", "tf32", "bf16"],
                        help="of products; gradients are fp32 always (default: tf32)")
    parser.add_argument("--batch", type=int, help="samples a worker (default: the network's)")
    parser.add_argument("--iterations", type=int, default=30)
    parser.add_argument("--warm-ups", type=int, default=10)
    options = parser.parse_args()
    unknown = [name for name in options.networks if name not in NETWORKS]
    if unknown:
        parser.error(f"expected some of {', '.join(NETWORKS)}, got {', '.join(unknown)}")
    if torch is None:
        print("profile_networks: expected PyTorch: a Python with the package torch", file=sys.stderr)
        return 2
    if options.device == "cuda" and not torch.cuda.is_available():
        print("profile_networks: expected a GPU that PyTorch can use", file=sys.stderr)
        return 2
    torch.set_float32_matmul_precision("highest" if options.precision == "fp32" else "high")
    torch.backends.cudnn.allow_tf32 = options.precision != "fp32"
    torch.backends.cudnn.benchmark = True
    torch.manual_seed(1)
    device = torch.device(options.device)
    os.makedirs(options.out, exist_ok=True)
    failed = 0
    for name in options.networks or NETWORKS:
        try:
            document = profile(name, options.batch, device, options.precision, options.warm_ups, options.iterations)
        except ImportError as error:
            print(f"{name}: skipped: {error}", file=sys.stderr)
            continue
        except RuntimeError as error:
            print(f"{name}: failed: {error}", file=sys.stderr)
            failed += 1
            continue
        finally:
            if device.type == "cuda":
                torch.cuda.empty_cache()
        path = os.path.join(options.out, name + ".json")
        tensors, forward_s, measured = len(document["tensors"]), document["forward_s"], document["source"]
        write(document, path)
        print(f"{name}: {tensors} tensors, forward {1e3 * forward_s:.2f} ms, backward "
              f"{1e3 * measured['backward_s']:.2f} ms ({1e3 * measured['backward_with_marks_s']:.2f} ms with marks): "
              f"{path}", flush=True)
    return 3 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
