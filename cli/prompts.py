"""The dialogue of `graphfix review`: shows a finding and its fix, reads a key, does what it stands for."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from pathlib import Path

import click

from graphfix.cli.keys import keys_at_once, next_key
from graphfix.cli.terminal import OUT
from graphfix.lazy_dataclass import dataclass
from graphfix.model import Applicability, Finding
from graphfix.report.escape import escaped
from graphfix.report.report import count
from graphfix.report.text import UNBROKEN, Piece, indexes_of, story
from graphfix.review.decisions import Choice, Decision
from graphfix.review.lines import as_written, plain, region
from graphfix.review.review import Question, Review
from graphfix.review.reviewed import Refused, texts_with
from graphfix.rewrite.patch import unified

ENTER = ("\r", "\n")
_KEYS = {
    "y": "take this fix",
    "o": "take the other repair, where there are two",
    "n": "leave it as it is",
    "a": "take it, and all of this rule that are as safe",
    "s": "silence it with a comment that says why",
    "e": "edit what the fix makes of it",
    "u": "take the last answer back",
    "r": "read about the rule",
    "q": "stop here and go on another time",
    "?": "show these keys",
}


class Answer(enum.Enum):
    """What came of a question."""

    DECIDED = "decided"
    UNDONE = "undone"
    CONFIRMED = "confirmed"
    STOPPED = "stopped"


@dataclass
class Interview:
    """Asks about one finding after the other. `shown`: the files as the user knows them. `_answered`: the last answer was a key alone."""

    review: Review
    shown: Mapping[str, Path]
    _answered: bool = False

    def greet(self) -> None:
        """Say what there is to decide, and how."""
        files, done = count(len(self.review.files), "file"), len(self.review.decisions)
        OUT.say(f"{count(self.review.waiting(), 'finding')} to decide on in {files}")
        if done:
            OUT.say(f"(going on: {count(done, 'answer')} of last time kept, --restart forgets them)")
        self._legend("".join(_KEYS))

    def ask(self, question: Question) -> Answer:
        """Show the finding until a key has decided on it, taken the last answer back, or stopped."""
        keys = "".join(_KEYS) if question.finding.another is not None else "".join(_KEYS).replace("o", "")
        try:
            after: dict[str, str] | None = texts_with(self.review.files, question.finding)
            # what is edited by hand is one file
            keys = keys if set(after or ()) == {question.path} else keys.replace("e", "")
        except Refused as error:
            keys, after, why = "nsurq?", None, str(error)
        self._show(question, after)
        if after is None:
            OUT.say(f"no fix to apply: {escaped(why)}")
        while True:
            key = self._key(f"{'take it' if after is not None else 'leave it'}? [{','.join(keys)}] ")
            if key in ("q", ""):
                return Answer.STOPPED
            if key not in keys or key == "?":
                self._legend(keys)
            elif key == "r":
                self._page(question.finding.code)
            elif key == "u":
                if self.review.undo():
                    return Answer.DECIDED
                OUT.say("nothing to undo")
            elif self._decided(key, question, after):
                return Answer.DECIDED

    def confirm(self, files: int, *, finished: bool) -> Answer:
        """Whether the files are to be written."""
        words = f"write {count(files, 'file')}{'' if finished else ' so far'}? [y,N{',u' if finished else ''}] "
        OUT.say("")
        key = self._key(words)
        if key == "u" and finished:
            self.review.undo()
            return Answer.UNDONE
        return Answer.CONFIRMED if key == "y" else Answer.STOPPED

    def _decided(self, key: str, question: Question, after: Mapping[str, str] | None) -> bool:
        try:
            if key == "e":
                return self._edited(question, (after or {}).get(question.path, ""))
            decision = self._decision(key, question)
            if decision is None:
                return False
            self.review.decide(decision)
        except Refused as error:
            OUT.say(f"that cannot be done: {escaped(str(error))}")
            return False
        return True

    def _decision(self, key: str, question: Question) -> Decision | None:
        path, mark = question.path, question.mark
        if key == "s":
            reason = self._line("why? ")
            if not reason or not reason.isprintable():
                OUT.say("a comment needs a reason, in plain letters")
                return None
            return Decision(path, mark, Choice.SUPPRESS, reason)
        if key == "a":
            assert question.finding.fix is not None
            return Decision(path, mark, Choice.TAKE, rest=question.finding.fix.applicability)
        return Decision(path, mark, {"y": Choice.TAKE, "o": Choice.OTHER}.get(key, Choice.LEAVE))

    def _edited(self, question: Question, after: str) -> bool:
        """Let the user's editor have the lines; False where nothing came of it."""
        source = question.reviewed.source
        lines = region(source.text, after)
        text = plain(lines.new)
        while True:
            try:
                given = click.edit(text, extension=".py")
            except click.ClickException as error:
                raise Refused(error.format_message()) from error
            if given is None:
                OUT.say("nothing was saved")
                return False
            new = as_written(lines.new, given, source.newline)
            try:
                if new == lines.old:
                    raise Refused("that is what it was; n leaves it so")
                self.review.decide(Decision(question.path, question.mark, Choice.EDIT, old=lines.old, new=new, row=lines.row))
                return True
            except Refused as error:
                OUT.say(f"that cannot be done: {escaped(str(error))}")
            self._answered = False  # the editor came between
            if self._key("edit again? [y,N] ") != "y":
                return False
            text = given

    def _show(self, question: Question, after: Mapping[str, str] | None) -> None:
        finding, source = question.finding, question.reviewed.source
        total = len(self.review.decisions) + self.review.waiting()
        OUT.say("")
        OUT.line((Piece(f"{escaped(str(self.shown[question.path]))}: {len(self.review.decisions) + 1} of {total}", "bold"),))
        for line in story(finding, indexes_of(source), cells=OUT.columns or UNBROKEN):
            OUT.line(line)
        if after is not None:
            for name, text in after.items():
                OUT.patch(unified(name, _shown_bytes(self.review.files[name].source.text), _shown_bytes(text)))
            if _is_unsafe(finding):
                OUT.line((Piece("unsafe: it may change what a run computes; r says what", "bold yellow"),))
            self._show_other(question)

    def _show_other(self, question: Question) -> None:
        """The other repair, where there are two."""
        if question.finding.another is None:
            return
        try:
            texts = texts_with(self.review.files, question.finding.otherwise)
        except Refused as error:
            OUT.say(f"the other repair cannot be made: {escaped(str(error))}")
            return
        OUT.line((Piece(f"or: {escaped(question.finding.another.title)}", "bold"),))
        for name, text in texts.items():
            OUT.patch(unified(name, _shown_bytes(self.review.files[name].source.text), _shown_bytes(text)))

    def _page(self, code: str) -> None:
        from graphfix.cli.rule import page_of

        OUT.raw("\n" + page_of(code).rstrip())

    def _legend(self, keys: str) -> None:
        for key in keys:
            OUT.say(f"  {key}  {_KEYS[key]}")

    def _key(self, prompt: str) -> str:
        """One key press; none where the terminal was closed."""
        with keys_at_once():
            OUT.prompt(prompt)
            key = self._pressed()
            if key in ENTER and self._answered:  # whoever is used to lines ends the answer before with it
                key = self._pressed()
        self._answered = key not in ENTER
        OUT.say(escaped(key) if key.isprintable() else "")
        return key if len(key) == 1 and key.isprintable() else key and " "

    def _pressed(self) -> str:
        try:
            return next_key()
        except EOFError:
            return ""

    def _line(self, prompt: str) -> str:
        try:
            return input(prompt).strip()
        except EOFError:
            OUT.say("")
            return ""


def _is_unsafe(finding: Finding) -> bool:
    return finding.fix is not None and finding.fix.applicability is Applicability.UNSAFE


def _shown_bytes(text: str) -> bytes:
    return plain(text).encode("utf-8", "surrogatepass")
