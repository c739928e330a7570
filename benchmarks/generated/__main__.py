"""Do the safe fixes of graphfix ever change or break a generated program?

usage: python3 -m benchmarks.generated [--programs N] [--seed S] [--jobs J] [--keep FOLDER] [--reduce] [--families NAME...]

Exit status 1 where one does. FOLDER gets before.py, after.py and verdict.txt of each program that was harmed.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from pathlib import Path

from benchmarks.generated.harness import Result, results, spread
from benchmarks.generated.programs import NAMES
from benchmarks.generated.reduce import reduced


def main() -> int:
    parser = argparse.ArgumentParser(description="do safe fixes ever harm a generated program?")
    parser.add_argument("--programs", type=int, default=500)
    parser.add_argument("--seed", type=int, default=0, help="of the first program; the others follow")
    parser.add_argument("--families", nargs="+", choices=NAMES, default=NAMES, metavar="NAME", help=f"of {', '.join(NAMES)}")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="write the programs that were harmed here")
    parser.add_argument("--reduce", action="store_true", help="write them as small as they get, too")
    options = parser.parse_args()
    verdicts: Counter[str] = Counter()
    by_rule: Counter[tuple[str, str]] = Counter()
    harmed: list[Result] = []
    fewer = 0
    for result in results(range(options.seed, options.seed + options.programs), options.jobs, options.families):
        verdicts[result.kind or "no safe fix"] += 1
        by_rule.update((rule, result.kind) for rule in result.rules)
        fewer += result.verdict == "same" and result.peaks[1] < result.peaks[0]
        if result.harmed:
            harmed.append(result)
            print(f"seed {result.seed}: {' '.join(result.rules)}: {result.verdict[:150]}", flush=True)
            if options.keep:
                keep(options.keep / f"{result.seed:06d}", result)
    if options.keep and options.reduce:
        for small in spread(reduced, harmed, options.jobs):
            keep(options.keep / f"{small.seed:06d}", small, "reduced_")
    print(
        f"\n{options.programs} programs, {options.programs - verdicts['no safe fix']} with a safe fix, {fewer} of which keep less graph now"
    )
    for kind, count in verdicts.most_common():
        print(f"  {count:6d} {kind}")
    kinds = sorted({kind for _, kind in by_rule})
    print(f"{'rule':8}" + "".join(f"{kind:>20}" for kind in kinds))
    for rule in sorted({rule for rule, _ in by_rule}):
        print(f"{rule:8}" + "".join(f"{by_rule[rule, kind]:20d}" for kind in kinds))
    return int(any(kind.startswith("HARM") for kind in verdicts))


def keep(folder: Path, result: Result, prefix: str = "") -> None:
    """Write the program before and after, and what is wrong."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{prefix}before.py").write_text(result.before)
    (folder / f"{prefix}after.py").write_text(result.after)
    (folder / f"{prefix}verdict.txt").write_text(f"seed {result.seed}: {' '.join(result.rules)}: {result.verdict}\n")


if __name__ == "__main__":
    sys.exit(main())
