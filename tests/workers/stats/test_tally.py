"""Tallies against a count by hand over replayed matches, and the ways in which they travel and merge."""

from collections import Counter
from fractions import Fraction
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from workers.engine.play import Lineup, MatchRows, play_blocks, play_literally, replay_match
from workers.engine.policies import resolve_policy
from workers.engine.rules import resolve_ruleset
from workers.stats.tally import CLUSTERS, Tally, score_unit, tally_rows

SCENARIOS: list[tuple[Any, tuple[str, ...], int]] = [
    ("block", ("heaviest", "random"), 2),
    ("block", ("heaviest", "random"), 1),
    ("block", ("double", "random", "random"), 3),
    ("block", ("random", "heaviest", "random", "heaviest"), 2),
    ({"preset": "traditional", "ends": {"rounds": 2}}, ("random", "heaviest", "random"), 3),
    ({"preset": "traditional", "partners": True, "ends": {"rounds": 1}}, ("random", "double", "random", "double"), 2),
]


def lineup_of(ruleset: Any, policies: tuple[str, ...], rotations: int, seed: int = 11) -> Lineup:
    players = len(policies)
    return Lineup(
        resolve_ruleset(ruleset, players), tuple(resolve_policy(name, players) for name in policies), rotations, seed
    )


def count_by_hand(lineup: Lineup, blocks: int) -> dict[str, Any]:
    """Every integer of a tally, counted match by match from the records of the literal rules."""
    players, partners = lineup.ruleset.players, lineup.ruleset.partners
    plain: Counter[str] = Counter()
    seats = [Counter[str]() for _ in range(players)]
    places = [Counter[str]() for _ in range(players)]
    rounds_per_match: Counter[int] = Counter()
    margins: Counter[int] = Counter()
    block_scores = [Counter[Fraction]() for _ in range(players)]
    margin_sums = [0] * players
    margin_squares = [0] * players
    for block in range(blocks):
        score = [Fraction(0)] * players
        margin = [0] * players
        for rotation in range(lineup.rotations):
            record = replay_match(lineup, block, rotation)
            seated = lineup.seated(rotation)
            sides = {lineup.ruleset.side(seat) for seat in record.winners}
            plain["matches"] += 1
            plain["unfinished"] += not record.winners
            plain["draws"] += len(sides) > 1
            plain["rounds"] += len(record.rounds)
            rounds_per_match[len(record.rounds)] += 1
            by_side = sorted(record.scores[:2] if partners else record.scores)
            margins[by_side[-1] - by_side[-2]] += 1
            for played in record.rounds:
                plain["plies"] += len(played.plies)
                plain["passes"] += sum(ply.placement is None for ply in played.plies)
                plain["blocked_rounds"] += played.end.reason == "blocked"
                plain["tied_blocked_rounds"] += played.end.winner is None
                plain["leader_rounds_won"] += played.end.winner == played.leader
                if played.end.winner is not None:
                    seats[played.end.winner]["rounds_won"] += 1
                    places[seated[played.end.winner]]["rounds_won"] += 1
            for seat, place in enumerate(seated):
                outcome = "wins" if len(sides) == 1 else "shared_wins"
                for counts in (seats[seat], places[place]):
                    counts["points"] += record.scores[seat]
                    counts[outcome] += seat in record.winners
                if seat in record.winners:
                    score[place] += Fraction(1, len(sides))
                margin[place] += players * record.scores[seat] - sum(record.scores)
        for place in range(players):
            block_scores[place][score[place]] += 1
            margin_sums[place] += margin[place]
            margin_squares[place] += margin[place] ** 2
    return {
        "plain": plain, "seats": seats, "places": places, "rounds_per_match": rounds_per_match,
        "winning_margin": margins, "block_scores": block_scores, "margin_sums": margin_sums,
        "margin_squares": margin_squares,
    }  # fmt: skip


@pytest.mark.parametrize(("ruleset", "policies", "rotations"), SCENARIOS)
def test_tally_equals_a_count_by_hand(ruleset: Any, policies: tuple[str, ...], rotations: int) -> None:
    lineup = lineup_of(ruleset, policies, rotations)
    blocks = 40
    tally = tally_rows(lineup, play_literally(lineup, 0, blocks), 0)
    counted = count_by_hand(lineup, blocks)
    unit = score_unit(lineup.ruleset)
    for name, count in counted["plain"].items():
        assert getattr(tally, name) == count, name
    for group in ("seats", "places"):
        for mine, by_hand in zip(getattr(tally, group), counted[group], strict=True):
            assert {name: getattr(mine, name) for name in mine.__slots__} == {
                name: by_hand[name] for name in mine.__slots__
            }
    assert tally.rounds_per_match == counted["rounds_per_match"]
    assert tally.winning_margin == counted["winning_margin"]
    for place, block in enumerate(tally.blocks):
        assert {Fraction(value, unit): count for value, count in block.scores.items()} == counted["block_scores"][place]
        assert block.margin_sum == counted["margin_sums"][place]
        assert block.margin_square_sum == counted["margin_squares"][place]


def test_a_shared_win_is_seen_where_matches_have_a_fixed_number_of_rounds() -> None:
    lineup = lineup_of(SCENARIOS[4][0], SCENARIOS[4][1], 3)
    tally = tally_rows(lineup, play_literally(lineup, 0, 60), 0)
    assert tally.draws > 0
    assert sum(seat.shared_wins for seat in tally.seats) >= 2 * tally.draws


@settings(max_examples=20, deadline=None)
@given(cut=st.integers(1, 11), seed=st.integers(0, 2**64 - 1))
def test_two_parts_merge_into_the_whole(cut: int, seed: int) -> None:
    lineup = lineup_of("block", ("double", "heaviest", "random"), 3, seed)
    whole = tally_rows(lineup, play_literally(lineup, 0, 12), 0)
    merged = tally_rows(lineup, play_literally(lineup, cut, 12 - cut), cut)
    merged.merge(tally_rows(lineup, play_literally(lineup, 0, cut), 0))
    assert merged == whole


def test_a_tally_survives_json_with_integers_beyond_64_bits() -> None:
    lineup = lineup_of("block", ("heaviest", "random"), 2)
    tally = tally_rows(lineup, play_literally(lineup, 0, 3), 0)
    tally.matches = 2**53
    tally.blocks[0].margin_square_sum = 2**70
    text = orjson.dumps(tally.to_json())
    assert b'"%d"' % 2**70 in text
    assert b'"matches":%d,' % 2**53 in text
    assert Tally.from_json(orjson.loads(text)) == tally


def test_a_tally_kept_since_before_there_were_clusters_is_read() -> None:
    whole = Tally.empty(2).to_json()
    del whole["clusters"]
    assert Tally.from_json(whole) == Tally.empty(2)


def test_squares_of_large_margins_do_not_overflow() -> None:
    lineup = lineup_of({"preset": "block", "ends": {"target": 1_000_000}}, ("heaviest", "random"), 1)
    matches = 10
    rows = MatchRows.empty(matches, 2, 1)
    rows.scores[:, 0] = 2_000_000_000
    rows.winners[:] = 1
    tally = tally_rows(lineup, rows, 0)
    assert tally.blocks[0].margin_square_sum == matches * 2_000_000_000**2


@pytest.mark.parametrize(("first", "blocks"), [(0, 5), (3, 7), (CLUSTERS - 2, 5), (10**9, 2 * CLUSTERS + 9)])
def test_clusters_sum_the_first_place_s_scores_by_block_number(first: int, blocks: int) -> None:
    lineup = lineup_of("block", ("heaviest", "random"), 2)
    tally = tally_rows(lineup, play_blocks(lineup, first, blocks), first)
    by_hand = [0] * CLUSTERS
    for block in range(first, first + blocks):
        alone = tally_rows(lineup, play_blocks(lineup, block, 1), block)
        by_hand[block % CLUSTERS] += sum(score * count for score, count in alone.blocks[0].scores.items())
    assert tally.clusters + [0] * (CLUSTERS - len(tally.clusters)) == by_hand
    assert sum(tally.clusters) == sum(score * count for score, count in tally.blocks[0].scores.items())
