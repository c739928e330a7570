"""How a fault shows itself when the program runs, in the words that its user sees."""

from __future__ import annotations

from graphfix.autograd.symptoms import Count, Raises, Symptom
from graphfix.model import Finding, Severity

WORDS = {
    Count.LIVE: "memory that grows with every iteration",
    Count.SAVED: "memory that is kept for nothing",
    Count.MADE: "wasted time and memory",
    Count.WALKED: "time for gradients that nothing uses",
    Count.UNWALKED: "parameters that do not learn from it, and no error",
    Count.UNTRAINED: "parameters that do not learn, and no error",
}


def effect(finding: Finding) -> str:
    """The error that it raises, or what it costs; empty where nothing is to be seen."""
    if finding.optional:
        return ""
    raises = finding.severity is Severity.ERROR
    shown = [symptom for symptom in finding.symptoms if raises or not isinstance(symptom, Raises)]
    return _said(shown[0]) if shown else ""


def _said(symptom: Symptom) -> str:
    if isinstance(symptom, Count):
        return WORDS[symptom]
    if isinstance(symptom, Raises):
        said = symptom.message or symptom.title
        return f"{symptom.error}: {said}" if said else symptom.error
    return f"a warning: {symptom.message}"
