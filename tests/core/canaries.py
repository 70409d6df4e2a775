"""Runs with one canary in every channel through which content may come in, and all that can be seen of them."""

from __future__ import annotations

import base64
import dataclasses
import json
from collections.abc import Callable, Sequence
from typing import Any

import anyio
import pydantic

from agentfp import (
    Agent,
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
from agentfp.testing import ScriptedModel


class Canaries:
    """Hands out words that stand nowhere else."""

    def __init__(self) -> None:
        self.words: dict[str, str] = {}

    def __getattr__(self, channel: str) -> str:
        if channel.startswith("_"):
            raise AttributeError(channel)
        return self.words.setdefault(channel, f"zq{len(self.words):02d}canary{channel.replace('_', '')}")

    def seen_in(self, text: str) -> set[str]:
        """The channels whose word stands in a text, plain or, as a picture's bytes do, in base64."""
        return {channel for channel, word in self.words.items() if word in text or base64.b64encode(word.encode()).decode()[:-4] in text}


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
        given: dict[str, Any] = {
            "look": Note(c.note),
            "fail": Withhold(c.withhold_reason, c.withhold_text),
            "ask": Replace(c.replaced_result),
        }
        verdict: Note | Withhold | Replace | None = given.get(call.name)
        return verdict

    @hookimpl(phase="evidence")
    def assess_answer(self, draft: AnswerDraft) -> Revise | None:
        return Revise([self.c.revise_piece], "once")

    @hookimpl(moment="assess_answer", phase="stand")
    def stand(self, draft: AnswerDraft) -> None:
        raise ValueError(self.c.judge_exception)

    @hookimpl(moment="assess_answer", phase="append")
    def append(self, draft: AnswerDraft) -> Replace:
        return Replace(draft.text + self.c.appended)


class Broken(Plugin):
    """Fails where the run goes on."""

    name = "broken"

    def __init__(self, canaries: Canaries) -> None:
        super().__init__()
        self.c = canaries

    @hookimpl(phase="overlay")
    def serve_context(self, draft: RequestDraft) -> None:
        draft.add_piece("lost", self.c.lost_piece)
        raise RuntimeError(self.c.plugin_exception)


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


async def sweep(c: Canaries, *, policy: Any, sinks: Sequence[Plugin] = ()) -> Swept:
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
            plugins=[*plugins, lean, full, *sinks],
            instructions=c.instructions,
            redact=policy,
            listeners=hear,
            context_budget={"system": 1},
            **settings,
        )

    options: dict[str, Any] = {"options": {"meddler": {"word": c.option}}, "deps": {"deps": c.deps}}
    told = [{"role": "user", "content": c.history_user}, {"role": "assistant", "content": c.history_assistant}]
    told += [{"role": "system", "content": c.history_system}]
    whole = agent(script_of(c), Meddler(c), Broken(c))
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
