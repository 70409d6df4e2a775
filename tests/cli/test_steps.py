"""``agentfp steps``: what a recording says, for people and as data, whatever is in it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from agentfp import Agent, Fallback, Record, Reliability, Rule, ToolContext, approve, tool
from agentfp.plugin import Deny, Payload, Plugin, Revise, event, hookimpl
from agentfp.testing import PluginDist, ScriptedModel, call
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
    [
        ("no record\n", "no record"),
        ("", "there is nothing in it"),
        ('{"agentfp": 99, "segment": {}}\n', "version 99"),
        (None, "No such file"),
    ],
)
def test_what_is_no_recording_exits_with_2(folder: Path, cli: Cli, text: str | None, said: str) -> None:
    if text is not None:
        Path("x.jsonl").write_text(text)
    done = cli("steps", "x.jsonl")
    assert (done.code, done.out) == (2, "")
    assert said in done.err


@event("agentfp.office.closed")
class Closed(Payload):
    """The office is closed."""

    hour: int

    def __str__(self) -> str:
        return f"closed at {self.hour}"


class Office(Plugin):
    """Says in the words of its event what it did."""

    name = "office"
    events = (Closed,)

    @hookimpl(phase="evidence")
    def assess_answer(self, draft: Any, run: Any) -> None:
        run.emit(Closed(8))


def test_an_event_of_a_plugin_that_is_installed_has_words(folder: Path, cli: Cli, plugin_dist: PluginDist) -> None:
    source = """
from agentfp.plugin import Payload, Plugin, event, hookimpl

@event("agentfp.office.closed")
class Closed(Payload):
    hour: int

    def __str__(self):
        return f"closed at {self.hour}"

class Office(Plugin):
    name = "office"
    events = (Closed,)
"""
    Agent(ScriptedModel(["Hi."]), plugins=[Office()]).run_sync("Hi").record.save("r.jsonl")
    unknown = cli("steps", "r.jsonl")
    assert "event agentfp.office.closed of office" in unknown.out
    plugin_dist("agentfp-office", entry_points={"agentfp.plugins": {"office": "office_plugin:Office"}}, modules={"office_plugin": source})
    known = cli("steps", "r.jsonl")
    assert "office: closed at 8" in known.out
    assert "no type for" not in known.out
    told = of(cli("steps", "r.jsonl", "--json").json, "model_call")[0]["events"]
    assert [(e["name"], e["source"], e["text"]) for e in told] == [("agentfp.office.closed", "office", "closed at 8")]


def test_an_event_of_the_application_is_shown_as_it_is(folder: Path, cli: Cli) -> None:
    @tool
    def order(ctx: ToolContext[None]) -> str:
        """Order."""
        ctx.emit("shop.order.checked", {"items": 3})
        return "ordered"

    Agent(ScriptedModel([call("order"), "Done."]), tools=[order]).run_sync("Go").record.save("r.jsonl")
    done = cli("steps", "r.jsonl")
    assert '{"items":3}' in done.out
    assert "no type for" not in done.out


class Down(ScriptedModel):
    """A model that never answers."""

    def __init__(self) -> None:
        super().__init__([OSError("no route"), OSError("no route")], name="down")


def test_a_change_of_models_is_a_visible_step(folder: Path, cli: Cli) -> None:
    models = {
        "fallback": Fallback(Down(), ScriptedModel(["Hi."], name="spare")),
        "rules": Reliability(
            Down(),
            ScriptedModel(["Hi."], name="spare"),
            post_decide=[Rule(when=lambda a: a.error is not None, then="retry-other", kind="down")],
        ),
    }
    for name, model in models.items():
        Agent(model).run_sync("Hi").record.save(f"{name}.jsonl")
        lines = cli("steps", f"{name}.jsonl").out.splitlines()
        served = next(i for i, line in enumerate(lines) if "model call 1" in line)
        assert "spare" in lines[served + 1]
        assert "scripted" in lines[served + 1]
        assert "replied" in "".join(lines[served + 2 :])
        told = of(cli("steps", f"{name}.jsonl", "--json").json, "model_call")[0]["events"]
        assert told[0]["name"] in ("agentfp.fallback.triggered", "agentfp.reliability.retried")
    assert "scripted:spare serves in place of scripted:down: no route" in cli("steps", "fallback.jsonl").out


def test_a_copy_in_which_no_secret_stood_is_not_called_redacted(folder: Path, cli: Cli) -> None:
    agent = Agent(ScriptedModel(["I do not say.", "It is sk-123456."]), secrets=["sk-123456"])
    first = agent.run_sync("Which key?")
    first.record.save("clean.jsonl")
    clean = cli("steps", "clean.jsonl")
    assert (clean.code, clean.err) == (0, "")
    assert cli("steps", "clean.jsonl", "--call", "1").code == 0
    agent.run_sync("Say it.", history=first.history).record.save("masked.jsonl")
    masked = cli("steps", "masked.jsonl")
    assert "redacted by secrets" in masked.err
    assert "sk-123456" not in masked.out
    assert cli("steps", "masked.jsonl", "--call", "1").code == 1


def nested(folder: Path) -> None:
    deepest = Agent(ScriptedModel([call("look", switch="C"), "C is up."]), tools=[look], name="deepest")
    inner = Agent(
        ScriptedModel([call("deepest", id="c2", request="C?"), "It is."]), tools=[deepest.as_tool("deepest", "Knows.")], name="network"
    )
    outer = Agent(ScriptedModel([call("network", id="c1", request="C?"), "Yes."]), tools=[inner.as_tool("network", "Knows switches.")])
    outer.run_sync("Is C up?").record.save("nested.jsonl")


@pytest.mark.parametrize("drill", ["c1/c2", "network/deepest", "c1/deepest", "/c1/c2/"])
def test_drilling_into_a_nested_run(folder: Path, cli: Cli, drill: str) -> None:
    nested(folder)
    walked = cli("steps", "nested.jsonl", "--drill", drill, "--json").json
    assert [c["tool"] for step in of(walked, "model_call") for c in step["calls"]] == ["look"]
    assert [m["text"] for m in of(walked, "message")] == ["C?"]
    assert [t for step in of(walked, "model_call") for t in step["transitions"]] == [
        {"from": "user", "to": "llm"},
        {"from": "llm", "to": "tool", "via": "look"},
        {"from": "tool", "to": "llm"},
        {"from": "llm", "to": "user"},
    ]
    assert cli("steps", "nested.jsonl", "--drill", drill, "--call", "1").code == 0


def test_drilling_to_where_nothing_is(folder: Path, cli: Cli) -> None:
    nested(folder)
    for drill, said in (("c9", "there are c1 (network)"), ("c1/c9", "there are c2 (deepest)"), ("c1/c2/c3", "there is none")):
        done = cli("steps", "nested.jsonl", "--drill", drill)
        assert (done.code, done.out) == (2, "")
        assert said in done.err


def test_a_damaged_file_is_shown_as_far_as_it_can_be_read(recording: Path, cli: Cli) -> None:
    lines = recording.read_text().splitlines()
    recording.write_text("\n".join([*lines[:14], "broken", *lines[14:]]) + "\n")
    done = cli("steps", "r.jsonl")
    assert done.code == 1
    assert "model call 1" in done.out
    assert "line 15 is not JSON" in done.err
