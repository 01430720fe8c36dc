"""Replays in a browser: what is drawn is what the API says, by slider, by key, by link, with and without a script."""

import random
import re
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from service.schemas.replays import Replay, RoundAnswer
from tests.browser.conftest import SHARED, Site
from tests.browser.looking import faults, misfits, watch

DRAWN = """(kind) => {
  const drawing = document.querySelector(`svg.${kind}`);
  const box = (element) => { const r = element.getBoundingClientRect(); return [r.left, r.top, r.right, r.bottom]; };
  return {
    shown: drawing.checkVisibility(),
    tiles: [...drawing.querySelectorAll('g')].map((tile) => (
      {name: tile.querySelector('title').textContent, box: box(tile.querySelector('rect'))})),
    marks: [...drawing.querySelectorAll('rect[data-port]')].map((mark) => ({port: mark.dataset.port, box: box(mark)})),
    values: [...drawing.querySelectorAll('text.v')].map((text) => text.textContent),
    frame: box(drawing),
  };
}"""  # fmt: skip


@dataclass(frozen=True)
class Rectangle:
    """Where something is drawn on the screen, in pixels."""

    left: float
    top: float
    right: float
    bottom: float

    def meets(self, other: "Rectangle", by: float) -> bool:
        """Whether both share more than `by` pixels each way; negative: whether they are as near as that."""
        across = min(self.right, other.right) - max(self.left, other.left)
        down = min(self.bottom, other.bottom) - max(self.top, other.top)
        return across > by and down > by


def check_drawing(page: Page, kind: str, played: RoundAnswer, shown: int) -> None:
    """The drawing on the screen is that of the API's ports: the same tiles and open ports, lying as dominoes do."""
    drawn: dict[str, Any] = page.evaluate(DRAWN, kind)
    assert drawn["shown"]
    ports = played.plies[shown - 1].ports if shown else []
    names = sorted(f"[{port.tile[0]}|{port.tile[1]}] {port.port}" for port in ports)
    assert sorted(mark["port"] for mark in drawn["marks"]) == names
    assert sorted(drawn["values"]) == sorted(str(port.value) for port in ports)
    line = played.plies[shown - 1].line if shown else []
    found = {re.findall(r"\[(\d+)\|(\d+)\]", tile["name"])[0]: Rectangle(*tile["box"]) for tile in drawn["tiles"]}
    assert sorted(found) == sorted((str(low), str(high)) for low, high in line)
    marks = {mark["port"]: Rectangle(*mark["box"]) for mark in drawn["marks"]}
    frame = Rectangle(*drawn["frame"])
    for place in (*found.values(), *marks.values()):
        assert frame.left - 1 <= place.left < place.right <= frame.right + 1
        assert frame.top - 1 <= place.top < place.bottom <= frame.bottom + 1
    assert not any(one.meets(other, 1) for one, other in combinations((*found.values(), *marks.values()), 2))
    # Neighbours touch, and so do an open port and its tile.
    for connection in played.plies[shown - 1].connections if shown else []:
        one, other = (found[str(port.tile[0]), str(port.tile[1])] for port in (connection.open, connection.joined))
        assert one.meets(other, -6)
    for port in ports:
        assert marks[f"[{port.tile[0]}|{port.tile[1]}] {port.port}"].meets(found[str(port.tile[0]), str(port.tile[1])], -6)


@pytest.mark.parametrize(("kind", "width"), [("broad", 1440), ("slim", 360)])
def test_what_is_drawn_is_what_the_api_says(browser: Browser, site: Site, kind: str, width: int) -> None:
    chance = random.Random(width)
    context = browser.new_context(viewport={"width": width, "height": 900}, locale="en-GB")
    seen = watch(context, site.url)
    page = seen.page
    for scenario, about in enumerate(SHARED["scenarios"]):
        for _ in range(2):
            match = chance.randrange(about["matches"])
            path = f"{site.paths['job']}/scenarios/{scenario}/matches/{match}"
            replay = Replay.model_validate(site.http.get(f"/v1{path}").json())
            played = chance.choice(replay.rounds)
            page.goto(f"{site.url}{path}?round={played.round}&ply=0")
            places: dict[str, list[float]] = {}
            for shown in sorted({0, 1, *chance.sample(range(len(played.plies) + 1), 3), len(played.plies)}):
                page.locator("#ply").fill(str(shown))
                expect(page.locator(".told strong")).to_have_text(f"Ply {shown} of {len(played.plies)}.")
                check_drawing(page, kind, played, shown)
                # A tile that lies stays where it is.
                for tile in page.evaluate(DRAWN, kind)["tiles"]:
                    at = places.setdefault(tile["name"], tile["box"])
                    assert at == pytest.approx(tile["box"], abs=1)
    assert (seen.complaints, seen.elsewhere) == ([], [])
    context.close()


def test_keys_and_links_move_through_a_round_and_share_it(browser: Browser, site: Site) -> None:
    context = browser.new_context(locale="en-GB", viewport={"width": 1440, "height": 900})
    page = watch(context, site.url).page
    page.goto(site.url + site.paths["dealt"])
    slider, told = page.locator("#ply"), page.locator(".told strong")
    loaded = page.evaluate("() => performance.timeOrigin")
    slider.focus()
    for number in (1, 2, 3):
        page.keyboard.press("ArrowRight")
        expect(told).to_contain_text(f"Ply {number} of")
    page.keyboard.press("ArrowLeft")
    expect(told).to_contain_text("Ply 2 of")
    assert page.evaluate("() => document.activeElement.id") == "ply"
    page.locator("#step-on").click()
    expect(told).to_contain_text("Ply 3 of")
    assert page.evaluate("() => document.activeElement.id") == "step-on", "the focus stays where it was"
    assert slider.input_value() == "3"
    expect(page.get_by_role("status").and_(page.locator("[data-announced]"))).to_contain_text("Ply 3 of")
    page.locator("#ply-5").click()
    expect(told).to_contain_text("Ply 5 of")
    assert page.evaluate("() => performance.timeOrigin") == loaded, "nothing was loaded anew"
    assert page.url.endswith("round=1&ply=5")
    shared = page.locator("[data-share]").evaluate("link => link.href")
    before = page.locator(".replay").inner_html()
    page.reload()
    assert page.locator(".replay").inner_html().split("<svg")[1:] == before.split("<svg")[1:]
    other = browser.new_context(locale="en-GB").new_page()
    other.goto(shared)
    expect(other.locator(".told strong")).to_contain_text("Ply 5 of")
    other.context.close()
    context.close()


def test_what_is_open_stays_open_from_ply_to_ply(browser: Browser, site: Site) -> None:
    context = browser.new_context(locale="en-GB")
    page = watch(context, site.url).page
    page.goto(site.url + site.paths["replay"].partition("?")[0] + "?ply=0")
    stock = page.locator(".seats details")
    stock.locator("summary").click()
    page.locator("#step-last").click()
    expect(page.locator(".told strong")).not_to_contain_text("Ply 0 of")
    expect(stock).to_have_attribute("open", "")
    context.close()


def test_a_move_that_gets_no_answer_leaves_the_moment_as_it_is(browser: Browser, site: Site) -> None:
    context = browser.new_context(locale="en-GB", viewport={"width": 360, "height": 800})
    seen = watch(context, site.url)
    page, told = seen.page, seen.page.locator(".told strong")
    page.goto(site.url + site.paths["dealt"])
    page.locator("#step-on").click()
    expect(told).to_contain_text("Ply 1 of")
    page.route("**/matches/3?**", lambda route: route.abort())
    page.locator("#ply").fill("6")
    expect(page.get_by_role("alert")).to_contain_text("The service does not answer")
    expect(told).to_contain_text("Ply 1 of")
    assert page.locator("#ply").input_value() == "1"
    assert page.url.endswith("ply=1")
    assert (misfits(page), faults(page)) == ([], [])
    page.unroute_all()
    page.locator("#ply").fill("6")
    expect(told).to_contain_text("Ply 6 of")
    expect(page.get_by_role("alert")).to_be_hidden()
    assert [said for said in seen.complaints if "ERR_FAILED" not in said] == []
    context.close()


def test_the_link_is_copied(browser: Browser, site: Site) -> None:
    context = browser.new_context(locale="en-GB", permissions=["clipboard-read", "clipboard-write"])
    page = watch(context, site.url).page
    page.goto(site.url + site.paths["replay"])
    page.locator("[data-copy]").click()
    expect(page.locator("[data-copy]")).to_have_text("Copied")
    assert page.evaluate("() => navigator.clipboard.readText()") == page.locator("[data-share]").evaluate("link => link.href")
    context.close()


def test_without_a_script_links_and_the_slider_do_the_same(browser: Browser, site: Site) -> None:
    context = browser.new_context(java_script_enabled=False, locale="en-GB")
    page = watch(context, site.url).page
    page.goto(site.url + site.paths["dealt"])
    told = page.locator(".told strong")
    moments = [told.inner_text()]
    for step in ("on", "on", "last", "back", "first"):
        page.locator(f"#step-{step}").click()
        moments.append(told.inner_text())
    numbers = [int(re.findall(r"\d+", moment)[0]) for moment in moments]
    last = numbers[3]
    assert numbers == [0, 1, 2, last, last - 1, 0]
    page.locator("#ply").fill("4")
    page.locator(".slider button").click()
    expect(told).to_contain_text("Ply 4 of")
    page.locator("#round").fill("0")
    page.locator(".choose button").click()
    expect(page.locator("h1")).to_have_text("Match 3, round 0")
    context.close()
