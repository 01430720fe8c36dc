"""A tournament as CSV: its pairs, or its ratings, a line each, the fields one after the other."""

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, Literal, TypeAlias

from service.results import policy_label

TournamentTable: TypeAlias = Literal["pairs", "ratings"]

PAIR_COLUMNS: Final = (
    "ruleset", "players", "seating", "scenario", "one", "other", "blocks", "matches", "unfinished", "units", "score_sum",
    "score_square_sum", "win_share", "win_share_low", "win_share_high",
)  # fmt: skip
RATING_COLUMNS: Final = (
    "ruleset", "players", "seating", "policy", "points", "standard_error", "points_low", "points_high",
    "naive_standard_error", "chi_squared", "degrees", "unrated",
)  # fmt: skip


def tournament_csv(fields: Sequence[Mapping[str, Any]], table: TournamentTable) -> str:
    """The table of all fields under its columns: empty where a figure does not exist, `unrated` says why there are none."""
    columns, rows = (PAIR_COLUMNS, _pair_rows) if table == "pairs" else (RATING_COLUMNS, _rating_rows)
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, lineterminator="\r\n", extrasaction="ignore")
    writer.writeheader()
    for field in fields:
        common = {"ruleset": policy_label(field["ruleset"]), "players": field["players"], "seating": field["seating"]}
        writer.writerows(common | row for row in rows(field))
    return text.getvalue()


def _pair_rows(field: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for pair in field["pairs"]:
        low, high = pair["ci95"]
        names = {side: policy_label(field["policies"][pair[side]]) for side in ("one", "other")}
        yield pair | names | {"win_share_low": low, "win_share_high": high}


def _rating_rows(field: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    rated = field["ratings"]
    for place, policy in enumerate(field["policies"]):
        label = {"policy": policy_label(policy), "unrated": field["unrated"]}
        if rated is None:
            yield label
            continue
        rating = rated["policies"][place]
        low, high = rating["ci95"]
        fit = {"chi_squared": rated["chi_squared"], "degrees": rated["degrees"]}
        yield rating | label | fit | {"points_low": low, "points_high": high}
