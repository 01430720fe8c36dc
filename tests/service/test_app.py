"""The application as it is made: all that can be done before the first request is done by then."""

import sys
import warnings

import httpx2
import pytest

from tests.service.running import serving


def test_no_request_finds_routes_that_are_not_ready(redis_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    class Noted(warnings.catch_warnings):  # type: ignore[type-arg]
        """Turns warnings off and on for all threads: what the framework does wherever it makes a route ready."""

        def __enter__(self) -> None:
            asked.append(sys._getframe(1).f_globals["__name__"])
            super().__enter__()

    with serving(redis_url) as service:
        monkeypatch.setattr(warnings, "catch_warnings", Noted)
        for path, status in (("/nowhere", 404), ("/", 200), ("/v1/policies", 200), ("/jobs/x", 404)):
            assert httpx2.get(f"{service.url}{path}", trust_env=False, timeout=60).status_code == status
        monkeypatch.undo()
    assert [name for name in asked if name.startswith("fastapi")] == []
