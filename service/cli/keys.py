"""API keys, made and revoked where Redis is: whoever reaches it may."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, TypeAlias

import typer

from service.cli.options import AsJson
from service.cli.output import note, print_json, table
from service.cli.tables import local_time

if TYPE_CHECKING:
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
    keys = typer.Typer(rich_markup_mode=None, no_args_is_help=True)
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
    store = _store(redis_url, data)
    key, text = store.create(name, role)  # type: ignore[arg-type]  # checked there
    _audit("key created", key=key.name, role=key.role)
    if as_json:
        print_json({"name": key.name, "role": key.role, "key": text})
        return
    typer.echo(text)
    note(f"{key.name} may {key.role}. The key is shown this once; send it with --key, BLOCKYARD_KEY or Authorization: Bearer.")


def list_keys(redis_url: RedisUrl = None, data: Data = None, as_json: AsJson = False) -> None:
    """List the keys: names, roles and dates."""
    from service.schemas.answers import moment

    found = [
        {"name": key.name, "role": key.role, "created_at": moment(key.created_at)} for key in _store(redis_url, data).all()
    ]
    if as_json:
        print_json(found)
    elif found:
        table(("name", "role", "since"), [(key["name"], key["role"], local_time(str(key["created_at"]))) for key in found])
    else:
        note("no keys: everybody on the service's machine is let in, and nobody else")


def revoke(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The key's name.")],
    redis_url: RedisUrl = None,
    data: Data = None,
) -> None:
    """Make a key open nothing any more, from the next second on."""
    _store(redis_url, data).revoke(name)
    _audit("key revoked", key=name)
    note(f"the key of {name} opens nothing any more")


def _store(redis_url: str | None, data: Path | None) -> "KeyStore":
    from service.access.keys import KeyStore
    from service.local.folder import default_data_folder, noted_redis
    from workers.jobs.store import Store, connect
    from workers.settings import Settings

    settings = Settings()
    url = redis_url or noted_redis(data or default_data_folder()) or settings.redis_url
    return KeyStore(Store(connect(url, settings.redis_timeout_seconds)))


def _audit(action: str, **what: str) -> None:
    from service.access.audit import Audit
    from service.access.caller import CALLER, OPERATOR_HERE
    from workers.settings import Settings

    CALLER.set(OPERATOR_HERE)
    Audit(Settings().audit_log)(action, **what)
