"""The disk is full while a job is under way: the service refuses new jobs until there is room, then it goes on."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from tests.faults.test_processes import BIG_CHUNK_BLOCKS, own_redis_url
from tests.faults.test_redis import is_refused
from tests.faults.yard import SETTINGS, Trial, make_spec, start_up
from tests.servers import poll
from workers.jobs.queue import open_ledger
from workers.settings import Settings

CHUNKS = 120
DISK = "96m"
"""More than the free space that `up` asks for."""


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A small file system of the test's own."""
    folder = tmp_path / "disk"
    folder.mkdir()
    if not sys.platform.startswith("linux") or os.geteuid() != 0:
        pytest.skip("a full disk is not proved here: only root on Linux may mount a small file system")
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={DISK}", "tmpfs", str(folder)], capture_output=True, text=True, check=False
    )
    if mounted.returncode != 0:
        pytest.skip(f"a full disk is not proved here: {mounted.stderr.strip()}")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def test_a_full_disk_is_waited_for(disk: Path, tmp_path: Path) -> None:
    # What is said of a full disk can be read only where there is room for it.
    (tmp_path / "logs").mkdir()
    (disk / "data").mkdir()
    (disk / "data" / "logs").symlink_to(tmp_path / "logs")
    up = start_up(disk, chunk_blocks=BIG_CHUNK_BLOCKS)
    try:
        ledger = open_ledger(Settings(redis_url=own_redis_url(up), **SETTINGS))
        spec = make_spec(78, CHUNKS, BIG_CHUNK_BLOCKS)
        trial = Trial(ledger, spec, "", ledger.figures())
        trial.job_id = ledger.submit(spec)[0].id
        trial.until_recorded(CHUNKS // 10)
        redis_before = up.children()["redis"]
        logged = len(up.log_of("api"))
        ballast = disk / "ballast"
        with suppress(OSError), ballast.open("wb", buffering=0) as file:
            while True:
                file.write(bytes(4096))
        # A server that may not lose what it has acknowledged ends itself where it can no longer write; its supervisor starts it
        # again until there is room.
        poll(lambda: not redis_before.is_running(), 60)
        poll(lambda: is_refused(up), 60)
        poll(lambda: "Redis does not answer" in up.log_of("api")[logged:], 60)
        told = up.log_of("api")[logged:]
        ballast.unlink()
        poll(up.is_ready, 120)
        trial.prove(CHUNKS)
        assert told.count("Redis does not answer") == 1, told
        assert "Traceback" not in told
    finally:
        up.stop()
