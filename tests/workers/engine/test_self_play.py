"""What self-play must come to: figures of about 10^8 rounds by another engine, in both engines here.

Each figure is compared within four standard errors, ours (from batches of matches) and theirs together. Each check has a
twin: an engine that is wrong in one place is measured in the same way and must be rejected.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import pytest

from tests.workers.engine.engines import golden, lineup
from workers.engine import reference
from workers.engine.play import Lineup, MatchRows, play_blocks, play_literally
from workers.engine.policies import PolicyValue

Play: TypeAlias = Callable[[Lineup, int, int], MatchRows]
Figures: TypeAlias = dict[str, tuple[float, float]]
"""By name: a value and its standard error."""

NAMES = {
    "blocked_share": "blocked_share", "tied_block_share": "tied_block_share", "plies_per_round": "plies",
    "placements_per_round": "placements", "rounds_per_match": "rounds", "leader_round_win": "leader",
}  # fmt: skip
OTHER_NAMES = {"random_placement": "random"}
KNOWN = {
    (OTHER_NAMES.get(row["policy"], row["policy"]), row["n"]): {
        ours: (row[theirs][0], row[theirs][1]) for theirs, ours in NAMES.items()
    }
    for row in golden("facts")["self_play"]
}
MATCHES = {2: 60_000, 3: 120_000, 4: 150_000}
BATCHES = 60


def measure(playing: Lineup, play: Play, matches: int, batches: int) -> Figures:
    """The figures of self-play, each a ratio of sums, with errors from the scatter of the batches."""
    sums = []
    for batch in range(batches):
        rows = play(playing, batch * (matches // batches), matches // batches)
        sums.append(
            [
                len(rows.rounds), rows.rounds.sum(), rows.blocked_rounds, rows.tied_blocked_rounds, rows.plies,
                rows.plies - rows.passes, rows.leader_rounds_won,
            ]
        )  # fmt: skip
    table = np.array(sums, np.float64)
    played, rounds, blocked, tied, plies, placements, leader = table.T
    return {
        "blocked_share": ratio(blocked, rounds),
        "tied_block_share": ratio(tied, rounds),
        "plies": ratio(plies, rounds),
        "placements": ratio(placements, rounds),
        "rounds": ratio(rounds, played),
        "leader": ratio(leader, rounds),
    }


def ratio(above: "np.ndarray[Any, Any]", below: "np.ndarray[Any, Any]") -> tuple[float, float]:
    """The ratio of two sums over batches and its standard error."""
    value = above.sum() / below.sum()
    scatter = above - value * below
    error = np.sqrt((scatter**2).sum() / (len(above) - 1) * len(above)) / below.sum()
    return float(value), float(error)


def rejected(found: Figures, known: Figures) -> set[str]:
    """The figures that lie more than four standard errors from what is known."""
    return {
        name for name, (value, error) in known.items() if abs(found[name][0] - value) > 4 * np.hypot(error, found[name][1])
    }  # fmt: skip


def self_play(policy: PolicyValue, players: int, ruleset: Any = "block") -> Lineup:
    """One policy in every seat."""
    return lineup([policy] * players, ruleset=ruleset, seed=20_260_101, rotations=1)


@dataclass(frozen=True)
class Measured:
    """A compiled self-play of `random`, measured once."""

    players: int
    figures: Figures


@pytest.fixture(scope="module", params=[2, 3, 4])
def measured(request: pytest.FixtureRequest) -> Measured:
    """`random` against itself."""
    players = request.param
    return Measured(players, measure(self_play("random", players), play_blocks, MATCHES[players], BATCHES))


def test_random_self_play_is_as_known(measured: Measured) -> None:
    assert rejected(measured.figures, KNOWN["random", measured.players]) == set()


@pytest.mark.parametrize("players", [2, 3, 4])
@pytest.mark.parametrize("policy", ["random_tile", "heaviest"])
def test_self_play_of_other_policies_is_as_known(policy: str, players: int) -> None:
    found = measure(self_play(policy, players), play_blocks, MATCHES[players] // 3, BATCHES)
    assert rejected(found, KNOWN[policy, players]) == set()


@pytest.mark.parametrize("players", [2, 3, 4])
def test_the_other_reading_of_random_is_rejected(players: int) -> None:
    found = measure(self_play("random_tile", players), play_blocks, MATCHES[players], BATCHES)
    assert rejected(found, KNOWN["random", players]) >= {"blocked_share", "placements"}


@pytest.mark.parametrize("players", [2, 3, 4])
def test_a_policy_that_is_random_but_for_doubles_is_rejected_by_every_figure(players: int) -> None:
    found = measure(self_play({"prefer": ["double", "random"]}, players), play_blocks, MATCHES[players] // 3, BATCHES)
    assert rejected(found, KNOWN["random", players]) == set(found)


TWINS: list[tuple[str, Any, set[str]]] = [
    ("ties broken by tiles", {"blocked_tie": "lightest_tile"}, {"tied_block_share"}),
    ("a target to be exceeded", {"ends": {"at": "exceed"}}, {"rounds"}),
    ("own pips kept when blocked", {"blocked_award": "gross"}, {"rounds"}),
]  # fmt: skip


@pytest.mark.parametrize("players", [2, 3, 4])
@pytest.mark.parametrize(("_what", "ruleset", "figures"), TWINS, ids=[twin[0] for twin in TWINS])
def test_a_slightly_wrong_rule_is_rejected(_what: str, ruleset: Any, figures: set[str], players: int) -> None:
    found = measure(self_play("random", players, ruleset), play_blocks, MATCHES[players], BATCHES)
    assert rejected(found, KNOWN["random", players]) >= figures


def test_a_closing_pass_too_few_is_rejected(measured: Measured) -> None:
    value, error = measured.figures["plies"]
    shifted = {**measured.figures, "plies": (value - measured.figures["blocked_share"][0], error)}
    assert rejected(shifted, KNOWN["random", measured.players]) == {"plies"}


LITERAL_MATCHES = {2: 120, 3: 300, 4: 300}


@pytest.mark.parametrize("players", [2, 3, 4])
def test_the_literal_rules_come_to_the_same(players: int) -> None:
    found = measure(self_play("random", players), play_literally, LITERAL_MATCHES[players], 30)
    assert rejected(found, KNOWN["random", players]) == set()


def test_literal_rules_that_settle_ties_are_rejected(monkeypatch: pytest.MonkeyPatch) -> None:
    literal = reference.settle_blocked

    def first_of_the_lightest_wins(ruleset: Any, hands: Any, leader: int) -> reference.RoundEnd:
        end = literal(ruleset, hands, leader)
        return reference.RoundEnd("blocked", leader, end.credit) if end.winner is None else end

    monkeypatch.setattr(reference, "settle_blocked", first_of_the_lightest_wins)
    found = measure(self_play("random", 2), play_literally, LITERAL_MATCHES[2], 30)
    assert "tied_block_share" in rejected(found, KNOWN["random", 2])


def test_literal_rules_that_let_only_one_end_be_joined_are_rejected(monkeypatch: pytest.MonkeyPatch) -> None:
    literal = reference.placements

    def left_before_right(hand: Any, line_ends: Any) -> list[reference.Placement]:
        legal = literal(hand, line_ends)
        left = [placement for placement in legal if line_ends and placement.end == line_ends[0]]
        return left or legal

    monkeypatch.setattr(reference, "placements", left_before_right)
    found = measure(self_play("random", 2), play_literally, LITERAL_MATCHES[2], 30)
    assert rejected(found, KNOWN["random", 2])


@pytest.mark.parametrize("players", [2, 3, 4])
def test_every_seat_wins_its_share_and_a_favoured_seat_is_rejected(players: int) -> None:
    matches = MATCHES[players] // 2
    rows = play_blocks(self_play("random", players), 0, matches)
    wins = np.bincount(np.log2(rows.winners).astype(np.int64), minlength=players)
    error = np.sqrt(matches * (players - 1)) / players
    assert (abs(wins - matches / players) < 4 * error).all()
    # The twin: the first seat chooses better in one match of ten.
    favoured = play_blocks(lineup(["double", *["random"] * (players - 1)], rotations=1), 0, matches // 10)
    mixed = wins[0] * 0.9 + (favoured.winners == 1).sum()
    assert abs(mixed - matches / players) > 4 * error


MATRIX = golden("facts")["policy_matrix"]
OUR_NAMES = {"doubles": "double", "blocker": "starver"}


@pytest.mark.parametrize("pair", MATRIX, ids=lambda pair: f"{pair['n']}-{pair['a']}-{pair['b']}")
def test_policies_are_as_strong_against_each_other_as_known(pair: dict[str, Any]) -> None:
    one, other = (OUR_NAMES.get(pair[side], pair[side]) for side in "ab")
    share, error = candidate_share(one, other, pair["n"], 1500)
    assert abs(share - pair["share"]) < 4 * np.hypot(error, pair["se"])


def candidate_share(one: PolicyValue, other: PolicyValue, players: int, blocks: int) -> tuple[float, float]:
    """The match share of one against a field of the other, over whole blocks, with its standard error."""
    rows = play_blocks(lineup([one, *[other] * (players - 1)], seed=77), 0, blocks)
    seats = np.arange(len(rows.winners)) % players
    won = (rows.winners >> seats & 1).reshape(blocks, players).sum(axis=1) / players
    return float(won.mean()), float(won.std(ddof=1) / np.sqrt(blocks))


@pytest.mark.parametrize(
    ("wrong", "other", "known"),
    [
        # Without one of its features each would be another policy.
        ({"weights": {"unseen": -0.25, "mobility": 1}}, "heaviest", 0.749),
        ({"prefer": ["heaviest", "random"]}, "random", 0.9018),
    ],
)
def test_a_policy_that_differs_a_little_is_rejected(wrong: PolicyValue, other: PolicyValue, known: float) -> None:
    share, error = candidate_share(wrong, other, 2, 6000)
    assert abs(share - known) > 4 * np.hypot(error, 0.001)
