"""`blockyard simulate` and `bench`: data on standard output, words on standard error, the same integers every time."""

import os
import re
import signal
import subprocess
import sys
from typing import Any

import orjson
import psutil
import pytest

from tests.servers import poll
from tests.service.cli.conftest import Command, Said
from workers.engine.play import warm_up

PAIR = ("simulate", "--policy", "heaviest", "--policy", "random")
ENDLESS = (sys.executable, "-P", "-m", "service.cli", *PAIR, "--matches", "1000000000000", "--processes", "2")


@pytest.fixture(scope="module", autouse=True)
def _warm() -> None:
    """What is compiled once is no longer told."""
    warm_up()


def result_of(said: Said) -> dict[str, Any]:
    assert said.code == 0, said.err
    document = orjson.loads(said.out)
    assert set(document) == {"results", "elapsed_seconds", "matches_per_second"}
    (result,) = document["results"]
    assert document["elapsed_seconds"] > 0
    assert document["matches_per_second"] == pytest.approx(result["matches"] / document["elapsed_seconds"])
    return result  # type: ignore[no-any-return]


def test_result_is_the_same_for_any_number_of_processes(blockyard: Command) -> None:
    ask = (*PAIR, "--matches", "5000", "--seed", "18446744073709551615", "--json")
    one = result_of(blockyard(*ask, "--processes", "1"))
    assert result_of(blockyard(*ask, "--processes", "2")) == one
    assert one["seed"] == "18446744073709551615"
    assert one["matches"] == 5000
    assert one["policies"][0]["wins"] > one["policies"][1]["wins"]


def test_matches_are_rounded_up_to_blocks_and_both_numbers_are_shown(blockyard: Command) -> None:
    result = result_of(blockyard("simulate", "--players", "3", *PAIR[1:], "--policy", "random", "--matches", "10", "--json"))
    assert (result["scenario"]["matches_requested"], result["scenario"]["matches"], result["matches"]) == (10, 12, 12)


def test_drawn_seed_is_reported_and_plays_the_same_again(blockyard: Command) -> None:
    first = result_of(blockyard(*PAIR, "--matches", "50", "--json"))
    assert 0 <= first["seed"] < 2**53
    assert result_of(blockyard(*PAIR, "--matches", "50", "--json", "--seed", str(first["seed"]))) == first


def test_policies_and_rulesets_are_taken_as_objects(blockyard: Command) -> None:
    said = blockyard(
        "simulate", "--policy", '{"prefer": ["double", "heaviest"]}', "--policy", "random", "--matches", "20", "--seed", "1",
        "--ruleset", '{"preset": "block", "ends": {"target": 50}}', "--seating", "fixed", "--json",
    )  # fmt: skip
    result = result_of(said)
    assert result["ruleset"]["ends"] == {"target": 50, "at": "reach"}
    assert result["scenario"]["rotations"] == 1
    assert result["policies"][0]["policy"] == {"prefer": ["double", "heaviest"]}


def test_table_fits_eighty_columns_without_colour(blockyard: Command) -> None:
    longest = '{"weights": {"pips": 1.25, "double": 6, "mobility": 2.5, "distinct": 0.125}, "prefer": ["double"]}'
    said = blockyard("simulate", "--policy", longest, "--policy", "random", "--matches", "100", "--seed", "3")
    assert said.code == 0
    assert max(map(len, said.out.splitlines())) <= 80
    assert "\x1b" not in said.out + said.err
    assert re.search(r"100 matches in .* a second; seed 3\n", said.err)
    assert "random" in said.out


def players_of(simulation: int) -> list[psutil.Process]:
    """The two processes that play, once they have begun."""
    poll(lambda: len(psutil.Process(simulation).children()) == 2, 180)
    return psutil.Process(simulation).children()


def test_interrupt_ends_everything_with_one_line() -> None:
    with subprocess.Popen(ENDLESS, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as simulation:
        players = players_of(simulation.pid)
        simulation.send_signal(signal.SIGINT)
        out, err = simulation.communicate(timeout=60)
    assert simulation.returncode == 130
    assert out == ""
    assert err == "blockyard: interrupted\n"
    assert not any(psutil.pid_exists(player.pid) for player in players)


def test_killed_simulation_leaves_nobody_playing() -> None:
    with subprocess.Popen(ENDLESS, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as simulation:
        players = players_of(simulation.pid)
        simulation.kill()
    _, alive = psutil.wait_procs(players, timeout=30)
    assert not alive


def test_bench_measures_every_line_up(blockyard: Command) -> None:
    said = blockyard("bench", "--seconds", "0.05", "--players", "2", "--policy", "heaviest", "--policy", "random", "--json")
    assert said.code == 0, said.err
    (row,) = orjson.loads(said.out)
    assert (row["players"], row["policies"], row["ruleset"]) == (2, ["heaviest", "random"], "block")
    assert row["plies_per_second"] > row["rounds_per_second"] > row["matches_per_second"] > 0
    assert os.sep not in said.err
