"""What deploys: scripts that parse, locks that pin everything with hashes and name no place, a batch that is valid."""

import re
import subprocess
import sys
import tomllib
import zipfile
from itertools import pairwise
from pathlib import Path

import orjson
import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from service.intake import job_spec
from service.schemas.requests import JobRequest
from service.settings import ServiceSettings

ROOT = Path(__file__).parents[2]
SCRIPTS = ("deploy/run", "deploy/test", "deploy/check", "deploy/lock", "deploy/environment.sh", "deploy/tools.sh", ".ci/run")
LOCKS = ("deploy/requirements.lock", "deploy/requirements-test.lock")
GENERATOR = "deploy/requirements-generator.lock"
HASH = re.compile(r"^    --hash=sha256:[0-9a-f]{64}( \\)?$")


def pins(lock: str) -> dict[str, list[str]]:
    """Pinned versions by name: several where they differ by Python."""
    found: dict[str, list[str]] = {}
    for line in (ROOT / lock).read_text().splitlines():
        if "==" in line:
            name, version = line.split(" ", 1)[0].split("==")
            found.setdefault(canonicalize_name(name.partition("[")[0]), []).append(version)
    return found


@pytest.mark.parametrize("script", SCRIPTS)
def test_scripts_parse_and_stop_at_the_first_error(script: str) -> None:
    subprocess.run(["bash", "-n", ROOT / script], check=True, capture_output=True)
    if not script.endswith(".sh"):
        assert "set -euo pipefail" in (ROOT / script).read_text()


@pytest.mark.parametrize("script", ["deploy/run", "deploy/test"])
def test_scripts_explain_themselves_and_install_nothing_for_it(script: str) -> None:
    said = subprocess.run(["bash", ROOT / script, "--help"], capture_output=True, text=True, check=True)
    assert said.stderr.startswith(f"usage: bash {script}")


def test_run_refuses_what_it_does_not_know() -> None:
    said = subprocess.run(["bash", ROOT / "deploy/run", "--sevre"], capture_output=True, text=True, check=False)
    assert said.returncode == 2
    assert "unknown argument --sevre" in said.stderr


@pytest.mark.parametrize("lock", [*LOCKS, GENERATOR])
def test_lock_pins_everything_by_hash_and_names_no_place(lock: str) -> None:
    lines = (ROOT / lock).read_text().splitlines()
    assert len(pins(lock)) > (40 if lock != GENERATOR else 10)
    for line, after in pairwise(lines):
        if "==" in line:
            assert after.startswith("    --hash="), line
        else:
            assert HASH.match(line), line
    assert "://" not in "\n".join(lines)


@pytest.mark.parametrize(("lock", "extras"), [(LOCKS[0], ["build"]), (LOCKS[1], ["build", "test"])])
def test_lock_answers_every_dependency(lock: str, extras: list[str]) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted = [*project["dependencies"], *(text for extra in extras for text in project["optional-dependencies"][extra])]
    pinned = pins(lock)
    for requirement in map(Requirement, wanted):
        versions = pinned.get(canonicalize_name(requirement.name))
        assert versions, f"{requirement} is not in {lock}; run: bash deploy/lock"
        assert all(Version(version) in requirement.specifier for version in versions), f"{requirement}: run bash deploy/lock"


def test_both_locks_agree() -> None:
    runtime, test = pins(LOCKS[0]), pins(LOCKS[1])
    assert {name: test[name] for name in runtime} == runtime


def test_batch_is_valid_and_worth_watching() -> None:
    request = JobRequest.model_validate(orjson.loads((ROOT / "deploy/batch.json").read_bytes()))
    spec = job_spec(request, ServiceSettings())
    assert {scenario.players for scenario in spec.scenarios} == {2, 3, 4}
    assert 2_000_000 <= spec.matches <= 10_000_000
    assert len({orjson.dumps(policy) for scenario in spec.scenarios for policy in scenario.policies}) >= 3


def test_wheel_holds_everything_that_is_no_python(tmp_path: Path) -> None:
    subprocess.run(
        [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "--wheel-dir", tmp_path, ROOT],
        check=True, capture_output=True, text=True,
    )  # fmt: skip
    (wheel,) = tmp_path.glob("blockyard-*.whl")
    packed = set(zipfile.ZipFile(wheel).namelist())
    tracked = subprocess.run(["git", "ls-files", "service", "workers"], cwd=ROOT, capture_output=True, text=True, check=True)
    assert set(tracked.stdout.split()) <= packed
