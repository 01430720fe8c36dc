"""The keeper: ends what a killed supervisor leaves behind.

It is a process of its own that holds the reading end of a pipe from the supervisor. The supervisor writes `+ID` when a
child's process group begins and `-ID` when it has ended. When the pipe closes, which happens however the supervisor ends,
every group that is still listed is killed, grandchildren included. Run as `python -m service.local.keeper`.
"""

import os
import signal
import sys
from contextlib import suppress


def main() -> None:
    """Read the list from standard input until it closes, then end what is left of it."""
    for ignored in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(ignored, signal.SIG_IGN)
    groups: set[int] = set()
    for line in sys.stdin:
        group = int(line[1:])
        if line.startswith("+"):
            groups.add(group)
        else:
            groups.discard(group)
    for group in groups:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(group, signal.SIGKILL)


if __name__ == "__main__":
    main()
