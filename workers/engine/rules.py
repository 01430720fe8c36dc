"""Rulesets as data: the named presets, their parameters, and the one place where a ruleset is validated.

A ruleset is what a user writes (`"block"`, or `{"preset": "block", "ends": {"target": 50}}`) resolved for a number of
players into a `Ruleset`, in which every parameter has one value. The rules themselves, in words:

- Each seat is dealt `hand` tiles; the rest is the stock. The leader opens with any tile of the hand, or, in a match's
  first round under `opening: highest_double`, the holder of the highest double opens with it (nobody has a double: the
  highest tile in rank order).
- Turns go clockwise. Who can place a tile must; who cannot passes, after drawing where the ruleset lets them draw.
- A round ends when a hand is empty (that seat is out and wins all opponents' pips), or when every seat in turn has passed
  and nothing can be drawn (blocked): the lightest hand wins the opponents' pips, less its own under `blocked_award: net`.
- Equal lightest hands win nothing, or under `blocked_tie: lightest_tile` are compared tile by tile from the lightest.
- The next leader sits clockwise from the last one, or is the loser or the winner of the round.
- The match ends at a target that is reached or exceeded, or after a fixed number of rounds.

What was decided where the sources are silent stands in `explained`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final, Literal, TypeAlias, get_args

from workers.engine.tiles import SETS, set_size
from workers.errors import FieldError, InvalidInput

Opening: TypeAlias = Literal["lot", "highest_double"]
NextLeader: TypeAlias = Literal["clockwise", "loser", "winner"]
BlockedTie: TypeAlias = Literal["nobody", "lightest_tile"]
BlockedAward: TypeAlias = Literal["net", "gross"]
PartnerCount: TypeAlias = Literal["lowest_hand", "side_total"]

MAX_ROUNDS: Final = 10_000
"""A target match still undecided after this many rounds stops as unfinished: tied blocks score nothing, so no match has
a length of its own."""
MAX_TARGET: Final = 1_000_000
"""Keeps every score inside 32 bits with room: 10,000 rounds of a whole double-twelve set are 10.9 million points."""
MIN_PLAYERS: Final = 2
MAX_PLAYERS: Final = 8
MAX_PLAYERS_DOUBLE_SIX: Final = 4


@dataclass(frozen=True, slots=True)
class Ends:
    """When a match is over: at `target` points (`at` says reached or exceeded), or after `rounds` rounds."""

    target: int | None
    at: Literal["reach", "exceed"] | None
    rounds: int | None


@dataclass(frozen=True, slots=True)
class Draw:
    """Drawing: at most `limit` tiles a turn (None: no limit), never the last `reserve` tiles of the stock."""

    limit: int | None
    reserve: int


@dataclass(frozen=True, slots=True)
class Ruleset:
    """A ruleset for one number of players, every parameter resolved and checked."""

    preset: str
    overridden: bool
    players: int
    set: int
    hand: int
    opening: Opening
    next_leader: NextLeader
    blocked_tie: BlockedTie
    blocked_award: BlockedAward
    ends: Ends
    draw: Draw | None
    partners: bool
    partner_count: PartnerCount

    @property
    def label(self) -> str:
        """The bounded name that metrics carry: the preset's, with `+` if anything was overridden."""
        return self.preset + "+" if self.overridden else self.preset

    @property
    def may_draw_ends(self) -> bool:
        """Whether play can end a match with a shared win, so that block scores need the finer unit."""
        return self.ends.rounds is not None

    def side(self, seat: int) -> int:
        """The side that a seat scores for: itself, or with partners 0 for seats 0 and 2, 1 for seats 1 and 3."""
        return seat % 2 if self.partners else seat

    def to_json(self) -> dict[str, Any]:
        """The ruleset in full, as results carry it."""
        ends = {"rounds": self.ends.rounds} if self.ends.rounds else {"target": self.ends.target, "at": self.ends.at}
        draw = None if self.draw is None else {"limit": self.draw.limit, "reserve": self.draw.reserve}
        return {
            "preset": self.preset, "set": self.set, "hand": self.hand, "opening": self.opening,
            "next_leader": self.next_leader, "blocked_tie": self.blocked_tie, "blocked_award": self.blocked_award,
            "ends": ends, "draw": draw, "partners": self.partners, "partner_count": self.partner_count,
        }  # fmt: skip


_HANDS: Final = {"2": 7, "3": 5, "4": 5}
PRESETS: Final[Mapping[str, Mapping[str, Any]]] = {
    "block": {
        "set": 6, "hand": _HANDS, "opening": "lot", "next_leader": "clockwise", "blocked_tie": "nobody",
        "blocked_award": "net", "ends": {"target": {"2": 100, "3": 61, "4": 61}, "at": "reach"}, "draw": None,
        "partners": False, "partner_count": "lowest_hand",
    },
    "traditional": {
        "set": 6, "hand": _HANDS, "opening": "highest_double", "next_leader": "loser", "blocked_tie": "lightest_tile",
        "blocked_award": "net", "ends": {"target": 100, "at": "exceed"}, "draw": None,
        "partners": False, "partner_count": "lowest_hand",
    },
    "draw": {
        "set": 6, "hand": _HANDS, "opening": "highest_double", "next_leader": "loser", "blocked_tie": "lightest_tile",
        "blocked_award": "net", "ends": {"target": 100, "at": "exceed"}, "draw": {"limit": None, "reserve": 2},
        "partners": False, "partner_count": "lowest_hand",
    },
}  # fmt: skip
"""The named rulesets. A value may be a table by number of players."""

PARAMETERS: Final = tuple(PRESETS["block"])
WORDS: Final[Mapping[str, tuple[str, ...]]] = {
    "opening": get_args(Opening), "next_leader": get_args(NextLeader), "blocked_tie": get_args(BlockedTie),
    "blocked_award": get_args(BlockedAward), "partner_count": get_args(PartnerCount),
}  # fmt: skip
"""Parameters that are one of some words."""


def resolve_ruleset(value: object, players: int, path: str = "ruleset") -> Ruleset:
    """The ruleset that `value` (a preset's name, or an object with `preset` and overrides) means for `players` seats.

    Raises `InvalidInput` naming each parameter that is unknown, out of range, or cannot be played with the others.
    """
    try:
        return _resolve_preset(value, players) if isinstance(value, str) else _Resolver(players).resolve(value)
    except InvalidInput as refusal:
        raise refusal.below(path) if path else refusal from None


@lru_cache(64)
def _resolve_preset(name: str, players: int) -> Ruleset:
    """A bare name always means the same: a service is asked for the same few thousands of times."""
    return _Resolver(players).resolve(name)


class _Resolver:
    """One resolution: collects what is wrong, so that a user sees every mistake at once."""

    def __init__(self, players: int) -> None:
        self.players = players
        self.errors: list[FieldError] = []

    def resolve(self, value: object) -> Ruleset:
        preset, overrides = self._read_name(value)
        given = {**PRESETS[preset], **{name: overrides[name] for name in overrides if name != "preset"}}
        words: dict[str, Any] = {name: self._word(name, self._by_players(name, given[name])) for name in WORDS}
        highest = self._by_players("set", given["set"])
        if type(highest) is not int or highest not in SETS:
            self._refuse("set", f"must be 6, 9 or 12, not {highest!r}")
            highest = 6
        hand = self._whole("hand", self._by_players("hand", given["hand"]), 1, set_size(highest))
        partners = self._by_players("partners", given["partners"])
        if not isinstance(partners, bool):
            self._refuse("partners", f"must be true or false, not {partners!r}")
        elif partners and self.players != 4:
            self._refuse("partners", f"needs 4 players, not {self.players}")
        ends = self._ends(preset, self._by_players("ends", given["ends"]))
        draw = self._draw(preset, self._by_players("draw", given["draw"]))
        self._check_size(highest, hand)
        if self.errors:
            raise InvalidInput(*self.errors)
        return Ruleset(
            preset=preset, overridden=len(overrides) > (1 if "preset" in overrides else 0), players=self.players,
            set=highest, hand=hand, ends=ends, draw=draw, partners=partners, **words,
        )  # fmt: skip

    def _read_name(self, value: object) -> tuple[str, Mapping[str, Any]]:
        if isinstance(value, str):
            value = {"preset": value}
        if not isinstance(value, Mapping):
            raise InvalidInput.at("", f"must be a preset's name or an object with 'preset', not {value!r}")
        preset = value.get("preset", "block")
        if not isinstance(preset, str) or preset not in PRESETS:
            raise InvalidInput.at("preset", f"unknown ruleset {preset!r}; known are {', '.join(PRESETS)}")
        for name in value:
            if name != "preset" and name not in PARAMETERS:
                self._refuse(str(name), f"unknown parameter; known are {', '.join(PARAMETERS)}")
        return preset, {name: value[name] for name in value if name == "preset" or name in PARAMETERS}

    def _by_players(self, name: str, value: object) -> Any:
        """The value for this number of players, where it is a table by players (`{"2": 7, "3": 5}`)."""
        if not (isinstance(value, Mapping) and value and all(isinstance(key, str) and key.isdigit() for key in value)):
            return value
        if str(self.players) not in value:
            self._refuse(name, f"says nothing for {self.players} players; give it")
            return None
        return value[str(self.players)]

    def _word(self, name: str, value: object) -> str:
        if value not in WORDS[name]:
            self._refuse(name, f"must be one of {', '.join(WORDS[name])}, not {value!r}")
        return str(value)

    def _whole(self, name: str, value: object, low: int, high: int) -> int:
        if value is None and self.errors and self.errors[-1].path == name:
            return low
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            self._refuse(name, f"must be a whole number from {low} to {high}, not {value!r}")
            return low
        return value

    def _ends(self, preset: str, value: object) -> Ends:
        if not isinstance(value, Mapping):
            if value is not None or not self.errors:
                self._refuse("ends", f"must be an object with target and at, or with rounds, not {value!r}")
            return Ends(1, "reach", None)
        for name in value:
            if name not in ("target", "at", "rounds"):
                self._refuse(f"ends.{name}", "unknown parameter; known are target, at, rounds")
        if "rounds" in value:
            for name in ("target", "at"):
                if name in value:
                    self._refuse(f"ends.{name}", "cannot stand beside rounds: a match ends one way or the other")
            rounds = self._by_players("ends.rounds", value["rounds"])
            return Ends(None, None, self._whole("ends.rounds", rounds, 1, MAX_ROUNDS))
        ends = {**PRESETS[preset]["ends"], **value}
        target = self._whole("ends.target", self._by_players("ends.target", ends["target"]), 1, MAX_TARGET)
        at = self._by_players("ends.at", ends["at"])
        if at not in ("reach", "exceed"):
            self._refuse("ends.at", f"must be reach or exceed, not {at!r}")
        return Ends(target, at, None)

    def _draw(self, preset: str, value: object) -> Draw | None:
        if value is None:
            return None
        if not isinstance(value, Mapping):
            self._refuse("draw", f"must be null or an object with limit and reserve, not {value!r}")
            return None
        for name in value:
            if name not in ("limit", "reserve"):
                self._refuse(f"draw.{name}", "unknown parameter; known are limit, reserve")
        draw = {"limit": None, "reserve": 2, **(PRESETS[preset]["draw"] or {}), **value}
        limit = self._by_players("draw.limit", draw["limit"])
        reserve = self._by_players("draw.reserve", draw["reserve"])
        if limit is not None:
            limit = self._whole("draw.limit", limit, 1, set_size(max(SETS)))
        return Draw(limit, self._whole("draw.reserve", reserve, 0, set_size(max(SETS))))

    def _check_size(self, highest: int, hand: int) -> None:
        if not MIN_PLAYERS <= self.players <= MAX_PLAYERS:
            self._refuse("players", f"must be from {MIN_PLAYERS} to {MAX_PLAYERS}, not {self.players}")
        elif highest == 6 and self.players > MAX_PLAYERS_DOUBLE_SIX:
            self._refuse("set", f"double-six seats at most {MAX_PLAYERS_DOUBLE_SIX}, not {self.players}; take a larger set")
        elif self.players * hand > set_size(highest):
            self._refuse("hand", f"{self.players} hands of {hand} do not fit into a set of {set_size(highest)} tiles")

    def _refuse(self, path: str, message: str) -> None:
        self.errors.append(FieldError(path, message))
