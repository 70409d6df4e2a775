"""The support desk: with a real small model, and with replies that are known beforehand, over a real wire."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.examples.conftest import Run
from tests.providers.aimock import Aimock

QUESTION = "What is the elevation of KEF?"


def at(aimock: Aimock) -> dict[str, str]:
    """Variables that send the model's calls to a server on this machine."""
    return {"OPENAI_BASE_URL": f"{aimock.url}/v1", "OPENAI_API_KEY": "k"}


@pytest.mark.real_model
def test_a_real_models_answer_is_told_with_the_origin_of_each_value(example: Callable[[str], Path], run: Run) -> None:
    folder = example("support_agent")
    done = run(folder, "support.py", "What is the elevation of the airport in Reykjavik?")
    assert done.returncode == 0, done.stderr
    shown = [line.strip() for line in done.stdout.splitlines() if line.startswith("  ")]
    assert shown
    report = json.loads(run(folder, "-m", "agentfp", "check", "recordings", "--json", "--last").stdout)
    values = report["answers"][-1]["values"]
    signs = {"supported": "+", "unverifiable": "?", "unsupported": "!"}
    assert [line.partition(":")[0] for line in shown] == [f"{signs[value['verdict']]} {value['text']}" for value in values]


def test_a_draft_with_a_value_from_nowhere_goes_back_and_nobody_sees_it(example: Callable[[str], Path], run: Run, aimock: Aimock) -> None:
    aimock.answers(
        {"match": {"userMessage": "999"}, "response": {"content": "KEF lies at 171 feet."}},  # the note quotes what was wrong
        {"match": {"hasToolResult": True}, "response": {"content": "KEF lies at 999 feet."}},
        {"match": {"userMessage": "elevation"}, "response": {"toolCalls": [{"name": "airport", "arguments": {"iata": "KEF"}}]}},
    )
    done = run(example("support_agent"), "support.py", QUESTION, "--model", "openai-chat:m", **at(aimock))
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[0] == "KEF lies at 171 feet."
    assert "  + 171 feet: airport $.elevation_feet" in done.stdout
    assert "999" not in done.stdout
    assert len(aimock.bodies()) == 3


@pytest.mark.parametrize(
    ("arguments", "typed", "told", "ticket"),
    [
        ((), "", "Guests cannot open tickets", False),
        (("--member", "ann", "--yes"), "", "T-1000", True),
        (("--member", "ann"), "y\n", "T-1000", True),
        (("--member", "ann"), "n\n", "the person said no", False),
    ],
)
def test_who_may_open_a_ticket(
    arguments: tuple[str, ...], typed: str, told: str, ticket: bool, example: Callable[[str], Path], run: Run, aimock: Aimock
) -> None:
    opening = {"name": "open_ticket", "arguments": {"iata": "KEF", "report": "The runway is longer."}}
    aimock.answers(
        {"match": {"hasToolResult": True}, "response": {"content": "Ticket T-1000 is open." if ticket else "No ticket was opened."}},
        {"match": {"userMessage": "runway"}, "response": {"toolCalls": [opening]}},
    )
    command = ("support.py", "The runway of KEF is longer.", "--model", "openai-chat:m", *arguments)
    done = run(example("support_agent"), *command, stdin=typed, **at(aimock))
    assert done.returncode == 0, done.stderr
    (result,) = [message for message in aimock.bodies()[-1]["messages"] if message["role"] == "tool"]
    assert told in result["content"]
    assert ("+ T-1000: open_ticket $.ticket" in done.stdout) == ticket


def test_it_chats_until_the_input_ends(example: Callable[[str], Path], run: Run, aimock: Aimock) -> None:
    aimock.answers({"match": {}, "response": {"content": "Hello."}})
    done = run(example("support_agent"), "support.py", "--model", "openai-chat:m", stdin="hello\n\nagain\n", **at(aimock))
    assert (done.returncode, done.stdout.count("Hello.")) == (0, 2), done.stderr
