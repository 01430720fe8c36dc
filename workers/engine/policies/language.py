"""Policies written as data: the words of the language, and how an object of them becomes a program.

A written policy has `prefer`, `weights`, or both. The preferences narrow the legal placements one after the other, then the
weights keep those with the greatest sum, and what is still equal is decided by the last word of `prefer`: `random`,
`random_tile`, or without either, more pips, then the higher half, then the smaller matched end.
"""

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any, Final

from workers.engine.policies.program import (
    FEATURES,
    MAX_PREFERENCES,
    MAX_WEIGHT,
    WEIGHT_UNIT,
    Feature,
    Finish,
    Preference,
    Program,
)
from workers.errors import FieldError, InvalidInput

FEATURE_TEXTS: Final[Mapping[Feature, str]] = {
    Feature.PIPS: "pips of the placed tile",
    Feature.DOUBLE: "1 for a double",
    Feature.MOBILITY: "tiles left in the own hand that fit a new end",
    Feature.DISTINCT: "distinct values on the tiles left in the own hand",
    Feature.NEXT_LACKS_ONE: "1 if the next player is known to lack the value of at least one new end",
    Feature.NEXT_LACKS_BOTH: "1 if the next player is known to lack the values of both new ends",
    Feature.UNSEEN: "tiles neither in the own hand nor on the line that fit a new end",
    Feature.OTHER_LACKS: "1 if any other player is known to lack the value of at least one new end",
    Feature.NO_FOLLOW_UP: "1 if no tile left in the own hand fits a new end",
    Feature.EQUAL_ENDS: "1 if both new ends have the same value",
}
"""What each feature of a placement counts, for people."""

WEIGHT_WORDS: Final[Mapping[str, Feature]] = {feature.name.lower(): feature for feature in Feature}
"""The keys of `weights`."""

PREFERENCE_WORDS: Final[Mapping[str, Preference]] = {
    "heaviest": Preference(Feature.PIPS),
    "lightest": Preference(Feature.PIPS, fewest=True),
    "balance": Preference(Feature.DISTINCT),
    "next_lacks": Preference(Feature.NEXT_LACKS_ONE),
    **{word: Preference(feature) for word, feature in WEIGHT_WORDS.items()},
    **{f"fewest_{word}": Preference(feature, fewest=True) for word, feature in WEIGHT_WORDS.items()},
}
"""The words of `prefer`: a feature's name for most of it, `fewest_` before it for least, and some short names."""

FINISH_WORDS: Final[Mapping[str, Finish]] = {"random": Finish.RANDOM, "random_tile": Finish.RANDOM_TILE}
"""What may stand last in `prefer`."""

FINISH_TEXTS: Final[Mapping[str, str]] = {
    "random": "last word only: uniform over the placements that are left",
    "random_tile": "last word only: uniform over the tiles that are left, then over their ends",
}


def parse_written(value: Mapping[str, Any]) -> Program:
    """The program that an object of `prefer` and `weights` means; raises `InvalidInput` naming every field that is wrong."""
    errors = [
        FieldError(str(key), "unknown key of a written policy; known are prefer, weights")
        for key in value if key not in ("prefer", "weights")
    ]  # fmt: skip
    prefer, finish = _parse_prefer(value["prefer"], errors) if "prefer" in value else ((), Finish.TOP)
    weights = _parse_weights(value["weights"], errors) if "weights" in value else None
    if errors:
        raise InvalidInput(*errors)
    return Program(prefer, weights, finish)


def _parse_prefer(value: object, errors: list[FieldError]) -> tuple[tuple[Preference, ...], Finish]:
    if isinstance(value, str) or not isinstance(value, Sequence) or not value:
        errors.append(FieldError("prefer", f"must be a list of at least one word, not {value!r}"))
        return (), Finish.TOP
    words = list(value)
    finish = Finish.TOP
    if isinstance(words[-1], str) and words[-1] in FINISH_WORDS:
        finish = FINISH_WORDS[words.pop()]
    prefer = []
    for position, word in enumerate(words):
        if isinstance(word, str) and word in PREFERENCE_WORDS:
            prefer.append(PREFERENCE_WORDS[word])
        elif isinstance(word, str) and word in FINISH_WORDS:
            errors.append(FieldError(f"prefer[{position}]", f"{word} decides what is left, so it can only stand last"))
        else:
            known = ", ".join([*PREFERENCE_WORDS, *FINISH_WORDS])
            errors.append(FieldError(f"prefer[{position}]", f"unknown preference {word!r}; known are {known}"))
    if len(words) > MAX_PREFERENCES:
        errors.append(FieldError("prefer", f"may have at most {MAX_PREFERENCES} preferences, not {len(words)}"))
    return tuple(prefer), finish


def _parse_weights(value: object, errors: list[FieldError]) -> tuple[int, ...]:
    weights = [0] * FEATURES
    if not isinstance(value, Mapping) or not value:
        errors.append(FieldError("weights", f"must be an object with a weight for at least one feature, not {value!r}"))
        return tuple(weights)
    for word, weight in value.items():
        if word not in WEIGHT_WORDS:
            errors.append(FieldError(f"weights.{word}", f"unknown feature; known are {', '.join(WEIGHT_WORDS)}"))
        elif (fixed := _fixed_point(weight)) is None:
            errors.append(
                FieldError(
                    f"weights.{word}",
                    f"must be a number from -{MAX_WEIGHT} to {MAX_WEIGHT} with at most three decimals, not {weight!r}",
                )
            )
        else:
            weights[WEIGHT_WORDS[word]] = fixed
    return tuple(weights)


def _fixed_point(weight: object) -> int | None:
    """The weight in thousandths, or None where it is no number, out of range, or finer than that."""
    if isinstance(weight, bool) or not isinstance(weight, int | float) or not -MAX_WEIGHT <= weight <= MAX_WEIGHT:
        return None
    thousandths = Decimal(repr(weight)) * WEIGHT_UNIT
    return int(thousandths) if thousandths == thousandths.to_integral_value() else None


def describe_language() -> dict[str, Any]:
    """JSON Schema of a written policy, with what every word means."""
    preferences = {**{word: _preference_text(each) for word, each in PREFERENCE_WORDS.items()}, **FINISH_TEXTS}
    return {
        "type": "object",
        "additionalProperties": False,
        "minProperties": 1,
        "properties": {
            "prefer": {
                "type": "array",
                "description": "Preferences in turn: each keeps the placements that are best in it. Without random or"
                " random_tile at the end, ties go to more pips, then the higher half, then the smaller matched end.",
                "minItems": 1,
                "maxItems": MAX_PREFERENCES + 1,
                "items": {"oneOf": [{"const": word, "description": text} for word, text in preferences.items()]},
            },
            "weights": {
                "type": "object",
                "description": "Keeps the placements with the greatest weighted sum, after the preferences if both are given.",
                "additionalProperties": False,
                "minProperties": 1,
                "properties": {
                    word: {
                        "type": "number", "minimum": -MAX_WEIGHT, "maximum": MAX_WEIGHT, "description": FEATURE_TEXTS[feature],
                    }
                    for word, feature in WEIGHT_WORDS.items()
                },
            },
        },
    }  # fmt: skip


def _preference_text(preference: Preference) -> str:
    return f"{'least' if preference.fewest else 'most'}: {FEATURE_TEXTS[preference.feature]}"
