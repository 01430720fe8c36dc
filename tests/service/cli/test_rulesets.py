"""Rulesets at every door: the same refusals over HTTP, on the command line and in job files, and what explains them."""

import json
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.service.cli.conftest import Command
from tests.service.running import Service
from workers.engine.explained import CHOICES, EXPLANATIONS

REFUSED: list[tuple[str, int, Any, str, str]] = [
    ("hands that do not fit", 4, {"preset": "block", "hand": 8}, "hand", "4 hands of 8 do not fit into a set of 28 tiles"),
    ("hands that do not fit into double-nine", 8, {"set": 9, "hand": 7, "ends": {"rounds": 5}}, "hand", "do not fit"),
    ("partners of three", 3, {"preset": "traditional", "partners": True}, "partners", "needs 4 players, not 3"),
    ("partners of two", 2, {"preset": "block", "partners": True}, "partners", "needs 4 players, not 2"),
    ("a draw limit of 0", 2, {"preset": "draw", "draw": {"limit": 0}}, "draw.limit", "from 1 to"),
    ("a reserve below 0", 2, {"preset": "draw", "draw": {"reserve": -1}}, "draw.reserve", "from 0 to"),
    ("a target of 0", 2, {"preset": "block", "ends": {"target": 0}}, "ends.target", "from 1 to"),
    ("a target below 0", 2, {"preset": "traditional", "ends": {"target": -1}}, "ends.target", "from 1 to"),
    ("more than 10,000 rounds", 2, {"preset": "block", "ends": {"rounds": 10_001}}, "ends.rounds", "from 1 to 10000"),
    ("no round", 2, {"preset": "block", "ends": {"rounds": 0}}, "ends.rounds", "from 1 to 10000"),
    ("5 players on double-six", 5, {"hand": 5, "ends": {"target": 61}}, "set", "double-six seats at most 4, not 5"),
    ("5 players on plain block", 5, "block", "set", "double-six seats at most 4, not 5"),
    ("5 players without a hand", 5, {"preset": "traditional", "set": 9}, "hand", "says nothing for 5 players"),
    ("an unknown preset", 2, "blok", "preset", "unknown ruleset 'blok'"),
    ("an unknown parameter", 2, {"preset": "block", "colour": 1}, "colour", "unknown parameter"),
    ("a set that does not exist", 2, {"preset": "block", "set": 8}, "set", "must be 6, 9 or 12, not 8"),
    ("a set in a list", 2, {"preset": "block", "set": [6]}, "set", "must be 6, 9 or 12"),
    ("a fractional set", 2, {"preset": "block", "set": 6.0}, "set", "must be 6, 9 or 12"),
    ("a word in a list", 2, {"preset": "block", "opening": ["lot"]}, "opening", "must be one of lot, highest_double"),
]


@pytest.mark.parametrize(("players", "ruleset", "field", "reason"), [pytest.param(*case[1:], id=case[0]) for case in REFUSED])
def test_what_cannot_be_played_is_refused_by_name_at_every_door(
    http: httpx2.Client, service: Service, blockyard: Command, tmp_path: Path, players: int, ruleset: Any, field: str,
    reason: str,
) -> None:  # fmt: skip
    job = {"scenarios": [{"policies": ["random"] * players, "matches": 2, "ruleset": ruleset}]}
    answer = http.post("/v1/jobs", json=job)
    assert answer.status_code == 422, answer.text
    errors = {error["path"]: error["message"] for error in answer.json()["errors"]}
    assert reason in errors[f"scenarios[0].ruleset.{field}"]

    file = tmp_path / "job.json"
    file.write_text(json.dumps(job))
    said = blockyard("submit", str(file), "--url", service.url)
    assert (said.code, said.out) == (2, "")
    assert f"scenarios[0].ruleset.{field}: " in said.err
    assert reason in said.err

    value = ruleset if isinstance(ruleset, str) else json.dumps(ruleset)
    every_seat = ["--policy", "random"] * players
    for command in (["simulate", *every_seat, "--matches", "2"], ["bench", "--policy", "random", "--players", str(players)]):
        said = blockyard(*command, "--ruleset", value)
        assert (said.code, said.out) == (2, "")
        assert f"--ruleset.{field}: " in said.err
        assert reason in said.err

    hands = [[[0, seat]] for seat in range(players)]
    position = {"ruleset": ruleset, "players": players, "hands": hands, "line_ends": None, "to_move": 0}
    answer = http.post("/v1/judge", json=position)
    assert answer.status_code == 422
    assert f"ruleset.{field}" in [error["path"] for error in answer.json()["errors"]]


def test_every_ruleset_is_explained_in_plain_words(http: httpx2.Client, blockyard: Command) -> None:
    shown = blockyard("rulesets")
    assert max(map(len, shown.out.splitlines())) <= 80
    text = " ".join(shown.out.split())
    listed = http.get("/v1/rulesets").json()["items"]
    assert [item["name"] for item in listed] == list(EXPLANATIONS)
    for item in listed:
        assert item["name"] in text
        assert item["source"] in text
        assert item["rules"]
        for sentence in (*item["rules"], *item["choices"]):
            assert sentence in text
        for parameter in item["parameters"]["properties"]:
            assert parameter in shown.err
    assert {choice for item in listed for choice in item["choices"]} == set(CHOICES.values())
