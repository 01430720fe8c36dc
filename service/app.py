"""The HTTP application: built here, from its parts."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.metadata import version
from typing import Final

from anyio import CapacityLimiter
from fastapi import FastAPI
from starlette.routing import Route

from service import errors
from service.access.audit import Audit
from service.access.gate import Gate
from service.access.keyring import Keyring
from service.access.keys import KeyStore
from service.access.opening import is_open_house
from service.access.quotas import RequestQuota
from service.access.sessions import Sessions
from service.compression import compress_pages
from service.events import Feeds
from service.metrics import HttpMetrics, LedgerCollector, ledger_metrics
from service.middleware import Envelope
from service.openapi import describe, operation_id
from service.page import routes as page
from service.page.problems import ProblemPages, as_read
from service.routes import events, health, jobs, metrics, named, positions, regressions, replays
from service.settings import ServiceSettings
from service.state import ServiceState
from workers.jobs.queue import open_ledger
from workers.jobs.upkeep import Upkeep
from workers.regressions.runs import ADVANCE_SECONDS

ROUTERS: Final = (
    jobs.router, events.router, regressions.router, replays.router, named.router, positions.router, health.router,
    metrics.router,
)  # fmt: skip


NO_PATH: Final = "\0"
"""The path of no route."""


def create_app(settings: ServiceSettings | None = None) -> FastAPI:
    """The application. Nothing is asked of Redis until a request, or the upkeep, needs it: it may come up later."""
    settings = settings or ServiceSettings()
    ledger = open_ledger(settings)
    keyring, sessions = Keyring(KeyStore(ledger.store), settings.admin_key), Sessions(ledger.store)
    http_metrics = HttpMetrics()
    http_metrics.registry.register(LedgerCollector(lambda: ledger_metrics(ledger)))
    feeds = Feeds(interval=settings.stream_interval, longest=settings.stream_seconds)

    app = FastAPI(
        title="Blockyard",
        version=version("blockyard"),
        summary="Bulk simulation and strategy regressions for Block dominoes, exact to the match.",
        lifespan=_lifespan,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        generate_unique_id_function=operation_id,
    )
    app.state.service = ServiceState(
        settings, ledger, feeds, http_metrics, Audit(settings.audit_log), keyring, sessions,
        CapacityLimiter(settings.max_perfts),
    )  # fmt: skip
    app.add_middleware(
        Gate, keyring=keyring, sessions=sessions, quota=RequestQuota(ledger.store, settings.quota_requests),
        open_house=is_open_house(settings), insecure=settings.insecure,
    )  # fmt: skip
    app.add_middleware(ProblemPages)
    compress_pages(app)
    app.add_middleware(Envelope, max_body_bytes=settings.max_body_bytes, metrics=http_metrics, as_read=as_read)
    errors.register(app)
    for router in ROUTERS:
        app.include_router(router)
    page.mount(app)
    # The application holds its routers unopened, and beside them the route of the document.
    own = [route for route in app.routes if isinstance(route, Route)]
    app.state.routes = [*(route for router in (*ROUTERS, *page.ROUTERS) for route in router.routes), *own]
    describe(app)
    _open(app)
    return app


def _open(app: FastAPI) -> None:
    """Has every route made ready for requests now. Left to the first of them it would be done beside other threads, and the
    framework turns warnings off meanwhile, for all threads."""
    for route in app.routes:
        route.matches({"type": "http", "method": "GET", "path": NO_PATH, "root_path": "", "headers": []})


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    """Upkeep of the ledger and of the runs of regressions runs beside the requests; at the end streams are let go."""
    state: ServiceState = app.state.service
    upkeep = Upkeep(state.ledger, [(ADVANCE_SECONDS, state.regressions.advance)])
    upkeep.start()
    try:
        yield
    finally:
        await state.feeds.close()
        await asyncio.to_thread(upkeep.stop)
