"""The data folder: where Redis keeps its append-only file, children write their logs, and one `up` at a time works."""

import errno
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from filelock import FileLock, Timeout

from service.local.errors import LocalError

MIN_FREE_BYTES: Final = 64 * 2**20
"""Below this Redis would soon refuse to write: starting is refused while there is still room to shut down well."""
PROBE_BYTES: Final = 64 * 2**10
PRIVATE: Final = 0o700


def default_data_folder() -> Path:
    """`$XDG_DATA_HOME/blockyard`, by default `~/.local/share/blockyard`."""
    from platformdirs import user_data_path

    return user_data_path("blockyard")


@dataclass(frozen=True, slots=True)
class DataFolder:
    """A data folder that this process holds; get it from `hold_folder`."""

    path: Path

    @property
    def redis(self) -> Path:
        """Where Redis keeps its files."""
        return self.path / "redis"

    @property
    def redis_note(self) -> Path:
        """Where the address of a running Redis stands, for commands that need it."""
        return self.path / "redis.url"

    @property
    def audit(self) -> Path:
        """Where changes are told of, as long as the folder lives."""
        return self.path / "audit.log"

    @property
    def logs(self) -> Path:
        """Where each child writes its log."""
        return self.path / "logs"


def data_folder(path: Path) -> DataFolder:
    """A data folder as it may be or not, without holding it."""
    return DataFolder(path.expanduser().absolute())


def noted_redis(path: Path) -> str | None:
    """The address of the Redis that runs on a data folder, if one does."""
    try:
        return data_folder(path).redis_note.read_text().strip() or None
    except OSError:
        return None


@contextmanager
def hold_folder(path: Path) -> Iterator[DataFolder]:
    """Make the folder if need be, check that it can be written to, and hold it until the block ends.

    Raises `LocalError` where it cannot be made or written, is nearly full, or is held by another `up`. The lock belongs to
    the process, so it ends with it, however it ends.
    """
    path = path.expanduser().absolute()
    folder = DataFolder(path)
    try:
        for part in (path, folder.redis, folder.logs):
            part.mkdir(mode=PRIVATE, parents=True, exist_ok=True)
        _check_room(path)
    except OSError as error:
        raise LocalError(f"data folder {path}: {_reason(error)}; choose another with --data DIR") from error
    lock = FileLock(path / "lock", mode=0o600)
    try:
        lock.acquire(timeout=0)
    except Timeout:
        raise LocalError(f"data folder {path}: another `blockyard up` runs on it; choose another with --data DIR") from None
    try:
        yield folder
    finally:
        lock.release()


def _check_room(path: Path) -> None:
    """Write, flush and remove a small file; and see that there is room for more."""
    probe = path / f".probe-{os.getpid()}"
    try:
        with probe.open("wb") as file:
            file.write(bytes(PROBE_BYTES))
            file.flush()
            os.fsync(file.fileno())
    finally:
        probe.unlink(missing_ok=True)
    free = shutil.disk_usage(path).free
    if free < MIN_FREE_BYTES:
        raise OSError(errno.ENOSPC, f"only {free // 2**20} MiB are free, {MIN_FREE_BYTES // 2**20} MiB are needed")


def _reason(error: OSError) -> str:
    known = {
        errno.EROFS: "the file system is read-only", errno.EACCES: "not writable by this user", errno.EPERM: "not writable",
        errno.EEXIST: "is not a folder", errno.ENOTDIR: "is not a folder",
    }  # fmt: skip
    if error.errno == errno.ENOSPC:
        return f"the disk is full ({error.strerror})"
    return known.get(error.errno or 0, error.strerror or str(error))
