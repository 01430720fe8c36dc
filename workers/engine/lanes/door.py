"""The lane kernel's door from Python."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from workers.engine.lanes.layout import Masks
from workers.engine.lanes.room import make_room
from workers.engine.lanes.subsets import hand_tables
from workers.engine.policies.program import Feature, Program
from workers.engine.scalar import layout
from workers.engine.scalar.door import encode_programs
from workers.engine.scalar.match import TOTALS

if TYPE_CHECKING:
    from workers.engine.play import Lineup, MatchRows

_TABLE_FEATURES = (Feature.NEXT_LACKS_ONE, Feature.NEXT_LACKS_BOTH, Feature.UNSEEN, Feature.OTHER_LACKS)


def play_in_lanes(lineup: "Lineup", first_block: int, rows: "MatchRows") -> None:
    """Play the matches of `rows`, which must be empty, from `first_block` on; `kernel_of` must say so."""
    ruleset = lineup.ruleset
    programs = [policy.program.simplified() for policy in lineup.policies]
    masks, figures = layout.set_tables(ruleset.set)
    # On larger sets hands are shuffled, and these tables are not looked at.
    tables = hand_tables(ruleset.players, ruleset.hand) if ruleset.set == 6 else hand_tables(1, 1)
    totals = np.zeros(TOTALS, np.int64)
    play, lane_masks = _kernel(ruleset.set)
    play(
        layout.encode_rules(ruleset), masks, figures,
        (tables.figures, tables.begins, tables.before, tables.segments, tables.lowers), encode_programs(programs),
        period(programs), any(map(reads_table, programs)), np.uint64(lineup.seed), np.uint64(first_block), lineup.rotations,
        (rows.scores, rows.winners, rows.rounds, rows.rounds_won, totals), make_room(lane_masks, ruleset),
    )  # fmt: skip
    rows.plies, rows.passes, rows.blocked_rounds, rows.tied_blocked_rounds, rows.leader_rounds_won = map(int, totals)


def _kernel(highest: int) -> tuple[Callable[..., None], Masks]:
    # Only what is needed is loaded, or compiled.
    if highest == 6:
        from workers.engine.lanes.double_six import MASKS, play_double_six

        return play_double_six, MASKS
    from workers.engine.lanes import double_nine

    return double_nine.play_double_nine, double_nine.MASKS


def period(programs: Sequence[Program]) -> int:
    """The smallest number of places by which the programs can be moved round and stay as they are; divides their number."""
    size = len(programs)
    return next(
        shift
        for shift in range(1, size + 1)
        if size % shift == 0 and all(programs[place] == programs[place % shift] for place in range(size))
    )


def reads_table(program: Program) -> bool:
    """Whether a program asks for more than the own hand and the ends of the line."""
    weighed = [Feature(number) for number, weight in enumerate(program.weights or ()) if weight]
    return any(feature in _TABLE_FEATURES for feature in (*weighed, *(preference.feature for preference in program.prefer)))
