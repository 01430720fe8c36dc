"""Commands on jobs, against a real API on a real Redis, with a worker's work done by hand."""

import csv
import io
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import orjson
import pytest

from service.client import Client
from tests.service.cli.conftest import Command
from tests.service.running import Hands, Service

JOB = {
    "name": "a small one", "seed": 7, "labels": {"branch": "main"},
    "scenarios": [{"policies": ["heaviest", "random"], "matches": 40}],
    "matrix": {"players": [3], "policies": ["random", {"prefer": ["double", "heaviest"]}], "matches": 9},
}  # fmt: skip


@pytest.fixture
def ask(blockyard: Command, service: Service, monkeypatch: pytest.MonkeyPatch) -> Command:
    """The command line with the service's address in the environment."""

    def call(*arguments: str) -> object:
        monkeypatch.setenv("BLOCKYARD_URL", service.url)
        return blockyard(*arguments)

    return call  # type: ignore[return-value]


@pytest.fixture
def submit(ask: Command, tmp_path: Path) -> Callable[..., str]:
    """Submits a job and gives its id."""

    def call(*options: str) -> str:
        file = tmp_path / "job.json"
        file.write_bytes(orjson.dumps(JOB))
        said = ask("submit", str(file), *options)
        assert said.code == 0, said.err
        assert said.out.count("\n") == 1
        return said.out.strip()

    return call


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("job.json", '{"scenarios": [{"policies": ["random", "heaviest"], "matches": 10}]}'),
        ("job.yaml", "scenarios:\n- policies: [random, heaviest]\n  matches: 10\n"),
        ("job.toml", '[[scenarios]]\npolicies = ["random", "heaviest"]\nmatches = 10\n'),
        ("job", '{"scenarios": [{"policies": ["random", "heaviest"], "matches": 10}]}'),
    ],
)
def test_files_of_every_kind_are_submitted(ask: Command, tmp_path: Path, name: str, content: str) -> None:
    (tmp_path / name).write_text(content)
    said = ask("submit", str(tmp_path / name), "--json")
    assert said.code == 0, said.err
    assert orjson.loads(said.out)["spec"]["scenarios"][0]["policies"] == ["random", "heaviest"]


@pytest.mark.parametrize(
    ("name", "content"), [("job.json", f'{{"seed": {2**64}}}'), ("job.yaml", f"seed: {2**64}"), ("job.toml", f"seed = {2**64}")]
)
def test_a_number_beyond_64_bits_is_refused_by_field(ask: Command, tmp_path: Path, name: str, content: str) -> None:
    (tmp_path / name).write_text(content)
    said = ask("submit", str(tmp_path / name))
    assert said.code == 2
    assert said.err.startswith(f"blockyard: seed: must be a whole number from 0 to {2**64 - 1}")


def test_standard_input_is_submitted(process: Command, service: Service) -> None:
    said = process("submit", "-", "--url", service.url, stdin=orjson.dumps(JOB).decode())
    assert said.code == 0, said.err
    with Client(service.url) as client:
        assert client.job(said.out.strip())["name"] == "a small one"


def test_the_same_key_is_the_same_job(submit: Callable[..., str]) -> None:
    assert submit("--idempotency-key", "k") == submit("--idempotency-key", "k") != submit()


def test_refused_job_names_its_fields_in_one_line(ask: Command, tmp_path: Path) -> None:
    file = tmp_path / "job.json"
    file.write_bytes(orjson.dumps({"scenarios": [{"policies": ["nosuch", "random"], "matches": 0}], "speed": 1}))
    said = ask("submit", str(file))
    assert (said.code, said.out) == (2, "")
    assert said.err.count("\n") == 1
    for field in ("scenarios[0].matches", "speed"):
        assert f"{field}: " in said.err


def test_jobs_are_listed_newest_first_and_picked(ask: Command, submit: Callable[..., str]) -> None:
    ids = [submit() for _ in range(3)]
    listed = orjson.loads(ask("jobs", "--json").out)
    assert [job["id"] for job in listed["items"]] == ids[::-1]
    assert len(orjson.loads(ask("jobs", "--json", "--limit", "2").out)["items"]) == 2
    assert orjson.loads(ask("jobs", "--json", "--label", "branch=other").out)["items"] == []
    table = ask("jobs")
    assert table.code == 0
    assert max(map(len, table.out.splitlines())) <= 80
    assert "a small one" in table.out
    none = ask("jobs", "--state", "failed")
    assert (none.code, none.out, none.err) == (0, "", "no jobs\n")


def test_status_shows_what_there_is(ask: Command, submit: Callable[..., str]) -> None:
    job = submit()
    said = ask("status", job)
    assert said.code == 0
    for text in (job, "queued", "0 of 58 matches (0 %)", "branch=main"):
        assert text in said.out
    assert orjson.loads(ask("status", job, "--json").out)["seed"] == 7


def test_unknown_job_is_a_usage_error(ask: Command) -> None:
    for command in ("status", "watch", "results", "cancel", "pause", "resume", "restart", "delete", "replay"):
        said = ask(command, "0" * 20)
        assert (said.code, said.out) == (2, ""), command
        assert said.err.count("\n") == 1


def test_states_are_changed_and_told(ask: Command, submit: Callable[..., str]) -> None:
    job = submit()
    for command, state in (("pause", "paused"), ("resume", "queued"), ("cancel", "cancelled")):
        said = ask(command, job)
        assert (said.code, said.out) == (0, f"{job} {state}\n"), said.err
    assert orjson.loads(ask("restart", job, "--json").out)["state"] == "queued"
    refused = ask("delete", job)
    ask("cancel", job)
    assert ask("delete", job).code == 0
    assert ask("status", job).code == 2
    assert refused.code in (0, 2)


def test_a_job_from_standard_input_may_be_toml(process: Command, service: Service) -> None:
    text = 'name = "from toml"\n[[scenarios]]\npolicies = ["heaviest", "random"]\nmatches = 2\n'
    assert process("submit", "-", "--url", service.url, stdin=text).code == 0
    assert process("submit", "-", "--url", service.url, stdin=text.partition("\n")[2]).code == 0


def test_results_of_a_job_of_which_nothing_is_recorded_yet(ask: Command, service: Service) -> None:
    with Client(service.url) as client:
        job = client.submit({"scenarios": [{"policies": ["heaviest", "random"], "matches": 2}]})["id"]
    said = ask("results", job)
    assert said.code == 0
    assert "no match of it has been recorded yet" in said.err


def test_results_in_every_form(ask: Command, submit: Callable[..., str], hands: Hands) -> None:
    job = submit()
    before = ask("results", job)
    assert before.err.endswith("the job has not ended: these are the results so far\n")
    hands.work()
    document = orjson.loads(ask("results", job, "--format", "json").out)
    assert document["complete"]
    assert [result["matches"] for result in document["results"]] == [40, 9, 9]
    assert orjson.loads(ask("results", job, "--json").out) == document
    rows = list(csv.DictReader(io.StringIO(ask("results", job, "--format", "csv").out)))
    assert [int(row["wins"]) for row in rows] == [
        policy["wins"] for result in document["results"] for policy in result["policies"]
    ]
    table = ask("results", job)
    assert (table.code, table.err.count("\n")) == (0, 1)
    assert table.err.startswith(("ratings order the field", "no ratings: "))
    assert max(map(len, table.out.splitlines())) <= 80
    assert "block, 3 players" in table.out
    assert "prefer double, heaviest" in table.out


def test_watch_follows_to_the_end(ask: Command, submit: Callable[..., str], hands: Hands) -> None:
    job = submit()
    worker = threading.Timer(0.3, hands.work)
    worker.start()
    said = ask("watch", job, "--json")
    worker.join()
    assert said.code == 0
    events = [orjson.loads(line) for line in said.out.splitlines()]
    assert events[-1]["event"] == "done"
    assert events[-1]["job"]["state"] == "done"
    assert said.err == "done, 58 matches (100 %)\n"


def test_waiting_for_a_cancelled_job_fails(ask: Command, submit: Callable[..., str], service: Service) -> None:
    job = submit()
    with Client(service.url) as client:
        client.cancel(job)
    said = ask("watch", job)
    assert (said.code, said.out) == (1, "")
    assert said.err.startswith("cancelled")


def test_interrupted_watch_leaves_the_job_and_says_so(
    ask: Command, submit: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    job = submit()

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("service.client.Client.events", interrupt)
    said = ask("watch", job)
    assert said.code == 130
    assert f"the job goes on; see it again with: blockyard watch {job}" in said.err
    assert orjson.loads(ask("status", job, "--json").out)["state"] == "queued"


def test_ctrl_c_in_a_real_watch_leaves_the_job(submit: Callable[..., str], service: Service) -> None:
    job = submit()
    command = [sys.executable, "-P", "-m", "service.cli", "watch", job, "--url", service.url, "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as watching:
        assert watching.stdout is not None
        assert orjson.loads(watching.stdout.readline())["event"] == "progress"
        watching.send_signal(signal.SIGINT)
        _, complained = watching.communicate(timeout=30)
    assert watching.returncode == 130
    assert f"the job goes on; see it again with: blockyard watch {job}" in complained
    assert "Traceback" not in complained
    assert service.state.ledger.job(job).state == "queued"


def test_match_is_replayed_and_drawn(ask: Command, submit: Callable[..., str]) -> None:
    job = submit()
    said = ask("replay", job, "--scenario", "2", "--match", "4")
    assert said.code == 0, said.err
    assert max(map(len, said.out.splitlines())) <= 80
    assert "seat 0: " in said.out
    assert "prefer double, heaviest" in said.out
    assert "Round 0, seat" in said.out
    document = orjson.loads(ask("replay", job, "--scenario", "2", "--match", "4", "--json").out)
    scores = " : ".join(str(score) for score in document["scores"])
    assert said.out.endswith(f"{len(document['rounds'])} rounds, won by seat {document['winners'][0]}; scores {scores}\n")
    one = ask("replay", job, "--round", "1")
    assert one.out.count("Round ") == 1
    assert "Round 1" in one.out
    beyond = ask("replay", job, "--round", "999")
    assert beyond.code == 2
    assert "--round: the match has rounds 0 to" in beyond.err
    assert ask("replay", job, "--scenario", "3").code == 2


def test_shared_wins_stand_in_the_table_where_there_are_any(ask: Command, hands: Hands, tmp_path: Path) -> None:
    rounds = {"preset": "block", "ends": {"rounds": 1}}
    file = tmp_path / "rounds.json"
    scenario = {"policies": ["random", "heaviest"], "matches": 400, "ruleset": rounds}
    file.write_bytes(orjson.dumps({"seed": 1, "scenarios": [scenario]}))
    job = ask("submit", str(file)).out.strip()
    hands.work()
    said = ask("results", job)
    (result,) = orjson.loads(ask("results", job, "--json").out)["results"]
    assert result["draws"] > 0
    assert "shared" in said.out
    assert str(result["policies"][0]["shared_wins"]) in said.out.split()
    assert max(map(len, said.out.splitlines())) <= 80


def test_workers_are_listed(ask: Command, submit: Callable[..., str], hands: Hands) -> None:
    assert ask("workers").err == "no workers\n"
    submit()
    hands.work()
    said = ask("workers")
    assert said.code == 0
    assert "hands" in said.out
    assert max(map(len, said.out.splitlines())) <= 80
    assert [worker["name"] for worker in orjson.loads(ask("workers", "--json").out)] == ["hands"]


def test_what_can_be_named_is_the_same_here_and_there(blockyard: Command, service: Service) -> None:
    for command, name in (("policies", "heaviest"), ("rulesets", "block")):
        here = orjson.loads(blockyard(command, "--json").out)
        assert name in [item["name"] for item in here]
        assert orjson.loads(blockyard(command, "--json", "--url", service.url).out) == here
        table = blockyard(command)
        assert max(map(len, table.out.splitlines())) <= 80
        assert name in table.out
