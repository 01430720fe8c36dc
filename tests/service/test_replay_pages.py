"""The pages of replays: at every moment they show what the API says, and all of it can be reached without a script."""

import random
import re
from typing import Any

import httpx2
import orjson
import pytest
import redis

from service.schemas.replays import Replay, RoundAnswer
from tests.service.running import Service
from tests.service.test_page import EVIL, Elements, load
from workers.jobs.keys import job_key

JOB: dict[str, Any] = {
    "name": EVIL,
    "seed": 5,
    "scenarios": [
        {"policies": ["heaviest", "random"], "matches": 40},
        {"policies": ["random", "heaviest", {"prefer": ["double", "heaviest"]}], "matches": 9, "ruleset": "draw"},
        {"policies": ["random"] * 4, "matches": 4, "ruleset": {"preset": "traditional", "partners": True}},
        {"policies": ["random"] * 2, "matches": 2, "ruleset": {"preset": "draw", "set": 12, "hand": 15}},
    ],
}


@pytest.fixture
def job(http: httpx2.Client) -> str:
    """The path of a job's scenarios."""
    return f"/jobs/{http.post('/v1/jobs', json=JOB).json()['id']}/scenarios"


def tiles_in(html: str, name: str) -> list[str]:
    """The tiles that a list of this name shows."""
    (shown,) = re.findall(rf'aria-label="{re.escape(name)}">(.*?)</ul>', html, re.DOTALL)
    return re.findall(r"\[\d+\|\d+\]", shown)


def held(played: RoundAnswer, seat: int, shown: int) -> list[str]:
    """What a seat holds after so many plies, by the API's answer."""
    hand = [tuple(tile) for tile in played.hands[seat]]
    for ply in played.plies[:shown]:
        if ply.seat == seat:
            hand.extend(tuple(tile) for tile in ply.drawn)
            if ply.placement is not None:
                hand.remove(tuple(ply.placement.tile))
    return [f"[{low}|{high}]" for low, high in hand]


@pytest.mark.parametrize("scenario", range(len(JOB["scenarios"])))
def test_any_moment_is_shown_as_the_api_has_it(http: httpx2.Client, job: str, scenario: int) -> None:
    chance = random.Random(scenario)
    for _ in range(3):
        match = chance.randrange(JOB["scenarios"][scenario]["matches"])
        replay = Replay.model_validate(http.get(f"/v1{job}/{scenario}/matches/{match}").json())
        played = chance.choice(replay.rounds)
        before = replay.rounds[played.round - 1].scores if played.round else [0] * len(replay.seated)
        for shown in sorted({0, 1, chance.randrange(len(played.plies)), len(played.plies)}):
            path = f"{job}/{scenario}/matches/{match}?round={played.round}&ply={shown}"
            page, html = load(http, path), http.get(path).text
            ports = played.plies[shown - 1].ports if shown else []
            names = [f"[{port.tile[0]}|{port.tile[1]}] {port.port}" for port in ports]
            marks = [rect["data-port"] for rect in page.of("rect") if rect.get("data-port")]
            assert sorted(marks[:2]) == sorted(names)
            assert marks[2:] == marks[:2], "the drawing for narrow screens shows the same"
            assert [text for text in names if text not in page.words] == []
            placed = [ply for ply in played.plies[:shown] if ply.placement is not None]
            assert html.count("<g>") == 2 * len(placed)
            for seat in range(len(replay.seated)):
                assert tiles_in(html, f"Hand of seat {seat}") == held(played, seat, shown)
                passes = sum(ply.seat == seat and ply.placement is None for ply in played.plies[:shown])
                score = (played.scores if shown == len(played.plies) else before)[seat]
                (facts,) = re.findall(rf"Hand of seat {seat}.*?<p class=\"facts\">(.*?)</p>", html, re.DOTALL)
                assert f"{passes} pass" in facts
                assert f"Score {score}" in facts
            stock = len(played.stock) - sum(len(ply.drawn) for ply in played.plies[:shown])
            assert len(tiles_in(html, f"Stock: {stock}")) == stock


def test_every_ply_is_a_link_away(http: httpx2.Client, job: str) -> None:
    path = f"{job}/0/matches/3?round=1&ply=0"
    plies = Replay.model_validate(http.get(f"/v1{job}/0/matches/3").json()).rounds[1].plies
    for shown in range(len(plies) + 1):
        page = load(http, path)
        (slider,) = [field for field in page.of("input") if field.get("type") == "range"]
        assert (slider["min"], slider["max"], slider["value"]) == ("0", str(len(plies)), str(shown))
        (share,) = [link["href"] for link in page.of("a") if "data-share" in link]
        assert share == path
        forward = [link["href"] for link in page.of("a") if link.get("id") == "step-on"]
        assert bool(forward) == (shown < len(plies))
        path = forward[0] or "" if forward else path
    assert "Ply" in page.words
    # The slider's form says what its script would fetch.
    assert [form["action"] for form in page.of("form")][-1] == f"{job}/0/matches/3"


def test_a_list_leads_to_every_match(http: httpx2.Client, job: str) -> None:
    seen: list[str] = []
    following: str | None = f"{job}/0/matches"
    while following:
        page = load(http, following)
        links = [link["href"] or "" for link in page.of("a")]
        seen += [link for link in links if re.fullmatch(rf"{job}/0/matches/\d+", link)]
        following = next((link for link in links if "from=" in link and int(link.rpartition("=")[2]) >= len(seen)), None)
    assert seen == [f"{job}/0/matches/{number}" for number in range(40)]
    led = http.get(f"{job}/0/matches", params={"match": 12})
    assert (led.status_code, led.headers["Location"]) == (303, f"{job}/0/matches/12")


def test_the_job_leads_to_its_matches(http: httpx2.Client, job: str) -> None:
    links = [link["href"] for link in load(http, job.removesuffix("/scenarios")).of("a")]
    assert [f"{job}/{number}/matches" for number in range(4)] == [link for link in links if link and link.endswith("matches")]


@pytest.mark.parametrize(
    "path", ["9/matches", "9/matches/0", "0/matches/40", "0/matches?from=40", "0/matches/0?round=999", "0/matches/0?ply=99"]
)
def test_what_was_not_played_has_a_page_that_says_so(http: httpx2.Client, job: str, path: str) -> None:
    assert "Not found" in load(http, f"{job}/{path}", 404).words


def test_a_match_that_would_be_another_is_not_shown(http: httpx2.Client, service: Service, job: str) -> None:
    key = job_key(job.split("/")[2], "spec")
    with redis.Redis.from_url(service.redis_url) as client:
        spec = orjson.loads(client.get(key))  # type: ignore[arg-type]
        client.set(key, orjson.dumps(spec | {"engine_version": "0"}))
    for path in ("0/matches", "0/matches/0"):
        page = load(http, f"{job}/{path}", 409)
        assert "It cannot be played again here" in page.words
        assert "engine version 0" in page.words


def test_every_language_tells_the_moment(http: httpx2.Client, job: str) -> None:
    for language, passes in (("en", "passes."), ("id", "lewat."), ("tr", "pas geçer.")):
        plies = Replay.model_validate(http.get(f"/v1{job}/0/matches/0").json()).rounds[0].plies
        number = next(number for number, ply in enumerate(plies, 1) if ply.placement is None)
        answer = http.get(f"{job}/0/matches/0?ply={number}", headers={"Accept-Language": language})
        assert passes in Elements(answer.text).words
