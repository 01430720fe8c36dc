"""The pages of replays: a scenario's matches, and any moment of one: the table, the hands, the passes and the scores."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from service.drawing import Captions, draw_line_in_page, draw_tile
from service.labels import short_name
from service.laying import NARROW_ROW, ROW, ends_of
from service.page.rendering import LatePage, render_in_parts
from service.page.words import Words
from service.replaying import Table, table_of
from workers.engine.play import replay_compiles, replay_match
from workers.engine.reference import MatchRecord, Ply, RoundRecord
from workers.engine.replay import Port
from workers.engine.tiles import Tile, hand_pips, tile_name
from workers.errors import NotFound, PlayFailed
from workers.jobs.ledger import Ledger
from workers.logs import masked

MATCHES_SHOWN: Final = 10
"""Matches on one page of a list: each is played again for it."""


@dataclass(frozen=True, slots=True)
class MatchRow:
    """A match in a list. One in which a policy failed has `failure`, and no winners, scores and rounds."""

    match: int
    policies: tuple[str, ...]
    winners: tuple[int, ...] = ()
    scores: tuple[int, ...] = ()
    rounds: int = 0
    failure: str = ""


@dataclass(frozen=True, slots=True)
class SeatRow:
    """A seat at one moment of a round: `award` is what the round added, None while it goes on."""

    seat: int
    policy: str
    hand: tuple[Tile, ...]
    pips: int
    passes: int
    score: int
    award: int | None
    is_leader: bool
    is_winner: bool
    moved_last: bool


def matches_page(words: Words, ledger: Ledger, job_id: str, index: int, first: int) -> Iterator[str]:
    """The page with a scenario's matches from number `first` on, in parts: its head, then each row once it is played.

    Raises `NotFound` beyond the last, `Conflict`, both before the first part.
    """
    record, table = ledger.job(job_id), table_of(ledger, job_id, index)
    table.address(first)
    count = table.scenario.matches
    last = min(first + MATCHES_SHOWN, count) - 1
    rows = (_row(table, number) for number in range(first, last + 1))
    return render_in_parts(
        words, "matches.html", job=record, index=index, rows=rows, count=count, first=first, last=last,
        players=table.scenario.players, ruleset=short_name(table.scenario.ruleset), compiles=replay_compiles(table.lineup),
        earlier=max(0, first - MATCHES_SHOWN) if first else None,
        later=first + MATCHES_SHOWN if first + MATCHES_SHOWN < count else None,
    )  # fmt: skip


def replay_page(
    words: Words, ledger: Ledger, job_id: str, index: int, number: int, round_number: int, ply: int | None
) -> LatePage:
    """The page of a match at one moment: `ply` plies of a round are played, by default all of them.

    Raises `NotFound` where there is no such match, `Conflict` where it would be another; its rest raises `NotFound` where
    the match has no such moment, `PlayFailed` where a policy fails.
    """
    record, table = ledger.job(job_id), table_of(ledger, job_id, index)
    table.address(number)
    known = {
        "job": record, "index": index, "match": number, "round": round_number, "last_match": table.scenario.matches - 1,
        "compiles": replay_compiles(table.lineup),
    }  # fmt: skip

    def rest(**found: Any) -> str:
        _, *parts = render_in_parts(words, "replay.html", **known, **found)
        return "".join(parts)

    return LatePage(
        next(render_in_parts(words, "replay.html", **known)),
        lambda: rest(**_moment(words, table, number, round_number, ply)),
        lambda said: rest(said=said),
    )


def _moment(words: Words, table: Table, number: int, round_number: int, ply: int | None) -> dict[str, Any]:
    """What is shown of a moment of a match, which is played for it."""
    match = table.replay(number)
    if round_number >= len(match.rounds):
        raise NotFound(f"There is no round {round_number}: the match has rounds 0 to {len(match.rounds) - 1}.")
    played = match.rounds[round_number]
    shown = len(played.plies) if ply is None else ply
    if shown > len(played.plies):
        raise NotFound(f"There is no ply {shown}: the round has {len(played.plies)} plies.")
    sides = {table.lineup.ruleset.side(seat) for seat in match.winners}
    return {
        "winners": match.winners, "shared": len(sides) > 1, "scorers": _scorers(table, played), "final": match.scores,
        "last_round": len(match.rounds) - 1, "ply": shown, "plies": played.plies, "end": played.end,
        "is_over": shown == len(played.plies), "seats": _seats(table, number, match, round_number, shown),
        "stock": _stock(played, shown), "draw_tile": draw_tile, "ports": ends_of(played.plies[:shown]) or (),
        **_drawings(words, played, shown),
    }  # fmt: skip


def _row(table: Table, number: int) -> MatchRow:
    policies = _policies(table, number)
    try:
        match = replay_match(table.lineup, *table.address(number))
    except PlayFailed as failure:
        return MatchRow(number, policies, failure=masked(str(failure)))
    return MatchRow(number, policies, match.winners, match.scores, len(match.rounds))


def _policies(table: Table, number: int) -> tuple[str, ...]:
    """The policies of a match by seat, in short."""
    _, rotation = table.address(number)
    return tuple(short_name(policy) for policy in table.policies(table.lineup.seated(rotation)))


def _scorers(table: Table, played: RoundRecord) -> tuple[int, ...]:
    """The seats to which a round's award goes: its winner's, with partners those of its side; none where nobody scores."""
    ruleset, winner = table.lineup.ruleset, played.end.winner
    if winner is None:
        return ()
    return tuple(seat for seat in range(ruleset.players) if ruleset.side(seat) == ruleset.side(winner))


def _seats(table: Table, address: int, match: MatchRecord, number: int, shown: int) -> list[SeatRow]:
    played, plies = match.rounds[number], match.rounds[number].plies[:shown]
    policies, scorers = _policies(table, address), _scorers(table, played)
    is_over = shown == len(played.plies)
    before = match.rounds[number - 1].scores if number else (0,) * len(policies)
    rows = []
    for seat, policy in enumerate(policies):
        hand, passes = list(played.deal.hands[seat]), 0
        for ply in plies:
            if ply.seat != seat:
                continue
            hand.extend(ply.drawn)
            if ply.placement is None:
                passes += 1
            else:
                hand.remove(ply.placement.tile)
        rows.append(
            SeatRow(
                seat, policy, tuple(hand), hand_pips(hand), passes, played.scores[seat] if is_over else before[seat],
                played.end.credit[seat] if is_over else None, seat == played.leader,
                is_over and seat in scorers, bool(plies) and plies[-1].seat == seat,
            )
        )  # fmt: skip
    return rows


def _stock(played: RoundRecord, shown: int) -> list[Tile]:
    """What is left of the stock, in the order of drawing."""
    drawn = sum(len(ply.drawn) for ply in played.plies[:shown])
    return list(played.deal.stock[drawn:])


def _drawings(words: Words, played: RoundRecord, shown: int) -> dict[str, Any]:
    """The line for wide and for narrow screens; the style sheet shows one of them."""
    title = words("replay.drawing", ply=shown, plies=len(played.plies))
    return {
        name: draw_line_in_page(played.plies, title, f"line {name}", shown=shown, row=row, captions=captions(words))
        for name, row in (("broad", ROW), ("slim", NARROW_ROW))
    }


def captions(words: Words) -> Captions:
    """What drawings say in the reader's language."""

    def tile(ply: Ply, number: int) -> str:
        assert ply.placement is not None
        return words("replay.tile", tile=tile_name(ply.placement.tile), seat=ply.seat, number=number)

    def port(port: Port) -> str:
        return words("replay.port", port=str(port), value=port.value)

    return Captions(tile, port, words("replay.empty"))
