"""Exit codes, and the errors that end a command."""

from typing import Final

from workers.errors import BlockyardError

DONE: Final = 0
FAILED: Final = 1
"""The job failed or was cancelled, or something went wrong that is nobody's input."""
USAGE: Final = 2
"""What was asked for cannot be: an option, a file, a folder, a port."""
UNREACHABLE: Final = 3
"""The service, or the Redis that it needs, does not answer."""
REGRESSED: Final = 4
"""A regression was found."""
INCONCLUSIVE: Final = 5
"""A regression got no answer: the cap was reached, it was stopped, or the wait timed out."""
INTERRUPTED: Final = 130


class UsageError(BlockyardError):
    """What the user wrote is wrong; the message names the option, file or field."""


class Failed(BlockyardError):
    """The command did what it could, and the outcome is a failure."""
