"""Matches of a job, played again from their addresses: one in full, many as lines, a round's line as a drawing."""

from itertools import chain
from typing import Annotated, Final

import orjson
from fastapi import APIRouter, Path, Query, Response
from starlette.responses import StreamingResponse

from service.body import JsonRoute
from service.drawing import STYLE_HASH, draw_line
from service.replaying import Table, table_of
from service.routes.documented import content, problems
from service.schemas.replays import MatchLine, Replay
from service.schemas.requests import DrawingQuery, MatchesQuery
from service.state import ONCE_EACH, JobId, StateOf
from workers.engine.play import replay_match
from workers.engine.replay import replay_document
from workers.errors import InvalidInput, NotFound

LINES: Final = "application/x-ndjson"
LISTED: Final = 100
"""Matches that are listed where no number is given."""
SVG: Final = "image/svg+xml"
REPLAYED: Final = problems(404, 409, 422, 503)
ScenarioIndex = Annotated[int, Path(ge=0, description="A scenario of the job, from 0.")]
MatchIndex = Annotated[int, Path(ge=0, description="A match of the scenario, from 0.")]
RoundIndex = Annotated[int, Path(ge=0, description="A round of the match, from 0.")]

router = APIRouter(prefix="/v1/jobs/{id}/scenarios/{k}/matches", tags=["replays"], route_class=JsonRoute)


@router.get("/{m}", responses=REPLAYED, response_model=Replay, summary="Replay a match")
def match(id: JobId, k: ScenarioIndex, m: MatchIndex, state: StateOf) -> Response:  # noqa: A002
    """Match m of scenario k as it was played: every round's deal, plies, ports after every ply, and scores."""
    table = table_of(state.ledger, id, k)
    document = replay_document(table.lineup, *table.address(m))
    told = {"scenario": k, "match": m, **document, "policies": table.policies(document["seated"])}
    return Response(orjson.dumps(told), media_type="application/json")


@router.get(
    "",
    dependencies=ONCE_EACH,
    response_class=StreamingResponse,
    responses={**REPLAYED, 200: content(LINES, "One line of JSON for each match.")},
    summary="List matches",
)
def matches(id: JobId, k: ScenarioIndex, query: Annotated[MatchesQuery, Query()], state: StateOf) -> StreamingResponse:  # noqa: A002
    """A line for each match: which place sits where, the winners, scores and rounds. Each is played again for it."""
    most = state.settings.max_replay_lines
    count = min(LISTED, most) if query.count is None else query.count
    if count > most:
        raise InvalidInput.at("count", f"must be at most {most}, not {count}")
    table = table_of(state.ledger, id, k)
    table.address(query.first)
    last = min(query.first + count, table.scenario.matches)
    lines = (_line(table, number) for number in range(query.first, last))
    # The first match is played before the answer begins, so that what fails at once is answered as a problem.
    return StreamingResponse(chain([next(lines)], lines), media_type=LINES)


@router.get(
    "/{m}/rounds/{r}.svg",
    dependencies=ONCE_EACH,
    response_class=Response,
    responses={**REPLAYED, 200: content(SVG, "The line on the table.")},
    summary="Draw a line",
)
def drawing(
    id: JobId,  # noqa: A002
    k: ScenarioIndex,
    m: MatchIndex,
    r: RoundIndex,
    query: Annotated[DrawingQuery, Query()],
    state: StateOf,
) -> Response:
    """The line of round r after ply p, doubles crosswise, bending where the table ends."""
    table = table_of(state.ledger, id, k)
    rounds = table.replay(m).rounds
    if r >= len(rounds):
        raise NotFound(f"There is no round {r}: the match has rounds 0 to {len(rounds) - 1}.")
    plies = rounds[r].plies
    shown = len(plies) if query.ply is None else query.ply
    if shown > len(plies):
        raise NotFound(f"There is no ply {shown}: the round has {len(plies)} plies.")
    title = f"Round {r} of match {m} after ply {shown} of {len(plies)}"
    policy = f"default-src 'none'; style-src '{STYLE_HASH}'; frame-ancestors 'none'"
    return Response(draw_line(plies[:shown], title), media_type=SVG, headers={"Content-Security-Policy": policy})


def _line(table: Table, number: int) -> bytes:
    block, rotation = table.address(number)
    record = replay_match(table.lineup, block, rotation)
    seated = table.lineup.seated(rotation)
    line = MatchLine(
        match=number, block=block, rotation=rotation, seated=list(seated), policies=table.policies(seated),
        winner=record.winners[0] if len(record.winners) == 1 else None, winners=list(record.winners),
        scores=list(record.scores), rounds=len(record.rounds),
    )  # fmt: skip
    return line.model_dump_json().encode() + b"\n"
