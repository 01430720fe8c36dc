"""Random rulesets and policies for property tests."""

from typing import Any

from hypothesis import strategies as st

from workers.engine.policies.language import FINISH_WORDS, PREFERENCE_WORDS, WEIGHT_WORDS
from workers.engine.policies.resolve import NAMED
from workers.engine.tiles import set_size

seeds = st.integers(0, 2**64 - 1)
blocks = st.integers(0, 2**64 - 100)

written = st.fixed_dictionaries(
    {},
    optional={
        "prefer": st.builds(
            lambda words, finish: [*words, *finish],
            st.lists(st.sampled_from(sorted(PREFERENCE_WORDS)), min_size=1, max_size=4),
            st.lists(st.sampled_from(sorted(FINISH_WORDS)), max_size=1),
        ),
        "weights": st.dictionaries(
            st.sampled_from(sorted(WEIGHT_WORDS)), st.integers(-5000, 5000).map(lambda weight: weight / 1000), min_size=1
        ),
    },
).filter(bool)
policies = st.one_of(st.sampled_from([policy.name for policy in NAMED]), written)


@st.composite
def rulesets(draw: Any) -> tuple[dict[str, Any], int]:
    """A ruleset that can be played, and its number of players; matches are short, so that the literal rules keep up."""
    players = draw(st.integers(2, 8))
    highest = draw(st.sampled_from((6, 9, 12) if players <= 4 else (9, 12)))
    hand = draw(st.integers(1, min(set_size(highest) // players, 14)))
    drawing = st.fixed_dictionaries(
        {"limit": st.one_of(st.none(), st.integers(1, 4)), "reserve": st.integers(0, 4)}
    )  # fmt: skip
    ends = st.one_of(
        st.fixed_dictionaries({"rounds": st.integers(1, 4)}),
        st.fixed_dictionaries({"target": st.integers(1, 40), "at": st.sampled_from(("reach", "exceed"))}),
    )
    return {
        "preset": draw(st.sampled_from(("block", "traditional", "draw"))),
        "set": highest,
        "hand": hand,
        "opening": draw(st.sampled_from(("lot", "highest_double"))),
        "next_leader": draw(st.sampled_from(("clockwise", "loser", "winner"))),
        "blocked_tie": draw(st.sampled_from(("nobody", "lightest_tile"))),
        "blocked_award": draw(st.sampled_from(("net", "gross"))),
        "ends": draw(ends),
        "draw": draw(st.one_of(st.none(), drawing)),
        "partners": players == 4 and draw(st.booleans()),
        "partner_count": draw(st.sampled_from(("lowest_hand", "side_total"))),
    }, players
