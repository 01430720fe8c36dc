"""Compiles the engine for other processors than this one: `python kernels.py FOLDER PROCESSOR...`, LLVM's names of them.

The code for a processor with wider vectors cannot run on the machine that builds the image, so it is compiled without being
called: the engine is warmed here once, and what that compiled is compiled again, in a process of its own for each processor,
into FOLDER/<processor>-<hash>. `start` gives a container the code for the processor that it finds.
"""

import os
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

from numba.core.dispatcher import Dispatcher

from workers.engine import compile as kernels
from workers.engine.play import warm_up

Kernel = tuple[str, str, tuple[Any, ...]]
"""Module and name of a function, and the types of its arguments."""
REGISTERS: Final = {"zmm": "AVX-512", "ymm": "AVX2", "xmm": "SSE"}
"""Vector registers as they are written in assembly, widest first, and what a processor must have for them."""
PASSED_ON: Final = "--compile"


def warmed() -> list[Kernel]:
    """Every function that is kept in the cache, with the types it is called with."""
    warm_up()
    for kernel in kernels.RARE_KERNELS:
        warm_up(kernel)
    return [
        (module, name, signature)
        for module, content in sorted(sys.modules.items())
        if module.startswith("workers.engine")
        for name, value in vars(content).items()
        if isinstance(value, Dispatcher) and value.targetoptions.get("_nrt") and value.__module__ == module
        for signature in value.signatures
    ]


def compile_for_this_process(wanted: list[Kernel]) -> None:
    """Compiles into the cache for the processor that the environment names; calls nothing, and tells what came of it."""
    from workers.engine.lanes import double_nine as _wide  # noqa: F401
    from workers.engine.lanes import double_six as _lanes  # noqa: F401
    from workers.engine.scalar import count as _count  # noqa: F401
    from workers.engine.scalar import door as _scalar  # noqa: F401

    for module, name, signature in wanted:
        getattr(sys.modules[module], name).compile(signature)
    for kernel in (None, *kernels.RARE_KERNELS):
        (kernels.cache_folder() / kernels.mark(kernel)).touch()
    code = "".join(getattr(sys.modules[module], name).inspect_asm(signature) for module, name, signature in wanted)
    vectors = next(vectors for register, vectors in REGISTERS.items() if f"%{register}" in code)
    print(f"{os.environ['NUMBA_CPU_NAME']}: {len(wanted)} kernels, {vectors}")  # noqa: T201


def main(folder: str, *processors: str) -> None:
    """Compile for each processor in turn."""
    Path(folder).mkdir(parents=True, exist_ok=True)
    wanted = warmed()
    if not wanted:
        sys.exit("the engine has no kernel to compile")
    for processor in processors:
        # No features but those that the name implies: else this machine's own would be added.
        chosen = {"NUMBA_CPU_NAME": processor, "NUMBA_CPU_FEATURES": "", kernels.CACHE_VARIABLE: folder}
        command = [sys.executable, __file__, PASSED_ON]
        subprocess.run(command, env=os.environ | chosen, input=pickle.dumps(wanted), check=True)


if __name__ == "__main__":
    if sys.argv[1:] == [PASSED_ON]:
        compile_for_this_process(pickle.loads(sys.stdin.buffer.read()))
    else:
        main(*sys.argv[1:])
