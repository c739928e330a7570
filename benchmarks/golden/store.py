"""Golden files: one line of JSON a record, the records of a program one after the other, programs by name."""

from __future__ import annotations

import gzip
import itertools
import json
import multiprocessing
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path

from benchmarks.golden.recording import Program, Record, records
from graphfix.run.limits import spare_memory

LARGE = 2 << 20  # bytes, from which on a file is compressed


def analysed(programs: Sequence[Program], parts: frozenset[str], workers: int) -> Iterator[list[Record]]:
    """The records of each program, in order."""
    with tempfile.TemporaryDirectory(prefix="graphfix-golden-") as kept:
        work = partial(of_program, parts=parts, kept=Path(kept))
        if workers <= 1:
            yield from map(work, programs)
            return
        with multiprocessing.get_context("fork").Pool(workers, maxtasksperchild=100) as pool:
            yield from pool.imap(work, programs, chunksize=2)


def of_program(program: Program, parts: frozenset[str], kept: Path) -> list[Record]:
    made = records(program, parts, kept)
    spare_memory()
    return made


def write(place: Path, written: Iterable[list[Record]]) -> int:
    """Write the records to `place`, or compressed beside it where they are many; returns how many programs they are of."""
    count = 0
    lines = []
    for made in written:
        count += 1
        lines += [json.dumps(record, ensure_ascii=False) + "\n" for record in made]
    data = "".join(lines).encode("utf-8", "surrogatepass")
    packed = place.with_name(place.name + ".gz")
    for each in (place, packed):
        each.unlink(missing_ok=True)
    if len(data) > LARGE:
        packed.write_bytes(gzip.compress(data, mtime=0))
    else:
        place.write_bytes(data)
    return count


def read(place: Path) -> dict[str, list[Record]]:
    """The records at `place`, by program."""
    packed = place.with_name(place.name + ".gz")
    data = gzip.decompress(packed.read_bytes()) if packed.is_file() else place.read_bytes()
    found = (json.loads(line) for line in data.decode("utf-8", "surrogatepass").splitlines())
    return {file: list(group) for file, group in itertools.groupby(found, key=lambda record: str(record["file"]))}
