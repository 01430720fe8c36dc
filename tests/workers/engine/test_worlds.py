"""Hidden hands: both engines draw the same, and uniformly over all that agree with every pass, by full enumeration."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations

import numpy as np
import pytest
from scipy.stats import chi2

from tests.workers.engine.engines import lineup
from workers.engine.compile import compiled
from workers.engine.play import replay_match
from workers.engine.policies import resolve_policy
from workers.engine.policies.worlds import may_hold, sample_hands
from workers.engine.reference import Placement, Ply, Round, View
from workers.engine.rng import DecisionRandom, mix64
from workers.engine.rules import resolve_ruleset
from workers.engine.scalar import layout
from workers.engine.scalar.layout import Integers, Word, Words
from workers.engine.search.layout import Search, encode_search
from workers.engine.search.worlds import sample_worlds
from workers.engine.tiles import Tile, tile_ids, tile_set

World = tuple[tuple[Tile, ...], ...]
"""Hands by seat, each in rank order."""
SAMPLES = 30_000


@compiled(entry=True)
def sample_compiled(
    rules: Integers, tile_sets: Words, search: Search, seat: int, hands: Words, lacks: Words, line: Word, random_word: Word,
    worlds: int,
) -> None:  # fmt: skip
    """The kernel's sampling, where Python can call it."""
    sample_worlds(rules, tile_sets, search, seat, hands, lacks, line, random_word, 0, worlds // 2)
    sample_worlds(rules, tile_sets, search, seat, hands, lacks, line, random_word, worlds // 2, worlds)


def in_order(hand: Sequence[Tile]) -> tuple[Tile, ...]:
    """The hand in rank order."""
    return tuple(sorted(hand, key=tile_ids(6).__getitem__))


def by_reference(view: View, word: int, worlds: int) -> list[World]:
    """Worlds as `pimc` draws them, literally."""
    random = DecisionRandom(word)
    random.next_word()
    found = []
    for _ in range(worlds):
        found.append(tuple(in_order(hand) for hand in sample_hands(view, DecisionRandom(random.next_word()))))
    return found


def by_kernel(view: View, word: int, worlds: int) -> list[World]:
    """The same by the kernel."""
    numbers = tile_ids(view.ruleset.set)
    masks, _ = layout.set_tables(view.ruleset.set)
    hands = np.zeros(2 * layout.MAX_SEATS, np.uint64)
    for seat, size in enumerate(view.hand_counts):
        held = view.hand if seat == view.seat else tile_set(view.ruleset.set)[:size]
        hands[2 * seat] = sum(1 << numbers[tile] for tile in held)
    lacks = np.zeros(layout.MAX_SEATS, np.uint64)
    lacks[: len(view.lacks)] = [sum(1 << value for value in values) for values in view.lacks]
    line = sum(1 << numbers[ply.placement.tile] for ply in view.plies if ply.placement)
    search = encode_search([resolve_policy({"name": "pimc", "worlds": worlds}, 2).plan])
    sample_compiled(
        layout.encode_rules(view.ruleset), masks, search, view.seat, hands, lacks, np.uint64(line), np.uint64(word), worlds
    )
    return [tuple(_tiles(view, int(mask)) for mask in row[: view.ruleset.players]) for row in search.worlds]


def _tiles(view: View, mask: int) -> tuple[Tile, ...]:
    return tuple(tile for number, tile in enumerate(tile_set(view.ruleset.set)) if mask >> number & 1)


def every_world(view: View) -> Iterator[World]:
    """All hands that agree with every pass, by trying all."""
    others = [seat for seat in range(view.ruleset.players) if seat != view.seat]

    def extend(chosen: Mapping[int, tuple[Tile, ...]]) -> Iterator[World]:
        if len(chosen) == len(others):
            hands = {view.seat: in_order(view.hand), **chosen}
            yield tuple(hands[seat] for seat in range(view.ruleset.players))
            return
        seat = others[len(chosen)]
        taken = {tile for hand in chosen.values() for tile in hand}
        free = [tile for tile in may_hold(view, seat) if tile not in taken]
        for hand in combinations(free, view.hand_counts[seat]):
            yield from extend({**chosen, seat: hand})

    return extend({})


def view_of(hand: Sequence[Tile], line: Sequence[Tile], counts: Sequence[int], lacks: Sequence[set[int]]) -> View:
    """What seat 0 sees when these tiles are placed, others hold so many, and are known to lack these values."""
    ruleset = resolve_ruleset("block", len(counts))
    hands = [list(hand), *([(9, 9)] * count for count in counts[1:])]
    plies = [Ply(0, (), Placement(tile, tile[0])) for tile in line]
    state = Round(ruleset, hands, 0, line_ends=(3, 3), plies=plies, lacks=[frozenset(values) for values in lacks])
    return state.view([])


LOW_TILES = [tile for tile in tile_set(6) if max(tile) <= 3]
"""The ten tiles of double-three."""
POSITIONS = {
    2: view_of([(5, 6), (6, 6)], LOW_TILES, [2, 3], [set(), {6}]),
    3: view_of([(6, 6), (5, 5), (4, 4)], [*LOW_TILES, (0, 6), (1, 6)], [3, 2, 2], [set(), {4}, {5, 0}]),
    4: view_of(
        [(6, 6), (5, 5)], [*LOW_TILES, (0, 4), (1, 4), (2, 4), (0, 5), (3, 6)], [2, 2, 2, 1], [set(), {5}, {4, 3}, set()]
    ),
}


@pytest.mark.parametrize("players", POSITIONS)
def test_every_world_that_agrees_with_the_passes_is_as_likely(players: int) -> None:
    view = POSITIONS[players]
    worlds = list(every_world(view))
    assert len(set(worlds)) == len(worlds) > 50
    drawn: Counter[World] = Counter()
    for call in range(-(-SAMPLES // 4096)):
        drawn.update(by_kernel(view, mix64(call), 4096))
    assert set(drawn) == set(worlds)
    expected = drawn.total() / len(worlds)
    assert expected > 20
    distance = sum((drawn[world] - expected) ** 2 / expected for world in worlds)
    assert chi2.ppf(0.001, len(worlds) - 1) < distance < chi2.ppf(0.999, len(worlds) - 1)


@pytest.mark.parametrize("players", POSITIONS)
def test_both_engines_draw_the_same_worlds(players: int) -> None:
    for word in (0, 7, 2**64 - 1):
        assert by_kernel(POSITIONS[players], word, 60) == by_reference(POSITIONS[players], word, 60)


@pytest.mark.parametrize("players", [2, 3, 4])
def test_worlds_of_real_positions_agree_with_what_is_known(players: int) -> None:
    record = replay_match(lineup(["linear", *["random"] * (players - 1)], rotations=1), 3, 0)
    for played in record.rounds[:4]:
        state = Round(resolve_ruleset("block", players), [list(hand) for hand in played.deal.hands], played.leader)
        for ply in played.plies:
            view = state.view(state.legal())
            placed = {each.placement.tile for each in view.plies if each.placement}
            true_hands = [list(hand) for hand in state.hands]
            for number, world in enumerate(by_kernel(view, len(placed), 5)):
                assert world[view.seat] == in_order(view.hand)
                held = [tile for hand in world for tile in hand]
                assert len(set(held)) == len(held) == sum(view.hand_counts)
                assert not placed & set(held)
                for seat, hand in enumerate(world):
                    assert len(hand) == len(true_hands[seat])
                    assert seat == view.seat or not {value for tile in hand for value in tile} & view.lacks[seat], number
            if ply.placement is None:
                state.pass_turn(())
            else:
                placement = ply.placement
                state.take_turn(lambda _view, placement=placement: placement)  # type: ignore[misc]
