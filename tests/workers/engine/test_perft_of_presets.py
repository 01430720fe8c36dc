"""Exact chances of small deals under every preset, against an enumeration that shares no code with the engine."""

from collections import Counter
from fractions import Fraction
from itertools import combinations
from random import Random
from typing import Any, TypeAlias

import pytest

from tests.workers.engine.engines import walk_compiled
from workers.engine.perft import perft

Tiles: TypeAlias = tuple[tuple[int, int], ...]
SETS = {
    "block": ("block", 2), "block of three": ("block", 3),
    "traditional": ("traditional", 2), "traditional of three": ("traditional", 3),
    "sides": ({"preset": "traditional", "partners": True}, 4),
    "sides by totals": ({"preset": "traditional", "partners": True, "partner_count": "side_total"}, 4),
    "draw": ("draw", 2), "draw of three": ("draw", 3), "one draw a turn": ({"preset": "draw", "draw": {"limit": 1}}, 2),
    "all may be drawn": ({"preset": "draw", "draw": {"limit": None, "reserve": 0}}, 2),
}  # fmt: skip


class Enumeration:
    """A round played out in every way, literally: `ways` counts rounds by placements, the rest are chances."""

    def __init__(self, ruleset: Any, hands: list[Tiles], leader: int, stock: Tiles) -> None:
        rules = {"preset": ruleset} if isinstance(ruleset, str) else ruleset
        self.by_tile = rules["preset"] != "block"
        self.sides = bool(rules.get("partners"))
        self.pooled = rules.get("partner_count") == "side_total"
        drawing = {"limit": None, "reserve": 2, **rules.get("draw", {})} if rules["preset"] == "draw" else None
        self.reserve = len(stock) if drawing is None else drawing["reserve"]
        self.limit = 0 if drawing is None else drawing["limit"] or 99
        self.leader = leader
        self.ways: Counter[int] = Counter()
        self.won = [Fraction(0)] * len(hands)
        self.tied = self.blocked = Fraction(0)
        self._play(list(hands), (), leader, stock, 0, 0, Fraction(1))

    def _play(self, hands: list[Tiles], ends: Any, seat: int, stock: Tiles, passes: int, made: int, chance: Fraction) -> None:
        if passes >= len(hands) and len(stock) <= self.reserve:
            self.ways[made] += 1
            self.blocked += chance
            winner = self._lightest(hands)
            if winner is None:
                self.tied += chance
            else:
                self.won[winner] += chance
            return
        moves = self._moves(hands[seat], ends)
        drawn = 0
        while not moves and drawn < self.limit and len(stock) > self.reserve:
            tile, stock, drawn = stock[0], stock[1:], drawn + 1
            hands = [(*hand, tile) if each == seat else hand for each, hand in enumerate(hands)]
            moves = self._moves((tile,), ends)
        after = (seat + 1) % len(hands)
        if not moves:
            self._play(hands, ends, after, stock, passes + 1, made, chance)
        for tile, line in moves:
            left = tuple(other for other in hands[seat] if other != tile)
            if left:
                changed = [left if each == seat else hand for each, hand in enumerate(hands)]
                self._play(changed, line, after, stock, 0, made + 1, chance / len(moves))
            else:
                self.ways[made + 1] += 1
                self.won[seat] += chance / len(moves)

    def _moves(self, hand: Tiles, ends: Any) -> list[tuple[tuple[int, int], tuple[int, int]]]:
        if not ends:
            return [(tile, tile) for tile in hand]
        found = []
        for low, high in hand:
            for joined, other in {(ends[0], ends[1]), (ends[1], ends[0])}:
                if joined in (low, high):
                    found.append(((low, high), (low + high - joined, other)))
        return found

    def _lightest(self, hands: list[Tiles]) -> int | None:
        def weight(hand: Tiles) -> Any:
            pips = sorted(low + high for low, high in hand)
            return (sum(pips), pips) if self.by_tile else sum(pips)

        groups = [(seat,) for seat in range(len(hands))]
        if self.pooled:
            groups = [(0, 2), (1, 3)]
        weights = {group: weight(sum((hands[seat] for seat in group), ())) for group in groups}
        best = [group for group in groups if weights[group] == min(weights.values())]
        seats = sorted(seat for group in best for seat in group)
        if self.sides:
            if len({seat % 2 for seat in seats}) > 1:
                return None
            order = [(self.leader + turn) % 4 for turn in range(4)]
            return min((seat for seat in order if seat % 2 == seats[0] % 2), key=lambda seat: weight(hands[seat]))
        return seats[0] if len(seats) == 1 else None

    def document(self) -> dict[str, Any]:
        """As `perft` prints it."""
        return {
            "complete_rounds": self.ways.total(), "by_placements": {str(made): self.ways[made] for made in sorted(self.ways)},
            "p_win": [str(chance) for chance in self.won], "p_tie": str(self.tied), "p_blocked": str(self.blocked),
        }  # fmt: skip


def deals(name: str, players: int) -> list[tuple[list[Tiles], int, Tiles]]:
    """Some small deals: hands, leader and stock."""
    chosen = Random(name)
    tiles = [(low, high) for low in range(7) for high in range(low, 7)]
    size = {2: 4, 3: 3, 4: 2}[players]
    found = []
    for _ in range(4):
        # Few values, so that lines close and hands tie.
        few = [tile for tile in tiles if tile[1] <= 4] if players < 4 else tiles
        chosen.shuffle(few)
        hands = [tuple(few[seat * size : (seat + 1) * size]) for seat in range(players)]
        found.append((hands, chosen.randrange(players), tuple(few[players * size : players * size + 5])))
    return found


def counted(ruleset: Any, hands: list[Tiles], leader: int, stock: Tiles) -> Any:
    """What `perft` makes of the deal."""
    written = [list(map(list, hand)) for hand in hands]
    return perft({"ruleset": ruleset, "hands": written, "leader": leader, "stock": list(map(list, stock))})


@pytest.mark.parametrize("name", SETS)
def test_chances_are_those_of_an_independent_enumeration(name: str) -> None:
    ruleset, players = SETS[name]
    shared = Counter[str]()
    for hands, leader, stock in deals(name, players):
        expected = Enumeration(ruleset, hands, leader, stock).document()
        assert counted(ruleset, hands, leader, stock) == expected
        branches = list(walk_compiled(ruleset, hands, leader, stock))
        assert len(branches) == expected["complete_rounds"]
        for seat in range(players):
            chance = sum((branch.chance for branch in branches if branch.winner == seat), Fraction(0))
            assert str(chance) == expected["p_win"][seat]
        shared["blocked"] += expected["p_blocked"] != "0"
        shared["out"] += expected["p_blocked"] != "1"
    assert min(shared["blocked"], shared["out"]) > 0


def test_the_enumeration_knows_a_tie() -> None:
    # [1|1] opens and nothing fits; [2|4] and [0|6] weigh the same and have the same single tile.
    hands: list[Tiles] = [((1, 1), (2, 4)), ((0, 6),)]
    for ruleset in ("block", "traditional"):
        found = Enumeration(ruleset, hands, 0, ()).document()
        assert counted(ruleset, hands, 0, ()) == found
        assert found["p_tie"] == "1/2"


def test_every_small_deal_of_few_tiles_has_the_chances_of_the_enumeration() -> None:
    tiles = [(0, 0), (0, 1), (1, 1), (0, 2), (1, 2), (2, 2)]
    for first in combinations(tiles, 2):
        rest = [tile for tile in tiles if tile not in first]
        for second in combinations(rest, 2):
            stock = tuple(tile for tile in rest if tile not in second)
            for ruleset in ("block", "traditional", {"preset": "draw", "draw": {"reserve": 1}}):
                expected = Enumeration(ruleset, [first, second], 1, stock).document()
                assert counted(ruleset, [first, second], 1, stock) == expected
