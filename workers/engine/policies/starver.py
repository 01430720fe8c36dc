"""`starver`: show the next player the values that they are known to lack, and the others few tiles that fit."""

from typing import Final

from workers.engine.policies.named import NamedPolicy, always
from workers.engine.policies.program import Feature, Program, thousandths

POLICY: Final = NamedPolicy(
    "starver", "1", "Ends that the next player lacks first, then own mobility against the unseen tiles that fit",
    always(
        Program(
            weights=thousandths(
                {Feature.NEXT_LACKS_ONE: 10, Feature.NEXT_LACKS_BOTH: 10, Feature.UNSEEN: -0.25, Feature.MOBILITY: 1}
            )
        )
    ),
)  # fmt: skip
