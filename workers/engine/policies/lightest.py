"""`lightest`: the opposite of `heaviest`, kept as a policy that ought to lose."""

from typing import Final

from workers.engine.policies.named import NamedPolicy, always
from workers.engine.policies.program import Feature, Preference, Program

POLICY: Final = NamedPolicy(
    "lightest", "1", "The playable tile with fewest pips", always(Program(prefer=(Preference(Feature.PIPS, fewest=True),)))
)
