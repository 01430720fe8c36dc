"""`blockyard simulate`: play a scenario here, without Redis, with the results that the service would give."""

import secrets
from typing import Annotated, Any, Final, cast

import typer

from service.cli.engine import usable_cores, warm_engine
from service.cli.options import AsJson, Processes, Ruleset, Seed, by_option, name_or_object
from service.cli.output import amount, console, note, print_json
from service.cli.tables import print_results
from workers.errors import FieldError, InvalidInput

MAX_MATCHES: Final = 10**12
"""As many as a job may have."""
OPTION_OF: Final = {
    "players": "--players", "policies": "--policy", "matches": "--matches", "ruleset": "--ruleset", "seating": "--seating",
    "seed": "--seed",
}  # fmt: skip


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(simulate)


def simulate(
    policy: Annotated[
        list[str], typer.Option("--policy", help="The policy of each place in turn: a name or a JSON object. Repeat it.")
    ],
    players: Annotated[int | None, typer.Option("--players", help="By default as many as policies.")] = None,
    matches: Annotated[int, typer.Option("--matches", help="Matches; rounded up to whole blocks.")] = 100_000,
    seed: Seed = None,
    ruleset: Ruleset = "block",
    seating: Annotated[
        str, typer.Option("--seating", help="rotated: every rotation of the policies plays the same deals; or fixed.")
    ] = "rotated",
    processes: Processes = None,
    as_json: AsJson = False,
) -> None:
    """Play matches here, without a service.

    The results are the same that the service gives for the same scenario and seed.
    """
    try:
        scenario, drawn = _scenario(policy, players, matches, seed, ruleset, seating)
    except InvalidInput as refusal:
        raise by_option(refusal, OPTION_OF) from None
    lineup = scenario.lineup(drawn)
    warm_engine(lineup)
    from service.local.playing import play_here
    from service.results import result_document
    from workers.engine.play import ENGINE_VERSION

    with _Bar(scenario.matches) as bar:
        outcome = play_here(lineup, scenario.blocks, processes or usable_cores(), bar.advance)
    rate = outcome.tally.matches / outcome.seconds if outcome.seconds else 0.0
    result = result_document(scenario, drawn, outcome.tally, ENGINE_VERSION)
    note(f"{amount(outcome.tally.matches)} matches in {outcome.seconds:.2f} s, {rate:,.0f} a second; seed {drawn}")
    if as_json:
        print_json({"results": [result], "elapsed_seconds": outcome.seconds, "matches_per_second": rate})
    else:
        print_results([result])


def _scenario(
    policies: list[str], players: int | None, matches: int, seed: int | None, ruleset: str, seating: str
) -> tuple[Any, int]:
    """The checked scenario and the seed; raises `InvalidInput` by field."""
    from workers.jobs.spec import MAX_SEED, Seating, make_scenario
    from workers.stats.tally import JSON_SAFE

    errors: list[FieldError] = []
    if seed is not None and not 0 <= seed <= MAX_SEED:
        errors.append(FieldError("seed", f"must be from 0 to {MAX_SEED}, not {seed}"))
    if matches > MAX_MATCHES:
        errors.append(FieldError("matches", f"must be at most {MAX_MATCHES}, not {matches}"))
    values = [name_or_object(text, "--policy") for text in policies]
    try:
        scenario = make_scenario(
            values,
            matches,
            players=players,
            ruleset=name_or_object(ruleset, "--ruleset"),
            seating=cast(Seating, seating),
        )
    except InvalidInput as refusal:
        errors.extend(refusal.errors)
    if errors:
        raise InvalidInput(*errors)
    return scenario, secrets.randbelow(JSON_SAFE) if seed is None else seed


class _Bar:
    """A progress bar on standard error, where that is a terminal."""

    def __init__(self, total: int) -> None:
        self._total = total

    def __enter__(self) -> "_Bar":
        from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

        target = console(stderr=True)
        columns = (
            TextColumn("playing"), BarColumn(), TaskProgressColumn(), TextColumn("{task.fields[rate]} matches/s"),
            TimeRemainingColumn(),
        )  # fmt: skip
        self._progress = Progress(*columns, console=target, transient=True, disable=not target.is_terminal)
        self._task = self._progress.add_task("playing", total=self._total, rate="–")
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()

    def advance(self, matches: int) -> None:
        """Some more matches are played."""
        self._progress.advance(self._task, matches)
        speed = self._progress.tasks[0].speed
        self._progress.update(self._task, rate=f"{speed:,.0f}" if speed else "–")
