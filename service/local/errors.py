"""What can keep the local service from starting: each is one clear line for the person who started it."""

from workers.errors import BlockyardError


class LocalError(BlockyardError):
    """The service cannot be run here as asked: a folder, a port or a setting has to change."""


class NoRedis(LocalError):
    """There is no Redis to be had, or the one that was named does not answer."""
