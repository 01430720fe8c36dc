"""Every page as people see it: light and dark, on a telephone and a wide screen, in three languages, also after a reload."""

import sys
import threading
from itertools import product
from typing import Literal

import pytest
from playwright.sync_api import Browser, expect

import service.replaying
from service.page import replays
from service.page.words import LANGUAGES
from tests.browser.conftest import Site
from tests.browser.looking import faults, misfits, watch
from tests.servers import PATIENCE
from workers.engine.play import Lineup, replay_match
from workers.engine.reference import MatchRecord
from workers.errors import PlayFailed

SCHEMES: tuple[Literal["light"], Literal["dark"]] = ("light", "dark")
WIDTHS = (360, 1440)
LOOKS = list(product(SCHEMES, WIDTHS))
NAMES = (
    "jobs", "none", "job", "alone", "paused", "tournament", "scenario", "matches", "dealt", "replay", "partners", "submit",
    "workers", "regressions", "regression", "run", "rules", "calls", "models", "login",
    "missing",
)  # fmt: skip
MOST_BYTES = 100_000
FIRST_PAINT_SECONDS = 0.5
OPEN = "() => document.querySelectorAll('details').forEach((details) => { details.open = true; })"
LIVE = ("jobs", "none", "paused", "workers", "regressions", "regression")
LOCALES = dict(zip(LANGUAGES, ("en-GB", "id-ID", "tr-TR"), strict=True))


def look(browser: Browser, site: Site, name: str, language: str, *, thorough: bool) -> None:
    """One page in one language, in every look at once and in one after a reload, which is the same page.

    axe-core judges that one look, which differs from page to page and from language to language; all of them where it is
    thorough, and what a reload shows is measured in all of them as well.
    """
    context = browser.new_context(locale=LOCALES[language], viewport={"width": 360, "height": 800})
    try:
        seen = watch(context, site.url, missing_is_fine=name == "missing")
        page = seen.page
        chosen = (NAMES.index(name) + LANGUAGES.index(language)) % len(LOOKS)
        for again in (False, True):
            seen.clear()
            if again:
                page.reload(wait_until="load")
            else:
                page.goto(site.url + site.paths[name], wait_until="load")
            assert page.locator("html").get_attribute("lang") == language
            page.evaluate(OPEN)  # what a reader may open is looked at as well
            if name in LIVE:
                page.locator("[data-pulse][data-state=live]").wait_for()
            assert 0 < seen.weight() < MOST_BYTES
            for scheme, width in LOOKS if thorough or not again else [LOOKS[chosen]]:
                page.emulate_media(color_scheme=scheme)
                page.set_viewport_size({"width": width, "height": 800})
                assert misfits(page) == [], (scheme, width)
                if (scheme, width) == LOOKS[chosen] if again else thorough:
                    assert faults(page) == [], (scheme, width)
            assert seen.complaints == []
            assert seen.elsewhere == []
    finally:
        context.close()


@pytest.mark.parametrize("name", NAMES)
def test_every_page_fits_and_says_what_it_is(browser: Browser, site: Site, name: str) -> None:
    assert set(NAMES) == set(site.paths)
    look(browser, site, name, LANGUAGES[NAMES.index(name) % len(LANGUAGES)], thorough=False)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "language"), list(product(NAMES, LANGUAGES)))
def test_every_page_in_every_look_and_language(browser: Browser, site: Site, name: str, language: str) -> None:
    look(browser, site, name, language, thorough=True)


def test_a_keyboard_reaches_everything_in_order(browser: Browser, site: Site) -> None:
    context = browser.new_context(viewport={"width": 1440, "height": 900}, locale="en-GB")
    page = context.new_page()
    page.goto(site.url + site.paths["replay"])
    reached: list[str] = []
    for _ in range(18):
        page.keyboard.press("Tab")
        focused = page.evaluate(
            "() => { const e = document.activeElement, s = getComputedStyle(e), r = e.getBoundingClientRect();"
            " return [e.textContent.trim() || e.name, s.outlineStyle !== 'none' && r.right > 0] }"
        )
        assert focused[1], f"it is not seen that {focused[0]} has the focus"
        reached.append(focused[0])
    assert reached[:7] == ["Skip to content", "Blockyard", "Jobs", "Regressions", "Workers", "Rules", "API"]
    assert "ply" in reached
    page.goto(site.url + site.paths["replay"])
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    assert page.url.endswith("#content")
    page.keyboard.press("Tab")
    assert page.evaluate("() => document.activeElement.closest('main') !== null")
    context.close()


PAINTED = """() => new Promise((tell) => new PerformanceObserver((list) => {
  const paint = list.getEntriesByName('first-contentful-paint')[0];
  if (paint) tell(paint.startTime / 1000);
}).observe({type: 'paint', buffered: true}))"""


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_a_page_is_painted_at_once(browser: Browser, site: Site, name: str) -> None:
    """The best of some; a machine that is busy with other things is as late with a line of bare text."""
    seconds: dict[str, list[float]] = {"/healthz": [], site.paths[name]: []}
    for _ in range(5):
        for path, found in seconds.items():
            context = browser.new_context()
            page = context.new_page()
            page.goto(site.url + path, wait_until="load")
            found.append(page.evaluate(PAINTED))
            context.close()
    bare, painted = (min(found) for found in seconds.values())
    sys.stdout.write(f"{name}: painted after {painted:.2f} s, bare text after {bare:.2f} s\n")
    assert painted < max(FIRST_PAINT_SECONDS, 6 * bare), seconds


@pytest.mark.parametrize(("path", "made"), [("matches?from=20", "tbody tr"), ("matches/21?round=1&ply=2", ".replay .felt")])
def test_a_page_is_painted_before_its_matches_are_played(
    browser: Browser, site: Site, monkeypatch: pytest.MonkeyPatch, path: str, made: str
) -> None:
    """Whatever the policies take: here they begin once the page has been looked at."""
    begun = threading.Event()

    def slow(lineup: Lineup, block: int, rotation: int) -> MatchRecord:
        assert begun.wait(PATIENCE)
        return replay_match(lineup, block, rotation)

    for module in (replays, service.replaying):
        monkeypatch.setattr(module, "replay_match", slow)
    context = browser.new_context(locale="en-GB", viewport={"width": 360, "height": 800})
    try:
        seen = watch(context, site.url)
        page = seen.page
        page.goto(f"{site.url}{site.paths['job']}/scenarios/0/{path}", wait_until="commit")
        assert page.evaluate(PAINTED) > 0
        playing = page.locator(".playing")
        expect(playing).to_be_visible()
        assert page.locator(made).count() == 0
        assert (misfits(page), faults(page)) == ([], [])
        begun.set()
        expect(page.locator(made)).to_have_count(10 if "tbody" in made else 1)
        expect(playing).to_be_hidden()
        page.wait_for_load_state("load")
        assert (misfits(page), faults(page)) == ([], [])
        assert (seen.complaints, seen.elsewhere) == ([], [])
    finally:
        begun.set()
        context.close()


def test_a_match_in_which_a_policy_fails_is_told_of_late_too(
    browser: Browser, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun = threading.Event()

    def fail(_lineup: Lineup, _block: int, _rotation: int) -> MatchRecord:
        assert begun.wait(PATIENCE)
        raise PlayFailed("seat 1 chose [0|0], which is not legal")

    monkeypatch.setattr(service.replaying, "replay_match", fail)
    context = browser.new_context(locale="en-GB", viewport={"width": 360, "height": 800})
    try:
        seen = watch(context, site.url)
        page = seen.page
        page.goto(f"{site.url}{site.paths['job']}/scenarios/0/matches/33", wait_until="commit")
        expect(page.locator(".playing")).to_be_visible()
        begun.set()
        expect(page.locator(".alert")).to_contain_text("seat 1 chose [0|0]")
        page.wait_for_load_state("load")
        assert (misfits(page), faults(page)) == ([], [])
        assert (seen.complaints, seen.elsewhere) == ([], [])
    finally:
        begun.set()
        context.close()
