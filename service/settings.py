"""What an operator may set for the HTTP side; every field is an environment variable `BLOCKYARD_<NAME>`."""

from typing import Annotated

from pydantic import Field, SecretStr

from workers.settings import Settings


class ServiceSettings(Settings):
    """The workers' settings (the address of Redis above all) and those of the API process."""

    host: str = "127.0.0.1"
    """The address to listen on. Loopback only, until an operator opens it."""
    port: int = Field(default=8000, ge=0, le=65535)

    insecure: bool = False
    """Whether everybody is let in, from anywhere, while no key exists."""
    admin_key: Annotated[SecretStr | None, Field(min_length=32)] = None
    """A key with the role admin that an operator sets, at least 32 characters, beside those that `keys create` makes."""
    quota_jobs: int = Field(default=1_000, ge=0)
    """Jobs of one key that have not ended; more are refused with 429. 0: as many as one likes, here and below."""
    quota_matches: int = Field(default=10**13, ge=0)
    """Matches of one key's jobs that have not ended."""
    quota_requests: int = Field(default=3_000, ge=0)
    """Requests of one key a minute."""

    max_body_bytes: int = Field(default=1024 * 1024, ge=1)
    """A longer request body is refused with 413 before it is read."""
    max_scenarios: int = Field(default=10_000, ge=1)
    """Scenarios of one job, its matrix expanded."""
    max_matches: int = Field(default=10**12, ge=1)
    """Matches of one job as requested, before rounding up to whole blocks."""

    max_replay_lines: int = Field(default=1_000, ge=1)
    """Matches that one listing replays: each is played again by the literal rules, in some milliseconds."""
    max_positions: int = Field(default=1_000, ge=1)
    """Positions of one call of judge."""
    max_nodes: int = Field(default=200_000, ge=1)
    """Positions that one call of perft visits: ten to fifteen seconds of one thread that has a core to itself."""
    max_perfts: int = Field(default=2, ge=1)
    """Calls of perft that count at once; others wait, and hold no thread that other requests need."""

    stream_seconds: float = Field(default=55.0, gt=0)
    """An event stream ends after this long and the client comes back: no replica keeps its listeners for ever."""
    stream_interval: float = Field(default=0.5, gt=0, le=1.0)
    """Seconds between two events of a stream; the contract promises at most one second."""
    shutdown_seconds: int = Field(default=5, ge=1)
    """How long requests under way may go on once the process is told to stop."""
