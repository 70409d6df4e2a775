"""The parts that the adapters share: versions that do not fit, answers that cannot be judged, settings, results in Python's spelling."""

from __future__ import annotations

import importlib.metadata
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from agentfp import AnswerRefusedError, ConfigError, Record
from agentfp.plugin import Message
from agentfp_adapters import GatePolicy, session
from agentfp_adapters.session import Answer, GateSession
from agentfp_adapters.versions import Needs

REPLY = Message(id="r", role="assistant", content="41,200", author="model")


def test_a_missing_framework_is_told_with_what_to_install() -> None:
    error = Needs("no-such-framework", ">=2", "x").unmet("no module")
    assert str(error) == "no-such-framework is not installed, and this adapter needs >=2 of it: pip install -U 'agentfp-adapters[x]'"


def test_an_interface_that_moved_is_told_with_what_was_found() -> None:
    with pytest.raises(ImportError, match=r"needs pytest >=99; found \d.*Path lacks leap.*pip install -U 'agentfp-adapters\[x\]'"):
        Needs("pytest", ">=99", "x").check(Path, "exists", "leap")


@pytest.mark.parametrize(
    ("module", "break_it", "words"),
    [
        ("pydantic_ai", "import pydantic_ai.models as m; del m.CompletedStreamedResponse", "pydantic-ai-slim >=2.68"),
        ("pydantic_ai", "import pydantic_ai.capabilities as c; del c.AbstractCapability.get_wrapper_model", "lacks get_wrapper_model"),
        ("openai_agents", "import agents.models._run_context as m; del m.get_model_run_owner", "openai-agents >=0.24"),
        ("langchain", "import langchain.agents.middleware.types as t; del t.AgentMiddleware.awrap_model_call", "lacks awrap_model_call"),
    ],
)
def test_a_version_whose_interface_moved_is_refused_at_import(module: str, break_it: str, words: str) -> None:
    code = f"{break_it}\nimport agentfp_adapters.{module}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    last = done.stderr.strip().splitlines()[-1]
    assert "AdapterVersionError" in last
    assert words in last


def test_no_framework_is_imported_until_its_adapter_is() -> None:
    code = "import sys, agentfp_adapters\nprint([m for m in ('pydantic_ai', 'agents', 'langchain', 'langgraph') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_settings_are_those_of_the_gate() -> None:
    policy = GatePolicy("guard", act_on="any", exempt=("x-1",))  # type: ignore[arg-type]  # the old word
    assert policy.settings.on_unsupported == "revise"
    with pytest.raises(ConfigError, match="act_on"):
        GatePolicy("revise", act_onn="any")


@pytest.mark.parametrize("wish", ["flag", "revise", "refuse"])
def test_an_answer_that_cannot_be_judged_is_refused_where_the_gate_guards(wish: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any, **__: Any) -> Any:
        raise RuntimeError("broken")

    monkeypatch.setattr(session, "judge_with", broken)
    run = GateSession(GatePolicy(wish), framework="test")
    run.called([], list)
    if wish == "refuse":
        with pytest.raises(AnswerRefusedError, match="failed to judge"):
            run.replied(REPLY, Answer("41,200", "41,200"))
    else:
        assert run.replied(REPLY, Answer("41,200", "41,200")).note is None


@pytest.mark.parametrize("wish", ["flag", "refuse"])
def test_a_conversation_that_cannot_be_read_is_one_that_cannot_be_judged(wish: Any) -> None:
    def odd(message: Any) -> list[Message]:
        raise KeyError("role")

    run = GateSession(GatePolicy(wish), framework="test")
    run.read([object()], odd)
    run.called([], list)
    if wish == "refuse":
        with pytest.raises(AnswerRefusedError, match="failed to judge"):
            run.replied(REPLY, Answer("41,200 IOPS", "41,200 IOPS"))
    else:
        assert run.replied(REPLY, Answer("41,200 IOPS", "41,200 IOPS")).report is None


def test_results_that_a_framework_wrote_as_python_does_are_read_as_data() -> None:
    run = GateSession(GatePolicy("flag"), framework="test")
    result = Message(id="t", role="tool", content="[{'name': 'a', 'gb': 1200}, {'name': 'b', 'gb': 1300}]", tool_call_id="c1")
    run.read([result], lambda message: [message])
    run.called([], list)
    report = run.replied(REPLY, Answer("In total 2,500 GB.", "In total 2,500 GB.")).report
    assert report is not None
    assert [value.how for value in report.values] == ["sum"]


def test_a_conversation_is_read_once() -> None:
    read: list[str] = []

    def convert(message: Message) -> list[Message]:
        read.append(message.id)
        return [message]

    run = GateSession(GatePolicy("flag"), framework="test")
    messages = [Message(id=f"m{number}", role="user", content=f"{number}") for number in range(20)]
    for upto in (5, 10, 20, 20):
        run.read(messages[:upto], convert)
    assert read == [message.id for message in messages]


def test_recovery_words_of_the_application_are_added() -> None:
    run = GateSession(GatePolicy("revise", recovery_instruction=lambda context: f"Attempt {context.attempt}."), framework="test")
    run.called([], list)
    note = run.replied(REPLY, Answer("41,200 IOPS", "41,200 IOPS")).note
    assert note is not None
    assert note.endswith("Attempt 1.")


def test_a_recording_that_fails_leaves_the_run_alone(caplog: pytest.LogCaptureFixture) -> None:
    def full(record: Record) -> None:
        raise OSError("no space left on device")

    run = GateSession(GatePolicy("flag", record=full), framework="test")
    run.called([], list)
    assert run.replied(REPLY, Answer("41,200 IOPS", "41,200 IOPS")).action == "flagged"
    run.finish("answered")
    assert "the recording of a run failed" in caplog.text


@pytest.mark.parametrize(
    ("distribution", "column"),
    [("pydantic-ai-slim", "2.68"), ("openai-agents", "0.24"), ("langchain", "1.5"), ("langgraph", "1.2")],
)
def test_the_readme_names_the_versions_that_these_tests_run_with(distribution: str, column: str) -> None:
    assert importlib.metadata.version(distribution).startswith(f"{column}.")
    readme = Path(__file__).resolve().parents[3] / "plugins" / "adapters" / "README.md"
    assert column in readme.read_text(encoding="utf-8")
