"""Whole trees of deals: counted by the literal rules and walked branch by branch through the kernel."""

from collections import Counter
from fractions import Fraction
from typing import Any

import pytest

from tests.workers.engine.engines import Branch, golden, tile_of, walk_compiled
from workers.engine.perft import perft
from workers.engine.reference import LineEnds, Placement, Round, ends_after, placements
from workers.engine.rules import resolve_ruleset
from workers.engine.tiles import Tile
from workers.errors import InvalidInput

TREES = golden("game_trees")["trees"]
DEALS = [deal for kind in golden("facts")["exact_deals"].values() for deal in kind]
BY_PLACEMENT = [deal for deal in DEALS if deal["rule"] == "placement"]
BY_TILE = [deal for deal in DEALS if deal["rule"] == "tile"]
DRAWN = {
    "ruleset": "draw", "players": 2, "hands": [[[1, 1], [2, 2]], [[5, 6], [0, 3]]], "leader": 0,
    "stock": [[3, 3], [1, 5], [2, 6], [0, 0], [4, 4]],
}  # fmt: skip


def weighed(branches: list[Branch], players: int) -> dict[str, Any]:
    """What a tree comes to."""
    seats = range(players)
    return {
        "complete_rounds": len(branches),
        "by_placements": dict(Counter(str(branch.placements) for branch in branches)),
        "p_win": [str(sum(branch.chance for branch in branches if branch.winner == seat)) for seat in seats],
        "p_tie": str(sum(branch.chance for branch in branches if branch.winner is None)),
        "p_blocked": str(sum(branch.chance for branch in branches if branch.blocked)),
        "e_placements": str(sum(branch.chance * branch.placements for branch in branches)),
        "e_passes": str(sum(branch.chance * branch.passes for branch in branches)),
        "e_award": [str(sum(branch.chance * branch.credit[seat] for branch in branches)) for seat in seats],
    }


@pytest.mark.parametrize("tree", TREES, ids=lambda tree: str(tree["complete_rounds"]))
def test_the_literal_rules_count_known_trees(tree: dict[str, Any]) -> None:
    found = perft({"ruleset": "block", "players": 2, "hands": tree["hands"], "leader": tree["leader"]})
    assert isinstance(found, dict)
    assert found["complete_rounds"] == tree["complete_rounds"]
    assert found["by_placements"] == tree["by_placements"]
    assert found["p_win"][tree["leader"]] == tree["p_leader_frac"]
    assert float(Fraction(found["p_tie"])) == pytest.approx(tree["p_tie"], rel=1e-12)
    assert float(Fraction(found["p_blocked"])) == pytest.approx(tree["p_blocked"], rel=1e-12)


@pytest.mark.parametrize("tree", TREES, ids=lambda tree: str(tree["complete_rounds"]))
def test_every_branch_of_known_trees_is_driven_through_the_kernel(tree: dict[str, Any]) -> None:
    found = weighed(list(walk_compiled("block", tree["hands"], tree["leader"])), 2)
    literal = perft({"ruleset": "block", "players": 2, "hands": tree["hands"], "leader": tree["leader"]})
    assert isinstance(literal, dict)
    assert {name: found[name] for name in literal} == literal
    assert found["by_placements"] == tree["by_placements"]
    assert found["p_win"][tree["leader"]] == tree["p_leader_frac"]


@pytest.mark.parametrize("deal", BY_PLACEMENT, ids=lambda deal: f"{len(deal['hands'])} players")
def test_exact_deals_under_uniform_placements_in_both_engines(deal: dict[str, Any]) -> None:
    players = len(deal["hands"])
    literal = perft({"ruleset": "block", "players": players, "hands": deal["hands"], "leader": deal["leader"]})
    assert isinstance(literal, dict)
    assert (literal["p_win"], literal["p_tie"], literal["p_blocked"]) == (deal["P_win"], deal["P_tie"], deal["P_blocked"])
    found = weighed(list(walk_compiled("block", deal["hands"], deal["leader"])), players)
    assert {name: found[name] for name in literal} == literal
    assert (found["e_placements"], found["e_passes"]) == (deal["E_placements"], deal["E_passes"])
    assert found["e_award"] == deal["E_award_exact"]


class ByTile:
    """How likely branches are when a tile is chosen first, then an end: legal placements by the literal rules."""

    def __init__(self, deal: dict[str, Any]) -> None:
        hands = tuple(tuple(map(tile_of, hand)) for hand in deal["hands"])
        self._begun: dict[tuple[Any, ...], tuple[Fraction, LineEnds | None, tuple[tuple[Tile, ...], ...]]] = {
            (): (Fraction(1), None, hands)
        }

    def chance(self, branch: Branch) -> Fraction:
        """The chance of the whole branch; branches that begin alike share the work."""
        return self._after(tuple((seat, tile, end) for _, seat, _, tile, end in branch.plies if tile is not None))[0]

    def _after(self, plies: tuple[Any, ...]) -> tuple[Fraction, LineEnds | None, tuple[tuple[Tile, ...], ...]]:
        if plies not in self._begun:
            chance, ends, hands = self._after(plies[:-1])
            seat, tile, end = plies[-1]
            legal = placements(hands[seat], ends)
            chance /= len({each.tile for each in legal}) * sum(each.tile == tile for each in legal)
            left = tuple(
                tuple(held for held in hand if (holder, held) != (seat, tile)) for holder, hand in enumerate(hands)
            )
            self._begun[plies] = chance, ends_after(ends, Placement(tile, end)), left
        return self._begun[plies]


@pytest.mark.parametrize("deal", BY_TILE, ids=lambda deal: f"{len(deal['hands'])} players")
def test_exact_deals_under_uniform_tiles(deal: dict[str, Any]) -> None:
    by_tile = ByTile(deal)
    branches = [
        Branch(branch.ruleset, branch.trace, by_tile.chance(branch), branch.blocked, branch.winner, branch.credit)
        for branch in walk_compiled("block", deal["hands"], deal["leader"])
    ]
    found = weighed(branches, len(deal["hands"]))
    assert (found["p_win"], found["p_tie"], found["p_blocked"]) == (deal["P_win"], deal["P_tie"], deal["P_blocked"])
    assert found["e_award"] == deal["E_award_exact"]


def test_a_wrong_rule_would_be_seen() -> None:
    # The hand of one seat is changed by one tile: no figure of the tree stays as it was.
    tree = TREES[0]
    hands = [[[6, 6], *tree["hands"][0][1:]], tree["hands"][1]]
    found = weighed(list(walk_compiled("block", hands, tree["leader"])), 2)
    assert found["complete_rounds"] != tree["complete_rounds"]
    assert found["p_win"][tree["leader"]] != tree["p_leader_frac"]


def test_drawing_is_part_of_the_tree_in_both_engines() -> None:
    literal = perft(DRAWN)
    assert isinstance(literal, dict)
    found = weighed(list(walk_compiled("draw", DRAWN["hands"], 0, DRAWN["stock"])), 2)  # type: ignore[arg-type]
    assert {name: found[name] for name in literal} == literal
    no_stock = perft({**DRAWN, "stock": []})
    assert isinstance(no_stock, dict)
    assert no_stock != literal


def test_each_branch_ends_as_the_literal_rules_say() -> None:
    tree = min(TREES, key=lambda tree: tree["complete_rounds"])
    ruleset = resolve_ruleset("block", 2)
    for branch in walk_compiled("block", tree["hands"], tree["leader"]):
        state = Round(ruleset, [list(map(tile_of, hand)) for hand in tree["hands"]], tree["leader"])
        for _, seat, _, tile, end in branch.plies:
            assert state.to_move == seat
            chosen = None if tile is None else Placement(tile, end)
            ply = state.take_turn(lambda _view, chosen=chosen: chosen)  # type: ignore[misc]
            assert (ply.placement.tile if ply.placement else None) == tile
        assert state.end is not None
        assert (state.end.reason == "blocked", state.end.winner, state.end.credit) == (
            branch.blocked, branch.winner, branch.credit,
        )  # fmt: skip


def test_a_list_gives_a_list_and_the_bound_counts_all_of_it() -> None:
    tree = {"ruleset": "block", "players": 2, "hands": TREES[0]["hands"], "leader": 0}
    tiny = {"hands": [[[0, 0]], [[1, 1]]], "leader": 0}
    found = perft([tree, tiny])
    assert isinstance(found, list)
    assert [one["complete_rounds"] for one in found] == [2635, 1]
    assert found[1]["p_win"] == ["1", "0"]
    with pytest.raises(InvalidInput, match="more than 500 positions"):
        perft([tree, tree], max_nodes=500)


@pytest.mark.parametrize(
    ("change", "path"),
    [
        ({"leader": 2}, "leader"),
        ({"leader": None}, "leader"),
        ({"hands": [[[0, 0]], []]}, "hands[1]"),
        ({"hands": [[[0, 0]], [[0, 0]]]}, "hands[1][0]"),
        ({"hands": [[[0, 7]], [[1, 1]]]}, "hands[0][0]"),
        ({"players": 3}, "hands"),
        ({"ruleset": "bloc"}, "ruleset.preset"),
        ({"depth": 3}, "depth"),
        ({"stock": [[1, 1]]}, "stock[0]"),
    ],
)
def test_refusals_name_the_field(change: dict[str, Any], path: str) -> None:
    with pytest.raises(InvalidInput) as refusal:
        perft({"ruleset": "block", "players": 2, "hands": [[[0, 0]], [[1, 1]]], "leader": 0, **change})
    assert path in [error.path for error in refusal.value.errors]
