"""What is looked at on every page: complaints of the browser, requests, words that do not fit, and what axe-core finds."""

from dataclasses import dataclass, field
from importlib.resources import files
from typing import Any, Final
from urllib.parse import urlsplit

from playwright.sync_api import BrowserContext, Error, Page, Response

from service.events import EVENT_STREAM
from tests.servers import PATIENCE

AXE: Final = files("axe_playwright_python").joinpath("axe.min.js").read_text()

MISFITS: Final = """() => {
  const found = [];
  const width = document.documentElement.clientWidth;
  if (document.documentElement.scrollWidth > width) found.push(`the page is ${document.documentElement.scrollWidth} wide`);
  const skipped = (element) => element.closest('.unseen, .skip, svg, script, select, textarea, noscript');
  // What may be scrolled sideways holds its content whatever its width.
  const scrolls = (element) => element.closest('.sideways, pre');
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const text = walker.currentNode, element = text.parentElement;
    if (!text.data.trim() || skipped(element) || !element.checkVisibility()) continue;
    const range = document.createRange();
    range.selectNodeContents(text);
    let box = element;
    while (box && getComputedStyle(box).display === 'inline') box = box.parentElement;
    const inside = scrolls(element) ?? box;
    const limits = inside.getBoundingClientRect();
    for (const line of range.getClientRects()) {
      if (line.width === 0) continue;
      const isOut = scrolls(element) ? false : line.right > limits.right + 1 || line.left < limits.left - 1;
      const isOff = scrolls(element) ? false : line.right > width + 1 || line.left < -1;
      if (isOut || isOff) found.push(`${element.tagName}.${element.className}: ${text.data.trim().slice(0, 40)}`);
    }
  }
  for (const element of document.querySelectorAll('body *')) {
    if (skipped(element) || !element.checkVisibility()) continue;
    const style = getComputedStyle(element);
    const clips = ['hidden', 'clip'].includes(style.overflowX);
    if (clips && element.scrollWidth > element.clientWidth + 1 && element.tagName !== 'PROGRESS' && element.tagName !== 'INPUT')
      found.push(`${element.tagName}.${element.className} hides some of itself`);
  }
  return [...new Set(found)];
}"""
"""Text that leaves its box or the page, and boxes that cut what they hold."""


@dataclass
class Watch:
    """What a page did since it was watched: `bytes` of everything it loaded, by address."""

    page: Page
    complaints: list[str] = field(default_factory=list)
    elsewhere: list[str] = field(default_factory=list)
    answers: list[Response] = field(default_factory=list)

    def weight(self) -> int:
        """Bytes of all bodies that were loaded, event streams left out."""
        loaded = (answer for answer in self.answers if not answer.headers.get("content-type", "").startswith(EVENT_STREAM))
        return sum(_size(answer) for answer in loaded if answer.status != 304)

    def clear(self) -> None:
        """Forget what has been so far."""
        self.complaints.clear()
        self.answers.clear()


def _size(answer: Response) -> int:
    """Bytes of a body, 0 where it came for the page that was there before."""
    try:
        return len(answer.body())
    except Error:
        return 0


def watch(context: BrowserContext, url: str, *, missing_is_fine: bool = False) -> Watch:
    """A new page that is watched; `url` is the only host it may ask."""
    page = context.new_page()
    page.set_default_timeout(PATIENCE * 1000)
    seen = Watch(page)
    host = urlsplit(url).netloc

    def note(response: Response) -> None:
        seen.answers.append(response)

    def complain(text: str) -> None:
        if not (missing_is_fine and "404" in text):
            seen.complaints.append(text)

    def check_host(address: str) -> None:
        # What a page holds itself (data:) is asked of nobody.
        if urlsplit(address).netloc not in (host, ""):
            seen.elsewhere.append(address)

    page.on("console", lambda message: complain(message.text) if message.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: complain(str(error)))
    page.on("response", note)
    page.on("request", lambda request: check_host(request.url))
    return seen


def misfits(page: Page) -> list[str]:
    """Text that leaves its box or the page, as it is shown now."""
    found: list[str] = page.evaluate(MISFITS)
    return found


def faults(page: Page) -> list[str]:
    """What axe-core finds, by all its rules but those that it calls experimental: contrast, names, order, landmarks, ..."""
    if not page.evaluate("() => 'axe' in window"):
        page.evaluate(AXE)
    found: dict[str, Any] = page.evaluate("() => axe.run(document, {resultTypes: ['violations']})")
    return [
        f"{violation['id']}: {node['html'][:160]} {node['failureSummary']}"
        for violation in found["violations"]
        for node in violation["nodes"]
    ]
