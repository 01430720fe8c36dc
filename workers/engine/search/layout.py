"""What the kernel reads of policies that consult others: plans as rows of whole numbers, and room to think in.

Letters in shapes: P places of a line-up, S stages of all plans together, W worlds of the policy that samples most,
I iterations of the one that goes down a tree most often.

Where a set has at most `WORD_TILES` tiles, a set of tiles is one word here.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np

from workers.engine.policies.ismcts import root_tables
from workers.engine.policies.own_compiled import SEEN_NUMBERS
from workers.engine.policies.pimc import WORD_TILES
from workers.engine.policies.plan import STAGE_NUMBERS, Kind, Plan, Stage
from workers.engine.policies.program import FEATURES, MAX_PREFERENCES, Program
from workers.engine.scalar.layout import MAX_SEATS, Integers, Words

# Columns of a stage.
KIND = 0
NUMBERS = 1
FINISH = NUMBERS + STAGE_NUMBERS
KEYS = FINISH + 1
STAGE_COLUMNS = KEYS + 1

_WORLDS: Final = {Kind.PIMC: 0, Kind.ENDGAME: 1, Kind.ISMCTS: 0}
"""By kind of stage: which of its numbers is how many worlds it looks at."""
MAX_KEYS: Final = MAX_PREFERENCES + 1


# Columns of the stack of perfect play: numbers, and sets of tiles.
MOVER, LEFT_END, RIGHT_END, SIDE, BEST, MOST, ALPHA, BETA = range(8)
STACK_COLUMNS = 8
REST, LATER, PLACED = range(3)
STACK_SETS = 3
"""The tiles that are still to be tried at the end that is being tried, those for the other end, and the one that lies now."""

# Columns of a tree; a row is a node, and the first one stands for the decision itself.
SEAT, PLACED_AS, PARENT, NEWEST, OLDER, VISITS, AVAILABLE, TOTAL = range(8)
NODE_COLUMNS = 8
"""Whose placement it stands for, coded as in `scalar.choose`; its parent's row; its own child that was tried last, and its
sibling that was tried before it, or -1; and the figures of `policies.ismcts.Node`."""

# Places in what a policy of somebody's own did wrong: whether, in which match of the call, and where it sat.
FAILED, FAILED_MATCH, FAILED_PLACE, FAILED_SEAT, FAILED_ANSWER = range(5)
FAILURE_NUMBERS = 5


class Search(NamedTuple):
    """The plans of a line-up, and room."""

    firsts: Integers
    """[P] the row of each place's first stage; the others follow it."""
    stages: Integers
    """[S, STAGE_COLUMNS] kind, parameters, finish of the program and the number of its keys."""
    keys: Integers
    """[S, MAX_KEYS, FEATURES] a program as weighted sums by which placements are narrowed one after the other."""
    programs: Integers
    """[S, PROGRAM_WORDS] the same program as it is encoded elsewhere."""
    worlds: Words
    """[W, MAX_SEATS] room: the hands of each sampled world."""
    bases: Words
    """[W] room: where the random numbers of each world's playouts begin."""
    hands: Words
    """[2 * MAX_SEATS] room: the hands of a playout."""
    lacks: Words
    """[MAX_SEATS] room: what seats are known to lack in a playout."""
    stack: Integers
    """[WORD_TILES, STACK_COLUMNS] room: the way down a tree, a row for each tile placed."""
    stack_sets: Words
    """[WORD_TILES, STACK_SETS] room: the sets of tiles that belong to it."""
    tree: Integers
    """[I + 1, NODE_COLUMNS] room: a tree, one node for each iteration."""
    roots_of_logs: Integers
    """[I + 1] the first table of `policies.ismcts.root_tables`."""
    inverse_roots: Integers
    """[I + 1] the second one."""
    entries: Words
    """[S] where the code of a policy of somebody's own is called, 0 where a stage has none."""
    seen: Integers
    """[SEEN_NUMBERS] what it sees, by the places of `policies.own_compiled`."""
    failure: Integers
    """[FAILURE_NUMBERS] its first answer that was none."""


def encode_search(plans: Sequence[Plan]) -> Search:
    """The plans by place, as the kernel reads them, with the room that they need."""
    chains = [plan.stages() for plan in plans]
    firsts = np.cumsum([0, *(len(chain) for chain in chains[:-1])]).astype(np.int64)
    stages = [stage for chain in chains for stage in chain]
    worlds = max([1, *(stage.numbers[_WORLDS[stage.kind]] for stage in stages if stage.kind in _WORLDS)])
    iterations = max([0, *(stage.numbers[0] for stage in stages if stage.kind is Kind.ISMCTS)])
    return Search(
        firsts, np.array([_columns(stage) for stage in stages], np.int64), np.array([_keys(stage.program) for stage in stages]),
        np.array([stage.program.simplified().encode() for stage in stages], np.int64),
        np.zeros((worlds, MAX_SEATS), np.uint64), np.zeros(worlds, np.uint64), np.zeros(2 * MAX_SEATS, np.uint64),
        np.zeros(MAX_SEATS, np.uint64), np.zeros((WORD_TILES, STACK_COLUMNS), np.int64),
        np.zeros((WORD_TILES, STACK_SETS), np.uint64), np.zeros((iterations + 1, NODE_COLUMNS), np.int64),
        *root_tables(iterations),
        np.array([stage.choice.address if stage.choice else 0 for stage in stages], np.uint64),
        np.zeros(SEEN_NUMBERS, np.int64), np.zeros(FAILURE_NUMBERS, np.int64),
    )  # fmt: skip


def _columns(stage: Stage) -> list[int]:
    program = stage.program.simplified()
    numbers = [*stage.numbers, *[0] * (STAGE_NUMBERS - len(stage.numbers))]
    return [stage.kind, *numbers, program.finish, len(program.prefer) + (program.weights is not None)]


def _keys(program: Program) -> Integers:
    """A preference is a weighted sum of one feature."""
    program = program.simplified()
    keys = np.zeros((MAX_KEYS, FEATURES), np.int64)
    for place, preference in enumerate(program.prefer):
        keys[place, preference.feature] = -1 if preference.fewest else 1
    if program.weights is not None:
        keys[len(program.prefer)] = program.weights
    return keys
