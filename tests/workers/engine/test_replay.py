"""Replays: known positions with their ports, and a document that tells the whole match."""

from typing import Any

import pytest
from hypothesis import given, settings

from tests.workers.engine import strategies
from tests.workers.engine.engines import lineup, literal_plies
from workers.engine.play import replay_match
from workers.engine.reference import Placement
from workers.engine.replay import line_after, replay_document
from workers.engine.tiles import Tile

KNOWN: list[tuple[list[tuple[Tile, int | None]], list[str], list[str]]] = [
    ([((1, 4), None)], [], ["[1|4] high 4", "[1|4] low 1"]),
    ([((1, 4), None), ((1, 1), 1)], ["[1|4] low – [1|1] A"], ["[1|1] B 1", "[1|4] high 4"]),
    ([((3, 6), None), ((6, 6), 6)], ["[3|6] high – [6|6] A"], ["[3|6] low 3", "[6|6] B 6"]),
    ([((0, 0), None)], [], ["[0|0] A 0", "[0|0] B 0"]),
    (
        [((1, 4), None), ((1, 1), 1), ((4, 4), 4)],
        ["[1|4] low – [1|1] A", "[1|4] high – [4|4] A"],
        ["[1|1] B 1", "[4|4] B 4"],
    ),
    (
        [((1, 4), None), ((1, 1), 1), ((4, 4), 4), ((3, 4), 4)],
        ["[1|4] low – [1|1] A", "[1|4] high – [4|4] A", "[4|4] B – [3|4] high"],
        ["[1|1] B 1", "[3|4] low 3"],
    ),
    ([((2, 2), None)], [], ["[2|2] A 2", "[2|2] B 2"]),
    # Both open ports show a 2: the first in the listing is joined.
    ([((2, 2), None), ((2, 5), 2)], ["[2|2] A – [2|5] low"], ["[2|2] B 2", "[2|5] high 5"]),
    (
        [((1, 2), None), ((1, 3), 1), ((2, 3), 2), ((3, 5), 3)],
        ["[1|2] low – [1|3] low", "[1|2] high – [2|3] low", "[1|3] high – [3|5] low"],
        ["[2|3] high 3", "[3|5] high 5"],
    ),
]


@pytest.mark.parametrize(("placed", "connections", "ports"), KNOWN)
def test_known_positions_show_their_ports(
    placed: list[tuple[Tile, int | None]], connections: list[str], ports: list[str]
) -> None:
    line = line_after(Placement(tile, end) for tile, end in placed)
    assert line.tiles == [tile for tile, _ in placed]
    assert [str(connection) for connection in line.connections] == connections
    assert [f"{port} {port.value}" for port in line.open] == ports


@settings(max_examples=30, deadline=None)
@given(table=strategies.rulesets(), seed=strategies.seeds)
def test_the_ports_are_the_ends_of_the_line_and_the_document_is_the_match(table: tuple[dict[str, Any], int], seed: int) -> None:
    ruleset, players = table
    playing = lineup(["random"] * players, ruleset=ruleset, seed=seed)
    document = replay_document(playing, 3, 1)
    told = [
        (
            played["round"], ply["seat"], len(ply["drawn"]),
            tuple(ply["placement"]["tile"]) if ply["placement"] else None,
            ply["placement"]["end"] if ply["placement"] else None,
        )
        for played in document["rounds"] for ply in played["plies"]
    ]  # fmt: skip
    assert told == literal_plies(playing, 3, 1)
    for played in document["rounds"]:
        placed: list[list[int]] = []
        ports: list[dict[str, Any]] = []
        for ply in played["plies"]:
            if ply["placement"]:
                placed.append(ply["placement"]["tile"])
                if ply["placement"]["end"] is not None:
                    assert ply["placement"]["end"] in [port["value"] for port in ports]
            ports = ply["ports"]
            assert ply["line"] == placed
            assert len(ply["connections"]) == max(0, len(placed) - 1)
            for connection in ply["connections"]:
                assert connection["open"]["value"] == connection["joined"]["value"]
            assert ports == sorted(ports, key=lambda port: (port["tile"], port["port"]))
            # Every half lies in a connection, or is one of the two that are open.
            halves = sorted(value for tile in placed for value in tile)
            joined = [connection[side]["value"] for connection in ply["connections"] for side in ("open", "joined")]
            assert halves == sorted([*joined, *(port["value"] for port in ports)])


def test_the_document_names_scores_and_seats() -> None:
    playing = lineup(["heaviest", "random", "double"], seed=4)
    document = replay_document(playing, 7, 2)
    record = replay_match(playing, 7, 2)
    assert document["seated"] == [1, 2, 0]
    assert (document["block"], document["rotation"]) == (7, 2)
    assert document["scores"] == list(record.scores)
    assert document["winners"] == list(record.winners)
    sums = [0, 0, 0]
    for played, told in zip(record.rounds, document["rounds"], strict=True):
        assert told["leader"] == played.leader
        assert [list(map(tuple, hand)) for hand in told["hands"]] == [list(hand) for hand in played.deal.hands]
        assert told["reason"] == played.end.reason
        sums = [total + credit for total, credit in zip(sums, told["credit"], strict=True)]
        assert told["scores"] == sums
