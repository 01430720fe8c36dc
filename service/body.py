"""Reading request bodies: JSON by the book, of bounded depth, under its own media type."""

from collections.abc import Callable, Coroutine
from typing import Any

from fastapi import Request, Response
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException

from service.strict_json import read_strict
from workers.errors import FieldError, InvalidInput


class JsonRequest(Request):
    """A request whose JSON is strict (no NaN, no Infinity, no name twice) and not too deep."""

    async def json(self) -> Any:
        """The body's value; raises `json.JSONDecodeError` on broken JSON, `_Refused` on what is no document of ours."""
        if not hasattr(self, "_json"):
            try:
                self._json = read_strict(await self.body())
            except InvalidInput as error:
                raise _Refused(error) from None
        return self._json


class _Refused(HTTPException):
    """FastAPI turns any other error met in reading a body into its own: this one is unwrapped by the route below."""

    def __init__(self, error: InvalidInput) -> None:
        super().__init__(422)
        self.error = error


class JsonRoute(APIRoute):
    """A route that reads bodies as `JsonRequest`, asks for `application/json`, and takes no query that it does not know."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """The handler, with the request read in our way."""
        handle = super().get_route_handler()
        takes_query = bool(self.dependant.query_params)

        async def read_and_handle(request: Request) -> Response:
            ours = JsonRequest(request.scope, request.receive)
            if not takes_query and ours.query_params:
                raise InvalidInput(*(FieldError(name, "unknown parameter: none is taken here") for name in ours.query_params))
            if self.body_field is not None and not says_json(request) and await ours.body():
                raise HTTPException(415, "The body must come as application/json.")
            try:
                return await handle(ours)
            except _Refused as refused:
                raise refused.error from None

        return read_and_handle


def says_json(request: Request) -> bool:
    """Whether the request's body is declared as JSON."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    return kind == "application/json" or (kind.startswith("application/") and kind.endswith("+json"))
