"""Every parameter of a ruleset and everything that was decided where the sources are silent, each with a case that fails
under any other reading; in the literal rules and in the kernel.

| parameter or choice | case |
|---|---|
| `set` | `test_a_larger_set_has_its_own_tiles` |
| `hand`, and values by number of players | `test_values_by_number_of_players` |
| `opening` | `test_the_first_round_alone_is_opened_by_the_rule` |
| of equally heavy tiles the higher half opens | `test_of_equally_heavy_tiles_the_higher_half_opens` |
| `next_leader`, equal losers, rounds that nobody won, sides | `test_who_leads_next` |
| `blocked_tie`, complete ties | `test_ties_of_a_blocked_round` |
| `blocked_award` | `test_ties_of_a_blocked_round` (a won round for 0 under net), `test_sides_of_a_blocked_round` |
| `partners`, `partner_count`, the side's seat, a side's pips | `test_sides_of_a_blocked_round`, `test_going_out_for_a_side` |
| `ends` | `test_when_a_match_is_over` |
| `draw.limit`, `draw.reserve`, no free draw, which tile must be placed | `test_draws_of_a_turn` |
| passes while tiles can be drawn | `test_a_limit_ends_no_round_while_tiles_can_be_drawn` |
| what a drawing player is known to lack | `test_what_drawing_tells` |
| equal ends make one move | `equal-ends-give-one-move` in `test_positions` |
| 10,000 rounds | `test_a_match_that_nobody_can_win_stops_unfinished` in `test_play` |
"""

import itertools
from typing import Any

import numba
import numpy as np
import pytest

from tests.workers.engine.engines import lineup, walk_compiled
from workers.engine.play import play_blocks, replay_match
from workers.engine.positions import judge
from workers.engine.reference import Round, match_winners, next_leader, opening_tile, settle_blocked
from workers.engine.rules import resolve_ruleset
from workers.engine.scalar import deal, layout, settle
from workers.engine.scalar.door import hand_words
from workers.engine.tiles import Tile, tile_ids, tile_set

Hands = list[list[Tile]]
SIDES = {"preset": "traditional", "partners": True}


@numba.njit
def _next_leader(rules: Any, tile_sets: Any, hands: Any, leader: int, winner: int) -> Any:
    return settle.next_leader(rules, tile_sets, hands, leader, winner)


@numba.njit
def _match_winners(rules: Any, scores: Any, rounds: int) -> Any:
    return settle.match_winners(rules, scores, rounds)


@numba.njit
def _opening_tile(rules: Any, tile_sets: Any, hands: Any) -> Any:
    return deal.opening_tile(rules, tile_sets, hands)


def words(ruleset: Any, hands: Hands) -> Any:
    """Hands as the kernel holds them."""
    found = np.zeros(2 * layout.MAX_SEATS, np.uint64)
    for seat, hand in enumerate(hands):
        found[2 * seat], found[2 * seat + 1] = hand_words(ruleset, hand)
    return found


def settled(ruleset: Any, hands: Hands, leader: int = 0) -> tuple[int | None, list[int]]:
    """(winner, credit) of a blocked round by both engines, on a set in which nothing fits an end of 9."""
    rules = {"preset": ruleset} if isinstance(ruleset, str) else ruleset
    end = settle_blocked(resolve_ruleset(rules, len(hands)), hands, leader)
    wide = {**rules, "set": 9, "hand": 1}
    (branch,) = walk_compiled(wide, hands, leader, (), (9, 9))
    assert (branch.winner, branch.credit) == (end.winner, end.credit)
    written = [list(map(list, hand)) for hand in hands]
    verdict = judge({"ruleset": wide, "hands": written, "line_ends": [9, 9], "to_move": leader})
    assert isinstance(verdict, dict)
    assert (verdict["winner"], verdict["credit"]) == (end.winner, list(end.credit))
    return end.winner, list(end.credit)


@pytest.mark.parametrize(("highest", "size", "heaviest"), [(6, 28, 12), (9, 55, 18), (12, 91, 24)])
def test_a_larger_set_has_its_own_tiles(highest: int, size: int, heaviest: int) -> None:
    assert len(set(tile_set(highest))) == size
    record = replay_match(lineup(["random"] * 3, ruleset={"set": highest, "ends": {"rounds": 40}}), 0, 0)
    dealt = {tile for played in record.rounds for tile in (*sum(played.deal.hands, ()), *played.deal.stock)}
    assert len(dealt) == size
    assert max(map(sum, dealt)) == heaviest


def test_values_by_number_of_players() -> None:
    value = {"preset": "traditional", "hand": {"2": 6, "3": 4}, "ends": {"target": {"2": 30, "3": 20}}}
    assert [resolve_ruleset(value, players).hand for players in (2, 3)] == [6, 4]
    assert [resolve_ruleset(value, players).ends.target for players in (2, 3)] == [30, 20]
    # 5 to 8 players on a larger set need a hand of their own.
    assert resolve_ruleset({"set": 9, "hand": 7, "ends": {"target": 80}}, 6).players == 6


def test_of_equally_heavy_tiles_the_higher_half_opens() -> None:
    ruleset = resolve_ruleset({"preset": "traditional", "hand": 2}, 3)
    for hands, seat, tile in (
        ([[(0, 6), (0, 1)], [(2, 4), (0, 2)], [(1, 5), (0, 3)]], 0, (0, 6)),
        ([[(1, 5), (0, 1)], [(2, 4), (0, 2)], [(0, 3), (1, 2)]], 0, (1, 5)),
        ([[(2, 4), (5, 6)], [(0, 0), (0, 2)], [(0, 3), (1, 2)]], 1, (0, 0)),
        ([[(2, 2), (5, 6)], [(3, 3), (0, 2)], [(0, 0), (4, 6)]], 1, (3, 3)),
    ):
        assert opening_tile(ruleset, hands) == (seat, tile)
        masks, _ = layout.set_tables(6)
        assert _opening_tile(layout.encode_rules(ruleset), masks, words(ruleset, hands)) == (seat, tile_ids(6)[tile])


@pytest.mark.parametrize("preset", ["block", "traditional"])
def test_the_first_round_alone_is_opened_by_the_rule(preset: str) -> None:
    ruleset = {"preset": preset, "ends": {"rounds": 6}, "opening": "highest_double"}
    forced = followed = 0
    for block in range(20):
        record = replay_match(lineup(["lightest"] * 3, ruleset=ruleset), block, 0)
        for number, played in enumerate(record.rounds):
            opening = played.plies[0].placement
            assert opening is not None
            by_rule = (played.leader, opening.tile) == opening_tile(resolve_ruleset(ruleset, 3), played.deal.hands)
            assert by_rule or number
            forced += by_rule and number == 0
            followed += not by_rule
    assert forced == 20
    assert followed > 50
    by_lot = lineup(["random"] * 3, ruleset={"ends": {"rounds": 1}})
    lots = {replay_match(by_lot, block, 0).rounds[0].leader for block in range(20)}
    assert lots == {0, 1, 2}


EQUAL = [[(1, 4)], [(5, 5)], [(4, 6)], [(0, 1)]]
"""Pips 5, 10, 10, 1."""


@pytest.mark.parametrize(
    ("parameters", "hands", "leader", "winner", "leads"),
    [
        ({"next_leader": "clockwise"}, EQUAL, 1, 3, 2), ({"next_leader": "clockwise"}, EQUAL, 3, None, 0),
        ({"next_leader": "winner"}, EQUAL, 1, 3, 3), ({"next_leader": "winner"}, EQUAL, 1, None, 1),
        ({"next_leader": "loser"}, EQUAL, 0, 3, 1), ({"next_leader": "loser"}, EQUAL, 2, None, 2),
        # Clockwise from the winner, not the lower number.
        ({"next_leader": "loser"}, EQUAL, 0, 1, 2), ({"next_leader": "loser"}, [*EQUAL[:2], [(0, 1)], EQUAL[2]], 0, 2, 3),
        # A partner is no loser; the heavier hand of the other side leads, of equals the first clockwise from the winner.
        ({"next_leader": "loser", "partners": True}, EQUAL, 0, 3, 2),
        ({"next_leader": "loser", "partners": True}, [[(1, 4)], [(6, 6)], [(2, 3)], [(0, 1)]], 1, 3, 0),
        ({"next_leader": "loser", "partners": True}, [[(1, 4)], [(0, 1)], [(2, 3)], [(6, 6)]], 3, 1, 2),
    ],
)  # fmt: skip
def test_who_leads_next(parameters: dict[str, Any], hands: Hands, leader: int, winner: int | None, leads: int) -> None:
    ruleset = resolve_ruleset(parameters, 4)
    end = settle_blocked(ruleset, hands, leader)
    end = type(end)("blocked", winner, end.credit)
    assert next_leader(ruleset, leader, end, hands) == leads
    masks, _ = layout.set_tables(6)
    rules = layout.encode_rules(ruleset)
    assert _next_leader(rules, masks, words(ruleset, hands), leader, -1 if winner is None else winner) == leads


EVEN: Hands = [[(1, 2), (2, 4), (3, 5)], [(5, 5), (3, 4)]]
"""17 pips each; the lightest tiles are 3 and 7."""


@pytest.mark.parametrize(
    ("parameters", "hands", "winner", "credit"),
    [
        ({"blocked_tie": "nobody"}, EVEN, None, [0, 0]),
        # Won for 0 points, which is not the same as won by nobody.
        ({"blocked_tie": "lightest_tile"}, EVEN, 0, [0, 0]),
        ({"blocked_tie": "lightest_tile", "blocked_award": "gross"}, EVEN, 0, [17, 0]),
        ({"blocked_tie": "lightest_tile"}, EVEN[::-1], 1, [0, 0]),
        ({"blocked_tie": "lightest_tile"}, [[(1, 2), (3, 5)], [(0, 3), (2, 6)]], None, [0, 0]),
        ({"blocked_award": "gross"}, [[(1, 2)], [(3, 4)], [(4, 4)]], 0, [15, 0, 0]),
        ({"blocked_award": "net"}, [[(1, 2)], [(3, 4)], [(4, 4)]], 0, [12, 0, 0]),
        # Of three, two tie for the lightest hand.
        ({"blocked_tie": "lightest_tile"}, [[(5, 6)], [(1, 3)], [(0, 1), (1, 2)]], 2, [0, 0, 11]),
    ],
)
def test_ties_of_a_blocked_round(parameters: dict[str, Any], hands: Hands, winner: int | None, credit: list[int]) -> None:
    assert settled(parameters, hands) == (winner, credit)


@pytest.mark.parametrize(
    ("parameters", "hands", "leader", "winner", "credit"),
    [
        ({}, [[(1, 3)], [(4, 5)], [(5, 5), (4, 6)], [(2, 2), (1, 5)]], 0, 0, [15, 0, 15, 0]),
        ({"blocked_award": "gross"}, [[(1, 3)], [(4, 5)], [(5, 5), (4, 6)], [(2, 2), (1, 5)]], 0, 0, [19, 0, 19, 0]),
        # The side's lighter hand by pips, 9 against 10, although the heavier one has the lightest tile.
        ({"partner_count": "side_total"}, [[(1, 3)], [(4, 5)], [(5, 5), (4, 6)], [(2, 2), (1, 5)]], 0, 1, [0, 5, 0, 5]),
        # Two lowest hands on one side are no tie, also where ties are nobody's.
        ({"blocked_tie": "nobody"}, [[(1, 2)], [(5, 5)], [(0, 3)], [(6, 6)]], 1, 2, [19, 0, 19, 0]),
        ({}, [[(1, 2)], [(5, 5)], [(0, 3)], [(6, 6)]], 3, 0, [19, 0, 19, 0]),
        # On both sides they are, and then the lightest tile decides.
        ({"blocked_tie": "nobody"}, [[(1, 3)], [(0, 1), (1, 2)], [(5, 5)], [(6, 6)]], 0, None, [0, 0, 0, 0]),
        ({}, [[(1, 3)], [(0, 1), (1, 2)], [(5, 5)], [(6, 6)]], 0, 1, [0, 10, 0, 10]),
        # Pooled: 11 against 11, lightest tiles 1 against 2; the seat is the lighter hand.
        ({"partner_count": "side_total"}, [[(4, 6)], [(0, 2)], [(0, 1)], [(4, 5)]], 0, 2, [0, 0, 0, 0]),
        ({"partner_count": "side_total", "blocked_tie": "nobody"}, [[(4, 6)], [(0, 2)], [(0, 1)], [(4, 5)]], 0, None, [0] * 4),
        # Equal in everything: clockwise from the leader.
        ({"partner_count": "side_total"}, [[(1, 2)], [(5, 5)], [(0, 3)], [(6, 6)]], 1, 2, [16, 0, 16, 0]),
        ({"partner_count": "side_total"}, [[(1, 2)], [(5, 5)], [(0, 3)], [(6, 6)]], 2, 2, [16, 0, 16, 0]),
        ({"partner_count": "side_total"}, [[(1, 2)], [(5, 5)], [(0, 3)], [(6, 6)]], 3, 0, [16, 0, 16, 0]),
    ],
)  # fmt: skip
def test_sides_of_a_blocked_round(
    parameters: dict[str, Any], hands: Hands, leader: int, winner: int | None, credit: list[int]
) -> None:
    assert settled({**SIDES, **parameters}, hands, leader) == (winner, credit)


def test_going_out_for_a_side() -> None:
    hands = [[(2, 5)], [(3, 3)], [(6, 6)], [(0, 1)]]
    verdict = judge(
        {"ruleset": SIDES, "hands": [list(map(list, hand)) for hand in hands], "line_ends": [5, 4], "to_move": 0,
         "action": [[2, 5], 5]}
    )  # fmt: skip
    assert isinstance(verdict, dict)
    # The partner's 12 pips earn nothing.
    assert (verdict["winner"], verdict["winner_side"], verdict["credit"]) == (0, 0, [7, 0, 7, 0])
    branch = next(iter(walk_compiled(SIDES, hands, 0, (), (5, 4))))
    assert (branch.winner, branch.credit) == (0, (7, 0, 7, 0))


@pytest.mark.parametrize(
    ("ends", "scores", "rounds", "winners"),
    [
        ({"target": 50, "at": "reach"}, [49, 0], 3, None), ({"target": 50, "at": "reach"}, [50, 0], 3, (0,)),
        ({"target": 50, "at": "exceed"}, [50, 0], 3, None), ({"target": 50, "at": "exceed"}, [0, 51], 3, (1,)),
        ({"rounds": 5}, [500, 0], 4, None), ({"rounds": 5}, [3, 4], 5, (1,)), ({"rounds": 5}, [4, 4], 5, (0, 1)),
        ({"rounds": 1}, [0, 0], 1, (0, 1)), ({"rounds": 10_000}, [9, 0], 9_999, None),
        ({"rounds": 10_000}, [9, 0], 10_000, (0,)),
    ],
)  # fmt: skip
def test_when_a_match_is_over(ends: dict[str, Any], scores: list[int], rounds: int, winners: tuple[int, ...] | None) -> None:
    ruleset = resolve_ruleset({"ends": ends}, 2)
    assert match_winners(ruleset, scores, rounds) == winners
    over, mask = _match_winners(layout.encode_rules(ruleset), np.array(scores, np.int32), rounds)
    assert (tuple(seat for seat in range(2) if mask >> seat & 1) if over else None) == winners


@pytest.mark.parametrize(
    ("drawing", "stock", "drawn", "placed"),
    [
        ({"limit": None, "reserve": 2}, [(0, 0), (1, 1), (2, 2)], 1, None),
        ({"limit": None, "reserve": 0}, [(0, 0), (1, 1), (2, 2)], 3, None),
        ({"limit": None, "reserve": 5}, [(0, 0), (1, 1), (2, 2)], 0, None),
        ({"limit": 2, "reserve": 0}, [(0, 0), (1, 1), (2, 6)], 2, None),
        ({"limit": 3, "reserve": 0}, [(0, 0), (1, 1), (2, 6), (0, 6)], 3, {((2, 6), 6)}),
        # The drawn tile fits both ends, and which one is a choice.
        ({"limit": None, "reserve": 2}, [(5, 6), (0, 0), (1, 1)], 1, {((5, 6), 5), ((5, 6), 6)}),
    ],
)  # fmt: skip
def test_draws_of_a_turn(drawing: dict[str, Any], stock: list[Tile], drawn: int, placed: set[Any] | None) -> None:
    rules = {"preset": "draw", "draw": drawing}
    hands: Hands = [[(3, 4), (2, 4)], [(3, 5), (1, 5)]]
    state = Round(resolve_ruleset(rules, 2), [list(hand) for hand in hands], 0, list(stock), line_ends=(5, 6))
    legal, taken = state.draw_until_playable()
    assert list(taken) == stock[:drawn]
    assert set(legal) == (placed or set())
    firsts = [branch.plies[0] for branch in walk_compiled(rules, hands, 0, stock, (5, 6))]
    assert {first[2] for first in firsts} == {drawn}
    assert {first[3:] for first in firsts} == (placed or {(None, None)})
    # Who can play does not draw.
    seat_1 = [branch.plies[0] for branch in walk_compiled(rules, hands, 1, stock, (5, 6))]
    assert {first[2] for first in seat_1} == {0}


def test_a_limit_ends_no_round_while_tiles_can_be_drawn() -> None:
    rules = {"preset": "draw", "draw": {"limit": 1, "reserve": 2}}
    hands = [[(1, 1)], [(2, 2)]]
    stock = [(3, 3), (4, 4), (0, 0), (0, 3), (0, 1), (0, 2)]
    (branch,) = walk_compiled(rules, hands, 0, stock, (5, 6))
    assert [ply[2] for ply in branch.plies] == [1, 1, 1, 1]
    assert branch.blocked
    state = Round(resolve_ruleset(rules, 2), [list(hand) for hand in hands], 0, list(stock), line_ends=(5, 6))
    for _ in range(4):
        assert state.end is None
        state.take_turn(lambda view: view.legal[0])
    assert state.end is not None
    assert len(state.stock) == 2


def test_what_drawing_tells() -> None:
    rules = resolve_ruleset({"preset": "draw", "draw": {"limit": None, "reserve": 0}}, 2)
    known = [frozenset({0}), frozenset[int]()]
    # A tile that stays in the hand may have what the old hand lacked: only the ends of this moment are known.
    state = Round(rules, [[(1, 1)], [(2, 2)]], 0, [(0, 3), (1, 5)], line_ends=(5, 6), lacks=list(known))
    state.take_turn(lambda view: view.legal[0])
    assert state.lacks[0] == {5, 6}
    # Where the first drawn tile fits it is placed, and the old hand is the whole hand.
    state = Round(rules, [[(1, 1)], [(2, 2)]], 0, [(1, 5), (0, 3)], line_ends=(5, 6), lacks=list(known))
    state.take_turn(lambda view: view.legal[0])
    assert state.lacks[0] == {0, 5, 6}


def test_five_to_eight_players_take_turns_in_their_order() -> None:
    for players in (5, 6, 7, 8):
        rows = play_blocks(lineup(["random"] * players, ruleset={"set": 12, "hand": 4, "ends": {"rounds": 2}}), 0, 20)
        assert rows.scores.shape == (20 * players, players)
        record = replay_match(lineup(["random"] * players, ruleset={"set": 12, "hand": 4, "ends": {"rounds": 2}}), 0, 0)
        seats = [ply.seat for ply in record.rounds[0].plies]
        assert all(after == (before + 1) % players for before, after in itertools.pairwise(seats))
