"""What a campaign has come to, as plain data: everything that a report tells."""

from __future__ import annotations

import re
import statistics
from collections import Counter
from collections.abc import Mapping
from typing import Any

from graphfix.campaign.config import Config
from graphfix.campaign.stages import findings_of
from graphfix.campaign.state import Stage, State, Target

_PLACES = re.compile(r"in (\d+) place")
_WORST = 20  # files that are named


def figures(config: Config, state: State) -> dict[str, Any]:
    """The figures of the whole, and a row for each repository."""
    targets = state.targets()
    rows = [_row(target) for target in targets]
    return {
        "begun": state.begun,
        "repositories": len(targets),
        "stages": _counted([target.stage.value for target in targets], [stage.value for stage in Stage]),
        "findings": _summed(rows, "findings"),
        "repaired": _summed(rows, "repaired"),
        "files": sum(row["files"] for row in rows),
        "lines": sum(row["lines"] for row in rows),
        "unfinished": sum(target.facts.get("unfinished", 0) for target in targets),
        "checked": sum(bool(row["checked"]) for row in rows),
        "open": sum(target.is_open for target in targets),
        "failures": dict(Counter(row["reason"] for row in rows if row["stage"] == Stage.FAILED.value).most_common()),
        "worst": _worst(targets),
        "kinds": _kinds(config, targets),
        "seconds": _seconds(state),
        "rows": rows,
    }


def _row(target: Target) -> dict[str, Any]:
    facts = target.facts
    commits = [each for each in facts.get("commits", ())]
    return {
        "name": target.name,
        "url": target.url,
        "stage": target.stage.value,
        "reason": target.reason,
        "findings": dict(facts.get("findings", {})),
        "repaired": _repaired(commits),
        "files": facts.get("files", 0) if commits else 0,
        "lines": facts.get("lines", 0) if commits else 0,
        "checked": list(facts.get("checked", ())),
        "link": facts.get("link", ""),
    }


def _repaired(commits: list[Mapping[str, str]]) -> dict[str, int]:
    """How many places each rule's commit repairs, as its subject says."""
    found: Counter[str] = Counter()
    for each in commits:
        told = _PLACES.search(each["subject"])
        found[each["rule"]] += int(told[1]) if told else 1
    return dict(sorted(found.items()))


def _summed(rows: list[dict[str, Any]], name: str) -> dict[str, int]:
    total: Counter[str] = Counter()
    for row in rows:
        total.update(row[name])
    return dict(sorted(total.items()))


def _counted(words: list[str], order: list[str]) -> dict[str, int]:
    counts = Counter(words)
    return {word: counts[word] for word in order if counts[word]}


def _worst(targets: list[Target]) -> list[dict[str, Any]]:
    files = [(count, target.name, file) for target in targets for file, count in target.facts.get("worst", ())]
    files.sort(key=lambda each: (-each[0], each[1], each[2]))
    return [{"repository": name, "file": file, "findings": count} for count, name, file in files[:_WORST]]


def _kinds(config: Config, targets: list[Target]) -> dict[str, dict[str, Any]]:
    """Each rule that was met: its name, in how many repositories it was met, and how much of it has a fix."""
    met: dict[str, dict[str, Any]] = {}
    for target in targets:
        seen = set()
        for each in findings_of(config.folder / "results" / target.name):
            row = met.setdefault(each["code"], {"name": each.get("name", ""), "repositories": 0, "safe": 0, "unsafe": 0})
            applicability = (each.get("fix") or {}).get("applicability")
            if applicability in ("safe", "unsafe"):
                row[applicability] += 1
            if each["code"] not in seen:
                seen.add(each["code"])
                row["repositories"] += 1
    return dict(sorted(met.items()))


def _seconds(state: State) -> dict[str, dict[str, float]]:
    """What each stage took, over the repositories that came to it: how many, the median and the sum."""
    taken: dict[str, list[float]] = {}
    for step in state.steps():
        if step.seconds:
            taken.setdefault(step.was.value, []).append(step.seconds)
    return {
        was: {"times": len(each), "median": round(statistics.median(each), 2), "sum": round(sum(each), 1)}
        for was, each in taken.items()
    }
