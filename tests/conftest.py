"""The installed command, and small training loops to run it on."""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from .served import Server

# what a test says must not hang on what else the machine does
settings.register_profile("graphfix", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("graphfix")
# nor on the git of whoever runs it: settings of the account, and the repository whose hook runs the tests
os.environ |= {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
# nor on the colours that are wanted of the tests; and not each command shall compile all of graphfix, where nothing compiled is kept
for name in ("GIT_DIR", "GIT_INDEX_FILE", "GIT_WORK_TREE", "FORCE_COLOR", "NO_COLOR", "PYTHONDONTWRITEBYTECODE"):
    os.environ.pop(name, None)

# nor on what whoever starts the tests ignores, such as nohup: what has a handler here has none in the commands that are started
for ignored, handler in ((signal.SIGINT, signal.default_int_handler), (getattr(signal, "SIGHUP", None), lambda *_: None)):
    if ignored is not None and signal.getsignal(ignored) is signal.SIG_IGN:
        signal.signal(ignored, handler)

Run = Callable[..., subprocess.CompletedProcess[bytes]]

LOOP = """\
import torch
import torch.nn.functional as F

model = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
total = 0.0
for step in range(3):
    x, y = torch.randn(8, 4), torch.randn(8, 1)
    loss = F.mse_loss(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    {statement}
print(total)
"""


def pytest_collection_finish() -> None:
    """Let no later collection go over all that was imported and collected for the tests: each would take a quarter of a second."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session", autouse=True)
def own_state(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """What graphfix keeps for the user: not with the one who runs the tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))
        patch.setenv("GRAPHFIX_CACHE_DIR", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(scope="session")
def loops() -> SimpleNamespace:
    """Training loops: with one accumulated graph, with one legacy read, with both, with nothing to find; one that runs quickly."""
    total = LOOP.format(statement="total += loss")
    return SimpleNamespace(
        total=total,
        total_fixed=LOOP.format(statement="total += loss.item()"),
        legacy=LOOP.format(statement="print(loss.data[0])"),
        legacy_fixed=LOOP.format(statement="print(loss.item())"),
        both=LOOP.format(statement="print(loss.data[0])\n    total += loss"),
        clean=LOOP.format(statement="pass"),
        # to be run: the first optimizer imports as much as torch itself
        quick="".join(line for line in total.splitlines(keepends=True) if "optimizer" not in line),
    )


@pytest.fixture(scope="session")
def command() -> str:
    """The console script of the Python that runs the tests."""
    script = Path(sys.executable).parent / "graphfix"
    assert script.exists(), "install graphfix first: pip install -e ."
    return str(script)


@pytest.fixture(scope="session")
def server(own_state: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """One process for the commands of many tests."""
    server = Server(tmp_path_factory.mktemp("streams"))
    yield server
    server.end()


@pytest.fixture
def installed(command: str, tmp_path: Path) -> Run:
    """Runs the installed command in the test's folder, in a process of its own."""

    def run(*words: str, cwd: Path = tmp_path, **options: object) -> subprocess.CompletedProcess[bytes]:
        options.setdefault("stdin", subprocess.DEVNULL) if "input" not in options else None
        return subprocess.run([command, *words], cwd=cwd, capture_output=True, timeout=600, **options)  # type: ignore[call-overload]

    return run


@pytest.fixture
def graphfix(server: Server, installed: Run, tmp_path: Path) -> Run:
    """Runs the command line in the test's folder: in a fork where a process of its own would do the same."""

    def run(*words: str, cwd: Path = tmp_path, **options: Any) -> subprocess.CompletedProcess[bytes]:
        environment = options.get("env", os.environ)
        if options.keys() <= {"env", "input"} and server.can(environment):
            return server.run(words, cwd, environment, options.get("input", b""))
        return installed(*words, cwd=cwd, **options)

    return run
