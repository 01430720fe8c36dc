"""A field of a tournament as tables: its ratings, best first, and who won how often against whom."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import typer

from service.cli.output import note, table
from service.labels import short_name

ACROSS: Final = 8
"""Columns of the pair matrix beside each other: more would not fit 80 columns."""


def print_field(field: Mapping[str, Any]) -> None:
    """The field's name, its ratings, best first (or why it has none), and the pair matrix in the same order."""
    policies, rated = field["policies"], field["ratings"]
    typer.echo(f"{short_name(field['ruleset'])}, {field['players']} players")
    order = list(range(len(policies)))
    if rated:
        order.sort(key=lambda place: -rated["policies"][place]["points"])
        table(("#", "policy", ">rating", ">± 95 %"), [_rating(rated, place, rank) for rank, place in enumerate(order, 1)])
    for first in range(0, len(policies), ACROSS):
        across = range(first, min(first + ACROSS, len(policies)))
        columns = ("#", "% won by", *(f">{rank + 1}" for rank in across))
        table(columns, [_shares(field, order, rank, across) for rank in range(len(policies))])
    if rated:
        fit = f"chi-squared {rated['chi_squared']:,.0f} on {rated['degrees']:,} degrees"
        note(f"ratings order the field, the matrix is what was measured; how far they are from it: {fit}")
    else:
        note(f"no ratings: {field['unrated']}")


def _rating(rated: Mapping[str, Any], place: int, rank: int) -> Sequence[object]:
    rating = rated["policies"][place]
    low, high = rating["ci95"]
    return rank, short_name(rating["policy"]), f"{rating['points']:+.1f}", f"{(high - low) / 2:.1f}"


def _shares(field: Mapping[str, Any], order: Sequence[int], rank: int, across: range) -> Sequence[object]:
    place = order[rank]
    shares = [_hundredths(field["win_shares"][place][order[other]]) if other != rank else "" for other in across]
    return rank + 1, short_name(field["policies"][place]), *shares


def _hundredths(share: float | None) -> str:
    return "–" if share is None else f"{share * 100:.1f}"
