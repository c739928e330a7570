"""The probe's command line, in its child process."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass, field

FLAGS = {"--report": "report", "--seed": "seed", "--reference": "reference", "--device": "device", "--trace": "trace"}


@dataclass
class Request:
    """One script to run. `device` stands for what a script would choose by asking for CUDA."""

    report: str = ""
    script: str = ""
    module: bool = False
    arguments: list[str] = field(default_factory=list)
    saved: bool = False
    seed: int | None = None
    reference: str = ""
    device: str = ""
    trace: int = -1  # tell the story of the graphs, and end after so many walks; 0: without end, below: not at all
    forked: bool = False


def parse(words: list[str]) -> Request:
    """What was asked for; everything behind the script is the script's own."""
    request, words = Request(), list(words)
    while words:
        word = words.pop(0)
        if word == "--saved":
            request.saved = True
        elif word in FLAGS and words:
            value = words.pop(0)
            setattr(request, FLAGS[word], int(value) if word in ("--seed", "--trace") else value)
        elif word == "-m" and words:
            request.module, request.script = True, words.pop(0)
            break
        elif word.startswith("--"):
            sys.exit(f"probe: unknown option {word}")
        else:
            request.script = word
            break
    if not request.script or not request.report:
        sys.exit("usage: probe --report FILE [--saved] [--seed N] (SCRIPT | -m MODULE) [-- ARGS]")
    request.arguments = words[1:] if words[:1] == ["--"] else words
    return request


def main(words: list[str]) -> None:
    """Run the script; or serve, and run one script in each fork."""
    # `graphfix` sets it for itself; it is nothing that the script was started with
    os.environ.pop("PYTHONSAFEPATH", None)
    if words == ["--serve"]:
        from .serve import serve

        asked = serve()
        if asked is None:
            return
        request = Request(**asked, forked=True)
    else:
        request = parse(words)
    from .script import run

    run(request)
