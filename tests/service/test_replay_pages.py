"""The pages of replays: at every moment they show what the API says, and all of it can be reached without a script."""

import random
import re
import threading
from collections.abc import Iterator
from typing import Any

import httpx2
import orjson
import pytest
import redis

import service.replaying
from service.page import answers, replays
from service.schemas.replays import Replay, RoundAnswer
from tests.servers import PATIENCE
from tests.service.running import Service
from tests.service.test_page import EVIL, Elements, load
from workers.engine.compile import SEARCH_KERNEL
from workers.engine.play import Lineup, replay_match
from workers.engine.reference import MatchRecord
from workers.errors import PlayFailed
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


@pytest.fixture
def turns(monkeypatch: pytest.MonkeyPatch) -> threading.Semaphore:
    """How many matches may be played again: each takes as long as the test wants. Block 3 has a policy that fails."""
    allowed = threading.Semaphore(0)

    def slow(lineup: Lineup, block: int, rotation: int) -> MatchRecord:
        assert allowed.acquire(timeout=PATIENCE)
        if block == 3:
            raise PlayFailed("seat 1 chose [0|0], which is not legal")
        return replay_match(lineup, block, rotation)

    for module in (replays, service.replaying):
        monkeypatch.setattr(module, "replay_match", slow)
    return allowed


@pytest.fixture
def whole(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pages are sent whole, however busy the machine: their status then tells what turned out."""
    monkeypatch.setattr(answers, "WHOLE_SECONDS", PATIENCE)


def read_until(parts: Iterator[str], wanted: str, read: str = "") -> str:
    """What has arrived once `wanted` has."""
    while wanted not in read:
        read += next(parts)
    return read


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


def test_partners_win_and_score_as_a_side(http: httpx2.Client, job: str) -> None:
    replay = Replay.model_validate(http.get(f"/v1{job}/2/matches/1").json())
    seats = ", ".join(map(str, replay.winners))
    assert seats in ("0, 2", "1, 3")
    scored = next(each for each in replay.rounds if each.winner is not None)
    page = load(http, f"{job}/2/matches/1?round={scored.round}")
    assert f"Seats {seats} win the match together in {len(replay.rounds)} round" in page.words
    assert "share the match" not in page.words
    side = [seat for seat in range(4) if scored.winner is not None and (seat - scored.winner) % 2 == 0]
    assert f"The side of seats {side[0]}, {side[1]} adds {scored.credit[side[0]]}." in page.words
    assert page.words.count("wins the round") == 2
    single = load(http, f"{job}/0/matches/3")
    assert re.search(r"Seat \d wins the match in \d+ rounds", single.words)


def test_a_match_of_one_round_is_told_as_one(http: httpx2.Client) -> None:
    ruleset = {"preset": "block", "ends": {"rounds": 1}}
    body = {"seed": 5, "scenarios": [{"policies": ["heaviest", "random"], "matches": 2, "ruleset": ruleset}]}
    path = f"/jobs/{http.post('/v1/jobs', json=body).json()['id']}/scenarios/0/matches/0"
    assert "in 1 round, " in load(http, path).words


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


@pytest.mark.usefixtures("whole")
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


def test_a_list_arrives_row_by_row_as_matches_are_played(http: httpx2.Client, job: str, turns: threading.Semaphore) -> None:
    path = f"{job}/0/matches"
    with http.stream("GET", f"{path}?from=4") as answer:
        assert answer.status_code == 200
        assert (answer.headers["Content-Language"], answer.headers["X-Accel-Buffering"]) == ("en", "no")
        assert "script-src 'self'" in answer.headers["Content-Security-Policy"]
        parts = answer.iter_text()
        read = read_until(parts, "<tbody>")
        assert "<h1>Matches</h1>" in read
        assert "played again, one after the other" in read
        for number in range(4, 14):
            assert f'"{path}/{number}"' not in read, "it has not been played yet"
            turns.release()
            read = read_until(parts, f'"{path}/{number}"', read)
        read += "".join(parts)
    assert read.rstrip().endswith("</html>")
    assert "\0" not in read
    # A policy that fails in one match leaves the others as they are.
    assert Elements(read).words.count("seat 1 chose [0|0], which is not legal") == 2
    line = orjson.loads(http.get(f"/v1{path}", params={"from": 13, "count": 1}).content)
    (row,) = re.findall(rf'"{path}/13".*?</tr>', read, re.DOTALL)
    assert f"heaviest {line['scores'][line['policies'].index('heaviest')]}<" in row


def test_a_replay_that_takes_long_shows_its_head_at_once(
    http: httpx2.Client, job: str, turns: threading.Semaphore, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = f"{job}/1/matches/2?round=1&ply=3"
    with http.stream("GET", path) as answer:
        assert (answer.status_code, answer.headers["Content-Language"]) == (200, "en")
        parts = answer.iter_text()
        read = read_until(parts, "The match is played again")
        assert "<h1>Match 2, round 1</h1>" in read
        assert "data-replay" not in read
        turns.release()
        read += "".join(parts)
    monkeypatch.setattr(answers, "WHOLE_SECONDS", PATIENCE)
    # It is remembered: a neighbouring ply asks nobody to play, and the same one is the same page, sent whole.
    again = http.get(path)
    assert again.text == read
    assert "Content-Length" in again.headers
    assert "Ply 4 of" in load(http, path.replace("ply=3", "ply=4")).words


@pytest.mark.parametrize("cold", [True, False])
def test_whoever_waits_for_a_compiler_is_told(
    http: httpx2.Client, turns: threading.Semaphore, monkeypatch: pytest.MonkeyPatch, cold: bool
) -> None:
    monkeypatch.setattr("workers.engine.play.is_cold", lambda kernel: cold and kernel == SEARCH_KERNEL)
    search = {"name": "pimc", "worlds": 2}
    scenarios = [{"policies": [policy, "heaviest"], "matches": 2} for policy in (search, "random")]
    path = f"/jobs/{http.post('/v1/jobs', json={'scenarios': scenarios}).json()['id']}/scenarios"
    for scenario, waits in ((0, cold), (1, False)):  # plain programs are replayed literally
        for page in ("matches", "matches/0"):
            with http.stream("GET", f"{path}/{scenario}/{page}") as answer:
                parts = answer.iter_text()
                note = read_until(parts, "played again").partition("note playing")[2]
                assert ("has to be compiled first" in read_until(parts, "</p>", note)) == waits
                turns.release(2)


@pytest.mark.parametrize(
    ("path", "said"),
    [("matches/4?round=999", "There is no round 999"), ("matches/7", "seat 1 chose [0|0], which is not legal")],
)
def test_what_turns_out_late_is_said_on_the_page(
    http: httpx2.Client, job: str, turns: threading.Semaphore, path: str, said: str
) -> None:
    with http.stream("GET", f"{job}/0/{path}") as answer:
        parts = answer.iter_text()
        read = read_until(parts, "The match is played again")
        turns.release()
        read += "".join(parts)
    assert said in Elements(read).words
    assert read.rstrip().endswith("</html>")
    assert "data-replay" not in read


@pytest.mark.usefixtures("whole")
def test_a_match_in_which_a_policy_fails_has_a_page_that_says_so(
    http: httpx2.Client, job: str, turns: threading.Semaphore
) -> None:
    turns.release()
    page = load(http, f"{job}/0/matches/7", 409)
    assert "It cannot be played again here" in page.words
    assert "seat 1 chose [0|0], which is not legal" in page.words


def test_whoever_asks_for_the_head_alone_has_nothing_played(
    http: httpx2.Client, job: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[int] = []
    monkeypatch.setattr(replays, "replay_match", lambda _lineup, block, _rotation: asked.append(block))
    answer = http.head(f"{job}/0/matches")
    assert (answer.status_code, answer.content) == (200, b"")
    assert http.get(f"{job}/9/matches").status_code == 404
    assert asked == []
