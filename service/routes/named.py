"""What can be named in a job, and who works."""

from typing import Annotated

from fastapi import APIRouter, Path

from service.body import JsonRoute
from service.routes.documented import problems
from service.schemas.answers import DescribedList, WorkersAnswer, worker_answer
from service.state import StateOf
from workers.engine.explained import describe_rulesets
from workers.engine.policies import describe_policies

router = APIRouter(prefix="/v1", tags=["named things"], route_class=JsonRoute)


@router.get("/policies", responses=problems(422), summary="List policies")
def policies() -> DescribedList:
    """Every policy by name, with its version, what it does, and its parameters as JSON Schema; last, policies as data."""
    return DescribedList.model_validate({"items": describe_policies()})


@router.get("/rulesets", responses=problems(422), summary="List rulesets")
def rulesets() -> DescribedList:
    """Every ruleset by name, with what it does and its parameters."""
    return DescribedList.model_validate({"items": describe_rulesets()})


@router.get("/workers", responses=problems(422, 503), summary="List workers")
def workers(state: StateOf) -> WorkersAnswer:
    """The workers that have shown themselves lately."""
    return WorkersAnswer(items=[worker_answer(record) for record in state.ledger.workers()])


@router.post("/workers/{name}/drain", status_code=202, responses=problems(404, 422, 503), summary="Drain a worker")
def drain(name: Annotated[str, Path(max_length=200, description="A worker's name.")], state: StateOf) -> None:
    """The worker takes nothing more; what it plays it still finishes."""
    state.ledger.drain(name)
    state.audit("worker drained", worker=name)
