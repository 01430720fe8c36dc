"""The cases worked by hand, in both engines, and what the judge refuses."""

from typing import Any

import numba
import numpy as np
import pytest

from tests.workers.engine.engines import golden, tile_of, walk_compiled
from workers.engine.documents import Reader
from workers.engine.positions import judge
from workers.engine.reference import Placement, Round, match_winners, next_leader, opening_tile, settle_blocked, settle_out
from workers.engine.rules import Ruleset, resolve_ruleset
from workers.engine.scalar import layout, settle
from workers.engine.tiles import hand_pips, is_double, pips, set_size, tile_set
from workers.errors import InvalidInput

CASES = {case["id"]: case for case in golden("rounds")["cases"]}
FIELDS = ("ruleset", "players", "hands", "line_ends", "to_move", "action", "stock", "first_round")
SETTLED = [name for name, case in CASES.items() if case.get("extra", {}).get("settle_only")]
POSITIONS = [name for name, case in CASES.items() if case["hands"] is not None and name not in SETTLED]
VARIANTS = [
    ("lightest-tile-breaks-tie", {"preset": "traditional", "blocked_award": "gross"}, "with blocked_award gross"),
    (
        "partners-blocked-count", {"preset": "traditional", "partners": True, "partner_count": "side_total"},
        "with partner_count side_total",
    ),
]  # fmt: skip


def position(name: str) -> dict[str, Any]:
    """A case as the judge reads it."""
    return {field: CASES[name][field] for field in FIELDS if field in CASES[name]}


def judged(document: object) -> dict[str, Any]:
    """The verdict on one position."""
    verdict = judge(document)
    assert isinstance(verdict, dict)
    return verdict


def driven(document: dict[str, Any]) -> dict[str, Any]:
    """What the kernel makes of a position: its first branch, up to the first choice or placement after the action."""
    ends = document["line_ends"]
    action = document["action"]
    branches = walk_compiled(
        document["ruleset"], document["hands"], document["to_move"], document.get("stock", ()),
        None if ends is None else tuple(ends),
    )  # fmt: skip
    for branch in branches:
        plies = branch.plies
        if action is not None:
            first, *plies = plies
            if first[3] != tile_of(action[0]) or first[4] != action[1]:
                continue
        passes = []
        drawn = [0] * document["players"]
        for _, seat, count, tile, _ in plies:
            drawn[seat] += count
            if tile is not None:
                return {"round_over": False, "passes": passes, "to_move": seat, "drawn": drawn}
            passes.append(seat)
        return {
            "round_over": True, "passes": passes, "reason": "blocked" if branch.blocked else "out", "winner": branch.winner,
            "credit": list(branch.credit), "drawn": drawn,
        }  # fmt: skip
    raise AssertionError("the kernel does not know the action")


@pytest.mark.parametrize("name", POSITIONS)
def test_the_judge_rules_as_worked_by_hand(name: str) -> None:
    verdict = judged(position(name))
    expected = CASES[name]["expected"]
    assert {field: verdict[field] for field in expected} == expected


@pytest.mark.parametrize("name", [name for name in POSITIONS if not CASES[name].get("first_round")])
def test_the_kernel_rules_as_worked_by_hand(name: str) -> None:
    expected = {field: value for field, value in CASES[name]["expected"].items() if field not in UNSEEN}
    found = driven(position(name))
    assert {field: found[field] for field in expected} == expected


UNSEEN = ("legal", "line_ends", "stock_left", "winner_side")
"""What a trace of the kernel does not say; `legal` has a test of its own."""


@pytest.mark.parametrize("name", [name for name in POSITIONS if "legal" in CASES[name]["expected"]])
def test_the_kernel_knows_the_same_placements(name: str) -> None:
    if CASES[name].get("first_round"):
        ruleset = resolve_ruleset(CASES[name]["ruleset"], CASES[name]["players"])
        expected = opening_tile(ruleset, [[tile_of(tile) for tile in hand] for hand in CASES[name]["hands"]])
        assert CASES[name]["expected"] == {"to_move": expected[0], "legal": [[list(expected[1]), None]]}
        return
    first_placements = set()
    document = position(name)
    ends = document["line_ends"]
    for branch in walk_compiled("block", document["hands"], document["to_move"], (), tuple(ends) if ends else None):
        first_placements.add(next(ply[3:] for ply in branch.plies if ply[3] is not None))
    assert first_placements == {(tile_of(tile), end) for tile, end in CASES[name]["expected"]["legal"]}


@pytest.mark.parametrize(("name", "ruleset", "variant"), VARIANTS)
def test_the_same_positions_under_other_rules(name: str, ruleset: dict[str, Any], variant: str) -> None:
    document = {**position(name), "ruleset": ruleset}
    expected = CASES[name]["extra"][variant]
    verdict = judged(document)
    assert {field: verdict[field] for field in expected} == expected
    found = driven(document)
    assert found["credit"] == expected["credit"]


@pytest.mark.parametrize("award", ["net", "gross"])
@pytest.mark.parametrize("name", SETTLED)
def test_hands_settled_alone(name: str, award: str) -> None:
    case = CASES[name]
    hands = [[tile_of(tile) for tile in hand] for hand in case["hands"]]
    ruleset = {"preset": "traditional", "blocked_award": award}
    credit = case["expected"]["credit" if award == "net" else "credit_gross"]
    end = settle_blocked(resolve_ruleset(ruleset, 2), hands, 0)
    assert (end.winner, list(end.credit)) == (case["expected"]["winner"], credit)
    # On a larger set a line can show a value that no hand has.
    (branch,) = walk_compiled({**ruleset, "set": 9}, hands, 0, (), (9, 9))
    assert (branch.winner, list(branch.credit)) == (case["expected"]["winner"], credit)


def test_the_set_is_as_worked_by_hand() -> None:
    expected = CASES["set-has-28-unique-tiles"]["expected"]
    tiles = tile_set(6)
    assert len(set(tiles)) == len(tiles) == set_size(6) == expected["tiles"]
    assert hand_pips(tiles) == expected["total_pips"]
    assert tiles.count((0, 0)) == expected["count_double_blank"]
    for value in range(7):
        assert sum(tile.count(value) for tile in tiles) == expected["each_value_on_halves"]
    masks, figures = layout.set_tables(6)
    assert int(masks[layout.ALL]).bit_count() == expected["tiles"]
    assert figures[layout.PIPS : layout.PIPS + 28].sum() == expected["total_pips"]
    for value in range(7):
        doubles = int(masks[layout.SUITS + 2 * value] & masks[layout.DOUBLES]).bit_count()
        assert int(masks[layout.SUITS + 2 * value]).bit_count() + doubles == expected["each_value_on_halves"]


def test_deals_and_targets_are_as_worked_by_hand() -> None:
    expected = CASES["deal-counts"]["expected"]
    for players in (2, 3, 4):
        ruleset = resolve_ruleset("block", players)
        assert ruleset.hand == expected["per_player"][str(players)]
        assert set_size(6) - players * ruleset.hand == expected["left_out"][str(players)]
        assert ruleset.ends.target == expected["target"][str(players)]


@numba.njit
def _next_leader(rules: Any, tile_sets: Any, hands: Any, leader: int, winner: int) -> Any:
    return settle.next_leader(rules, tile_sets, hands, leader, winner)


@numba.njit
def _match_winners(rules: Any, scores: Any, rounds: int) -> Any:
    return settle.match_winners(rules, scores, rounds)


def compiled_winners(ruleset: Ruleset, scores: list[int]) -> tuple[int, ...] | None:
    """`reference.match_winners` by the kernel."""
    over, mask = _match_winners(layout.encode_rules(ruleset), np.array(scores, np.int32), 1)
    return tuple(seat for seat in range(ruleset.players) if mask >> seat & 1) if over else None


def test_the_lead_moves_on_whoever_won() -> None:
    case = CASES["lead-rotates-after-win"]
    ruleset = resolve_ruleset("block", 4)
    hands = [[(1, 2)], [(0, 3)], [(5, 5)], []]
    end = settle_out(ruleset, hands, 3)
    leader = case["extra"]["previous_leader"]
    assert next_leader(ruleset, leader, end, hands) == case["expected"]["next_leader"]
    none = np.zeros(16, np.uint64)
    masks, _ = layout.set_tables(6)
    assert _next_leader(layout.encode_rules(ruleset), masks, none, leader, 3) == case["expected"]["next_leader"]


@pytest.mark.parametrize("winners", [lambda ruleset, scores: match_winners(ruleset, scores, 1), compiled_winners])
def test_the_target_is_looked_at_after_a_whole_award(winners: Any) -> None:
    case = CASES["target-checked-after-full-award"]
    scores = [a + b for a, b in zip(case["extra"]["scores_before"], case["extra"]["award"], strict=True)]
    block = resolve_ruleset("block", 2)
    assert scores == case["expected"]["scores"]
    assert winners(block, scores) == (case["expected"]["winner"],)
    assert winners(block, case["extra"]["scores_before"]) is None
    assert winners(block, [100, 0]) == (0,)
    assert winners(resolve_ruleset("traditional", 2), [100, 0]) is None
    assert winners(resolve_ruleset("traditional", 2), [101, 0]) == (0,)
    tie = CASES["qualifying-tie-is-a-draw"]
    shared = winners(resolve_ruleset("block", 3), tie["extra"]["scores_final"])
    assert list(shared) == tie["expected"]["draw_between"]


def test_a_list_gives_a_list_and_names_the_item_that_is_wrong() -> None:
    documents = [position(name) for name in POSITIONS]
    assert judge(documents) == [judged(document) for document in documents]
    with pytest.raises(InvalidInput) as refusal:
        judge([documents[0], {**documents[1], "to_move": 9}])
    assert [error.path for error in refusal.value.errors] == ["[1].to_move"]
    with pytest.raises(InvalidInput, match="at most 3 positions"):
        judge(documents, max_positions=3)


def test_tiles_are_read_either_way_and_printed_low_first() -> None:
    verdict = judged({"players": 2, "hands": [[[5, 2], [1, 0]], [[3, 3]]], "line_ends": [2, 0], "to_move": 0})
    assert verdict["legal"] == [[[2, 5], 2], [[0, 1], 0]]


def test_an_action_is_applied_before_forced_passes() -> None:
    document = {
        "players": 3, "hands": [[[2, 5], [1, 1]], [[0, 0]], [[3, 3]]], "line_ends": [5, 3], "to_move": 0,
        "action": [[5, 2], 5],
    }  # fmt: skip
    verdict = judged(document)
    assert (verdict["line_ends"], verdict["passes"], verdict["to_move"]) == ([2, 3], [1], 2)
    assert verdict["legal"] == [[[3, 3], 3]]
    assert verdict["credit"] == [0, 0, 0]


def test_one_empty_hand_is_out() -> None:
    verdict = judged({"players": 2, "hands": [[], [[3, 4]]], "line_ends": [1, 1], "to_move": 1})
    assert (verdict["round_over"], verdict["reason"], verdict["winner"]) == (True, "out", 0)
    assert (verdict["credit"], verdict["legal"], verdict["to_move"]) == ([7, 0], [], None)


def test_passes_that_were_made_before_count() -> None:
    document = {"players": 3, "hands": [[[1, 1]], [[2, 2]], [[3, 3]]], "line_ends": [0, 0], "to_move": 2, "passes_in_a_row": 2}
    verdict = judged(document)
    assert (verdict["passes"], verdict["winner"], verdict["credit"]) == ([2], 0, [8, 0, 0])


def test_a_drawn_tile_that_fits_must_be_placed() -> None:
    document = {
        "ruleset": "draw", "players": 2, "hands": [[[1, 1]], [[5, 6]]], "line_ends": [5, 6], "to_move": 0,
        "stock": [[2, 2], [0, 5], [3, 3], [4, 4]],
    }  # fmt: skip
    verdict = judged(document)
    assert (verdict["drawn"], verdict["stock_left"], verdict["to_move"]) == ([2, 0], 2, 0)
    assert verdict["legal"] == [[[0, 5], 5]]


def test_a_drawing_round_goes_on_after_everyone_passed_while_tiles_can_be_drawn() -> None:
    document = {
        "ruleset": {"preset": "draw", "draw": {"limit": 1}}, "players": 2, "hands": [[[1, 1]], [[2, 2]]], "line_ends": [5, 6],
        "to_move": 0, "stock": [[3, 3], [4, 4], [0, 0], [0, 5], [0, 1], [0, 2]],
    }  # fmt: skip
    verdict = judged(document)
    assert verdict["passes"] == [0, 1, 0]
    assert (verdict["drawn"], verdict["stock_left"], verdict["to_move"]) == ([2, 2], 2, 1)
    assert verdict["legal"] == [[[0, 5], 5]]


def test_the_first_round_is_opened_by_the_rule() -> None:
    document = {
        "ruleset": "traditional", "players": 2, "hands": [[[0, 1], [5, 5]], [[6, 6], [1, 2]]], "line_ends": None,
        "to_move": None, "first_round": True,
    }  # fmt: skip
    verdict = judged(document)
    assert (verdict["to_move"], verdict["legal"]) == (1, [[[6, 6], None]])
    after = judged({**document, "action": [[6, 6], None]})
    assert (after["line_ends"], after["passes"], after["to_move"]) == ([6, 6], [0, 1], None)
    with pytest.raises(InvalidInput, match=r"the opening must be \[6\|6\]"):
        judge({**document, "action": [[1, 2], None]})


GOOD = {"ruleset": "block", "players": 2, "hands": [[[2, 5], [1, 1]], [[0, 0]]], "line_ends": [5, 3], "to_move": 0}


@pytest.mark.parametrize(
    ("change", "path", "reason"),
    [
        ({"hands": [[[2, 5], [5, 2]], [[0, 0]]]}, "hands[0][1]", "a set has it once"),
        ({"hands": [[[2, 5]], [[2, 5]]]}, "hands[1][0]", "already at hands[0][0]"),
        ({"hands": [[[2, 7]], [[0, 0]]]}, "hands[0][0]", "not in the set"),
        ({"hands": [[[2, -1]], [[0, 0]]]}, "hands[0][0]", "not in the set"),
        ({"hands": [[[2, 5, 1]], [[0, 0]]]}, "hands[0][0]", "must be a tile"),
        ({"hands": [[[True, 5]], [[0, 0]]]}, "hands[0][0]", "must be a tile"),
        ({"hands": [[], []]}, "hands", "both out"),
        ({"hands": [[[2, 5]]]}, "hands", "2 hands"),
        ({"hands": None}, "hands", "2 hands"),
        ({"line_ends": [5, 9]}, "line_ends", "two values from 0 to 6"),
        ({"line_ends": [5]}, "line_ends", "two values"),
        ({"to_move": 2}, "to_move", "from 0 to 1"),
        ({"to_move": None}, "to_move", "from 0 to 1"),
        ({"to_move": True}, "to_move", "from 0 to 1"),
        ({"action": [[2, 5], 3]}, "action", "does not match an end of 3"),
        ({"action": [[2, 5], 2]}, "action", "not at 2"),
        ({"action": [[2, 5], None]}, "action", "only an opening may give null: the line is open at"),
        ({"action": [[0, 0], 5]}, "action", "does not hold"),
        ({"action": [[1, 1], 5]}, "action", "does not match"),
        ({"action": [[2, 5], "5"]}, "action[1]", "must be the value of an end"),
        ({"action": [2, 5, 5]}, "action", "must be a tile and the end"),
        ({"action": [[2, 5], 5], "line_ends": None}, "action", "opening"),
        ({"hands": [[], [[0, 0]]], "action": [[2, 5], 5]}, "action", "the round is over"),
        ({"passes_in_a_row": 2}, "passes_in_a_row", "less than 2"),
        ({"passes_in_a_row": 2, "ruleset": "draw", "stock": [[2, 2], [4, 4]]}, "passes_in_a_row", "where nothing can be drawn"),
        ({"passes_in_a_row": -1}, "passes_in_a_row", "whole number"),
        ({"passes_in_a_row": 1, "line_ends": None}, "passes_in_a_row", "before the opening"),
        ({"stock": [[2, 5]]}, "stock[0]", "already at hands[0][0]"),
        ({"stock": 7}, "stock", "list of tiles"),
        ({"first_round": 1}, "first_round", "true or false"),
        ({"players": 1}, "players", "from 2 to 8"),
        ({"players": 2.0}, "players", "from 2 to 8"),
        ({"ruleset": {"preset": "block", "hand": 0}}, "ruleset.hand", "whole number"),
        ({"whose_turn": 1}, "whose_turn", "unknown field"),
    ],
)
def test_impossible_positions_are_refused_by_name(change: dict[str, Any], path: str, reason: str) -> None:
    with pytest.raises(InvalidInput) as refusal:
        judge({**GOOD, **change})
    assert path in [error.path for error in refusal.value.errors]
    assert reason in str(refusal.value)


def test_passes_beyond_a_round_of_the_table_may_stand_where_a_tile_can_be_drawn() -> None:
    tiles = {"ruleset": "draw", "hands": [[[1, 1]], [[0, 0]]], "stock": [[2, 2], [4, 4], [6, 6]], "passes_in_a_row": 2}
    verdict = judge({**GOOD, **tiles})
    assert isinstance(verdict, dict)
    assert (verdict["reason"], verdict["passes"], verdict["drawn"]) == ("blocked", [0], [1, 0])


@pytest.mark.parametrize("document", [7, None, "position", [3]])
def test_what_is_no_document_is_refused(document: object) -> None:
    with pytest.raises(InvalidInput, match="must be an object"):
        judge(document)


def test_every_mistake_is_named_at_once() -> None:
    with pytest.raises(InvalidInput) as refusal:
        judge({**GOOD, "hands": [[[9, 9]], [[0, 0], [0, 0]]], "line_ends": 3, "extra": 1})
    assert sorted(error.path for error in refusal.value.errors) == ["extra", "hands[0][0]", "hands[1][1]", "line_ends"]


def test_worked_figures_of_going_out() -> None:
    def credit(*others: list[list[int]]) -> int:
        hands = [[[2, 5]], *others]
        document = {"players": len(hands), "hands": hands, "line_ends": [5, 6], "to_move": 0, "action": [[2, 5], 5]}
        return int(judged(document)["credit"][0])

    assert credit([[0, 0]], [[4, 4]]) == 8
    assert credit([[2, 3]], [[1, 4]]) == 10
    assert credit([[2, 3], [0, 4]]) == 9
    assert pips((6, 6)) == 12
    assert is_double((0, 0))


def test_the_reader_keeps_one_place_for_each_tile() -> None:
    reader = Reader({"hands": [], "stock": []}, ("hands", "stock"))
    ruleset = resolve_ruleset("block", 2)
    assert reader.tiles([[3, 1], [1, 3]], "hands[0]", ruleset) == [(1, 3), (1, 3)]
    assert [error.path for error in reader.errors] == ["hands[0][1]"]


def test_a_partner_tie_is_settled_clockwise_from_the_leader() -> None:
    ruleset = resolve_ruleset({"preset": "traditional", "partners": True}, 4)
    hands = [[(1, 2)], [(5, 5)], [(0, 3)], [(6, 6)]]
    assert settle_blocked(ruleset, hands, 1).winner == 2
    assert settle_blocked(ruleset, hands, 3).winner == 0
    for leader, winner in ((1, 2), (3, 0)):
        rules = {"preset": "traditional", "partners": True, "set": 9}
        (branch,) = walk_compiled(rules, hands, leader, (), (9, 9))
        assert (branch.winner, branch.credit) == (winner, (19, 0, 19, 0))
    state = Round(ruleset, [list(hand) for hand in hands], 1)
    assert state.legal() == [Placement((5, 5), None)]
