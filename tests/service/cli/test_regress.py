"""`blockyard regress` against a real service: every verdict by its exit code, what is printed and written, what is refused."""

from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import orjson
import pytest

from service.cli import output, regress, run_reports
from service.client import Client
from tests.servers import WorkerFactory
from tests.service.cli.conftest import Command
from tests.service.running import Service

TEST: dict[str, Any] = {
    "name": "two seats", "players": 2, "candidate": "heaviest", "baseline": "heaviest", "h0": -0.02, "h1": 0.0,
    "max_matches": 4_000,
}  # fmt: skip
SPEC: dict[str, Any] = {"name": "nightly", "seed": 77, "tests": [TEST]}
GONE: dict[str, Any] = {**TEST, "baseline": {"name": "heaviest", "version": "0"}}
FIELDS = [
    "name", "verdict", "llr", "lower", "upper", "looks", "blocks", "matches", "share", "share_ci95", "engine_version",
    "results",
]  # fmt: skip


@pytest.fixture
def ask(blockyard: Command, service: Service, monkeypatch: pytest.MonkeyPatch) -> Command:
    """The command line with the service's address in the environment."""

    def call(*arguments: str) -> object:
        monkeypatch.setenv("BLOCKYARD_URL", service.url)
        return blockyard(*arguments)

    return call  # type: ignore[return-value]


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., str]:
    """Writes a document and gives the file's name."""

    def call(document: object, name: str = "spec.json") -> str:
        (tmp_path / name).write_bytes(orjson.dumps(document))
        return str(tmp_path / name)

    return call


def test_verdicts_are_exit_codes(
    ask: Command, write: Callable[..., str], worker_factory: WorkerFactory, tmp_path: Path
) -> None:
    worker_factory()
    spec = write(SPEC)
    said = ask("regress", "run", spec, "--wait", "--json", "--label", "branch=main")
    assert said.code == 0, said.err
    found = orjson.loads(said.out)
    assert list(found) == ["id", "verdict", "tests"]
    (test,) = found["tests"]
    assert list(test) == FIELDS
    assert (found["verdict"], test["verdict"], test["looks"], test["share"]) == ("passed", "passed", 1, 0.5)
    # Bounds of 2.94 and s(1 - s)/2 = 0.125 make 1,657 expected blocks: 7 looks, here of 256 blocks up to 7 * 256.
    assert "two seats: an equal candidate passes in 95.00 % of runs, after about 3,584 matches (cap 3,584)" in said.err
    assert "at 100,000 matches a second and process" in said.err
    assert test["results"]["matches"] == test["matches"] == 512

    junit, markdown = tmp_path / "junit.xml", tmp_path / "summary.md"
    candidate = write("lightest", "candidate.json")
    caught = ask("regress", "run", spec, "--candidate", candidate, "--wait", "--junit", str(junit), "--markdown", str(markdown))
    assert caught.code == 4, caught.err
    assert "regressed" in caught.out
    assert max(map(len, caught.out.splitlines())) <= 80
    (row,) = [line.split() for line in caught.out.splitlines() if line.startswith(" two seats")]
    # Nothing is broken over lines: name, verdict, share, interval, LLR, matches, saved.
    assert (len(row), row[2], row[4], "–" in row[5]) == (9, "regressed", "%", True)
    assert "LLR: regressed at -2.94 or less, passed at 2.94 or more" in caught.err
    suite = ElementTree.parse(junit).getroot().find("testsuite")
    assert suite is not None
    assert (suite.get("name"), suite.get("tests"), suite.get("failures"), suite.get("errors")) == ("nightly", "1", "1", "0")
    (case,) = suite.findall("testcase")
    assert (case.get("classname"), case.get("name")) == ("nightly", "two seats")
    assert [element.tag for element in case] == ["failure"]
    lines = markdown.read_text().splitlines()
    assert lines[0] == "### nightly: regressed"
    assert lines[4].startswith("| two seats | regressed | ")

    # 256 equal blocks are too few to tell a share from one that is 0.002 lower.
    brief = write({**SPEC, "tests": [{**TEST, "h0": -0.002, "max_matches": 512}]}, "brief.json")
    assert ask("regress", "run", brief, "--wait").code == 5


def test_a_run_that_fails_is_said_so(ask: Command, write: Callable[..., str], tmp_path: Path) -> None:
    junit = tmp_path / "junit.xml"
    said = ask("regress", "run", write({**SPEC, "tests": [GONE]}), "--junit", str(junit))
    assert said.code == 1
    assert "has no version '0'" in said.err
    case = ElementTree.parse(junit).getroot().find("testsuite/testcase/error")
    assert case is not None
    assert case.get("message", "").startswith("failed: baseline.version")


def test_a_wait_ends_in_time_and_the_run_goes_on(ask: Command, write: Callable[..., str], service: Service) -> None:
    said = ask("regress", "run", write(SPEC), "--timeout", "0.1", "--json")
    assert said.code == 5
    found = orjson.loads(said.out)
    assert (found["verdict"], found["tests"][0]["verdict"]) == (None, None)
    assert "the run goes on" in said.err
    with Client(service.url) as client:
        assert client.run("nightly", found["id"])["state"] == "running"


def test_what_was_said_before_it_is_of_the_time_of_a_wait(
    ask: Command, write: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = [100.0]

    def plan(*_: object) -> None:
        clock[0] += 3.0

    waited = list[float | None]()

    def wait(client: Client, name: str, run_id: str, *, timeout: float | None = None) -> object:
        waited.append(timeout)
        return client.run(name, run_id)

    monkeypatch.setattr(regress, "_note_plan", plan)
    monkeypatch.setattr(regress, "monotonic", lambda: clock[0])
    monkeypatch.setattr(Client, "wait_for_run", wait)
    spec = write(SPEC)
    for options in (("--timeout", "5"), ("--timeout", "1"), ("--wait",)):
        assert ask("regress", "run", spec, *options).code == 5
    assert waited == [2.0, 0.0, None]


def test_an_interrupted_wait_says_that_the_run_goes_on(
    ask: Command, write: Callable[..., str], service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    for moment in ("wait_for_run", "workers"):
        monkeypatch.setattr(Client, moment, interrupt)
        said = ask("regress", "run", write(SPEC), "--wait")
        assert (said.code, said.out) == (130, "")
        assert "the run goes on; see it again with: blockyard regress history nightly" in said.err
    with Client(service.url) as client:
        found = client.runs("nightly")
        assert [run["state"] for run in found] == ["running", "running"]
        monkeypatch.setattr("service.client.calls.RUNS_PAGE", 1)
        assert client.runs("nightly") == found, "page by page"
        assert client.runs("nightly", limit=1) == found[:1]


def test_a_stored_regression_is_run_listed_promoted_and_deleted(ask: Command, write: Callable[..., str]) -> None:
    assert (ask("regress", "list").out, ask("regress", "list").err) == ("", "no regressions\n")
    put = ask("regress", "put", write({**SPEC, "tests": [GONE], "schedule": "0 2 * * *"}))
    assert (put.code, put.out) == (0, "nightly\n")
    assert "runs next at" in put.err
    assert "has not run yet" in ask("regress", "history", "nightly").err
    started = ask("regress", "run", "nightly", "--label", "branch=main")
    assert (started.code, started.out.count("\n")) == (0, 1)
    (run,) = orjson.loads(ask("regress", "history", "nightly", "--json").out)["items"]
    assert (run["id"], run["labels"], run["verdict"]) == (started.out.strip(), {"branch": "main"}, "failed")
    (listed,) = orjson.loads(ask("regress", "list", "--json").out)["items"]
    assert listed["last_run"]["id"] == run["id"]
    for table in (ask("regress", "list"), ask("regress", "history", "nightly")):
        assert table.code == 0
        assert "failed" in table.out
        assert max(map(len, table.out.splitlines())) <= 80
    promoted = ask("regress", "promote", "nightly", "--run", run["id"])
    assert (promoted.code, "heaviest; version 1" in promoted.out) == (0, True)
    assert ask("regress", "delete", "nightly").code == 0
    assert ask("regress", "delete", "nightly").code == 2


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["run", "nosuch"], "there is no regression nosuch"),
        (["run", "nosuch.json"], "nosuch.json: No such file"),
        (["run", "nosuch", "--label", "main"], "--label: must be key=value, not 'main'"),
        (["run", "nosuch", "--candidate", "nosuch.yaml"], "nosuch.yaml: No such file"),
        (["run", "nosuch", "--junit", "/nosuch/there.xml"], "--junit: /nosuch/there.xml cannot be written there"),
        (["run", "nosuch", "--timeout", "-1"], "--timeout"),
        (["history", "nosuch"], "there is no regression nosuch"),
        (["promote", "nosuch"], "there is no regression nosuch"),
        (["delete", "nosuch"], "there is no regression nosuch"),
        (["put", "nosuch.json"], "nosuch.json: No such file"),
        ([], "Missing command"),
    ],
)
def test_what_cannot_be_is_said_in_a_line(ask: Command, arguments: list[str], reason: str) -> None:
    said = ask("regress", *arguments)
    assert (said.code, said.out) == (2, "")
    assert reason in said.err
    assert said.err.count("\n") == 1


def test_a_refused_spec_names_its_fields(ask: Command, write: Callable[..., str]) -> None:
    said = ask("regress", "run", write({**SPEC, "tests": [{**TEST, "candidate": "nosuch", "h0": 0.1}]}))
    assert said.code == 2
    assert "tests[0].candidate: " in said.err
    assert "tests[0].h0: " in said.err
    for document in ([], {"tests": [TEST]}, {**SPEC, "name": 7}):
        assert "must hold an object with name and tests" in ask("regress", "put", write(document)).err
    assert ask("regress", "run", write({**SPEC, "tests": 7}), "--candidate", write("random", "c.json")).code == 2
    assert "must hold a policy" in ask("regress", "run", write(SPEC), "--candidate", write([], "c.json")).err


def test_lists_of_runs_keep_ids_in_one_piece(capsys: pytest.CaptureFixture[str]) -> None:
    long_name = "a-regression-with-a-name-that-nobody-would-write-in-two-lines"
    for name in ("nightly-partly", long_name):
        tests = [{"name": f"test {number}", "verdict": "passed", "matches_saved": 10**7} for number in range(9)]
        run = {
            "id": f"{name}-20261130T020000Z", "created_at": "2026-11-30T02:00:00Z", "verdict": "inconclusive", "late": True,
            "tests": tests,
        }  # fmt: skip
        output.table(regress.RUN_COLUMNS, [regress.run_row(run)])
        printed = capsys.readouterr().out
        assert max(map(len, printed.splitlines())) <= 80
        assert (run["id"] in printed) == (name != long_name)
        assert "9 of 9" in printed
        assert "90,000,000" in printed


def test_nobody_there_is_unreachable(blockyard: Command, write: Callable[..., str]) -> None:
    assert blockyard("regress", "run", write(SPEC), "--url", "http://127.0.0.1:9", "--wait").code == 3


def test_reports_hold_whatever_a_test_is_called() -> None:
    test = dict.fromkeys(FIELDS) | {
        "name": "a | <b> & \"c\" \u2764", "verdict": "failed", "error": "broken \x00 <tag> *bold*", "llr": 0.0, "lower": 0.0,
        "upper": 0.0, "matches": 0, "matches_saved": 0, "blocks": 0,
    }  # fmt: skip
    run = {
        "id": "r", "regression": "nightly", "verdict": "failed", "created_at": "2026-01-01T00:00:00Z", "seed": 1,
        "finished_at": "2026-01-01T00:01:30Z", "engine_version": "1",
        "tests": [test, {**test, "verdict": None, "error": None}, {**test, "verdict": "stopped"}],
    }  # fmt: skip
    root = ElementTree.fromstring(run_reports.junit(run))
    suite = root.find("testsuite")
    assert suite is not None
    assert (suite.get("time"), suite.get("errors"), suite.get("skipped")) == ("90.000", "1", "2")
    assert [case.get("name") for case in suite] == [test["name"]] * 3
    (row, *_) = [line for line in run_reports.markdown(run).splitlines() if line.startswith("| a")]
    assert row.replace("\\|", "").count("|") == 7
    assert [run_reports.exit_code({"verdict": verdict}) for verdict in ("passed", "stopped", None)] == [0, 5, 5]
