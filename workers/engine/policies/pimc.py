"""`pimc`, perfect information Monte Carlo: play every placement out in the same sampled worlds, as if all hands were seen.

Of the placements with the greatest sum over the worlds (own awards less those of others) the finish `top` picks one.

Random numbers of a decision: number w + 1 begins a stream for world w, which draws its hands; what plays out may use
`decision_word(mix64(not number), seat, ply)`, plies counted from 0 after the placement. So all placements meet the same luck.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from workers.engine.policies.exact import exact_worth, worth
from workers.engine.policies.parameters import POLICY_SCHEMA, ConsultingPolicy, Reader
from workers.engine.policies.plan import Kind, Stage
from workers.engine.policies.program import Program, select
from workers.engine.policies.worlds import sample_hands
from workers.engine.reference import Placement, Round, RoundEnd, View
from workers.engine.rng import MASK64, DecisionRandom, decision_word, mix64
from workers.engine.rules import Ruleset
from workers.engine.tiles import Tile, set_size

MAX_WORLDS: Final = 4096
DEFAULT_WORLDS: Final = 32
DEFAULT_PLAYOUT: Final = {"name": "linear", "version": "2"}
"""Pinned: a later `linear` must not change what this one plays."""
EXACT: Final = "exact"
"""The playout that is perfect play."""
WORD_TILES: Final = 64
"""Tiles of the largest set that is searched."""
SEARCH_PLAYERS: Final = 4


@dataclass(frozen=True, slots=True)
class Pimc:
    """`worlds` sampled, and `playout` in every seat of each; None plays perfectly with all hands seen."""

    worlds: int
    playout: Program | None

    def begin(self) -> "Pimc":
        """It remembers nothing."""
        return self

    def choose(self, view: View, random: DecisionRandom) -> Placement:
        """The placement with the greatest sum over the worlds."""
        totals = dict.fromkeys(view.legal, 0)
        random.next_word()
        for _ in range(self.worlds):
            begin = random.next_word()
            hands = sample_hands(view, DecisionRandom(begin))
            for placement in view.legal:
                if self.playout is None:
                    totals[placement] += exact_worth(view, hands, placement)
                else:
                    totals[placement] += play_out(self.playout, view, hands, placement, mix64(~begin & MASK64))
        return best_of(view, totals)

    def stages(self) -> tuple[Stage, ...]:
        """The number of worlds, whether they are played perfectly, and else by what."""
        if self.playout is None:
            return (Stage(Kind.PIMC, (self.worlds, 1)),)
        return (Stage(Kind.PIMC, (self.worlds, 0), self.playout),)

    def refusal(self, ruleset: Ruleset) -> str | None:
        """Hidden hands are sampled for up to four players, on sets of one word, without draws."""
        return search_refusal("pimc", ruleset)


def search_refusal(name: str, ruleset: Ruleset) -> str | None:
    """Why a policy that samples hidden hands cannot play a ruleset."""
    if ruleset.players > SEARCH_PLAYERS:
        return f"{name} plays with at most {SEARCH_PLAYERS} players"
    if set_size(ruleset.set) > WORD_TILES:
        return f"{name} plays sets of at most {WORD_TILES} tiles: double-six and double-nine"
    return f"{name} plays rulesets without draws" if ruleset.draw else None


def play_out(playout: Program, view: View, hands: list[list[Tile]], placement: Placement, base: int) -> int:
    """What a placement is worth in one world: the own side's award, or less that of another."""
    world = world_of(view, hands)
    world.take_turn(lambda _view: placement)
    return worth(view.ruleset, finish_round(playout, world, base, 0), view.seat)


def world_of(view: View, hands: list[list[Tile]]) -> Round:
    """The round as it would be with these hands by seat."""
    return Round(
        view.ruleset, [list(hand) for hand in hands], view.leader, line_ends=view.line_ends, to_move=view.seat,
        plies=list(view.plies), lacks=list(view.lacks), scores=view.scores,
    )  # fmt: skip


def finish_round(playout: Program, world: Round, base: int, ply: int) -> RoundEnd:
    """The end of a world's round, every seat playing by `playout` from ply number `ply` on."""
    while world.end is None:
        random = DecisionRandom(decision_word(base, world.to_move, ply))
        world.take_turn(lambda seen, random=random: select(playout, seen, random))  # type: ignore[misc]
        ply += 1
    return world.end


def best_of(view: View, totals: Mapping[Placement, int]) -> Placement:
    """Of the placements with the greatest total, the one that the finish `top` picks."""
    best = max(totals.values())
    left = tuple(placement for placement in view.legal if totals[placement] == best)
    return select(Program(), replace(view, legal=left), DecisionRandom(0))


def _build(_fields: Mapping[str, Any], read: Reader) -> Pimc:
    worlds = read.whole("worlds", DEFAULT_WORLDS, 1, MAX_WORLDS)
    is_exact = read.fields.get("playout") == EXACT
    return Pimc(worlds, None if is_exact else read.program("playout", DEFAULT_PLAYOUT))


POLICY: Final = ConsultingPolicy(
    "pimc", "1", "Plays every placement out in sampled worlds that agree with all passes, and takes the best on average",
    {
        "worlds": {
            "type": "integer", "minimum": 1, "maximum": MAX_WORLDS, "default": DEFAULT_WORLDS,
            "description": "worlds sampled for each decision",
        },
        "playout": {
            **POLICY_SCHEMA, "default": DEFAULT_PLAYOUT,
            "description": "who plays the worlds out in every seat: a policy of preferences and weights, or exact, which plays"
            " perfectly with all hands seen",
        },
    },
    _build,
)  # fmt: skip
