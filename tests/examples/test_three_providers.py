"""One program, three wires: the same tools, gate and answer, and no provider named in code."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.examples.conftest import Run
from tests.providers.aimock import Aimock

CALL = {"toolCalls": [{"name": "high_tide", "arguments": {"harbour": "Bergen"}}]}


def answers(aimock: Aimock, *said: str) -> None:
    aimock.answers(
        {"match": {"userMessage": "07:59"}, "response": {"content": said[-1]}},
        {"match": {"hasToolResult": True}, "response": {"content": said[0]}},
        {"match": {"userMessage": "Bergen"}, "response": CALL},
    )


def wires(aimock: Aimock) -> dict[str, str]:
    """Variables that send the calls of all vendors to a server on this machine."""
    return {
        "OPENAI_API_KEY": "k",
        "ANTHROPIC_API_KEY": "k",
        "GEMINI_API_KEY": "k",
        "OPENAI_BASE_URL": f"{aimock.url}/v1",
        "ANTHROPIC_BASE_URL": aimock.url,
        "GEMINI_BASE_URL": f"{aimock.url}/v1beta",
    }


@pytest.mark.parametrize(("env", "path"), [("openai", "/v1/"), ("anthropic", "/v1/messages"), ("gemini", "/v1beta/")])
def test_each_provider_by_config_only(env: str, path: str, example: Callable[[str], Path], run: Run, aimock: Aimock) -> None:
    answers(aimock, "High tide in Bergen is at 07:59.", "High tide in Bergen is at 06:41.")
    done = run(example("three_providers"), "ask.py", AGENTFP_ENV=env, **wires(aimock))
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[0] == "High tide in Bergen is at 06:41."
    assert done.stdout.rstrip().endswith("supported")
    assert len(aimock.journal()) == 3
    assert all(path in entry["path"] for entry in aimock.journal())


def test_when_one_provider_is_down_the_next_one_serves(example: Callable[[str], Path], run: Run, aimock: Aimock) -> None:
    answers(aimock, "High tide in Bergen is at 06:41.")
    down = {**wires(aimock), "ANTHROPIC_BASE_URL": "http://127.0.0.1:9"}
    done = run(example("three_providers"), "ask.py", AGENTFP_ENV="anthropic", **down)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[0] == "High tide in Bergen is at 06:41."


@pytest.mark.real_model
def test_the_model_of_this_machine_without_an_overlay(example: Callable[[str], Path], run: Run) -> None:
    done = run(example("three_providers"), "ask.py", "When is high tide in Bergen?")
    assert done.returncode == 0, done.stderr
    assert "06:41" in done.stdout


def test_no_provider_is_named_in_code(example: Callable[[str], Path]) -> None:
    code = "".join(path.read_text(encoding="utf-8") for path in example("three_providers").glob("*.py"))
    assert not [name for name in ("openai", "gpt", "anthropic", "claude", "gemini", "ollama", "local") if name in code.lower()]
