"""The web app: `uvicorn app:app`. It begins runs and takes decisions; it never goes on with a run that asked, `worker.py` does.

POST /requests {"question"}                          begins a run: 201 {"id", "state", "answer"}
GET  /requests/ID                                    where it stands
GET  /approvals                                      what waits for a person, with what would be done and why
POST /approvals/ID {"question", "approve", "why"}    decides; `question` is the id that GET /approvals gave

`X-User` stands in for your login.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import AsyncIterator
from typing import Any

from desk import journal_of, open_desk, settle, take_up
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from agentfp import Pause

agent, shop, store = open_desk()


async def begin(request: Request) -> Response:
    """Run until the run ends or somebody is asked."""
    question = await _said(request, "question", str)
    number = await run_in_threadpool(store.begin, question)
    result = await agent.run(question, deps=shop, journal=journal_of(number))
    await run_in_threadpool(settle, store, number, result)
    return _told(_row(number), 201)


def stand(request: Request) -> Response:
    """Where a request stands."""
    return _told(_row(request.path_params["number"]))


def waiting(request: Request) -> Response:
    """What a person has to decide."""
    rows = []
    for row in store.in_state("waiting"):
        for question in Pause.from_json(row["pause"]).questions:
            asked = {"question": question.id, "prompt": question.prompt, "tool": question.tool, "arguments": question.arguments}
            rows.append({"id": row["id"], **asked, "why": question.context})
    return JSONResponse(rows)


async def decide(request: Request) -> Response:
    """Take a decision. The same one again is no error; another one, or one about another question, is."""
    by = request.headers.get("X-User") or None
    if by is None:
        raise HTTPException(401, "nobody is signed in")
    question, approved = await _said(request, "question", str), await _said(request, "approve", bool)
    decisions = {question: {"approve": approved, "why": (await request.json()).get("why", ""), "by": by}}
    number = request.path_params["number"]
    row = await run_in_threadpool(_row, number)
    if row["state"] == "waiting" and {one.id for one in Pause.from_json(row["pause"]).questions} == decisions.keys():
        await run_in_threadpool(store.decide, number, row["pause"], decisions)
        row = await run_in_threadpool(_row, number)
    if row["decisions"] is None or json.loads(row["decisions"]) != decisions:
        raise HTTPException(409, "that question is not open, or was decided otherwise; look at GET /approvals")
    return _told(row)


async def _said(request: Request, name: str, kind: type) -> Any:
    try:
        value = (await request.json())[name]
    except (ValueError, TypeError, KeyError):
        value = None
    if not isinstance(value, kind):
        raise HTTPException(400, f"the body must be JSON with {name!r}, a {kind.__name__}")
    return value


def _row(number: int) -> dict[str, Any]:
    row: dict[str, Any] | None = store.get(number)
    if row is None:
        raise HTTPException(404, "there is no such request")
    return row


def _told(row: dict[str, Any], code: int = 200) -> Response:
    return JSONResponse({"id": row["id"], "state": row["state"], "answer": row["answer"]}, code)


@contextlib.asynccontextmanager
async def begun(_app: Starlette) -> AsyncIterator[None]:
    """Go on with what a killed app was running."""
    for row in store.in_state("running"):
        if not await run_in_threadpool(take_up, agent, shop, store, row):
            settle(store, row["id"], await agent.run(row["question"], deps=shop, journal=journal_of(row["id"])))
    yield


def refused(_request: Request, error: Exception) -> Response:
    """Errors are JSON too."""
    assert isinstance(error, HTTPException)
    return JSONResponse({"error": error.detail}, error.status_code)


app = Starlette(
    lifespan=begun,
    exception_handlers={HTTPException: refused},
    routes=[
        Route("/requests", begin, methods=["POST"]),
        Route("/requests/{number:int}", stand),
        Route("/approvals", waiting),
        Route("/approvals/{number:int}", decide, methods=["POST"]),
    ],
)
