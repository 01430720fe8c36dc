"""Shell completion: shown, installed, and completing commands, options and what stands below."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

BLOCKYARD = f"{sys.executable} -P -m service.cli"


def bash(script: str, **environment: str) -> str:
    """What a bash prints in which `blockyard` is the command."""
    whole = f'blockyard() {{ {BLOCKYARD} "$@"; }}\n{script}'
    surroundings = {name: value for name, value in os.environ.items() if not name.startswith("BLOCKYARD_")}
    done = subprocess.run(
        ["bash", "--norc", "-c", whole], env=surroundings | environment, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize(
    ("words", "last", "offered"),
    [
        ("blockyard re", 1, {"results", "resume", "restart", "replay", "regress"}),
        ("blockyard keys ", 2, {"create", "list", "revoke"}),
        ("blockyard submit --w", 2, {"--wait"}),
        ("blockyard up --ins", 2, {"--insecure"}),
    ],
)
def test_words_are_completed(words: str, last: int, offered: set[str]) -> None:
    said = bash("blockyard", _BLOCKYARD_COMPLETE="complete_bash", COMP_WORDS=words, COMP_CWORD=str(last))
    assert set(said.split()) == offered


def test_what_is_shown_is_a_script_that_bash_takes(tmp_path: Path) -> None:
    said = bash('blockyard --show-completion >"$OUT" && source "$OUT" && complete -p blockyard', OUT=str(tmp_path / "shown"))
    assert "complete -o default -F _blockyard_completion blockyard" in said


def test_it_is_installed_for_the_shell_that_asks(tmp_path: Path) -> None:
    said = bash("blockyard --install-completion; true", HOME=str(tmp_path))
    assert "bash completion installed" in said
    (made,) = [file for file in tmp_path.rglob("*") if file.is_file() and "complete -o" in file.read_text()]
    assert str(made) in (tmp_path / ".bashrc").read_text()
