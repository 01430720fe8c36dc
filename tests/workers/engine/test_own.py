"""Policies of one's own in Python: found, asked as promised, held to their limits, and named where they fail."""

import logging
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest

from tests.workers.engine.engines import assert_same_rows, lineup
from tests.workers.engine.offered import COMPILE, FIRST, THROWS, compiled_choice, offer, point_at
from tests.workers.engine.test_policies import views_of_a_match
from workers.engine.compile import SEARCH_KERNEL
from workers.engine.play import LITERAL, kernel_of, play_blocks, replay_literally, replay_match, warm_up
from workers.engine.policies import describe_policies, resolve_policy
from workers.engine.policies.contract import check_policy
from workers.engine.policies.own import own_policies
from workers.engine.policies.watch import SECONDS_VARIABLE, decision_seconds
from workers.errors import InvalidInput, PlayFailed

ROOT = Path(__file__).parents[3]
Offer = Callable[..., None]
ENDLESS = "    def choose(self, view, random):\n        while True:\n            pass\n"
STUBBORN = """    def choose(self, view, random):
        while True:
            try:
                sum(range(9))
            except Exception:
                pass
"""


@pytest.fixture
def offers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Offer]:
    """Offers policies to this process until the test is over."""
    monkeypatch.syspath_prepend(tmp_path)
    own_policies.cache_clear()

    def call(name: str, body: str = FIRST, **more: str) -> None:
        offer(tmp_path, name, body, **more)
        own_policies.cache_clear()

    yield call
    for module in [module for module in sys.modules if module.startswith("own_")]:
        del sys.modules[module]
    own_policies.cache_clear()


@pytest.fixture(scope="session")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the example package, as pip installs it."""
    warm_up(SEARCH_KERNEL)  # else each of the commands below might have to compile it
    folder = tmp_path_factory.mktemp("installed")
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "install", "--quiet", "--no-index", "--no-deps"]
    subprocess.run(
        [*pip, "--no-build-isolation", "--target", str(folder), str(ROOT / "deploy/example_policy")], check=True, timeout=120
    )
    return folder


def commanded(folder: Path, *arguments: str) -> subprocess.CompletedProcess[bytes]:
    """A command of a process that has the folder's packages."""
    return subprocess.run(
        [sys.executable, "-m", "service.cli", *arguments], env={"PYTHONPATH": f"{folder}:{ROOT}", "PATH": "/usr/bin:/bin"},
        capture_output=True, check=False, timeout=120,
    )  # fmt: skip


def test_the_example_is_installed_listed_checked_and_plays(installed: Path) -> None:
    listed = {item["name"]: item for item in orjson.loads(commanded(installed, "policies", "--json").stdout)}
    assert listed["closer"]["version"] == "1"
    assert list(listed)[-1] == "written"
    checked = commanded(installed, "policies", "check", "closer", "--json")
    assert checked.returncode == 0
    found = orjson.loads(checked.stdout)
    assert found["passed"]
    assert found["decisions"] > 100
    line_up = ["--policy", "closer", "--policy", "random", "--matches", "40", "--seed", "3"]
    one, two = (
        orjson.loads(commanded(installed, "simulate", *line_up, "--json", "--processes", processes).stdout)["results"][0]
        for processes in ("1", "2")
    )
    assert one == two
    assert one["policies"][0]["wins"] > 22
    assert len(one["policies"][0]["fingerprint"]) == 16
    assert listed["quick_closer"]["summary"].startswith("Leaves the ends that most of its own tiles fit")
    checked = commanded(installed, "policies", "check", "quick_closer", "--json")
    assert checked.returncode == 0, checked.stderr
    line_up = ["--policy", "quick_closer", "--policy", "random", "--matches", "20000", "--seed", "3"]
    quick = orjson.loads(commanded(installed, "simulate", *line_up, "--json").stdout)["results"][0]
    assert quick["policies"][0]["wins"] > 13_000
    assert quick["policies"][0]["fingerprint"] != one["policies"][0]["fingerprint"]
    unknown = commanded(installed.parent, "policies", "check", "closer")
    assert unknown.returncode == 2
    assert b"unknown policy 'closer'" in unknown.stderr


def test_it_is_asked_as_promised(offers: Offer) -> None:
    before = "SEEN = []\n"
    body = """    def __init__(self):
        self.asked = []
        SEEN.append(self.asked)

    def choose(self, view, random):
        self.asked.append(view.seat)
        assert len(view.legal) > 1
        assert view.line_ends is None or view.line_ends == (view.line[0][0], view.line[-1][1])
        assert all(one[1] == other[0] for one, other in zip(view.line, view.line[1:], strict=False))
        assert len(view.line) == sum(ply.placement is not None for ply in view.plies)
        assert len(view.hand) == view.hand_counts[view.seat]
        return random.below(2) and tuple(view.legal[0]) or view.legal[1]
"""
    offers("watcher", body, before=before)
    playing = lineup(["watcher", "heaviest", "watcher"], seed=5)
    assert kernel_of(playing.ruleset, playing.policies) == LITERAL
    play_blocks(playing, 0, 2)
    # A fresh instance for each of two seats in each of six matches.
    seen = sys.modules["own_watcher_1"].SEEN
    assert len(seen) == 12
    assert all(len(set(seats)) == 1 for seats in seen)
    record = replay_match(playing, 1, 2)
    assert tuple(play_blocks(playing, 1, 1).scores[2]) == record.scores
    resolve_policy({"name": "noisy", "policy": "watcher"}, 2)
    mixed = lineup([{"name": "noisy", "rate": 0.5, "policy": "watcher"}, "random"])
    assert kernel_of(mixed.ruleset, mixed.policies) == LITERAL
    play_blocks(mixed, 0, 1)


EVERYTHING = compiled_choice(
    "total = seen.seat + 3 * seen.leader + 5 * seen.stock_size + seen.plies.shape[0]",
    "for array in (seen.tiles, seen.ends, seen.new_left, seen.new_right, seen.line_ends, seen.held, seen.whereabouts,",
    "              seen.hand_counts, seen.passes, seen.scores, seen.pips, seen.low, seen.rules, random):",
    "    for number in array:",
    "        total = (total * 31 + number + 2) % 1000003",
    "for ply in range(seen.plies.shape[0]):",
    "    for column in range(4):",
    "        total = (total * 31 + seen.plies[ply, column] + 2) % 1000003",
    "for seat in range(seen.lacks.shape[0]):",
    "    for value in range(seen.lacks.shape[1]):",
    "        total = (total * 31 + seen.lacks[seat, value]) % 1000003",
    "return total % len(seen.tiles)",
)
"""Its choice hangs on all that it sees: whatever the kernel writes otherwise than the literal rules makes another match."""


def test_a_compiled_policy_plays_in_the_kernel_what_it_plays_literally(offers: Offer) -> None:
    offers("all_seeing", EVERYTHING, before=COMPILE)
    tables: list[tuple[Any, int]] = [
        ("block", 2), ("block", 4), ({"preset": "traditional", "partners": True}, 4), ("draw", 2),
        ({"preset": "draw", "set": 12}, 3), ({"preset": "block", "set": 9, "hand": 7, "ends": {"target": 50}}, 5),
    ]  # fmt: skip
    for ruleset, players in tables:
        field = ["all_seeing", {"name": "noisy", "rate": 0.2, "policy": "all_seeing"}, *["linear"] * players][:players]
        playing = lineup(field, ruleset=ruleset, seed=6)
        assert kernel_of(playing.ruleset, playing.policies) == SEARCH_KERNEL
        assert_same_rows(playing, 2**32 - 1, 2)
        assert replay_match(playing, 3, 1) == replay_literally(playing, 3, 1)


def test_a_compiled_policy_beside_one_in_python_plays_on_the_literal_rules(offers: Offer) -> None:
    offers("quick", compiled_choice("return len(seen.tiles) - 1"), before=COMPILE)
    offers("slow")
    playing = lineup(["quick", "slow"])
    assert kernel_of(playing.ruleset, playing.policies) == LITERAL
    play_blocks(playing, 0, 1)


@pytest.mark.parametrize(
    ("line", "literal", "kernel"),
    [
        ("return len(seen.tiles)", r"answered \d+, which is none of", r"answered \d+, which is no legal placement"),
        ("return -3", "answered -3, which is none of", "answered -3, which is no legal placement"),
        (
            "if seen.seat >= 0: raise ValueError", "raised RuntimeError: the compiled function raised an exception",
            "raised an exception",
        ),
    ],
)  # fmt: skip
def test_what_a_compiled_policy_does_wrong_fails_the_match_by_its_address(
    offers: Offer, line: str, literal: str, kernel: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "unraisablehook", lambda _raised: None)
    offers("wrong", compiled_choice(line, "return 0"), before=COMPILE)
    playing = lineup(["heaviest", "wrong"], seed=9)
    address = r"^match 10 \(block 5, rotation 0, seed 9\): policy wrong in seat \d "
    with pytest.raises(PlayFailed, match=address + literal):
        replay_literally(playing, 5, 0)
    with pytest.raises(PlayFailed, match=address + kernel):
        play_blocks(playing, 5, 3)
    assert check_policy("wrong").problems
    play_blocks(lineup(["heaviest", "noisy"]), 0, 1)


def test_what_cannot_be_compiled_is_told(offers: Offer) -> None:
    offers("texts", compiled_choice("return 'the first'"), before=COMPILE)
    for play in (play_blocks, replay_literally):
        with pytest.raises(PlayFailed, match=r"own_texts_1.Own.choose cannot be compiled: .*nopython"):
            play(lineup(["texts", "random"]), 0, 1)
    assert any("cannot be compiled" in problem for problem in check_policy("texts").problems)


def test_an_index_outside_an_array_is_found_by_the_contract_test(offers: Offer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "unraisablehook", lambda _raised: None)
    offers("beyond", compiled_choice("return seen.tiles[len(seen.tiles) + 2] * 0"), before=COMPILE)
    assert any("raised an exception" in problem for problem in check_policy("beyond").problems)


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (THROWS, "raised ZeroDivisionError: nothing to divide by"),
        ("    def choose(self, view, random):\n        raise SystemExit(3)\n", "raised SystemExit: 3"),
        ("    def choose(self, view, random):\n        return None\n", "answered None, which is none of"),
        ("    def choose(self, view, random):\n        return (9, 9), 1\n", r"answered \(\(9, 9\), 1\), which is none of"),
        ("    def choose(self, view, random):\n        return view.legal\n", "which is none of"),
        ("    def __init__(self):\n        self.x = {}['x']\n\n" + FIRST, "could not be made: KeyError: 'x'"),
        (ENDLESS, "took more than 0.2 s of processor time"),
        (STUBBORN, "took more than 0.2 s of processor time"),
    ],
)  # fmt: skip
def test_what_it_does_wrong_fails_the_match_by_its_address(
    offers: Offer, body: str, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(SECONDS_VARIABLE, "0.2")
    offers("wrong", body)
    playing = lineup(["heaviest", "wrong"], seed=9)
    with pytest.raises(PlayFailed, match=rf"^match 10 \(block 5, rotation 0, seed 9\): policy wrong .*{reason}"):
        play_blocks(playing, 5, 1)
    # What is not asked of it goes on.
    play_blocks(lineup(["heaviest", "random"]), 0, 1)


def test_time_that_others_take_is_not_counted(offers: Offer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(SECONDS_VARIABLE, "0.3")
    body = "    def choose(self, view, random):\n        time.sleep(0.4)\n        return view.legal[0]\n"
    offers("sleeper", body, before="import time\n")
    policy = resolve_policy("sleeper", 2)
    view, _, _ = views_of_a_match(resolve_policy("random", 2), "block", 2, 1)[0]
    assert policy.chooser()(view, None) == view.legal[0]  # type: ignore[arg-type]


def test_the_limit_is_ten_seconds_unless_it_is_set(monkeypatch: pytest.MonkeyPatch) -> None:
    for text, limit in (("", 10.0), ("2.5", 2.5), ("-1", 10.0), ("soon", 10.0)):
        monkeypatch.setenv(SECONDS_VARIABLE, text)
        assert decision_seconds() == limit
    monkeypatch.delenv(SECONDS_VARIABLE)
    assert decision_seconds() == 10.0


def test_the_highest_version_is_meant_by_a_bare_name(offers: Offer) -> None:
    for version in ("2", "10", "9.1"):
        offers("ours", version=version)
    assert resolve_policy("ours", 2).version == "10"
    assert resolve_policy({"name": "ours", "version": "2"}, 2).version == "2"
    with pytest.raises(InvalidInput, match=r"no version '3'; known are 2, 9\.1, 10"):
        resolve_policy({"name": "ours", "version": "3"}, 2)
    with pytest.raises(InvalidInput, match=r"worlds: unknown parameter of policy ours"):
        resolve_policy({"name": "ours", "worlds": 3}, 2)
    assert [item["version"] for item in describe_policies() if item["name"] == "ours"] == ["2", "9.1", "10"]


def test_its_fingerprint_is_its_source(offers: Offer) -> None:
    prints = []
    for body in (FIRST, FIRST, FIRST.replace("[0]", "[-1]")):
        offers("ours", body)
        sys.modules.pop("own_ours_1", None)
        prints.append(resolve_policy("ours", 2).fingerprint)
    assert prints[0] == prints[1] != prints[2]
    wrapped = resolve_policy({"name": "noisy", "policy": "ours"}, 2).fingerprint
    offers("ours", FIRST)
    assert resolve_policy({"name": "noisy", "policy": "ours"}, 2).fingerprint != wrapped


def test_what_cannot_be_used_is_left_out_and_logged(offers: Offer, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    offers("good")
    offers("broken", before="import no_such_module\n")
    offers("nameless", version="")
    offers("heaviest", version="9")
    (tmp_path / "own_function.py").write_text("def choose(view, random):\n    return view.legal[0]\n")
    point_at(tmp_path, "own_function", "own_function:choose")
    own_policies.cache_clear()
    with caplog.at_level(logging.WARNING):
        names = [item["name"] for item in describe_policies()]
    assert "good" in names
    assert not {"broken", "nameless", "own_function"} & set(names)
    assert names.count("heaviest") == 1
    assert resolve_policy("heaviest", 2).version == "1"
    for reason in ("No module named 'no_such_module'", "its version must be a string", "must be a class with a method choose"):
        assert reason in caplog.text


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        ("view.legal[0]", None),
        ("view.legal[random.below(2)]", None),
        ("chance.choice(view.legal)", "chance must come from `random` alone"),
        ("view.legal[MEMORY.append(view) or len(MEMORY) // 3 % 2]", "nothing may be remembered"),
        ("1 / 0", "raised ZeroDivisionError"),
        ("((0, 0), 0)", "which is none of"),
    ],
)
def test_the_contract_test_finds_what_is_wrong(offers: Offer, answer: str, problem: str | None) -> None:
    body = f"    def choose(self, view, random):\n        return {answer}\n"
    offers("tried", body, before="import random as chance\n\nMEMORY = []\n")
    found = check_policy("tried")
    assert found.decisions
    if problem is None:
        assert not found.problems
    else:
        assert any(problem in each for each in found.problems)


@pytest.mark.parametrize(
    "name",
    [
        "random", "linear", "noisy", {"name": "pimc", "worlds": 2}, {"name": "endgame", "tiles": 4},
        {"name": "ismcts", "iterations": 6},
    ],
)  # fmt: skip
def test_shipped_policies_keep_the_contract(name: Any) -> None:
    assert check_policy(name).problems == []
