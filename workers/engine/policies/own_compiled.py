"""Policies of one's own that are compiled: a function of whole numbers, called inside the scalar kernel.

A class under the entry point group `blockyard.policies` whose `choose` is decorated so plays at the kernel's speed:

```python
class Last:
    name = "last"
    version = "1"

    @staticmethod
    @compiled
    def choose(seen, random):
        return len(seen.tiles) - 1
```

`seen` is a `Seen`, `random` eight whole numbers from 0 to 2^32 - 1, the decision's own: one below n is `random[k] * n >> 32`.
The answer is the number of a legal placement, a place in `seen.tiles`. The function must be what numba compiles without Python
objects: whole numbers, these arrays, loops, and functions decorated with `numba.njit`. It keeps nothing from one call to the
next, since everything global is a constant to it. Indexes are checked on the literal rules, where `blockyard policies check`
tries it, and not in the kernel.
"""

import ctypes
from collections.abc import Callable
from functools import cached_property
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from workers.engine.policies.program import kernel_order
from workers.engine.reference import View, ends_after
from workers.engine.rng import DecisionRandom
from workers.engine.rules import MAX_PLAYERS
from workers.engine.tiles import tile_ids
from workers.errors import PlayFailed

Integers = npt.NDArray[np.int64]

MAX_TILES: Final = 91
MAX_VALUES: Final = 13
MAX_CHOICES: Final = 2 * MAX_TILES
MAX_PLIES: Final = (MAX_TILES + 1) * MAX_PLAYERS
"""Every placement after as many passes as there may be, and those that end a round."""
RANDOM_NUMBERS: Final = 8
MAX_SAID: Final = 500
"""Characters of what numba says at most."""
UNSEEN, IN_HAND, ON_LINE = range(3)
PLY_COLUMNS: Final = 4

# Places in the whole numbers behind a `Seen`.
SEAT, LEADER, STOCK_SIZE, CHOICES, PLIES_SO_FAR, LINE_ENDS = range(6)
HAND_COUNTS: Final = LINE_ENDS + 2
PASSES: Final = HAND_COUNTS + MAX_PLAYERS
SCORES: Final = PASSES + MAX_PLAYERS
RANDOM: Final = SCORES + MAX_PLAYERS
LACKS: Final = RANDOM + RANDOM_NUMBERS
WHEREABOUTS: Final = LACKS + MAX_PLAYERS * MAX_VALUES
HELD: Final = WHEREABOUTS + MAX_TILES
CHOICE_TILES: Final = HELD + MAX_TILES
CHOICE_ENDS: Final = CHOICE_TILES + MAX_CHOICES
NEW_LEFT: Final = CHOICE_ENDS + MAX_CHOICES
NEW_RIGHT: Final = NEW_LEFT + MAX_CHOICES
PLIES: Final = NEW_RIGHT + MAX_CHOICES
SEEN_NUMBERS: Final = PLIES + PLY_COLUMNS * MAX_PLIES


class Seen(NamedTuple):
    """What a compiled policy sees: a `reference.View` in whole numbers, and nothing hidden; every array is of int64.

    Letters in shapes: L legal placements, S tiles of the set, V values, n seats, h tiles in the own hand, K plies so far. Tiles
    are numbered in rank order, as `tiles.tile_set` lists them: the fewer pips first.
    """

    tiles: Integers
    """[L] the tile of each legal placement: those at the left end first, in rank order, then those at the right end."""
    ends: Integers
    """[L] the value of the end that it joins; -1 for an opening."""
    new_left: Integers
    """[L] the value of the left end after it."""
    new_right: Integers
    """[L] the value of the right end after it."""
    line_ends: Integers
    """[2] the values of the ends now; -1 before the opening."""
    held: Integers
    """[h] the own hand's tiles in rank order."""
    whereabouts: Integers
    """[S] of each tile: 0 not seen, 1 in the own hand, 2 on the line."""
    hand_counts: Integers
    """[n] tiles in each hand."""
    passes: Integers
    """[n] passes of each seat in this round."""
    lacks: Integers
    """[n, V] 1 where a seat's whole hand is known to lack a value."""
    scores: Integers
    """[n] points of each seat in this match."""
    plies: Integers
    """[K, 4] the round so far: seat, tiles that it drew, tile (-1 for a pass), matched end (-1 for an opening or a pass)."""
    seat: int
    leader: int
    stock_size: int
    """Tiles that were not dealt and not drawn."""
    pips: Integers
    """[S] pips of each tile."""
    low: Integers
    """[S] the lower value of each tile; its pips less this is the higher one."""
    rules: Integers
    """[RULES] the ruleset, by the places that `workers.engine.scalar.layout` names."""


class CompiledChoice:
    """A decorated function: the literal rules call it, and the kernel by its `address`."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        self.__doc__ = function.__doc__

    @cached_property
    def _in_kernel(self) -> Any:
        return _compile(self.function, is_checked=False)

    @cached_property
    def _checked(self) -> Any:
        return _compile(self.function, is_checked=True)

    @property
    def address(self) -> int:
        """Where the kernel calls it, with pointers to the numbers, to those at LACKS and at PLIES, to rules and to figures.

        It answers a number plus one, 0 after an exception. Raises `PlayFailed` where it cannot be compiled.
        """
        return int(self._in_kernel.address)

    def __call__(self, view: View, random: DecisionRandom) -> Any:
        """The chosen placement, or the function's answer where it is none; raises `RuntimeError` where it raised, and
        `PlayFailed` where it cannot be compiled."""
        from workers.engine.scalar.layout import encode_rules, set_tables

        ordered = kernel_order(view, view.legal)
        figures = set_tables(view.ruleset.set)[1]
        numbers = encode_seen(view, random)
        arrays = (numbers, numbers[LACKS:], numbers[PLIES:], encode_rules(view.ruleset), figures)
        answer = self._checked.ctypes(*(array.ctypes.data_as(ctypes.POINTER(ctypes.c_int64)) for array in arrays)) - 1
        if answer == -1:
            raise RuntimeError("the compiled function raised an exception, which stands in the log")
        return ordered[answer] if 0 <= answer < len(ordered) else answer


def compiled(function: Callable[..., Any]) -> CompiledChoice:
    """Decorates the `choose` of a policy that is to play inside the kernel."""
    return CompiledChoice(function)


def encode_seen(view: View, random: DecisionRandom) -> Integers:
    """`[SEEN_NUMBERS]` a view by the places above, literally; `search.own` does the same in the kernel."""
    rank = tile_ids(view.ruleset.set)
    numbers = np.zeros(SEEN_NUMBERS, np.int64)
    numbers[SEAT], numbers[LEADER], numbers[STOCK_SIZE] = view.seat, view.leader, view.stock_size
    numbers[CHOICES], numbers[PLIES_SO_FAR] = len(view.legal), len(view.plies)
    numbers[LINE_ENDS : LINE_ENDS + 2] = view.line_ends or (-1, -1)
    for begin, figures in ((HAND_COUNTS, view.hand_counts), (PASSES, view.passes), (SCORES, view.scores)):
        numbers[begin : begin + len(figures)] = figures
    numbers[RANDOM : RANDOM + RANDOM_NUMBERS] = [random.next_word() >> 32 for _ in range(RANDOM_NUMBERS)]
    for seat, lacking in enumerate(view.lacks):
        for value in lacking:
            numbers[LACKS + seat * (view.ruleset.set + 1) + value] = 1
    for place, tile in enumerate(sorted(rank[tile] for tile in view.hand)):
        numbers[HELD + place] = tile
        numbers[WHEREABOUTS + tile] = IN_HAND
    for number, placement in enumerate(kernel_order(view, view.legal)):
        numbers[CHOICE_TILES + number] = rank[placement.tile]
        numbers[CHOICE_ENDS + number] = -1 if placement.end is None else placement.end
        numbers[NEW_LEFT + number], numbers[NEW_RIGHT + number] = ends_after(view.line_ends, placement)
    for number, ply in enumerate(view.plies):
        tile, end = -1, -1
        if ply.placement is not None:
            tile = rank[ply.placement.tile]
            end = -1 if ply.placement.end is None else ply.placement.end
            numbers[WHEREABOUTS + tile] = ON_LINE
        begin = PLIES + PLY_COLUMNS * number
        numbers[begin : begin + PLY_COLUMNS] = ply.seat, len(ply.drawn), tile, end
    return numbers


def _compile(function: Callable[..., Any], *, is_checked: bool) -> Any:
    """The function behind pointers, as machine code that C can call; raises `PlayFailed` where numba cannot compile it."""
    from workers.engine.compile import load_numba

    load_numba()
    import numba

    from workers.engine.scalar import layout

    carray, types = numba.carray, numba.types  # type: ignore[attr-defined]
    own = numba.njit(function, error_model="numpy", boundscheck=is_checked, forceinline=not is_checked)
    pointer: Any = types.CPointer(types.int64)  # type: ignore[no-untyped-call]
    players_at, tiles_at, values_at = layout.PLAYERS, layout.TILES, layout.VALUES
    pips_at, low_at, rules_size, figures_size = layout.PIPS, layout.LOW, layout.RULES, layout.TILES_NUMBERS

    def enter(to_numbers: Any, to_lacks: Any, to_plies: Any, to_rules: Any, to_figures: Any) -> Any:
        numbers = carray(to_numbers, SEEN_NUMBERS)
        rules = carray(to_rules, rules_size)
        figures = carray(to_figures, figures_size)
        players, size, values = rules[players_at], rules[tiles_at], rules[values_at]
        choices, plies, seat = numbers[CHOICES], numbers[PLIES_SO_FAR], numbers[SEAT]
        seen = Seen(
            numbers[CHOICE_TILES : CHOICE_TILES + choices], numbers[CHOICE_ENDS : CHOICE_ENDS + choices],
            numbers[NEW_LEFT : NEW_LEFT + choices], numbers[NEW_RIGHT : NEW_RIGHT + choices],
            numbers[LINE_ENDS : LINE_ENDS + 2], numbers[HELD : HELD + numbers[HAND_COUNTS + seat]],
            numbers[WHEREABOUTS : WHEREABOUTS + size], numbers[HAND_COUNTS : HAND_COUNTS + players],
            numbers[PASSES : PASSES + players], carray(to_lacks, (players, values)),
            numbers[SCORES : SCORES + players], carray(to_plies, (plies, PLY_COLUMNS)), seat, numbers[LEADER],
            numbers[STOCK_SIZE], figures[pips_at : pips_at + size], figures[low_at : low_at + size], rules,
        )  # fmt: skip
        return own(seen, numbers[RANDOM : RANDOM + RANDOM_NUMBERS]) + 1

    try:
        return numba.cfunc(types.int64(*[pointer] * 5))(enter)
    except numba.core.errors.NumbaError as error:
        said = " ".join(str(error).split())[:MAX_SAID]
        raise PlayFailed(f"{function.__module__}.{function.__qualname__} cannot be compiled: {said}") from error
