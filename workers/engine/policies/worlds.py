"""Hidden hands as they may be: uniform among all that agree with every pass, literally; the kernel draws the same.

At two players it is a uniform subset of the tiles that the opponent may hold. With more opponents, those who may hold fewer
tiles come first. Each draws from what it may hold and the earlier ones left; before it does, what was drawn is kept with a
chance that makes up for how many hands it leaves this one, and otherwise all is drawn anew. With A tiles left for a hand of h,
and B at most, that chance is C(A, h) / C(B, h): the product over i < h of (A - i) / (B - i), each factor decided by one whole
number below B - i.
"""

from collections.abc import Sequence

from workers.engine.reference import View, clockwise_distance
from workers.engine.rng import DecisionRandom
from workers.engine.tiles import Tile, tile_set


def may_hold(view: View, seat: int) -> list[Tile]:
    """The tiles that another seat may hold, in rank order: not seen, and without a value that it is known to lack."""
    seen = {*view.hand, *(ply.placement.tile for ply in view.plies if ply.placement is not None)}
    return [tile for tile in tile_set(view.ruleset.set) if tile not in seen and not view.lacks[seat] & set(tile)]


def sample_hands(view: View, random: DecisionRandom) -> list[list[Tile]]:
    """Hands by seat, the own one as it is; the ruleset must have no draws."""
    others = [seat for seat in range(view.ruleset.players) if seat != view.seat]
    may = {seat: may_hold(view, seat) for seat in others}
    clockwise = {seat: clockwise_distance(view.ruleset.players, view.seat, seat) for seat in others}
    others.sort(key=lambda seat: (len(may[seat]), clockwise[seat]))
    most = _bounds([may[seat] for seat in others], [view.hand_counts[seat] for seat in others])
    while True:
        hands: dict[int, list[Tile]] = {view.seat: list(view.hand)}
        for place, seat in enumerate(others):
            size = view.hand_counts[seat]
            left = [tile for tile in may[seat] if all(tile not in hand for hand in hands.values())]
            if place and not _accept(len(left), most[place], size, random):
                break
            hands[seat] = _draw(left, size, random)
        else:
            return [hands[seat] for seat in range(view.ruleset.players)]


def _bounds(may: Sequence[Sequence[Tile]], sizes: Sequence[int]) -> list[int]:
    """For each hand in turn, how many tiles the earlier ones can leave it at most."""
    bounds = []
    for place, own in enumerate(may):
        elsewhere = {tile for other in may[:place] for tile in other} - set(own)
        bounds.append(len(own) - max(0, sum(sizes[:place]) - len(elsewhere)))
    return bounds


def _draw(left: list[Tile], size: int, random: DecisionRandom) -> list[Tile]:
    if len(left) == size:
        return left
    return [left.pop(random.below(len(left))) for _ in range(size)]


def _accept(left: int, most: int, size: int, random: DecisionRandom) -> bool:
    return left == most or all(random.below(most - taken) < left - taken for taken in range(size))
