"""Playing here: the same integers however it is spread, and an end to everything that is interrupted."""

import multiprocessing

import pytest

from service.local import playing
from service.local.playing import play_here
from workers.engine.play import warm_up
from workers.errors import PlayFailed
from workers.jobs.spec import make_scenario
from workers.stats.tally import Tally


@pytest.fixture(scope="module", autouse=True)
def _warm() -> None:
    warm_up()


def test_any_number_of_processes_and_any_pieces_give_the_same_integers(monkeypatch: pytest.MonkeyPatch) -> None:
    scenario = make_scenario(["heaviest", "random", "random"], 10_000, players=3)
    lineup = scenario.lineup(7)
    told: list[int] = []
    alone = play_here(lineup, scenario.blocks, 1, told.append)
    assert alone.tally.matches == sum(told) == scenario.matches
    assert len(told) > 1
    monkeypatch.setattr(playing, "FIRST_PIECE", 333)
    monkeypatch.setattr(playing, "LARGEST_PIECE", 1_000)
    for processes in (2, 3):
        told.clear()
        together = play_here(lineup, scenario.blocks, processes, told.append)
        assert together.tally == alone.tally
        assert len(told) >= 10
    assert not multiprocessing.active_children()


def test_few_matches_need_no_second_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(playing, "_players", None)
    scenario = make_scenario(["random", "random"], 10)
    assert play_here(scenario.lineup(1), scenario.blocks, 8).tally.matches == 10


def test_pieces_cover_every_block_once_and_stay_small() -> None:
    lineup = make_scenario(["heaviest", "random"], 1).lineup(1)
    pieces = playing._Pieces(lineup, 1_000_003)
    last, seen = 0, 0
    while piece := pieces.next(last, 0.001):
        first, last = piece
        assert first == seen
        assert last * lineup.rotations <= playing.LARGEST_PIECE
        seen += last
    assert seen == 1_000_003


def _fail(*_: object) -> Tally:
    raise PlayFailed("block 3, rotation 1: no such placement")


def _vanish(*_: object) -> Tally:
    raise SystemExit(1)


def test_failing_player_ends_the_whole_with_its_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    scenario = make_scenario(["heaviest", "random"], 10_000)
    lineup = scenario.lineup(1)
    for fault, reason in ((_fail, "block 3, rotation 1"), (_vanish, "ended before its piece was done")):
        monkeypatch.setattr(playing, "play_blocks", fault)
        with pytest.raises(PlayFailed, match=reason):
            play_here(lineup, scenario.blocks, 2)
        assert not multiprocessing.active_children()
