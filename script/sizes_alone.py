#!/usr/bin/env python3
"""What is lost where of a network only the sizes of its tensors and its backward pass are known.

Each model that ships is written as a list of sizes, which `gradweave model import` makes a model of
again, with the same passes in all. All pipelines are predicted with both on several clusters. Prints
how far apart their iterations are.
"""
import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CLUSTERS = (  # those that ship, and others as `cluster make` has them
    "p102-1gbe-16", "p102-1gbe-16-table6", "box-4x1gbit",
    "--nodes 8 --network 10gbit --gpu a100",
    "--nodes 16 --network 25gbit-roce --gpu v100",
    "--nodes 4 --gpus-per-node 8 --network hdr --intra nvlink3 --gpu a100",
)


def ask(program, *arguments):
    answer = subprocess.run([program, *map(str, arguments)], capture_output=True, text=True, check=False)
    if answer.returncode != 0:
        sys.exit(f"sizes_alone: {' '.join(map(str, arguments))}: {answer.stderr.strip()}")
    return json.loads(answer.stdout)


def import_sizes(program, model, folder):
    """The model of the same sizes and passes."""
    sizes, path = folder / "sizes.txt", folder / f"{model['name']}.json"
    sizes.write_text("".join(f"{tensor['name'].replace(' ', '_')} {tensor['elements']}\n" for tensor in model["tensors"]))
    backward_s = sum(tensor["backward_s"] for tensor in model["tensors"])
    ask(program, "model", "import", sizes, "--backward", f"{backward_s:.12g}s", "--forward", f"{model['forward_s']:.12g}s",
        "--name", model["name"], "--out", path, "--json")
    imported = json.loads(path.read_text())
    path.write_text(json.dumps(imported | {"update_s": model.get("update_s", 0)}))
    return path


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--gradweave", default=ROOT / "build/release/cli/gradweave", metavar="PROGRAM")
    options = parser.parse_args()
    errors = []
    print("| network | mean | 95th percentile | largest |")
    print("| --- | ---: | ---: | ---: |")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        clusters = []
        for index, cluster in enumerate(CLUSTERS):
            clusters.append(folder / f"cluster{index}.json" if cluster.startswith("--") else cluster)
            if cluster.startswith("--"):
                ask(options.gradweave, "cluster", "make", *cluster.split(), "--out", clusters[-1], "--json")
        for path in sorted((ROOT / "traces/models").glob("*.json")):
            model = json.loads(path.read_text())
            sizes_alone = import_sizes(options.gradweave, model, folder)
            here = []
            for cluster in clusters:
                times = [{result["algorithm"]: result["iteration_s"] for result in
                          ask(options.gradweave, "compare", one, "--cluster", cluster, "--json")["results"]}
                         for one in (path, sizes_alone)]
                here += [abs(times[1][pipeline] / true_s - 1) for pipeline, true_s in times[0].items()]
            errors += here
            print(f"| {model['name']} | {statistics.mean(here):.1%} | {statistics.quantiles(here, n=20)[-1]:.1%} "
                  f"| {max(here):.1%} |")
    print(f"\nmean {statistics.mean(errors):.1%}, 95th percentile {statistics.quantiles(errors, n=20)[-1]:.1%}, "
          f"largest {max(errors):.1%} of {len(errors)} iterations")


if __name__ == "__main__":
    main()
