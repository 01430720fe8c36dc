"""One decision of a plan, compiled: its stages from the first to the one that decides."""

from workers.engine.compile import compiled
from workers.engine.policies.noisy import RATE_UNIT
from workers.engine.policies.pimc import WORD_TILES
from workers.engine.policies.plan import Kind
from workers.engine.policies.program import Finish
from workers.engine.scalar.bits import word
from workers.engine.scalar.choose import choose, finish
from workers.engine.scalar.layout import ALL, EMPTY, PLAYERS, TILES, ZERO, Integers, Legal, Pair, Word, Words
from workers.engine.scalar.random import stream_word
from workers.engine.search.best import best_placement
from workers.engine.search.endgame import every_world, tiles_in_hands
from workers.engine.search.ismcts import choose_by_tree
from workers.engine.search.layout import KIND, Search
from workers.engine.search.own import choose_by_own
from workers.engine.search.pimc import choose_by_worlds
from workers.engine.search.worlds import sample_worlds

_PROGRAM, _NOISY, _PIMC, _ENDGAME = int(Kind.PROGRAM), int(Kind.NOISY), int(Kind.PIMC), int(Kind.ENDGAME)
_ISMCTS, _OWN = int(Kind.ISMCTS), int(Kind.OWN)
_RANDOM = int(Finish.RANDOM)


@compiled()
def decide(
    rules: Integers, tile_sets: Words, figures: Integers, search: Search, place: int, legal: Legal, ends: tuple[int, int],
    leader: int, seat: int, hands: Words, lacks: Words, line: Pair, random_word: Word, script: Integers, cursor: Integers,
) -> int:  # fmt: skip
    """The placement that the plan of a place makes where it has a choice, coded as in `choose`."""
    row = search.firsts[word(place)]
    worlds, is_exact = ZERO, False
    while search.stages[word(row), KIND] != _PROGRAM:
        kind, number, other = search.stages[word(row), 0], search.stages[word(row), 1], search.stages[word(row), 2]
        if kind == _NOISY:
            rest = stream_word(random_word, 1)
            if (random_word >> word(32)) * word(RATE_UNIT) >> word(32) < word(number):
                return finish(_RANDOM, legal, ends[0], ends[1], rest, script, cursor)
            random_word = rest
        elif kind == _ENDGAME:
            if tiles_in_hands(rules, hands) <= number:
                worlds = every_world(rules, tile_sets, search, seat, hands, lacks, line[0], other)
                is_exact = worlds <= other
                if is_exact:
                    break
        elif kind == _PIMC:
            worlds, is_exact = number, other != 0
            sample_worlds(rules, tile_sets, search, seat, hands, lacks, line[0], random_word, ZERO, worlds)
            break
        elif kind == _ISMCTS:
            return choose_by_tree(
                rules, tile_sets, figures, search, row, number, other, legal[0], legal[2], ends[0], ends[1], leader, seat,
                hands, lacks, line[0], random_word,
            )  # fmt: skip
        elif kind == _OWN:
            return choose_by_own(
                rules, figures, search, row, place, legal, ends, leader, seat, hands, lacks, line, random_word
            )
        row += 1
    if search.stages[word(row), KIND] != _PROGRAM:
        return choose_by_worlds(
            rules, tile_sets, figures, search, row, worlds, is_exact, legal[0], legal[2], ends[0], ends[1], leader, seat, lacks,
            line[0],
        )  # fmt: skip
    if rules[TILES] > WORD_TILES:
        return choose(
            rules, tile_sets, figures, search.programs, row, legal, ends, seat, hands, lacks, line, random_word, script, cursor
        )
    hand = hands[word(2 * seat)]
    others_lack = EMPTY
    for other in range(rules[PLAYERS]):
        if other != seat:
            others_lack |= lacks[word(other)]
    after = seat + 1 if seat + 1 < rules[PLAYERS] else 0
    return best_placement(
        tile_sets, figures, search, row, legal[0], legal[2], ends[0], ends[1], hand, tile_sets[ALL] & ~hand & ~line[0],
        lacks[word(after)], others_lack, random_word,
    )  # fmt: skip
