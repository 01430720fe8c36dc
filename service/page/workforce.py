"""The page of the workers: who works, how busy each is, and how many matches a second came of it in the last hour."""

from typing import Any

from service.events import Frame
from service.page.charts import draw_pace
from service.page.rendering import fragments, render
from service.page.words import Words
from workers.jobs.figures import PACE_SECONDS
from workers.jobs.ledger import Ledger


def workers_page(words: Words, ledger: Ledger) -> str:
    """The page."""
    return render(words, "workers.html", live="/workers/live", **shown_pace(ledger), workers=ledger.workers())


def workers_frame(words: Words, ledger: Ledger) -> Frame:
    """The workers at this moment."""
    parts = {
        "pace": render(words, "parts/pace.html", **shown_pace(ledger)),
        "workers": render(words, "parts/workers.html", workers=ledger.workers()),
    }
    return fragments(parts)


def shown_pace(ledger: Ledger) -> dict[str, Any]:
    """The throughput of the last hour, as its chart shows it."""
    return {"pace": draw_pace(ledger.pace(), PACE_SECONDS)}
