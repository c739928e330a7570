"""A pasted text as the errors in it: tracebacks of Python, IPython, rich and pytest, alone or within logs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import field, replace

from graphfix.lazy_dataclass import dataclass
from graphfix.why.clean import lines_of, without_prefix
from graphfix.why.errors import Frame, Trouble

MAX_FRAMES = 2_000
MAX_MESSAGE = 40

_ROW = r"(?P<row>\d{1,9})"
_PATH = r"(?P<file>(?:~|\.{0,2}|[A-Za-z]:)?[\\/]?[^\s:*?\"<>|()\[\]](?:[^:*?\"<>|\n]*?[^\s:*?\"<>|])??)"
_PYTHON = re.compile(rf"File \"(?P<file>[^\"]+)\", line {_ROW}(?:,? in (?P<function>.+))?")
_CELL = re.compile(rf"(?:Cell|Input) In ?\[(?P<cell>\d{{1,9}})\](?:, line {_ROW})?(?:,? in (?P<function>.+))?$")
_CELL_FILE = re.compile(
    r"(?P<file><ipython-input-(?P<cell>\d{1,9})-[^>]*>|\S*[\\/]ipykernel_\d+[\\/]\d+\.py"
    r"|\S*[\\/]ipython-input-(?P<other>\d{1,9})-\S*\.py|\S*[\\/]ipython-input-\d+\.py)"  # Colab of late tells a hash alone
    r" in (?P<function>.+)$"
)
_DATABRICKS = re.compile(rf"File <command-\d+>(?:, line |:){_ROW}(?:,? in (?P<function>.+))?$")
_IPYTHON = re.compile(rf"File {_PATH}:{_ROW}(?:,? in (?P<function>.+))?$")
_IPYTHON_OLD = re.compile(r"(?P<file>(?:~|\.{0,2}|[A-Za-z]:)?[\\/]\S*\.py) in (?P<function>[\w.<>]+\(.*\)|<[\w ]+>)$")
_RICH = re.compile(rf"{_PATH}:{_ROW} in (?P<function>[\w.<>]+)$")
_BROKEN = re.compile(r"(?:/|~|[A-Za-z]:\\)\S*(?::\d+(?: in)?)?$")
_PYTEST = re.compile(rf"(?P<file>[^\s:*?\"<>|]+\.py):{_ROW}:\s?(?:in (?P<function>\S+)|(?P<type>[A-Z]\w*)?)$")
_ARROW = re.compile(rf"(?:-+>|❱|>)\s*{_ROW}(?:\s(?P<code>.*))?$")
_ERROR = re.compile(
    r"(?P<type>(?:[A-Za-z_]\w*\.)*[A-Z]\w*(?:Error|Exception|Interrupt|Exit|Group|Iteration|Warning|Failure|Timeout))"
    r"(?P<told>:(?:\s+(?P<message>.*))?)?$"
)
_WARNING = re.compile(rf"{_PATH}:{_ROW}: (?P<type>(?:[A-Za-z_]\w*\.)*[A-Z]\w*Warning): (?P<message>.*)$")
_BOX = re.compile(r"^\s*[│┃|]\s?(?P<inner>.*?)\s*[│┃|]?\s*$")
_BOX_EDGE = re.compile(r"^\s*[╭╰┌└+]?[─━-]{2,}.*[╮╯┐┘+]\s*$")
_HEADER = re.compile(r"Traceback \(most recent call last\)|Traceback of TorchScript|^-{60,}$")
_FORWARD = re.compile(r"Traceback of forward call that (?P<which>caused|induced)")
_MARKS = re.compile(r"[\s~^│└┘├─╰|]*$")
_RULER = re.compile(r"\s*[-=_*#]{10,}\s*$")
_NUMBERED = re.compile(r"\s*\d+(?:\s|$)")
_LEVELS = re.compile(r"^[\s|+]*")


@dataclass
class _Reading:
    """What has been read up to some line."""

    found: list[Trouble] = field(default_factory=list)
    frames: list[Frame] = field(default_factory=list)
    made: tuple[Frame, ...] = ()
    is_forward: bool = False
    prefix: str = ""
    awaits_code: bool = False
    message: int = 0
    noted: str = ""
    is_warned: bool = False

    def start(self) -> None:
        """A traceback begins."""
        self._keep_forward()
        self.frames, self.message, self.awaits_code = [], 0, False

    def forward(self, *, first: bool) -> None:
        """What follows is where a node was made, not where an error was raised."""
        self.start()
        self.is_forward = first

    def _keep_forward(self) -> None:
        if self.is_forward:
            self.made, self.is_forward = tuple(self.frames), False

    def add(self, frame: Frame, *, awaits_code: bool = True) -> None:
        self.message = 0
        if len(self.frames) < MAX_FRAMES:
            self.frames.append(frame)
        self.awaits_code = awaits_code

    def code(self, text: str) -> None:
        """The source line of the last frame."""
        self.awaits_code = False
        if self.frames and not self.frames[-1].code:
            self.frames[-1] = replace(self.frames[-1], code=text.strip())

    def row(self, row: int, code: str) -> None:
        """The line that an arrow points at: the place of the last frame, if that has none yet."""
        if self.frames and self.frames[-1].row in (0, row):
            self.frames[-1] = replace(self.frames[-1], row=row, code=self.frames[-1].code or code.strip())
        self.awaits_code = False

    def error(self, kind: str, message: str) -> None:
        """The traceback ends in this error."""
        self._keep_forward()
        self.found.append(Trouble(kind, message, tuple(self.frames), self.made))
        self.frames, self.message, self.awaits_code, self.made = [], MAX_MESSAGE, False, ()

    def more(self, text: str) -> None:
        """The message goes on."""
        self.message -= 1
        last = self.found[-1]
        self.found[-1] = replace(last, message=f"{last.message}\n{text}")

    def warned(self, frame: Frame, kind: str, message: str) -> None:
        """A warning, whose source line may follow."""
        self.found.append(Trouble(kind, message, (frame,), is_warning=True))
        self.message, self.is_warned = 0, True

    def warned_at(self, text: str) -> None:
        """The source line of the last warning."""
        last = self.found[-1]
        self.found[-1] = replace(last, frames=(replace(last.frames[0], code=text.strip()),))

    def ended_at(self, frame: Frame, kind: str) -> bool:
        """pytest names the place of an error after the error: whether it does so here."""
        if self.found and not self.frames and self.found[-1].type.rpartition(".")[2] == kind:
            last = self.found[-1]
            self.found[-1] = replace(last, frames=(*last.frames, replace(frame, code=self.noted)))
            return True
        return False


def troubles(text: str) -> list[Trouble]:
    """All errors that the text shows, in order; an error that nobody names by type has its frames only. Raises nothing."""
    reading = _Reading()
    for line in _unfolded(lines_of(text)):
        _read(reading, line)
    if reading.frames and not reading.is_forward:
        reading.error("", "")
    elif reading.is_forward:
        reading.error("", "")
    return reading.found


def _unfolded(lines: list[str]) -> Iterator[str]:
    """The lines without the box that rich draws, and with the paths that it broke put together."""
    held = ""
    for line in lines:
        if _BOX_EDGE.match(line):
            held = ""
            yield "Traceback (most recent call last)" if "Traceback" in line else ""
            continue
        match = _BOX.match(line) if line.lstrip()[:1] in ("│", "┃") or line.lstrip().startswith("| ") else None
        if match is None or (line.lstrip()[:1] == "|" and not line.rstrip().endswith("|")):
            held = ""
            yield line
            continue
        inner = match["inner"].strip() if held else match["inner"]
        whole = next((joined for joined in (held + inner, f"{held} {inner}") if held and _RICH.match(joined)), "")
        held = ""
        if whole:
            yield whole
            continue
        if _BROKEN.match(inner.strip()):
            held = inner.strip()
        yield inner


def _read(reading: _Reading, line: str) -> None:
    after_warning, reading.is_warned = reading.is_warned, False
    forward = _FORWARD.search(line)
    if forward is not None:
        reading.forward(first=forward["which"] == "caused")
        return
    frame = _PYTHON.search(line)
    if frame is not None:
        _python_frame(reading, line, frame)
        return
    if _HEADER.search(line):
        reading.start()
        reading.prefix = line[: line.find("Traceback")] if "Traceback" in line else ""
        # `RuntimeError      Traceback (most recent call last)` is how IPython begins
        return
    if line.lstrip().startswith("(Triggered internally"):
        reading.start()
        return
    bare = _without(line, reading.prefix)
    if not reading.frames and not reading.is_forward and _warned(reading, bare, is_next=after_warning):
        return
    if _placed(reading, bare.strip()) or _pointed(reading, bare):
        return
    if not reading.awaits_code and not reading.message and not bare.startswith((" ", "\t")) or _is_error(bare, reading):
        if _ended(reading, bare):
            return
    if reading.awaits_code:
        if bare.strip() and not _MARKS.match(bare) and not _NUMBERED.match(bare):
            reading.code(bare)
        return
    if reading.message and reading.found:
        if bare.strip() and not _RULER.match(bare):
            reading.more(bare.strip())
        else:
            reading.message = 0


def _warned(reading: _Reading, line: str, *, is_next: bool) -> bool:
    """Whether the line is a warning, or the end of its message, or the source line that Python prints after one."""
    if is_next and "(Triggered internally at" in line:
        reading.more(line.strip())
        reading.message, reading.is_warned = 0, True
        return True
    if is_next and line.startswith("  ") and line.strip():
        reading.warned_at(line)
        return True
    match = _WARNING.match(line)
    if match is None:
        return False
    reading.warned(Frame(match["file"], int(match["row"])), match["type"], match["message"].strip())
    return True


def _is_error(line: str, reading: _Reading) -> bool:
    if reading.awaits_code and line.startswith((" ", "\t")):
        return False  # it is the code of a frame, such as `raise ValueError`
    return _ERROR.match(_LEVELS.sub("", line)) is not None


def _python_frame(reading: _Reading, line: str, match: re.Match[str]) -> None:
    before = line[: match.start()]
    # a traceback indents its frames by two
    reading.prefix = before[:-2] if before.endswith("  ") else before
    reading.add(Frame(match["file"].strip(), int(match["row"]), _name(match["function"])))


def _placed(reading: _Reading, line: str) -> bool:
    """Whether the line names a place in the manner of IPython, rich or pytest, which then is a frame."""
    match = _CELL.match(line)
    if match is not None:
        reading.add(Frame("", int(match["row"] or 0), _name(match["function"]), cell=int(match["cell"])))
        return True
    match = _CELL_FILE.match(line)
    if match is not None:
        number = match["cell"] or match["other"]
        reading.add(Frame("", 0, _name(match["function"]), cell=int(number) if number else -1), awaits_code=False)
        return True
    match = _DATABRICKS.match(line)
    if match is not None:
        reading.add(Frame("", int(match["row"]), _name(match["function"]), cell=-1), awaits_code=True)
        return True
    match = _PYTEST.match(line)
    if match is not None:
        frame = Frame(match["file"], int(match["row"]), match["function"] or "", reading.noted if not match["function"] else "")
        if not (match["type"] and reading.ended_at(frame, match["type"])):
            reading.add(frame, awaits_code=bool(match["function"]))
        reading.noted = ""
        return True
    match = _IPYTHON.match(line) or _RICH.match(line)
    if match is not None:
        reading.add(Frame(match["file"], int(match["row"]), _name(match["function"])))
        return True
    match = _IPYTHON_OLD.match(line)
    if match is not None:
        reading.add(Frame(match["file"], 0, _name(match["function"])), awaits_code=False)
        return True
    return False


def _pointed(reading: _Reading, line: str) -> bool:
    """Whether the line has an arrow to the place of the frame above, or pytest's mark of the line that it stands in."""
    match = _ARROW.match(line.strip())
    if match is not None:
        reading.row(int(match["row"]), (match["code"] or "").lstrip("│ "))
        return True
    if re.match(r">\s{2,}\S", line):
        reading.noted = line[1:].strip()
        return True
    return False


def _ended(reading: _Reading, line: str) -> bool:
    """Whether the line is that of an error, by which the traceback ends."""
    text = _LEVELS.sub("", line)
    is_pytest = re.match(r"E\s{2,}", text)
    if is_pytest:
        text = text[is_pytest.end() :]
    match = _ERROR.match(text)
    if match is None or not (match["told"] or reading.frames or is_pytest):
        return False
    if match["type"].endswith("Warning") and not reading.frames:
        return False
    reading.error(match["type"], (match["message"] or "").strip())
    return True


def _without(line: str, prefix: str) -> str:
    """The line without the prefix that its traceback has, be it with other digits, or without what loggers usually write."""
    head = line[: len(prefix)]
    if prefix.strip() and _shape(head) == _shape(prefix):
        return line[len(prefix) :]
    return line if line[:1] in (" ", "\t") else without_prefix(line)


def _shape(text: str) -> str:
    return re.sub(r"\d", "0", text)


def _name(function: str | None) -> str:
    """The name of the function in what a traceback says of it: `train(model, x)`, `<cell line: 5>()`."""
    name = (function or "").strip()
    if name.startswith("<"):
        return name.partition(">")[0] + ">"
    return name.partition("(")[0].strip()
