"""The promises over the packages that most people have: what Python code looks like, with and without torch.

usage: python3 -m benchmarks.packages FOLDER [--index URL] [--count N] [--no-torch] [--jobs N]

Downloads wheels with pip, without what they need, into FOLDER (nothing of them is installed or run), unpacks their Python
files and notebooks, runs `graphfix check --no-cache` over each package, and repairs in memory all files with findings, under
safe and under all fixes. Exit 1 where there is

- a crash, or an internal error of a file or a rule;
- a file that is refused: too deep, too large, or beyond the time and memory of one file;
- a repaired file that does not parse, or that a second run would change once more;
- a safe fix in a file that does not spell torch.

Files whose analysis budget ran out are told, too: what was found in them until then stands.
"""

from __future__ import annotations

import argparse
import collections
import os
import subprocess
import sys
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from benchmarks.real_code import sampled
from graphfix.model import Applicability
from graphfix.run.examine import Job, examine
from graphfix.run.outcome import Outcome, Status
from graphfix.run.selection import Wanted
from graphfix.run.workers import examine_all, processors
from graphfix.source.decode import decode
from graphfix.source.errors import SourceError
from graphfix.source.guard import parses

# 300 of the 387 that are downloaded most, by the monthly list of the 15,000 first packages of PyPI: most downloaded first; those that
# the mirror at hand had no wheel of are left out, and those about torch stand below
PACKAGES = """
boto3 packaging urllib3 certifi idna requests typing-extensions charset-normalizer setuptools botocore cryptography
python-dateutil six pyyaml pydantic pygments cffi click numpy pluggy pycparser pydantic-core anyio s3transfer attrs protobuf
h11 pytest annotated-types iniconfig fsspec httpx httpcore typing-inspection pandas pip markupsafe platformdirs python-dotenv
pathspec pyjwt jinja2 rich jmespath markdown-it-py aiohttp filelock importlib-metadata yarl starlette multidict jsonschema
zipp uvicorn propcache wheel mdurl pyasn1 pytz google-auth googleapis-common-protos frozenlist fastapi rpds-py tqdm
annotated-doc aiosignal referencing jsonschema-specifications trove-classifiers tzdata google-api-core aiohappyeyeballs pillow
virtualenv greenlet colorama pyasn1-modules typer grpcio opentelemetry-sdk tenacity wrapt requests-oauthlib opentelemetry-api
pyarrow websockets python-multipart scipy sniffio pydantic-settings sqlalchemy pyparsing shellingham tomli lxml beautifulsoup4
oauthlib soupsieve psutil regex cachetools openai exceptiongroup hatchling opentelemetry-proto more-itertools
requests-toolbelt watchfiles rsa tomlkit proto-plus distro distlib jiter mcp websocket-client mypy-extensions
opentelemetry-exporter-otlp-proto-http langchain openpyxl et-xmlfile sse-starlette wcwidth editables coverage docutils
huggingface-hub dnspython werkzeug networkx redis gitpython google-genai msgpack psycopg2-binary pyopenssl ptyprocess
decorator python-discovery opentelemetry-exporter-otlp-proto-common smmap pexpect ruff docker pynacl sortedcontainers keyring
docstring-parser uvloop httptools fonttools multiprocess tabulate gitdb matplotlib isodate httpx-sse prompt-toolkit
jaraco-classes secretstorage jeepney scikit-learn itsdangerous flask hf-xet bcrypt jaraco-functools kiwisolver jaraco-context
dill joblib pytest-cov pytest-asyncio contourpy alembic orjson email-validator deprecated google-crc32c chardet ruamel-yaml
defusedxml threadpoolctl tokenizers blinker tiktoken mako cycler tzlocal toml mypy google-api-python-client sympy jsonpointer
poetry-core nodeenv xxhash pyproject-hooks zstandard ipython uritemplate prometheus-client google-auth-oauthlib asn1crypto
google-auth-httplib2 rapidfuzz build traitlets paramiko httplib2 identify pre-commit cfgv jedi aiofiles parso backoff
executing h2 marshmallow hyperframe fastjsonschema hpack matplotlib-inline sqlparse mpmath jsonpatch asttokens setuptools-scm
gunicorn anthropic babel cloudpickle authlib pure-eval stack-data black datasets pytest-xdist langchain-core asgiref tornado
webencodings cython nest-asyncio execnet librt termcolor python-json-logger pyee markdown playwright pyzmq cachecontrol
importlib-resources joserfc vcs-versioning pymongo watchdog debugpy typing-inspect isort structlog pycryptodome tinycss2
pytest-mock asyncpg mdit-py-plugins pymysql langsmith lz4 jupyter-core jsonschema-path flatbuffers narwhals cyclopts mccabe
jupyter-client pyperclip xlsxwriter sphinx deepdiff invoke loguru ipykernel psycopg pytokens pygithub pathable python-slugify
comm rfc3339-validator text-unidecode arrow brotli pycodestyle cattrs rich-rst jsonref
""".split()
# of the same list those that are about torch, each among the first 1,400
WITH_TORCH = "torch transformers accelerate sentence-transformers einops timm torchmetrics peft pytorch-lightning".split()
KINDS = (".py", ".ipynb")


@dataclass
class Tally:
    """What the run over all packages has shown."""

    files: int = 0
    status: collections.Counter[str] = field(default_factory=collections.Counter)
    codes: collections.Counter[str] = field(default_factory=collections.Counter)
    repaired: int = 0
    faults: list[str] = field(default_factory=list)
    cut_short: list[str] = field(default_factory=list)

    def add(self, outcome: Outcome, name: str) -> None:
        """Count what was found in a file, and what must not be."""
        self.files += 1
        self.status[outcome.status.value] += 1
        self.codes.update(finding.code for finding in outcome.findings)
        self.add_faults(outcome, name)
        if outcome.status is Status.SKIPPED or outcome.unfinished.endswith("seconds"):
            self.faults.append(f"{name}: refused: {outcome.unfinished or outcome.reason}")
        elif outcome.unfinished:
            self.cut_short.append(f"{name}: {outcome.unfinished}")
        safe = [one for one in outcome.findings if one.fix is not None and one.fix.applicability is Applicability.SAFE]
        if safe and b"torch" not in outcome.path.read_bytes():
            self.faults += [f"{name}: a safe fix of {one.code}, and no torch" for one in safe]

    def add_faults(self, outcome: Outcome, name: str) -> None:
        """Remember what is a fault of graphfix."""
        self.faults += [f"{name}: {outcome.reason}"] if outcome.status is Status.INTERNAL else []
        self.faults += [f"{name}: {code} {why}" for code, why in outcome.faults]
        self.faults += [f"{name}: {finding.code} {why}" for finding, why in outcome.broken]


def downloaded(names: Sequence[str], folder: Path, index: str | None) -> Iterator[Path]:
    """The wheel of each package that has one: of a source, pip would run what builds it."""
    folder.mkdir(parents=True, exist_ok=True)
    where = ["--index-url", index] if index else []
    for name in names:
        target = folder / name
        if not target.is_dir():
            command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:", *where]
            done = subprocess.run([*command, "--dest", str(target), name], check=False, capture_output=True, text=True)
            if done.returncode:
                print(f"{name}: not downloaded: {done.stderr.strip().splitlines()[-1:]}", file=sys.stderr)
                continue
        yield from (path for path in target.iterdir() if path.is_file())


def unpack(wheel: Path, folder: Path) -> None:
    """The Python files and notebooks of a wheel."""
    with zipfile.ZipFile(wheel) as archive:
        for name in archive.namelist():
            if name.endswith(KINDS):
                archive.extract(name, folder)  # which stays in the folder, whatever the name says


def check(package: Path, tally: Tally) -> None:
    """Run the command over a package: it ends with findings, without, or with files that it cannot read, and never otherwise."""
    command = [sys.executable, "-m", "graphfix", "check", "--no-cache", "--isolated", "--quiet", str(package)]
    done = subprocess.run(command, check=False, capture_output=True, text=True, errors="replace")
    said = [line for line in done.stderr.splitlines() if "internal error" in line or "Traceback" in line]
    tally.faults += [f"{package.name}: {line}" for line in said]
    if done.returncode not in (0, 1, 2):
        tally.faults.append(f"{package.name}: exit code {done.returncode}")


def examine_package(package: Path, tally: Tally, jobs: int) -> None:
    """Look for findings in all files, and repair those that have any."""
    job = Job((package,), Wanted(unsafe=True), ahead=True)
    found = []
    for outcome in examine_all(sampled(package, 0), job, jobs):
        tally.add(outcome, named(outcome, package))
        found += [outcome.path] if outcome.findings else []
    for unsafe in (False, True):
        repairing = replace(job, wanted=Wanted(unsafe=unsafe), repair=True, ahead=False)
        for outcome in examine_all(found, repairing, jobs):
            tally.add_faults(outcome, named(outcome, package))
            if outcome.changed:
                tally.repaired += 1
                tally.faults += [f"{named(outcome, package)}: {fault}" for fault in faults_of(outcome, repairing)]


def faults_of(outcome: Outcome, job: Job) -> Iterator[str]:
    """What is wrong with a repaired file."""
    try:
        source = decode(outcome.path, outcome.after)
    except SourceError as error:
        yield f"repaired, it is not read: {error.reason}"
        return
    if not parses(source.text):
        yield "repaired, it does not parse"
    elif examine(outcome.path, job, outcome.after).changed:
        yield "repaired, it is repaired once more"


def named(outcome: Outcome, package: Path) -> str:
    return outcome.path.relative_to(package.parent).as_posix()


def main(words: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--index", metavar="URL", help="a package index other than the one that pip is set up for")
    parser.add_argument("--count", type=int, default=len(PACKAGES), metavar="N", help="of the first packages no more than N")
    parser.add_argument("--torch", action=argparse.BooleanOptionalAction, default=True, help="those about torch, too")
    parser.add_argument("--jobs", type=int, default=processors(), metavar="N")
    options = parser.parse_args(words)
    unpacked = options.folder / "unpacked"
    tally = Tally()
    names = [*PACKAGES[: options.count], *(WITH_TORCH if options.torch else ())]
    for wheel in downloaded(names, options.folder / "wheels", options.index):
        package = unpacked / wheel.parent.name
        if not package.is_dir():
            unpack(wheel, package)
        if package.is_dir():  # there are wheels without Python
            before = len(tally.faults)
            check(package, tally)
            examine_package(package, tally, options.jobs)
            print(f"{tally.files:6} files: {package.name}", *tally.faults[before:], sep="\n! ", file=sys.stderr, flush=True)
    print(f"{tally.files} files; " + ", ".join(f"{count} {status}" for status, count in sorted(tally.status.items())))
    print(f"findings: {dict(sorted(tally.codes.items()))}; {tally.repaired} repairs of files")
    print(f"{len(tally.cut_short)} files cut short", *tally.cut_short, sep="\n  ")
    print(f"{len(tally.faults)} faults", *tally.faults, sep="\n! ")
    return 1 if tally.faults else 0


if __name__ == "__main__":
    os.environ.setdefault("PIP_DISABLE_PIP_VERSION_CHECK", "1")
    sys.exit(main())
