"""The supervisor: restarts what dies, stops in order, leaves nothing behind however it ends."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from service.local.bond import Bond
from service.local.supervisor import ChildBroken, ChildSpec, Supervisor
from tests.servers import poll, runs

SLEEPER = (sys.executable, "-c", "import time; time.sleep(600)")
STUBBORN = (
    sys.executable, "-c",
    "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('deaf', flush=True); time.sleep(600)",
)  # fmt: skip
PARENT = (
    sys.executable, "-c",
    "import subprocess, sys, time\n"
    "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'])\n"
    "print(child.pid, flush=True)\ntime.sleep(600)",
)  # fmt: skip


class Watched:
    """A supervisor with all that it said."""

    def __init__(self, logs: Path) -> None:
        self.said: list[str] = []
        self.bond = Bond()
        self.supervisor = Supervisor(self.bond, logs, self.said.append)


@pytest.fixture
def watched(tmp_path: Path) -> Iterator[Watched]:
    watched = Watched(tmp_path)
    yield watched
    watched.supervisor.stop(hurry=lambda: True)
    watched.bond.close()


def pid_of(child: object) -> int:
    return child.process.pid  # type: ignore[attr-defined]


def test_child_that_dies_is_started_again_and_said_so(watched: Watched) -> None:
    child = watched.supervisor.start(ChildSpec("sleeper", SLEEPER, os.environ))
    watched.supervisor.wait(lambda: child.ready, 10)
    first = pid_of(child)
    os.kill(first, signal.SIGKILL)
    assert watched.supervisor.wait(lambda: child.process is not None and child.process.pid != first and child.ready, 10)
    assert child.restarts == 1
    assert len(watched.said) == 1
    assert "sleeper ended (signal SIGKILL); starting it again" in watched.said[0]


def test_who_is_killed_again_and_again_comes_back_as_soon_as_the_first_time(watched: Watched) -> None:
    child = watched.supervisor.start(ChildSpec("sleeper", SLEEPER, os.environ))
    watched.supervisor.wait(lambda: child.ready, 10)
    for kill in range(1, 4):
        os.kill(pid_of(child), signal.SIGKILL)
        assert watched.supervisor.wait(lambda kill=kill: child.restarts == kill, 10)  # type: ignore[misc]
    assert all("starting it again in 0.2 s" in line for line in watched.said)
    assert len(watched.said) == 3


def test_grandchildren_of_a_child_that_dies_are_ended_before_it_starts_again(watched: Watched, tmp_path: Path) -> None:
    child = watched.supervisor.start(ChildSpec("parent", PARENT, os.environ))
    log = tmp_path / "parent.log"
    watched.supervisor.wait(lambda: log.read_text().endswith("\n"), 10)
    grandchild = int(log.read_text())
    assert runs(grandchild)
    os.kill(pid_of(child), signal.SIGKILL)
    watched.supervisor.wait(lambda: child.restarts == 1, 10)
    poll(lambda: not runs(grandchild))


def test_restarts_come_slower_and_slower_and_a_child_that_never_works_is_broken(watched: Watched) -> None:
    command = (sys.executable, "-c", "import sys; sys.exit('cannot: no such thing')")
    child = watched.supervisor.start(ChildSpec("broken", command, os.environ, ready=lambda _: False, patience=3))
    with pytest.raises(ChildBroken, match="broken does not start: cannot: no such thing"):
        watched.supervisor.wait(lambda: False, 20)
    assert child.failures == 3
    assert "in 0.2 s" in watched.said[0]
    assert "in 0.4 s" in watched.said[1]


def test_child_that_worked_once_is_never_given_up(watched: Watched) -> None:
    command = (sys.executable, "-c", "import time; time.sleep(0.3)")
    child = watched.supervisor.start(ChildSpec("brief", command, os.environ, patience=1))
    assert watched.supervisor.wait(lambda: child.restarts >= 2, 20)


def test_stop_goes_from_the_last_to_the_first(watched: Watched, tmp_path: Path) -> None:
    order = tmp_path / "order"
    code = (
        "import signal, sys, time\n"
        "def end(*_):\n    open(sys.argv[1], 'a').write(sys.argv[2])\n    sys.exit()\n"
        "signal.signal(signal.SIGTERM, end)\nprint('ready', flush=True)\ntime.sleep(600)"
    )
    for name in "abc":
        watched.supervisor.start(ChildSpec(name, (sys.executable, "-c", code, str(order), name), os.environ))
    watched.supervisor.wait(lambda: all((tmp_path / f"{name}.log").read_text() for name in "abc"), 10)
    watched.supervisor.stop()
    assert order.read_text() == "cba"
    assert watched.said == []


def test_stop_ends_what_does_not_listen(watched: Watched, tmp_path: Path) -> None:
    child = watched.supervisor.start(ChildSpec("deaf", STUBBORN, os.environ, stop_seconds=0.3))
    watched.supervisor.wait(lambda: (tmp_path / "deaf.log").read_text(), 10)
    process_id = pid_of(child)
    watched.supervisor.stop()
    assert not runs(process_id)
    assert watched.said == ["deaf does not stop by itself; ending it"]


def test_log_of_the_last_time_is_kept_beside_the_new_one(watched: Watched, tmp_path: Path) -> None:
    (tmp_path / "sleeper.log").write_text("yesterday\n")
    watched.supervisor.start(ChildSpec("sleeper", SLEEPER, os.environ))
    assert (tmp_path / "sleeper.log").read_text() == ""
    assert (tmp_path / "sleeper.log.1").read_text() == "yesterday\n"


SUPERVISING = f"""
import os, pathlib, sys
from service.local.bond import Bond
from service.local.supervisor import ChildSpec, Supervisor
folder = pathlib.Path(sys.argv[1])
bond = Bond()
supervisor = Supervisor(bond, folder, print)
supervisor.start(ChildSpec("sleeper", {SLEEPER!r}, os.environ))
supervisor.start(ChildSpec("parent", {PARENT!r}, os.environ))
supervisor.wait(lambda: (folder / "parent.log").read_text().endswith("\\n"))
children = [child.process.pid for child in supervisor.children]
print(*children, (folder / "parent.log").read_text().strip(), bond.keeper, flush=True)
supervisor.wait(lambda: False)
"""


@pytest.mark.parametrize("without_keeper", [False, True], ids=["keeper", "kernel"])
def test_children_of_a_killed_supervisor_end_within_five_seconds(tmp_path: Path, without_keeper: bool) -> None:
    supervisor = subprocess.Popen([sys.executable, "-c", SUPERVISING, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    with supervisor:
        assert supervisor.stdout is not None
        sleeper, parent, grandchild, keeper = (int(word) for word in supervisor.stdout.readline().split())
        family = [sleeper, parent] if without_keeper else [sleeper, parent, grandchild, keeper]
        assert all(runs(each) for each in [*family, grandchild, keeper])
        if without_keeper:
            # Both at once, so that no other keeper takes over: only the kernel is left to end the direct children.
            supervisor.send_signal(signal.SIGSTOP)
            os.kill(keeper, signal.SIGKILL)
        supervisor.kill()
    try:
        poll(lambda: not any(runs(each) for each in family), 5.0)
    finally:
        if runs(grandchild):
            os.kill(grandchild, signal.SIGKILL)
