"""Masked copies of records, what may be done with them, and known secret values that are masked in every form."""

from __future__ import annotations

import base64
import json
import re
from pathlib import Path
from typing import Any
from urllib.parse import quote, quote_plus

import pytest

from agentfp import (
    Agent,
    Checkpoint,
    ImagePart,
    Journal,
    Pause,
    Record,
    RecordFormatError,
    RedactedRecordError,
    RedactionPolicy,
    ResumeRedactionError,
    RunResult,
    ToolContext,
    ToolReturn,
    UserMessage,
    approve,
    conversation_redaction,
    tool,
)
from agentfp.events import (
    AppEvent,
    MessageAdded,
    ToolEnded,
    ToolStarted,
)
from agentfp.plugin import ExportedEvent, Plugin, RequestDraft, Run, hookimpl
from agentfp.testing import ScriptedModel, call
from agentfp_core.redaction import SecretMask

pytestmark = pytest.mark.anyio
SECRET = 'p"a ss/wö+rd='
keys = RedactionPolicy(keys=["password", "api_key"])


# --- masked copies ---


@tool
async def login(ctx: ToolContext[Any], password: str) -> Any:
    """Log in."""
    ctx.emit("acme.login", {"password": password, "tries": 1})
    return ToolReturn({"session": 17, "password": password}, parts=(ImagePart("image/png", b"geheim-77"),), private={"password": password})


async def some_run(**settings: Any) -> RunResult[str]:
    agent: Agent[Any, str] = Agent(ScriptedModel([call("login", password="geheim-77"), "Logged in."]), tools=[login], **settings)
    return await agent.run(UserMessage("Log me in.", (ImagePart("image/png", b"face"),)))


async def test_a_saved_copy_names_its_policies_and_holds_nothing_masked(tmp_path: Path) -> None:
    result = await some_run()
    result.record.save(tmp_path / "masked.jsonl", policy=keys)
    text = (tmp_path / "masked.jsonl").read_text(encoding="utf-8")
    assert "geheim-77" not in text
    assert "Logged in." in text
    loaded = Record.load(tmp_path / "masked.jsonl")
    assert loaded.redacted == ("key:api_key", "key:password")
    assert len(loaded) == len(result.record)
    assert result.record.redacted == ()


@pytest.mark.parametrize("policy", [keys, conversation_redaction()], ids=["keys", "content"])
async def test_a_masked_copy_is_read_and_not_gone_on_from(tmp_path: Path, policy: RedactionPolicy) -> None:
    result = await some_run()
    path = tmp_path / "masked.jsonl"
    result.record.save(path, policy=policy)
    loaded = Record.load(path)
    assert [m.role for m in loaded.history] == [m.role for m in result.history]
    with pytest.raises(RecordFormatError, match="redacted by"):
        loaded.served_at(1)
    assert loaded.receipt(1) == result.record.receipt(1)
    agent: Agent[Any, str] = Agent(ScriptedModel(["x"]), tools=[login])
    for source in (loaded, path, Journal(path), Checkpoint(loaded)):
        with pytest.raises(RedactedRecordError):
            await agent.resume_on_error(source)
    with pytest.raises(RedactedRecordError):
        await agent.run("Go on", history=loaded.history)


async def test_a_masked_pause_is_not_resumed() -> None:
    @tool(approval=True)
    async def act(password: str) -> str:
        """Act."""
        return password

    agent: Agent[Any, str] = Agent(ScriptedModel([call("act", password="geheim-77"), "Done."]), tools=[act])
    paused = await agent.run("Go")
    copy = Record.from_lines(paused.record.to_lines(policy=keys))
    with pytest.raises(RedactedRecordError):
        await agent.resume(Pause.of(copy), True)
    assert paused.pause is not None
    assert "geheim-77" in paused.pause.to_json(), "a checkpoint is what a run goes on from"


async def test_masking_twice_adds_up(tmp_path: Path) -> None:
    result = await some_run()
    once = Record.from_lines(result.record.to_lines(policy=keys))
    twice = Record.from_lines(once.to_lines(policy=conversation_redaction()))
    assert twice.redacted == ("key:api_key", "key:password", "content")
    assert "Logged in." not in "".join(twice.to_lines())


async def test_a_placeholder_is_never_taken_for_a_value() -> None:
    copy = Record.from_lines((await some_run()).record.to_lines(policy=conversation_redaction()))
    for message in copy.history:
        assert message.parts == ()
        assert all(made.arguments == {} for made in message.tool_calls)
    assert copy.of(ToolStarted)[0].tool == "login"


async def test_the_policy_of_a_run_follows_its_resumed_legs() -> None:
    @tool(approval=True)
    async def act() -> str:
        """Act."""
        return "acted"

    strict: Agent[Any, str] = Agent(ScriptedModel([call("act"), "Done."]), tools=[act], redact=RedactionPolicy(patterns={"card": r"\d{4}"}))
    paused = await strict.run("Go")
    assert paused.pause is not None
    answer = {paused.pause.questions[0].id: {"approved": True}}
    for lax in (strict.replace(redact=None), strict.replace(redact=keys)):
        with pytest.raises(ResumeRedactionError, match="'pattern:card'"):
            await lax.resume(paused.pause, answer)
    assert (await strict.resume(paused.pause, answer)).status == "answered"


async def test_the_live_record_the_journal_and_checkpoints_are_never_masked(tmp_path: Path) -> None:
    agent: Agent[Any, str] = Agent(
        ScriptedModel([call("login", password="geheim-77"), "In."]), tools=[login], redact=conversation_redaction()
    )
    result = await agent.run("Log me in.", journal=tmp_path / "journal.jsonl")
    assert result.text == "In."
    assert result.history[0].content == "Log me in."
    assert result.record.of(MessageAdded)[0].content == "Log me in."
    assert "geheim-77" in (tmp_path / "journal.jsonl").read_text()
    assert "geheim-77" in result.checkpoint().to_json()


# --- known values ---


def forms(secret: str) -> list[str]:
    raw = secret.encode()
    with_user = f"user:{secret}".encode()
    return [
        secret,
        json.dumps(secret),
        json.dumps(secret, ensure_ascii=False),
        json.dumps({"a": json.dumps({"b": secret})}),
        quote(secret, safe=""),
        quote(secret),
        quote_plus(secret),
        quote(secret, safe="").lower() if secret.islower() else quote(secret, safe=""),
        raw.hex(),
        raw.hex().upper(),
        base64.b64encode(raw).decode(),
        base64.b64encode(raw).decode().rstrip("="),
        base64.urlsafe_b64encode(raw).decode(),
        base64.urlsafe_b64encode(raw).decode().rstrip("="),
        f"Basic {base64.b64encode(with_user).decode()}",
    ]


class Keeper(Plugin):
    """Tells the run a secret, and exports all it gets."""

    name = "keeper"

    class Settings(Plugin.Settings):
        content: bool = True

    def __init__(self, *secrets: str, content: bool = True) -> None:
        super().__init__(content=content)
        self.secrets = secrets
        self.got: list[str] = []

    @hookimpl(phase="compose")
    def serve_context(self, draft: RequestDraft, run: Run[Any]) -> None:
        for secret in self.secrets:
            run.mask_value(secret)

    @hookimpl
    def export_event(self, event: ExportedEvent) -> None:
        self.got.append(repr((event.name, event.call_id, event.source, event.payload, dict(event.data))))


def core_of(secret: str, form: str) -> str:
    """What of a form must not be seen: all of it, or, of a longer encoded text, the part that is the secret's."""
    if form.startswith("Basic "):
        return form.removeprefix("Basic ")[8:-4]
    return form


@pytest.mark.parametrize("secret", [SECRET, "hunter2hunter2", "0123456789", "ключ-от-двери"])
async def test_a_known_value_is_masked_in_every_form_wherever_it_is_shown(tmp_path: Path, secret: str) -> None:
    @tool
    async def show(ctx: ToolContext[Any]) -> str:
        """Show."""
        ctx.emit("acme.shown", {"forms": forms(secret), "number": 123456789})
        return " | ".join(forms(secret))

    heard: list[str] = []
    keeper = Keeper(secret)
    said = call("show", id=f"call {secret}")
    agent: Agent[Any, str] = Agent(ScriptedModel([said, f"It is {secret}."]), tools=[show], plugins=[keeper])
    result = await agent.run("Go", on_event=lambda event: heard.append(repr(event)))
    result.record.save(tmp_path / "saved.jsonl")
    loaded = Record.load(tmp_path / "saved.jsonl")
    assert loaded.redacted == ("secrets",)
    content = next(one for one in loaded.of(ToolEnded)).content
    for text in [*keeper.got, *heard, *(repr(one) for one in loaded), (tmp_path / "saved.jsonl").read_text(), content]:
        for form in forms(secret):
            assert core_of(secret, form) not in text
    assert secret in result.text
    assert secret in json.loads(json.dumps(result.checkpoint().record.of(ToolEnded)[0].content))


async def test_a_secret_that_is_a_number_leaves_the_json_whole(tmp_path: Path) -> None:
    @tool
    async def show(ctx: ToolContext[Any]) -> str:
        """Show."""
        ctx.emit("acme.shown", {"pin": 98765432})
        return "x"

    agent: Agent[Any, str] = Agent(ScriptedModel([call("show"), "Done."]), tools=[show], plugins=[Keeper("98765432")])
    (await agent.run("Go")).record.save(tmp_path / "saved.jsonl")
    assert "98765432" not in (tmp_path / "saved.jsonl").read_text()
    assert [type(one.payload) for one in Record.load(tmp_path / "saved.jsonl") if one.name == "acme.shown"] == [AppEvent]


async def test_a_known_value_stays_known_in_later_legs_and_turns(tmp_path: Path) -> None:
    @tool
    async def ask(ctx: ToolContext[Any]) -> str:
        """Ask."""
        return ctx.ask_human("Well?")

    class Once(Keeper):
        @hookimpl(phase="compose")
        def serve_context(self, draft: RequestDraft, run: Run[Any]) -> None:
            if draft.call == 1:
                run.mask_value(SECRET)

    keeper = Once()
    agent: Agent[Any, str] = Agent(ScriptedModel([call("ask"), f"a {SECRET}", f"b {SECRET}"]), tools=[ask], plugins=[keeper])
    paused = await agent.run("Go")
    assert paused.pause is not None
    first = await agent.resume(paused.pause, {paused.pause.questions[0].id: SECRET})
    second = await agent.run("Again", history=first.history)
    for record in (first.record, second.record, second.record.at(5)):
        record.save(tmp_path / "saved.jsonl")
        assert SECRET not in "".join(one.content or "" for one in Record.load(tmp_path / "saved.jsonl").of(MessageAdded))
    assert not [text for text in keeper.got if SECRET in text]


async def test_a_nested_run_keeps_its_parents_secrets_and_both_policies(tmp_path: Path) -> None:
    heard: list[str] = []
    inner = Keeper()
    child: Agent[Any, str] = Agent(
        ScriptedModel([f"The key is {SECRET}, the card 1234-5678, the pin 4711."]),
        plugins=[inner],
        redact=RedactionPolicy(patterns=[r"\d{4}-\d{4}"]),
    )
    outer = Keeper(SECRET)
    parent: Agent[Any, str] = Agent(
        ScriptedModel([call("helper", request="go"), "Done."]),
        tools=[child.as_tool("helper", "Helps.")],
        plugins=[outer],
        redact=RedactionPolicy(patterns=[r"\b4711\b"]),
        listeners=lambda event: heard.append(repr(event)),
    )
    result = await parent.run("Go")
    mine = [text for text in outer.got + heard if "message.added" in text and "The key is" in text]
    assert mine
    for text in [*inner.got, *mine]:
        for hidden in (SECRET, "1234-5678", "the pin 4711"):
            assert hidden not in text
    result.record.save(tmp_path / "saved.jsonl")
    assert SECRET not in "".join(repr(one) for one in Record.load(tmp_path / "saved.jsonl").children.popitem()[1])


# --- whose policy it is ---


@tool(redact="password")
async def enter(password: str, door: str) -> str:
    """Enter."""
    return f"{door} is open"


class Hears(Plugin):
    """A sink that gets content."""

    name = "hears"

    class Settings(Plugin.Settings):
        content: bool = True
        got: Any

    @hookimpl
    def export_event(self, event: ExportedEvent) -> None:
        self.settings.got.append(str(event.data))


async def test_an_argument_that_a_tool_hides_is_masked_in_all_that_is_served(tmp_path: Path) -> None:
    heard: list[str] = []
    exported: list[str] = []
    said = call("enter", password="geheim-77", door="north-door")
    agent = Agent(ScriptedModel([said, "Come in."]), tools=[enter], plugins=[Hears(got=exported)])
    result = await agent.run("Open", on_event=lambda event: heard.append(repr(event)))
    result.record.save(tmp_path / "saved.jsonl")
    for served in ("".join(heard), "".join(exported), (tmp_path / "saved.jsonl").read_text()):
        assert "geheim-77" not in served
        assert "north-door" in served
    assert Record.load(tmp_path / "saved.jsonl").redacted == ("key:password",)
    assert "geheim-77" in result.history.to_json()
    assert agent.replace(tools=[]).redact is None


async def test_a_saved_copy_is_masked_as_its_run_was_without_being_told(tmp_path: Path) -> None:
    result = await some_run(redact=keys)
    result.record.save(tmp_path / "saved.jsonl")
    assert "geheim-77" not in (tmp_path / "saved.jsonl").read_text()
    result.record.sealed().at(5).save(tmp_path / "early.jsonl", policy=conversation_redaction())
    assert Record.load(tmp_path / "early.jsonl").redacted == ("key:api_key", "key:password", "content")
    assert "geheim-77" in result.checkpoint().to_json()


async def test_a_run_may_be_masked_more_than_its_agent(tmp_path: Path) -> None:
    heard: list[str] = []
    agent = Agent(ScriptedModel(["Card 4111.", "Card 4111."]), redact=keys)
    cards = RedactionPolicy(patterns={"card": r"\d{4}"})
    first = await agent.run("Which?", redact=cards, on_event=lambda event: heard.append(repr(event)))
    assert "Card 4111" not in "".join(heard)
    second = await agent.run("Again", history=first.history, on_event=lambda event: heard.append(repr(event)))
    assert "Card 4111" in "".join(heard)
    for record in (first.record, second.record):
        record.save(tmp_path / "saved.jsonl")
        assert "Card 4111" not in (tmp_path / "saved.jsonl").read_text()


@tool(approval=True)
async def open_safe(code: str) -> str:
    """Open the safe."""
    return "open"


async def test_a_run_that_was_masked_more_is_resumed_so(tmp_path: Path) -> None:
    policy = RedactionPolicy(keys=["code"])
    agent = Agent(ScriptedModel([call("open_safe", code="4711"), "It is open."]), tools=[open_safe])
    paused = await agent.run("Open", redact=policy)
    assert paused.pause is not None
    pause = Pause.from_json(paused.pause.to_json())
    with pytest.raises(ResumeRedactionError, match="'key:code'"):
        await agent.resume(pause, approve())
    resumed = await agent.resume(pause, approve(), redact=policy)
    resumed.record.save(tmp_path / "saved.jsonl")
    assert not re.search(r"\b4711\b", (tmp_path / "saved.jsonl").read_text())  # the digits may well stand in a time


async def test_a_nested_run_is_saved_under_its_own_policy_and_the_outer_one(tmp_path: Path) -> None:
    inner = Agent(ScriptedModel([call("enter", password="geheim-77", door="x"), "PIN 4711."]), tools=[enter])
    outer = Agent(
        ScriptedModel([call("porter", request="Open"), "Open."]),
        tools=[inner.as_tool("porter", "Opens doors")],
        redact=RedactionPolicy(patterns={"pin": r"\d{4}"}),
    )
    result = await outer.run("Open")
    result.record.save(tmp_path / "saved.jsonl")
    text = (tmp_path / "saved.jsonl").read_text()
    assert "geheim-77" not in text
    assert "PIN 4711" not in text
    (child,) = Record.load(tmp_path / "saved.jsonl").children.values()
    assert child.redacted == ("key:password", "pattern:pin")


async def test_only_a_policy_masks() -> None:
    with pytest.raises(TypeError, match="redact takes a RedactionPolicy, got a list"):
        await Agent(ScriptedModel([])).run("go", redact=["password"])  # type: ignore[arg-type]


@pytest.mark.parametrize("secret", ['pass"word-1', "C:\\keys\\one", "it's/a\\'key", 'ключ-от-"двери"', "emoji-😀-key", "line\ntwo-key"])
def test_a_value_is_found_however_often_it_was_quoted(secret: str) -> None:
    mask, text = SecretMask({secret}), secret
    for quoted in (json.dumps, repr, lambda x: json.dumps(x, ensure_ascii=False)) * 3:
        text = quoted(text)
        assert mask.mask_text(f"x {text} y") != f"x {text} y"
    assert mask.mask_text(f"x {secret[:-1]} y") == f"x {secret[:-1]} y"
