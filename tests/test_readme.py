"""The README tells the truth: its Python is run, its files and commands exist."""

import doctest
import json
import re
from pathlib import Path

from service.cli.main import app
from workers.regressions.spec import RegressionSpec, TestSpec, check_regression

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()


def test_the_match_in_python_comes_out_as_shown() -> None:
    outcome = doctest.testfile(str(ROOT / "README.md"), module_relative=False)
    assert outcome.attempted >= 10
    assert outcome.failed == 0


def test_every_named_file_exists() -> None:
    named = set(re.findall(r"`((?:workers|service|tests|deploy)/[\w./-]+)`", README))
    assert len(named) >= 15
    assert [path for path in sorted(named) if not (ROOT / path).exists()] == []


def test_every_command_exists() -> None:
    known = {command.name or command.callback.__name__ for command in app.registered_commands if command.callback}
    known |= {group.name for group in app.registered_groups if group.name}
    used = set(re.findall(r"blockyard ([a-z]+)", README))
    assert len(used) >= 10
    assert used - known == set()


def test_the_nightly_example_is_a_sound_regression() -> None:
    text = README.split("cat >nightly.json <<'JSON'\n")[1].split("\nJSON")[0]
    document = json.loads(text)
    check_regression(RegressionSpec(**{**document, "tests": tuple(TestSpec(**test) for test in document["tests"])}))
