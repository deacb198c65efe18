#!/usr/bin/env python3
"""Predicts published throughputs of dense training from what their sources say of the hardware.

Each row of traces/papers/throughputs.json has a network, how fast one GPU trains it, and the links.
The model is made of the network's shapes and of that pace (gradweave model make --backward), the
cluster of the links' published rates (gradweave cluster make); the prediction of all GPUs together
is held to what was published. Prints a table, and how many are within 10% and within the interval.
"""
import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FORWARD_SHARE = 1 / 3


def ask(program, *arguments):
    answer = subprocess.run([program, *map(str, arguments)], capture_output=True, text=True, check=False)
    if answer.returncode != 0:
        sys.exit(f"published_throughputs: {' '.join(map(str, arguments))}: {answer.stderr.strip()}")
    return json.loads(answer.stdout)


def predict(program, row, folder):
    """Samples a second of all GPUs: as predicted, and at the slow and the fast end of the interval."""
    alone_s = row["batch_size"] / row["one_per_s"]
    model, cluster = folder / "model.json", folder / "cluster.json"
    ask(program, "model", "make", row["network"], "--batch", row["batch_size"],
        "--backward", f"{(1 - FORWARD_SHARE) * alone_s:.9g}s", "--forward", f"{FORWARD_SHARE * alone_s:.9g}s",
        "--out", model, "--force", "--json")
    ask(program, "cluster", "make", "--nodes", row["nodes"], "--gpus-per-node", row["gpus_per_node"],
        "--network", row["link"], "--intra", row["within"], "--out", cluster, "--force", "--json")
    result = ask(program, "simulate", model, "--cluster", cluster, "--algo", "ddp", "--policy", row["policy"],
                 "--json")
    samples = row["batch_size"] * row["nodes"] * row["gpus_per_node"]
    return [samples / result[key] for key in ("iteration_s", "iteration_high_s", "iteration_low_s")]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--gradweave", default=ROOT / "build/release/cli/gradweave", metavar="PROGRAM")
    parser.add_argument("--within", type=float, default=0, metavar="SHARE",
                        help="exit status 1 unless so many are in their intervals")
    options = parser.parse_args()
    rows = json.loads((ROOT / "traces/papers/throughputs.json").read_text())["rows"]
    near = inside = 0
    errors = []
    print("| network | nodes x GPUs | link | published | linear | predicted | off | in interval |")
    print("| --- | --- | --- | ---: | ---: | ---: | ---: | --- |")
    with tempfile.TemporaryDirectory() as folder:
        for row in rows:
            middle, slow, fast = predict(options.gradweave, row, Path(folder))
            error = middle / row["all_per_s"] - 1
            is_inside = slow <= row["all_per_s"] <= fast
            near += abs(error) <= 0.1
            inside += is_inside
            errors.append(abs(error))
            linear = row["all_per_s"] / (row["one_per_s"] * row["nodes"] * row["gpus_per_node"])
            print(f"| {row['network']} | {row['nodes']} x {row['gpus_per_node']} | {row['link']}, {row['within']} "
                  f"| {row['all_per_s']:,.0f} | {linear:.0%} | {middle:,.0f} | {error:+.1%} "
                  f"| {'yes' if is_inside else 'no'} |")
    print(f"\nmean error {sum(errors) / len(errors):.1%}, largest {max(errors):.1%}; "
          f"{near} of {len(rows)} within 10%, {inside} in their intervals")
    return inside < options.within * len(rows)


if __name__ == "__main__":
    sys.exit(main())
