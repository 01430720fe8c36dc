"""A bare Debian root made with debootstrap, and programs in it that are confined as in a container."""

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import psutil

from tests.servers import PATIENCE

NOBODY: Final = "10001"
"""The user of the image, who exists on no machine."""
PATH: Final = "/usr/bin:/bin"
ENTER: Final = """\
set -eu
root=$1 memory=$2
shift 2
mount --make-rprivate /
mount --bind "$root" "$root"
mount -t proc proc "$root/proc"
mount -t tmpfs -o "mode=1777,size=$memory" tmpfs "$root/tmp"
mount -t tmpfs -o mode=1777,size=64m tmpfs "$root/dev/shm" # which containers have, whatever else they may write to
while [ "$1" != -- ]; do
  mount --bind "$2" "$root$1"
  [ "$3" = rw ] || mount -o remount,bind,ro "$root$1"
  shift 3
done
shift
mount -o remount,bind,ro "$root"
exec chroot "$root" /usr/bin/setpriv --reuid NOBODY --regid NOBODY --clear-groups --inh-caps=-all --bounding-set=-all \\
  --no-new-privs /usr/bin/env --ignore-environment --chdir=/tmp "$@"
""".replace("NOBODY", NOBODY)
"""Run as the first process of its namespaces: whatever it mounts is gone with them."""


def why_not_confined() -> str:
    """Why nothing can be confined here; empty where it can."""
    if not sys.platform.startswith("linux"):
        return "there are no namespaces"
    if os.geteuid() != 0:
        return "only root may mount and change its root"
    missing = [name for name in ("unshare", "mount", "chroot", "setpriv") if shutil.which(name) is None]
    if missing:
        return f"{', '.join(missing)} is missing"
    probe = subprocess.run(
        ["unshare", "--mount", "--pid", "--fork", "sh", "-c", "mount --make-rprivate / && mount -t tmpfs tmpfs /mnt"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    return f"namespaces cannot be made: {probe.stderr.strip()}" if probe.returncode else ""


def why_not_made() -> str:
    """Why no bare root can be made here; empty where it can."""
    reason = why_not_confined()
    if reason:
        return reason
    if shutil.which("debootstrap") is None:
        return "debootstrap is missing: bash deploy/test --slow installs it where it may"
    return "" if mirror() else "apt knows no mirror of Debian: apt-get update"


def mirror() -> tuple[str, str] | None:
    """Release and address of the Debian from which this machine itself installs, as its apt is configured."""
    listed = subprocess.run(
        ["apt-get", "indextargets", "--format", "$(ORIGIN) $(COMPONENT) $(CODENAME) $(REPO_URI)", "Created-By: Packages"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    for line in listed.stdout.splitlines():
        origin, component, release, address = line.split(" ", 3)
        if (origin, component) == ("Debian", "main") and "-" not in release:
            return release, address
    return None


@dataclass(frozen=True, slots=True)
class Mount:
    """A file or folder of this machine in the root, which may be written to if so wished."""

    inside: str
    outside: Path
    writable: bool = False


@dataclass(frozen=True, slots=True)
class Root:
    """A file system that programs are confined to: they may read it, and write to `/tmp`, which is memory."""

    folder: Path

    def command(
        self, mounts: Sequence[Mount], words: Sequence[str], environment: Mapping[str, str] | None = None, *,
        memory: str = "64m", network: bool = False,
    ) -> list[str]:  # fmt: skip
        """The command that runs these words in the root: with no user's name, no privilege, no other process in sight.

        Without `network` it has none, not even loopback. `memory` is the size of `/tmp`.
        """
        for mount in mounts:
            place = self.folder / mount.inside.lstrip("/")
            if not place.exists():
                place.mkdir(parents=True)
        told = [part for mount in mounts for part in (mount.inside, str(mount.outside), "rw" if mount.writable else "ro")]
        variables = {"PATH": PATH, "HOME": "/nonexistent", **(environment or {})}
        namespaces = ["--mount", "--pid", "--fork", "--ipc", *([] if network else ["--net"])]
        return [
            "unshare", *namespaces, "sh", "-c", ENTER, "sh", str(self.folder), memory, *told, "--",
            *(f"{name}={value}" for name, value in variables.items()), *words,
        ]  # fmt: skip

    def run(
        self, mounts: Sequence[Mount], words: Sequence[str], environment: Mapping[str, str] | None = None, *,
        memory: str = "64m", network: bool = False,
    ) -> subprocess.CompletedProcess[str]:  # fmt: skip
        """Runs them to their end."""
        command = self.command(mounts, words, environment, memory=memory, network=network)
        return subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)


def stop(confined: subprocess.Popen[bytes]) -> int:
    """Tells the first process in there to end, as a container's is told; answers its exit code."""
    for process in psutil.Process(confined.pid).children():
        process.terminate()
    return confined.wait(PATIENCE)


def borrowed_root(folder: Path) -> Root:
    """A root that has this machine's own programs and libraries and nothing else of it: made in a moment."""
    for name in ("proc", "tmp", "dev/shm", "usr"):
        (folder / name).mkdir(parents=True)
    for name in ("bin", "sbin", "lib", "lib64"):
        if Path("/", name).is_symlink():
            (folder / name).symlink_to(Path("/", name).readlink())
    return Root(folder)


OWN_PROGRAMS: Final = Mount("/usr", Path("/usr"))
"""What a borrowed root borrows."""


def bare_root(folder: Path) -> Root:
    """Debian's smallest root with Python, from the mirror of this machine's own apt; may take minutes."""
    found = mirror()
    assert found is not None
    release, address = found
    made = subprocess.run(
        ["debootstrap", "--variant=minbase", "--include=python3-venv,ca-certificates", release, folder, address],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert made.returncode == 0, made.stdout[-3000:] + made.stderr[-3000:]
    # How this machine reaches the registry of wheels, whom it trusts included.
    for place in ("/etc/resolv.conf", "/etc/hosts", "/etc/pip.conf", "/etc/ssl/certs/ca-certificates.crt"):
        if Path(place).exists():
            shutil.copyfile(place, folder / place.lstrip("/"))
    return Root(folder)
