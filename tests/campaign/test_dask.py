"""The stages on a real Dask cluster of several processes: the same results, whatever happens to a worker or the scheduler."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from graphfix.campaign.engines import dask

from .conftest import Campaign, git

pytest.importorskip("distributed")

pytestmark = pytest.mark.deep
BRANCH = "graphfix/autograd"


class Cluster:
    """A scheduler and its workers, each a process of its own as `dask scheduler` and `dask worker` start them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.file = folder / "scheduler.json"
        self.processes = [self.start("scheduler", "--port", "0", "--no-dashboard", "--scheduler-file", str(self.file))]
        until = time.monotonic() + 60
        while not self.file.exists():
            assert time.monotonic() < until, "no scheduler"
            time.sleep(0.1)

    def start(self, *words: str) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "dask", *words]
        return subprocess.Popen(
            command, cwd=self.folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
        )

    def worker(self) -> subprocess.Popen[bytes]:
        """A worker that nobody starts again."""
        words = (
            "--scheduler-file",
            str(self.file),
            "--no-nanny",
            "--nthreads",
            "1",
            "--no-dashboard",
            "--local-directory",
            str(self.folder),
        )
        self.processes.append(self.start("worker", *words))
        return self.processes[-1]

    @property
    def address(self) -> str:
        import json

        address: str = json.loads(self.file.read_text())["address"]
        return address

    def end(self) -> None:
        for process in reversed(self.processes):
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    folder = tmp_path / "cluster"
    folder.mkdir()
    cluster = Cluster(folder)
    yield cluster
    cluster.end()


def results(campaign: Campaign) -> dict[str, bytes]:
    """Every file of the results but the logs, and what the branches hold."""
    folder = campaign.folder / "results"
    files = {
        str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*.*") if path.name not in ("log.txt", ".lock")
    }
    form = "--format=%T %s%n%b"
    return files | {clone.name: git(clone, "log", form, BRANCH).encode() for clone in (campaign.folder / "clones").iterdir()}


def ready(cluster: Cluster, workers: int) -> list[subprocess.Popen[bytes]]:
    from distributed import Client

    started = [cluster.worker() for _ in range(workers)]
    with Client(cluster.address, set_as_default=False) as client:
        client.wait_for_workers(workers, timeout=60)
    return started


def test_a_cluster_gives_what_this_machine_gives(
    campaign: Campaign, cluster: Cluster, loops: SimpleNamespace, command: str
) -> None:
    remotes = [campaign.remote(f"r{number}", {"train.py": loops.both, "old.py": loops.legacy}) for number in range(4)]
    campaign.about(*remotes)
    assert campaign("run").returncode == 0
    other = Campaign(campaign.folder.with_name("other"), campaign.graphfix, campaign.remotes)
    other.about(*remotes)
    first, _ = ready(cluster, 2)
    words = [command, "campaign", "run", str(other.folder), "--engine", "dask", "--scheduler", cluster.address]
    running = subprocess.Popen(words, env=other.environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    until = time.monotonic() + 60
    while not list((other.folder / "results").glob("*/findings.json")):
        assert running.poll() is None and time.monotonic() < until, "nothing was analysed"
        time.sleep(0.05)
    os.killpg(first.pid, signal.SIGKILL)  # in the middle: what it had begun is begun anew
    said, _ = running.communicate(timeout=240)
    assert running.returncode == 0, said.decode()
    assert set(other.stages().values()) == {"branched"}
    mine, theirs = results(campaign), results(other)
    assert len(mine) == 4 * 4 and mine == theirs


def test_a_stage_whose_result_is_here_is_not_done_anew(cluster: Cluster, tmp_path: Path) -> None:
    from distributed import Client

    ready(cluster, 2)
    with dask(cluster.address) as (pool, workers), Client(cluster.address, set_as_default=False) as client:
        assert workers == 2
        held = pool.submit(subprocess.check_output, ["sh", "-c", f"echo begun >> {tmp_path}/file; echo $PPID"])
        os.killpg(int(held.result(timeout=60)), signal.SIGKILL)
        until = time.monotonic() + 60
        while len(client.nthreads()) == 2:
            assert time.monotonic() < until, "nobody misses the worker"
            time.sleep(0.05)
        pool.submit(os.getpid).result(timeout=60)  # the worker that is left does what is older first
    assert (tmp_path / "file").read_text() == "begun\n"


def test_a_stage_that_raises_is_told(cluster: Cluster) -> None:
    ready(cluster, 1)
    with dask(cluster.address) as (pool, _), pytest.raises(ValueError, match="invalid literal"):
        pool.submit(int, "x").result(timeout=60)


def test_without_a_scheduler_the_campaign_goes_on_later(
    campaign: Campaign, cluster: Cluster, loops: SimpleNamespace, command: str
) -> None:
    campaign.about(*[campaign.remote(f"r{number}", {"train.py": loops.total}) for number in range(4)])
    ready(cluster, 1)
    words = [command, "campaign", "run", str(campaign.folder), "--engine", "dask", "--scheduler", cluster.address]
    running = subprocess.Popen(words, env=campaign.environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    until = time.monotonic() + 60
    while not list((campaign.folder / "results").glob("*/findings.json")):
        assert running.poll() is None and time.monotonic() < until, "nothing was analysed"
        time.sleep(0.05)
    os.killpg(cluster.processes[0].pid, signal.SIGKILL)
    said, _ = running.communicate(timeout=240)
    assert running.returncode == 2 and b"graphfix campaign run` again to continue" in said, said.decode()
    assert b"Traceback" not in said
    assert "failed" not in campaign.stages().values()
    assert campaign("run").returncode == 0
    assert set(campaign.stages().values()) == {"branched"}


def test_an_update_on_a_cluster_looks_and_works_there(campaign: Campaign, cluster: Cluster, loops: SimpleNamespace) -> None:
    remotes = [campaign.remote(f"r{number}", {"train.py": loops.total}) for number in range(2)]
    campaign.about(*remotes)
    assert campaign("run").returncode == 0
    campaign.move_on("r1", {"old.py": loops.legacy})
    ready(cluster, 1)
    done = campaign("update", "--engine", "dask", "--scheduler", cluster.address)
    assert done.returncode == 0, done.stderr
    assert [row["repaired"] for row in campaign.report()["rows"]] == [{"GF101": 1}, {"GF101": 1, "GF901": 1}]
    log = campaign.folder / "results/remotes+r0/log.txt"
    assert log.read_bytes().count(b"$ graphfix check") == 1
