"""Every error that the domain raises; the doors (HTTP, terminal) translate each of them once."""

from dataclasses import dataclass
from typing import Self


@dataclass(frozen=True, slots=True)
class FieldError:
    """One thing that is wrong with an input: `path` as in `scenarios[0].policies[1]`, `message` says what would be right."""

    path: str
    message: str

    def below(self, prefix: str) -> "FieldError":
        """The same error seen from the document that holds this one under `prefix`."""
        if not self.path:
            return FieldError(prefix, self.message)
        return FieldError(f"{prefix}{self.path}" if self.path.startswith("[") else f"{prefix}.{self.path}", self.message)


class BlockyardError(Exception):
    """The root of all errors that a user may meet."""


class InvalidInput(BlockyardError):
    """The input was refused, with every reason by field; nothing was changed."""

    def __init__(self, *errors: FieldError) -> None:
        super().__init__("; ".join(f"{error.path}: {error.message}" if error.path else error.message for error in errors))
        self.errors = errors

    @classmethod
    def at(cls, path: str, message: str) -> Self:
        """The common case: one field, one reason."""
        return cls(FieldError(path, message))

    def below(self, prefix: str) -> "InvalidInput":
        """The same refusal seen from an enclosing document."""
        return InvalidInput(*(error.below(prefix) for error in self.errors))


class NotFound(BlockyardError):
    """What was named does not exist (or has expired)."""


class Conflict(BlockyardError):
    """The request is sound but does not fit the present state, such as deleting a running job."""


class IdempotencyMismatch(Conflict):
    """The key of this request was used before with another body."""


class NotYours(BlockyardError):
    """What was to be changed belongs to somebody else."""


class QuotaExceeded(BlockyardError):
    """More is asked for than this key may have at once; nothing was changed. `retry_seconds`: when asking again makes sense."""

    def __init__(self, message: str, retry_seconds: int) -> None:
        super().__init__(message)
        self.retry_seconds = retry_seconds


class LedgerUnavailable(BlockyardError):
    """Redis does not answer, or refuses to write; nothing was changed."""


class PlayFailed(BlockyardError):
    """A policy raised or chose an illegal placement; the message carries the address of the match."""
