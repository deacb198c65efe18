#!/usr/bin/env python3
"""Predicts published throughputs of dense training from what their sources say of the hardware.

Each row of traces/papers/throughputs.json has a network, how fast one GPU trains it, and the links.
The model is made of the network's shapes and of that pace (gradweave model make --backward), the
cluster of the links' published rates (gradweave cluster make); the prediction of all GPUs together
is held to what was published. Prints a table, and how many are within 10% and within the interval.

By how much passes may take longer among workers than alone ("passes" of made clusters) was set by
these rows: the smallest whole percent that holds 95% of them. The last table finds it again from
all sources but one, and says how many rows of that one it holds, source by source.
"""
import argparse
import json
import math
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FORWARD_SHARE = 1 / 3
HELD = 0.95  # share of the rows that set the uncertainty


def ask(program, *arguments):
    answer = subprocess.run([program, *map(str, arguments)], capture_output=True, text=True, check=False)
    if answer.returncode != 0:
        sys.exit(f"published_throughputs: {' '.join(map(str, arguments))}: {answer.stderr.strip()}")
    return json.loads(answer.stdout)


def make(program, row, folder):
    """The row's model and cluster, as files."""
    alone_s = row["batch_size"] / row["one_per_s"]
    model, cluster = folder / "model.json", folder / "cluster.json"
    ask(program, "model", "make", row["network"], "--batch", row["batch_size"],
        "--backward", f"{(1 - FORWARD_SHARE) * alone_s:.9g}s", "--forward", f"{FORWARD_SHARE * alone_s:.9g}s",
        "--out", model, "--force", "--json")
    network = ["--network", row["link"]] if row["nodes"] > 1 else []
    ask(program, "cluster", "make", "--nodes", row["nodes"], "--gpus-per-node", row["gpus_per_node"],
        *network, "--intra", row["within"], "--out", cluster, "--force", "--json")
    return model, cluster


def simulate(program, row, model, cluster):
    """Seconds of an iteration: as predicted, and at the fast and the slow end of the interval."""
    result = ask(program, "simulate", model, "--cluster", cluster, "--algo", "ddp", "--policy", row["policy"],
                 "--json")
    return [result[key] for key in ("iteration_s", "iteration_low_s", "iteration_high_s")]


def needed(row, published_s, middle_s, slow_s):
    """How much longer passes have to take for the interval to reach what was published.

    `slow_s` is the end of the interval by the links alone; both add up as independent errors do.
    """
    late_s, links_s = published_s - middle_s, slow_s - middle_s
    if late_s <= links_s:
        return 0.0
    return math.sqrt(late_s**2 - links_s**2) * row["one_per_s"] / row["batch_size"]


def smallest_percent(shares):
    """The smallest whole percent that is at least HELD of the shares."""
    return math.ceil(100 * sorted(shares)[math.ceil(HELD * len(shares)) - 1]) / 100


def print_by_source(rows, errors, are_inside, shares):
    """A line a source: errors, rows inside their intervals, and rows that the passes found from all
    other sources hold. Returns how many these hold in all."""
    print("\n| source | rows | mean error | largest | inside | passes by the others | inside by these |")
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: |")
    total = 0
    for source in dict.fromkeys(row["source"] for row in rows):
        own = [i for i, row in enumerate(rows) if row["source"] == source]
        found = smallest_percent([share for i, share in enumerate(shares) if i not in own])
        held = sum(shares[i] <= found for i in own)
        total += held
        own_errors = [errors[i] for i in own]
        print(f"| {source.split(' (')[0]} | {len(own)} | {sum(own_errors) / len(own):.1%} | {max(own_errors):.1%} "
              f"| {sum(are_inside[i] for i in own)} | {found:.0%} | {held} |")
    print(f"\nby all sources {smallest_percent(shares):.0%}; {total} of {len(rows)} inside by sources other than "
          "their own")
    return total


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("--gradweave", default=ROOT / "build/release/cli/gradweave", metavar="PROGRAM")
    parser.add_argument("--within", type=float, default=0, metavar="SHARE",
                        help="exit status 1 unless so many are in their intervals")
    parser.add_argument("--held-out", type=int, metavar="ROWS",
                        help="the same unless just so many are by the sources that are not their own")
    options = parser.parse_args()
    rows = json.loads((ROOT / "traces/papers/throughputs.json").read_text())["rows"]
    errors, are_inside, shares, widths = [], [], [], []
    print("| network | nodes x GPUs | link | published | linear | predicted | off | interval | in it |")
    print("| --- | --- | --- | ---: | ---: | ---: | ---: | --- | --- |")
    with tempfile.TemporaryDirectory() as folder:
        for row in rows:
            model, cluster = make(options.gradweave, row, Path(folder))
            middle_s, fast_s, slow_s = simulate(options.gradweave, row, model, cluster)
            document = json.loads(cluster.read_text())
            document["passes"]["uncertainty"] = 1e-9  # as if passes took no longer among workers
            cluster.write_text(json.dumps(document))
            _, links_fast_s, links_slow_s = simulate(options.gradweave, row, model, cluster)
            samples = row["batch_size"] * row["nodes"] * row["gpus_per_node"]
            published_s = samples / row["all_per_s"]
            shares.append(needed(row, published_s, middle_s, links_slow_s))
            widths.append(((links_slow_s - links_fast_s) / middle_s, (slow_s - fast_s) / middle_s))
            error = published_s / middle_s - 1
            is_inside = fast_s <= published_s <= slow_s
            errors.append(abs(error))
            are_inside.append(is_inside)
            linear = row["all_per_s"] / (row["one_per_s"] * row["nodes"] * row["gpus_per_node"])
            links = ", ".join(filter(None, (row["link"], row["within"])))
            print(f"| {row['network']} | {row['nodes']} x {row['gpus_per_node']} | {links} "
                  f"| {row['all_per_s']:,.0f} | {linear:.0%} | {samples / middle_s:,.0f} | {error:+.1%} "
                  f"| {samples / slow_s:,.0f} to {samples / fast_s:,.0f} | {'yes' if is_inside else 'no'} |")
    inside = sum(are_inside)
    by_links, with_passes = (sum(width) / len(rows) for width in zip(*widths))
    print(f"\nmean error {sum(errors) / len(errors):.1%}, largest {max(errors):.1%}; "
          f"{sum(error <= 0.1 for error in errors)} of {len(rows)} within 10%, {inside} in their intervals, which are {with_passes:.0%} of the "
          f"prediction wide in the mean, {by_links:.0%} by the links alone")
    held_out = print_by_source(rows, errors, are_inside, shares)
    return inside < options.within * len(rows) or options.held_out not in (None, held_out)


if __name__ == "__main__":
    sys.exit(main())
