"""API keys, made and revoked where Redis is: whoever reaches it may."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, NamedTuple, TypeAlias

import typer

from service.cli.exits import UsageError
from service.cli.options import AsJson
from service.cli.output import note, print_json, table
from service.cli.tables import local_time

if TYPE_CHECKING:
    from service.access.audit import Audit
    from service.access.keys import KeyStore

ROLES: Final = ("read", "submit", "admin")
RedisUrl: TypeAlias = Annotated[
    str | None,
    typer.Option("--redis-url", envvar="BLOCKYARD_REDIS_URL", help="Where the service's Redis is.", show_envvar=True),
]
Data: TypeAlias = Annotated[
    Path | None,
    typer.Option("--data", metavar="DIR", help="Without a URL: the data folder on which `blockyard up` runs."),
]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    keys = typer.Typer(rich_markup_mode=None)
    for name, command in (("create", create), ("list", list_keys), ("revoke", revoke)):
        keys.command(name)(command)
    app.add_typer(keys, name="keys", help="Make, list and revoke the API keys of a service.")


def create(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Whose key it is: jobs submitted with it belong to this name.")],
    role: Annotated[
        str, typer.Option("--role", help="read: look; submit: also submit jobs and change one's own; admin: everything.")
    ] = "submit",
    redis_url: RedisUrl = None,
    data: Data = None,
    as_json: AsJson = False,
) -> None:
    """Make a key and print it, once. From the first key on the service lets nobody in without one."""
    place = _place(redis_url, data)
    key, text = place.keys.create(name, role)  # type: ignore[arg-type]  # checked there
    place.audit("key created", key=key.name, role=key.role)
    if as_json:
        print_json({"name": key.name, "role": key.role, "key": text})
        return
    typer.echo(text)
    note(f"{key.name} may {key.role}. The key is shown this once; send it with --key, BLOCKYARD_KEY or Authorization: Bearer.")


def list_keys(redis_url: RedisUrl = None, data: Data = None, as_json: AsJson = False) -> None:
    """List the keys: names, roles and dates."""
    from service.schemas.answers import moment

    found = [
        {"name": key.name, "role": key.role, "created_at": moment(key.created_at)} for key in _place(redis_url, data).keys.all()
    ]
    if as_json:
        print_json(found)
    elif found:
        table(("name", "role", "since"), [(key["name"], key["role"], local_time(str(key["created_at"]))) for key in found])
    else:
        note("no keys are stored: without a BLOCKYARD_ADMIN_KEY everybody on the service's machine is let in, and nobody else")


def revoke(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The key's name.")],
    redis_url: RedisUrl = None,
    data: Data = None,
) -> None:
    """Make a key open nothing any more, from the next second on."""
    place = _place(redis_url, data)
    place.keys.revoke(name)
    place.audit("key revoked", key=name)
    note(f"the key of {name} opens nothing any more")


class _Place(NamedTuple):
    """Where the keys are, and where what is done with them is told of."""

    keys: "KeyStore"
    audit: "Audit"


def _place(redis_url: str | None, data: Path | None) -> _Place:
    """The Redis of a service. Raises `UsageError` where none runs on the folder that is named: another is not meant."""
    from service.access.audit import Audit
    from service.access.caller import CALLER, OPERATOR_HERE
    from service.access.keys import KeyStore
    from service.local.folder import data_folder, default_data_folder, noted_redis
    from workers.jobs.store import Store, connect
    from workers.settings import Settings

    settings = Settings()
    folder = data_folder(data or default_data_folder())
    noted = None if redis_url else noted_redis(folder.path)
    if data is not None and redis_url is None and noted is None:
        raise UsageError(f"--data: no `blockyard up` with a Redis of its own runs on {data}; --redis-url names another Redis")
    CALLER.set(OPERATOR_HERE)
    # As the service on the folder does: one file tells who changed what.
    audit = settings.audit_log or (str(folder.audit) if noted else None)
    store = Store(connect(redis_url or noted or settings.redis_url, settings.redis_timeout_seconds))
    return _Place(KeyStore(store), Audit(audit))
