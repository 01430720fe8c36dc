"""`endgame`: exact once few tiles are left, averaged over every world that agrees with all passes; before, another policy."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations, islice
from typing import Any, Final

from workers.engine.policies.exact import exact_worth
from workers.engine.policies.parameters import POLICY_SCHEMA, ConsultingPolicy, Reader
from workers.engine.policies.pimc import best_of, search_refusal
from workers.engine.policies.plan import Kind, Plan, Stage
from workers.engine.policies.worlds import may_hold
from workers.engine.reference import Placement, View
from workers.engine.rng import DecisionRandom
from workers.engine.rules import Ruleset
from workers.engine.tiles import Tile

DEFAULT_TILES: Final = 8
MAX_TILES: Final = 14
"""Tiles in all hands together: more take seconds for one world."""
DEFAULT_WORLDS: Final = 1_000
MAX_WORLDS: Final = 20_000
DEFAULT_POLICY: Final = {"name": "linear", "version": "2"}
"""Pinned: a later `linear` must not change what this one plays."""


@dataclass(frozen=True, slots=True)
class Endgame:
    """Exact where all hands together have at most `tiles` tiles and at most `worlds` worlds are left; else `plan` plays.

    Numbers of the decision go to the other policy as they are.
    """

    tiles: int
    worlds: int
    plan: Plan

    def begin(self) -> "Endgame":
        """With the other policy as it begins a match."""
        return Endgame(self.tiles, self.worlds, self.plan.begin())

    def choose(self, view: View, random: DecisionRandom) -> Placement:
        """The placement with the greatest sum over all worlds, or the other policy's."""
        if sum(view.hand_counts) > self.tiles:
            return self.plan.choose(view, random)
        worlds = list(islice(every_world(view), self.worlds + 1))
        if len(worlds) > self.worlds:
            return self.plan.choose(view, random)
        return best_of(view, {each: sum(exact_worth(view, hands, each) for hands in worlds) for each in view.legal})

    def stages(self) -> tuple[Stage, ...]:
        """Both bounds, then the other policy."""
        return (Stage(Kind.ENDGAME, (self.tiles, self.worlds)), *self.plan.stages())

    def refusal(self, ruleset: Ruleset) -> str | None:
        """What cannot be searched, or what the other policy cannot play."""
        return search_refusal("endgame", ruleset) or self.plan.refusal(ruleset)


def every_world(view: View) -> Iterator[list[list[Tile]]]:
    """All hands by seat that agree with every pass, the own one as it is."""
    others = [seat for seat in range(view.ruleset.players) if seat != view.seat]

    def extend(hands: Mapping[int, list[Tile]]) -> Iterator[list[list[Tile]]]:
        if len(hands) == view.ruleset.players:
            yield [hands[seat] for seat in range(view.ruleset.players)]
            return
        seat = others[len(hands) - 1]
        free = [tile for tile in may_hold(view, seat) if all(tile not in hand for hand in hands.values())]
        for hand in combinations(free, view.hand_counts[seat]):
            yield from extend({**hands, seat: list(hand)})

    return extend({view.seat: list(view.hand)})


def _build(_fields: Mapping[str, Any], read: Reader) -> Endgame:
    return Endgame(
        read.whole("tiles", DEFAULT_TILES, 2, MAX_TILES), read.whole("worlds", DEFAULT_WORLDS, 1, MAX_WORLDS),
        read.policy("policy", DEFAULT_POLICY),
    )  # fmt: skip


POLICY: Final = ConsultingPolicy(
    "endgame", "1", "Exact once few tiles are left, over all worlds that agree with the passes; before, another policy",
    {
        "tiles": {
            "type": "integer", "minimum": 2, "maximum": MAX_TILES, "default": DEFAULT_TILES,
            "description": "exact where all hands together have at most so many tiles",
        },
        "worlds": {
            "type": "integer", "minimum": 1, "maximum": MAX_WORLDS, "default": DEFAULT_WORLDS,
            "description": "and where at most so many worlds are left",
        },
        "policy": {**POLICY_SCHEMA, "default": DEFAULT_POLICY, "description": "who plays before"},
    },
    _build,
)  # fmt: skip
