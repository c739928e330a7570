"""What to run where reading the code does not tell."""

from __future__ import annotations

from graphfix.report.escape import as_argument, typed
from graphfix.why.diagnosis import Diagnosis
from graphfix.why.places import Place


def trace_of(diagnosis: Diagnosis) -> list[tuple[str, str]]:
    """The commands that watch the script run; it is where the user's outermost frame is."""
    script = diagnosis.places[-1] if diagnosis.places else None
    if script is None:
        return []
    name = str(script.source.path)
    if script.cell is None:
        return [(f"graphfix trace {typed(as_argument(name))}", "runs it and traces its graph")]
    return [
        (f"jupyter nbconvert --to script {typed(as_argument(name))}", "makes a script of the notebook"),
        (f"graphfix trace {typed(as_argument(_script(script)))}", "runs it and traces its graph"),
    ]


def _script(place: Place) -> str:
    return str(place.source.path.with_suffix(".py"))
