#!/usr/bin/env python3
"""Prints what the calibration that ships as box-4x1gbit comes to.

    script/calibration_tables.py interference   # by how much predictions move without a part of it
    script/calibration_tables.py wire           # collectives over the time of their bytes on a link
"""
import argparse
import csv
import json
import statistics
import subprocess
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CLUSTER = ROOT / "traces/clusters/box-4x1gbit.json"
BYTES_PER_S = 125e6
SENT = {"allgather": lambda ranks: ranks - 1, "allreduce": lambda ranks: 2 * (ranks - 1) / ranks,
        "alltoall": lambda ranks: (ranks - 1) / ranks}  # by a rank, of each byte
PARTS = ("together", "denser", "denser.together", "overlap", "aggregation")


def drop_part(cluster, part):
    """Deletes a key of the cluster or of each of its compressors and aggregations, "outer.inner"."""
    *outer, key = part.split(".")
    for place in (cluster, *cluster["compressors"].values(), *cluster["aggregation"].values()):
        (place.get(outer[0], {}) if outer else place).pop(key, None)


def predict(program, cluster, folder):
    """Seconds of an iteration by (workers, point)."""
    path, points = folder / "cluster.json", folder / "points.csv"
    path.write_text(json.dumps(cluster))
    subprocess.run([program, "sweep", "--model", "resnet50,vgg16-cifar10,inception-v4,lstm-ptb", "--cluster", path,
                    "--workers", "2,4", "--density", "0.001,0.01", "--out", points, "--force"],
                   check=True, stdout=subprocess.DEVNULL)
    with points.open() as rows:
        return {(row["workers"], row["point"]): float(row["iteration_s"]) for row in csv.DictReader(rows) if not row["infeasible"]}


def print_interference(program, text):
    with tempfile.TemporaryDirectory() as folder:
        whole = predict(program, json.loads(text), Path(folder))
        workers = sorted({point[0] for point in whole}, reverse=True)
        print("| left out |", " | ".join(f"{count} workers, mean and worst" for count in workers), "|")
        print("| --- |" + " --- |" * len(workers))
        for part in PARTS:
            cluster = json.loads(text)
            drop_part(cluster, part)
            less = predict(program, cluster, Path(folder))
            moved = [[abs(less[point] / whole[point] - 1) for point in whole if point[0] == count] for count in workers]
            print(f"| `{part}` |", " | ".join(f"{statistics.mean(each):.1%}, {max(each):.1%}" for each in moved), "|")


def print_wire(_, text):
    cluster = json.loads(text)
    sizes = [1 << power for power in (10, 12, 14, 16, 18, 20, 22)]
    print("| | ranks |", " | ".join(f"{size >> 10} KiB" for size in sizes), "|")
    print("| --- | ---: |" + " ---: |" * len(sizes))
    for name, sent in SENT.items():
        for curve in cluster["collectives"][name]:
            medians = {point["bytes"]: point["median_s"] for point in curve["raw"]}
            cells = [f"{medians[size] * BYTES_PER_S / (sent(curve['workers']) * size):.2f}" if size in medians else "" for size in sizes]
            print(f"| {name} | {curve['workers']} |", " | ".join(cells), "|")


def main():
    tables = {"interference": print_interference, "wire": print_wire}
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("table", choices=tables)
    parser.add_argument("--gradweave", default=ROOT / "build/release/cli/gradweave", metavar="PROGRAM")
    options = parser.parse_args()
    tables[options.table](options.gradweave, CLUSTER.read_text())


if __name__ == "__main__":
    main()
