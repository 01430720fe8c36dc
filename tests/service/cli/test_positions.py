"""`judge` and `perft` on files, and what they say of positions that cannot be."""

from pathlib import Path

import orjson

from tests.service.cli.conftest import Command

POSITION = {
    "ruleset": "block", "players": 2, "hands": [[[5, 2], [0, 1]], [[0, 0]]], "line_ends": [5, 3], "to_move": 0,
    "action": [[2, 5], 5],
}  # fmt: skip


def write(folder: Path, document: object) -> str:
    file = folder / "position.json"
    file.write_bytes(orjson.dumps(document))
    return str(file)


def test_one_in_one_out_and_a_list_in_a_list_out(blockyard: Command, tmp_path: Path) -> None:
    one = blockyard("judge", write(tmp_path, POSITION))
    assert one.code == 0, one.err
    verdict = orjson.loads(one.out)
    assert verdict["line_ends"] == [2, 3]
    several = blockyard("judge", write(tmp_path, [POSITION, POSITION]), "--json")
    assert orjson.loads(several.out) == [verdict, verdict]


def test_position_that_cannot_be_is_refused_by_field(blockyard: Command, tmp_path: Path) -> None:
    said = blockyard("judge", write(tmp_path, {**POSITION, "hands": [[[5, 2]], [[2, 5]]]}))
    assert (said.code, said.out) == (2, "")
    assert "hands" in said.err
    assert said.err.count("\n") == 1


def test_perft_walks_a_small_deal(blockyard: Command, tmp_path: Path) -> None:
    deal = {"ruleset": "block", "players": 2, "hands": [[[0, 1]], [[1, 2]]], "leader": 0}
    said = blockyard("perft", write(tmp_path, deal))
    assert said.code == 0, said.err
    assert orjson.loads(said.out)["complete_rounds"] == 1
    assert blockyard("perft", write(tmp_path, {**deal, "leader": 2})).code == 2
