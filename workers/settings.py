"""What an operator may set for workers and the ledger, from environment variables that begin with `BLOCKYARD_`."""

from typing import Annotated, Literal

from pydantic import Field, SecretStr
from pydantic_settings import BaseSettings, SettingsConfigDict

Seconds = Annotated[float, Field(gt=0)]


class Settings(BaseSettings):
    """Defaults suit one machine and a cluster alike; every field is `BLOCKYARD_` and its name in capitals."""

    model_config = SettingsConfigDict(env_prefix="BLOCKYARD_", frozen=True, hide_input_in_errors=True)

    redis_url: str = "redis://127.0.0.1:6379/0"
    redis_timeout_seconds: Seconds = 5.0
    """Longest wait for one answer of Redis."""

    log_format: Literal["json", "text"] = "json"
    """How processes log to standard error: a line of JSON, or of text, for each event."""
    audit_log: str | None = None
    """A file to which every change that somebody made is appended, besides being logged: a line of JSON each."""

    lease_seconds: Seconds = 5.0
    """How long a chunk stays with a worker that shows no sign of life; it is renewed three times in that time."""
    permit_seconds: Seconds = 2.0
    """How long a permit works before it stands in line again."""
    permit_patience_seconds: Seconds = 5.0
    """How long a permit may be silent before it is held for lost and sent again."""
    permits_per_process: Annotated[float, Field(ge=1)] = 1.5
    """More than one, so that a process never waits for its next message."""

    chunk_seconds: Seconds = 0.5
    """Time that a chunk should take at the speed measured so far."""
    chunk_blocks: Annotated[int, Field(ge=0)] = 0
    """Blocks of every chunk; 0 measures."""
    first_chunk_blocks: Annotated[int, Field(ge=1)] = 8
    """Blocks of a chunk of which no speed is known: small, since one block of a searching policy can take seconds."""
    chunk_growth: Annotated[float, Field(gt=1)] = 8.0
    """How many times longer than any run measured before a chunk may be."""
    chunk_scenarios: Annotated[int, Field(ge=1)] = 256
    """Scenarios that a chunk may span."""

    audit_every: Annotated[int, Field(ge=0)] = 1000
    """One chunk in so many is played again and compared; 0 for none."""
    audit_patience_seconds: Seconds = 5.0
    """How long the end of a job waits for another worker to audit it, before the same one may."""

    retention_seconds: Seconds = 30 * 86400.0
    """How long a finished job is kept."""
    webhook_secret: SecretStr | None = None
    """Signs the webhooks of regressions."""
    webhook_allow_private: bool = False
    """Whether webhooks may call loopback, link-local and private addresses."""

    niceness: Annotated[int, Field(ge=0, le=19)] = 0
    """How far a worker stands back for everything else on its machine; `up` sets 5, since answers are waited for beside it."""

    sweep_seconds: Seconds = 1.0
    fold_seconds: Seconds = 0.25
    beat_seconds: Seconds = 2.0
    worker_life_seconds: Seconds = 10.0
    """How long a worker counts as alive after its last beat."""
