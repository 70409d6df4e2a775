"""Reads a trace back from a real Phoenix server: `python -m tests.observability.otel.in_phoenix [--python PATH]`.

Not part of the test suite: Phoenix is 600 MB in an environment of its own, made once under ${AGENTFP_PEERS:-~/.cache/agentfp-peers}, and
takes half a minute to start. `--python` names an environment that has it.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import httpx

from agentfp import Agent, tool
from agentfp.testing import ScriptedModel, call
from agentfp_evidence import Evidence
from agentfp_otel import Otel
from benchmarks.peers.__main__ import Peer, environment

PHOENIX = Peer("phoenix", "", ("arize-phoenix==20.26.1",))
PROJECT = "agentfp"
RUNS = 20
SPANS = 9


@contextlib.contextmanager
def phoenix(python: Path) -> Iterator[str]:
    """A server of its own, with a database that goes away with it."""
    with socket.socket() as free, socket.socket() as other:
        free.bind(("127.0.0.1", 0))
        other.bind(("127.0.0.1", 0))
        port, grpc = free.getsockname()[1], other.getsockname()[1]
    url = f"http://127.0.0.1:{port}"
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "log"
        environ = {
            **os.environ,
            "PHOENIX_WORKING_DIR": folder,
            "PHOENIX_HOST": "127.0.0.1",
            "PHOENIX_PORT": str(port),
            "PHOENIX_GRPC_PORT": str(grpc),
            "PHOENIX_TELEMETRY_ENABLED": "false",
        }
        with log.open("wb") as out:
            server = subprocess.Popen([python.parent / "phoenix", "serve"], env=environ, stdout=out, stderr=out)
        try:
            _wait_for(f"{url}/healthz", server, log)
            yield url
        finally:
            server.terminate()
            server.wait(30)


def _wait_for(url: str, server: subprocess.Popen[bytes], log: Path) -> None:
    until = time.monotonic() + 180
    while time.monotonic() < until:
        if server.poll() is not None:
            break
        with contextlib.suppress(httpx.HTTPError):
            if httpx.get(url, timeout=2).status_code == 200:
                return
        time.sleep(0.5)
    sys.exit(f"Phoenix did not start:\n{log.read_text(encoding='utf-8', errors='replace')[-3000:]}")


@tool
async def price(item: int) -> dict[str, int]:
    """The price of an item."""
    return {"item": item, "price": 100 + item}


async def run_all(url: str) -> None:
    """Twenty runs at once, three tool calls each."""
    otel = Otel(endpoint=url, resource={"openinference.project.name": PROJECT}, profiles=("openinference",), content=True, metrics=False)
    agents = [
        Agent(
            ScriptedModel([[call("price", item=n) for n in range(3)], "They cost 100, 101 and 102."]),
            tools=[price],
            plugins=[Evidence(on_unsupported="flag"), otel],
            name="desk",
        )
        for _ in range(RUNS)
    ]
    async with anyio.create_task_group() as tasks:
        for number, agent in enumerate(agents):
            tasks.start_soon(partial(agent.run, "What do they cost?", session_id=f"session-{number}"))
    await agents[0].shutdown()
    assert otel.stats.exported == otel.stats.ended == RUNS * SPANS, otel.stats


def spans_of(url: str) -> list[dict[str, Any]]:
    """All spans of the project, page by page."""
    found: list[dict[str, Any]] = []
    cursor: str | None = None
    while True:
        parameters: dict[str, Any] = {"limit": 100, **({"cursor": cursor} if cursor else {})}
        answer = httpx.get(f"{url}/v1/projects/{PROJECT}/spans", params=parameters, timeout=30)
        answer.raise_for_status()
        found += answer.json()["data"]
        cursor = answer.json().get("next_cursor")
        if not cursor:
            return found


def check(spans: list[dict[str, Any]]) -> None:
    """One root a trace, right parents, right kinds, and what Phoenix shows of each."""
    traces: dict[str, list[dict[str, Any]]] = {}
    for span in spans:
        traces.setdefault(span["context"]["trace_id"], []).append(span)
    assert len(traces) == RUNS, len(traces)
    sessions = set()
    for found in traces.values():
        by_id = {span["context"]["span_id"]: span for span in found}
        (root,) = [span for span in found if span["parent_id"] is None]
        assert root["name"] == "invoke_agent desk"
        parents = sorted((span["name"], by_id[span["parent_id"]]["name"]) for span in found if span["parent_id"] is not None)
        assert parents == sorted(
            [
                ("iteration 1", "invoke_agent desk"),
                ("iteration 2", "invoke_agent desk"),
                ("chat script", "iteration 1"),
                ("chat script", "iteration 2"),
                *[("execute_tool price", "iteration 1")] * 3,
                ("agentfp.assess_answer", "iteration 2"),
            ]
        ), parents
        kinds = {span["name"]: span["span_kind"] for span in found}
        assert kinds["invoke_agent desk"] == "AGENT", kinds
        assert kinds["chat script"] == "LLM", kinds
        assert kinds["execute_tool price"] == "TOOL", kinds
        chat = next(span for span in found if span["name"] == "chat script")
        assert chat["attributes"]["llm.model_name"] == "script"
        assert chat["attributes"]["llm.token_count.prompt"] > 0
        assert root["attributes"]["agentfp.evidence.action"] == "grounded"
        sessions.add(root["attributes"]["session.id"])
        assert all(span["end_time"] for span in found)
    assert len(sessions) == RUNS


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--python", type=Path, help="the Python of an environment with Phoenix")
    given = parser.parse_args()
    python = given.python or environment(PHOENIX)
    begun = time.monotonic()
    with phoenix(python) as url:
        print(f"Phoenix is up after {time.monotonic() - begun:.0f} s", file=sys.stderr, flush=True)
        anyio.run(run_all, url)
        until = time.monotonic() + 60
        spans: list[dict[str, Any]] = []
        while len(spans) < RUNS * SPANS and time.monotonic() < until:
            time.sleep(1)
            with contextlib.suppress(httpx.HTTPStatusError):
                spans = spans_of(url)
        check(spans)
    print(f"{RUNS} traces with {len(spans)} spans were read back from Phoenix {PHOENIX.version}")


if __name__ == "__main__":
    main()
