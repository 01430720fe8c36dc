"""One tree of what everybody sees, compiled: `policies.ismcts`."""

from workers.engine.compile import compiled
from workers.engine.policies.ismcts import BOUND_UNIT, ROOT_BITS
from workers.engine.policies.program import Finish
from workers.engine.scalar.bits import bit, word
from workers.engine.scalar.layout import ALL, EMPTY, NONE, PLAYERS, ZERO, Integers, Word, Words
from workers.engine.search.best import WORST, ends_by, finish_words, keep_best
from workers.engine.search.layout import (
    AVAILABLE,
    NEWEST,
    OLDER,
    PARENT,
    PLACED_AS,
    SEAT,
    TOTAL,
    VISITS,
    Search,
)
from workers.engine.search.outcome import was_blocked, went_out, worth
from workers.engine.search.playout import play_out
from workers.engine.search.turn import next_to_place
from workers.engine.search.worlds import sample_worlds

_TOP = int(Finish.TOP)
WORLDS_AT_ONCE = 16
"""Sampled when more are needed: no placement is visited in every iteration."""


@compiled()
def choose_by_tree(
    rules: Integers, tile_sets: Words, figures: Integers, search: Search, row: int, iterations: int, exploration: int,
    left: Word, right: Word, left_end: int, right_end: int, leader: int, seat: int, hands: Words, lacks: Words, line: Word,
    random_word: Word,
) -> int:  # fmt: skip
    """The placement most visited in so many ways down, coded as in `scalar.choose`."""
    tree = search.tree
    tree[ZERO, NEWEST] = NONE
    size = ZERO + 1
    sampled = most_visits = ZERO
    for _ in range(iterations):
        if sampled == most_visits:
            more = min(sampled + WORLDS_AT_ONCE, iterations)
            sample_worlds(rules, tile_sets, search, seat, hands, lacks, line, random_word, sampled, more)
            sampled = more
        for each in range(rules[PLAYERS]):
            search.lacks[word(each)] = lacks[word(each)]
        node, end, is_new = _go_down(
            rules, tile_sets, figures, search, row, exploration, left, right, left_end, right_end, leader, seat,
            tile_sets[ALL] & ~line, size,
        )  # fmt: skip
        size += is_new
        visits = ZERO
        while node > 0:
            visits = tree[word(node), VISITS] + 1
            tree[word(node), VISITS] = visits
            tree[word(node), TOTAL] += worth(rules, end, tree[word(node), SEAT])
            node = tree[word(node), PARENT]
        most_visits = max(most_visits, visits)
    kept_left = kept_right = EMPTY
    most = WORST
    child = tree[ZERO, NEWEST]
    while child >= 0:
        placement = tree[word(child), PLACED_AS]
        most, kept_left, kept_right = keep_best(
            tree[word(child), VISITS], bit(placement >> 1), placement & 1, most, kept_left, kept_right
        )
        child = tree[word(child), OLDER]
    return finish_words(_TOP, kept_left, kept_right, left_end, right_end, EMPTY)


@compiled()
def _go_down(
    rules: Integers, tile_sets: Words, figures: Integers, search: Search, row: int, exploration: int, left: Word, right: Word,
    left_end: int, right_end: int, leader: int, mover: int, off_line: Word, size: int,
) -> tuple[int, int, int]:  # fmt: skip
    """(last node on the way, end as in `outcome`, 1 where that node is new) of one iteration; `size` nodes are there."""
    hands, tree = search.hands, search.tree
    players = rules[PLAYERS]
    node, ply, base = ZERO, ZERO, EMPTY
    while True:
        untried_left, untried_right = left, right
        chosen, most = NONE, WORST << 20
        child = tree[word(node), NEWEST]
        while child >= 0:
            placement = tree[word(child), PLACED_AS]
            one = bit(placement >> 1)
            if tree[word(child), SEAT] == mover and (right if placement & 1 else left) & one:
                tree[word(child), AVAILABLE] += 1
                if placement & 1:
                    untried_right ^= one
                else:
                    untried_left ^= one
                bound = _bound(search, word(child), exploration)
                if bound >= most:
                    chosen, most = child, bound
            child = tree[word(child), OLDER]
        if node == 0:
            world = ZERO if untried_left | untried_right else tree[word(chosen), VISITS]
            base = search.bases[word(world)]
            for each in range(players):
                hands[word(2 * each)] = search.worlds[word(world), word(each)]
        if untried_left | untried_right:
            placement, end = play_out(
                rules, tile_sets, figures, search, row, leader, mover, untried_left, untried_right, left_end, right_end,
                off_line, base, ply,
            )  # fmt: skip
            new = word(size)
            tree[new, SEAT], tree[new, PLACED_AS], tree[new, PARENT] = mover, placement, node
            tree[new, NEWEST], tree[new, OLDER] = NONE, tree[word(node), NEWEST]
            tree[new, VISITS], tree[new, AVAILABLE], tree[new, TOTAL] = 0, 1, 0
            tree[word(node), NEWEST] = size
            return size, end, 1
        node = chosen
        placement = tree[word(node), PLACED_AS]
        one = bit(placement >> 1)
        left_end, right_end = ends_by(figures, placement >> 1, placement & 1, left_end, right_end)
        hands[word(2 * mover)] ^= one
        off_line ^= one
        ply += 1
        if hands[word(2 * mover)] == 0:
            return node, went_out(rules, tile_sets, hands, mover), 0
        mover, left, right, passes = next_to_place(rules, tile_sets, search, mover, left_end, right_end)
        if passes >= players:
            return node, was_blocked(rules, tile_sets, figures, hands, leader), 0
        ply += passes


@compiled(inline=True)
def _bound(search: Search, node: Word, exploration: int) -> int:
    """`policies.ismcts.Ismcts._bound`."""
    visits = search.tree[node, VISITS]
    bonus: int = exploration * search.roots_of_logs[word(search.tree[node, AVAILABLE])] * search.inverse_roots[word(visits)]
    mean: int = search.tree[node, TOTAL] * BOUND_UNIT // visits
    return mean + (bonus >> ROOT_BITS)
