"""`blockyard sprt` and `blockyard plan`: the sequential test on a histogram, and what a test will cost. Neither needs Redis."""

from typing import TYPE_CHECKING, Annotated, Final, TypeAlias

import typer

from service.cli.engine import usable_cores, warm_engine
from service.cli.exits import UsageError
from service.cli.options import AsJson
from service.cli.output import amount, duration, note, percent, print_json, table

if TYPE_CHECKING:
    from workers.stats.sprt import Bounds

MAX_PLAYERS: Final = 8
MAX_BLOCKS: Final = 10**15
"""More blocks than any job can play."""
TRY_POLICY: Final = "heaviest"
"""What is played to learn how fast this machine is."""
TRY_MATCHES: Final = 50_000
ASSUMED_SPEED: Final = 100_000.0
"""Matches a second and core where the engine is not compiled yet: a question about figures is not worth that wait."""

Players: TypeAlias = Annotated[int, typer.Option("--players", min=2, max=MAX_PLAYERS, help="Players of a match.")]
H0: TypeAlias = Annotated[float, typer.Option("--h0", help="H0: the share less an equal one, as -0.002.")]
H1: TypeAlias = Annotated[float, typer.Option("--h1", help="H1: the share less an equal one, as 0.")]
Alpha: TypeAlias = Annotated[float, typer.Option("--alpha", help="The chance to pass a candidate at H0.")]
Beta: TypeAlias = Annotated[float, typer.Option("--beta", help="The chance to flag a candidate at H1.")]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command()(sprt)
    app.command()(plan)


def sprt(
    players: Players,
    blocks: Annotated[
        str, typer.Option("--blocks", metavar="H0,H1,...", help="How many blocks the candidate won 0, 1, ... matches of.")
    ],
    h0: H0,
    h1: H1,
    alpha: Alpha = 0.05,
    beta: Beta = 0.05,
    as_json: AsJson = False,
) -> None:
    """Test a histogram of blocks: likelihood ratio, bounds, verdict.

    A block is one deal played once with the candidate in each seat. The interval is that of the blocks themselves: it does
    not know that a test may have stopped early.
    """
    scores = _histogram(blocks, players)
    shares = _shares(players, h0, h1)
    bounds = _bounds(alpha, beta)
    from workers.stats.estimate import elo, share_estimate
    from workers.stats.sprt import log_likelihood_ratio
    from workers.stats.tally import json_integer

    ratio = log_likelihood_ratio(scores, players, *shares)
    estimate = share_estimate(scores, players)
    verdict = bounds.decide(ratio)
    difference = None if estimate.mean is None else elo(estimate.mean, players)
    total = sum(scores.values())
    if as_json:
        print_json({
            "llr": ratio, "lower": bounds.lower, "upper": bounds.upper, "verdict": verdict, "blocks": json_integer(total),
            "share": estimate.mean, "share_ci95": estimate.interval, "elo": difference,
        })  # fmt: skip
        return
    low, high = estimate.interval or (0.0, 1.0)
    rows = [
        ("verdict", verdict),
        ("llr", f"{ratio:.4f}, between {bounds.lower:.4f} (regressed) and {bounds.upper:.4f} (passed)"),
        ("blocks", amount(total)),
        ("share", f"{percent(estimate.mean)}, 95 %: {percent(low)} to {percent(high)}"),
        ("Elo" if players == 2 else "Elo (by convention)", None if difference is None else f"{difference:+.1f}"),
    ]
    table(("", ""), rows)


def plan(
    players: Players,
    h0: H0,
    h1: H1,
    variance: Annotated[
        float | None,
        typer.Option("--variance", help="Variance of a block's share; by default that of independent matches, s(1-s)/n."),
    ] = None,
    share: Annotated[
        float | None, typer.Option("--share", help="The candidate's true share; by default an equal one, 1/n.")
    ] = None,
    speed: Annotated[
        float | None,
        typer.Option("--speed", help=f"Matches a second; by default those of {TRY_POLICY} on all cores here."),
    ] = None,
    alpha: Alpha = 0.05,
    beta: Beta = 0.05,
    as_json: AsJson = False,
) -> None:
    """Plan a test: chance to pass, expected blocks, matches and time.

    Expected figures without a cap. The default variance takes the matches of a block as independent, which is high: sharing
    deals makes it smaller, and a candidate close to its baseline ends many times sooner.
    """
    equal = 1 / players
    shares = _shares(players, h0, h1)
    bounds = _bounds(alpha, beta)
    true_share = _within("--share", equal if share is None else share, 1.0)
    # No variable between 0 and 1 varies more than one that is only ever 0 or 1.
    spread = _within("--variance", equal * (1 - equal) / players if variance is None else variance, 0.25, closed=True)
    if speed is not None and not 0.0 < speed < float("inf"):
        raise UsageError(f"--speed: must be above 0, not {speed:g}")
    from workers.stats.planning import plan as plan_test

    planned = plan_test(share=true_share, variance=spread, s0=shares[0], s1=shares[1], bounds=bounds)
    pace = speed or _measured_speed(players)
    matches = planned.expected_blocks * players
    if as_json:
        print_json({
            "players": players, "h0": h0, "h1": h1, "alpha": alpha, "beta": beta, "share": true_share, "variance": spread,
            "lower": bounds.lower, "upper": bounds.upper, "pass_chance": planned.pass_chance,
            "expected_blocks": planned.expected_blocks, "expected_matches": matches, "matches_per_second": pace,
            "expected_seconds": matches / pace,
        })  # fmt: skip
        return
    rows = [
        ("chance to pass", percent(planned.pass_chance)),
        ("expected blocks", amount(round(planned.expected_blocks))),
        ("expected matches", amount(round(matches))),
        ("expected time", f"{duration(matches / pace)} at {pace:,.0f} matches a second"),
    ]
    table(("", ""), rows)
    note(f"a true share of {percent(true_share)}, variance of a block's share {spread:.4g}")


def _histogram(text: str, players: int) -> dict[int, int]:
    parts = text.split(",")
    if len(parts) != players + 1:
        wanted = f"must be {players + 1} numbers for {players} players (0 to {players} matches won)"
        raise UsageError(f"--blocks: {wanted}, not {len(parts)}")
    for part in parts:
        digits = part.strip()
        if not (digits.isascii() and digits.isdigit()) or len(digits) > 18 or int(digits) > MAX_BLOCKS:
            raise UsageError(f"--blocks: {part!r} is no whole number from 0 to 10^15")
    return {wins: int(part) for wins, part in enumerate(parts)}


def _shares(players: int, h0: float, h1: float) -> tuple[float, float]:
    equal = 1 / players
    for option, difference in (("--h0", h0), ("--h1", h1)):
        if not 0.0 < equal + difference < 1.0:
            raise UsageError(f"{option}: makes a share of {equal + difference:g}, which must lie between 0 and 1")
    if not h0 < h1:
        raise UsageError(f"--h0: must be below --h1 ({h1:g}), not {h0:g}")
    return equal + h0, equal + h1


def _bounds(alpha: float, beta: float) -> "Bounds":
    from workers.stats.sprt import Bounds

    for option, level in (("--alpha", alpha), ("--beta", beta)):
        _within(option, level, 0.5)
    return Bounds.of_errors(alpha, beta)


def _within(option: str, value: float, above: float, *, closed: bool = False) -> float:
    if not (0.0 < value < above or (closed and value == above)):
        raise UsageError(f"{option}: must be above 0 and {'at most' if closed else 'below'} {above:g}, not {value:g}")
    return value


def _measured_speed(players: int) -> float:
    """Matches a second on all cores of this machine; assumed where that would take long."""
    from workers.engine.compile import is_cold
    from workers.engine.play import LANE_KERNEL
    from workers.engine.rules import MAX_PLAYERS_DOUBLE_SIX
    from workers.jobs.spec import make_scenario

    cores = usable_cores()
    if players > MAX_PLAYERS_DOUBLE_SIX or is_cold(LANE_KERNEL):
        note(f"speed not measured; {ASSUMED_SPEED:,.0f} matches a second and core are taken (--speed sets them)")
        return ASSUMED_SPEED * cores
    lineup = make_scenario([TRY_POLICY] * players, TRY_MATCHES).lineup(1)
    warm_engine(lineup)
    from service.local.playing import play_here

    tried = play_here(lineup, TRY_MATCHES, 1)
    return tried.tally.matches / tried.seconds * cores
