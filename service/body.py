"""Reading request bodies: JSON by the book, of bounded depth, under its own media type."""

from collections.abc import Callable, Coroutine
from typing import Any, Final

import orjson
from fastapi import Request, Response
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException

from workers.errors import InvalidInput

MAX_DEPTH: Final = 32
"""Levels of nesting; nothing that we read needs ten, and what reads or quotes a value may recurse."""


class JsonRequest(Request):
    """A request whose JSON is strict (no NaN, no Infinity) and not too deep."""

    async def json(self) -> Any:
        """The body's value; raises `json.JSONDecodeError` on broken JSON, `InvalidInput` on deep nesting."""
        if not hasattr(self, "_json"):
            value = orjson.loads(await self.body())
            if depth_exceeds(value, MAX_DEPTH):
                # FastAPI turns any other error met here into its own, so it is wrapped and unwrapped by the route below.
                raise _TooDeep
            self._json = value
        return self._json


class _TooDeep(HTTPException):
    def __init__(self) -> None:
        super().__init__(422)


class JsonRoute(APIRoute):
    """A route that reads bodies as `JsonRequest` and asks for `application/json`."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """The handler, with the request read in our way."""
        handle = super().get_route_handler()

        async def read_and_handle(request: Request) -> Response:
            ours = JsonRequest(request.scope, request.receive)
            if self.body_field is not None and not says_json(request) and await ours.body():
                raise HTTPException(415, "The body must come as application/json.")
            try:
                return await handle(ours)
            except _TooDeep:
                raise InvalidInput.at("", f"the body is nested more than {MAX_DEPTH} levels deep") from None

        return read_and_handle


def says_json(request: Request) -> bool:
    """Whether the request's body is declared as JSON."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    return kind == "application/json" or (kind.startswith("application/") and kind.endswith("+json"))


def depth_exceeds(value: object, limit: int) -> bool:
    """Whether lists and objects nest deeper than `limit` levels."""
    level = [value]
    for _ in range(limit + 1):
        level = [
            inner
            for outer in level
            if isinstance(outer, list | dict)
            for inner in (outer if isinstance(outer, list) else outer.values())
        ]
        if not level:
            return False
    return True
