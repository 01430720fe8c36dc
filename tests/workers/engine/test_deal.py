"""Deals: exact facts by full enumeration, unranking against its table, fairness, and the addresses that decide them."""

from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from math import comb
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pytest
from scipy.stats import chi2

from tests.workers.engine.engines import golden, lineup
from workers.engine.deal import deal_round, first_leader_by_lot, unrank_subset
from workers.engine.play import play_blocks
from workers.engine.reference import placements
from workers.engine.rules import Ruleset, resolve_ruleset
from workers.engine.tiles import Tile, hand_pips, is_double, pips, tile_set

Masks: TypeAlias = npt.NDArray[np.uint32]
Totals: TypeAlias = npt.NDArray[np.int64]
FACTS = golden("facts")["exact_facts"]
TILES = tile_set(6)


def subset_masks(among: int, size: int) -> Masks:
    """Every subset of that size as a mask, ascending."""
    none = np.zeros(0, np.uint32)
    by_size = [np.zeros(1, np.uint32), *[none] * size]
    for top in range(among):
        with_top = [none, *(masks | np.uint32(1 << top) for masks in by_size[:-1])]
        by_size = [np.concatenate(pair) for pair in zip(by_size, with_top, strict=True)]
    return by_size[size]


@pytest.fixture(scope="module", params=[7, 5])
def hands(request: pytest.FixtureRequest) -> tuple[int, Masks]:
    """Every hand of double-six as a mask, and its size."""
    return request.param, subset_masks(28, request.param)


def total_over(masks: Masks, worth: Callable[[Tile], int]) -> Totals:
    """For each hand, the sum of what its tiles are worth."""
    totals = np.zeros(len(masks), np.int64)
    for number, tile in enumerate(TILES):
        if worth(tile):
            totals += (masks >> np.uint32(number) & np.uint32(1)) * np.int64(worth(tile))
    return totals


def test_hands_have_the_exact_distribution_of_pips(hands: tuple[int, Masks]) -> None:
    size, masks = hands
    assert len(masks) == FACTS[f"hands_{size}"] == comb(28, size)
    assert (np.diff(masks.astype(np.int64)) > 0).all()
    totals = total_over(masks, pips)
    assert Counter(map(str, totals.tolist())) == FACTS[f"hand{size}_pips_counts"]
    assert str(Fraction(int(totals.sum()), len(masks))) == FACTS[f"hand{size}_pips_mean"]
    variance = Fraction(int((totals**2).sum()), len(masks)) - Fraction(int(totals.sum()), len(masks)) ** 2
    assert str(variance) == FACTS[f"hand{size}_pips_var"][0]
    least, most = totals.min(), totals.max()
    assert [least, (totals == least).sum(), most, (totals == most).sum()] == FACTS[f"hand{size}_pips_minmax"]


def test_hands_have_the_exact_distribution_of_doubles_and_suits(hands: tuple[int, Masks]) -> None:
    size, masks = hands
    doubles = np.bincount(total_over(masks, is_double), minlength=8)
    chances = [str(Fraction(int(count), len(masks))) for count in doubles if count]
    assert chances == FACTS[f"hand{size}_doubles_pmf"]
    for value in range(7):
        suit = np.bincount(total_over(masks, lambda tile, value=value: value in tile))  # type: ignore[misc]
        assert [str(Fraction(int(count), len(masks))) for count in suit if count] == FACTS[f"hand{size}_suit_count_pmf"]
    distinct = sum((total_over(masks, lambda tile, value=value: value in tile) > 0).sum() for value in range(7))  # type: ignore[misc]
    assert str(Fraction(int(distinct), len(masks))) == FACTS[f"hand{size}_expected_distinct_values"][0]


def test_unranking_numbers_the_table_of_all_hands(hands: tuple[int, Masks]) -> None:
    size, masks = hands
    for rank in [0, 1, 2, len(masks) // 3, len(masks) // 2, len(masks) - 2, len(masks) - 1, *range(1000, len(masks), 29_989)]:
        assert sum(1 << tile for tile in unrank_subset(rank, size, list(range(28)))) == masks[rank]


def test_the_numbers_of_deals() -> None:
    assert comb(28, 7) * comb(21, 7) == FACTS["deals_2p"]
    assert comb(28, 5) * comb(23, 5) * comb(18, 5) == FACTS["deals_3p"]
    assert comb(28, 5) * comb(23, 5) * comb(18, 5) * comb(13, 5) == FACTS["deals_4p"]


@pytest.mark.parametrize(("players", "hand"), [(2, 7), (3, 5), (4, 5)])
def test_the_first_tile_stops_the_table_as_often_as_it_must(players: int, hand: int) -> None:
    """Exact chances over all deals and uniform openings, from which tiles fit which opening."""
    blocked, must_pass = Fraction(0), Fraction(0)
    others = players * hand - 1
    for opening in TILES:
        rest = [tile for tile in TILES if tile != opening]
        unfit = len(rest) - len({placement.tile for placement in placements(rest, opening)})
        blocked += Fraction(comb(unfit, others), comb(27, others)) / 28
        must_pass += Fraction(comb(unfit, hand), comb(27, hand)) / 28
    assert str(blocked) == FACTS[f"P_blocked_after_first_tile_{players}p"][0]
    assert str(must_pass) == FACTS[f"P_second_player_must_pass_{players}p"][0]


RULESETS = [
    resolve_ruleset("block", 2), resolve_ruleset("block", 3), resolve_ruleset("block", 4),
    resolve_ruleset({"preset": "draw", "set": 9, "hand": 6}, 5), resolve_ruleset({"preset": "draw", "set": 12, "hand": 11}, 8),
    resolve_ruleset({"preset": "block", "hand": 14}, 2), resolve_ruleset({"set": 9, "hand": 11, "ends": {"rounds": 1}}, 5),
]  # fmt: skip


@pytest.mark.parametrize("ruleset", RULESETS, ids=lambda ruleset: f"{ruleset.players} players, set {ruleset.set}")
def test_every_deal_is_a_whole_set(ruleset: Ruleset) -> None:
    for number in range(20):
        deal = deal_round(ruleset, 11, number, number)
        assert [len(hand) for hand in deal.hands] == [ruleset.hand] * ruleset.players
        assert sorted([*(tile for hand in deal.hands for tile in hand), *deal.stock]) == sorted(tile_set(ruleset.set))


def test_a_deal_depends_on_players_hand_and_set_but_not_on_other_rules() -> None:
    block, traditional = resolve_ruleset("block", 3), resolve_ruleset("traditional", 3)
    assert deal_round(block, 7, 8, 9) == deal_round(traditional, 7, 8, 9)
    assert deal_round(block, 7, 8, 9) != deal_round(block, 8, 8, 9)
    assert deal_round(block, 7, 8, 9) != deal_round(block, 7, 9, 9)
    assert deal_round(block, 7, 8, 9) != deal_round(block, 7, 8, 10)


def uniformity(counts: Totals) -> float:
    """The chance of counts at least so uneven, were they fair."""
    expected = counts.sum() / len(counts)
    return float(chi2.sf(((counts - expected) ** 2 / expected).sum(), len(counts) - 1))


def tile_counts(ruleset: Ruleset, deals: int, take: Callable[[int], int]) -> Totals:
    """How often each tile came to the seat that `take` names for each deal."""
    counts = np.zeros(28, np.int64)
    for number in range(deals):
        for tile in deal_round(ruleset, 123, number, 0).hands[take(number)]:
            counts[TILES.index(tile)] += 1
    return counts


def test_tiles_come_to_every_seat_alike_and_a_planted_bias_would_be_seen() -> None:
    ruleset = resolve_ruleset("block", 3)
    for seat in range(3):
        assert uniformity(tile_counts(ruleset, 1500, lambda _number, seat=seat: seat)) > 1e-5  # type: ignore[misc]

    # The twin: one deal in three shows the heavier of two hands.
    def heavier(number: int) -> int:
        hands = deal_round(ruleset, 123, number, 0).hands
        return int(hand_pips(hands[1]) > hand_pips(hands[0])) if number % 3 == 0 else 0

    biased = tile_counts(ruleset, 1500, heavier)
    weights = np.array([pips(tile) for tile in TILES])
    fair = tile_counts(ruleset, 1500, lambda _number: 0)
    spread = np.sqrt(1500 * FACTS["hand5_pips_var"][1])
    assert abs((fair * weights).sum() - 1500 * 30) < 4 * spread
    assert abs((biased * weights).sum() - 1500 * 30) > 4 * spread


def test_the_first_lead_is_a_fair_lot_in_both_engines() -> None:
    for players in (2, 3, 4):
        ruleset = resolve_ruleset("block", players)
        counts = np.bincount([first_leader_by_lot(ruleset, 5, block) for block in range(6000)], minlength=players)
        assert uniformity(counts) > 1e-5
        assert uniformity(counts + np.array([400, *[0] * (players - 1)])) < 1e-5
    # One tile each: the leader goes out at once, so the winner is the leader.
    rows = play_blocks(lineup(["random"] * 4, ruleset={"hand": 1, "ends": {"rounds": 1}}, seed=5, rotations=1), 0, 6000)
    ruleset = resolve_ruleset({"hand": 1}, 4)
    leaders = np.array([first_leader_by_lot(ruleset, 5, block) for block in range(6000)])
    scored = rows.scores.max(axis=1) > 0
    assert np.array_equal(rows.scores.argmax(axis=1)[scored], leaders[scored])


def test_each_tile_stays_out_as_often_as_it_must() -> None:
    for players, key in ((2, "2p"), (3, "3p"), (4, "4p")):
        ruleset = resolve_ruleset("block", players)
        assert str(1 - Fraction(players * ruleset.hand, 28)) == FACTS["P_tile_undealt"][key]
        assert len(deal_round(ruleset, 0, 0, 0).stock) == 28 - players * ruleset.hand
