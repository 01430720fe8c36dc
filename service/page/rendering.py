"""Templates into HTML, in the reader's language."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

import jinja2
from markupsafe import Markup

from service.access.caller import CALLER
from service.events import Frame, event
from service.page.words import ALL, Words
from workers.engine.tiles import tile_name

LOADER: Final = jinja2.PackageLoader("service.page")

SO_FAR: Final = Markup("\0")
"""Ends a part of a page that is sent in parts; no page shows it."""
OVER: Final = event("over", {})
"""Tells a page that nothing will change any more, so that it does not come back for more."""


@dataclass(frozen=True, slots=True)
class LatePage:
    """A page whose `head` is known before the rest is; `sorry` is the rest where there is none, with the reason."""

    head: str
    rest: Callable[[], str]
    sorry: Callable[[str], str]


def fragments(parts: Mapping[str, str], *, last: bool = False) -> Frame:
    """The live parts of a page as one event; `last` where they will not change any more."""
    return Frame(event("fragments", parts) + (OVER if last else b""), last)


def render(words: Words, template: str, **context: Any) -> str:
    """A template as HTML."""
    return _environment(words.language).get_template(template).render(**context)


def render_in_parts(words: Words, template: str, **context: Any) -> Iterator[str]:
    """A template as HTML, in the parts between its `{{ so_far }}`: each is made once it is asked for.

    What a part needs may so be found out while the parts before it are on their way, such as the rows of a long list.
    """
    part: list[str] = []
    for piece in _environment(words.language).get_template(template).generate(**context):
        if piece == SO_FAR:
            yield "".join(part)
            part.clear()
        else:
            part.append(piece)
    yield "".join(part)


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
    environment.globals |= {"caller": CALLER.get, "t": words, "language": language, "so_far": SO_FAR}
    environment.filters |= words.filters | {"tile_name": tile_name}
    return environment
