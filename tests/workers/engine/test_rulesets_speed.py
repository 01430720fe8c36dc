"""What other rulesets cost a ply beside `block`: long, and printed (`pytest --slow -s`) so that a run leaves a record.

The rulesets take turns, so that a slow minute is one for all, and the best of several turns by processor time counts.
"""

import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.workers.engine.engines import lineup
from workers.engine.compile import RARE_KERNELS, WIDE_KERNEL
from workers.engine.play import play_blocks, warm_up

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[3]
TURNS = 12
RULESETS: dict[str, tuple[Any, float]] = {
    "traditional": ("traditional", 1.5),
    "draw": ("draw", 4.0),
    "double-nine": ({"preset": "block", "set": 9}, 3.0),
    "double-twelve": ({"preset": "block", "set": 12}, 6.0),
}
"""Each with the most that a ply may cost, in plies of `block`."""


@pytest.mark.parametrize("players", [2, 3, 4])
@pytest.mark.parametrize("policy", ["random", "heaviest"])
def test_what_a_ply_costs_beside_a_ply_of_block(policy: str, players: int) -> None:
    warm_up()
    warm_up(WIDE_KERNEL)
    best = dict.fromkeys(("block", *RULESETS), float("inf"))
    for _ in range(TURNS):
        for name in best:
            ruleset = RULESETS[name][0] if name in RULESETS else name
            playing = lineup([policy] * players, ruleset=ruleset, rotations=1)
            begun = time.process_time()
            rows = play_blocks(playing, 0, 20_000 if name != "double-twelve" else 3_000)
            best[name] = min(best[name], (time.process_time() - begun) / rows.plies)
    ratios = {name: best[name] / best["block"] for name in RULESETS}
    told = ", ".join(f"{name} {ratio:.2f}" for name, ratio in ratios.items())
    sys.stdout.write(f"{policy}, {players} players, plies of block at {best['block'] * 1e9:.1f} ns: {told}\n")
    for name, (_, bound) in RULESETS.items():
        assert ratios[name] < bound, name


@pytest.mark.timeout(1200)
def test_all_kernels_are_compiled_in_minutes(tmp_path: Path) -> None:
    code = """
import sys, time
from workers.engine.play import warm_up
for kernel in (None, *sys.argv[1:]):
    warm_up(kernel)
print(time.process_time())
"""
    run = subprocess.run(
        [sys.executable, "-c", code, *RARE_KERNELS], capture_output=True, text=True, timeout=1180, check=True, cwd=ROOT,
        env={"BLOCKYARD_CACHE_DIR": str(tmp_path), "PATH": "/usr/bin:/bin"},
    )  # fmt: skip
    sys.stdout.write(f"all kernels compiled in {float(run.stdout):.0f} s of a processor\n")
    assert float(run.stdout) < 300
