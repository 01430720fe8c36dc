"""The command line as a user meets it: help, errors in one line, exit codes."""

import subprocess
import sys
from pathlib import Path

import pytest

from service.cli.output import note
from service.local.ports import first_free
from tests.service.cli.conftest import Command

COMMANDS = (
    "simulate", "judge", "perft", "policies", "rulesets", "bench", "submit", "jobs", "status", "watch", "results", "cancel",
    "pause", "resume", "restart", "delete", "workers", "replay", "up", "api", "worker", "scheduler",
    "regress", "sprt", "plan", "tune", "keys",
)  # fmt: skip
READING = (
    "simulate", "judge", "perft", "policies", "rulesets", "bench", "jobs", "status", "watch", "results", "workers", "replay",
    "sprt", "plan",
)  # fmt: skip


@pytest.fixture
def nowhere() -> str:
    """An address where nothing answers."""
    return f"http://127.0.0.1:{first_free(30000)}"


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_explains_itself_in_eighty_columns(blockyard: Command, command: str) -> None:
    said = blockyard(command, "--help")
    assert said.code == 0
    assert said.err == ""
    assert said.out.startswith(f"Usage: blockyard {command}")
    assert max(map(len, said.out.splitlines())) <= 80
    assert "\x1b" not in said.out


@pytest.mark.parametrize("command", READING)
def test_every_reading_command_takes_json(blockyard: Command, command: str) -> None:
    assert "--json" in blockyard(command, "--help").out


def test_overview_lists_every_command_and_cuts_no_sentence(blockyard: Command) -> None:
    said = blockyard("--help")
    assert said.code == 0
    for command in COMMANDS:
        assert f"\n  {command} " in said.out
    assert "..." not in said.out.replace("[ARGS]...", "")
    assert "130 interrupted" in said.out
    assert blockyard().out == said.out


def test_notes_are_broken_between_words_in_a_narrow_terminal_alone(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "see it again with: blockyard regress history a-regression-of-the-night\nthe end"
    note(text)
    assert capsys.readouterr().err == f"{text}\n"
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "30")
    note(text)
    broken = "see it again with: blockyard\n  regress history\n  a-regression-of-the-night\nthe end\n"
    assert capsys.readouterr().err == broken


def test_version(blockyard: Command) -> None:
    assert blockyard("--version").out.startswith("blockyard 0.")


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["nosuch"], "No such command 'nosuch'"),
        (["jobs", "--nosuch"], "No such option: --nosuch"),
        (["jobs", "--limit", "0"], "--limit"),
        (["jobs", "--limit", "many"], "--limit"),
        (["jobs", "--state", "asleep"], "--state: must be one of queued, running"),
        (["jobs", "--url", "ftp://there"], "--url: 'ftp://there' is no address"),
        (["jobs", "--key", "clé"], "--key: must be printable ASCII"),
        (["results", "x", "--format", "pdf"], "--format: must be one of table, json, csv"),
        (["results", "x", "--format", "csv", "--json"], "--format csv and --json ask for two things"),
        (["keys", "list", "--redis-url", "nowhere:99x"], "redis_url: must be an address such as redis://"),
        (["status"], "ID"),
        (["submit"], "FILE"),
        (["submit", "/nosuch/file.json"], "/nosuch/file.json: No such file"),
        (["judge", "/nosuch/file.json"], "/nosuch/file.json: No such file"),
        (["simulate"], "--policy"),
        (["simulate", "--policy", "random"], "--players"),
        (["simulate", "--policy", "random", "--policy", "nosuch"], "--policy[1]: unknown policy 'nosuch'"),
        (["simulate", "--policy", "random", "--policy", '{"prefer": ["nosuch"]}'], "--policy[1]"),
        (["simulate", "--policy", "random", "--policy", '{"prefer'], "--policy: '{\"prefer' is no JSON object"),
        (["simulate", "--policy", "random", "--policy", '{"prefer": [], "prefer": []}'], "--policy: prefer: is given twice"),
        (["simulate", "--players", "3", "--policy", "random", "--policy", "random"], "--policy: must list one policy for each"),
        (["simulate", "--players", "9", "--policy", "random"], "--players: must be from 2 to 8, not 9"),
        (["simulate", "--policy", "random", "--policy", "random", "--matches", "0"], "--matches: must be at least 1, not 0"),
        (["simulate", "--policy", "random", "--policy", "random", "--matches", "-5"], "--matches: must be at least 1, not -5"),
        (["simulate", "--policy", "random", "--policy", "random", "--matches", "1.5"], "--matches"),
        (["simulate", "--policy", "random", "--policy", "random", "--matches", "1" + "0" * 13], "--matches: must be at most"),
        (["simulate", "--policy", "random", "--policy", "random", "--seed", "-1"], "--seed: must be from 0"),
        (["simulate", "--policy", "random", "--policy", "random", "--seed", str(2**64)], "--seed: must be from 0"),
        (["simulate", "--policy", "random", "--policy", "random", "--seating", "odd"], "--seating: must be rotated or fixed"),
        (["simulate", "--policy", "random", "--policy", "random", "--ruleset", "chess"],
         "--ruleset.preset: unknown ruleset 'chess'"),
        (["simulate", "--policy", "random", "--policy", "random", "--ruleset", '{"preset": "block", "ends": {"target": 0}}'],
         "--ruleset.ends.target: must be a whole number from 1"),
        (["simulate", "--policy", "random", "--policy", "random", "--processes", "0"], "--processes"),
        (["bench", "--players", "1"], "--players"),
        (["up", "--port", "70000"], "--port"),
        (["up", "--workers", "0"], "--workers"),
        (["up", "--data", "/dev/null/data"], "data folder /dev/null/data: is not a folder"),
    ],
)  # fmt: skip
def test_usage_errors_are_one_line_that_names_the_option(blockyard: Command, arguments: list[str], reason: str) -> None:
    said = blockyard(*arguments)
    assert said.code == 2
    assert said.out == ""
    assert said.err.startswith("blockyard: ")
    assert said.err.count("\n") == 1
    assert reason in said.err


def test_several_mistakes_are_all_named(blockyard: Command) -> None:
    said = blockyard("simulate", "--policy", "one", "--policy", "two", "--matches", "0", "--seating", "odd")
    for option in ("--policy[0]", "--policy[1]", "--matches", "--seating"):
        assert f"{option}: " in said.err


@pytest.mark.parametrize(
    "arguments",
    [["jobs"], ["status", "x"], ["watch", "x"], ["results", "x"], ["cancel", "x"], ["workers"], ["workers", "drain", "x"],
     ["replay", "x", "--scenario", "0", "--match", "0"], ["policies"]],
)  # fmt: skip
def test_service_that_is_not_there_is_exit_code_three(blockyard: Command, nowhere: str, arguments: list[str]) -> None:
    said = blockyard(arguments[0], "--url", nowhere, *arguments[1:])
    assert said.code == 3
    assert said.out == ""
    assert said.err.startswith(f"blockyard: no service answers at {nowhere}")
    assert said.err.count("\n") == 1


@pytest.mark.parametrize("arguments", [["workers", "drain", "x"], ["regress", "list"], ["status", "x"]])
def test_the_service_may_be_named_last(blockyard: Command, nowhere: str, arguments: list[str]) -> None:
    said = blockyard(*arguments, "--key", "secret", "--url", nowhere)
    assert said.code == 3
    assert said.err.startswith(f"blockyard: no service answers at {nowhere}")


def test_address_comes_from_the_environment(blockyard: Command, nowhere: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BLOCKYARD_URL", nowhere)
    assert f"at {nowhere}" in blockyard("jobs").err


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("job.json", '{"scenarios": [}', "broken JSON"),
        ("job.yaml", "scenarios: [", "broken YAML in line"),
        ("job.toml", "scenarios = ", "broken TOML"),
        ("job.json", "", "is empty"),
        ("job.json", "[1]", "must hold an object"),
        ("job.json", b"\xff\xfe", "is not a text in UTF-8"),
        ("job.json", '{"seed": 1, "scenarios": [{"matches": 1, "matches": 2}]}', "scenarios[0].matches: is given twice"),
        ("job.json", "[" * 100 + "]" * 100, "is nested more than 32 levels deep"),
        ("job.yaml", "seed: 1\nseed: 2\n", "in line 2: seed: is given twice"),
        ("job.yaml", "labels: {1: one}", "in line 1: a name must be a text; put it in quotes"),
        ("job.yaml", "seed: .nan", "holds a number that is none"),
        ("job.yaml", "seed: &a [*a]", "a list within itself"),
        ("job.yaml", "[" * 3000, "is nested too deeply"),
        ("job.yaml", "name: 2026-02-30", "broken YAML: day is out of range"),
        ("job.yaml", "seed: !!int many", "broken YAML: invalid literal"),
        ("job.yaml", "name: !!timestamp once", "broken YAML: "),
        ("job.yaml", f"seed: 1{'0' * 5_000}", "broken YAML: Exceeds the limit"),
        ("job.yaml", f"seed: 1{'0' * 400}", "holds what JSON cannot: number is infinity"),
        ("job.toml", f"seed = 1{'0' * 5_000}", "broken TOML: Exceeds the limit"),
        ("job.toml", "seed = inf", "holds a number that is none"),
        ("job.toml", "seed = 1\nseed = 2\n", "broken TOML"),
    ],
)
def test_broken_files_are_named(blockyard: Command, tmp_path: Path, name: str, content: str | bytes, reason: str) -> None:
    file = tmp_path / name
    file.write_bytes(content if isinstance(content, bytes) else content.encode())
    said = blockyard("submit", str(file))
    assert said.code == 2
    assert said.err.count("\n") == 1
    assert f"{file}: " in said.err
    assert reason in said.err


def test_process_prints_no_traceback_and_keeps_the_streams_apart(process: Command, nowhere: str) -> None:
    said = process("jobs", "--url", nowhere)
    assert (said.code, said.out) == (3, "")
    assert said.err.count("\n") == 1
    said = process("simulate", "--policy", "nosuch", "--policy", "random")
    assert (said.code, said.out) == (2, "")
    assert "Traceback" not in said.err
    said = process("submit", "-", "--url", nowhere, stdin="scenarios: [")
    assert said.code == 2
    assert "standard input: broken YAML" in said.err


def test_reader_that_stops_reading_is_no_error_to_see() -> None:
    code = f"{sys.executable} -P -m service.cli policies --json | head -c 1"
    done = subprocess.run(["/bin/sh", "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert done.stderr == ""


def test_unforeseen_error_is_one_line_too(blockyard: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise ZeroDivisionError("by nought")

    monkeypatch.setattr("service.cli.jobs.read_document", fail)
    said = blockyard("submit", "x")
    assert said.code == 1
    assert said.err == "blockyard: something went wrong: ZeroDivisionError: by nought (BLOCKYARD_DEBUG=1 shows where)\n"
