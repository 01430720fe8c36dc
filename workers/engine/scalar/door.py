"""The scalar kernel's door from Python: casts and checks what the compiled code takes for granted.

Letters in shapes: n seats, R rotations, M matches.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from workers.engine.deal import Deal
from workers.engine.lanes.subsets import hand_tables
from workers.engine.policies.program import PROGRAM_WORDS, Program
from workers.engine.reference import LineEnds, Placement
from workers.engine.rules import Ruleset
from workers.engine.scalar import layout
from workers.engine.scalar.match import TOTALS, play_matches
from workers.engine.scalar.round import CHOICES, END, TILE, TRACE_COLUMNS
from workers.engine.search.layout import FAILED, FAILED_ANSWER, FAILED_MATCH, FAILED_PLACE, FAILED_SEAT, encode_search
from workers.engine.tiles import Tile, tile_ids, tile_set
from workers.errors import PlayFailed

if TYPE_CHECKING:
    from workers.engine.play import Lineup, MatchRows

Trace = npt.NDArray[np.int64]
"""[plies, TRACE_COLUMNS] what the kernel did, ply by ply; the columns are named in `round`."""

_TRACE_ROWS = 4_000
"""Plies of a match that is replayed, at first: more than most have."""
_NOTHING_GIVEN = np.zeros(0, np.int64)
_NO_SCRIPT = np.zeros(1, np.int64)
_NO_TRACE = np.zeros((0, TRACE_COLUMNS), np.int64)


@dataclass(frozen=True, slots=True)
class GivenStart:
    """Where every round starts, in place of a deal from the random numbers: for tests that drive the kernel."""

    deal: Deal
    leader: int
    """Who is to move."""
    line_ends: LineEnds | None = None
    passes_in_a_row: int = 0


def play_scalar(
    lineup: "Lineup", first_block: int, rows: "MatchRows", *, trace: Trace = _NO_TRACE, given: GivenStart | None = None,
    script: npt.NDArray[np.int64] = _NO_SCRIPT,
) -> None:  # fmt: skip
    """Play the matches of `rows`, which must be empty, from `first_block` on.

    With `trace`, rows of it are filled as far as it goes; `given` and `script` belong to programs with the finish SCRIPTED.
    """
    ruleset = lineup.ruleset
    plans = [policy.plan for policy in lineup.policies]
    are_programs = all(policy.is_program for policy in lineup.policies)
    programs = [policy.program.simplified() for policy in lineup.policies] if are_programs else []
    masks, figures = layout.set_tables(ruleset.set)
    # On larger sets hands are shuffled, and these tables are not looked at.
    tables = hand_tables(ruleset.players, ruleset.hand) if ruleset.set == 6 else hand_tables(1, 1)
    totals = np.zeros(TOTALS, np.int64)
    search = None if are_programs else encode_search(plans)
    play_matches(
        layout.encode_rules(ruleset), masks, figures, tables.figures, tables.begins, tables.before, tables.segments,
        tables.lowers, encode_programs(programs), np.uint64(lineup.seed),
        np.uint64(first_block), lineup.rotations, _NOTHING_GIVEN if given is None else encode_start(ruleset, given), script,
        trace, rows.scores, rows.winners, rows.rounds, rows.rounds_won, totals, search,
    )  # fmt: skip
    if search is not None and search.failure[FAILED]:
        raise PlayFailed(_what_failed(lineup, first_block, search.failure))
    rows.plies, rows.passes, rows.blocked_rounds, rows.tied_blocked_rounds, rows.leader_rounds_won = map(int, totals)


def _what_failed(lineup: "Lineup", first_block: int, failure: npt.NDArray[np.int64]) -> str:
    """The address of a match and what a policy of somebody's own did wrong in it."""
    block, rotation = divmod(int(failure[FAILED_MATCH]), lineup.rotations)
    name = lineup.policies[failure[FAILED_PLACE]].name
    answer = int(failure[FAILED_ANSWER])
    did = "raised an exception, which stands in the log" if answer == -1 else f"answered {answer}, which is no legal placement"
    return (
        f"match {(first_block + block) * lineup.rotations + rotation} (block {first_block + block}, rotation {rotation}, seed"
        f" {lineup.seed}): policy {name} in seat {failure[FAILED_SEAT]} {did}"
    )


def choices_of(lineup: "Lineup", block: int) -> Iterator[Placement]:
    """The placements of a line-up's match without rotation, in turn, wherever there was more than one."""
    from workers.engine.play import MatchRows

    tiles = tile_set(lineup.ruleset.set)
    length = _TRACE_ROWS
    while True:
        rows = MatchRows.empty(1, lineup.ruleset.players, 1)
        trace = np.zeros((length, TRACE_COLUMNS), np.int64)
        play_scalar(lineup, block, rows, trace=trace)
        if rows.plies <= length:
            break
        length = rows.plies
    for row in trace[: rows.plies]:
        if row[CHOICES] > 1:
            yield Placement(tiles[row[TILE]], None if row[END] < 0 else int(row[END]))


def encode_programs(programs: Sequence[Program]) -> npt.NDArray[np.int64]:
    """`[n, PROGRAM_WORDS]` the programs by place."""
    encoded = np.zeros((len(programs), PROGRAM_WORDS), np.int64)
    for place, program in enumerate(programs):
        encoded[place] = program.encode()
    return encoded


def encode_start(ruleset: Ruleset, given: GivenStart) -> npt.NDArray[np.int64]:
    """A given start as the kernel takes it."""
    numbers = tile_ids(ruleset.set)
    hands = np.zeros(2 * layout.MAX_SEATS, np.uint64)
    for seat, hand in enumerate(given.deal.hands):
        hands[2 * seat], hands[2 * seat + 1] = hand_words(ruleset, hand)
    encoded = np.zeros(layout.GIVEN_STOCK + len(given.deal.stock), np.int64)
    encoded[: 2 * layout.MAX_SEATS] = hands.view(np.int64)
    encoded[layout.GIVEN_LEADER] = given.leader
    encoded[layout.GIVEN_ENDS : layout.GIVEN_ENDS + 2] = given.line_ends or (layout.NONE, layout.NONE)
    encoded[layout.GIVEN_PASSES] = given.passes_in_a_row
    encoded[layout.GIVEN_STOCK :] = [numbers[tile] for tile in given.deal.stock]
    return encoded


def hand_words(ruleset: Ruleset, hand: Sequence[Tile]) -> tuple[int, int]:
    """A hand as its pair of words."""
    mask = sum(1 << tile_ids(ruleset.set)[tile] for tile in hand)
    return mask & (1 << 64) - 1, mask >> 64
