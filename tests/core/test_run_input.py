"""What a run takes and what it refuses before anything happens."""

from __future__ import annotations

from typing import Any

import anyio
import pytest

from agentfp import (
    Agent,
    DocumentPart,
    Identity,
    ImagePart,
    InvalidRunInputError,
    ModelFeatureError,
    RunningLoopError,
    RunTimeoutError,
    UnknownOptionError,
    UserMessage,
)
from agentfp.events import MessageAdded, RunCancelled, RunConfigured
from agentfp.model import ModelFeatures, ModelRequest
from tests.core.running import AutoModel, answering, check_record, last_request, names

pytestmark = pytest.mark.anyio

SECRET = "hunter2"


@pytest.mark.parametrize(
    ("message", "received"),
    [
        (None, "None"),
        (42, "a int"),
        ("", "an empty message"),
        (" \n\t", "a whitespace-only message"),
        ([], "an empty list"),
        ({}, "an empty dict"),
        ({"text": SECRET}, "a dict with keys 'text'"),
        ({str(n): SECRET for n in range(9)}, "a dict with keys '0', '1', '2', '3', '4', '5'"),
        ([SECRET, 3], "a list"),
        (b"bytes", "a bytes"),
        (object(), "a object"),
        (UserMessage(""), "an empty message"),
        (UserMessage(5), "a int"),  # type: ignore[arg-type]
        ([""], "an empty message"),
    ],
)
async def test_what_is_no_message_is_refused_by_its_type(message: Any, received: str) -> None:
    seen: list[Any] = []
    agent = answering("never", listeners=seen.append)
    with pytest.raises(InvalidRunInputError) as caught:
        await agent.run(message)
    assert caught.value.received == received
    assert SECRET not in str(caught.value)
    assert isinstance(caught.value, TypeError)
    model: Any = agent.model
    assert (seen, model.requests) == ([], [])


async def test_forms_of_one_message_are_one_request() -> None:
    requests = []
    for message in ("go", UserMessage("go"), ["go"]):
        agent = answering("ok")
        await agent.run(message)
        requests.append(last_request(agent))
    assert [[(m.role, m.content, m.parts) for m in request.messages] for request in requests] == [[("user", "go", ())]] * 3


async def test_images_and_documents_go_with_the_text() -> None:
    image, document = ImagePart("image/png", b"\x89PNG"), DocumentPart("application/pdf", url="https://x.example/a.pdf", name="a.pdf")
    agent = answering("I see")
    result = await agent.run(["Look at", image, "and at", document])
    message = last_request(agent).messages[0]
    assert (message.content, message.parts) == ("Look at\n\nand at", (image, document))
    assert check_record(result).history[0].parts == (image, document)
    assert (await answering("I see").run([image])).status == "answered"


@pytest.mark.parametrize("part", [ImagePart("image/png", b"1"), DocumentPart("application/pdf", b"1")])
async def test_parts_that_the_model_cannot_take_are_not_sent(part: Any) -> None:
    agent = answering("never", features=ModelFeatures())
    with pytest.raises(ModelFeatureError, match=r"images|documents"):
        await agent.run(["see", part])
    model: Any = agent.model
    assert model.requests == []


@pytest.mark.parametrize(
    "options",
    [
        {"session_id": ""},
        {"session_id": "x" * 401},
        {"session_id": "two\nlines"},
        {"session_id": "two words"},
        {"session_id": "ümlaut"},
        {"session_id": 5},
        {"identity": "ann"},
        {"identity": {"principal": "ann"}},
        {"timeout": 0},
        {"timeout": -1},
        {"limits": {"iterations": 3}},
        {"stream": "sometimes"},
    ],
)
async def test_wrong_options_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(TypeError, match=next(iter(options))):
        await answering("never").run("go", **options)


@pytest.mark.parametrize("fields", [{}, {"principal": ""}, {"tenant": 5}])
def test_an_identity_names_somebody(fields: Any) -> None:
    with pytest.raises(TypeError, match="identity"):
        Identity(**fields)


async def test_an_unknown_option_is_named_with_the_likely_one() -> None:
    with pytest.raises(UnknownOptionError, match=r"'session'.*did you mean 'session_id'"):
        await answering("never").run("go", session="s")  # type: ignore[call-arg]


async def test_session_and_identity_stand_in_the_header_and_nowhere_else() -> None:
    seen: list[Any] = []

    async def who(ctx: Any) -> str:
        """Who."""
        return "x"

    def instructions(run: Any) -> str:
        seen.append((run.session_id, run.identity, run.deps))
        return "Be brief."

    agent = answering("ok", instructions=instructions)
    ann = Identity(principal="ann", tenant="acme")
    result = await agent.run("go", session_id="s-1", identity=ann, deps=SECRET)
    assert seen == [("s-1", ann, SECRET)]
    header = result.record.headers[0]
    assert (header.session_id, header.identity) == ("s-1", ann)
    lines = list(result.record.to_lines())
    assert [("ann" in line, "s-1" in line) for line in lines] == [(True, True)] + [(False, False)] * (len(lines) - 1)
    assert not any(SECRET in line for line in lines)


async def test_identity_goes_with_the_conversation_until_another_is_named() -> None:
    agent = answering("a", "b", "c")
    first = await agent.run("one", identity=Identity(principal="ann"), session_id="s")
    second = await agent.run("two", history=first.history)
    third = await agent.run("three", history=second.history, identity=Identity(principal="bob"))
    people = [(header.identity.principal if header.identity else None, header.session_id) for header in third.record.headers]
    assert people == [("ann", "s"), ("ann", "s"), ("bob", "s")]


async def test_the_sync_calls_are_refused_inside_a_loop() -> None:
    agent = answering("never")
    with pytest.raises(RunningLoopError, match=r"await agent\.run"):
        agent.run_sync("go")
    with pytest.raises(RunningLoopError, match=r"async with agent\.stream"):
        agent.stream_sync("go")


def test_the_sync_call_is_the_same_run() -> None:
    result = answering("hello").run_sync("hi")
    assert (result.status, result.text) == ("answered", "hello")
    check_record(result)


async def test_the_time_of_a_run_ends_it_wherever_it_is() -> None:
    async def forever(request: ModelRequest) -> str:
        await anyio.sleep_forever()
        return "never"

    seen: list[Any] = []
    with pytest.raises(RunTimeoutError) as caught:
        await answering(forever).run("go", timeout=0.02, on_event=seen.append)
    assert isinstance(caught.value, TimeoutError)
    record = check_record(caught.value.checkpoint.record)
    assert record.of(RunCancelled) == [RunCancelled("llm", None, "timeout")]
    assert names(seen) == names(record)


async def test_the_manifest_names_what_runs_and_no_place_or_key() -> None:
    def look() -> str:
        """Look."""
        return "x"

    agent = answering("one", "two", "three", tools=[look], name="net", instructions="SYSTEM-WORDS")
    chat = agent.conversation()
    await chat.send("first", deps="postgres://u:p@host")
    result = await chat.send("second")
    configured = check_record(result).of(RunConfigured)
    assert [(c.leg, c.agent_id, c.provider, c.model, c.tools, c.plugins) for c in configured] == [
        ("run", "net", "scripted", "script", ("look",), ())
    ] * 2
    assert configured[0].config_hash == configured[1].config_hash
    other = await agent.replace(tools=[]).run("x")
    assert other.record.of(RunConfigured)[0].config_hash != configured[0].config_hash
    assert result.record.of(MessageAdded)[0].content == "first"


async def test_an_automatic_model_serves_any_agent() -> None:
    def add(a: int, b: int) -> int:
        """Add."""
        return a + b

    result = await Agent(AutoModel("sum"), tools=[add]).run("go")
    assert (result.text, result.history[2].content) == ("sum", "2")
