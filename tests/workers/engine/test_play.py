"""The compiled engine against the literal rules: every row and every ply of random rulesets, policies and addresses."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.workers.engine import strategies
from tests.workers.engine.engines import (
    assert_same_rows,
    compiled_plies,
    difference,
    lineup,
    literal_plies,
)
from workers.engine import reference
from workers.engine.deal import Deal
from workers.engine.play import MatchRows, play_blocks, play_literally, replay_match, warm_up
from workers.engine.policies.resolve import NAMED
from workers.engine.scalar.door import GivenStart, play_scalar
from workers.engine.scalar.match import play_matches
from workers.engine.tiles import tile_set

NAMES = [policy.name for policy in NAMED]
RULESETS: list[tuple[Any, int]] = [
    ("block", 2), ("block", 3), ("block", 4), ("traditional", 2), ("traditional", 3), ("draw", 2), ("draw", 3), ("draw", 4),
    ({"preset": "traditional", "partners": True}, 4),
    ({"preset": "traditional", "partners": True, "partner_count": "side_total", "blocked_award": "gross"}, 4),
    ({"preset": "draw", "partners": True, "next_leader": "winner"}, 4),
    ({"preset": "block", "set": 9}, 2),
    ({"preset": "draw", "set": 9, "draw": {"limit": 3, "reserve": 2}}, 3),
    ({"preset": "block", "set": 12, "hand": 11, "ends": {"target": 200}}, 8),
    ({"preset": "draw", "set": 12, "hand": 9, "ends": {"rounds": 5}}, 5),
    ({"preset": "block", "hand": 14, "next_leader": "loser"}, 2),
]  # fmt: skip


@pytest.mark.parametrize(("ruleset", "players"), RULESETS)
def test_both_engines_play_the_same_matches_of_every_kind_of_ruleset(ruleset: Any, players: int) -> None:
    field = [NAMES[place % len(NAMES)] for place in range(players)]
    assert_same_rows(lineup(field, ruleset=ruleset, seed=2**64 - 1), 2**32 - 1, 2)


@pytest.mark.parametrize("players", [2, 3, 4])
@pytest.mark.parametrize("name", NAMES)
def test_both_engines_play_every_policy_alike(name: str, players: int) -> None:
    assert_same_rows(lineup([name, *["random"] * (players - 1)], seed=9), 0, 4)
    assert_same_rows(lineup([name] * players, seed=9), 5, 2)


@settings(max_examples=60, deadline=None)
@given(data=st.data(), table=strategies.rulesets(), seed=strategies.seeds, block=strategies.blocks)
def test_both_engines_make_the_same_rows(data: st.DataObject, table: tuple[dict[str, Any], int], seed: int, block: int) -> None:
    ruleset, players = table
    field = data.draw(st.lists(strategies.policies, min_size=players, max_size=players))
    playing = lineup(field, ruleset=ruleset, seed=seed, rotations=data.draw(st.integers(1, players)))
    assert_same_rows(playing, block, 2)


@settings(max_examples=40, deadline=None)
@given(data=st.data(), table=strategies.rulesets(), seed=strategies.seeds, block=strategies.blocks)
def test_both_engines_make_the_same_plies(
    data: st.DataObject, table: tuple[dict[str, Any], int], seed: int, block: int
) -> None:
    ruleset, players = table
    field = data.draw(st.lists(strategies.policies, min_size=players, max_size=players))
    playing = lineup(field, ruleset=ruleset, seed=seed)
    rotation = data.draw(st.integers(0, players - 1))
    assert compiled_plies(playing, block, rotation) == literal_plies(playing, block, rotation)


@settings(max_examples=40, deadline=None)
@given(data=st.data(), table=strategies.rulesets(), seed=strategies.seeds)
def test_tiles_are_conserved_and_scores_never_fall(data: st.DataObject, table: tuple[dict[str, Any], int], seed: int) -> None:
    ruleset, players = table
    field = data.draw(st.lists(strategies.policies, min_size=players, max_size=players))
    record = replay_match(lineup(field, ruleset=ruleset, seed=seed), 0, 0)
    scores = (0,) * players
    for played in record.rounds:
        placed = [ply.placement.tile for ply in played.plies if ply.placement is not None]
        drawn = [tile for ply in played.plies for tile in ply.drawn]
        held = [tile for hand in played.final_hands for tile in hand]
        stock = played.deal.stock[len(drawn) :]
        assert tuple(drawn) == played.deal.stock[: len(drawn)]
        assert sorted([*placed, *held, *stock]) == sorted(tile_set(ruleset["set"]))
        assert all(after >= before for before, after in zip(scores, played.scores, strict=True))
        assert min(played.end.credit) >= 0
        scores = played.scores


@settings(max_examples=40, deadline=None)
@given(data=st.data(), table=strategies.rulesets(), seed=strategies.seeds)
def test_nobody_passes_who_could_play_or_draw_and_the_reserve_stays(
    data: st.DataObject, table: tuple[dict[str, Any], int], seed: int
) -> None:
    ruleset, players = table
    field = data.draw(st.lists(strategies.policies, min_size=players, max_size=players))
    limit, reserve = (ruleset["draw"]["limit"], ruleset["draw"]["reserve"]) if ruleset["draw"] else (0, 91)
    for played in replay_match(lineup(field, ruleset=ruleset, seed=seed), 0, 0).rounds:
        hands = [set(hand) for hand in played.deal.hands]
        stock = list(played.deal.stock)
        drawable_at_first = max(0, len(stock) - reserve)
        ends: tuple[int, ...] = ()
        for ply in played.plies:
            # Each tile was drawn because nothing before it fitted.
            fits = not ends or any(set(tile) & set(ends) for tile in hands[ply.seat])
            assert not (fits and ply.drawn)
            for tile in ply.drawn:
                assert not fits
                assert len(stock) > reserve
                assert stock.pop(0) == tile
                hands[ply.seat].add(tile)
                fits = bool(set(tile) & set(ends))
            assert limit is None or len(ply.drawn) <= limit
            if ply.placement is None:
                assert not fits
                assert len(stock) <= reserve or len(ply.drawn) == limit
                continue
            tile, end = ply.placement
            assert tile in hands[ply.seat]
            assert not ply.drawn or tile == ply.drawn[-1]
            hands[ply.seat].remove(tile)
            if not ends:
                ends = tile
            else:
                assert end in ends
                assert end in tile
                other = ends[1] if ends[0] == end else ends[0]
                ends = (sum(tile) - end, other)
        assert len(played.deal.stock) - len(stock) <= drawable_at_first


def test_rows_do_not_depend_on_how_blocks_are_cut() -> None:
    playing = lineup(["heaviest", "random", "double"], seed=5)
    whole = play_blocks(playing, 10, 30)
    parts = [play_blocks(playing, first, blocks) for first, blocks in ((10, 1), (11, 12), (23, 17))]
    assert np.array_equal(np.concatenate([part.scores for part in parts]), whole.scores)
    assert np.array_equal(np.concatenate([part.winners for part in parts]), whole.winners)
    assert np.array_equal(sum(part.rounds_won for part in parts), whole.rounds_won)
    assert sum(part.plies for part in parts) == whole.plies


def test_rotations_see_the_same_deals_and_equal_policies_the_same_match() -> None:
    rows = play_blocks(lineup(["random"] * 3, seed=3), 0, 50)
    assert np.array_equal(rows.scores[0::3], rows.scores[1::3])
    assert np.array_equal(rows.scores[0::3], rows.scores[2::3])


def test_a_match_that_nobody_can_win_stops_unfinished(monkeypatch: pytest.MonkeyPatch) -> None:
    # The leader opens [1|1]; nothing fits, and [2|4] ties with [0|6], round after round.
    deal = Deal((((1, 1), (2, 4)), ((0, 6),)), ())
    playing = lineup(["lightest"] * 2, ruleset={"next_leader": "loser"}, rotations=1)
    compiled = MatchRows.empty(1, 2, 1)
    play_scalar(playing, 0, compiled, given=GivenStart(deal, 0))
    assert compiled.rounds[0] == 10_000
    assert compiled.winners[0] == 0
    assert compiled.tied_blocked_rounds == 10_000
    monkeypatch.setattr(reference, "deal_round", lambda *_address: deal)
    monkeypatch.setattr(reference, "first_leader_by_lot", lambda *_address: 0)
    assert difference(play_literally(playing, 0, 1), compiled) == []


def test_a_fixed_number_of_rounds_can_end_shared() -> None:
    playing = lineup(["random"] * 4, ruleset={"ends": {"rounds": 1}}, rotations=1)
    rows = play_blocks(playing, 0, 400)
    shared = np.bitwise_count(rows.winners) > 1
    assert shared.any()
    assert (rows.scores[shared].max(axis=1) == 0).all()
    assert (rows.rounds == 1).all()


def test_the_kernel_is_compiled_once_for_all_rulesets() -> None:
    warm_up()
    play_blocks(lineup(["random"] * 5, ruleset={"preset": "draw", "set": 12, "hand": 3}), 0, 1)
    # The other form is the one with policies that search.
    assert len([types for types in play_matches.signatures if str(types[-1]) == "none"]) == 1
    assert len(play_matches.signatures) <= 2
