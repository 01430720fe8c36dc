"""`random`: the baseline of every comparison."""

from typing import Final

from workers.engine.policies.named import NamedPolicy, always
from workers.engine.policies.program import Finish, Program

POLICY: Final = NamedPolicy(
    "random", "1", "Uniform over the legal placements: a tile that fits both ends counts twice",
    always(Program(finish=Finish.RANDOM)),
)  # fmt: skip
