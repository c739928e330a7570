"""Score graphfix on labelled places of real repositories.

usage: python3 -m benchmarks.labels LABELS CHECKOUTS [-v]

LABELS is a JSON-lines file with repo, commit, path, line, family and verdict, and for notebooks the 0-based cell that the
line is counted in; CHECKOUTS holds one folder per repository and commit, named owner+name@first-eight-of-commit. A fault
counts as reported where a finding's statement or a place of its story covers its line or a neighbour's, a place that is right
only where it covers the very line.
"""

from __future__ import annotations

import argparse
import collections
import functools
import json
from pathlib import Path

from graphfix.model import Finding
from graphfix.run.examine import Job, examine
from graphfix.source.decode import of_its_age, read
from graphfix.source.errors import SourceError
from graphfix.source.lines import shown_cell
from graphfix.source.text import Source


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("labels", type=Path)
    parser.add_argument("checkouts", type=Path)
    parser.add_argument("--only", default="", metavar="SUFFIX", help="only files with this suffix, such as .ipynb")
    parser.add_argument("-v", "--verbose", action="store_true")
    options = parser.parse_args()
    score: collections.Counter[tuple[str, str, bool]] = collections.Counter()
    for line in options.labels.read_text().splitlines():
        label = json.loads(line)
        folder = options.checkouts / f"{label['repo'].replace('/', '+')}@{label['commit'][:8]}"
        path = folder / label["path"]
        if label["verdict"] == "unsure" or path.suffix not in (".py", ".ipynb") or not path.is_file():
            continue
        if options.only and path.suffix != options.only:
            continue
        group = "ok" if label["verdict"] == "ok" else "bug"
        codes = reported(path, folder, label["line"], 0 if group == "ok" else 1, label.get("cell"))
        score[group, label["family"], bool(codes)] += 1
        if options.verbose and bool(codes) is (group == "ok"):
            place = f"{path}:{shown_cell(label.get('cell'))}{label['line']}"
            print(f"{label['verdict']:5} {label['family']:20} {place} {codes} {label['why'][:100]}")
    for group in ("bug", "ok"):
        hit = sum(count for (g, _, found), count in score.items() if g == group and found)
        total = sum(count for (g, _, _), count in score.items() if g == group)
        print(f"{group}: {hit}/{total} reported")
        for family in sorted({f for g, f, _ in score if g == group}):
            print(f"    {family:22} {score[group, family, True]:3}/{score[group, family, True] + score[group, family, False]}")


def reported(path: Path, root: Path, line: int, near: int, cell: int | None = None) -> list[str]:
    source, findings = analysed(path, root)
    if source is None:
        return []
    index = source.index()
    found = []
    for finding in findings:
        spans = [finding.span, *(label.span for label in finding.story if near and label.path == str(path))]
        rows = [(index.place(span.start)[0], index.place(span.end)[0]) for span in spans if index.cell(span.start) == cell]
        if any(first - near <= line <= last + near for first, last in rows):
            found.append(finding.code)
    return found


@functools.cache
def analysed(path: Path, root: Path) -> tuple[Source | None, list[Finding]]:
    """A file and its findings, as `check` tells them of the file alone, found once for all of its labels."""
    try:
        source = decoded(path)
    except (SourceError, SyntaxError):
        return None, []
    return source, list(examine(path, Job((root,)), source.data).findings)


def decoded(path: Path) -> Source:
    # a script whose encoding is broken is scored all the same
    text = path.read_bytes().decode("utf-8", "replace")
    return read(path) if path.suffix == ".ipynb" else of_its_age(Source(path, text, data=text.encode()))


if __name__ == "__main__":
    main()
