"""`ismcts`, information-set Monte Carlo tree search: one tree of what everybody sees, each time down it in one sampled world.

Single-observer, after Cowling, Powley and Whitehouse, "Information Set Monte Carlo Tree Search" (2012). A node stands for the
placements made in public since the decision; passes need no nodes, since the seat that places next tells of them. Worlds are
drawn as by `pimc`, uniformly among all that agree with every pass. Each iteration goes down by upper confidence bounds among
the placements that are legal in its world, counting how often each was there to be chosen. Where some were never tried, the
playout policy picks one of them, it becomes a node, and the same policy plays the world out in every seat. Every seat on the
way is credited with what the end is worth to its side: its own award, or less that of another. The most visited placement is
played; of equals the finish `top` picks one.

The own placements are the same in every world, so the one to begin with is picked before the world, and its visit number v
plays in world v: all of them meet the same luck, as in `pimc`. Measured at 2 players, match share against `pimc` with 32
worlds, both with playouts by `linear` version 2 (1,200 matches, standard error .011; 14 over 2,000):

| iterations | exploration 5 | 7 | 10 | 14 | 20 |
|---|---|---|---|---|---|
| 300 | | | .541 | | |
| 500 | .497 | .519 | .583 | .570 | .568 |
| 1,000 | | | .593 | | .585 |

With a new world for every iteration, as in the paper, 500 had .525 and 1,000 had .588 (800 matches, .015); an exploration of 3
had .360. `pimc` with 128 worlds, which costs a little less than 500 iterations, had .588 (.014).

Bounds are whole numbers in units of 1 / `BOUND_UNIT` pip, with logarithms and roots from tables of whole numbers:
`total * BOUND_UNIT // visits + (exploration * root_of_log[available] * inverse_root[visits] >> ROOT_BITS)`.

Random numbers of a decision: number v + 1 begins the stream of world v, which draws its hands; what picks or plays out may use
`decision_word(mix64(not number), seat, ply)`, plies counted from 0 at the decision itself.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from functools import cache
from math import isqrt
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from workers.engine.policies.exact import worth
from workers.engine.policies.parameters import POLICY_SCHEMA, ConsultingPolicy, Reader
from workers.engine.policies.pimc import best_of, finish_round, search_refusal, world_of
from workers.engine.policies.plan import Kind, Stage
from workers.engine.policies.program import Program, select
from workers.engine.policies.worlds import sample_hands
from workers.engine.reference import Placement, View
from workers.engine.rng import MASK64, DecisionRandom, decision_word, mix64
from workers.engine.rules import Ruleset
from workers.engine.tiles import Tile

MAX_ITERATIONS: Final = 20_000
DEFAULT_ITERATIONS: Final = 300
MAX_EXPLORATION: Final = 1_000
DEFAULT_EXPLORATION: Final = 10
DEFAULT_PLAYOUT: Final = {"name": "linear", "version": "2"}
"""Pinned: a later `linear` must not change what this one plays."""
EXPLORATION_UNIT: Final = 1_000
"""An exploration of one pip is stored as this many thousandths."""
ROOT_BITS: Final = 16
"""Binary digits after the point in the tables of roots."""
BOUND_UNIT: Final = EXPLORATION_UNIT << ROOT_BITS


@dataclass(slots=True)
class Node:
    """What was seen after one placement."""

    visits: int = 0
    available: int = 0
    """Iterations that came to the node before and in whose world this placement was legal."""
    total: int = 0
    """What these visits were worth to the side that made the placement."""
    after: "dict[tuple[int, Placement], Node]" = field(default_factory=dict)
    """By seat and placement, in the order in which they were tried."""


@dataclass(frozen=True, slots=True)
class Ismcts:
    """`iterations` ways down; `exploration` in thousandths of a pip; `playout` in every seat beyond the tree."""

    iterations: int
    exploration: int
    playout: Program

    def begin(self) -> "Ismcts":
        """It remembers nothing: every decision has a tree of its own."""
        return self

    def choose(self, view: View, random: DecisionRandom) -> Placement:
        """The most visited placement."""
        root = Node()
        worlds = _worlds(view, random)
        sampled = [next(worlds)]
        for _ in range(self.iterations):
            node, placement, is_new = self._pick(root, view, decision_word(sampled[0][1], view.seat, 0))
            if node.visits == len(sampled):
                sampled.append(next(worlds))
            self._go_down(node, placement, is_new, view, *sampled[node.visits])
        tried = {placement: node.visits for (_, placement), node in root.after.items()}
        return best_of(view, {placement: tried.get(placement, 0) for placement in view.legal})

    def stages(self) -> tuple[Stage, ...]:
        """Both numbers, and what plays beyond the tree."""
        return (Stage(Kind.ISMCTS, (self.iterations, self.exploration), self.playout),)

    def refusal(self, ruleset: Ruleset) -> str | None:
        """As `pimc`: hidden hands are sampled for up to four players, on sets of one word, without draws."""
        return search_refusal("ismcts", ruleset)

    def _go_down(
        self, node: Node, placement: Placement, is_new: bool, view: View, hands: list[list[Tile]], base: int
    ) -> None:  # fmt: skip
        """On from an own placement in a world, to the end, and what everybody on the way learns from that."""
        world = world_of(view, hands)
        begun = len(world.plies)
        way = [(view.seat, node)]
        world.take_turn(lambda _view: placement)
        while world.end is None and not is_new:
            legal = world.legal()
            if not legal:
                world.pass_turn(())
                continue
            seen = world.view(legal)
            node, chosen, is_new = self._pick(node, seen, decision_word(base, seen.seat, len(world.plies) - begun))
            way.append((seen.seat, node))
            world.take_turn(lambda _view, chosen=chosen: chosen)  # type: ignore[misc]
        end = finish_round(self.playout, world, base, len(world.plies) - begun)
        for seat, passed in way:
            passed.visits += 1
            passed.total += worth(world.ruleset, end, seat)

    def _pick(self, node: Node, view: View, word: int) -> tuple[Node, Placement, bool]:
        """Where to go from a node for the seat that is to move: the next node, its placement, and whether it is new."""
        tried = [each for (seat, each) in node.after if seat == view.seat and each in view.legal]
        for each in tried:
            node.after[view.seat, each].available += 1
        untried = tuple(each for each in view.legal if each not in tried)
        if untried:
            placement = select(self.playout, replace(view, legal=untried), DecisionRandom(word))
            node.after[view.seat, placement] = Node(available=1)
        else:
            placement = max(tried, key=lambda each: self._bound(node.after[view.seat, each]))
        return node.after[view.seat, placement], placement, bool(untried)

    def _bound(self, node: Node) -> int:
        """The upper confidence bound of a placement that was tried; of equals, the one tried first counts."""
        roots_of_logs, inverse_roots = root_tables(self.iterations)
        bonus = self.exploration * int(roots_of_logs[node.available]) * int(inverse_roots[node.visits]) >> ROOT_BITS
        return node.total * BOUND_UNIT // node.visits + bonus


def _worlds(view: View, random: DecisionRandom) -> Iterator[tuple[list[list[Tile]], int]]:
    """Sampled hands by seat, and where the random numbers of a playout with them begin: one world after the other."""
    random.next_word()
    while True:
        begin = random.next_word()
        yield sample_hands(view, DecisionRandom(begin)), mix64(~begin & MASK64)


@cache
def root_tables(most: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """`[most + 1]` each: the root of n's natural logarithm, and one over the root of n, with `ROOT_BITS` after the point.

    Place 0 of both is 0. Whole numbers all the way, so that every machine has the same ones.
    """
    roots_of_logs = [isqrt(log << ROOT_BITS) for log in _logarithms(most)]
    inverse_roots = [isqrt((1 << 2 * ROOT_BITS) // number) for number in range(1, most + 1)]
    return np.array([0, *roots_of_logs], np.int64), np.array([0, *inverse_roots], np.int64)


def _logarithms(most: int) -> list[int]:
    """The natural logarithms of 1 to `most` with `ROOT_BITS` after the point, rounded down but for the last bits.

    log n = log (n - 1) + 2 artanh(1 / (2n - 1)), summed with 64 bits after the point.
    """
    unit = 1 << 64
    total, found = 0, []
    for number in range(1, most + 1):
        if number > 1:
            odd = 2 * number - 1
            power, term = unit // odd, 1
            while power:
                total += 2 * power // term
                power, term = power // (odd * odd), term + 2
        found.append(total >> 64 - ROOT_BITS)
    return found


def _build(fields: Mapping[str, Any], read: Reader) -> Ismcts:
    exploration = fields.get("exploration", DEFAULT_EXPLORATION)
    thousandths = Decimal(0)
    if isinstance(exploration, bool) or not isinstance(exploration, int | float) or not 0 <= exploration <= MAX_EXPLORATION:
        read.refuse("exploration", f"must be a number from 0 to {MAX_EXPLORATION}, not {exploration!r}")
    else:
        thousandths = Decimal(repr(exploration)) * EXPLORATION_UNIT
        if thousandths != thousandths.to_integral_value():
            read.refuse("exploration", f"must have at most three decimals, not {exploration!r}")
    return Ismcts(
        read.whole("iterations", DEFAULT_ITERATIONS, 1, MAX_ITERATIONS),
        int(thousandths),
        read.program("playout", DEFAULT_PLAYOUT),
    )


POLICY: Final = ConsultingPolicy(
    "ismcts", "1", "Searches one tree of what everybody sees, each time down it in another sampled world",
    {
        "iterations": {
            "type": "integer", "minimum": 1, "maximum": MAX_ITERATIONS, "default": DEFAULT_ITERATIONS,
            "description": "ways down the tree for each decision, each in a world of its own",
        },
        "exploration": {
            "type": "number", "minimum": 0, "maximum": MAX_EXPLORATION, "default": DEFAULT_EXPLORATION,
            "description": "how much is tried that seems worse, in pips, at most three decimals",
        },
        "playout": {
            **POLICY_SCHEMA, "default": DEFAULT_PLAYOUT,
            "description": "who plays on in every seat beyond the tree: a policy of preferences and weights",
        },
    },
    _build,
)  # fmt: skip
