"""Positions and deals as documents: what `positions` and `perft` read alike.

Tiles are read either way round and printed low first. A reader collects every mistake before it refuses.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from workers.engine.rules import MAX_PLAYERS, MIN_PLAYERS, Ruleset, resolve_ruleset
from workers.engine.tiles import Tile, tile_name
from workers.errors import FieldError, InvalidInput

JSON_SAFE: Final = 2**53
"""Whole numbers beyond this travel as digits."""


def one_or_many(document: object, answer: Callable[[object], dict[str, Any]]) -> dict[str, Any] | list[dict[str, Any]]:
    """A list in gives a list out, one in gives one out; a refusal inside a list names the item."""
    if not isinstance(document, list):
        return answer(document)
    answers = []
    for position, item in enumerate(document):
        try:
            answers.append(answer(item))
        except InvalidInput as refusal:
            raise refusal.below(f"[{position}]") from None
    return answers


def tile_out(tile: Tile) -> list[int]:
    """A tile as documents show it."""
    return list(tile)


class Reader:
    """Reads one document field by field; `errors` collects what is wrong, `finish` refuses if anything is."""

    def __init__(self, document: object, known: Sequence[str]) -> None:
        if not isinstance(document, Mapping):
            raise InvalidInput.at("", f"must be an object or a list of objects, not {document!r}")
        self.document = document
        self.errors: list[FieldError] = []
        self.used: dict[Tile, str] = {}
        for name in document:
            if name not in known:
                self.refuse(str(name), f"unknown field; known are {', '.join(known)}")

    def refuse(self, path: str, message: str) -> None:
        """Note one mistake."""
        self.errors.append(FieldError(path, message))

    def finish(self) -> None:
        """Raise `InvalidInput` if there was any mistake."""
        if self.errors:
            raise InvalidInput(*self.errors)

    def ruleset(self) -> Ruleset:
        """The ruleset for the number of players, which defaults to the number of hands; refuses at once."""
        hands = self.document.get("hands")
        players = self.document.get("players", len(hands) if isinstance(hands, list) else None)
        if "players" not in self.document and players is None:
            self.refuse("hands", "must be a list of hands, one for each player")
            self.finish()
        if isinstance(players, bool) or not isinstance(players, int) or not MIN_PLAYERS <= players <= MAX_PLAYERS:
            given = "" if players is None else f", not {players!r}"
            self.refuse("players", f"must be a whole number from {MIN_PLAYERS} to {MAX_PLAYERS}{given}")
            self.finish()
        assert isinstance(players, int)
        try:
            return resolve_ruleset(self.document.get("ruleset", "block"), players)
        except InvalidInput as refusal:
            raise InvalidInput(*self.errors, *refusal.errors) from None

    def hands(self, ruleset: Ruleset) -> list[list[Tile]]:
        """A hand for each seat, of any size."""
        value = self.document.get("hands")
        if not isinstance(value, list) or len(value) != ruleset.players or not all(isinstance(hand, list) for hand in value):
            self.refuse("hands", f"must be a list of {ruleset.players} hands, one for each player")
            return [[] for _ in range(ruleset.players)]
        return [self.tiles(hand, f"hands[{seat}]", ruleset) for seat, hand in enumerate(value)]

    def stock(self, ruleset: Ruleset) -> list[Tile]:
        """The stock in drawing order; without it, empty."""
        value = self.document.get("stock")
        if value is None:
            return []
        if not isinstance(value, list):
            self.refuse("stock", f"must be a list of tiles in drawing order, not {value!r}")
            return []
        return self.tiles(value, "stock", ruleset)

    def tiles(self, value: list[Any], path: str, ruleset: Ruleset) -> list[Tile]:
        """Tiles that no other field of the document holds."""
        tiles = []
        for position, item in enumerate(value):
            where = f"{path}[{position}]"
            tile = self.tile(item, where, ruleset)
            if tile is None:
                continue
            if tile in self.used:
                self.refuse(where, f"tile {tile_name(tile)} is already at {self.used[tile]}; a set has it once")
            self.used.setdefault(tile, where)
            tiles.append(tile)
        return tiles

    def tile(self, value: object, path: str, ruleset: Ruleset) -> Tile | None:
        """One tile of the set, or None after noting what is wrong."""
        if not isinstance(value, list | tuple) or len(value) != 2 or not all(map(_is_whole, value)):
            self.refuse(path, f"must be a tile, such as [2, 5], not {value!r}")
            return None
        low, high = sorted(value)
        if low < 0 or high > ruleset.set:
            self.refuse(path, f"tile {tile_name((low, high))} is not in the set, whose values are 0 to {ruleset.set}")
            return None
        return low, high

    def whole(self, name: str, low: int, high: int, default: int | None = None) -> int:
        """A whole number in a range; required where there is no default."""
        value = self.document.get(name)
        if value is None and default is not None:
            return default
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            given = "" if value is None else f", not {value!r}"
            self.refuse(name, f"must be a whole number from {low} to {high}{given}")
            return low
        return value

    def flag(self, name: str) -> bool:
        """True or false; false where it is not given."""
        value = self.document.get(name)
        if value is not None and not isinstance(value, bool):
            self.refuse(name, f"must be true or false, not {value!r}")
        return value is True


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)
