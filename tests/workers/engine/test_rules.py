"""Rulesets: what the presets say, what may be overridden, and what is refused by name."""

from typing import Any

import pytest
from hypothesis import given

from tests.workers.engine import strategies
from workers.engine.explained import describe_rulesets
from workers.engine.reference import settle_blocked
from workers.engine.rules import PARAMETERS, PRESETS, Draw, Ends, resolve_ruleset
from workers.errors import InvalidInput


@pytest.mark.parametrize(("players", "hand", "target"), [(2, 7, 100), (3, 5, 61), (4, 5, 61)])
def test_block_is_the_individual_game(players: int, hand: int, target: int) -> None:
    ruleset = resolve_ruleset("block", players)
    assert (ruleset.hand, ruleset.ends, ruleset.draw) == (hand, Ends(target, "reach", None), None)
    assert (ruleset.opening, ruleset.next_leader, ruleset.blocked_tie) == ("lot", "clockwise", "nobody")
    assert ruleset.label == "block"
    assert resolve_ruleset({}, players) == ruleset


def test_traditional_and_draw_differ_as_the_article_says() -> None:
    traditional, draw = resolve_ruleset("traditional", 3), resolve_ruleset("draw", 3)
    assert (traditional.opening, traditional.next_leader, traditional.blocked_tie) == (
        "highest_double", "loser", "lightest_tile",
    )  # fmt: skip
    assert traditional.ends == Ends(100, "exceed", None)
    assert (traditional.draw, draw.draw) == (None, Draw(None, 2))


def test_overrides_are_marked_and_fill_up_from_the_preset() -> None:
    ruleset = resolve_ruleset({"preset": "block", "ends": {"target": 50}}, 2)
    assert ruleset.ends == Ends(50, "reach", None)
    assert ruleset.label == "block+"
    assert resolve_ruleset({"preset": "block", "hand": {"2": 6, "3": 5}}, 2).hand == 6
    assert resolve_ruleset({"preset": "draw", "draw": {"limit": 3}}, 2).draw == Draw(3, 2)
    assert resolve_ruleset({"preset": "draw", "draw": None}, 2).draw is None
    assert resolve_ruleset({"ends": {"rounds": 5}}, 2).ends == Ends(None, None, 5)


@given(table=strategies.rulesets())
def test_a_ruleset_written_out_in_full_is_itself(table: tuple[dict[str, Any], int]) -> None:
    value, players = table
    ruleset = resolve_ruleset(value, players)
    assert resolve_ruleset(ruleset.to_json(), players).to_json() == ruleset.to_json()


@pytest.mark.parametrize(
    ("value", "players", "path"),
    [
        ("blok", 2, "ruleset.preset"),
        (7, 2, "ruleset"),
        ({"preset": 3}, 2, "ruleset.preset"),
        ({"sett": 6}, 2, "ruleset.sett"),
        ({"set": 7}, 2, "ruleset.set"),
        ({"set": True}, 2, "ruleset.set"),
        ({"hand": 15}, 2, "ruleset.hand"),
        ({"hand": 0}, 2, "ruleset.hand"),
        ({"hand": {"3": 5}}, 2, "ruleset.hand"),
        ({"opening": "first"}, 2, "ruleset.opening"),
        ({"partners": True}, 3, "ruleset.partners"),
        ({"partners": 1}, 4, "ruleset.partners"),
        ({"ends": {"target": 0}}, 2, "ruleset.ends.target"),
        ({"ends": {"target": 50, "at": "past"}}, 2, "ruleset.ends.at"),
        ({"ends": {"rounds": 10_001}}, 2, "ruleset.ends.rounds"),
        ({"ends": {"rounds": 5, "target": 50}}, 2, "ruleset.ends.target"),
        ({"ends": {"score": 50}}, 2, "ruleset.ends.score"),
        ({"ends": 100}, 2, "ruleset.ends"),
        ({"draw": {"limit": 0}}, 2, "ruleset.draw.limit"),
        ({"draw": {"reserve": -1}}, 2, "ruleset.draw.reserve"),
        ({"draw": True}, 2, "ruleset.draw"),
        ({"hand": 3, "ends": {"rounds": 1}}, 5, "ruleset.set"),
        ({"set": 9}, 5, "ruleset.hand"),
        ("block", 9, "ruleset.players"),
        ("block", 1, "ruleset.players"),
    ],
)
def test_what_cannot_be_played_is_refused_by_name(value: Any, players: int, path: str) -> None:
    with pytest.raises(InvalidInput) as refusal:
        resolve_ruleset(value, players)
    assert path in [error.path for error in refusal.value.errors]


def test_a_side_total_pools_hands_and_ties() -> None:
    rules = {"preset": "traditional", "partners": True, "partner_count": "side_total"}
    ruleset = resolve_ruleset(rules, 4)
    # 4 + 20 against 9 + 10: the second side has less, and its seat with 9 is the lighter hand.
    hands = [[(1, 3)], [(4, 5)], [(5, 5), (4, 6)], [(2, 2), (1, 5)]]
    end = settle_blocked(ruleset, hands, 0)
    assert (end.winner, end.credit) == (1, (0, 5, 0, 5))
    # 11 against 11, lightest tiles 1 against 2.
    tied = [[(0, 1)], [(0, 2)], [(4, 6)], [(4, 5)]]
    assert settle_blocked(ruleset, tied, 0).credit == (0, 0, 0, 0)
    assert settle_blocked(ruleset, tied, 0).winner == 0
    assert settle_blocked(resolve_ruleset({**rules, "blocked_tie": "nobody"}, 4), tied, 0).winner is None


def test_the_listing_describes_every_parameter() -> None:
    listed = describe_rulesets()
    assert [item["name"] for item in listed] == list(PRESETS)
    for item in listed:
        assert item["summary"]
        assert set(item["parameters"]["properties"]) == set(PARAMETERS)
        assert all(schema["description"] for schema in item["parameters"]["properties"].values())
        assert set(item["values"]) == set(PARAMETERS)
