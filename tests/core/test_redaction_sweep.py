"""One canary in every channel through which content may come in, and the places in which none of them may be seen."""

from __future__ import annotations

import dataclasses
import json
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import pydantic
import pytest

from agentfp import (
    Agent,
    AgentfpError,
    AskField,
    ImagePart,
    ModelError,
    Record,
    RetryTool,
    RunResult,
    ThinkingBlock,
    ToolContext,
    ToolError,
    ToolReturn,
    UserMessage,
    approve,
    conversation_redaction,
    reject,
    tool,
)
from agentfp.events import Event
from agentfp.model import ModelRequest, ModelResponse, ToolCall, Usage
from agentfp.plugin import (
    AnswerDraft,
    AskPerson,
    Batch,
    CallView,
    Deny,
    ExportedEvent,
    Note,
    Plugin,
    Refuse,
    Replace,
    RequestDraft,
    Revise,
    Run,
    Withhold,
    hookimpl,
)
from tests.core.running import ScriptedModel

pytestmark = pytest.mark.anyio


class Canaries:
    """Hands out words that stand nowhere else."""

    def __init__(self) -> None:
        self.words: dict[str, str] = {}

    def __getattr__(self, channel: str) -> str:
        if channel.startswith("_"):
            raise AttributeError(channel)
        return self.words.setdefault(channel, f"zq{len(self.words):02d}canary{channel.replace('_', '')}")

    def seen_in(self, text: str) -> set[str]:
        return {channel for channel, word in self.words.items() if word in text}


class Sink(Plugin):
    """Keeps all that an exporter can get hold of."""

    class Settings(Plugin.Settings):
        content: bool = False

    def __init__(self, *, content: bool) -> None:
        super().__init__(content=content)
        self.texts: list[str] = []

    @hookimpl
    def export_event(self, event: ExportedEvent) -> None:
        shown: list[Any] = [event.name, event.call_id, event.source, event.header, dict(event.data), event.payload, event]
        self.texts.append(" ".join(map(repr, shown)) + json.dumps(dict(event.data), ensure_ascii=False))


class Lean(Sink):
    name = "lean"


class Full(Sink):
    name = "full"


class Report(pydantic.BaseModel):
    title: str

    @pydantic.field_validator("title")
    @classmethod
    def fits(cls, value: str) -> str:
        if value.startswith("zq"):
            raise ValueError(f"{value} is no title")
        return value


class Meddler(Plugin):
    """Says something at every moment."""

    name = "meddler"

    class RunOptions(Plugin.RunOptions):
        word: str = ""

    def __init__(self, canaries: Canaries) -> None:
        super().__init__()
        self.c = canaries

    @hookimpl(phase="compose")
    def serve_context(self, draft: RequestDraft, run: Run[Any]) -> None:
        c = self.c
        assert run.options(self).word == c.option
        draft.add_piece("piece", c.piece)
        draft.add_late_line("late", c.late_line)
        draft.decorate_tools("why", {"type": "string", "description": c.fragment})
        if draft.call == 2:
            draft.ticket(run.history[0].id, c.ticket)
            draft.deliver("user", c.delivered)

    @hookimpl(moment="serve_context", phase="overlay")
    def overlay(self, draft: RequestDraft) -> None:
        raise RuntimeError(self.c.plugin_exception)

    @hookimpl(phase="authorize")
    def before_tool(self, call: CallView, batch: Batch) -> Deny | AskPerson | None:
        c = self.c
        if call.name == "look" and call.index == 1:
            return Deny(c.deny_reason, tell_model=c.deny_text)
        if call.name == "look" and call.index == 0 and not batch.answers.get(self.name):
            fields = [AskField("about", c.plugin_question, schema={"type": "string", "description": c.question_schema})]
            return AskPerson(fields, context={"a": c.question_context}, component=c.question_component)
        if call.name == "broken":
            raise KeyError(c.gate_exception)
        return None

    @hookimpl(phase="check")
    def after_result(self, call: CallView) -> Note | Withhold | Replace | None:
        c = self.c
        given = {"look": Note(c.note), "fail": Withhold(c.withhold_reason, c.withhold_text), "ask": Replace(c.replaced_result)}
        return given.get(call.name)

    @hookimpl(phase="evidence")
    def assess_answer(self, draft: AnswerDraft) -> Revise | None:
        return Revise([self.c.revise_piece], "once")

    @hookimpl(moment="assess_answer", phase="stand")
    def stand(self, draft: AnswerDraft) -> None:
        raise ValueError(self.c.judge_exception)

    @hookimpl(moment="assess_answer", phase="append")
    def append(self, draft: AnswerDraft) -> Replace:
        return Replace(draft.text + self.c.appended)


def tools_of(c: Canaries) -> list[Any]:
    @tool(description=c.tool_description)
    async def look(ctx: ToolContext[Any], word: str) -> Any:
        ctx.emit("acme.looked", {c.app_key: c.app_event})
        ctx.progress({"at": c.progress})
        ctx.on_teardown(failing, scope="run", label=c.session_label)
        return ToolReturn({"found": c.result}, private={"raw": c.private}, parts=(ImagePart("image/png", url=f"https://x/{c.image}"),))

    def failing() -> None:
        raise RuntimeError(c.teardown_exception)

    @tool
    async def fail() -> str:
        """Fail."""
        raise RuntimeError(c.tool_exception)

    @tool
    async def refuse() -> str:
        """Refuse."""
        raise ToolError(c.tool_error, detail=c.tool_error_detail)

    @tool
    async def retry() -> str:
        """Retry."""
        raise RetryTool(c.retry_text)

    @tool
    async def ask(ctx: ToolContext[Any]) -> str:
        """Ask."""
        return ctx.ask_human(c.question, context={"b": c.ask_context})

    @tool(approval=True)
    async def act(word: str) -> str:
        """Act."""
        return word

    @tool
    async def broken() -> str:
        """Never runs."""
        return ""

    return [look, fail, refuse, retry, ask, act, broken]


def script_of(c: Canaries) -> list[Any]:
    first = ModelResponse(
        text=c.model_text_beside_calls,
        tool_calls=(
            ToolCall.make("look", {"word": c.argument}),
            ToolCall.make("look", {"word": c.argument_denied}),
            ToolCall.make("fail", {}),
            ToolCall.make("refuse", {}),
            ToolCall.make("retry", {}),
            ToolCall.make("broken", {}),
            ToolCall.make(c.undeclared_tool, {}),
            ToolCall("", "look", f'{{"word": "{c.argument_broken}'),
            ToolCall.make("look", {c.argument_name: 1, "word": 5}),
        ),
        usage=Usage(10, 10),
        thinking=(ThinkingBlock(c.thinking, signature=c.thinking_signature, provider_meta=json.dumps(c.thinking_meta)),),
    )
    second = [
        ToolCall.make("ask", {}),
        ToolCall.make("act", {"word": c.argument_approved}),
        ToolCall.make("act", {"word": c.argument_rejected}),
    ]
    return [first, second, c.draft, c.answer]


def answers(c: Canaries, result: RunResult[Any]) -> dict[str, Any]:
    assert result.pause is not None
    given: dict[str, Any] = {}
    for question in result.pause.questions:
        if question.kind != "decision":
            given[question.id] = c.person_answer
        elif c.argument_rejected in str(question.arguments):
            given[question.id] = reject(c.reject_reason, by=c.reject_by)
        else:
            given[question.id] = approve(by=c.approve_by, note=c.approve_note, args={"word": c.approved_argument})
    return given


@dataclasses.dataclass
class Swept:
    """All that could be seen of some runs."""

    canaries: Canaries
    lean: list[str]
    full: list[str]
    heard: list[str]
    records: list[Record]
    errors: list[BaseException]


async def sweep(c: Canaries, *, policy: Any) -> Swept:
    lean, full = Lean(content=False), Full(content=True)
    swept = Swept(c, lean.texts, full.texts, [], [], [])

    def hear(event: Event) -> None:
        swept.heard.append(repr(event))
        if event.name == "agentfp.agent.turn_start":
            raise RuntimeError(c.listener_exception)

    def agent(script: list[Any] | Callable[[ModelRequest], Any], *plugins: Plugin, **settings: Any) -> Agent[Any, Any]:
        return Agent(
            ScriptedModel(script),
            tools=tools_of(c),
            plugins=[*plugins, lean, full],
            instructions=c.instructions,
            redact=policy,
            listeners=hear,
            context_budget={"system": 1},
            **settings,
        )

    options: dict[str, Any] = {"options": {"meddler": {"word": c.option}}, "deps": {"deps": c.deps}}
    told = [{"role": "user", "content": c.history_user}, {"role": "assistant", "content": c.history_assistant}]
    told += [{"role": "system", "content": c.history_system}]
    whole = agent(script_of(c), Meddler(c))
    result = await whole.run(UserMessage(c.prompt, (ImagePart("image/png", c.prompt_image.encode()),)), history=told, **options)
    while result.pause is not None:
        result = await whole.resume(result.pause, answers(c, result), **options)
    assert result.status == "answered"
    swept.records.append(result.record)

    async def failed(make: Callable[[], Any]) -> None:
        try:
            swept.records.append((await make()).raise_for_status().record)
        except Exception as error:
            swept.errors.append(error)
            while error is not None:
                checkpoint = getattr(error, "checkpoint", None)
                if checkpoint is not None:
                    swept.records.append(checkpoint.record)
                error = error.__cause__  # type: ignore[assignment]

    class Refuses(Plugin):
        name = "refuses"

        @hookimpl(phase="claims")
        def assess_answer(self) -> Refuse:
            return Refuse(ValueError(c.refusal))

    class Breaks(Plugin):
        name = "breaks"

        @hookimpl(phase="compose")
        def serve_context(self, draft: RequestDraft) -> None:
            if draft.call == 2:
                raise RuntimeError(c.compose_exception)

    class Denies(Plugin):
        name = "denies"

        @hookimpl
        def admit_input(self) -> None:
            raise RuntimeError(c.admit_exception)

    provider = [ToolCall.make("refuse", {}), ModelError(f"400: {c.provider_error}")]
    typed = json.dumps({"title": c.validator_text})
    cases: list[Callable[[], Any]] = [
        lambda: agent(provider).run(c.prompt_two),
        lambda: agent([ToolCall.make("refuse", {}), c.unread], Breaks()).run(c.prompt_three),
        lambda: agent([c.refused_answer], Refuses()).run("Go"),
        lambda: agent([c.unread_answer], Denies()).run(c.denied_prompt),
        lambda: agent([ToolCall.make("ask", {})]).run(c.prompt_four),
        lambda: agent([ToolCall.make("refuse", {}), lambda _: anyio.sleep_forever()]).run(c.prompt_five, timeout=0.05),
    ]
    for case in cases:
        await failed(case)
    unmet = await agent([typed, "no json " + c.no_json, typed], output_type=Report, output_retries=2).run("Go")
    swept.records.append(unmet.record)
    await failed(lambda: _output(unmet))
    return swept


async def _output(result: RunResult[Any]) -> Any:
    return result.output


ONLY_IN_ERRORS = {"refusal"}
NOT_ON_A_RECORD = {"option", "deps", "unread", "unread_answer", "gate_ok", "teardown_exception"}


async def test_every_canary_is_where_it_belongs() -> None:
    """Without this the tests below could pass because nothing was said at all."""
    c = Canaries()
    swept = await sweep(c, policy=None)
    everything = "\n".join(line for record in swept.records for line in record.to_lines())
    raw = everything + "".join(swept.heard) + c.prompt_image
    missing = set(c.words) - c.seen_in(raw) - NOT_ON_A_RECORD
    assert not missing
    assert len(c.words) > 60
    assert c.deps not in everything


async def test_a_lean_export_shows_no_content_without_any_policy() -> None:
    c = Canaries()
    swept = await sweep(c, policy=None)
    assert len(swept.lean) > 100
    for text in swept.lean:
        assert not c.seen_in(text), text


@pytest.mark.parametrize("place", ["lean", "full", "heard"])
async def test_under_a_policy_no_content_is_shown_to_sinks_and_listeners(place: str) -> None:
    c = Canaries()
    swept = await sweep(c, policy=conversation_redaction())
    texts: list[str] = getattr(swept, place)
    assert len(texts) > 100
    for text in texts:
        assert not c.seen_in(text), text


async def test_a_copy_that_is_saved_under_a_policy_holds_no_content(tmp_path: Path) -> None:
    c = Canaries()
    swept = await sweep(c, policy=None)
    for record in swept.records:
        record.save(tmp_path / "saved.jsonl", policy=conversation_redaction())
        assert not c.seen_in((tmp_path / "saved.jsonl").read_text(encoding="utf-8"))
        loaded = Record.load(tmp_path / "saved.jsonl")
        assert [(one.seq, one.name) for one in loaded] == [(one.seq, one.name) for one in record]
        assert len(loaded.history) == len(record.history)


async def test_errors_of_the_library_show_no_content() -> None:
    c = Canaries()
    swept = await sweep(c, policy=None)
    assert len(swept.errors) == 7
    for error in swept.errors:
        if isinstance(error, AgentfpError):
            own = f"{error}{error!r}{''.join(traceback.format_exception_only(error))}"
            assert not c.seen_in(own), own


async def test_errors_about_histories_and_options_show_no_content() -> None:
    c = Canaries()
    agent: Agent[Any, Any] = Agent(ScriptedModel([]), plugins=[Meddler(c)])
    wrong: list[dict[str, Any]] = [
        {"message": {"text": c.prompt}},
        {"message": [c.prompt, 5]},
        {"message": "Go", "history": [{"role": "user", "content": {"text": c.history_user}}]},
        {"message": "Go", "history": [{"role": c.history_role, "content": "x"}]},
        {"message": "Go", "history": c.history_text},
        {"message": "Go", "options": {"meddler": {"word": [c.option]}}},
        {"message": "Go", "options": {"meddler": {"word": 5, "number": c.option_two}}},
        {"message": "Go", "identity": c.identity},
        {"message": "Go", "session_id": f"{c.session}\n"},
    ]
    for call in wrong:
        with pytest.raises((AgentfpError, TypeError)) as refused:
            await agent.run(call.pop("message"), **call)
        assert not c.seen_in(f"{refused.value}{refused.value!r}"), refused.value
