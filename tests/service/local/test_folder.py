"""The data folder: made, proved writable, held by one."""

import os
import shutil
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from service.local import folder as folder_module
from service.local.errors import LocalError
from service.local.folder import hold_folder


@pytest.fixture
def as_nobody() -> Iterator[None]:
    """Root may write anywhere: act as a user who may not."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


def test_folder_is_made_private_and_holds_everything(tmp_path: Path) -> None:
    with hold_folder(tmp_path / "deep" / "data") as folder:
        assert folder.redis.is_dir()
        assert folder.logs.is_dir()
        assert stat.S_IMODE(folder.path.stat().st_mode) == 0o700
        assert stat.S_IMODE((folder.path / "lock").stat().st_mode) == 0o600


def test_folder_is_held_by_one_at_a_time(tmp_path: Path) -> None:
    with hold_folder(tmp_path), pytest.raises(LocalError, match="another `blockyard up`"), hold_folder(tmp_path):
        pass
    with hold_folder(tmp_path):
        pass


def test_lock_ends_with_a_process_that_was_killed(tmp_path: Path) -> None:
    code = (
        "import sys, pathlib\nfrom service.local.folder import hold_folder\n"
        "with hold_folder(pathlib.Path(sys.argv[1])):\n    print('held', flush=True)\n    sys.stdin.read()"
    )
    holder = subprocess.Popen([sys.executable, "-c", code, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    with holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        with pytest.raises(LocalError), hold_folder(tmp_path):
            pass
        holder.kill()
    with hold_folder(tmp_path):
        pass


@pytest.mark.usefixtures("as_nobody")
def test_folder_that_cannot_be_written_is_refused_in_one_line() -> None:
    with pytest.raises(LocalError, match="not writable by this user") as refusal, hold_folder(Path("/var/lib/blockyard-test")):
        pass
    assert "\n" not in str(refusal.value)
    assert "--data" in str(refusal.value)


def test_file_in_place_of_the_folder_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "data"
    file.write_text("")
    for path in (file, file / "below"):
        with pytest.raises(LocalError, match="is not a folder"), hold_folder(path):
            pass


def test_nearly_full_disk_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    free = shutil.disk_usage(tmp_path).free
    monkeypatch.setattr(folder_module, "MIN_FREE_BYTES", free + 2**40)
    with pytest.raises(LocalError, match="the disk is full"), hold_folder(tmp_path):
        pass
    assert not list(tmp_path.glob(".probe*"))
