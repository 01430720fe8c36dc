"""`blockyard tune`: better weights for a policy, found by play."""

import secrets
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import orjson
import typer

from service.cli.engine import usable_cores, warm_engine
from service.cli.exits import Failed, UsageError
from service.cli.options import DEFAULT_URL, AsJson, Key, Ruleset, Seed, Url, by_option, name_or_object
from service.cli.output import note, percent, print_json
from workers.errors import InvalidInput

if TYPE_CHECKING:
    from service.tuning import Play, Step, Tuning

NOTED_STEPS: Final = 20
"""One step in so many is told of, and kept in the record."""


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(tune)


def tune(
    players: Annotated[int, typer.Option("--players", min=2, max=8, help="Tune for so many players.")] = 2,
    start: Annotated[
        str, typer.Option("--start", help="Where to begin: linear, or a JSON object with weights as a policy has them.")
    ] = "linear",
    steps: Annotated[int, typer.Option("--steps", min=2, max=100_000, help="Steps.")] = 200,
    matches: Annotated[int, typer.Option("--matches", min=2, help="Matches of each step.")] = 20_000,
    check_matches: Annotated[int, typer.Option("--check", min=2, help="Matches against the start, at the end.")] = 200_000,
    ruleset: Ruleset = "block",
    seed: Seed = None,
    record: Annotated[Path | None, typer.Option("--record", help="Write the whole run to this file, as JSON.")] = None,
    here: Annotated[bool, typer.Option("--here", help="Play here, without a service.")] = False,
    url: Url = DEFAULT_URL,
    key: Key = None,
    as_json: AsJson = False,
) -> None:
    """Tune the weights of a policy by play against itself (SPSA).

    Each step moves all weights one way and the other, and plays both against each other on common deals, as a job of the
    service like any other. Prints the policy that it found, and how it plays against the start.
    """
    from service.tuning import Tuning, duel, mean_weights
    from service.tuning import tune as take_steps
    from workers.engine.play import ENGINE_VERSION
    from workers.stats.tally import JSON_SAFE

    first = _weights(start, players)
    chosen = name_or_object(ruleset, "--ruleset")
    tuning = Tuning(players, steps, matches, secrets.randbelow(JSON_SAFE) if seed is None else seed, ruleset=chosen)
    _check(tuning, first)
    with _playing_here(tuning) if here else _playing_there(url, key, tuning) as play:
        taken: list[Step] = []
        for step in take_steps(first, tuning, play):
            taken.append(step)
            if step.number % NOTED_STEPS == 0:
                note(f"step {step.number} of {steps}: {_shown(step.weights)}")
        found = mean_weights(taken)
        shares = play(duel({"weights": found}, {"weights": first}, tuning, check_matches), tuning.seed + 1)
    equal = 1 / players
    won, lost = shares[0], 1 - shares[0] if players == 2 else shares[1]
    document = {
        "players": players, "ruleset": chosen, "start": first, "weights": found, "steps": steps, "matches": matches,
        "seed": tuning.seed, "engine_version": ENGINE_VERSION, "check_matches": check_matches, "check_seed": tuning.seed + 1,
        "found_against_start": won, "start_against_found": lost,
    }  # fmt: skip
    if record is not None:
        path = [
            {"step": step.number, "weights": step.weights} for step in taken if step.number % NOTED_STEPS == 0
        ]  # fmt: skip
        record.write_bytes(orjson.dumps({**document, "path": path}, option=orjson.OPT_INDENT_2) + b"\n")
    if as_json:
        print_json(document)
    else:
        typer.echo(orjson.dumps({"weights": found}).decode())
    note(
        f"against the start it wins {percent(won)} of the matches, the start against it {percent(lost)}; an equal share is"
        f" {percent(equal)}; seed {tuning.seed}"
    )


def _weights(start: str, players: int) -> dict[str, float]:
    """The weights that are meant, all of them; raises `UsageError` for a policy that has none."""
    from workers.engine.policies import resolve_policy
    from workers.engine.policies.language import WEIGHT_WORDS
    from workers.engine.policies.program import WEIGHT_UNIT

    try:
        policy = resolve_policy(name_or_object(start, "--start"), players)
    except InvalidInput as refusal:
        raise by_option(refusal, {"policy": "--start"}) from None
    if not policy.is_program or policy.program.weights is None or policy.program.prefer:
        raise UsageError("--start: must be a policy of weights alone, such as linear or an object with weights")
    return {word: policy.program.weights[feature] / WEIGHT_UNIT for word, feature in WEIGHT_WORDS.items()}


def _check(tuning: "Tuning", weights: Mapping[str, float]) -> None:
    """Raises `InvalidInput` where the scenarios cannot be played, before anything is."""
    from service.tuning import duel
    from workers.jobs.spec import make_scenario

    for scenario in duel({"weights": weights}, {"weights": weights}, tuning):
        try:
            make_scenario(scenario["policies"], scenario["matches"], players=tuning.players, ruleset=tuning.ruleset)
        except InvalidInput as refusal:
            raise by_option(refusal, {"players": "--players", "ruleset": "--ruleset"}) from None


@contextmanager
def _playing_there(url: str, key: str | None, tuning: "Tuning") -> "Iterator[Play]":
    """Plays each step as a job of the service."""
    from service.cli.service_client import connect

    with connect(url, key) as client:

        def play(scenarios: Sequence[Mapping[str, Any]], seed: int) -> list[float]:
            job = client.submit({
                "name": f"tune {tuning.players} players", "seed": seed, "scenarios": scenarios,
                "labels": {"tune": str(tuning.seed)},
            })  # fmt: skip
            ended = client.wait(job["id"])
            if ended["state"] != "done":
                raise Failed(f"job {job['id']} of a step is {ended['state']}: {ended['error'] or 'by hand'}")
            results = client.results(job["id"])["results"]
            return [int(result["policies"][0]["wins"]) / int(result["matches"]) for result in results]

        yield play


@contextmanager
def _playing_here(tuning: "Tuning") -> "Iterator[Play]":
    """Plays each step on this machine."""
    from service.local.playing import play_here
    from workers.jobs.spec import make_scenario

    def play(scenarios: Sequence[Mapping[str, Any]], seed: int) -> list[float]:
        shares = []
        for asked in scenarios:
            scenario = make_scenario(asked["policies"], asked["matches"], players=tuning.players, ruleset=tuning.ruleset)
            lineup = scenario.lineup(seed)
            warm_engine(lineup)
            tally = play_here(lineup, scenario.blocks, usable_cores()).tally
            shares.append(tally.places[0].wins / tally.matches)
        return shares

    yield play


def _shown(weights: Mapping[str, float]) -> str:
    return ", ".join(f"{word} {weight:g}" for word, weight in weights.items())
