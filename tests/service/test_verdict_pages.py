"""The pages of regressions: the list, a history, a run with the path of its ratio, while it runs and when it has ended."""

from collections.abc import Sequence
from typing import Any

import httpx2
import orjson
import pytest

from service.page import verdicts
from service.page.words import ALL, whole
from tests.servers import WorkerFactory, poll
from tests.service.running import Service
from tests.service.test_page import EVIL, load

TEST: dict[str, Any] = {
    "name": "two <b>seats</b>", "players": 2, "candidate": "lightest", "baseline": "heaviest", "h0": -0.02, "h1": 0.0,
    "max_matches": 40_000,
}  # fmt: skip
EQUAL = {**TEST, "name": "equal", "candidate": "heaviest"}
GONE = {**TEST, "name": "gone", "baseline": {"name": "heaviest", "version": "0"}}


def put(http: httpx2.Client, *tests: dict[str, Any], **more: Any) -> None:
    assert http.put("/v1/regressions/nightly", json={"seed": 77, "tests": tests, **more}).is_success


def start(http: httpx2.Client, **body: Any) -> str:
    run = http.post("/v1/regressions/nightly/runs", json=body).json()["id"]
    return f"/regressions/nightly/runs/{run}"


def test_an_empty_list_tells_how_to_begin(http: httpx2.Client) -> None:
    assert "No regression yet" in load(http, "/regressions").words
    assert "/regressions" in [link["href"] for link in load(http, "/").of("a")]


def test_a_run_is_shown_while_it_goes_on_and_with_its_verdict(
    http: httpx2.Client, worker_factory: WorkerFactory, service: Service
) -> None:
    put(http, TEST, EQUAL, GONE, schedule="0 2 * * *")
    assert "It has not run yet" in load(http, "/regressions/nightly").words
    address = start(http, labels={"branch": EVIL})
    before = load(http, address)
    assert [part for part in before.of("div") if part.get("data-live-source") == f"{address}/live"]
    assert not before.of("polyline")
    assert not before.of("b")
    with http.stream("GET", f"{address}/live") as answer:
        events = (message for message in httpx2.EventSource(answer) if message.event == "fragments")
        assert "running" in orjson.loads(next(events).data)["run"]
        worker_factory()
        poll(lambda: service.state.regressions.advance() or http.get(f"/v1{address}").json()["state"] == "done", pause=0.1)
        last = [orjson.loads(message.data) for message in events][-1]
    page = load(http, address)
    assert last["run"].strip() in http.get(address).text
    assert not [part for part in page.of("div") if part.get("data-live-source")]
    run = http.get(f"/v1{address}").json()
    weaker, equal, gone = run["tests"]
    assert (EVIL in page.words, "has no version '0'" in page.words, len(page.of("polyline"))) == (True, True, 2)
    for test in (weaker, equal):
        low, high = test["share_ci95"]
        for text in (
            f"{100 * test['share']:.2f} %", f"{100 * low:.2f} % to {100 * high:.2f} %", ALL["en"].decimal(test["llr"]),
            whole(test["matches_saved"]),
        ):  # fmt: skip
            assert text in page.words
        assert f"/jobs/{test['job']}" in [link["href"] for link in page.of("a")]
    assert f"/jobs/{gone['job']}" not in [link["href"] for link in page.of("a")]
    badges = [part["class"] for part in page.of("span") if (part.get("class") or "").startswith("badge")]
    assert badges == ["badge regressed", "badge regressed", "badge passed", "badge failed"]

    # The job of a test that was decided before its cap does not look as if it had stopped half way.
    assert "decided" in load(http, f"/jobs/{weaker['job']}").words

    history = load(http, "/regressions/nightly")
    assert address in [link["href"] for link in history.of("a")]
    assert f"{TEST['name']}: regressed" in history.words
    assert whole(weaker["matches_saved"] + equal["matches_saved"]) in history.words
    listed = load(http, "/regressions")
    assert {"/regressions/nightly", address} <= {link["href"] for link in listed.of("a")}
    assert "regressed" in listed.words
    http.post("/v1/regressions/nightly/promote")
    assert "pinned to" in load(http, "/regressions/nightly").words


def test_a_long_history_has_pages_that_live(http: httpx2.Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verdicts, "RUNS_SHOWN", 2)
    put(http, GONE)
    runs = [start(http) for _ in range(5)][::-1]
    shown, path = list[list[str]](), "/regressions/nightly"
    while path:
        page = load(http, path)
        links = [link["href"] or "" for link in page.of("a")]
        shown.append([link for link in links if "/runs/" in link])
        assert ("/regressions/nightly" in links) == (path != "/regressions/nightly"), "the newest are a link away"
        (live,) = [part["data-live-source"] for part in page.of("div") if part.get("data-live-source")]
        with http.stream("GET", live or "") as answer:
            first = next(message for message in httpx2.EventSource(answer) if message.event == "fragments")
        assert [link for link in runs if link in orjson.loads(first.data)["regression"]] == shown[-1]
        path = next((link for link in links if "cursor=" in link), "")
    assert shown == [runs[:2], runs[2:4], runs[4:]]
    assert "Not found" in load(http, "/regressions/nightly?cursor=nosuch", 404).words


def test_a_regression_run_once_has_its_history(http: httpx2.Client) -> None:
    http.post("/v1/regression-runs", json={"name": "once", "tests": [GONE]})
    page = load(http, "/regressions/once")
    assert "not stored" in page.words
    assert "gone: failed" in page.words
    assert "No regression yet" in load(http, "/regressions").words


@pytest.mark.parametrize("path", ["/regressions/nosuch", "/regressions/nosuch/runs/x", "/regressions/once/runs/nosuch"])
def test_what_is_not_there_has_a_page_that_says_so(http: httpx2.Client, path: str) -> None:
    once = http.post("/v1/regression-runs", json={"name": "once", "tests": [GONE]}).json()["id"]
    assert "Not found" in load(http, path, 404).words
    assert "Not found" in load(http, f"/regressions/other/runs/{once}", 404).words


@pytest.mark.parametrize(
    "path", [[(256, -8.0)], [(256, 1.0), (512, 3.5)], [(256 * look, (-1) ** look * 0.5) for look in range(1, 1001)]]
)
def test_a_path_is_drawn_whole_between_its_bounds(path: Sequence[tuple[int, float]]) -> None:
    drawn = verdicts.draw_path(path, -2.94, 2.94)
    assert drawn is not None
    points = [tuple(map(float, point.split(","))) for point in drawn.points.split()]
    assert points[0] == (0.0, drawn.zero)
    assert points[-1] == drawn.end
    assert drawn.end[0] == verdicts.PATH_WIDTH
    assert len(points) <= verdicts.POINTS_SHOWN + 2
    assert [across for across, _ in points] == sorted(across for across, _ in points)
    assert all(0 <= down <= verdicts.PATH_HEIGHT for _, down in points)
    assert 0 < drawn.upper < drawn.zero < drawn.lower < verdicts.PATH_HEIGHT
    assert (drawn.end[1] > drawn.lower) == (path[-1][1] < -2.94)
    assert (drawn.end[1] < drawn.upper) == (path[-1][1] > 2.94)


def test_before_the_first_look_there_is_no_path() -> None:
    assert verdicts.draw_path([], -2.94, 2.94) is None
