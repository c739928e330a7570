"""Promise 23: outputs, metadata and the order of keys of a notebook keep their bytes; its size is looked at before its JSON."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace

import pytest

from graphfix.run.examine import Job, examine
from graphfix.source import jsontext
from graphfix.source.decode import read
from graphfix.source.errors import Skipped
from graphfix.source.reading import MAX_BYTES

# what a reader of JSON that writes it again would not give back
ODD = """{
 "metadata" : {"b": 1.0, "a": 1E400, "big": 123456789012345678901234567890, "not": NaN, "key": 1, "key": 2,
   "\\u0065\\/": "\\u00e9\\ud83d\\ude00", "emptied": {}  },\t
 "nbformat_minor":5,"nbformat":4,
 "cells": [
  {"outputs":[{"output_type":"display_data","data":{"image/png":"iVBORw0KGgo=\\n"},"metadata":{}},
              {"text":["loss.backward()\\n","total += loss"], "name":"stdout","output_type":"stream"}],
   "source": %s, "execution_count": 3, "metadata": {"tags":["x"],"collapsed":false}, "id":"b", "cell_type":"code"},
  {"cell_type":"markdown","source":"total += loss","attachments":{"a.png":{"image/png":"AAAA"}},"metadata":{}}
 ] , "trailing": [1,  2,3]
}

"""


@pytest.mark.parametrize("listed", [True, False])
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_all_but_the_source_keeps_its_bytes(tmp_path: Path, loops: SimpleNamespace, listed: bool, newline: str) -> None:
    def notebook(source: str) -> bytes:
        value = source.splitlines(keepends=True) if listed else source
        return (ODD % json.dumps(value, indent=3)).replace("\n", newline).encode()

    path = tmp_path / "n.ipynb"
    path.write_bytes(notebook(loops.total))
    outcome = examine(path, Job((tmp_path,), repair=True))
    assert outcome.fixed and outcome.after == notebook(loops.total_fixed)


def test_a_large_notebook_is_not_loaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    loaded: list[object] = []
    monkeypatch.setattr(jsontext, "_loaded", lambda text: loaded.append(text))
    path = tmp_path / "n.ipynb"
    path.write_bytes(b'{"cells": [], "nbformat": 4, "pad": "' + b"x" * MAX_BYTES + b'"}')
    with pytest.raises(Skipped, match="too large"):
        read(path)
    assert examine(path, Job((tmp_path,)), path.read_bytes()).reason == "too large"
    assert loaded == []
