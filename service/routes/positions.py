"""The rules on single positions and on whole trees of deals: bounded, without Redis."""

from functools import partial
from typing import Annotated, Any, Final

import orjson
from anyio.to_thread import run_sync
from fastapi import APIRouter, Body, Response

from service.body import JsonRoute
from service.routes.documented import problems
from service.schemas.positions import DEAL_EXAMPLES, POSITION_EXAMPLES, JudgeAnswer, JudgeBody, PerftAnswer, PerftBody
from service.state import StateOf
from workers.engine.perft import perft as count_tree
from workers.engine.positions import judge as judge_position

CHECKED: Final = problems(400, 413, 415, 422)

router = APIRouter(prefix="/v1", tags=["rules"], route_class=JsonRoute)


@router.post("/judge", responses=CHECKED, response_model=JudgeAnswer, summary="Judge positions")
def judge(document: Annotated[JudgeBody, Body(openapi_examples=POSITION_EXAMPLES)], state: StateOf) -> Response:
    """What the rules say of a position, or of each of a list: whether the round is over, who won what, what is legal."""
    return _json(judge_position(document, max_positions=state.settings.max_positions))


@router.post("/perft", responses=CHECKED, response_model=PerftAnswer, summary="Count a deal's tree")
async def perft(document: Annotated[PerftBody, Body(openapi_examples=DEAL_EXAMPLES)], state: StateOf) -> Response:
    """Every way in which a deal, or each of a list, can be played: rounds by placements, exact chances under `random`.

    Trees are counted a few at a time; further calls stand in line.
    """
    count = partial(count_tree, document, max_nodes=state.settings.max_nodes)
    return _json(await run_sync(count, limiter=state.perft_turns))


def _json(value: Any) -> Response:
    return Response(orjson.dumps(value), media_type="application/json")
