"""`blockyard tune`: here and through a service it is the same run, and what it finds plays better."""

from pathlib import Path

import orjson
import pytest

from tests.service.cli.conftest import Command
from tests.service.running import Service

RUN = ("tune", "--steps", "20", "--matches", "400", "--check", "2000", "--seed", "5", "--start", '{"weights": {"pips": 0.01}}')


@pytest.mark.usefixtures("running_worker")
def test_here_and_through_the_service_it_finds_the_same(
    blockyard: Command, service: Service, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = blockyard(*RUN, "--here", "--json", "--record", str(tmp_path / "here.json"))
    assert here.code == 0, here.err
    document = orjson.loads(here.out)
    assert document["found_against_start"] > 0.6
    assert document["start_against_found"] == pytest.approx(1 - document["found_against_start"])
    record = orjson.loads((tmp_path / "here.json").read_bytes())
    assert [step["step"] for step in record.pop("path")] == [20]
    assert record == document

    monkeypatch.setenv("BLOCKYARD_URL", service.url)
    there = blockyard(*RUN, "--json")
    assert there.code == 0, there.err
    assert orjson.loads(there.out) == document


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["--start", "heaviest"], "--start: must be a policy of weights alone"),
        (["--start", "nobody"], "--start: unknown policy 'nobody'"),
        (["--start", '{"weights": {"pip": 1}}'], "--start.weights.pip: unknown feature"),
        (["--players", "5"], "--ruleset"),
        (["--ruleset", "nothing"], "unknown ruleset"),
        (["--steps", "1"], "--steps"),
    ],
)
def test_what_cannot_be_tuned_is_refused(blockyard: Command, arguments: list[str], reason: str) -> None:
    said = blockyard("tune", "--here", *arguments)
    assert said.code == 2
    assert reason in said.err
