"""Write down all that graphfix says of a set of programs, and compare it with what it says later.

usage: python -m benchmarks.golden write FOLDER [NAME...] [--only PART] [--corpus NAME=PATH] [--programs NAME=PATH]
       python -m benchmarks.golden compare FOLDER [NAME...] [--only PART] [--ignore messages] [--most N | --all]

FOLDER gets NAME.jsonl (or .jsonl.gz) for each corpus: the findings with their patches, what was asked of each fix with its answer,
the runs of each entry, and what the repairs make of each file. The corpora `fixtures`, `tests` and `generated` come from the repository.
A corpus that is given is one project (`--corpus`), or a folder in which each folder is a project (`--programs`). FOLDER remembers where
they are. NAMEs leave out the other corpora. Exit 1: something differs, 2: nothing could be compared.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from benchmarks.golden.corpora import BadCorpus, Corpus, chosen_from, enlist, given, listed, own, write_own
from benchmarks.golden.differences import Difference, differences
from benchmarks.golden.recording import PARTS
from benchmarks.golden.store import analysed, read, write
from graphfix.run.workers import processors

MOST = 10
Differences = dict[str, list[Difference]]


def main(words: Sequence[str] | None = None) -> int:
    options = parser().parse_args(words)
    try:
        return int(options.run(options))
    except (BadCorpus, OSError) as error:
        print(f"golden: {error}", file=sys.stderr)
        return 2


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = made.add_subparsers(required=True)
    for run in (run_write, run_compare):
        command = commands.add_parser(run.__name__.removeprefix("run_"), description=run.__doc__)
        command.set_defaults(run=run)
        command.add_argument("folder", type=Path)
        command.add_argument("names", nargs="*", metavar="NAME", help="of the corpora; all without any")
        command.add_argument("--workers", type=int, default=processors(), metavar="N")
        command.add_argument("--only", choices=PARTS, action="append", help="what to tell of: may be given several times")
        if run is run_write:
            command.add_argument("--corpus", action="append", default=[], metavar="NAME=PATH", help="a project")
            command.add_argument("--programs", action="append", default=[], metavar="NAME=PATH", help="a folder of projects")
        else:
            command.add_argument("--ignore", choices=("messages",), help="leave the texts out")
            command.add_argument("--most", type=int, default=MOST, metavar="N", help="places to print of each kind")
            command.add_argument("--all", action="store_true", help="print all places")
    return made


def run_write(options: argparse.Namespace) -> int:
    """Analyse the programs, and write down what is found."""
    inside = own(options.folder)
    corpora = {each.name: each for each in (*given(options.corpus, apart=False), *given(options.programs, apart=True))}
    chosen = chosen_from({**inside, **corpora}, options.names)
    options.folder.mkdir(parents=True, exist_ok=True)
    write_own(options.folder, [each.name for each in chosen if each.name in inside])
    for corpus in chosen:
        started = time.perf_counter()
        parts = parts_of(options, corpus)
        count = write(file_of(options.folder, corpus), analysed(corpus.programs(), parts, options.workers))
        enlist(options.folder, [replace(corpus, parts=parts)])
        print(f"{corpus.name}: {count} programs in {time.perf_counter() - started:.0f} seconds", flush=True)
    return 0


def run_compare(options: argparse.Namespace) -> int:
    """Analyse the programs again, and tell what is different."""
    found: Differences = defaultdict(list)
    for corpus in chosen_from(listed(options.folder), options.names):
        started = time.perf_counter()
        before = sum(map(len, found.values()))
        for each in compared(
            options.folder, corpus, parts_of(options, corpus), options.workers, with_texts=options.ignore is None
        ):
            found[each.kind].append(Difference(each.kind, f"{corpus.name}: {each.place}", each.detail))
        count = sum(map(len, found.values())) - before
        print(f"{corpus.name}: {count} differences ({time.perf_counter() - started:.0f} seconds)", flush=True)
    told(found, sys.maxsize if options.all else options.most)
    return 1 if found else 0


def compared(folder: Path, corpus: Corpus, parts: frozenset[str], workers: int, *, with_texts: bool) -> Iterator[Difference]:
    """What is different in a corpus, as far as it belongs to these parts."""
    kinds = {"file", *(kind for part in parts for kind in PARTS[part])}
    old = {name: [each for each in made if each["kind"] in kinds] for name, made in read(file_of(folder, corpus)).items()}
    for made in analysed(corpus.programs(), parts, workers):
        yield from differences(old.pop(made[0]["file"], []), made, with_texts=with_texts)
    for gone in old.values():
        yield from differences(gone, [], with_texts=with_texts)


def told(found: Differences, most: int) -> None:
    """Print how many differences there are of each kind, and then where."""
    for kind, each in sorted(found.items()):
        print(f"{len(each):>6} {kind}")
    for kind, each in sorted(found.items()):
        print(f"\n{kind} ({len(each)})")
        for difference in each[:most]:
            print(f"  {difference.place}" + (f"\n      {difference.detail}" if difference.detail else ""))
        if len(each) > most:
            print(f"  ... and {len(each) - most} more: --all tells them")


def parts_of(options: argparse.Namespace, corpus: Corpus) -> frozenset[str]:
    """The parts that are asked for; all that there are without any."""
    missing = sorted(set(options.only or ()) - corpus.parts)
    if missing:
        raise BadCorpus(f"{corpus.name}: its golden file does not tell of {missing[0]}")
    return frozenset(options.only or corpus.parts)


def file_of(folder: Path, corpus: Corpus) -> Path:
    return folder / f"{corpus.name}.jsonl"


if __name__ == "__main__":
    sys.exit(main())
