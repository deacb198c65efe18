#!/usr/bin/env python3
"""Prints how much of each published table gradweave reproduces, as a table (gradweave reproduce all)."""
import argparse
import json
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def cells_of(summary):
    """Counts of numbers, pairs and claims; nothing for what the table lacks."""
    numbers, pairs, claims = summary["unfitted"], summary["pairs"], summary["claims"]
    errors = [summary["within_10_percent"], summary["within_20_percent"], f"{summary['largest_error']:.1%}"]
    return [
        f"`{summary['table']}`",
        *([numbers, *errors] if numbers else [""] * 4),
        f"{summary['ordered']} of {pairs}" if pairs else "",
        f"{summary['holding']} of {claims}" if claims else "",
    ]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--gradweave", default=ROOT / "build/release/cli/gradweave", metavar="PROGRAM")
    options = parser.parse_args()
    command = [options.gradweave, "reproduce", "all", "--json"]
    answer = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    print("| table | numbers | within 10% | within 20% | largest error | pairs in order | claims that hold |")
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: |")
    for summary in json.loads(answer.stdout)["summaries"]:
        print("|", " | ".join(map(str, cells_of(summary))), "|")


if __name__ == "__main__":
    main()
