"""Within one program a file is one document: runs, flow and proofs know its nodes by the same tree."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphfix.analysis.contributors import Facts
from graphfix.analysis.evidence import Evidence
from graphfix.analysis.explore import Explorer
from graphfix.calls import program
from graphfix.interpreter.imports import Importer
from graphfix.model import Applicability
from graphfix.repair import ranking
from graphfix.repair.candidate import Effect
from graphfix.run import engine
from graphfix.run.again import forget_files, let_go
from graphfix.source.document import Document

from . import several_files as code

BACK = "from train import net\n\ndef helped(x):\n    return net(x)\n"
CIRCULAR = "import torch\nfrom helper import helped\nnet = torch.nn.Linear(1, 1)\nhelped(torch.ones(1)).backward()\n"


def evidence_of(path: Path) -> Evidence:
    explorer = Explorer(Document(str(path), path.read_text()), (path.parent,))
    tape = explorer.explore()
    return Evidence(tape, Facts(tape), ())


def written(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    forget_files()


@pytest.mark.parametrize("loses", [False, True])
@pytest.mark.parametrize(
    ("files", "main"),
    [
        ({"train.py": CIRCULAR, "helper.py": BACK}, "train.py"),
        ({"meters.py": code.METER, "train.py": code.TRAIN.format(given="loss", more="")}, "train.py"),
        ({"engine.py": code.ENGINE, "main.py": code.MAIN}, "main.py"),
        ({"models.py": code.CELL, "train.py": code.CARRIES}, "train.py"),
    ],
)
def test_runs_and_flow_speak_of_the_same_documents(tmp_path: Path, files: dict[str, str], main: str, loses: bool) -> None:
    written(tmp_path, files)
    evidence = evidence_of(tmp_path / main)
    if loses:
        let_go()  # as memory runs short: what is read anew is another tree
    trees = {document.path: document.tree for document in evidence.program.files}
    assert len(trees) == len(evidence.program.files) == len(files)
    for document in (*evidence.flow.code.documents.values(), *evidence.call_graph.program.documents.values()):
        assert document.tree is trees[document.path]


def test_one_file_is_read_once_however_it_is_named(tmp_path: Path) -> None:
    written(tmp_path, {"p/__init__.py": "", "p/cell.py": code.CELL})
    (tmp_path / "linked.py").symlink_to(tmp_path / "p" / "cell.py")
    importer = Importer(tmp_path / "main.py", (tmp_path,))
    first = importer.document_at(tmp_path / "p" / "cell.py", "p.cell")
    let_go()
    assert importer.document_at(tmp_path / "p" / "cell.py", "cell") is first
    assert importer.document_at(tmp_path / "linked.py", "linked") is first


def test_files_that_say_the_same_are_two_documents(tmp_path: Path) -> None:
    twice = "from meters import AverageMeter\nfrom other import AverageMeter as Other\nfrom third import AverageMeter as Third\n"
    train = code.TRAIN.format(given="loss", more="    others.update(loss, 8)\n    thirds.update(loss, 8)")
    train = train.replace("from meters import AverageMeter\n", twice)
    train = train.replace("losses = AverageMeter()", "losses, others, thirds = AverageMeter(), Other(), Third()")
    written(tmp_path, {"meters.py": code.METER, "other.py": code.METER, "third.py": code.METER, "train.py": train})
    found = engine.analyse(tmp_path / "train.py", train, (tmp_path,))
    assert [Path(each.path).name for each in found.findings if each.code == "GF101"] == ["meters.py", "other.py", "third.py"]


def test_a_file_that_the_flow_has_no_room_for_is_proven_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cases = (
        {"meters.py": code.METER, "train.py": code.TRAIN.format(given="loss", more="")},
        {"engine.py": code.ENGINE, "train.py": code.MAIN},
        {"models.py": code.CELL, "train.py": code.CARRIES},
    )
    doubts: list[set[str]] = []
    for number, files in enumerate(cases):
        folder = tmp_path / str(number)
        written(folder, files)
        main = folder / "train.py"
        safe = engine.analyse(main, main.read_text(), (folder,))
        with monkeypatch.context() as patched:
            patched.setattr(program, "MAX_LENGTH", 10)
            unseen = engine.analyse(main, main.read_text(), (folder,))
        assert not safe.faults and not unseen.faults
        told = [[(each.code, each.span, each.path) for each in found.findings if each.path != str(main)] for found in (safe, unseen)]
        assert told[0] == told[1] != []
        fixes = [each.fix for each in unseen.findings if each.fix is not None and each.path != str(main)]
        assert not any(fix.applicability is Applicability.SAFE for fix in fixes)
        doubts.append({fix.doubt for fix in fixes})
    assert all(any("larger than the analysis follows" in each for each in told) for told in doubts[:2])


def test_each_effect_has_a_rank(tmp_path: Path) -> None:
    class Shown:
        cause = None
        shown = None

    assert set(ranking.order_of(None, Shown())) == set(Effect)  # type: ignore[arg-type]
