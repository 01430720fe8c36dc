"""The engine's door: a lineup's blocks in, rows of finished matches out.

Letters in shapes: M matches, n seats, R rotations of a block.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from workers.engine.compile import SEARCH_KERNEL, WIDE_KERNEL, is_cold, warm
from workers.engine.policies import Policy, resolve_policy
from workers.engine.policies.own import is_literal
from workers.engine.reference import MatchRecord, play_match
from workers.engine.rules import Ruleset, resolve_ruleset
from workers.errors import PlayFailed

ENGINE_VERSION: Final = "1"
"""Raised whenever any integer of any result changes; never for speed."""

LANE_KERNEL: Final = "lanes"
SCALAR_KERNEL: Final = "scalar"
"""The everyday kernels."""
_PLAYED: Final[Mapping[str, tuple[object, str]]] = {
    LANE_KERNEL: ("block", "random"), WIDE_KERNEL: ({"set": 9}, "random"), SCALAR_KERNEL: ({"set": 12}, "random"),
    SEARCH_KERNEL: ("block", "noisy"),
}  # fmt: skip
"""By kernel: a ruleset and a policy that it plays."""
_EVERYDAY: Final = (LANE_KERNEL, SCALAR_KERNEL)
LANE_PLAYERS: Final = 4
LANE_HAND: Final = 14
"""The most players and tiles of a hand in lanes, on whatever set."""
LITERAL: Final = "literal"
"""Where policies written in Python play: on the literal rules, without a kernel."""
_ready: Final[set[str]] = set()
"""Kernels that are loaded in this process."""


@dataclass(frozen=True, slots=True)
class Lineup:
    """Who plays what, with which seed: one scenario as the engine sees it.

    `policies[i]` is the policy in place i; in rotation k (0 to R - 1) it sits in seat (i + k) mod n. Raises `InvalidInput`
    where a policy cannot play the ruleset.
    """

    ruleset: Ruleset
    policies: tuple[Policy, ...]
    rotations: int
    seed: int

    def __post_init__(self) -> None:
        for place, policy in enumerate(self.policies):
            policy.check(self.ruleset, f"policies[{place}]")

    @property
    def is_quick(self) -> bool:
        """Whether every policy is a program: any other may think for seconds."""
        return all(policy.is_program for policy in self.policies)

    def seated(self, rotation: int) -> tuple[int, ...]:
        """By seat, the place whose policy sits there in this rotation."""
        players = self.ruleset.players
        return tuple((seat - rotation) % players for seat in range(players))


@dataclass(slots=True)
class MatchRows:
    """Finished matches of whole blocks, in order: match m of the rows is rotation m mod R of its block."""

    scores: npt.NDArray[np.int32]
    """[M, n] final scores by seat."""
    winners: npt.NDArray[np.uint8]
    """[M] mask of the winning seats: 0 for an unfinished match, several bits for a shared win."""
    rounds: npt.NDArray[np.int32]
    """[M] rounds played."""
    rounds_won: npt.NDArray[np.int64]
    """[R, n] rounds won, by rotation and seat."""
    plies: int = 0
    passes: int = 0
    blocked_rounds: int = 0
    tied_blocked_rounds: int = 0
    leader_rounds_won: int = 0

    @classmethod
    def empty(cls, matches: int, players: int, rotations: int) -> "MatchRows":
        """Rows to be filled."""
        return cls(
            np.zeros((matches, players), np.int32), np.zeros(matches, np.uint8), np.zeros(matches, np.int32),
            np.zeros((rotations, players), np.int64),
        )  # fmt: skip


def play_blocks(lineup: Lineup, first_block: int, blocks: int) -> MatchRows:
    """Play whole blocks, compiled; equal to `play_literally` in every row.

    Memory grows with the rows (about 30 bytes a match): callers keep a call to some 200,000 matches.
    """
    kernel = kernel_of(lineup.ruleset, lineup.policies)
    if kernel == LITERAL:
        return play_literally(lineup, first_block, blocks)
    rows = MatchRows.empty(blocks * lineup.rotations, lineup.ruleset.players, lineup.rotations)
    if kernel not in _EVERYDAY and kernel not in _ready:
        warm_up(kernel)
    _play(kernel, lineup, first_block, rows)
    return rows


def _play(kernel: str, lineup: Lineup, first_block: int, rows: MatchRows) -> None:
    # Each kernel is imported on first use: who plays nothing need not wait for the compiler to load.
    if kernel in (LANE_KERNEL, WIDE_KERNEL):
        from workers.engine.lanes.door import play_in_lanes

        play_in_lanes(lineup, first_block, rows)
    else:
        from workers.engine.scalar.door import play_scalar

        play_scalar(lineup, first_block, rows)


def kernel_of(ruleset: Ruleset, policies: Sequence[Policy] = ()) -> str:
    """Which kernel plays: the lanes double-six and usual hands of double-nine, whatever the other parameters, as long as all
    policies are programs."""
    if any(is_literal(policy.plan) for policy in policies):
        return LITERAL
    if not all(policy.is_program for policy in policies):
        return SEARCH_KERNEL
    if ruleset.set == 6:
        return LANE_KERNEL
    few = ruleset.set == 9 and ruleset.players <= LANE_PLAYERS and ruleset.hand <= LANE_HAND
    return WIDE_KERNEL if few else SCALAR_KERNEL


def warm_up(kernel: str | None = None) -> None:
    """Compile the everyday kernels, or this one, or load it from the cache, so that the first match does not wait.

    For `LITERAL` there is nothing to do.

    Call it once before forking workers and before telling anyone that the process is ready.
    """
    wanted = _EVERYDAY if kernel is None else (kernel,) if kernel in _PLAYED else ()

    def load() -> None:
        from workers.engine.scalar.count import count_matches

        for each in wanted:
            preset, policy = _PLAYED[each]
            lineup = Lineup(resolve_ruleset(preset, 2), (resolve_policy(policy, 2),) * 2, 1, 0)
            _play(each, lineup, 0, MatchRows.empty(1, 2, 1))
        rows = MatchRows.empty(1, 2, 1)
        count_matches(rows.scores, rows.winners, rows.rounds, 1, False, 1, 0, 1)

    if wanted:
        warm(load, kernel)
    _ready.update(wanted)


def replay_match(lineup: Lineup, block: int, rotation: int) -> MatchRecord:
    """One match again by the literal rules, with every ply.

    Where a policy searches, which takes long literally, the kernel says what it chose.
    """
    if _replays_literally(lineup):
        return replay_literally(lineup, block, rotation)
    from workers.engine.scalar.door import choices_of

    if SEARCH_KERNEL not in _ready:
        warm_up(SEARCH_KERNEL)
    seated = tuple(lineup.policies[place] for place in lineup.seated(rotation))
    chosen = choices_of(Lineup(lineup.ruleset, seated, 1, lineup.seed), block)
    return play_match(lineup.ruleset, lineup.seed, block, [lambda _view, _random: next(chosen)] * lineup.ruleset.players)


def replay_compiles(lineup: Lineup) -> bool:
    """Whether `replay_match` has to compile a kernel first, which takes a minute or more."""
    return not _replays_literally(lineup) and is_cold(SEARCH_KERNEL)


def _replays_literally(lineup: Lineup) -> bool:
    return lineup.is_quick or kernel_of(lineup.ruleset, lineup.policies) == LITERAL


def replay_literally(lineup: Lineup, block: int, rotation: int) -> MatchRecord:
    """One match again, every choice by the policies' literal form; raises `PlayFailed` with the match's address."""
    try:
        choosers = [lineup.policies[place].chooser() for place in lineup.seated(rotation)]
        return play_match(lineup.ruleset, lineup.seed, block, choosers)
    except PlayFailed as failure:
        number = block * lineup.rotations + rotation
        raise PlayFailed(f"match {number} (block {block}, rotation {rotation}, seed {lineup.seed}): {failure}") from failure


def play_literally(lineup: Lineup, first_block: int, blocks: int) -> MatchRows:
    """The rows by the literal rules: what judges the kernels, and where policies written in Python play."""
    players = lineup.ruleset.players
    rows = MatchRows.empty(blocks * lineup.rotations, players, lineup.rotations)
    for match in range(blocks * lineup.rotations):
        block, rotation = divmod(match, lineup.rotations)
        _enter(rows, match, rotation, replay_literally(lineup, first_block + block, rotation))
    return rows


def _enter(rows: MatchRows, match: int, rotation: int, record: MatchRecord) -> None:
    rows.scores[match] = record.scores
    rows.winners[match] = sum(1 << seat for seat in record.winners)
    rows.rounds[match] = len(record.rounds)
    for played in record.rounds:
        end = played.end
        rows.plies += len(played.plies)
        rows.passes += sum(ply.placement is None for ply in played.plies)
        rows.blocked_rounds += end.reason == "blocked"
        rows.tied_blocked_rounds += end.reason == "blocked" and end.winner is None
        if end.winner is not None:
            rows.leader_rounds_won += end.winner == played.leader
            rows.rounds_won[rotation, end.winner] += 1
