#!/usr/bin/env python3
"""What torch.topk takes for the k largest magnitudes on a GPU, beside gradweave's exact top-k.

Prints one JSON document. With --bench FILE (`gradweave bench compressors --device cuda --json`) the
elements and the density are that file's, and "speedup" says how many times faster its topk is.
"""
import argparse
import json
import statistics
import sys

try:
    import torch
except ImportError:  # --help works without it
    torch = None


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--bench", help="what to compare with")
    parser.add_argument("--elements", type=int, default=25557032)
    parser.add_argument("--density", type=float, default=0.001)
    parser.add_argument("--repeats", type=int, default=20)
    options = parser.parse_args()
    if torch is None:
        print("torch_topk: expected PyTorch: a Python with the package torch", file=sys.stderr)
        return 2
    if not torch.cuda.is_available():
        print("torch_topk: expected a GPU that PyTorch can use", file=sys.stderr)
        return 2
    bench = None
    if options.bench:
        with open(options.bench) as file:
            bench = json.load(file)
        options.elements, options.density = bench["elements"], bench["density"]
    k = max(1, int(options.elements * options.density))  # as gradweave rounds it
    torch.manual_seed(1)
    vector = torch.randn(options.elements, device="cuda")
    # Read before each repeat, so that the cache has none of the vector: as gradweave measures.
    cache = getattr(torch.cuda.get_device_properties(0), "L2_cache_size", 64 << 20)
    other = torch.zeros(4 * cache // 4, device="cuda")
    seconds = []
    for i in range(options.repeats + 3):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        other.sum()
        begin.record()
        torch.topk(vector.abs(), k, sorted=False)
        end.record()
        torch.cuda.synchronize()
        if i >= 3:
            seconds.append(1e-3 * begin.elapsed_time(end))
    document = {"elements": options.elements, "k": k, "repeats": options.repeats,
                "median_s": statistics.median(seconds), "least_s": min(seconds), "most_s": max(seconds),
                "pytorch": torch.__version__, "gpu": torch.cuda.get_device_name()}
    ours = [row for row in bench["compressors"] if row["compressor"] == "topk"] if bench else []
    if ours:
        document["topk_s"] = ours[0]["median_s"]
        document["speedup"] = document["median_s"] / ours[0]["median_s"]
    print(json.dumps(document, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
