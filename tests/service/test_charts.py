"""Charts: every value is in one bar, bars are as high as their counts, and a pace is that of the matches."""

from typing import Any

import httpx2
import pytest
import redis
from hypothesis import given
from hypothesis import strategies as st

from service.page.charts import HEIGHT, MOST_BARS, WIDTH, draw_histogram, draw_pace
from service.page.words import ALL, whole
from tests.service.running import Hands, Service
from tests.service.test_page import JOB, load
from workers.jobs.figures import PACE_SECONDS, PACE_STRETCHES, pace_figures
from workers.jobs.keys import PACE


@given(counts=st.dictionaries(st.integers(0, 500), st.integers(1, 10**15), min_size=1))
def test_a_histogram_holds_every_value_once(counts: dict[int, int]) -> None:
    drawn = draw_histogram([[value, str(count)] for value, count in sorted(counts.items())])
    assert drawn is not None
    assert (drawn.low, drawn.high) == (min(counts), max(counts))
    assert len(drawn.bars) <= MOST_BARS
    edge = drawn.low
    for bar in drawn.bars:
        assert bar.low == edge
        edge = bar.high + 1
        assert bar.count == sum(count for value, count in counts.items() if bar.low <= value <= bar.high)
        assert (bar.height > 0) == (bar.count > 0)
        assert bar.height == pytest.approx(max(1.0 if bar.count else 0, HEIGHT * bar.count / drawn.mode.count), abs=0.06)
        assert bar.y + bar.height == pytest.approx(HEIGHT, abs=0.06)
        assert 0 <= bar.x <= bar.x + bar.width <= WIDTH + 0.1
    assert edge == drawn.high + 1
    assert sum(bar.share for bar in drawn.bars) == pytest.approx(1)


def test_nothing_counted_draws_nothing() -> None:
    assert draw_histogram([]) is None
    assert draw_histogram([[3, 0]]) is None
    assert draw_pace([0, 0, 0], 10) is None


@given(matches=st.lists(st.integers(0, 10**7), min_size=2, max_size=400).filter(any))
def test_a_pace_is_drawn_from_its_beginning_to_its_end(matches: list[int]) -> None:
    drawn = draw_pace(matches, 10)
    assert drawn is not None
    points = [tuple(map(float, point.split(","))) for point in drawn.outline.split()]
    assert len(points) <= 182 + 1
    assert points[0] == (0, HEIGHT)
    assert points[-1] == (WIDTH, HEIGHT)
    assert all(0 <= across <= WIDTH * 1.001 and 0 <= down <= HEIGHT for across, down in points)
    assert min(down for _, down in points) == 0
    assert drawn.newest == matches[-1] / 10
    assert drawn.mean == pytest.approx(sum(matches) / len(matches) / 10)
    assert drawn.peak <= max(matches) / 10 + 1e-6


def test_the_ring_shows_the_last_hour_alone() -> None:
    ring = {"0": "359 5", "1": "361 7", "2": "2 9"}
    shown = pace_figures(ring, 10 * 400 + 3)
    assert len(shown) == PACE_STRETCHES - 1
    assert {400 - len(shown) + place: count for place, count in enumerate(shown) if count} == {359: 5, 361: 7}


def test_the_pace_counts_every_match_once(http: httpx2.Client, hands: Hands, service: Service) -> None:
    assert not load(http, "/workers").of("polygon")
    http.post("/v1/jobs", json=JOB)
    hands.work()
    with redis.Redis.from_url(service.redis_url) as client:
        kept: dict[bytes, bytes] = client.hgetall(PACE)  # type: ignore[assignment]
    assert sum(int(entry.split()[1]) for entry in kept.values()) == 64 + 2
    assert len(kept) <= 60 / PACE_SECONDS
    # An hour is a ring: what lies in the place of a new stretch is of the hour before.
    with redis.Redis.from_url(service.redis_url) as client:
        now = client.time()[0] // PACE_SECONDS  # type: ignore[index]
        client.hset(PACE, str((now - 1) % PACE_STRETCHES), f"{now - 1} 5000")
        client.hset(PACE, str(now % PACE_STRETCHES), f"{now - PACE_STRETCHES} 900000")
    http.post("/v1/jobs", json=JOB)
    hands.work()
    assert 5000 in hands.ledger.pace()
    assert max(hands.ledger.pace()) == 5000
    for path in ("/workers", "/"):
        page = load(http, path)
        assert len(page.of("polygon")) == 1
        assert "at most" in page.words


def test_the_workers_are_shown(http: httpx2.Client, hands: Hands) -> None:
    assert "No worker is alive" in load(http, "/workers").words
    hands.ledger.beat("<b>hands</b>", "here", 1, 3, is_new=True)
    page = load(http, "/workers")
    assert "<b>hands</b>" in page.words
    assert not page.of("b")
    assert [part for part in page.of("div") if part.get("data-live-source") == "/workers/live"]
    hands.ledger.drain("<b>hands</b>")
    assert "takes no more" in load(http, "/workers").words


def test_a_scenario_shows_all_that_was_counted(http: httpx2.Client, hands: Hands) -> None:
    job = http.post("/v1/jobs", json=JOB).json()["id"]
    before = load(http, f"/jobs/{job}/scenarios/1")
    assert [part for part in before.of("div") if part.get("data-live-source") == f"/jobs/{job}/scenarios/1/live"]
    assert not before.of("figure")
    hands.work()
    for index, result in enumerate(http.get(f"/v1/jobs/{job}/results").json()["results"]):
        page = load(http, f"/jobs/{job}/scenarios/{index}")
        names = ALL["en"].texts
        for name in ("matches", "rounds", "plies", "passes", "blocked_rounds", "tied_blocked_rounds", "leader_rounds_won"):
            assert names[f"counts.{name}"] in page.words
            assert whole(result[name]) in page.words
        for counted in (*result["policies"], *result["seats"]):
            assert whole(counted["points"]) in page.words
        histograms: list[Any] = [
            result["rounds_per_match"],
            result["winning_margin"],
            *(each["scores"] for each in result["blocks"]),
        ]
        assert len(page.of("figure")) == len(histograms)
        bars = [bar for histogram in histograms for bar in draw_histogram(histogram).bars if bar.count]  # type: ignore[union-attr]
        for bar in bars:
            span = whole(bar.low) if bar.low == bar.high else f"{whole(bar.low)}–{whole(bar.high)}"
            assert f"{span}: {whole(bar.count)} (" in page.words
        assert result["scenario"]["fingerprint"] in page.words
    assert "Not found" in load(http, f"/jobs/{job}/scenarios/2", 404).words
    with http.stream("GET", f"/jobs/{job}/scenarios/0/live") as answer:
        assert "scenario" in answer.read().decode()


def test_a_job_of_one_scenario_shows_its_histograms_at_once(http: httpx2.Client, hands: Hands) -> None:
    job = http.post("/v1/jobs", json={**JOB, "scenarios": JOB["scenarios"][:1]}).json()["id"]
    hands.work()
    assert len(load(http, f"/jobs/{job}").of("figure")) == 4
