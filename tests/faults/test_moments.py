"""Processes are killed at chosen moments, by the proxy that sees them coming."""

import signal
import threading

import psutil
import pytest

from tests.faults.proxy import Command, Moment, cut, grants_work, kill_sender, refuse
from tests.faults.yard import CHUNKS, Up, Yard
from tests.servers import poll

KILLS = 3


@pytest.mark.usefixtures("up")
@pytest.mark.parametrize(
    ("name", "moment"),
    [("claim", "after"), ("record", "before"), ("record", "after"), ("claim", "before")],
    ids=["claimed, not played", "played, not recorded", "recorded, not told", "recorded, nothing claimed"],
)
def test_playing_processes_killed_around_a_chunk(yard: Yard, name: str, moment: Moment) -> None:
    trial = yard.begin()
    where = grants_work if (name, moment) == ("claim", "after") else lambda _: True
    rule = yard.proxy.at(name, moment, kill_sender, times=KILLS, after=CHUNKS // 8, where=where)
    trial.prove()
    assert rule.hits == KILLS
    if (name, moment) in (("claim", "after"), ("record", "before")):
        # Each of the killed held a chunk that nobody else knew.
        assert trial.count("abandoned") >= KILLS


@pytest.mark.usefixtures("up")
@pytest.mark.parametrize(
    ("name", "moment"),
    [("fold_begin", "after"), ("fold_read", "after"), ("fold_write", "before"), ("fold_write", "after")],
    ids=["locked", "read", "summed, not written", "written, not told"],
)
def test_whoever_folds_is_killed_around_the_fold(yard: Yard, up: Up, name: str, moment: Moment) -> None:
    trial = yard.begin()
    victims: list[int] = []

    def kill_folder(command: Command) -> None:
        victims.append(command.sender())
        kill_sender(command)

    # The API, the workers' parents and the scheduler all fold; the supervisor brings back whichever it was.
    rule = yard.proxy.at(name, moment, kill_folder, times=2, after=2)
    poll(lambda: rule.done == 2)
    trial.prove()
    poll(lambda: len(up.children()) == 5 and up.is_ready(), 120)
    assert len(set(victims)) == 2
    assert not set(victims) & {child.pid for child in up.children().values()}


@pytest.mark.usefixtures("up")
@pytest.mark.parametrize("moment", ["before", "after"])
@pytest.mark.parametrize("name", ["claim", "record", "sweep", "fold_write"])
def test_connections_cut_around_a_script(yard: Yard, name: str, moment: Moment) -> None:
    trial = yard.begin()
    rule = yard.proxy.at(name, moment, cut, times=4, after=3)
    trial.prove()
    assert rule.hits == 4


@pytest.mark.usefixtures("up")
def test_messages_whose_end_cannot_be_told_do_not_stop_the_worker(yard: Yard) -> None:
    trial = yard.begin()
    # Celery tells the end of a message by HDEL; so many of them would fill every place that the worker has for messages.
    rule = yard.proxy.at("hdel", "before", cut, times=12, after=1)
    trial.prove()
    assert rule.hits == 12


@pytest.mark.usefixtures("up")
def test_redis_refuses_now_and_then(yard: Yard) -> None:
    trial = yard.begin()
    rules = [
        yard.proxy.at(name, "before", refuse(error), times=3, after=5)
        for name, error in (
            ("record", "OOM command not allowed"),
            ("claim", "LOADING Redis is loading"),
            ("fold_write", "BUSY"),
        )
    ]
    trial.prove()
    assert [rule.hits for rule in rules] == [3, 3, 3]


@pytest.mark.usefixtures("up")
def test_a_process_stopped_until_its_lease_has_run_out_comes_back_late(yard: Yard) -> None:
    trial = yard.begin(pace=0.05)
    stopped: list[tuple[psutil.Process, Command]] = []
    has_stopped = threading.Event()

    def stop_sender(command: Command) -> None:
        process = psutil.Process(command.sender())
        process.send_signal(signal.SIGSTOP)
        stopped.append((process, command))
        has_stopped.set()

    # It has its chunk played and sends the result; the proxy swallows that, and it is stopped before it can send it again.
    def stop_and_cut(command: Command) -> None:
        stop_sender(command)
        cut(command)

    yard.proxy.at("record", "before", stop_and_cut, after=10)
    assert has_stopped.wait(60)
    process, command = stopped[0]
    first, last = (int(word) for word in command.arguments[3:5])
    poll(lambda: (first, last) in yard.witness.recorded(trial.job_id))
    assert trial.count("abandoned") >= 1
    assert not trial.ledger.job(trial.job_id).is_finished
    process.send_signal(signal.SIGCONT)
    trial.prove()
    assert trial.count("duplicate") >= 1
