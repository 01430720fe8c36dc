"""How kernels are compiled and where the machine code is kept.

numba looks only at the file that holds a function to decide whether its cached code is still good, so a change in an
imported file would be missed. Therefore the cache folder is named by a hash of every source of the engine, of numba's and
Python's versions and of the processor: code from other sources is never found, and nothing has to be invalidated.

`BLOCKYARD_CACHE_DIR` overrides the place, which is otherwise the user's cache folder; where that cannot be written a
temporary folder serves, and one line of log says so.

Code is made for this processor, or for the one that numba's `NUMBA_CPU_NAME` and `NUMBA_CPU_FEATURES` name, with some choices
of its compiler overruled (`_TUNING`, `_WITHOUT_AVX512`) that were measured to cost more than they bring.
"""

import atexit
import hashlib
import logging
import os
import platform
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from functools import cache
from pathlib import Path
from typing import Any, Final, TypeVar

import platformdirs

CACHE_VARIABLE: Final = "BLOCKYARD_CACHE_DIR"
WARM_MARK: Final = "warm"
"""A file in the cache folder that says that the everyday kernels were compiled into it; with `-<kernel>`, that this one was."""
SEARCH_KERNEL: Final = "search"
WIDE_KERNEL: Final = "wide"
_TUNING: Final = "-prefer-256-bit,+prefer-no-gather,+prefer-no-scatter"
"""Vectors as wide as the processor has them, and no gathers, which are slow wherever they were mended against spying on their
data. On a Skylake Xeon the lanes took 17 % less time with the first, and 20 % more where there were gathers."""
_WITHOUT_AVX512: Final = "haswell"
"""What stands for a processor with AVX-512 that cannot count bits in vectors, where vectors of 512 bits slow down everything
else: in a quiet moment `random` and `heaviest` took 6 % less time without them."""
RARE_KERNELS: Final = (SEARCH_KERNEL, WIDE_KERNEL)
"""The kernels that are no everyday ones: compiled and loaded when somebody plays what needs them."""

_log = logging.getLogger(__name__)
_Function = TypeVar("_Function", bound=Callable[..., Any])


def compiled(*, entry: bool = False, inline: bool = False) -> Callable[[_Function], _Function]:
    """Decorates a function of a kernel: no bounds checks, no exceptions on division, no global lock.

    Only an `entry`, called from Python, is kept in the cache; what it calls is part of its code. `inline` asks for the
    function's code at every place of use. Only an entry may make arrays: the others do without counting references, which
    took a fifth of the time where a function is called for every round.
    """
    config, njit = load_numba()
    if entry:
        config.CACHE_DIR = str(cache_folder())
    decorate: Callable[[_Function], _Function] = njit(
        cache=entry, error_model="numpy", nogil=True, boundscheck=False, forceinline=inline,
        no_cpython_wrapper=not entry, no_cfunc_wrapper=True, _nrt=entry,
    )  # fmt: skip
    return decorate


@cache
def load_numba() -> tuple[Any, Any]:
    """numba's `config` and `njit`; the packages of kernels call this before anything of theirs imports numba.

    numba looks whether scipy's linear algebra and cffi are there by importing them, for things that no kernel does; this takes
    longer than loading all kernels. So for as long as it looks they are not there.
    """
    hidden = [name for name in ("scipy", "scipy.linalg", "cffi") if name not in sys.modules]
    for name in hidden:
        sys.modules[name] = None  # type: ignore[assignment]
    try:
        import numba
        import numba.core.typing.cffi_utils
        import numba.np.arraymath
    finally:
        for name in hidden:
            del sys.modules[name]
    if platform.machine() in ("x86_64", "AMD64"):
        _choose_processor(numba.config)
    return numba.config, numba.njit


def _choose_processor(config: Any) -> None:
    """Have numba compile for this processor as it was measured to be fastest, or for the one that the environment names."""
    import llvmlite.binding

    features = config.CPU_FEATURES
    if features is None:
        host = llvmlite.binding.get_host_cpu_features()
        if config.CPU_NAME is None and host.get("avx512f") and not host.get("avx512vpopcntdq"):
            config.CPU_NAME = _WITHOUT_AVX512
            host.update({feature: False for feature in host if feature.startswith("avx512")})
        features = host.flatten()
    config.CPU_FEATURES = ",".join(filter(None, (features, _TUNING)))


@cache
def cache_folder() -> Path:
    """The folder for this machine's code from these sources: exists and can be written."""
    wanted = Path(os.environ.get(CACHE_VARIABLE) or platformdirs.user_cache_dir("blockyard")) / _identity()
    try:
        _prove_writable(wanted)
    except OSError as error:
        fallback = Path(tempfile.mkdtemp(prefix="blockyard-cache-"))
        atexit.register(shutil.rmtree, fallback, ignore_errors=True)
        _log.warning("cannot keep compiled kernels in %s (%s); compiling into %s instead", wanted, error.strerror, fallback)
        return fallback
    return wanted


def is_cold(kernel: str | None = None) -> bool:
    """Whether the everyday kernels, or this one, will have to be compiled, which takes seconds, instead of being loaded."""
    marks = {mark(kernel)} if kernel in RARE_KERNELS else {WARM_MARK, mark(kernel)}
    return not any((cache_folder() / name).exists() for name in marks)


def warm(load: Callable[[], object], kernel: str | None = None) -> None:
    """Run `load`, which calls the everyday kernels once, or this one; a cache that cannot be read or written costs a compile,
    never an error.

    Of several processes that meet an empty cache one compiles, and the others wait for it.
    """
    with _compiling() if is_cold(kernel) else nullcontext():
        _warm(load, kernel)


@contextmanager
def _compiling() -> Iterator[None]:
    from filelock import FileLock  # rarely needed, and a start with a full cache is to be quick

    try:
        lock = FileLock(cache_folder() / "compiling.lock")
        lock.acquire()
    except OSError:
        # A file system without locks: everybody compiles.
        yield
        return
    try:
        yield
    finally:
        lock.release()


def _warm(load: Callable[[], object], kernel: str | None) -> None:
    try:
        load()
    except Exception as error:
        # A damaged entry, a full disk, a folder that vanished: numba has no way around its own cache, so it gets an
        # empty one. What is wrong with a kernel itself raises again.
        _log.warning("cached kernels in %s cannot be used (%s); compiling anew", cache_folder(), error)
        _forget(cache_folder())
        load()
    try:
        (cache_folder() / mark(kernel)).touch()
    except OSError as error:
        _log.warning("cannot keep compiled kernels in %s (%s)", cache_folder(), error.strerror)


def mark(kernel: str | None) -> str:
    """The name of the file that says that the everyday kernels, or this one, were compiled into its folder."""
    return f"{WARM_MARK}-{kernel}" if kernel else WARM_MARK


def _forget(folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True, exist_ok=True)


def _prove_writable(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryFile(dir=folder):
        pass


def _identity() -> str:
    config, _ = load_numba()
    import llvmlite.binding
    import numba

    digest = hashlib.sha256()
    for source in sorted(Path(__file__).parent.rglob("*.py")):
        digest.update(source.read_bytes())
    processor = config.CPU_NAME or llvmlite.binding.get_host_cpu_name()
    for part in (numba.__version__, sys.version, platform.machine(), processor, str(config.CPU_FEATURES)):
        digest.update(part.encode())
    return f"{processor}-{digest.hexdigest()[:16]}"
