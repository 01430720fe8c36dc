"""The metrics, in the format that the scraper asks for."""

from fastapi import APIRouter, Request, Response
from prometheus_client.exposition import CONTENT_TYPE_LATEST, choose_encoder

from service.routes.documented import content, problems
from service.state import StateOf

router = APIRouter(tags=["metrics"])


@router.get(
    "/metrics",
    response_class=Response,
    responses={**problems(), 200: content(CONTENT_TYPE_LATEST, "Prometheus text, or OpenMetrics where that is asked for.")},
    summary="Metrics",
)
def metrics(request: Request, state: StateOf) -> Response:
    """What Redis knows (equal on every replica) and this process's HTTP requests."""
    encode, kind = choose_encoder(request.headers.get("accept", ""))
    return Response(encode(state.metrics.registry), headers={"Content-Type": kind})
