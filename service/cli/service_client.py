"""The client that commands use."""

from service.cli.exits import UsageError
from service.client import Client


def connect(url: str, key: str | None) -> Client:
    """A client of the service at this address. Raises `UsageError` for what is no address."""
    if key and not (key.isascii() and key.isprintable()):
        raise UsageError("--key: must be printable ASCII characters, as `blockyard keys create` prints them")
    try:
        return Client(url, key)
    except ValueError as error:
        raise UsageError(f"--url: {error}") from None
