"""What serialises a tensor writes down whether it requires a gradient: code that reads it back can tell if it was recorded."""

from __future__ import annotations

import pytest

from tests.obligations.programs import SETUP, safe_titles

PROGRAM = (
    SETUP
    + """
import hashlib, io, pickle

def predict():
    net.eval()
    rows = []
    for x in torch.randn(5, 3, 3):
        rows.append(net(x))
    return rows

{read}
"""
)
READ = {
    "bytes that are hashed": "print(hashlib.sha1(pickle.dumps(predict())).hexdigest())",
    "bytes of each": "print([len(each) for each in map(pickle.dumps, predict())])",
    "a file in memory": "file = io.BytesIO()\ntorch.save(predict(), file)\nprint(len(file.getvalue()))",
    "the bytes of a file": "torch.save(predict(), 'rows.pt')\nprint(hashlib.sha1(open('rows.pt', 'rb').read()).hexdigest())",
    "an archive": "import zipfile\ntorch.save(predict(), 'rows.pt')\nprint(zipfile.ZipFile('rows.pt').namelist())",
    "a pickler": "file = io.BytesIO()\npickle.Pickler(file).dump(predict())\nprint(len(file.getvalue()))",
    "a copy": "print([each.requires_grad for each in pickle.loads(pickle.dumps(predict()))])",
    "leaves that are trained": (
        "torch.save(predict(), 'rows.pt')\nrows = torch.load('rows.pt')\nother = torch.optim.SGD(rows, lr=0.1)\n"
        "sum(each.sum() for each in rows).backward()\nother.step()"
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", READ)
def test_what_is_read_back_tells_if_it_was_recorded(case: str) -> None:
    assert "GF103" not in [code for code, _ in safe_titles(PROGRAM.format(read=READ[case]))]


@pytest.mark.parametrize("read", ["torch.save(predict(), 'rows.pt')", "rows = [each.tolist() for each in predict()]\nprint(pickle.dumps(rows))"])
def test_what_is_only_written_and_numbers_stand_in_no_way(read: str) -> None:
    assert [code for code, _ in safe_titles(PROGRAM.format(read=read))] == ["GF103"]
