"""The cache of machine code: where it lies, and that nothing about it can stop anyone from playing."""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace

import llvmlite.binding
import pytest

from workers.engine import compile as compiling

KERNEL = """
import logging
logging.basicConfig(format="%(message)s")
from workers.engine import compile as compiling
from workers.engine.compile import cache_folder, compiled, is_cold, warm

compiling._identity = lambda: "these-sources"

@compiled(entry=True)
def twice(number):
    return number + number

before = is_cold()
warm(lambda: twice(21))
print(before, is_cold(), sum(twice.stats.cache_hits.values()), twice(21))
print(cache_folder())
"""


def run(folder: Path, script: Path) -> subprocess.CompletedProcess[str]:
    """A fresh process with this cache folder."""
    environment = {**os.environ, compiling.CACHE_VARIABLE: str(folder)}
    return subprocess.run(
        [sys.executable, str(script)], env=environment, capture_output=True, text=True, timeout=120, check=True
    )


@pytest.fixture
def kernel(tmp_path: Path) -> Path:
    """A script with a small kernel, which tells what the cache did."""
    script = tmp_path / "kernel.py"
    script.write_text(KERNEL)
    return script


def test_a_second_process_loads_what_the_first_compiled(tmp_path: Path, kernel: Path) -> None:
    cache = tmp_path / "cache"
    first = run(cache, kernel)
    assert (first.stdout.splitlines()[0], first.stderr) == ("True False 0 42", "")
    assert Path(first.stdout.splitlines()[1]).parent == cache
    second = run(cache, kernel)
    assert (second.stdout.splitlines()[0], second.stderr) == ("False False 1 42", "")


def test_of_several_cold_processes_one_compiles_and_the_others_wait(tmp_path: Path, kernel: Path) -> None:
    with ThreadPoolExecutor(3) as pool:
        said = list(pool.map(lambda _: run(tmp_path / "cache", kernel).stdout.split()[2], range(3)))
    assert sorted(said) == ["0", "1", "1"]


def test_a_damaged_cache_costs_one_line_and_a_compile(tmp_path: Path, kernel: Path) -> None:
    cache = tmp_path / "cache"
    run(cache, kernel)
    damaged = list(cache.rglob("*.nbi"))
    assert damaged
    for index in damaged:
        index.write_bytes(b"damaged")
    again = run(cache, kernel)
    assert again.stdout.splitlines()[0] == "False False 0 42"
    assert len(again.stderr.splitlines()) == 1
    assert "compiling anew" in again.stderr
    assert (run(cache, kernel).stdout.splitlines()[0], "") == ("False False 1 42", "")


def test_a_folder_that_cannot_be_written_costs_one_line(tmp_path: Path, kernel: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    done = run(blocked, kernel)
    assert done.stdout.splitlines()[0] == "True False 0 42"
    assert len(done.stderr.splitlines()) == 1
    assert "cannot keep compiled kernels" in done.stderr
    assert not Path(done.stdout.splitlines()[1]).exists()


def test_the_folder_is_named_by_sources_and_processor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(compiling.CACHE_VARIABLE, str(tmp_path))
    compiling.cache_folder.cache_clear()
    try:
        here = compiling.cache_folder()
        config, _ = compiling.load_numba()
        monkeypatch.setattr(config, "CPU_FEATURES", f"{config.CPU_FEATURES},-sse4.2")
        compiling.cache_folder.cache_clear()
        other = compiling.cache_folder()
        assert other != here
        monkeypatch.setattr(config, "CPU_NAME", "generic")
        compiling.cache_folder.cache_clear()
        assert compiling.cache_folder() not in (here, other)
        assert compiling.cache_folder().name.startswith("generic-")
        assert compiling.is_cold()
    finally:
        compiling.cache_folder.cache_clear()


AVX2, AVX512, COUNTS_IN_VECTORS = {"avx2": True}, {"avx512f": True, "avx512vl": True}, {"avx512vpopcntdq": True}


@pytest.mark.parametrize(
    ("host", "named", "features", "name", "with_avx512"),
    [
        (AVX2, None, None, None, False),
        (AVX2 | AVX512 | {"avx512vpopcntdq": False}, None, None, "haswell", False),
        (AVX2 | AVX512 | COUNTS_IN_VECTORS, None, None, None, True),
        (AVX2 | AVX512, "skylake-avx512", None, "skylake-avx512", True),
        (AVX2 | AVX512, None, "", None, False),
    ],
)
def test_avx512_without_a_count_of_bits_is_left_out_unless_the_environment_names_a_processor(
    monkeypatch: pytest.MonkeyPatch, host: dict[str, bool], named: str | None, features: str | None, name: str | None,
    with_avx512: bool,
) -> None:  # fmt: skip
    monkeypatch.setattr(llvmlite.binding, "get_host_cpu_features", lambda: llvmlite.binding.FeatureMap(host))
    config = SimpleNamespace(CPU_NAME=named, CPU_FEATURES=features)
    compiling._choose_processor(config)
    assert name == config.CPU_NAME
    chosen = config.CPU_FEATURES.split(",")
    assert ("+avx512f" in chosen) == with_avx512
    assert ("+avx2" in chosen) == (features is None)
    assert {"-prefer-256-bit", "+prefer-no-gather", "+prefer-no-scatter"} <= set(chosen)


def test_what_is_wrong_with_a_kernel_itself_is_raised(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiling, "cache_folder", lambda: tmp_path)
    calls = []

    def broken() -> None:
        calls.append(1)
        raise ValueError("broken")

    with pytest.raises(ValueError, match="broken"):
        compiling.warm(broken)
    assert len(calls) == 2
    assert compiling.is_cold()
