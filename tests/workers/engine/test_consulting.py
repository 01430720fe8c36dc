"""Policies that consult others: both engines alike, what they promise, and what is refused."""

import subprocess
import sys
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.workers.engine import strategies
from tests.workers.engine.engines import assert_same_rows, compiled_plies, lineup, literal_plies, share
from tests.workers.engine.test_policies import views_of_a_match
from workers.engine.compile import is_cold
from workers.engine.play import (
    LANE_KERNEL,
    SEARCH_KERNEL,
    Lineup,
    kernel_of,
    play_blocks,
    replay_literally,
    replay_match,
)
from workers.engine.policies import resolve_policy
from workers.engine.policies.exact import exact_worth
from workers.engine.policies.ismcts import MAX_ITERATIONS, ROOT_BITS, root_tables
from workers.engine.policies.resolve import CONSULTING
from workers.engine.policies.worlds import may_hold
from workers.engine.reference import Placement, Ply, Round, View
from workers.engine.rng import DecisionRandom, mix64
from workers.engine.rules import resolve_ruleset
from workers.engine.tiles import tile_set
from workers.errors import InvalidInput
from workers.jobs.spec import make_scenario

ROOT = Path(__file__).parents[3]
programs = st.one_of(st.just("linear"), st.just("random"), strategies.written)
pimc = st.fixed_dictionaries({"name": st.just("pimc"), "worlds": st.integers(1, 3), "playout": programs})
noisy = st.fixed_dictionaries(
    {"name": st.just("noisy"), "rate": st.integers(0, 1000).map(lambda rate: rate / 1000), "policy": programs}
)
endgame = st.fixed_dictionaries(
    {"name": st.just("endgame"), "tiles": st.integers(2, 5), "worlds": st.integers(1, 100), "policy": st.one_of(programs, pimc)}
)
ismcts = st.fixed_dictionaries(
    {
        "name": st.just("ismcts"), "iterations": st.integers(1, 12), "playout": programs,
        "exploration": st.integers(0, 50_000).map(lambda thousandths: thousandths / 1000),
    }
)  # fmt: skip
consulting = st.one_of(noisy, pimc, endgame, ismcts, st.fixed_dictionaries({"name": st.just("noisy"), "policy": pimc}))
CASES: list[Any] = [
    {"name": "noisy", "rate": 0.4, "policy": {"name": "noisy", "rate": 0.2}},
    {"name": "pimc", "worlds": 3, "playout": "linear"},
    {"name": "pimc", "worlds": 3, "playout": {"prefer": ["double", "balance", "random_tile"]}},
    {"name": "noisy", "rate": 0.3, "policy": {"name": "pimc", "worlds": 2, "playout": "random"}},
    {"name": "endgame", "tiles": 5, "worlds": 120, "policy": {"name": "noisy", "policy": "linear"}},
    # More iterations than worlds are sampled at once; a tree that is deep since it explores little; chance in the playouts.
    {"name": "ismcts", "iterations": 24, "exploration": 0.25},
    {"name": "ismcts", "iterations": 12, "exploration": 25, "playout": {"prefer": ["double", "balance", "random_tile"]}},
]
RULESETS: list[tuple[Any, int]] = [
    ("block", 2), ("block", 3), ("block", 4), ("traditional", 3), ({"preset": "traditional", "partners": True}, 4),
    ({"preset": "block", "partners": True, "partner_count": "side_total", "blocked_award": "gross"}, 4),
    ({"preset": "block", "set": 9, "ends": {"target": 40}}, 3),
]  # fmt: skip


@pytest.mark.parametrize(("ruleset", "players"), RULESETS)
@pytest.mark.parametrize("policy", CASES)
def test_both_engines_play_alike(policy: Any, ruleset: Any, players: int) -> None:
    field = [policy, *["linear", "heaviest", "random"][: players - 1]]
    assert_same_rows(lineup(field, ruleset=ruleset, seed=2**64 - 1), 2**32 - 1, 1)


@pytest.mark.parametrize(("ruleset", "players"), RULESETS)
def test_both_engines_play_perfectly_alike(ruleset: Any, players: int) -> None:
    small = {**({"preset": ruleset} if isinstance(ruleset, str) else ruleset), "hand": 3}
    exact = {"name": "pimc", "worlds": 3, "playout": "exact"}
    assert_same_rows(lineup([exact, *["linear", exact, "random"][: players - 1]], ruleset=small, seed=8), 7, 1)


@pytest.mark.parametrize("players", [2, 3, 4])
def test_endgame_looks_at_every_world(players: int) -> None:
    """Its choice is the best on average over all deals that agree with what is seen, each tried by itself."""
    policy = resolve_policy({"name": "endgame", "tiles": 3 + players, "worlds": 20_000, "policy": "lightest"}, players)
    views = views_of_a_match(resolve_policy("linear", players), "block", players, 11)
    late = [view for view, _, _ in views if sum(view.hand_counts) <= 3 + players][:3]
    assert late
    for view in late:
        unseen = [tile for seat in range(players) if seat != view.seat for tile in may_hold(view, seat)]
        others = [seat for seat in range(players) if seat != view.seat]
        totals = dict.fromkeys(view.legal, 0)
        size = sum(view.hand_counts[seat] for seat in others)
        for held in permutations(sorted(set(unseen)), size):
            tiles = list(held)
            hands = [list(view.hand) if seat == view.seat else [] for seat in range(players)]
            for seat in others:
                hands[seat] = [tiles.pop() for _ in range(view.hand_counts[seat])]
            if all(not set(tile) & view.lacks[seat] for seat in others for tile in hands[seat]):
                for placement in view.legal:
                    totals[placement] += exact_worth(view, hands, placement)
        chosen = policy.choose(view, DecisionRandom(0))
        assert totals[chosen] == max(totals.values())
        # The other policy plays where there are more tiles or more worlds than it is told to look at.
        for bounds in ({"tiles": 2}, {"worlds": 1}):
            careless = resolve_policy({"name": "endgame", "tiles": 9, "policy": "lightest", **bounds}, players)
            lightest = resolve_policy("lightest", players).choose(view, DecisionRandom(0))
            assert careless.choose(view, DecisionRandom(0)) == lightest


def test_perfect_play_sees_what_follows() -> None:
    # Seat 0 holds [1|2] and [2|3] on the ends 1 and 3; the other holds [3|6]. After [1|2] it goes out at the 3, but after
    # [2|3] it is stuck with 9 pips, and [1|2] follows.
    ruleset = resolve_ruleset("block", 2)
    state = Round(ruleset, [[(1, 2), (2, 3)], [(3, 6)]], 0, line_ends=(1, 3))
    view = state.view(state.legal())
    hands = [list(hand) for hand in state.hands]
    assert {each: exact_worth(view, hands, each) for each in view.legal} == {
        Placement((1, 2), 1): -5, Placement((2, 3), 3): 9,
    }  # fmt: skip


@pytest.mark.parametrize("players", [2, 4])
def test_a_match_of_searching_policies_is_replayed_as_the_kernel_played_it(players: int) -> None:
    policy = {"name": "pimc", "worlds": 2}
    for playing in (
        lineup([policy, *["linear"] * (players - 1)], seed=5),
        lineup([policy, *["heaviest"] * (players - 1)], ruleset={"preset": "traditional", "partners": players == 4}, seed=5),
    ):
        rows = play_blocks(playing, 4, 1)
        for rotation in range(playing.rotations):
            record = replay_match(playing, 4, rotation)
            assert record == replay_literally(playing, 4, rotation)
            assert record.scores == tuple(rows.scores[rotation])


@settings(max_examples=25, deadline=None)
@given(data=st.data(), table=strategies.rulesets(), seed=strategies.seeds, block=strategies.blocks)
def test_both_engines_make_the_same_rows(data: st.DataObject, table: tuple[dict[str, Any], int], seed: int, block: int) -> None:
    ruleset, players = table
    field: list[Any] = [
        data.draw(consulting), *data.draw(st.lists(strategies.policies, min_size=players - 1, max_size=players - 1))
    ]  # fmt: skip
    if players > 4 or ruleset["set"] == 12 or ruleset["draw"]:
        field[0] = data.draw(noisy)
    assert_same_rows(lineup(field, ruleset=ruleset, seed=seed, rotations=1), block, 1)


def test_both_engines_make_every_ply_alike() -> None:
    for policy in CASES:
        playing = lineup([policy, "linear"], seed=3)
        assert compiled_plies(playing, 5, 1) == literal_plies(playing, 5, 1)


@pytest.mark.parametrize("name", [policy.name for policy in CONSULTING])
def test_a_bare_name_is_the_policy_with_its_defaults(name: str) -> None:
    (policy,) = [each for each in CONSULTING if each.name == name]
    defaults = {key: schema["default"] for key, schema in policy.properties.items()}
    assert resolve_policy(name, 2).fingerprint == resolve_policy({"name": name, **defaults}, 2).fingerprint
    assert resolve_policy({"name": name, "version": policy.version}, 2).version == policy.version


def test_fingerprints_tell_what_plays_otherwise_apart() -> None:
    values: list[Any] = [
        *CASES, "linear", "random", "noisy", "pimc", "endgame",
        {"name": "pimc", "worlds": 33}, {"name": "pimc", "playout": "heaviest"},
        {"name": "pimc", "playout": "exact"}, {"name": "endgame", "tiles": 9}, {"name": "endgame", "worlds": 999},
        "ismcts", {"name": "ismcts", "iterations": 301}, {"name": "ismcts", "exploration": 9.999},
        {"name": "ismcts", "playout": "heaviest"},
        {"name": "noisy", "rate": 0.06}, {"name": "noisy", "policy": "heaviest"}, {"name": "noisy", "policy": "pimc"},
    ]  # fmt: skip
    assert len({resolve_policy(value, 2).fingerprint for value in values}) == len(values)
    # Results and regressions refer to these: whoever changes how a policy plays gives it a new version.
    assert {policy.name: resolve_policy(policy.name, 2).fingerprint for policy in CONSULTING} == {
        "noisy": "53c2e04ddbb73bfe", "pimc": "2e3affd02b18f4d9", "endgame": "94c6389ac27a4ce8",
        "ismcts": "3e7cc2a27d606213",
    }  # fmt: skip


def test_noisy_is_random_at_its_rate() -> None:
    views = [view for view, _, _ in views_of_a_match(resolve_policy("random", 2), "block", 2, 5) if len(view.legal) > 4]
    policy, inner = resolve_policy({"name": "noisy", "rate": 0.25, "policy": "heaviest"}, 2), resolve_policy("heaviest", 2)
    other: list[float] = []
    for number in range(4000):
        view: View = views[number % len(views)]
        word = mix64(number)
        differs = policy.choose(view, DecisionRandom(word)) != inner.choose(view, DecisionRandom(word))
        other.append(differs / (1 - 1 / len(view.legal)))
    assert np.mean(other) == pytest.approx(0.25, abs=4 * np.std(other) / 4000**0.5)
    never = resolve_policy({"name": "noisy", "rate": 0, "policy": "heaviest"}, 2)
    always = resolve_policy({"name": "noisy", "rate": 1, "policy": "heaviest"}, 2)
    for word in range(20):
        assert never.choose(views[0], DecisionRandom(mix64(word))) == inner.choose(views[0], DecisionRandom(0))
    assert len({always.choose(views[0], DecisionRandom(mix64(word))) for word in range(60)}) == len(views[0].legal)


def test_a_noisy_policy_is_a_bit_worse_and_worlds_make_a_better_one() -> None:
    assert 0.40 < share([{"name": "noisy", "rate": 0.05, "policy": "linear"}, "linear"], 2000) < 0.48
    assert share([{"name": "pimc", "worlds": 16}, "heaviest"], 150) > 0.85


def test_a_tree_finds_better_placements_the_more_often_it_is_gone_down() -> None:
    assert share([{"name": "ismcts", "iterations": 60}, "heaviest"], 100) > 0.83
    assert share([{"name": "ismcts", "iterations": 100}, {"name": "ismcts", "iterations": 15}], 100) > 0.6


def test_roots_and_logarithms_are_as_near_as_their_digits_allow() -> None:
    roots_of_logs, inverse_roots = root_tables(MAX_ITERATIONS)
    numbers = np.arange(1, MAX_ITERATIONS + 1)
    unit = 1 << ROOT_BITS
    # A logarithm that is one last digit too small lowers its root by half of that over the root.
    assert np.all(np.abs(np.sqrt(np.log(numbers)) * unit - roots_of_logs[1:]) <= 2)
    assert np.all(np.abs(unit / np.sqrt(numbers) - inverse_roots[1:]) <= 1)
    assert roots_of_logs[:3].tolist() == [0, 0, 54562]
    assert inverse_roots[:5].tolist() == [0, 65536, 46340, 37837, 32768]


def test_a_tree_learns_what_follows() -> None:
    # Seat 0 holds [1|2] and [2|3] on the ends 1 and 3, and all but [1|6] is seen: the other holds that. It goes out after
    # [2|3], which costs 3; after [1|2] it passes, and [2|3] wins 7.
    ruleset = resolve_ruleset("block", 2)
    placed = [tile for tile in tile_set(6) if tile not in ((1, 2), (2, 3), (1, 6))]
    plies = [Ply(0, (), Placement(tile, tile[0])) for tile in placed]
    state = Round(ruleset, [[(1, 2), (2, 3)], [(1, 6)]], 0, line_ends=(1, 3), plies=plies)
    view = state.view(state.legal())

    def chosen(**parameters: Any) -> Placement:
        policy = resolve_policy({"name": "ismcts", "playout": "heaviest", **parameters}, 2)
        return policy.choose(view, DecisionRandom(5))

    # What the playout policy would do is tried first, then each once; from then on the better one is visited again.
    assert chosen(iterations=1).tile == (2, 3)
    assert chosen(iterations=3, exploration=0).tile == (1, 2)
    assert chosen(iterations=40).tile == (1, 2)


def test_the_large_kernel_is_there_only_where_it_is_needed() -> None:
    ruleset = resolve_ruleset("block", 2)
    plain, noise = resolve_policy("linear", 2), resolve_policy("noisy", 2)
    assert kernel_of(ruleset, (plain, plain)) == LANE_KERNEL
    assert kernel_of(ruleset, (plain, noise)) == SEARCH_KERNEL
    play_blocks(Lineup(ruleset, (plain, noise), 2, 1), 0, 1)
    assert not is_cold(SEARCH_KERNEL)


def test_a_new_process_plays_the_same_with_the_kernel_from_the_cache() -> None:
    code = (
        "from tests.workers.engine.engines import lineup\n"
        "from workers.engine.play import play_blocks\n"
        "from workers.engine.scalar.match import play_matches\n"
        "rows = play_blocks(lineup(['endgame', {'name': 'pimc', 'worlds': 4, 'playout': 'exact'}], seed=6), 0, 2)\n"
        "print(sum(play_matches.stats.cache_hits.values()), rows.scores.tolist())\n"
    )
    rows = play_blocks(lineup(["endgame", {"name": "pimc", "worlds": 4, "playout": "exact"}], seed=6), 0, 2)
    said = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
    assert said.returncode == 0, said.stderr
    assert said.stdout == f"1 {rows.scores.tolist()}\n"


@pytest.mark.parametrize(
    ("value", "path", "reason"),
    [
        ({"name": "noisy", "rate": 2}, "policy.rate", "from 0 to 1"),
        ({"name": "noisy", "rate": True}, "policy.rate", "must be a number"),
        ({"name": "noisy", "rate": float("nan")}, "policy.rate", "must be a number"),
        ({"name": "noisy", "rate": 0.1234567}, "policy.rate", "six decimals"),
        ({"name": "noisy", "policy": "nobody"}, "policy.policy", "unknown policy 'nobody'"),
        ({"name": "noisy", "policy": {"prefer": ["x"]}}, "policy.policy.prefer[0]", "unknown preference"),
        ({"name": "noisy", "worlds": 3}, "policy.worlds", "known are version, policy, rate"),
        ({"name": "noisy", "version": "9"}, "policy.version", "known are 1"),
        ({"name": "pimc", "worlds": 0}, "policy.worlds", "from 1 to 4096"),
        ({"name": "pimc", "worlds": 1.5}, "policy.worlds", "whole number"),
        ({"name": "pimc", "worlds": "many"}, "policy.worlds", "whole number"),
        ({"name": "ismcts", "iterations": 0}, "policy.iterations", "from 1 to 20000"),
        ({"name": "ismcts", "iterations": 1e3}, "policy.iterations", "whole number"),
        ({"name": "ismcts", "exploration": -1}, "policy.exploration", "from 0 to 1000"),
        ({"name": "ismcts", "exploration": "some"}, "policy.exploration", "must be a number"),
        ({"name": "ismcts", "exploration": 0.0001}, "policy.exploration", "three decimals"),
        ({"name": "ismcts", "playout": "exact"}, "policy.playout", "unknown policy 'exact'"),
        ({"name": "ismcts", "playout": "ismcts"}, "policy.playout", "without search"),
        ({"name": "ismcts", "worlds": 3}, "policy.worlds", "known are version, iterations, exploration, playout"),
        ({"name": "endgame", "tiles": 15}, "policy.tiles", "from 2 to 14"),
        ({"name": "endgame", "worlds": 0}, "policy.worlds", "from 1 to 20000"),
        ({"name": "endgame", "policy": "exact"}, "policy.policy", "unknown policy 'exact'"),
        ({"name": "pimc", "playout": "pimc"}, "policy.playout", "without search"),
        ({"name": "pimc", "playout": {"name": "linear", "version": "x"}}, "policy.playout.version", "no version 'x'"),
    ],
)
def test_what_is_wrong_with_a_parameter_is_named(value: Any, path: str, reason: str) -> None:
    with pytest.raises(InvalidInput) as refusal:
        resolve_policy(value, 2)
    assert [error.path for error in refusal.value.errors] == [path]
    assert reason in str(refusal.value)


def test_policies_consult_each_other_to_a_bounded_depth() -> None:
    value: Any = "linear"
    for _ in range(8):
        value = {"name": "noisy", "policy": value}
    resolve_policy(value, 2)
    with pytest.raises(InvalidInput, match="depth of 8"):
        resolve_policy({"name": "noisy", "policy": value}, 2)


@pytest.mark.parametrize(
    ("ruleset", "players", "reason"),
    [
        ("draw", 2, "without draws"),
        ({"preset": "block", "set": 12}, 2, "at most 64 tiles"),
        ({"preset": "block", "set": 9, "hand": 7, "ends": {"target": 50}}, 5, "at most 4 players"),
    ],
)
@pytest.mark.parametrize("name", ["pimc", "endgame", "ismcts"])
def test_what_cannot_be_searched_is_refused_by_the_place(name: str, ruleset: Any, players: int, reason: str) -> None:
    field = ["random", {"name": "noisy", "policy": name}, *["random"] * (players - 2)]
    with pytest.raises(InvalidInput, match=f"{name} plays .*{reason}") as refusal:
        make_scenario(field, 10, ruleset=ruleset)
    assert [error.path for error in refusal.value.errors] == ["policies[1]"]
    make_scenario([*field[:1], "noisy", *field[2:]], 10, ruleset=ruleset)
