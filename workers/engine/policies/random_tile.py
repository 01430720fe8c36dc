"""`random_tile`: the other reading of "plays at random"; it blocks measurably fewer rounds than `random`."""

from typing import Final

from workers.engine.policies.named import NamedPolicy, always
from workers.engine.policies.program import Finish, Program

POLICY: Final = NamedPolicy(
    "random_tile", "1", "Uniform over the playable tiles, then uniform over the ends that the tile fits",
    always(Program(finish=Finish.RANDOM_TILE)),
)  # fmt: skip
