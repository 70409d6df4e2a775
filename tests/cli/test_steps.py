"""``agentfp steps``: what a recording says, for people and as data, whatever is in it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from agentfp import Agent, Record, approve, tool
from agentfp.plugin import Deny, Plugin, Revise, hookimpl
from agentfp.testing import ScriptedModel, call
from tests.cli.conftest import Cli


@tool
def look(switch: str) -> str:
    """Look at a switch."""
    return f"{switch} is up"


@tool(approval=True)
def shut(port: int) -> str:
    """Shut a port."""
    return f"port {port} is shut"


class Strict(Plugin):
    """Denies B, and sends an answer back once."""

    name = "strict"

    @hookimpl(phase="authorize")
    def before_tool(self, call: Any) -> Deny | None:
        return Deny("B is not ours", tell_model="Not B.", rule="ours") if call.arguments.get("switch") == "B" else None

    @hookimpl(phase="evidence")
    def assess_answer(self, draft: Any) -> Revise | None:
        return Revise(["Say which switch."], key="names") if "Switch" not in draft.text else None


SCRIPT = (
    [call("look", switch="A"), call("look", switch="B")],
    "It is up.",
    call("shut", port=3),
    "Switch A is up and its port 3 is shut.",
)


@pytest.fixture
def recording(folder: Path) -> Path:
    agent = Agent(ScriptedModel(SCRIPT), tools=[look, shut], plugins=[Strict()], name="desk")
    paused = agent.run_sync("Look, then shut port 3.")
    assert paused.pause is not None
    agent.resume_sync(paused.pause, approve(by="ann")).record.save("r.jsonl")
    return folder / "r.jsonl"


def of(walked: dict[str, Any], kind: str) -> list[dict[str, Any]]:
    return [step for step in walked["steps"] if step["kind"] == kind]


def test_as_data(recording: Path, cli: Cli) -> None:
    walked = cli("steps", "r.jsonl", "--json").json
    record = Record.load(recording)
    assert (walked["conversation"], walked["legs"], walked["events"]) == (record.root_id, 2, len(record))
    assert [leg["leg"] for leg in of(walked, "leg")] == ["run", "resume"]
    assert of(walked, "leg")[0]["plugins"] == ["strict 0"]
    assert [m["text"] for m in of(walked, "message")] == ["Look, then shut port 3."]
    calls = of(walked, "model_call")
    assert [c["call"] for c in calls] == [1, 2, 3, 4]
    assert [c["served"]["receipt"] for c in calls] == [record.receipt(n) for n in (1, 2, 3, 4)]
    assert [c["served"]["messages"] for c in calls][:2] == [1, 4]
    assert all(c["served"]["tools"] == 2 for c in calls)
    first = calls[0]["calls"]
    assert [(c["tool"], c["outcome"]) for c in first] == [("look", "success"), ("look", "denied")]
    assert first[1]["verdicts"] == [
        {"plugin": "strict", "phase": "authorize", "verdict": "Deny", "reason": "B is not ours", "rule": "ours", "text": "Not B."}
    ]
    assert calls[1]["draft"] == "It is up."
    sent_back = of(walked, "intervention")
    assert [(i["plugin"], i["verdict"], i["carried_out"], i["draft"]) for i in sent_back] == [("strict", "Revise", True, "It is up.")]
    assert of(walked, "pause")[0]["questions"][0]["tool"] == "shut"
    assert next(iter(of(walked, "answers")[0]["answers"].values()))["approved"] is True
    assert calls[2]["calls"][0]["approval"] == {"approved": True, "by": "ann", "arguments_changed": False}
    assert calls[3]["text"] == "Switch A is up and its port 3 is shut."
    assert [end["status"] for end in of(walked, "end")] == ["paused", "answered"]


def test_for_people(recording: Path, cli: Cli) -> None:
    done = cli("steps", "r.jsonl")
    assert (done.code, done.err) == (0, "")
    for line in (
        "run of desk on scripted:script, plugins strict 0",
        '    look({"switch":"B"}): denied',
        "      strict in authorize: Deny B is not ours",
        "  strict sends the answer back: strict.names",
        "    kernel asks about shut: May shut run?",
        "      approved by ann",
        "      -> port 3 is shut",
        "    says: Switch A is up and its port 3 is shut.",
    ):
        assert f"{line}" in done.out
    assert done.out.count("model call ") == 4


def test_the_request_of_a_call_is_rebuilt(recording: Path, cli: Cli) -> None:
    shown = cli("steps", "r.jsonl", "--call", "2", "--json").json
    assert shown["receipt"] == Record.load(recording).receipt(2)
    assert [m["role"] for m in shown["messages"]] == ["user", "assistant", "tool", "tool"]
    assert [t["name"] for t in shown["tools"]] == ["look", "shut"]
    text = cli("steps", "r.jsonl", "--call", "2").out
    assert "A is up" in text
    assert "Not B." in text


@pytest.mark.parametrize(("call_number", "said"), [("9", "it has calls 1 to 4"), ("0", "it has calls 1 to 4")])
def test_a_call_that_is_not_there(recording: Path, cli: Cli, call_number: str, said: str) -> None:
    done = cli("steps", "r.jsonl", "--call", call_number)
    assert (done.code, done.out) == (2, "")
    assert said in done.err


def test_a_redacted_recording(recording: Path, agents: Path, cli: Cli) -> None:
    cli("run", "desk_agents:looking", "Is A up?", "--record", "masked.jsonl", "--redact")
    walked = cli("steps", "masked.jsonl", "--json").json
    assert walked["redacted"] == ["content"]
    assert of(walked, "message")[0]["text"] == "[REDACTED]"
    first = of(walked, "model_call")[0]["calls"][0]
    assert (first["tool"], first["arguments"], first["outcome"]) == ("look", "[REDACTED]", "success")
    done = cli("steps", "masked.jsonl")
    assert done.code == 0
    assert "redacted by content" in done.err
    refused = cli("steps", "masked.jsonl", "--call", "1")
    assert (refused.code, refused.out) == (1, "")
    assert "redacted" in refused.err


def test_events_of_types_that_are_not_installed(recording: Path, cli: Cli) -> None:
    lines = recording.read_text().splitlines()
    at = next(index for index, line in enumerate(lines) if '"agentfp.stream.llm_end"' in line)
    event = json.loads(lines[at])
    for line_index in range(at + 1, len(lines)):
        data = json.loads(lines[line_index])
        if "seq" in data:
            data["seq"] += 1
            if data["data"].get("content_of") is not None:
                data["data"]["content_of"] += 1
            lines[line_index] = json.dumps(data, separators=(",", ":"))
        elif "segment" in data:
            data["segment"]["first_seq"] += 1
            lines[line_index] = json.dumps(data, separators=(",", ":"))
    strange = {**event, "seq": event["seq"] + 1, "name": "acme.orders.checked", "src": "orders", "data": {"new": [1, {"deep": True}]}}
    lines.insert(at + 1, json.dumps(strange))
    recording.write_text("\n".join(lines) + "\n")
    walked = cli("steps", "r.jsonl", "--json").json
    assert walked["unknown_events"] == {"acme.orders.checked": 1}
    assert of(walked, "model_call")[0]["other_events"] == [{"seq": strange["seq"], "name": "acme.orders.checked", "source": "orders"}]
    out = cli("steps", "r.jsonl").out
    assert "event acme.orders.checked of orders" in out
    assert "no type for: acme.orders.checked (1)" in out


def test_a_journal_with_a_torn_line(agents: Path, cli: Cli) -> None:
    cli("run", "desk_agents:failing", "go", "--journal", "run.journal")
    whole = cli("steps", "run.journal", "--json").json
    assert of(whole, "failure")[0]["error"] == "out of order"
    assert of(whole, "model_call")[1]["replied"] is False
    with Path("run.journal").open("a") as file:
        file.write('{"seq": 99, "na')
    torn = cli("steps", "run.journal", "--json").json
    assert torn["steps"] == whole["steps"]
    assert "torn_line" in torn


def test_nested_runs_are_walked_too(folder: Path, cli: Cli) -> None:
    inner = Agent(ScriptedModel([call("look", switch="C"), "C is up."]), tools=[look], name="network")
    outer = Agent(ScriptedModel([call("network", message="C?"), "Yes."]), tools=[inner.as_tool("network", "Knows switches.")])
    names = list(outer.tools["network"].parameters)
    outer = outer.replace(model=ScriptedModel([call("network", **{names[0]: "C?"}), "Yes."]))
    outer.run_sync("Is C up?").record.save("nested.jsonl")
    walked = cli("steps", "nested.jsonl", "--json").json
    nested = of(walked, "model_call")[0]["calls"][0]["nested"]
    assert of(nested, "model_call")[0]["calls"][0]["tool"] == "look"
    assert "C is up" in cli("steps", "nested.jsonl").out


@pytest.mark.parametrize(
    ("text", "said"),
    [("no record\n", "no record"), ("", "no segment"), ('{"agentfp": 99, "segment": {}}\n', "version 99"), (None, "No such file")],
)
def test_what_is_no_recording_exits_with_2(folder: Path, cli: Cli, text: str | None, said: str) -> None:
    if text is not None:
        Path("x.jsonl").write_text(text)
    done = cli("steps", "x.jsonl")
    assert (done.code, done.out) == (2, "")
    assert said in done.err
