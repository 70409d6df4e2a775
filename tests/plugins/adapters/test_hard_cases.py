"""What runs do that go wrong or go on oddly, on every framework: nested agents in number, images, tokens, ends, recordings."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from agentfp import ConfigError, Record
from agentfp.testing import assert_record_valid
from agentfp_adapters import GatePolicy
from agentfp_adapters.nested import NestedAnswer, grounds_of
from agentfp_adapters.unseen import placeholder
from agentfp_evidence import UnsupportedValuesError
from tests.plugins.adapters import bound_langchain, bound_openai_agents, bound_pydantic_ai
from tests.plugins.adapters.binding import IN, OUT, Binding, Call, Reply, Scripted

pytestmark = pytest.mark.anyio

ASK = "How busy is mds-07?"
LOOK = Call("lookup", {"switch": "mds-07"})
BAD = "mds-07 peaked at 42,100 IOPS."
GOOD = "mds-07 peaked at 41,200 IOPS."
BINDINGS = [bound_pydantic_ai.BINDING, bound_openai_agents.BINDING, bound_langchain.BINDING]


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(params=BINDINGS, ids=lambda binding: binding.name)
def bound(request: pytest.FixtureRequest) -> Binding:
    binding: Binding = request.param
    return binding


class Twice:
    """Asks an agent twice within one call, and hands both answers on."""

    def __init__(self, bound: Binding, agent: Any) -> None:
        self.bound, self.agent = bound, agent

    async def answers(self, question: str) -> str:
        first, second = await self.bound.run(self.agent, question), await self.bound.run(self.agent, question)
        return json.dumps({"first": first.text, "second": second.text})

    async def run(self, question: str) -> Any:
        return type("Result", (), {"output": await self.answers(question)})

    async def ainvoke(self, state: Any) -> Any:
        text = await self.answers(state["messages"][0][1])
        return {"messages": [type("Message", (), {"text": text})]}

    def as_tool(self, name: str, description: str) -> Any:
        from agents import function_tool

        return function_tool(self.answers, name_override=name, description_override=description)


async def test_no_agent_launders_inventions_where_a_tool_asks_several(bound: Binding, tmp_path: Path) -> None:
    replies: list[Reply] = [LOOK, 'mds-07 has "41,200" IOPS,\nserial QX-7788.', LOOK, "Serial QX-5566, 41,200 IOPS."]
    inner = bound.agent(Scripted(replies), "flag", name="expert", record=tmp_path)
    asking = Call("expert", {"question": ASK}, "outer")
    agent = bound.agent(
        Scripted([asking, "41,200 IOPS; serials QX-7788 and QX-5566."]), "flag", inner=Twice(bound, inner), record=tmp_path
    )  # fmt: skip
    outcome = await bound.run(agent, "Which serials?")
    assert outcome.report is not None
    assert set(outcome.report.unsupported) == {"QX-7788", "QX-5566"}
    [file] = tmp_path.iterdir()
    record = Record.load(file)
    assert list(record.children) == ["outer", "outer#2"]
    assert all(child.history[0].content == ASK for child in record.children.values())
    assert_record_valid(record)


async def test_a_refused_run_says_what_it_used_and_is_recorded_once(bound: Binding) -> None:
    kept: list[Record] = []
    with pytest.raises(UnsupportedValuesError) as caught:
        await bound.run(bound.agent(Scripted([LOOK, BAD, BAD]), "refuse", record=kept.append), ASK)
    assert caught.value.usage is not None
    assert (caught.value.usage.input, caught.value.usage.output) == (3 * IN, 3 * OUT)
    assert len(kept) == 1


async def test_a_run_whose_model_fails_is_recorded(bound: Binding, tmp_path: Path) -> None:
    def broken(seen: Any) -> Any:
        if any(role == "tool" for role, _ in seen):
            raise OSError("no network")
        return LOOK

    with pytest.raises(OSError, match="no network"):
        await bound.run(bound.agent(broken, "revise", record=tmp_path), ASK)
    [file] = tmp_path.iterdir()
    record = Record.load(file)
    assert [event.payload.status for event in record.events("agentfp.run.ended")] == ["failed"]  # type: ignore[attr-defined]
    assert [message.role for message in record.history] == ["user", "assistant", "tool"]


def command(*words: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "agentfp", *words], cwd=cwd, capture_output=True, text=True, check=False)


async def test_recordings_are_opened_and_judged_by_the_commands(bound: Binding, tmp_path: Path) -> None:
    await bound.run(bound.agent(Scripted([LOOK, BAD]), "flag", record=tmp_path / "runs"), ASK)
    [file] = (tmp_path / "runs").iterdir()
    checked = command("check", "runs", "--fail-on", "strong", "--json", cwd=tmp_path)
    assert checked.returncode == 1, checked.stderr
    assert "42,100 IOPS" in checked.stdout
    page = tmp_path / "page.html"
    viewed = command("view", str(file), "--html", str(page), "--json", cwd=tmp_path)
    assert viewed.returncode == 0, viewed.stderr
    assert json.loads(viewed.stdout)["problems"] == []
    assert '"receipts":{"bad":[],"upto":2}' in page.read_text(encoding="utf-8")


def test_a_folder_that_may_not_be_written_to_is_refused_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "access", lambda *_: False)  # tests may run as root, which may write anywhere
    with pytest.raises(ConfigError, match="may not write to"):
        GatePolicy("flag", record=tmp_path)


def test_a_file_in_the_place_of_the_folder_is_refused_at_once(tmp_path: Path) -> None:
    (tmp_path / "runs").write_text("")
    with pytest.raises(ConfigError, match=r"runs' is a file; recordings need a folder"):
        GatePolicy("flag", record=str(tmp_path / "runs"))


def answer(text: str) -> NestedAnswer:
    return NestedAnswer(text, grounded=["41,200"], others=["QX-7788"])


@pytest.mark.parametrize(
    ("said", "content", "left"),
    [
        ("41,200, QX-7788.", "41,200, QX-7788.", ""),
        ("41,200, QX-7788.\n ", "Desk: 41,200, QX-7788.", "Desk:"),
        ('"41,200"\nQX-7788 é', json.dumps({"a": '"41,200"\nQX-7788 é'}), '{"a": " "}'),
        ('{"peak": "41,200", "serial": "QX-7788"}', '{"serial":"QX-7788","peak":"41,200"}', None),
        ("Its serial is QX-7788, it has 41,200.", "serial=QX-7788 load=41,200 room=QX-77889", "serial=  load=41,200 room=QX-77889"),
    ],
)
def test_what_a_result_grounds_that_hands_an_answer_on(said: str, content: str, left: str | None) -> None:
    found = grounds_of(content, [answer(said)])
    assert found[-1] == "41,200"
    assert "QX-7788" not in " ".join(found).replace("QX-77889", "")
    assert left is None or found[0].strip() == left


@pytest.mark.parametrize(
    ("kind", "line"),
    [
        ("input_image", "[image]"), ("image/png", "[image]"), ("computer_screenshot", "[image]"), ("audio-url", "[audio]"),
        ("input_file", "[document]"), ("video/mp4", "[video]"), ("cache-point", None), ("text", None),
    ],
)  # fmt: skip
def test_parts_that_are_no_text_are_told(kind: str, line: str | None) -> None:
    assert placeholder(kind) == line
