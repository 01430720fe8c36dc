"""The words of the pages, in every language that they speak, and figures as each language writes them.

A language is a file beside this one. What a file says is text, never HTML: whatever is put into it is escaped.
"""

import tomllib
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from importlib.resources import files
from math import floor, log10
from typing import Annotated, Any, Final, TypeAlias

from fastapi import Depends, Request
from markupsafe import Markup, escape

LANGUAGES: Final = ("en", "id", "tr")
"""English, Indonesian and Turkish, as browsers name them; the first one is spoken where none is asked for."""
NOTHING: Final = "–"
"""Stands for a figure that does not exist."""
_GROUP: Final = "\N{NARROW NO-BREAK SPACE}"

Text: TypeAlias = str | dict[str, str]
"""A text, or one for each number of things: `one`, `other`."""


class Words:
    """One language."""

    def __init__(self, language: str) -> None:
        """`language` is one of `LANGUAGES`."""
        self.language = language
        document = tomllib.loads(files(__name__).joinpath(f"{language}.toml").read_text(encoding="utf-8"))
        self.rulesets: Mapping[str, Any] = document.pop("rulesets", {})
        """The rulesets in this language, as `service.page.rules` reads them; the engine has them in English."""
        self.texts: Mapping[str, Text] = {
            f"{section}.{name}": text for section, texts in document.items() for name, text in texts.items()
        }

    def __call__(self, name: str, /, **values: object) -> Markup:
        """The text `section.name` with values put into its places, as HTML; whole numbers are grouped."""
        text = self.texts[name]
        if isinstance(text, dict):
            text = text["one" if "one" in text and values["count"] == 1 else "other"]
        return Markup(escape(text)).format(**{key: self._shown(value) for key, value in values.items()})

    def _shown(self, value: object) -> object:
        return whole(value) if isinstance(value, int) else value

    def decimal(self, value: float | None, digits: int = 2) -> str:
        """A number with its sign left out where it is plus."""
        if value is None:
            return NOTHING
        return f"{value:z.{digits}f}".replace("-", "\N{MINUS SIGN}").replace(".", self._format("decimal"))

    def percent(self, value: float | None, digits: int = 2) -> str:
        """A share of 1 in per cent."""
        return NOTHING if value is None else self._format("percent", number=self.decimal(100 * value, digits))

    def interval(self, bounds: Sequence[float] | None, short: bool = False) -> str:
        """Two shares of 1 in per cent; `short` where there is little room."""
        if not bounds:
            return NOTHING
        low, high = bounds
        return self._format("range", low=self.decimal(100 * low) if short else self.percent(low), high=self.percent(high))

    def rate(self, value: float | None) -> str:
        """Matches a second, to three digits; below ten to two, so that whoever thinks long is seen to move."""
        if value is None:
            return NOTHING
        if 0 < value < 10:
            return self._format("rate", number=self.decimal(value, 1 - floor(log10(value))))
        digits = max(0, len(str(int(value))) - 3)
        return self._format("rate", number=whole(round(value, -digits)))

    def duration(self, seconds: float | None) -> str:
        """A stretch of time in its two largest units."""
        if seconds is None:
            return NOTHING
        minutes, second = divmod(round(seconds), 60)
        hours, minute = divmod(minutes, 60)
        days, hour = divmod(hours, 24)
        if days:
            return self._format("days", days=days, hours=hour)
        if hours:
            return self._format("hours", hours=hour, minutes=minute)
        if minutes:
            return self._format("minutes", minutes=minute, seconds=second)
        return self._format("seconds", seconds=second)

    def _format(self, name: str, **values: object) -> str:
        text = self.texts[f"format.{name}"]
        assert isinstance(text, str)
        return text.format(**values)

    @property
    def filters(self) -> dict[str, Any]:
        """What templates write figures with."""
        return {
            "whole": whole, "moment": moment, "decimal": self.decimal, "percent": self.percent, "interval": self.interval,
            "rate": self.rate, "duration": self.duration,
        }  # fmt: skip


def whole(value: Any) -> str:
    """A whole number in groups of three, which are parted as all languages may."""
    return f"{int(value):,}".replace(",", _GROUP).replace("-", "\N{MINUS SIGN}")


def moment(seconds: float | None) -> str:
    """A time of the clock, in UTC."""
    return NOTHING if seconds is None else datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def preferred(accept_language: str) -> str:
    """The language that an `Accept-Language` header likes best of those that the pages speak."""
    best, weight = LANGUAGES[0], 0.0
    for part in accept_language.lower().split(","):
        tag, _, quality = part.strip().partition(";")
        language = tag.strip().partition("-")[0]
        # Indonesian was called "in" before it was "id".
        language = "id" if language == "in" else language
        wanted = _quality(quality.strip())
        if language in LANGUAGES and wanted > weight:
            best, weight = language, wanted
    return best


def _quality(text: str) -> float:
    if not text.startswith("q="):
        return 1.0
    try:
        return float(text[2:])
    except ValueError:
        return 0.0


ALL: Final = {language: Words(language) for language in LANGUAGES}
"""Every language's words, by language."""


async def words_of(request: Request) -> Words:
    """The words in the language of whoever asks."""
    return ALL[preferred(request.headers.get("accept-language", ""))]


WordsOf = Annotated[Words, Depends(words_of)]
