"""The OpenAPI document: FastAPI's own, with the models that it cannot see and without the answers that we do not give."""

from typing import Any, Final

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from fastapi.routing import APIRoute
from pydantic.json_schema import models_json_schema

from service.access.roles import required_role
from service.routes.documented import problems
from service.schemas.answers import Problem
from service.schemas.positions import Deal, Position

REFERENCE: Final = "#/components/schemas/{model}"
TAGS: Final = [
    {"name": "jobs", "description": "Batches of matches: submit, follow, steer, read results."},
    {"name": "regressions", "description": "Strategy regressions: a candidate against its baseline, with a verdict."},
    {"name": "replays", "description": "Matches of a job, played again from their addresses."},
    {"name": "named things", "description": "What can be named in a job, and who works."},
    {"name": "rules", "description": "The rules on single positions and whole deals."},
    {"name": "health", "description": "Is the process alive, can it serve?"},
    {"name": "metrics", "description": "For Prometheus."},
]


def operation_id(route: APIRoute) -> str:
    """What an operation is called where a client is generated: `jobs_submit`."""
    group = str(route.tags[0]).replace(" ", "_") if route.tags else "page"
    return f"{group}_{route.name}"


def describe(app: FastAPI) -> None:
    """Make the application answer `/openapi.json` with the complete document."""

    def document() -> dict[str, Any]:
        if app.openapi_schema is None:
            app.openapi_schema = _document(app)
        return app.openapi_schema

    app.openapi = document  # type: ignore[method-assign]


def _document(app: FastAPI) -> dict[str, Any]:
    document = get_openapi(
        title=app.title, version=app.version, summary=app.summary, routes=app.routes, tags=TAGS, openapi_version="3.1.0"
    )
    _, referenced = models_json_schema(
        [(model, "validation") for model in (Problem, Position, Deal)], ref_template=REFERENCE
    )
    schemas = document.setdefault("components", {}).setdefault("schemas", {})
    for name, schema in referenced["$defs"].items():
        schemas.setdefault(name, schema)
    _drop_validation_errors(document)
    _describe_keys(document)
    _bound_lists(document, app.state.service.settings.max_replay_lines)
    return document


def _bound_lists(document: dict[str, Any], most: int) -> None:
    """How many matches may be listed at once is a setting."""
    for parameter in document["paths"]["/v1/jobs/{id}/scenarios/{k}/matches"]["get"]["parameters"]:
        if parameter["name"] == "count":
            parameter["schema"] = {"type": "integer", "minimum": 1, "maximum": most}


def _describe_keys(document: dict[str, Any]) -> None:
    """How a key is sent, which calls need which role, and what is answered where it is missing."""
    document["components"]["securitySchemes"] = {
        "key": {"type": "http", "scheme": "bearer", "description": "An API key. Where no key exists, none is needed."},
    }
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            role = required_role(method.upper(), path)
            if role is None:
                operation["security"] = []
                continue
            operation["security"] = [{"key": []}, {}]
            operation["description"] = f"{operation['description']}\n\nWhere there are keys: role `{role}`."
            told = {str(status): answer for status, answer in problems(401, 403, 429, 503).items()}
            operation["responses"] = dict(sorted((told | operation["responses"]).items()))


def _drop_validation_errors(document: dict[str, Any]) -> None:
    """FastAPI adds its own 422 where a route names none: there nothing can be wrong with the input, or it is a 404."""
    for methods in document["paths"].values():
        for operation in methods.values():
            if "HTTPValidationError" in str(operation["responses"].get("422")):
                del operation["responses"]["422"]
    for name in ("HTTPValidationError", "ValidationError"):
        document["components"]["schemas"].pop(name, None)
