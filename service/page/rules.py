"""The page of the rules: what a match is, every ruleset, and what was decided where its source says nothing.

In English a ruleset is explained where it is kept (`workers.engine.explained`); the other languages translate that.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from service.drawing import draw_line_in_page
from service.laying import NARROW_ROW, ends_of
from service.page.rendering import render
from service.page.replays import captions
from service.page.words import Words
from workers.engine.explained import CHOICES, EXPLANATIONS, describe_rulesets
from workers.engine.reference import Placement, Ply
from workers.engine.rules import Ruleset, resolve_ruleset

PLAYERS: Final = (2, 3, 4)
AWARDS: Final = (
    ("out", (0, 0, 8), 8), ("out", (0, 5, 5), 10), ("out", (0, 9), 9), ("blocked", (3, 7, 8), 12), ("blocked", (3, 3, 8), None),
)  # fmt: skip
"""How a round of `block` ends, the pips left by seat, and what the seat with the fewest adds; None: nobody adds anything."""
GLOSSARY: Final = ("tile", "double", "set", "line", "ply", "round", "leader", "stock", "hidden")

EXAMPLE: Final = tuple(
    Ply(number % 2, (), Placement(tile, end))
    for number, (tile, end) in enumerate([((1, 4), None), ((1, 1), 1), ((4, 4), 4), ((3, 4), 4)])
)
"""A short line, drawn beside what is said of ports."""


@dataclass(frozen=True, slots=True)
class Explained:
    """A ruleset in the reader's language; `by_players` holds what it says for 2, 3 and 4."""

    name: str
    summary: str
    source: str
    rules: tuple[str, ...]
    choices: tuple[str, ...]
    by_players: tuple[tuple[int, Ruleset], ...]


def rules_page(words: Words) -> str:
    """The page."""
    drawn = draw_line_in_page(
        EXAMPLE, words("rules.example"), "line", shown=len(EXAMPLE), row=NARROW_ROW, captions=captions(words)
    )
    return render(
        words, "rules.html", rulesets=explained(words), parameters=parameter_texts(words), awards=AWARDS, glossary=GLOSSARY,
        drawn=drawn, ports=ends_of(EXAMPLE),
    )  # fmt: skip


def explained(words: Words) -> list[Explained]:
    """Every preset, in the reader's language."""
    choices: Mapping[str, str] = words.rulesets.get("choices", CHOICES)
    rulesets = []
    for name, english in EXPLANATIONS.items():
        told: Mapping[str, Any] = words.rulesets.get(name) or {
            "summary": english.summary, "source": english.source, "rules": english.rules
        }  # fmt: skip
        by_players = tuple((players, resolve_ruleset(name, players)) for players in PLAYERS)
        decided = tuple(choices[choice] for choice in english.choices)
        rulesets.append(Explained(name, told["summary"], told["source"], tuple(told["rules"]), decided, by_players))
    return rulesets


def parameter_texts(words: Words) -> Mapping[str, str]:
    """What each parameter of a ruleset means, by name."""
    schema: Mapping[str, Any] = describe_rulesets()[0]["parameters"]["properties"]
    translated: Mapping[str, str] = words.rulesets.get("parameters", {})
    return {name: translated.get(name) or parameter["description"] for name, parameter in schema.items()}
