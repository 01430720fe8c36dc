"""Matches played here, without Redis: blocks of one lineup spread over processes, tallies merged as they come.

The tally is the same for any number of processes and any size of the pieces: addition does not mind the order. Memory does
not grow with the number of matches.
"""

import multiprocessing
import signal
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from types import FrameType
from typing import Any, Final

from service.local.bond import die_with_parent
from workers.engine.play import Lineup, play_blocks
from workers.errors import PlayFailed
from workers.stats.tally import Tally, tally_rows

PIECE_SECONDS: Final = 0.4
"""How long a piece should take: progress moves, and Ctrl-C is heard soon."""
FIRST_PIECE: Final = 1_000
"""Matches of the first piece; a block where a policy may think for long."""
LARGEST_PIECE: Final = 200_000
"""Matches of a piece; rows of a call are held in memory."""
QUIET_SECONDS: Final = 0.2
"""How long to wait for a piece before looking whether we were interrupted."""
GROWTH: Final = 8
"""A piece may be at most this many times as large as the one before."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What was played, and in how many seconds, start-up excluded."""

    tally: Tally
    seconds: float


@dataclass(slots=True)
class _Pieces:
    """Hands out runs of blocks, each sized by how fast the last one went."""

    lineup: Lineup
    blocks: int
    handed_out: int = 0

    def next(self, last: int, seconds: float) -> tuple[int, int] | None:
        """The next (first block, blocks) for a player whose last piece was of `last` blocks; None when all are out."""
        if self.handed_out >= self.blocks:
            return None
        rotations = self.lineup.rotations
        first = FIRST_PIECE if self.lineup.is_quick else rotations
        wished = min(last * PIECE_SECONDS / max(seconds, 1e-6), last * GROWTH) if last else first / rotations
        size = max(1, min(int(wished), LARGEST_PIECE // rotations, self.blocks - self.handed_out))
        piece = (self.handed_out, size)
        self.handed_out += size
        return piece


def play_here(lineup: Lineup, blocks: int, processes: int, progress: Callable[[int], None] = lambda _: None) -> Outcome:
    """Play blocks 0 to `blocks` - 1 in `processes` processes; `progress` is told the matches of each finished piece.

    The engine must be warm. Raises `PlayFailed`; an interruption ends every process.
    """
    pieces = _Pieces(lineup, blocks)
    tally = Tally.empty(lineup.ruleset.players)
    with _Interruption() as interruption, ExitStack() as resources:
        if processes == 1 or blocks * lineup.rotations <= FIRST_PIECE:
            parts = _play_alone(lineup, pieces)
        else:
            parts = _play_together(resources.enter_context(_players(lineup, processes)), pieces)
        begun = time.perf_counter()
        for part in parts:
            interruption.check()
            if part is not None:
                tally.merge(part)
                progress(part.matches)
        return Outcome(tally, time.perf_counter() - begun)


class _Interruption:
    """Remembers Ctrl-C until `check` raises it: Python drops an interrupt that arrives within a fork's hooks."""

    def __init__(self) -> None:
        self._came = False
        self._before: Any = None

    def __enter__(self) -> "_Interruption":
        if threading.current_thread() is threading.main_thread():
            self._before = signal.signal(signal.SIGINT, self._take)
        return self

    def __exit__(self, *_: object) -> None:
        if self._before is not None:
            signal.signal(signal.SIGINT, self._before)

    def check(self) -> None:
        """Raises `KeyboardInterrupt` once there was one."""
        if self._came:
            raise KeyboardInterrupt

    def _take(self, _number: int, _frame: FrameType | None) -> None:
        self._came = True


def _play_alone(lineup: Lineup, pieces: _Pieces) -> Iterator[Tally | None]:
    piece = pieces.next(0, 0.0)
    while piece is not None:
        begun = time.perf_counter()
        yield tally_rows(lineup, play_blocks(lineup, *piece), piece[0])
        piece = pieces.next(piece[1], time.perf_counter() - begun)


def _play_together(players: "list[Connection[Any, Any]]", pieces: _Pieces) -> Iterator[Tally | None]:
    """Finished pieces as they come; None whenever there was none for a moment."""
    busy: dict[Connection[Any, Any], int] = {}
    for player in players:
        if piece := pieces.next(0, 0.0):
            player.send(piece)
            busy[player] = piece[1]
    while busy:
        yield None
        for ready in wait(list(busy), timeout=QUIET_SECONDS):
            assert isinstance(ready, Connection)
            try:
                answer = ready.recv()
            except (EOFError, ConnectionError):
                raise PlayFailed("a process that played ended before its piece was done (out of memory?)") from None
            if isinstance(answer, Exception):
                raise answer
            part, seconds = answer
            if piece := pieces.next(busy.pop(ready), seconds):
                ready.send(piece)
                busy[ready] = piece[1]
            yield part


@contextmanager
def _players(lineup: Lineup, count: int) -> "Iterator[list[Connection[Any, Any]]]":
    """Processes that play what they are sent, ended with the block."""
    # Forked processes find the engine loaded; elsewhere than on Linux a fork of a loaded process is not safe.
    context: Any = multiprocessing.get_context("fork" if sys.platform.startswith("linux") else "spawn")
    started: list[BaseProcess] = []
    ends: list[Connection[Any, Any]] = []
    try:
        for _ in range(count):
            ours, theirs = context.Pipe()
            player = context.Process(target=_play_what_comes, args=(lineup, theirs, die_with_parent()), daemon=True)
            with warnings.catch_warnings():
                # Threads of the linear algebra library sleep, and the engine uses none.
                warnings.simplefilter("ignore", DeprecationWarning)
                player.start()
            theirs.close()
            started.append(player)
            ends.append(ours)
        yield ends
    finally:
        for player in started:
            player.kill()
        for player, end in zip(started, ends, strict=False):
            player.join()
            end.close()


def _play_what_comes(lineup: Lineup, pieces: "Connection[Any, Any]", tie: Callable[[], None] | None) -> None:
    if tie is not None:
        tie()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent hears Ctrl-C, and ends us
    while True:
        try:
            first, count = pieces.recv()
        except EOFError:
            return
        begun = time.perf_counter()
        try:
            part = tally_rows(lineup, play_blocks(lineup, first, count), first)
        except Exception as error:
            pieces.send(error)
            return
        pieces.send((part, time.perf_counter() - begun))
