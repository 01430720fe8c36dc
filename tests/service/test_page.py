"""The dashboard as HTML: complete without a script, nothing from elsewhere, nothing inline, and safe with any name."""

import re
from html.parser import HTMLParser
from typing import Any

import httpx2
import orjson
import pytest

from service.page import reference, tournament, views
from service.page.words import ALL, moment, whole
from tests.service.running import Hands

EVIL = '<script>alert("x")</script>'
JOB: dict[str, Any] = {
    "name": "night <b>run</b>",
    "seed": 7,
    "labels": {"branch": EVIL},
    "scenarios": [{"policies": ["heaviest", "random"], "matches": 64}, {"policies": ["random"] * 3, "matches": 2}],
}


class Elements(HTMLParser):
    """The elements of a page with their attributes, and its text."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.words = ""
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.words += data

    def of(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.found if name == tag]


def load(http: httpx2.Client, path: str, status: int = 200) -> Elements:
    answer = http.get(path)
    assert answer.status_code == status, answer.text
    assert answer.headers["Content-Type"].startswith("text/html")
    policy = answer.headers["Content-Security-Policy"]
    assert "script-src 'self'" in policy
    assert "unsafe" not in policy
    page = Elements(answer.text)
    for tag, attributes in page.found:
        assert "style" not in attributes, tag
        assert not any(name.startswith("on") for name in attributes), tag
        assert tag != "style"
        for name in ("src", "href", "action", "data-live-source"):
            assert (attributes.get(name) or "/").startswith(("/", "#")), (tag, attributes)
        if tag == "script":
            assert attributes.get("src")
    return page


def test_an_empty_list_tells_how_to_begin(http: httpx2.Client) -> None:
    page = load(http, "/")
    assert "No job yet" in page.words
    assert "No worker is alive" in page.words


def test_the_list_shows_every_job(http: httpx2.Client) -> None:
    jobs = [http.post("/v1/jobs", json={**JOB, "name": f"job {number}"}).json()["id"] for number in range(3)]
    http.post(f"/v1/jobs/{jobs[0]}/cancel")
    page = load(http, "/")
    links = [link["href"] for link in page.of("a") if (link["href"] or "").startswith("/jobs/")]
    assert links == [f"/jobs/{job}" for job in reversed(jobs)]
    assert len(page.of("progress")) == 3
    assert [link for link in load(http, "/?state=cancelled").of("a") if link["href"] == f"/jobs/{jobs[0]}"]
    assert not load(http, "/?state=done").of("progress")


def test_a_long_list_has_pages(http: httpx2.Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(views, "JOBS_SHOWN", 2)
    for _ in range(3):
        http.post("/v1/jobs", json=JOB)
    page = load(http, "/")
    (older,) = [link["href"] for link in page.of("a") if "cursor=" in (link["href"] or "")]
    assert len(page.of("progress")) == 2
    assert len(load(http, older or "").of("progress")) == 1


def test_a_job_shows_its_shares_with_intervals(http: httpx2.Client, hands: Hands) -> None:
    job = http.post("/v1/jobs", json=JOB).json()["id"]
    before = load(http, f"/jobs/{job}")
    assert [part for part in before.of("div") if part.get("data-live-source") == f"/jobs/{job}/live"]
    hands.work()
    page = load(http, f"/jobs/{job}")
    assert not [part for part in page.of("div") if part.get("data-live-source")], "a finished job needs no stream"
    (result, other) = http.get(f"/v1/jobs/{job}/results").json()["results"]
    share = result["estimates"]["policies"][0]
    low, high = share["ci95"]
    assert f"{100 * share['win_share']:.2f} %" in page.words
    assert f"{100 * low:.2f} % to {100 * high:.2f} %" in page.words
    assert other["scenario"]["players"] == 3
    assert len(page.of("tr")) == (1 + 2) + (1 + 3)
    assert len(page.of("svg")) == 1 + 5


def test_sides_share_equally_at_half_and_rulesets_are_named(http: httpx2.Client, hands: Hands) -> None:
    ruleset = {"preset": "traditional", "partners": True, "ends": {"rounds": 1}}
    scenario = {"policies": ["random", "heaviest"] * 2, "matches": 60, "ruleset": ruleset}
    job = http.post("/v1/jobs", json={"seed": 3, "scenarios": [scenario]}).json()["id"]
    hands.work()
    page = load(http, f"/jobs/{job}")
    assert "4 players, traditional; partners; ends rounds 1" in page.words
    assert "an equal share is 50.00 %" in page.words
    (result,) = http.get(f"/v1/jobs/{job}/results").json()["results"]
    assert (f"{result['draws']} drawn" in page.words) == (result["draws"] > 0)
    for one, partner in ((0, 2), (1, 3)):
        for name in ("wins", "shared_wins", "points"):
            assert result["policies"][one][name] == result["policies"][partner][name]
    assert sum(policy["wins"] + policy["shared_wins"] / 2 for policy in result["policies"]) == 2 * result["matches"]


def test_many_scenarios_have_pages(http: httpx2.Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(views, "SCENARIOS_SHOWN", 2)
    body = {"scenarios": [{"policies": ["heaviest", "random"], "matches": 2}] * 5}
    job = http.post("/v1/jobs", json=body).json()["id"]
    page = load(http, f"/jobs/{job}?first=2")
    links = [link["href"] for link in page.of("a")]
    assert f"/jobs/{job}?first=0" in links
    assert f"/jobs/{job}?first=4" in links
    assert "3 to 4 of 5" in page.words
    assert "No scenario here" in load(http, f"/jobs/{job}?first=99").words


def test_names_and_labels_are_shown_as_text(http: httpx2.Client) -> None:
    job = http.post("/v1/jobs", json=JOB).json()["id"]
    for path in ("/", f"/jobs/{job}"):
        page = load(http, path)
        assert JOB["name"] in page.words
        assert not page.of("b")
    assert EVIL in load(http, f"/jobs/{job}").words


def test_fragments_are_what_the_page_holds(http: httpx2.Client, hands: Hands) -> None:
    job = http.post("/v1/jobs", json=JOB).json()["id"]
    with http.stream("GET", f"/jobs/{job}/live") as answer:
        assert answer.headers["Content-Type"].startswith("text/event-stream")
        events = (message for message in httpx2.EventSource(answer) if message.event == "fragments")
        first = orjson.loads(next(events).data)
        hands.work()
        last = [orjson.loads(message.data) for message in events][-1]
    assert ("queued" in first["job"], "done" in last["job"]) == (True, True)
    html = http.get(f"/jobs/{job}").text
    for name, fragment in last.items():
        assert fragment.strip() in html, name
        assert f'data-live="{name}"' in html
    with http.stream("GET", "/live") as answer:
        fragments = orjson.loads(next(iter(httpx2.EventSource(answer))).data)
    assert f"/jobs/{job}" in fragments["jobs"]


def test_a_tournament_shows_its_ratings_and_pairs(http: httpx2.Client, hands: Hands, monkeypatch: pytest.MonkeyPatch) -> None:
    matrix = {"players": [2, 3], "policies": ["random", {"prefer": ["double", "heaviest"]}, "heaviest"], "matches": 600}
    job = http.post("/v1/jobs", json={"seed": 7, "matrix": matrix}).json()["id"]
    assert load(http, f"/jobs/{job}").words.count("No ratings: ratings come once every pair") == 2
    with http.stream("GET", f"/jobs/{job}/live") as answer:
        events = (message for message in httpx2.EventSource(answer) if message.event == "fragments")
        assert "No ratings" in orjson.loads(next(events).data)["fields"]
        hands.work()
        last = [orjson.loads(message.data) for message in events][-1]
    html = http.get(f"/jobs/{job}").text
    assert last["fields"].strip() in html
    page = load(http, f"/jobs/{job}")
    two, three = http.get(f"/v1/jobs/{job}/results").json()["tournament"]
    assert (len(page.of("table")), len(page.of("abbr"))) == (2 + 3 + 6, 6)
    for field in (two, three):
        for rating in field["ratings"]["policies"]:
            assert ALL["en"].decimal(rating["points"], 1) in page.words
        for pair in field["pairs"]:
            assert f"{100 * pair['win_share']:.1f}" in page.words
        assert f"χ² {round(field['ratings']['chi_squared'])} on {field['ratings']['degrees']} degrees" in page.words
    best = max(two["ratings"]["policies"], key=lambda rating: float(rating["points"]))
    assert best["policy"] == {"prefer": ["double", "heaviest"]}
    assert "1. prefer double, heaviest" in page.words
    plain = http.post("/v1/jobs", json=JOB).json()["id"]
    assert "Tournament" not in load(http, f"/jobs/{plain}").words
    # What would be too much to read for every picture is shown at the end.
    monkeypatch.setattr(tournament, "SCENARIOS_LIVE", 2)
    assert "Tournament" in load(http, f"/jobs/{job}").words
    assert "Tournament" not in load(http, f"/jobs/{http.post('/v1/jobs', json={'matrix': matrix}).json()['id']}").words


def test_a_large_field_shows_its_best(http: httpx2.Client, hands: Hands, monkeypatch: pytest.MonkeyPatch) -> None:
    matrix = {"players": [2], "policies": ["random", "lightest", {"prefer": ["double", "heaviest"]}, "heaviest"], "matches": 96}
    job = http.post("/v1/jobs", json={"seed": 7, "matrix": matrix}).json()["id"]
    hands.work()
    assert "are shown" not in load(http, f"/jobs/{job}").words
    monkeypatch.setattr(tournament, "POLICIES_SHOWN", 2)
    page = load(http, f"/jobs/{job}")
    assert "2 of 4 policies are shown; all of them: Results as JSON" in page.words
    (field,) = http.get(f"/v1/jobs/{job}/results").json()["tournament"]
    ranked = sorted(field["ratings"]["policies"], key=lambda rating: -float(rating["points"]))
    assert len(page.of("abbr")) == 2
    for rank, rating in enumerate(ranked, 1):
        name = "prefer double, heaviest" if isinstance(rating["policy"], dict) else rating["policy"]
        assert (f"{rank}. {name}" in page.words) == (rank <= 2)


@pytest.mark.parametrize(("path", "allowed"), [("/jobs", "POST"), ("/jobs/x/cancel", "POST"), ("/workers", "GET, HEAD")])
def test_what_a_page_cannot_do_is_told(http: httpx2.Client, path: str, allowed: str) -> None:
    answer = http.request("GET" if allowed == "POST" else "PUT", path)
    assert (answer.status_code, answer.headers["Allow"]) == (405, allowed)


def test_an_unknown_job_has_a_page_that_says_so(http: httpx2.Client) -> None:
    assert "Not found" in load(http, "/jobs/unknown", 404).words


def test_the_reference_tells_every_call_and_every_model(http: httpx2.Client) -> None:
    document = http.get("/openapi.json").json()
    calls, models = load(http, "/docs"), load(http, "/docs/models")
    html = http.get("/docs/models").text
    operations = [
        (method.upper(), path, operation)
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
    ]
    named = {
        path: {attributes["id"] for _, attributes in page.found if "id" in attributes}
        for path, page in (("/docs", calls), ("/docs/models", models))
    }
    assert {operation["operationId"] for _, _, operation in operations} <= named["/docs"]
    assert set(document["components"]["schemas"]) <= named["/docs/models"]
    for method, path, operation in operations:
        assert f"{method} {path}" in calls.words
        assert operation["summary"] in calls.words
        for told in (
            *operation["description"].split("\n\n"),
            *(each.get("description", "") for each in operation.get("parameters", [])),
        ):
            assert told.replace("`", "") in calls.words
    for name, model in document["components"]["schemas"].items():
        (section,) = re.findall(f'aria-labelledby="{name}">.*?</section>', html, re.DOTALL)
        assert all(f"<dt><code>{field}</code>" in section for field in model.get("properties", {})), name
    # Whatever a link leads to is there.
    for path, page in (("/docs", calls), ("/docs/models", models)):
        for link in page.of("a"):
            page_of, _, place = (link["href"] or "").partition("#")
            assert not place or place in named.get(page_of or path, {"content"}) | {"content"}, link
    assert '{"candidate": "lightest", "labels": {"branch": "main"}}' in calls.words


@pytest.mark.parametrize(
    ("schema", "told"),
    [
        ({}, "anything"), ({"type": "integer", "minimum": 1, "maximum": 200}, "integer (1 – 200)"),
        ({"type": "number", "minimum": 0.0}, "number (≥ 0)"), ({"type": "string", "maxLength": 9}, "string (length ≤ 9)"),
        ({"type": "string", "format": "date-time"}, "date-time"), ({"type": "string", "pattern": "^<"}, "string ^<"),
        ({"enum": ["low", "high"]}, '"low" | "high"'), ({"const": None}, "null"),
        ({"type": "array", "items": {"type": "integer"}, "minItems": 2, "maxItems": 2}, "list of integer (2 entries)"),
        ({"anyOf": [{"$ref": "#/components/schemas/Pair"}, {"type": "null"}]}, "Pair | null"),
        ({"type": "object", "additionalProperties": {"type": "string"}}, "object of string"),
        ({"type": "object", "additionalProperties": True}, "object"),
        ({"type": "object", "properties": {"retry": {"type": "integer"}}}, "object of retry integer"),
        ({"type": "object", "patternProperties": {"^[a-z]$": {"type": "string"}}}, "object of string"),
    ],
)  # fmt: skip
def test_what_a_value_may_be_is_told_in_words(schema: dict[str, Any], told: str) -> None:
    document = {"components": {"schemas": {"Model": {"properties": {"thing": schema}}}}}
    page = Elements(reference.models_page(ALL["en"], document))
    assert page.words.split("thing", 1)[1].strip().split("\n")[0] == told


@pytest.mark.parametrize(
    ("make", "value", "text"),
    [
        (whole, 1234567, "1\u202f234\u202f567"), (whole, str(10**18), "1" + 6 * "\u202f000"),
        (ALL["en"].rate, None, "–"), (ALL["en"].rate, 12.4, "12/s"), (ALL["en"].rate, 516789.2, "517\u202f000/s"),
        (ALL["en"].rate, 0, "0/s"), (ALL["en"].rate, 7.25, "7.2/s"), (ALL["id"].rate, 0.0396, "0,040/dtk"),
        (ALL["en"].duration, None, "–"), (ALL["en"].duration, 59.4, "59 s"), (ALL["en"].duration, 59.6, "1 min 0 s"),
        (ALL["en"].duration, 3725, "1 h 2 min"), (ALL["en"].duration, 90000, "1 d 1 h"),
        (ALL["en"].percent, 0.12345, "12.35 %"),
        (ALL["en"].decimal, -0.5, "\u22120.50"), (ALL["en"].decimal, -0.004, "0.00"),
        (moment, 0.0, "1970-01-01 00:00:00 UTC"), (moment, None, "–"),
        (ALL["id"].percent, 0.12345, "12,35 %"), (ALL["tr"].percent, 0.12345, "%12,35"), (ALL["tr"].rate, 12.4, "12/sn"),
        (ALL["id"].duration, 90000, "1 hari 1 jam"), (ALL["tr"].interval, (0.25, 0.5), "%25,00 – %50,00"),
    ],
)  # fmt: skip
def test_figures_in_words(make: Any, value: Any, text: str) -> None:
    assert make(value) == text
