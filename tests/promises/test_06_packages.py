"""The run over packages: that it would notice what it looks for."""

from __future__ import annotations

import zipfile
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

from benchmarks.packages import Tally, check, examine_package, faults_of, unpack
from graphfix.run.examine import Job, examine
from graphfix.run.outcome import Outcome, Status
from graphfix.run.selection import Wanted


def test_a_package_with_findings_has_no_fault(tmp_path: Path, loops: SimpleNamespace) -> None:
    package = tmp_path / "package"
    package.mkdir()
    (package / "a.py").write_text(loops.both)
    (package / "b.py").write_text("x = (\n")
    tally = Tally()
    check(package, tally)
    examine_package(package, tally, 1)
    assert (tally.files, dict(tally.codes), tally.repaired) == (2, {"GF101": 1, "GF901": 1}, 2)
    assert tally.faults == tally.cut_short == []


def test_faults_are_told(tmp_path: Path, loops: SimpleNamespace) -> None:
    path = tmp_path / "a.py"
    path.write_text(loops.total)
    job = Job((tmp_path,), Wanted())
    found = examine(path, job)
    repairing = replace(job, repair=True)
    assert list(faults_of(Outcome(path, after=b"x = ("), repairing)) == ["repaired, it does not parse"]
    assert list(faults_of(Outcome(path, after=loops.total.encode()), repairing)) == ["repaired, it is repaired once more"]
    assert list(faults_of(Outcome(path, after=loops.total_fixed.encode()), repairing)) == []
    tally = Tally()
    tally.add(found, "a.py")
    assert tally.faults == []
    path.write_text("x = 1\n")
    tally.add(found, "a.py")
    tally.add(Outcome(path, Status.INTERNAL, "ValueError"), "a.py")
    tally.add(Outcome(path, Status.SKIPPED, "too deep"), "a.py")
    tally.add(Outcome(path, unfinished="it takes more than 20 seconds"), "a.py")
    assert tally.faults == [
        "a.py: a safe fix of GF101, and no torch",
        "a.py: ValueError",
        "a.py: refused: too deep",
        "a.py: refused: it takes more than 20 seconds",
    ]


def test_of_a_wheel_its_programs_are_unpacked_and_into_the_folder_alone(tmp_path: Path) -> None:
    wheel = tmp_path / "a.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        for name in ("a/b.py", "a/c.so", "a/n.ipynb", "../out.py"):
            archive.writestr(name, "")
    unpack(wheel, tmp_path / "into")
    assert sorted(path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*") if path.is_file()) == [
        "a.whl",
        "into/a/b.py",
        "into/a/n.ipynb",
        "into/out.py",
    ]
