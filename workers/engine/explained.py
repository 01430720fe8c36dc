"""The rulesets in plain words: what each plays, where that comes from, and what was decided where its source says nothing.

`rules` is what the engine reads; this is what people read. Nothing here decides anything.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from workers.engine.rules import MAX_ROUNDS, MAX_TARGET, PRESETS, WORDS
from workers.engine.tiles import SETS, set_size


@dataclass(frozen=True, slots=True)
class Explanation:
    """One ruleset for readers. `choices` are numbers of `CHOICES`."""

    summary: str
    source: str
    rules: tuple[str, ...]
    choices: tuple[str, ...]


CHOICES: Final[Mapping[str, str]] = {
    "equal ends": "Equal values at both ends make one move of a tile, not two; the first listed port is joined.",
    "heaviest opens": "Of equally heavy tiles the one with the higher half opens when nobody holds a double.",
    "equal losers": "Among equal losers the first one clockwise from the winner leads next.",
    "leader stays": "After a round that nobody won the leader stays under loser and winner, and moves on under clockwise.",
    "complete tie": "Hands that tie in every tile win nothing.",
    "no free draw": "A player who can place a tile may not draw.",
    "side's pips": "A side of partners wins the other side's pips only.",
    "partner count": "By default the single lightest hand decides between sides; two lowest hands on one side are no tie.",
    "side's seat": "The winning seat of a side is its lighter hand; of equals, the first one clockwise from the leader.",
    "larger sets": "Sets beyond double-six keep hands and targets for 2 to 4 players; 5 to 8 need a hand size of their own.",
    "unfinished": f"A match undecided after {MAX_ROUNDS:,} rounds counts as unfinished and as nobody's win.",
}
"""What was decided where the sources are silent."""

_EVERYWHERE: Final = ("equal ends", "larger sets", "unfinished")
_TRADITIONAL: Final = (
    "equal ends", "heaviest opens", "equal losers", "leader stays", "complete tie", "side's pips", "partner count",
    "side's seat", "larger sets", "unfinished",
)  # fmt: skip
_ARTICLE: Final = "an article on traditional Block and the games around it"

EXPLANATIONS: Final[Mapping[str, Explanation]] = {
    "block": Explanation(
        "Every seat for itself, undealt tiles stay out, tied blocks win nothing; to 100 points, 61 with 3 or 4 players",
        "three texts on individual Block, in three languages, which agree",
        (
            "Double-six: 7 tiles each for 2 players, 5 for 3 or 4. The rest is never touched.",
            "A fair lot names the first leader, who opens with any tile; each later round is led one seat further on.",
            "Who can place a tile must; who cannot passes.",
            "Placing the last tile of a hand wins the pips that all opponents hold, which may be none.",
            "When all pass in turn the lightest hand wins the opponents' pips less its own; equal lightest hands win nothing.",
            "The match is won at 100 points with 2 players, at 61 with 3 or 4, and what goes beyond is kept.",
        ),
        (*_EVERYWHERE, "leader stays"),
    ),
    "traditional": Explanation(
        "The highest double opens, the loser leads on, tied blocks go by the lightest tile; until 100 is exceeded",
        _ARTICLE,
        (
            "Tiles, turns and going out are those of block.",
            "Whoever holds the highest double opens the first round with it, or the heaviest tile where there is no double.",
            "The loser leads the next round: of the other seats the one left with the most pips.",
            "Equal hands of a blocked round are told apart by their lightest tiles, then by the next lightest.",
            "The winner of a blocked round takes the opponents' pips less its own (net), or all of them (gross, if asked for).",
            "The match is won by more than 100 points; a number of points to reach, or of rounds, can be asked for instead.",
            "Four players may be two sides, seats 0 and 2 against 1 and 3, with one score each.",
        ),
        _TRADITIONAL,
    ),
    "draw": Explanation(
        "As traditional, but who cannot play draws from the stock until a tile fits; its last two tiles stay",
        _ARTICLE,
        (
            "As traditional, but for the stock.",
            "Who cannot place a tile draws one at a time until one fits, and must place that one.",
            "The last two tiles of the stock are never drawn; a limit of draws a turn can be asked for.",
            "Passes all round end a round only when nothing can be drawn any more.",
        ),
        (*_TRADITIONAL, "no free draw"),
    ),
}


def describe_rulesets() -> list[dict[str, Any]]:
    """Every preset: `{name, summary, source, rules, choices, values, parameters}`.

    `rules` are sentences in plain words, `choices` what was decided where the source is silent, `values` what the preset
    says, `parameters` the JSON Schema of what may override it in `{"preset": name, ...}`.
    """
    return [
        {
            "name": name, "summary": EXPLANATIONS[name].summary, "source": EXPLANATIONS[name].source,
            "rules": list(EXPLANATIONS[name].rules), "choices": [CHOICES[choice] for choice in EXPLANATIONS[name].choices],
            "values": dict(values), "parameters": _schema(),
        }
        for name, values in PRESETS.items()
    ]  # fmt: skip


def _schema() -> dict[str, Any]:
    largest = set_size(max(SETS))
    words = {name: {"enum": list(choices)} for name, choices in WORDS.items()}
    ends = {
        "target": _whole_schema(1, MAX_TARGET), "at": {"enum": ["reach", "exceed"]},
        "rounds": _whole_schema(1, MAX_ROUNDS),
    }  # fmt: skip
    limit = {"anyOf": [{"type": "null"}, _whole_schema(1, largest)]}
    drawing = {"limit": limit, "reserve": _whole_schema(0, largest)}
    texts = {
        "set": "the highest value of the tiles", "hand": "tiles dealt to each player",
        "opening": "who leads a match's first round: a fair lot, or the holder of the highest double, who opens with it",
        "next_leader": "who leads each later round", "blocked_tie": "how hands of equal pips are told apart when blocked",
        "blocked_award": "whether the winner's own pips are taken off when blocked",
        "ends": "a target that is reached or exceeded, or a fixed number of rounds; what is not given comes from the preset",
        "draw": "null for no drawing; limit: tiles a turn at most, null for no limit; reserve: tiles that are never drawn",
        "partners": "seats 0 and 2 against 1 and 3; needs 4 players",
        "partner_count": "what decides a blocked round of partners: the lightest single hand, or the sides' totals",
    }  # fmt: skip
    schemas: dict[str, dict[str, Any]] = {
        "set": {"enum": list(SETS)}, "hand": _whole_schema(1, largest), **words,
        "ends": {"type": "object", "additionalProperties": False, "properties": ends},
        "draw": {"type": ["object", "null"], "additionalProperties": False, "properties": drawing},
        "partners": {"type": "boolean"},
    }  # fmt: skip
    properties = {name: {**schemas[name], "description": texts[name]} for name in PRESETS["block"]}
    return {
        "type": "object", "additionalProperties": False, "properties": properties,
        "description": 'A value may be given by number of players, such as {"2": 7, "3": 5}.',
    }  # fmt: skip


def _whole_schema(low: int, high: int) -> dict[str, Any]:
    return {"type": "integer", "minimum": low, "maximum": high}
