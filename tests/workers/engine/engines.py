"""Both engines behind one face: what they played, row by row and ply by ply, and how trees are walked through the kernel."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, cast

import numpy as np

from workers.engine.deal import Deal
from workers.engine.play import Lineup, MatchRows, play_blocks, play_literally, replay_literally
from workers.engine.policies import Policy, PolicyValue, resolve_policy
from workers.engine.policies.plan import Programmed
from workers.engine.policies.program import Finish, Program
from workers.engine.rules import Ruleset, resolve_ruleset
from workers.engine.scalar import round as kernel_round
from workers.engine.scalar.choose import SCRIPTED
from workers.engine.scalar.door import GivenStart, play_scalar
from workers.engine.tiles import Tile, tile_set

ROW_FIELDS = tuple(MatchRows.__slots__)
GOLDEN = Path(__file__).parents[2] / "golden"


def golden(name: str) -> dict[str, Any]:
    """A file of known answers, with its provenance inside."""
    document: dict[str, Any] = json.loads((GOLDEN / f"{name}.json").read_text())
    assert document["provenance"]
    return document


def tile_of(pair: Sequence[int]) -> Tile:
    """A tile written either way round."""
    low, high = sorted(pair)
    return low, high


def lineup(
    policies: Sequence[PolicyValue], *, ruleset: Any = "block", seed: int = 1, rotations: int | None = None
) -> Lineup:
    """A line-up with every rotation, unless fewer are asked for."""
    players = len(policies)
    resolved = tuple(resolve_policy(value, players) for value in policies)
    return Lineup(resolve_ruleset(ruleset, players), resolved, players if rotations is None else rotations, seed)


def difference(one: MatchRows, other: MatchRows) -> list[str]:
    """The names of the fields in which rows differ."""
    return [name for name in ROW_FIELDS if not np.array_equal(getattr(one, name), getattr(other, name))]


def assert_same_rows(playing: Lineup, first_block: int, blocks: int) -> None:
    """Both engines give the same rows."""
    literal = play_literally(playing, first_block, blocks)
    assert difference(literal, play_blocks(playing, first_block, blocks)) == []


def share(policies: Sequence[PolicyValue], blocks: int, seed: int = 1) -> float:
    """Of matches, how many the first place won."""
    rows = play_blocks(lineup(policies, seed=seed), 0, blocks)
    wins = sum((rows.winners[rotation :: len(policies)] == 1 << rotation).sum() for rotation in range(len(policies)))
    return float(wins / len(rows.winners))


PlyFacts = tuple[int, int, int, Tile | None, int | None]
"""Round, seat, tiles drawn, placed tile and matched end (None for a pass; the end also for an opening)."""


def literal_plies(playing: Lineup, block: int, rotation: int) -> list[PlyFacts]:
    """Every ply of a match by the literal rules."""
    facts: list[PlyFacts] = []
    for number, played in enumerate(replay_literally(playing, block, rotation).rounds):
        for ply in played.plies:
            tile, end = ply.placement or (None, None)
            facts.append((number, ply.seat, len(ply.drawn), tile, end))
    return facts


def compiled_plies(playing: Lineup, block: int, rotation: int) -> list[PlyFacts]:
    """Every ply of the same match as the kernel made it."""
    rows = MatchRows.empty(rotation + 1, playing.ruleset.players, playing.rotations)
    trace = np.full((200_000, kernel_round.TRACE_COLUMNS), -9, np.int64)
    play_scalar(playing, block, rows, trace=trace)
    before = MatchRows.empty(rotation, playing.ruleset.players, playing.rotations)
    play_scalar(playing, block, before)
    return _facts(playing.ruleset, trace[before.plies : rows.plies])


def _facts(ruleset: Ruleset, trace: np.ndarray[Any, Any]) -> list[PlyFacts]:
    tiles = tile_set(ruleset.set)
    return [
        (
            int(row[kernel_round.ROUND]),
            int(row[kernel_round.SEAT]),
            int(row[kernel_round.DRAWN]),
            None if row[kernel_round.TILE] < 0 else tiles[row[kernel_round.TILE]],
            None if row[kernel_round.END] < 0 else int(row[kernel_round.END]),
        )
        for row in trace
    ]


@dataclass(frozen=True)
class Branch:
    """One way to play a deal out, as the kernel played it."""

    ruleset: Ruleset
    trace: np.ndarray[Any, Any]
    chance: Fraction
    """Under uniform placements."""
    blocked: bool
    winner: int | None
    credit: tuple[int, ...]

    @property
    def plies(self) -> list[PlyFacts]:
        """Every ply."""
        return _facts(self.ruleset, self.trace)

    @property
    def placements(self) -> int:
        """Tiles placed."""
        return int((self.trace[:, kernel_round.TILE] >= 0).sum())

    @property
    def passes(self) -> int:
        """Passes, closing ones included."""
        return len(self.trace) - self.placements


def scripted(players: int) -> tuple[Policy, ...]:
    """Policies that play what a script says."""
    program = Program(finish=cast(Finish, SCRIPTED))
    return (Policy("scripted", "scripted", "1", Programmed(program), "scripted"),) * players


def walk_compiled(
    ruleset: Any, hands: Sequence[Sequence[Sequence[int]]], to_move: int, stock: Sequence[Sequence[int]] = (),
    line_ends: tuple[int, int] | None = None, passes_in_a_row: int = 0,
) -> Iterator[Branch]:  # fmt: skip
    """Every branch of a position's tree, each driven through the kernel from there to the end of the round."""
    players = len(hands)
    document = {"preset": ruleset} if isinstance(ruleset, str) else ruleset
    rules = resolve_ruleset({**document, "opening": "lot", "ends": {"rounds": 1}}, players)
    playing = Lineup(rules, scripted(players), 1, 0)
    deal = Deal(tuple(tuple(map(tile_of, hand)) for hand in hands), tuple(map(tile_of, stock)))
    given = GivenStart(deal, to_move, line_ends, passes_in_a_row)
    script = np.zeros(256, np.int64)
    trace = np.zeros((512, kernel_round.TRACE_COLUMNS), np.int64)
    while True:
        rows = MatchRows.empty(1, players, 1)
        play_scalar(playing, 0, rows, trace=trace, given=given, script=script)
        choices = [int(count) for count in trace[: rows.plies, kernel_round.CHOICES] if count > 1]
        chance = Fraction(1)
        for count in choices:
            chance /= count
        won = np.flatnonzero(rows.rounds_won[0])
        yield Branch(
            rules, trace[: rows.plies].copy(), chance, bool(rows.blocked_rounds), int(won[0]) if len(won) else None,
            tuple(map(int, rows.scores[0])),
        )  # fmt: skip
        # The script counts up like an odometer whose wheels are the decisions of the branch just played.
        wheel = len(choices) - 1
        while wheel >= 0 and script[wheel] == choices[wheel] - 1:
            wheel -= 1
        if wheel < 0:
            return
        script[wheel] += 1
        script[wheel + 1 :] = 0
