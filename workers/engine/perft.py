"""Perft: the whole tree of a given deal, counted and weighed exactly.

Placements branch, draws and passes are forced. The chances are those under uniform placements (the policy `random`), as
fractions. Positions that can be reached in several ways are solved once.
"""

from collections import Counter
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final, TypeAlias

from workers.engine.documents import JSON_SAFE, Reader, one_or_many
from workers.engine.reference import LineEnds, Placement, Round, ends_after
from workers.engine.rules import Ruleset
from workers.engine.tiles import Tile
from workers.errors import InvalidInput

FIELDS: Final = ("ruleset", "players", "hands", "leader", "stock")


@dataclass(frozen=True, slots=True)
class Tree:
    """All ways to play on from a position: rounds by the placements that are still made, and the chances of each end."""

    rounds: Counter[int]
    win: tuple[Fraction, ...]
    """By seat; with partners the side's winning seat alone."""
    tie: Fraction
    blocked: Fraction


Hands: TypeAlias = tuple[frozenset[Tile], ...]


@dataclass(frozen=True, slots=True)
class _Position:
    """What decides how a round can go on. The two ends stand in ascending order: left and right play no part in it."""

    hands: Hands
    line_ends: LineEnds | None
    to_move: int
    """Nobody has passed since the last placement."""
    stock_drawn: int


def perft(document: object, *, max_nodes: int | None = None) -> dict[str, Any] | list[dict[str, Any]]:
    """The tree of a deal, or of each of a list: `{complete_rounds, by_placements, p_win, p_tie, p_blocked}`.

    `max_nodes` bounds the different positions that are visited for the whole document. Raises `InvalidInput`.
    """
    budget = _Budget(max_nodes)
    return one_or_many(document, lambda one: _perft_one(one, budget))


def grow_tree(ruleset: Ruleset, hands: list[list[Tile]], leader: int, stock: list[Tile]) -> Tree:
    """The tree of a dealt round, without a bound."""
    return _Grower(ruleset, leader, tuple(stock), _Budget(None)).grow(
        _Position(tuple(map(frozenset, hands)), None, leader, 0)
    )  # fmt: skip


class _Budget:
    """Counts visited positions against a bound."""

    def __init__(self, most: int | None) -> None:
        self.most = most
        self.visited = 0

    def spend(self) -> None:
        self.visited += 1
        if self.most is not None and self.visited > self.most:
            raise InvalidInput.at("", f"the tree has more than {self.most} positions, which is the limit here")


def _perft_one(document: object, budget: _Budget) -> dict[str, Any]:
    reader = Reader(document, FIELDS)
    ruleset = reader.ruleset()
    hands = reader.hands(ruleset)
    stock = reader.stock(ruleset)
    leader = reader.whole("leader", 0, ruleset.players - 1)
    for seat, hand in enumerate(hands):
        if not hand and not reader.errors:
            reader.refuse(f"hands[{seat}]", "must have at least one tile: the round has not begun")
    reader.finish()
    start = _Position(tuple(map(frozenset, hands)), None, leader, 0)
    tree = _Grower(ruleset, leader, tuple(stock), budget).grow(start)
    return {
        "complete_rounds": _count_out(tree.rounds.total()),
        "by_placements": {str(made): _count_out(count) for made, count in sorted(tree.rounds.items())},
        "p_win": [str(chance) for chance in tree.win],
        "p_tie": str(tree.tie),
        "p_blocked": str(tree.blocked),
    }


class _Grower:
    """Grows the tree of one deal depth first; the depth is at most the plies of a round."""

    def __init__(self, ruleset: Ruleset, leader: int, stock: tuple[Tile, ...], budget: _Budget) -> None:
        self.ruleset = ruleset
        self.leader = leader
        self.stock = stock
        self.budget = budget
        self.known: dict[_Position, Tree] = {}

    def grow(self, position: _Position) -> Tree:
        """The tree below a position in which the round is not over."""
        if position not in self.known:
            self.budget.spend()
            self.known[position] = self._grow(position)
        return self.known[position]

    def _grow(self, position: _Position) -> Tree:
        state = Round(
            self.ruleset, [list(hand) for hand in position.hands], self.leader, list(self.stock[position.stock_drawn :]),
            line_ends=position.line_ends, to_move=position.to_move,
        )  # fmt: skip
        legal, drawn = state.draw_until_playable()
        while not legal:
            state.pass_turn(drawn)
            if state.end is not None:
                return self._leaf(state.end.winner, blocked=True)
            legal, drawn = state.draw_until_playable()
        return self._branch(state, legal)

    def _branch(self, state: Round, legal: list[Placement]) -> Tree:
        seat = state.to_move
        hands = tuple(map(frozenset, state.hands))
        stock_drawn = len(self.stock) - len(state.stock)
        branches = []
        for placement in legal:
            after = tuple(hand - {placement.tile} if each == seat else hand for each, hand in enumerate(hands))
            if not after[seat]:
                branches.append(self._leaf(seat))
                continue
            low, high = sorted(ends_after(state.line_ends, placement))
            branches.append(self.grow(_Position(after, (low, high), (seat + 1) % self.ruleset.players, stock_drawn)))
        rounds: Counter[int] = Counter()
        for branch in branches:
            rounds.update({made + 1: count for made, count in branch.rounds.items()})
        share = Fraction(1, len(branches))
        return Tree(
            rounds,
            tuple(share * sum(branch.win[each] for branch in branches) for each in range(self.ruleset.players)),
            share * sum(branch.tie for branch in branches),
            share * sum(branch.blocked for branch in branches),
        )

    def _leaf(self, winner: int | None, *, blocked: bool = False) -> Tree:
        win = tuple(Fraction(seat == winner) for seat in range(self.ruleset.players))
        return Tree(Counter({0: 1}), win, Fraction(winner is None), Fraction(blocked))


def _count_out(count: int) -> int | str:
    return count if count <= JSON_SAFE else str(count)
