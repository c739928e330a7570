"""usage: python -m benchmarks.spike baseline|measure FOLDER [--corpus NAME=PATH ...] [--programs NAME=PATH ...] [--golden FOLDER]

`baseline` analyses the files of the corpora as graphfix does today, and keeps in FOLDER what that costs and finds. `measure` asks the
summaries about each entry that was simulated, and prints a table: entries cleared, files that go backward and are cleared, today's CPU, that
of the summaries, that of the runs that are spared, findings of today, and those that are lost without the runs of what is cleared.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks.golden.corpora import Corpus, given
from benchmarks.spike.baseline import kept, writing_all
from benchmarks.spike.measure import measured, reasons, table, total

MOST = 10


def main(words: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=("baseline", "measure"))
    parser.add_argument("folder", type=Path)
    parser.add_argument("--corpus", action="append", default=[], metavar="NAME=PATH", help="a project")
    parser.add_argument("--programs", action="append", default=[], metavar="NAME=PATH", help="a folder of projects")
    parser.add_argument(
        "--calm", action="append", default=[], metavar="FOLDER", help="projects; those in which nothing is found count"
    )
    parser.add_argument("--golden", type=Path, metavar="FOLDER", help="golden files whose findings have to be there")
    parser.add_argument("--optional", action="store_true", help="ask for the optional rules, too")
    parser.add_argument("--no-replay", action="store_true", help="do not run graphfix again to see what is lost")
    parser.add_argument("--most", type=int, default=MOST, help="reasons to print")
    options = parser.parse_args(words)
    corpora = [*given(options.corpus, apart=False), *given(options.programs, apart=True)]
    calm = [
        Corpus(f"calm-{each.name}", each)
        for folder in options.calm
        for each in sorted(Path(folder).iterdir())
        if any(each.rglob("*.py"))
    ]
    if options.command == "baseline":
        writing_all([*corpora, *calm], options.folder)
        return 0
    rows = []
    for corpus in [*corpora, *calm]:
        place = options.folder / f"{corpus.name}.jsonl"
        if not place.is_file():
            continue
        base = kept(place)
        if corpus in calm and any(not f["optional"] for record in base.values() for f in record["findings"]):
            continue
        golden = options.golden / f"{corpus.name}.jsonl" if options.golden else None
        golden = golden if golden is not None and golden.is_file() else None
        rows.append(measured(corpus, base, golden, optional=options.optional, replay=not options.no_replay))
        print(f"{corpus.name} is measured", file=sys.stderr, flush=True)
    print("\n".join(table(rows)))
    everything = total(rows)
    print("\n" + "\n".join(reasons(everything, options.most)))
    for name, lines in (("lost", everything.violations), ("crashed", everything.crashes[:10])):
        print(f"\n{name}: {len(lines)}", *lines, sep="\n  ")
    return 0


if __name__ == "__main__":
    sys.exit(main())
