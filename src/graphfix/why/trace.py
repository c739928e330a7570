"""What to run where reading the code does not tell."""

from __future__ import annotations

from graphfix.report.escape import as_argument, typed
from graphfix.why.diagnosis import Diagnosis
from graphfix.why.places import Place


def trace_of(diagnosis: Diagnosis) -> list[tuple[str, str]]:
    """The commands that watch the script run; it is where the user's outermost frame is."""
    script = diagnosis.places[-1] if diagnosis.places else None
    away = _script_away(diagnosis)
    if away is not None:
        return [(f"graphfix trace {typed(as_argument(away))}", "where that script lies: runs it and traces its graph")]
    if script is None:
        return []
    name = str(script.source.path)
    if script.cell is None:
        return [(f"graphfix trace {typed(as_argument(name))}", "runs it and traces its graph")]
    return [
        (f"jupyter nbconvert --to script {typed(as_argument(name))}", "makes a script of the notebook"),
        (f"graphfix trace {typed(as_argument(_script(script)))}", "runs it and traces its graph"),
    ]


def _script_away(diagnosis: Diagnosis) -> str | None:
    """The name of the script that was started, where it is not among the files at hand."""
    begun = (each.frame for each in diagnosis.missing if each.frame.function == "<module>" and each.frame.cell is None)
    if any(place.frame.function in ("<module>", "") for place in diagnosis.places):
        return None
    return next((frame.file.replace("\\", "/").rpartition("/")[2] for frame in begun), None)


def _script(place: Place) -> str:
    return str(place.source.path.with_suffix(".py"))
