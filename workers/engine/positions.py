"""The judge: what the rules say of a given position, by the literal rules."""

from typing import Any, Final

from workers.engine.documents import Reader, one_or_many, tile_out
from workers.engine.reference import LineEnds, Placement, Round, opening_tile, settle_out
from workers.engine.rules import Ruleset
from workers.engine.tiles import tile_name
from workers.errors import InvalidInput

FIELDS: Final = (
    "ruleset", "players", "hands", "line_ends", "to_move", "action", "passes_in_a_row", "stock", "first_round",
)  # fmt: skip


def judge(document: object, *, max_positions: int | None = None) -> dict[str, Any] | list[dict[str, Any]]:
    """The verdict on a position, or a list of them for a list.

    The position's `action`, if any, is applied first; then forced draws and passes are taken until somebody has a
    placement to make or the round is over. The leader of the round is not known, so the seat to move stands for it where
    a tie between partners' equal hands asks for the first seat clockwise. Raises `InvalidInput` naming what is wrong.
    """
    if max_positions is not None and isinstance(document, list) and len(document) > max_positions:
        raise InvalidInput.at("", f"may be a list of at most {max_positions} positions, not {len(document)}")
    return one_or_many(document, _judge_one)


def _judge_one(document: object) -> dict[str, Any]:
    state, action = _read(document)
    drawn = [0] * state.ruleset.players
    passes: list[int] = []
    if action is not None:
        state.take_turn(lambda _view: action)
    while state.end is None and not state.legal():
        seat = state.to_move
        legal, tiles = state.draw_until_playable()
        drawn[seat] += len(tiles)
        if not legal:
            passes.append(seat)
            state.pass_turn(tiles)
    return _verdict(state, passes, drawn)


def _verdict(state: Round, passes: list[int], drawn: list[int]) -> dict[str, Any]:
    end, ruleset = state.end, state.ruleset
    verdict: dict[str, Any] = {
        "round_over": end is not None,
        "reason": end.reason if end else None,
        "winner": end.winner if end else None,
        "credit": list(end.credit) if end else [0] * ruleset.players,
        "passes": passes,
        "to_move": None if end else state.to_move,
        "line_ends": list(state.line_ends) if state.line_ends else None,
        "legal": [] if end else [[tile_out(tile), value] for tile, value in state.legal()],
    }
    if ruleset.partners:
        verdict["winner_side"] = ruleset.side(end.winner) if end and end.winner is not None else None
    if ruleset.draw is not None:
        verdict["drawn"] = drawn
        verdict["stock_left"] = len(state.stock)
    return verdict


def _read(document: object) -> tuple[Round, Placement | None]:
    """The position as a round under way (already ended if a hand is empty), and the action to apply."""
    reader = Reader(document, FIELDS)
    ruleset = reader.ruleset()
    hands = reader.hands(ruleset)
    stock = reader.stock(ruleset)
    line_ends = _read_line_ends(reader, ruleset)
    passes_in_a_row = reader.whole("passes_in_a_row", 0, 10**6, default=0)
    first_round = reader.flag("first_round")
    reader.finish()

    out = [seat for seat, hand in enumerate(hands) if not hand]
    if len(out) > 1:
        reader.refuse("hands", f"seats {' and '.join(map(str, out))} are both out; a round ends with the first empty hand")
    if line_ends is None and passes_in_a_row:
        reader.refuse("passes_in_a_row", "must be 0 before the opening: whoever leads can place")
    forced = None
    if first_round and line_ends is None and ruleset.opening == "highest_double" and not out:
        to_move, forced = opening_tile(ruleset, hands)
    else:
        to_move = reader.whole("to_move", 0, ruleset.players - 1)
    reader.finish()

    state = Round(ruleset, hands, to_move, stock, forced, line_ends=line_ends, passes_in_a_row=passes_in_a_row)
    if passes_in_a_row >= ruleset.players and not state.drawable:
        ended = "so many passes in a row end the round" + ("" if ruleset.draw is None else " where nothing can be drawn")
        reader.refuse("passes_in_a_row", f"must be less than {ruleset.players}: {ended}")
    if out:
        state.end = settle_out(ruleset, hands, out[0])
    action = _read_action(reader, state)
    reader.finish()
    return state, action


def _read_line_ends(reader: Reader, ruleset: Ruleset) -> LineEnds | None:
    value = reader.document.get("line_ends")
    if value is None:
        return None
    values = range(ruleset.set + 1)
    if not isinstance(value, list) or len(value) != 2 or not all(type(end) is int and end in values for end in value):
        reader.refuse("line_ends", f"must be two values from 0 to {ruleset.set}, or null before the opening, not {value!r}")
        return None
    return value[0], value[1]


def _read_action(reader: Reader, state: Round) -> Placement | None:
    value = reader.document.get("action")
    if value is None:
        return None
    if not isinstance(value, list) or len(value) != 2:
        reader.refuse("action", f"must be a tile and the end that it matches, such as [[2, 5], 5], not {value!r}")
        return None
    tile = reader.tile(value[0], "action[0]", state.ruleset)
    if tile is None:
        return None
    end = value[1]
    if end is not None and (isinstance(end, bool) or not isinstance(end, int)):
        reader.refuse("action[1]", f"must be the value of an end, or null for an opening, not {end!r}")
        return None
    reason = _why_illegal(state, Placement(tile, end))
    if reason:
        reader.refuse("action", reason)
    return Placement(tile, end)


def _why_illegal(state: Round, action: Placement) -> str | None:
    """What is wrong with an action, or None where it is legal."""
    name, seat = tile_name(action.tile), state.to_move
    if state.end is not None:
        return f"the round is over, since seat {state.end.winner} is out"
    if action.tile not in state.hands[seat]:
        return f"seat {seat}, which is to move, does not hold {name}"
    if state.line_ends is None:
        if action.end is not None:
            return "an opening matches no end: give null"
        forced = state.forced_opening
        return f"the opening must be {tile_name(forced)}" if forced and forced != action.tile else None
    if action.end is None:
        return f"only an opening may give null: the line is open at {state.line_ends[0]} and {state.line_ends[1]}"
    if action.end not in state.line_ends:
        return f"the line is open at {state.line_ends[0]} and {state.line_ends[1]}, not at {action.end}"
    return None if action.end in action.tile else f"{name} does not match an end of {action.end}"
