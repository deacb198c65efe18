#!/usr/bin/env python3
"""Holds README and docs to what they point at: relative links, their headings, files and arrays named in code marks."""
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
WIDTH, README_LINES = 100, 150
LINK = re.compile(r"\]\(([^)\s]+)\)")
FILE = re.compile(r"`((?:\w[\w-]*/)+[\w-]+\.(?:c|h|py|txt|cmake|md))`|`(script/[\w-]+)[` ]")
ARRAY = re.compile(r"`(\w+)\[\]`\s+in\s+`([\w/-]+\.c)`")
MADE = ("convergence/", "matrix-output/", "torch-validation/", "defaults-validation/")


def anchors_of(page):
    """The anchors of a page's headings, as GitHub makes them."""
    text = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.M | re.S)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in re.findall(r"^#+ (.*)$", text, re.M)}


def faults_of(page):
    text = page.read_text()
    for target in LINK.findall(text):
        path, _, anchor = target.partition("#")
        there = (page.parent / path).resolve() if path else page
        if target.startswith("http"):
            continue
        if not there.exists():
            yield f"expected the file {target}"
        elif anchor and anchor not in anchors_of(there):
            yield f"expected a heading #{anchor} in {there.name}"
    for names in FILE.findall(text):
        name = names[0] or names[1]
        if not name.startswith(MADE) and not (ROOT / name).exists():
            yield f"expected the file {name}"
    for array, name in ARRAY.findall(text):
        if f"{array}[" not in (ROOT / name).read_text():
            yield f"expected the array {array}[] in {name}"
    for number, line in enumerate(text.splitlines(), 1):
        if len(line) > WIDTH:
            yield f"line {number}: expected at most {WIDTH} columns, got {len(line)}"


def main():
    pages = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")), *sorted((ROOT / "docs/results").glob("*.md"))]
    faults = [f"{page.relative_to(ROOT)}: {fault}" for page in pages for fault in faults_of(page)]
    lines = len(pages[0].read_text().splitlines())
    if lines > README_LINES:
        faults.append(f"README.md: expected at most {README_LINES} lines, got {lines}")
    return "\n".join(faults) or None


if __name__ == "__main__":
    sys.exit(main())
