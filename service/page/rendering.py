"""Templates into HTML, in the reader's language."""

from collections.abc import Mapping
from functools import cache
from typing import Any, Final

import jinja2

from service.access.caller import CALLER
from service.events import Frame, event
from service.page.words import ALL, Words
from workers.engine.tiles import tile_name

LOADER: Final = jinja2.PackageLoader("service.page")


OVER: Final = event("over", {})
"""Tells a page that nothing will change any more, so that it does not come back for more."""


def fragments(parts: Mapping[str, str], *, last: bool = False) -> Frame:
    """The live parts of a page as one event; `last` where they will not change any more."""
    return Frame(event("fragments", parts) + (OVER if last else b""), last)


def render(words: Words, template: str, **context: Any) -> str:
    """A template as HTML."""
    return _environment(words.language).get_template(template).render(**context)


@cache
def _environment(language: str) -> jinja2.Environment:
    """An environment for each language: filters write figures, and compiled templates are kept by environment."""
    words = ALL[language]
    environment = jinja2.Environment(
        loader=LOADER,
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals |= {"caller": CALLER.get, "t": words, "language": language}
    environment.filters |= words.filters | {"tile_name": tile_name}
    return environment
