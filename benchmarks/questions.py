"""Write down what the scans of the syntax tree are asked, with their answers, and compare that with what they answer later.

usage: python -m benchmarks.questions record FILE [NAME...] [--corpus NAME=PATH] [--programs NAME=PATH] [--inner]
       python -m benchmarks.questions compare OLD NEW [--most N]

`record` analyses the corpora as `benchmarks.golden` does for findings, in this process and with nothing that was kept before. FILE gets a line
of JSON for each question: the `scan`, the `corpus`, the main file of the `program` whose flow or runs are asked, the `file` of the first
node that is asked about, what is asked about (`about`: nodes as places, all else as text), the `answer`, and which functions ask (`by`). A
place is "line:column-line:column Type", in front of it the file where it is another one. A text that a repair is tried with is the file
"name@digest". A question that several flows of one program answer in different ways has a line for each answer. What a generator gives is
taken out to its end. Without `--inner` a scan that asks itself is not written down, nor one of its `SCANS` that asks another one.
"""

from __future__ import annotations

import argparse
import ast
import functools
import hashlib
import importlib
import inspect
import json
import pkgutil
import sys
import tempfile
import time
import weakref
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest import mock

from benchmarks.golden.corpora import BadCorpus, Corpus, chosen_from, given, own, write_own
from benchmarks.golden.recording import inside, place
from benchmarks.golden.store import analysed
from graphfix.analysis.flow.flow import Flow
from graphfix.interpreter.frames import Frame
from graphfix.model import Finding
from graphfix.obligations.inquiry import Inquiry, Open
from graphfix.obligations.obligations import Proof
from graphfix.run.again import forget_files
from graphfix.source.decode import read
from graphfix.source.document import Document
from graphfix.source.errors import SourceError

# by name: what stands in front of the first dot is one scan, which may ask its other functions
SCANS = {
    "freed.before": "graphfix.analysis.flow.freed.Freed.before",
    "freed.has_backward": "graphfix.analysis.flow.freed.Freed.has_backward",
    "freed.before_next": "graphfix.analysis.flow.freed.Freed.before_next",
    "freed.handed_on_freed": "graphfix.analysis.flow.freed.Freed.handed_on_freed",
    "freed.walk_follows": "graphfix.analysis.flow.freed.Freed.backward_follows",
    "freed.walked_between": "graphfix.analysis.flow.freed.Freed.backward_between",
    "freed.left_by": "graphfix.analysis.flow.freed.Freed.left_by",
    "swallowed": "graphfix.analysis.flow.swallowed.swallowed",
    "proof.swallowed": "graphfix.obligations.obligations.Proof.swallowed",
    "live.is_live": "graphfix.analysis.second_backward.is_live",
    "read_before_bound": "graphfix.obligations.moved.Moved.read_early",
    "cleared_before": "graphfix.obligations.gradient_readers.Observers.cleared_before",
    "is_past": "graphfix.obligations.unrecorded.Unrecorded.is_past",
    "comes_before": "graphfix.obligations.obligations.Proof.comes_before",
}
# what brings all modules in that take one of these by its name
ASKING = ("graphfix.codemods", "graphfix.obligations.proof", "graphfix.repair.choice", "graphfix.run.engine")
MOST = 20
DIGITS = 8  # of a text's digest
Answers = dict[str, set[str]]


class Files:
    """The documents that the analysis has made, by which a node is found in its file."""

    def __init__(self) -> None:
        self.documents: weakref.WeakSet[Document] = weakref.WeakSet()

    @contextmanager
    def noted(self) -> Iterator[None]:
        begin = Document.__init__

        def made(document: Document, *texts: Any, **named: Any) -> None:
            begin(document, *texts, **named)
            self.documents.add(document)

        with mock.patch.object(Document, "__init__", made):
            yield

    def of(self, node: ast.AST) -> Document | None:
        """The document in which a node stands; None where the node was made for a question."""
        known = sorted(self.documents, key=lambda each: "parents" not in vars(each))  # to index a file takes long
        return next((each for each in known if node in each.parents or node is each.tree), None)


@dataclass
class Notes:
    """Which questions were asked, with their answers, and by whom: all of them as JSON, by `question` and `answer`.

    `asking`: the scans that are answering a question now. `inner`: note also what a scan asks of itself.
    """

    inner: bool = False
    files: Files = field(default_factory=Files)
    corpus: Corpus | None = None
    asking: set[str] = field(default_factory=set)
    asked: dict[tuple[str, str], set[str]] = field(default_factory=lambda: defaultdict(set))

    def watching(self, name: str, scan: Callable[..., Any]) -> Callable[..., Any]:
        """The scan, with a note of each question that it is asked from outside."""
        signature = inspect.signature(scan)
        group = name if self.inner else name.partition(".")[0]

        @functools.wraps(scan)
        def answering(*words: Any, **named: Any) -> Any:
            if group in self.asking:
                return scan(*words, **named)
            caller = asked_by()
            self.asking.add(group)
            try:
                answer = scan(*words, **named)
                is_lazy = inspect.isgenerator(answer)
                answer = list(answer) if is_lazy else answer
            finally:
                self.asking.discard(group)
            self.note(name, told_apart(signature.bind(*words, **named)), answer, caller)
            return iter(answer) if is_lazy else answer

        return answering

    def note(self, scan: str, words: list[Any], answer: Any, caller: str) -> None:
        assert self.corpus is not None
        programs = [each for word in words if (each := program_of(word)) is not None]
        about = [blamed(word, words) for word in words if program_of(word) is None and not isinstance(word, Frame)]
        files = [each for node in nodes_in(about) if (each := self.files.of(node)) is not None]
        home = next(iter([*files, *programs]), None)
        question = {
            "scan": scan,
            "corpus": self.corpus.name,
            "program": self.name_of(programs[0]) if programs else "",
            "file": self.name_of(home) if home is not None else "",
            "about": [self.told(each, home) for each in about],
        }
        self.asked[json.dumps(question), json.dumps(self.told(answer, home))].add(caller)

    def told(self, value: Any, home: Document | None) -> Any:
        """A value as JSON: nodes by their places, in `home` if nothing else is said."""
        if value is None or isinstance(value, (bool, str)):
            return value
        if isinstance(value, ast.AST):
            return self.place_of(value, home)
        if isinstance(value, Open):
            return self.told(value.site, home)
        if isinstance(value, (list, tuple)):
            kind = [type(value).__name__] if hasattr(value, "_fields") else []
            return [*kind, *(self.told(each, home) for each in value)]
        if isinstance(value, (set, frozenset)):
            return sorted((self.told(each, home) for each in value), key=json.dumps)
        return str(value) if isinstance(value, int) else type(value).__name__

    def place_of(self, node: ast.AST, home: Document | None) -> str:
        """Where a node stands, and its kind; the text of one that stands in no file."""
        kind = type(node).__name__
        document = self.files.of(node)
        if document is None:
            return f"{kind} {ast.unparse(node)}"
        where = "" if document is home else f"{self.name_of(document)}:"
        if not hasattr(node, "lineno"):
            return where + kind
        span = document.span(node)
        return f"{where}{place(document.lines, span.start, span.end)} {kind}"

    def name_of(self, document: Document) -> str:
        """The path of a document in its corpus, with a digest where its text is not that of the file."""
        assert self.corpus is not None
        path = Path(document.path)
        name = inside(path, self.corpus.path)
        if document.text == text_at(path):
            return name
        return f"{name}@{hashlib.sha256(document.data).hexdigest()[:DIGITS]}"


@functools.lru_cache(maxsize=256)
def text_at(path: Path) -> str | None:
    try:
        return read(path).text
    except (SourceError, OSError):
        return None


def asked_by() -> str:
    """The function that asks a question: the closest one that is no part of an expression."""
    frame = sys._getframe(2)
    while frame.f_code.co_name.startswith("<") and frame.f_back is not None:
        frame = frame.f_back
    name = getattr(frame.f_code, "co_qualname", frame.f_code.co_name)  # Python 3.11
    return f"{frame.f_globals.get('__name__', '').rpartition('.')[2]}.{name}"


def told_apart(words: inspect.BoundArguments) -> list[Any]:
    """What a scan is given, without what it takes for granted."""
    defaults = {name: each.default for name, each in words.signature.parameters.items()}
    return [word for name, word in words.arguments.items() if word is not defaults[name]]


def program_of(word: Any) -> Document | None:
    """The main file of the program whose flow or runs are given to a scan."""
    if isinstance(word, Inquiry):
        return word.evidence.program.main
    flow = word if isinstance(word, Flow) else getattr(word, "flow", None)
    return next(iter(flow.code.documents.values()), None) if isinstance(flow, Flow) else None


def blamed(word: Any, words: list[Any]) -> Any:
    """A finding by its rule, the ground of its fix and the code that it blames; all else as it is."""
    if not isinstance(word, Finding):
        return word
    proofs = [each.place_of(word) for each in words if isinstance(each, Proof)]
    return [word.code, *([word.fix.ground.name] if word.fix is not None else []), *proofs]


def nodes_in(value: Any) -> Iterator[ast.AST]:
    if isinstance(value, ast.AST):
        yield value
    elif isinstance(value, (list, tuple)):
        for each in value:
            yield from nodes_in(each)


@contextmanager
def watched(notes: Notes) -> Iterator[None]:
    """Note what the scans are asked in the block."""
    for name in ASKING:
        importlib.import_module(name)
    forget_files()  # a document is noted where it is made
    with ExitStack() as patches:
        patches.enter_context(notes.files.noted())
        for name, dotted in SCANS.items():
            scan = pkgutil.resolve_name(dotted)
            watching = notes.watching(name, scan)
            for holder, attribute in holders_of(dotted, scan):
                patches.enter_context(mock.patch.object(holder, attribute, watching))
        yield


def holders_of(dotted: str, scan: Callable[..., Any]) -> list[tuple[Any, str]]:
    """The class or the modules that have a function, and by which name."""
    holder, _, attribute = dotted.rpartition(".")
    within = pkgutil.resolve_name(holder)
    if inspect.isclass(within):
        return [(within, attribute)]
    modules = [module for name, module in sorted(sys.modules.items()) if name.split(".")[0] == "graphfix"]
    return [(module, name) for module in modules for name, each in vars(module).items() if each is scan]


def questions_in(corpora: Iterable[Corpus], notes: Notes) -> None:
    """Ask what an analysis of these corpora asks."""
    with watched(notes):
        for corpus in corpora:
            started = time.perf_counter()
            before = len(notes.asked)
            notes.corpus = corpus
            count = sum(1 for _ in analysed(corpus.programs(), frozenset({"findings"}), workers=1))
            seconds = time.perf_counter() - started
            print(f"{corpus.name}: {len(notes.asked) - before} questions in {count} programs, {seconds:.0f} seconds", flush=True)


def lines_of(notes: Notes) -> list[str]:
    made = [
        {**json.loads(question), "answer": json.loads(answer), "by": sorted(by)} for (question, answer), by in notes.asked.items()
    ]
    return sorted(json.dumps(each, ensure_ascii=False) for each in made)


def answers_in(file: Path) -> dict[str, Answers]:
    """For each scan, the answers to its questions."""
    found: dict[str, Answers] = defaultdict(lambda: defaultdict(set))
    for line in file.read_text("utf-8").splitlines():
        question = json.loads(line)
        answer = json.dumps(question.pop("answer"), ensure_ascii=False)
        question.pop("by")
        found[question["scan"]][shown(question)].add(answer)
    return found


def shown(question: dict[str, Any]) -> str:
    """A question in one line."""
    about = ", ".join(each if isinstance(each, str) else json.dumps(each, ensure_ascii=False) for each in question["about"])
    program = f" of {question['program']}" if question["program"] not in ("", question["file"]) else ""
    return f"{question['corpus']}: {question['file']}{program}: {about}"


def compared(scan: str, old: Answers, new: Answers) -> tuple[Counter[str], list[str]]:
    """How many questions to a scan are answered in the same way, and which are not."""
    counts: Counter[str] = Counter()
    told = []
    for question in sorted(old.keys() | new.keys()):
        before, now = old.get(question), new.get(question)
        kind = "gone" if now is None else "new" if before is None else "same" if before == now else "differ"
        counts[kind] += 1
        if kind == "differ":
            told.append(f"{question}\n      {' | '.join(sorted(before or ()))} -> {' | '.join(sorted(now or ()))}")
    return counts, told


def run_record(options: argparse.Namespace) -> int:
    """Analyse the programs, and write down what the scans are asked."""
    corpora = {each.name: each for each in (*given(options.corpus, apart=False), *given(options.programs, apart=True))}
    notes = Notes(options.inner)
    with tempfile.TemporaryDirectory(prefix="graphfix-questions-") as kept:
        mine = own(Path(kept))
        chosen = chosen_from({**mine, **corpora}, options.names)
        write_own(Path(kept), [each.name for each in chosen if mine.get(each.name) == each])
        questions_in(chosen, notes)
    options.file.write_text("".join(f"{line}\n" for line in lines_of(notes)), "utf-8")
    return 0


def run_compare(options: argparse.Namespace) -> int:
    """Tell which questions are answered otherwise now."""
    old, new = answers_in(options.old), answers_in(options.new)
    found = {scan: compared(scan, old.get(scan, {}), new.get(scan, {})) for scan in sorted(old.keys() | new.keys())}
    kinds = ("same", "differ", "gone", "new")
    print(f"{'':24}" + "".join(f"{kind:>9}" for kind in kinds))
    for scan, (counts, _) in found.items():
        print(f"{scan:24}" + "".join(f"{counts[kind]:>9}" for kind in kinds))
    for scan, (_, told) in found.items():
        if told:
            print("\n".join((f"\n{scan} ({len(told)})", *(f"  {each}" for each in told[: options.most]))))
        if len(told) > options.most:
            print(f"  ... and {len(told) - options.most} more: --most tells them")
    return int(any(counts["same"] < counts.total() for counts, _ in found.values()))


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = made.add_subparsers(required=True)
    record = commands.add_parser("record", description=run_record.__doc__)
    record.set_defaults(run=run_record)
    record.add_argument("file", type=Path)
    record.add_argument("names", nargs="*", metavar="NAME", help="of the corpora; all without any")
    record.add_argument("--corpus", action="append", default=[], metavar="NAME=PATH", help="a project")
    record.add_argument("--programs", action="append", default=[], metavar="NAME=PATH", help="a folder of projects")
    record.add_argument("--inner", action="store_true", help="note also what a scan asks of itself")
    compare = commands.add_parser("compare", description=run_compare.__doc__)
    compare.set_defaults(run=run_compare)
    compare.add_argument("old", type=Path)
    compare.add_argument("new", type=Path)
    compare.add_argument("--most", type=int, default=MOST, metavar="N", help="questions to print of each scan")
    return made


def main(words: Sequence[str] | None = None) -> int:
    options = parser().parse_args(words)
    try:
        return int(options.run(options))
    except (BadCorpus, OSError) as error:
        print(f"questions: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
