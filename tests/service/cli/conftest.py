"""Running the command line: in this process for most, as a process of its own where that matters."""

import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import pytest

from service.cli.main import run


@dataclass(frozen=True)
class Said:
    """What a command printed, and its exit code."""

    code: int
    out: str
    err: str


Command: TypeAlias = Callable[..., Said]


@pytest.fixture
def blockyard(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Command:
    """Runs a command line here, without a terminal and without settings of the surroundings."""
    for name in ("BLOCKYARD_URL", "BLOCKYARD_KEY", "COLUMNS"):
        monkeypatch.delenv(name, raising=False)

    def call(*arguments: str) -> Said:
        code = run(list(arguments))
        printed = capsys.readouterr()
        return Said(code, printed.out, printed.err)

    return call


@pytest.fixture
def process() -> Command:
    """Runs a command line as a process of its own, at 80 columns."""

    def call(*arguments: str, stdin: str | None = None, **environment: str) -> Said:
        surroundings = {name: value for name, value in os.environ.items() if not name.startswith("BLOCKYARD_U")}
        done = subprocess.run(
            [sys.executable, "-P", "-m", "service.cli", *arguments], input=stdin, capture_output=True, text=True,
            env={**surroundings, **environment}, timeout=120, check=False,
        )  # fmt: skip
        return Said(done.returncode, done.stdout, done.stderr)

    return call
