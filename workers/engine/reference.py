"""The rules, literally: one round and one match in plain Python, slow and obvious. Everything fast answers to this file.

A position is hands of tiles, a line that is known by its two ends, a stock, and whose turn it is. Nothing here knows a bit
mask, a lane or a policy's program; it shares the deals and the random numbers with the kernel because those are part of
what a match is (`deal`, `rng`).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, TypeAlias

from workers.engine.deal import Deal, deal_round, first_leader_by_lot
from workers.engine.rng import DecisionRandom, decision_base, decision_word
from workers.engine.rules import MAX_ROUNDS, Ruleset
from workers.engine.tiles import Tile, hand_pips, is_double, pips, tile_ids
from workers.errors import PlayFailed

LineEnds: TypeAlias = tuple[int, int]
"""The values at the left and the right end of the line."""


class Placement(NamedTuple):
    """A move: a tile, and the value of the open end that it joins (None for an opening)."""

    tile: Tile
    end: int | None


@dataclass(frozen=True, slots=True)
class Ply:
    """One turn: the tiles drawn before it, then a placement or, where `placement` is None, a pass."""

    seat: int
    drawn: tuple[Tile, ...]
    placement: Placement | None


@dataclass(frozen=True, slots=True)
class RoundEnd:
    """How a round ended: `winner` is a seat or None; `credit` the points added at each seat (a side's at both of its)."""

    reason: Literal["out", "blocked"]
    winner: int | None
    credit: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class View:
    """What a policy may know when it chooses: its own hand and everything public, nothing hidden."""

    ruleset: Ruleset
    seat: int
    leader: int
    hand: tuple[Tile, ...]
    line_ends: LineEnds | None
    plies: tuple[Ply, ...]
    hand_counts: tuple[int, ...]
    passes: tuple[int, ...]
    lacks: tuple[frozenset[int], ...]
    """Per seat, the values that its whole hand is known to lack."""
    stock_size: int
    scores: tuple[int, ...]
    legal: tuple[Placement, ...]

    @property
    def line(self) -> tuple[tuple[int, int], ...]:
        """The line from left to right, each tile as it lies: its left half, then its right half."""
        line: list[tuple[int, int]] = []
        for ply in self.plies:
            if ply.placement is None:
                continue
            (low, high), end = ply.placement
            if not line or end is None:
                line.append((low, high))
            elif end == line[0][0]:
                line.insert(0, (high, low) if low == end else (low, high))
            else:
                line.append((low, high) if low == end else (high, low))
        return tuple(line)

    @property
    def next_seat(self) -> int:
        """The seat clockwise."""
        return (self.seat + 1) % self.ruleset.players


Choose: TypeAlias = Callable[[View, DecisionRandom], Placement]


def placements(hand: Sequence[Tile], line_ends: LineEnds | None) -> list[Placement]:
    """Every legal placement: tile by tile in the order of the hand, the left end before the right.

    Ends of equal value make one move, which joins the left end.
    """
    if line_ends is None:
        return [Placement(tile, None) for tile in hand]
    left, right = line_ends
    ends = (left,) if left == right else (left, right)
    return [Placement(tile, end) for tile in hand for end in ends if end in tile]


def ends_after(line_ends: LineEnds | None, placement: Placement) -> LineEnds:
    """The line's ends once the placement is made: an opening gives (low, high), else the joined end is replaced in place."""
    (low, high), end = placement
    if line_ends is None or end is None:
        return low, high
    outward = high if low == end else low
    return (outward, line_ends[1]) if line_ends[0] == end else (line_ends[0], outward)


def opening_tile(ruleset: Ruleset, hands: Sequence[Sequence[Tile]]) -> tuple[int, Tile]:
    """Who must open a first round under `highest_double`, and with what."""
    held = [(tile, seat) for seat, hand in enumerate(hands) for tile in hand]
    doubles = [(tile, seat) for tile, seat in held if is_double(tile)]
    rank = tile_ids(ruleset.set)
    tile, seat = max(doubles or held, key=lambda holding: rank[holding[0]])
    return seat, tile


def clockwise_distance(players: int, start: int, seat: int) -> int:
    """How many seats clockwise from `start` a seat is; 0 for `start` itself."""
    return (seat - start) % players


def lightness(hand: Sequence[Tile]) -> list[int]:
    """The key by which hands of equal pips are compared: the pips of their tiles, lightest first."""
    return sorted(pips(tile) for tile in hand)


def settle_out(ruleset: Ruleset, hands: Sequence[Sequence[Tile]], winner: int) -> RoundEnd:
    """The end of a round in which `winner` placed the last tile of a hand: all opponents' pips."""
    award = sum(hand_pips(hand) for seat, hand in enumerate(hands) if ruleset.side(seat) != ruleset.side(winner))
    return RoundEnd("out", winner, _credit(ruleset, winner, award))


def settle_blocked(ruleset: Ruleset, hands: Sequence[Sequence[Tile]], leader: int) -> RoundEnd:
    """The end of a blocked round: who has the lightest hand (or side), and what it scores."""
    pooled = _hands_that_count(ruleset, hands)
    lowest = min(hand_pips(hand) for hand in pooled.values())
    tied = [holder for holder, hand in pooled.items() if hand_pips(hand) == lowest]
    if ruleset.blocked_tie == "lightest_tile":
        lightest = min(lightness(pooled[holder]) for holder in tied)
        tied = [holder for holder in tied if lightness(pooled[holder]) == lightest]
    sides = {ruleset.side(holder) for holder in tied}
    if len(sides) > 1:
        return RoundEnd("blocked", None, (0,) * ruleset.players)
    (side,) = sides
    candidates = [seat for seat in range(ruleset.players) if ruleset.side(seat) == side]
    winner = min(
        candidates,
        key=lambda seat: (
            hand_pips(hands[seat]), lightness(hands[seat]), clockwise_distance(ruleset.players, leader, seat)
        ),
    )  # fmt: skip
    award = sum(hand_pips(hand) for seat, hand in enumerate(hands) if ruleset.side(seat) != side)
    return RoundEnd("blocked", winner, _credit(ruleset, winner, award - (lowest if ruleset.blocked_award == "net" else 0)))


def next_leader(ruleset: Ruleset, leader: int, end: RoundEnd, hands: Sequence[Sequence[Tile]]) -> int:
    """Who opens the next round."""
    if ruleset.next_leader == "clockwise":
        return (leader + 1) % ruleset.players
    if end.winner is None:
        return leader
    winner = end.winner
    if ruleset.next_leader == "winner":
        return winner
    losers = [seat for seat in range(ruleset.players) if ruleset.side(seat) != ruleset.side(winner)]
    return min(losers, key=lambda seat: (-hand_pips(hands[seat]), clockwise_distance(ruleset.players, winner, seat)))


def match_winners(ruleset: Ruleset, scores: Sequence[int], rounds_played: int) -> tuple[int, ...] | None:
    """The seats that hold the highest deciding score (more than one: shared), or None while the match goes on."""
    if ruleset.ends.rounds is not None:
        if rounds_played < ruleset.ends.rounds:
            return None
    elif not any(_qualifies(ruleset, score) for score in scores):
        return None
    best = max(scores)
    return tuple(seat for seat, score in enumerate(scores) if score == best)


@dataclass
class Round:
    """One round under way. `play` advances it by one ply; `end` is None until it is over."""

    ruleset: Ruleset
    hands: list[list[Tile]]
    leader: int
    stock: list[Tile] = field(default_factory=list)
    forced_opening: Tile | None = None
    scores: tuple[int, ...] = ()
    line_ends: LineEnds | None = None
    to_move: int = -1
    passes_in_a_row: int = 0
    plies: list[Ply] = field(default_factory=list)
    lacks: list[frozenset[int]] = field(default_factory=list)
    end: RoundEnd | None = None

    def __post_init__(self) -> None:
        if self.to_move < 0:
            self.to_move = self.leader
        self.lacks = self.lacks or [frozenset()] * self.ruleset.players
        self.scores = self.scores or (0,) * self.ruleset.players

    @property
    def drawable(self) -> int:
        """How many tiles may still be drawn: the stock above its reserve."""
        return 0 if self.ruleset.draw is None else max(0, len(self.stock) - self.ruleset.draw.reserve)

    def legal(self) -> list[Placement]:
        """The placements open to the seat to move, before any draw."""
        if self.line_ends is None and self.forced_opening is not None:
            return [Placement(self.forced_opening, None)]
        return placements(self.hands[self.to_move], self.line_ends)

    def draw_until_playable(self) -> tuple[list[Placement], tuple[Tile, ...]]:
        """The placements of this turn, after the draws that it forces; the tiles drawn stay in the hand."""
        legal = self.legal()
        drawn: list[Tile] = []
        limit = self.ruleset.draw.limit if self.ruleset.draw else 0
        while not legal and self.drawable and (limit is None or len(drawn) < limit):
            tile = self.stock.pop(0)
            drawn.append(tile)
            self.hands[self.to_move].append(tile)
            legal = placements([tile], self.line_ends)
        return legal, tuple(drawn)

    def view(self, legal: Sequence[Placement]) -> View:
        """What the seat to move may know."""
        return View(
            ruleset=self.ruleset, seat=self.to_move, leader=self.leader, hand=tuple(self.hands[self.to_move]),
            line_ends=self.line_ends, plies=tuple(self.plies), hand_counts=tuple(len(hand) for hand in self.hands),
            passes=tuple(sum(ply.seat == seat and ply.placement is None for ply in self.plies)
                         for seat in range(self.ruleset.players)),
            lacks=tuple(self.lacks), stock_size=len(self.stock), scores=self.scores, legal=tuple(legal),
        )  # fmt: skip

    def take_turn(self, choose: Callable[[View], Placement]) -> Ply:
        """Play one ply: forced draws, then the chosen placement (`choose` is asked only where there is a choice) or a pass."""
        legal, drawn = self.draw_until_playable()
        if not legal:
            return self.pass_turn(drawn)
        placement = legal[0] if len(legal) == 1 else choose(self.view(legal))
        if placement not in legal:
            raise PlayFailed(f"seat {self.to_move} chose {placement!r}, which is not legal")
        return self._place(placement, drawn)

    def _place(self, placement: Placement, drawn: tuple[Tile, ...]) -> Ply:
        seat = self.to_move
        self._note_lacks(seat, drawn, could_place=True)
        self.hands[seat].remove(placement.tile)
        self.line_ends = ends_after(self.line_ends, placement)
        self.passes_in_a_row = 0
        if not self.hands[seat]:
            self.end = settle_out(self.ruleset, self.hands, seat)
        return self._record(Ply(seat, drawn, placement))

    def pass_turn(self, drawn: tuple[Tile, ...]) -> Ply:
        """Pass: the seat to move drew `drawn`, all it may, and still has no placement."""
        seat = self.to_move
        self._note_lacks(seat, drawn, could_place=False)
        self.passes_in_a_row += 1
        if self.passes_in_a_row >= self.ruleset.players and not self.drawable:
            self.end = settle_blocked(self.ruleset, self.hands, self.leader)
        return self._record(Ply(seat, drawn, None))

    def _note_lacks(self, seat: int, drawn: tuple[Tile, ...], *, could_place: bool) -> None:
        """After a turn without a fitting tile the hand lacks both ends; what was known of it before the draws is known of
        the old tiles only, so it ends as soon as a drawn tile stays in the hand."""
        if self.line_ends is None or (could_place and not drawn):
            return
        kept = len(drawn) - could_place
        known = self.lacks[seat] if kept == 0 else frozenset[int]()
        self.lacks[seat] = known | frozenset(self.line_ends)

    def _record(self, ply: Ply) -> Ply:
        self.plies.append(ply)
        self.to_move = (ply.seat + 1) % self.ruleset.players
        return ply


@dataclass(frozen=True, slots=True)
class RoundRecord:
    """A round as it was played, with everything that a replay shows."""

    leader: int
    deal: Deal
    plies: tuple[Ply, ...]
    final_hands: tuple[tuple[Tile, ...], ...]
    end: RoundEnd
    scores: tuple[int, ...]
    """Each seat's score after this round."""


@dataclass(frozen=True, slots=True)
class MatchRecord:
    """A match as it was played; `winners` is empty for an unfinished one and has several seats for a shared win."""

    rounds: tuple[RoundRecord, ...]
    winners: tuple[int, ...]

    @property
    def scores(self) -> tuple[int, ...]:
        """The final scores by seat."""
        return self.rounds[-1].scores


def play_round(ruleset: Ruleset, deal: Deal, leader: int, scores: tuple[int, ...], base: int,
               choosers: Sequence[Choose], *, forced_opening: Tile | None = None) -> RoundRecord:  # fmt: skip
    """Play one dealt round; `choosers` by seat, `base` from `rng.decision_base`."""
    state = Round(
        ruleset, [list(hand) for hand in deal.hands], leader, list(deal.stock), forced_opening=forced_opening, scores=scores
    )
    turns = [0] * ruleset.players
    while state.end is None:
        seat = state.to_move
        random = DecisionRandom(decision_word(base, seat, turns[seat]))
        state.take_turn(lambda view, seat=seat, random=random: choosers[seat](view, random))  # type: ignore[misc]
        turns[seat] += 1
    total = tuple(score + credit for score, credit in zip(scores, state.end.credit, strict=True))
    return RoundRecord(leader, deal, tuple(state.plies), tuple(map(tuple, state.hands)), state.end, total)


def play_match(ruleset: Ruleset, seed: int, block: int, choosers: Sequence[Choose]) -> MatchRecord:
    """Play the match of this block with the given policies by seat, round after round until the ruleset ends it."""
    scores = (0,) * ruleset.players
    rounds: list[RoundRecord] = []
    winners: tuple[int, ...] | None = None
    leader = first_leader_by_lot(ruleset, seed, block)
    while winners is None and len(rounds) < MAX_ROUNDS:
        number = len(rounds)
        deal = deal_round(ruleset, seed, block, number)
        forced = None
        if number == 0 and ruleset.opening == "highest_double":
            leader, forced = opening_tile(ruleset, deal.hands)
        played = play_round(
            ruleset, deal, leader, scores, decision_base(seed, block, number), choosers, forced_opening=forced
        )
        rounds.append(played)
        scores = played.scores
        winners = match_winners(ruleset, scores, len(rounds))
        leader = next_leader(ruleset, leader, played.end, played.final_hands)
    return MatchRecord(tuple(rounds), winners or ())


def _hands_that_count(ruleset: Ruleset, hands: Sequence[Sequence[Tile]]) -> dict[int, list[Tile]]:
    """What a blocked round compares, by a seat that stands for it: single hands, or both sides' pooled tiles."""
    if ruleset.partners and ruleset.partner_count == "side_total":
        return {side: [*hands[side], *hands[side + 2]] for side in (0, 1)}
    return {seat: list(hand) for seat, hand in enumerate(hands)}


def _credit(ruleset: Ruleset, winner: int, award: int) -> tuple[int, ...]:
    return tuple(award if ruleset.side(seat) == ruleset.side(winner) else 0 for seat in range(ruleset.players))


def _qualifies(ruleset: Ruleset, score: int) -> bool:
    assert ruleset.ends.target is not None
    return score > ruleset.ends.target if ruleset.ends.at == "exceed" else score >= ruleset.ends.target
