"""The lane kernel for double-nine: words of 64 bits, of which four fill a vector of AVX2."""

from typing import Final

from workers.engine.compile import compiled
from workers.engine.lanes.layout import masks_of
from workers.engine.lanes.match import matches
from workers.engine.lanes.room import Results, Room, Tables
from workers.engine.scalar.layout import Integers, Word, Words

MASKS: Final = masks_of(9)
_play = matches(MASKS)


@compiled(entry=True)
def play_double_nine(
    rules: Integers, tile_sets: Words, figures: Integers, tables: Tables, programs: Integers, period: int,
    reads_table: bool, seed: Word, first_block: Word, rotations: int, results: Results, room: Room,
) -> None:  # fmt: skip
    """`match.matches` for this set."""
    _play(rules, tile_sets, figures, tables, programs, period, reads_table, seed, first_block, rotations, results, room)
