"""Policies: one contract for all of them, the words of the language, and what is refused."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.workers.engine import strategies
from tests.workers.engine.engines import lineup
from workers.engine.deal import Deal
from workers.engine.play import replay_match
from workers.engine.policies import Policy, describe_policies, resolve_policy
from workers.engine.policies.language import FEATURE_TEXTS, PREFERENCE_WORDS, WEIGHT_WORDS
from workers.engine.policies.program import FEATURES, MAX_PREFERENCES, Feature, Finish, Preference, features
from workers.engine.policies.resolve import NAMED, REGISTER, WRITTEN
from workers.engine.reference import Choose, Placement, Round, View, play_match
from workers.engine.rng import DecisionRandom
from workers.engine.rules import resolve_ruleset
from workers.engine.tiles import Tile
from workers.errors import InvalidInput

NAMES = list(dict.fromkeys(policy.name for policy in NAMED))


def views_of_a_match(policy: Policy, ruleset: Any, players: int, seed: int) -> list[tuple[View, int, Placement]]:
    """Every decision of a match in which the policy plays all seats: what it saw, its random word, and its choice."""
    seen: list[tuple[View, int, Placement]] = []

    def watch(view: View, random: DecisionRandom) -> Placement:
        chosen = policy.choose(view, random)
        seen.append((view, random.word, chosen))
        return chosen

    rules = resolve_ruleset(ruleset, players)
    choosers: list[Choose] = [watch] * players
    play_match(rules, seed, 0, choosers)
    return seen


@settings(max_examples=40, deadline=None)
@given(value=strategies.policies, table=strategies.rulesets(), seed=strategies.seeds)
def test_every_policy_is_legal_and_deterministic_for_a_random_word(
    value: Any, table: tuple[dict[str, Any], int], seed: int
) -> None:
    ruleset, players = table
    policy = resolve_policy(value, players)
    again = resolve_policy(value, players)
    for view, word, chosen in views_of_a_match(policy, ruleset, players, seed)[:60]:
        assert chosen in view.legal
        assert again.choose(view, DecisionRandom(word)) == chosen


@pytest.mark.parametrize("players", [2, 3, 4])
@pytest.mark.parametrize("name", NAMES)
def test_every_named_policy_is_blind_to_hidden_tiles(name: str, players: int) -> None:
    """Two worlds with the same view and other hidden hands: the choice is the same, since nothing else is shown."""
    policy = resolve_policy(name, players)
    rules = resolve_ruleset("block", players)
    record = replay_match(lineup([name] * players, rotations=1), 0, 0)
    deal = record.rounds[0].deal
    hidden = sorted([*(tile for hand in deal.hands[1:] for tile in hand), *deal.stock])
    other = [deal.hands[0], *(tuple(hidden[rules.hand * seat : rules.hand * (seat + 1)]) for seat in range(players - 1))]
    choices = []
    for hands in (deal.hands, tuple(other)):
        world = Deal(hands, ())
        state = Round(rules, [list(hand) for hand in world.hands], 0)
        choices.append(policy.choose(state.view(state.legal()), DecisionRandom(77)))
    assert choices[0] == choices[1]
    assert not [field for field in View.__dataclass_fields__ if field in ("hands", "stock", "deal")]


def view_of(
    hand: list[Tile], ends: tuple[int, int] | None, *, lacks: Mapping[int, set[int]] | None = None, players: int = 2
) -> View:
    """A view of seat 0 in the middle of a round."""
    ruleset = resolve_ruleset("block", players)
    known = [frozenset((lacks or {}).get(seat, set())) for seat in range(players)]
    state = Round(ruleset, [hand, *[[(6, 6)]] * (players - 1)], 0, line_ends=ends, lacks=known)
    return state.view(state.legal())


def test_features_count_what_their_texts_say() -> None:
    view = view_of([(1, 4), (4, 4), (0, 2), (2, 6)], (1, 3), lacks={1: {4, 3}})
    worth = dict(zip(Feature, features(view, Placement((1, 4), 1)), strict=True))
    assert worth == {
        Feature.PIPS: 5, Feature.DOUBLE: 0,
        # New ends 4 and 3: [4|4] follows. Left are the values 0, 2, 4, 6.
        Feature.MOBILITY: 1, Feature.DISTINCT: 4, Feature.NEXT_LACKS_ONE: 1, Feature.NEXT_LACKS_BOTH: 1,
        # Thirteen tiles have a 3 or a 4; [1|4] and [4|4] are in the hand.
        Feature.UNSEEN: 11, Feature.OTHER_LACKS: 1, Feature.NO_FOLLOW_UP: 0, Feature.EQUAL_ENDS: 0,
    }  # fmt: skip
    opening = dict(zip(Feature, features(view_of([(4, 4), (0, 2)], None), Placement((4, 4), None)), strict=True))
    assert (opening[Feature.DOUBLE], opening[Feature.EQUAL_ENDS], opening[Feature.NO_FOLLOW_UP]) == (1, 1, 1)
    assert (opening[Feature.UNSEEN], opening[Feature.OTHER_LACKS]) == (6, 0)


def chosen(value: Any, view: View, word: int = 0) -> Placement:
    """What a policy chooses."""
    return resolve_policy(value, view.ruleset.players).choose(view, DecisionRandom(word))


def test_named_policies_choose_as_their_summaries_say() -> None:
    view = view_of([(1, 1), (1, 6), (1, 2), (3, 5)], (1, 3))
    assert chosen("heaviest", view) == Placement((3, 5), 3)
    assert chosen("lightest", view) == Placement((1, 1), 1)
    assert chosen("double", view) == Placement((1, 1), 1)
    assert chosen({"prefer": ["fewest_double", "lightest"]}, view) == Placement((1, 2), 1)
    assert chosen({"weights": {"pips": -1}}, view) == Placement((1, 1), 1)
    starved = view_of([(1, 6), (1, 2), (3, 5)], (1, 3), lacks={1: {2, 3}})
    assert chosen("starver", starved) == Placement((1, 2), 1)
    assert chosen({"prefer": ["next_lacks_both"]}, starved) == Placement((1, 2), 1)


def test_ties_go_to_pips_then_the_higher_half_then_the_smaller_end() -> None:
    assert chosen("heaviest", view_of([(3, 3), (2, 4), (1, 5)], (3, 5))) == Placement((1, 5), 5)
    assert chosen("heaviest", view_of([(2, 5)], (5, 2))) == Placement((2, 5), 2)
    assert chosen("heaviest", view_of([(2, 5)], (2, 5))) == Placement((2, 5), 2)


def test_random_is_uniform_over_placements_and_random_tile_over_tiles() -> None:
    view = view_of([(2, 5), (2, 3)], (2, 5))
    words = [step << 54 | (step * 7919 % 1024) << 22 for step in range(1024)]
    by_placement = [chosen("random", view, word) for word in words]
    by_tile = [chosen("random_tile", view, word) for word in words]
    both = {Placement((2, 5), 2), Placement((2, 5), 5)}
    assert sum(placement in both for placement in by_placement) == pytest.approx(1024 * 2 / 3, abs=2)
    assert sum(placement in both for placement in by_tile) == 512
    assert sum(placement == Placement((2, 5), 2) for placement in by_tile) == pytest.approx(256, abs=30)


def test_a_written_policy_and_its_name_are_the_same_program() -> None:
    assert resolve_policy({"prefer": ["double", "heaviest"]}, 2).fingerprint == resolve_policy("double", 2).fingerprint
    assert resolve_policy({"prefer": ["random"]}, 2).fingerprint == resolve_policy("random", 2).fingerprint
    assert resolve_policy({"name": "heaviest", "version": "1"}, 2).fingerprint == resolve_policy("heaviest", 2).fingerprint
    assert resolve_policy("linear", 2).fingerprint != resolve_policy("linear", 3).fingerprint
    assert resolve_policy("linear", 4).fingerprint == resolve_policy("linear", 8).fingerprint
    prints = [resolve_policy({"name": each.name, "version": each.version}, 2).fingerprint for each in NAMED]
    assert len(set(prints)) == len(NAMED)


def test_fingerprints_are_pinned() -> None:
    # A named policy that plays otherwise needs a new version; regressions refer to these.
    pinned = {name: resolve_policy(name, 2).fingerprint for name in ("random", "heaviest", "double", "linear")}
    pinned["linear 1"] = resolve_policy({"name": "linear", "version": "1"}, 2).fingerprint
    assert pinned == {
        "random": "32a58430b5019a95", "heaviest": "f02e46cb0e8e9ebe", "double": "13686bf5fe16d0dc",
        "linear": "f8c5c2e0947eca8b", "linear 1": "afd69dd22be74cd9",
    }  # fmt: skip


@given(value=strategies.written)
def test_equal_fingerprints_mean_equal_programs(value: Any) -> None:
    policy = resolve_policy(value, 2)
    for name in NAMES:
        named = resolve_policy(name, 2)
        assert (named.fingerprint == policy.fingerprint) == (named.program == policy.program)
    assert resolve_policy(dict(reversed(value.items())), 2).fingerprint == policy.fingerprint


def test_preferences_weights_and_finish_are_read() -> None:
    program = resolve_policy({"prefer": ["double", "fewest_unseen", "random_tile"], "weights": {"pips": 1.25}}, 2).program
    assert program.prefer == (Preference(Feature.DOUBLE), Preference(Feature.UNSEEN, fewest=True))
    assert program.weights == (1250, *[0] * (FEATURES - 1))
    assert program.finish is Finish.RANDOM_TILE
    assert resolve_policy({"weights": {"mobility": -1000, "unseen": 0.001}}, 2).program.weights is not None
    assert replace(program, finish=Finish.TOP) != program


@pytest.mark.parametrize(
    ("value", "path", "reason"),
    [
        ("heavist", "policy", "unknown policy 'heavist'"),
        ("", "policy", "unknown policy"),
        (WRITTEN, "policy", "write it as an object"),
        (None, "policy", "name or an object"),
        (["random"], "policy", "name or an object"),
        ({}, "policy", "must have a name"),
        ({"name": "nobody"}, "policy.name", "unknown policy 'nobody'"),
        ({"name": ["random"]}, "policy.name", "unknown policy"),
        ({"name": "heaviest", "version": "2"}, "policy.version", "no version '2'; known are 1"),
        ({"name": "heaviest", "version": 1}, "policy.version", "no version 1"),
        ({"name": "heaviest", "worlds": 64}, "policy.worlds", "unknown parameter"),
        ({"name": "heaviest", "prefer": ["double"]}, "policy.prefer", "unknown parameter"),
        ({"prefer": []}, "policy.prefer", "at least one word"),
        ({"prefer": "double"}, "policy.prefer", "list"),
        ({"prefer": ["doubel"]}, "policy.prefer[0]", "unknown preference 'doubel'"),
        ({"prefer": [1]}, "policy.prefer[0]", "unknown preference 1"),
        ({"prefer": ["random", "double"]}, "policy.prefer[0]", "only stand last"),
        ({"prefer": ["double"] * (MAX_PREFERENCES + 1)}, "policy.prefer", "at most 8"),
        ({"prefer": ["double"], "wieghts": {}}, "policy.wieghts", "unknown key"),
        ({"weights": {}}, "policy.weights", "at least one feature"),
        ({"weights": [1]}, "policy.weights", "object"),
        ({"weights": {"pip": 1}}, "policy.weights.pip", "unknown feature"),
        ({"weights": {"pips": True}}, "policy.weights.pips", "must be a number"),
        ({"weights": {"pips": "1"}}, "policy.weights.pips", "must be a number"),
        ({"weights": {"pips": None}}, "policy.weights.pips", "must be a number"),
        ({"weights": {"pips": 1000.001}}, "policy.weights.pips", "from -1000 to 1000"),
        ({"weights": {"pips": 10**400}}, "policy.weights.pips", "from -1000 to 1000"),
        ({"weights": {"pips": 0.0001}}, "policy.weights.pips", "three decimals"),
        ({"weights": {"pips": 0.1 + 0.2}}, "policy.weights.pips", "three decimals"),
        ({"weights": {"pips": float("nan")}}, "policy.weights.pips", "must be a number"),
        ({"weights": {"pips": float("inf")}}, "policy.weights.pips", "must be a number"),
    ],
)
def test_what_is_wrong_with_a_policy_is_named(value: Any, path: str, reason: str) -> None:
    with pytest.raises(InvalidInput) as refusal:
        resolve_policy(value, 2)
    assert [error.path for error in refusal.value.errors] == [path]
    assert reason in str(refusal.value)


def test_every_mistake_is_named_at_once() -> None:
    with pytest.raises(InvalidInput) as refusal:
        resolve_policy({"prefer": ["x", "double"], "weights": {"y": 1, "pips": 0.12345}, "z": 1}, 2, "policies[1]")
    paths = [error.path for error in refusal.value.errors]
    assert sorted(paths) == ["policies[1].prefer[0]", "policies[1].weights.pips", "policies[1].weights.y", "policies[1].z"]


@given(weight=st.integers(-1_000_000, 1_000_000))
def test_weights_are_exact_thousandths(weight: int) -> None:
    program = resolve_policy({"weights": {"pips": weight / 1000}}, 2).program
    assert program.weights is not None
    assert program.weights[Feature.PIPS] == weight


def test_the_listing_is_enough_to_write_a_policy() -> None:
    *named, written = describe_policies()
    assert [item["name"] for item in named] == [policy.name for policy in REGISTER]
    for item in named:
        assert resolve_policy({"name": item["name"], "version": item["version"]}, 2).name == item["name"]
        assert item["summary"]
        assert item["parameters"]["type"] == "object"
    schema = written["parameters"]["properties"]
    words = [choice["const"] for choice in schema["prefer"]["items"]["oneOf"]]
    assert set(words) == {*PREFERENCE_WORDS, "random", "random_tile"}
    for word in words:
        resolve_policy({"prefer": [word]}, 2)
    assert set(schema["weights"]["properties"]) == set(WEIGHT_WORDS)
    assert set(FEATURE_TEXTS) == set(Feature)
