"""An agent's tools, or the agent itself, served: what clients see, what the plugins still decide, and that errors stay tool errors.

HTTP is served on asyncio only, so the server runs there; that a client may run on trio too is shown with a process on stdio.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import anyio
import httpx2
import mcp.types as wire
import pytest
from mcp import Client

from agentfp import Agent, AskField, ConfigError, DocumentPart, Identity, ImagePart, ToolContext, ToolError, ToolReturn, UsageError, tool
from agentfp.plugin import Allow, Deny, Plugin, Withhold, hookimpl
from agentfp.testing import ScriptedModel, call
from agentfp_mcp import McpServer, Serving, mcp, serve

MODES = ("auto", "legacy")


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    return "asyncio"


pytestmark = pytest.mark.anyio


@tool
async def add(ctx: ToolContext[Any], a: int, b: int) -> int:
    """Add two numbers.

    Args:
        a: the first.
        b: the second.
    """
    ctx.progress({"progress": 1, "total": 2, "message": "half"})
    return a + b


@tool
def broken() -> str:
    """Breaks."""
    raise ValueError("secret-payload")


@tool
def careful() -> str:
    """Says what is wrong."""
    raise ToolError("The switch is off.", detail="secret-payload")


@tool
def nothing() -> None:
    """Gives nothing."""


@tool(approval=True)
def shut(port: int) -> str:
    """Shut a port."""
    return f"port {port} is shut"


@tool
def ticket(ctx: ToolContext[Any]) -> str:
    """Open a ticket."""
    ctx.request_input([AskField("title", "What about?"), AskField("urgency", "How urgent?", schema={"enum": ["low", "high"]})])


@asynccontextmanager
async def served(what: Any, mode: str = "auto", answer: Any = None, **options: Any) -> AsyncIterator[tuple[Client, Serving]]:
    """A client of what is served."""
    async with (
        serve(what, transport="http", **options) as serving,
        Client(serving.address, mode=mode, elicitation_callback=answer) as client,
    ):
        yield client, serving


def agent_of(*tools: Any, **options: Any) -> Agent[Any, Any]:
    return Agent("nobody:none", name="netops", tools=tools, **options)


def text(result: wire.CallToolResult) -> str:
    (block,) = result.content
    assert isinstance(block, wire.TextContent)
    return block.text


@pytest.mark.parametrize("mode", MODES)
async def test_tools_are_listed_and_called(mode: str) -> None:
    heard: list[Any] = []

    async def on_progress(progress: float, total: float | None, message: str | None) -> None:
        heard.append((progress, total, message))

    async with served(agent_of(add, nothing), mode) as (client, serving):
        listed = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert tuple(listed) == serving.tool_names == ("add", "nothing")
        assert listed["add"].input_schema == add.spec.parameters
        assert listed["add"].description == "Add two numbers."
        assert listed["add"].annotations is not None
        assert listed["add"].annotations.read_only_hint is True
        assert text(await client.call_tool("add", {"a": 2, "b": 3}, progress_callback=on_progress)) == "5"
        assert text(await client.call_tool("nothing")) == ""
    assert heard == [(1.0, 2.0, "half")]


@pytest.mark.parametrize("mode", MODES)
async def test_errors_stay_tool_errors_and_the_server_stays_up(mode: str, caplog: pytest.LogCaptureFixture) -> None:
    async with served(agent_of(add, broken, careful), mode) as (client, _):
        for name, arguments, said in (
            ("broken", {}, "The tool failed with an internal error."),
            ("careful", {}, "The switch is off."),
            ("add", {"a": "x"}, "'a': expected integer, got string"),
            ("no_such", {}, "There is no tool 'no_such'. The tools are: add, broken, careful"),
        ):
            result = await client.call_tool(name, arguments)
            assert result.is_error
            assert text(result).startswith(said)
            assert "secret-payload" not in text(result)
        assert text(await client.call_tool("add", {"a": 1, "b": 1})) == "2"


async def test_many_at_once() -> None:
    async with served(agent_of(add)) as (client, _), anyio.create_task_group() as tasks:
        found: list[int] = []

        async def one(number: int) -> None:
            found.append(int(text(await client.call_tool("add", {"a": number, "b": 0}))))

        for number in range(20):
            tasks.start_soon(one, number)
    assert sorted(found) == list(range(20))


async def test_plugins_decide_on_calls_and_see_results() -> None:
    class Guard(Plugin):
        name = "guard"

        @hookimpl(phase="authorize")
        def before_tool(self, call: Any) -> Deny | None:
            return Deny("internal words", tell_model="Not on Sundays.") if call.arguments.get("a") == 0 else None

        @hookimpl(moment="before_tool", phase="rewrite")
        def double(self, call: Any) -> Allow | None:
            return Allow({**call.arguments, "b": 100}) if call.arguments.get("a") == 1 else None

        @hookimpl(phase="check")
        def after_result(self, call: Any) -> Withhold | None:
            return Withhold("internal words", tell_model="Withheld.") if call.arguments.get("a") == 2 else None

    async with served(agent_of(add, plugins=[Guard()])) as (client, _):
        denied = await client.call_tool("add", {"a": 0, "b": 1})
        assert denied.is_error
        assert text(denied) == "Not on Sundays."
        assert text(await client.call_tool("add", {"a": 1, "b": 1})) == "101"
        assert text(await client.call_tool("add", {"a": 2, "b": 1})) == "Withheld."


async def test_a_cancelled_call_cancels_the_tool() -> None:
    begun, ended = anyio.Event(), anyio.Event()

    @tool
    async def slow() -> None:
        """Slow."""
        begun.set()
        try:
            await anyio.sleep_forever()
        finally:
            ended.set()

    for mode in MODES:
        begun, ended = anyio.Event(), anyio.Event()
        async with served(agent_of(slow, add), mode) as (client, _):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(client.call_tool, "slow")
                with anyio.fail_after(10):
                    await begun.wait()
                tasks.cancel_scope.cancel()
            with anyio.fail_after(10):
                await ended.wait()
            assert text(await client.call_tool("add", {"a": 1, "b": 1})) == "2"


async def test_cleanups_of_a_call_run_with_it() -> None:
    closed: list[str] = []

    @tool
    async def opens(ctx: ToolContext[Any], fail: bool) -> str:
        """Opens something."""
        ctx.on_teardown(lambda: closed.append("closed"), scope="call")
        if fail:
            raise ValueError
        return "opened"

    async with served(agent_of(opens)) as (client, _):
        for fail in (False, True):
            await client.call_tool("opens", {"fail": fail})
    assert closed == ["closed"] * 2


async def test_images_and_documents_are_blocks() -> None:
    @tool
    def plan() -> ToolReturn:
        """A plan."""
        parts = (ImagePart("image/png", b"png"), DocumentPart("text/plain", b"words", name="note.txt"), DocumentPart("audio/wav", b"RIFF"))
        return ToolReturn("The plan.", parts=parts)

    async with served(agent_of(plan)) as (client, _):
        words, image, note, audio = (await client.call_tool("plan")).content
    assert isinstance(words, wire.TextContent)
    assert isinstance(image, wire.ImageContent)
    assert (words.text, image.mime_type, image.data) == ("The plan.", "image/png", "cG5n")
    assert isinstance(note, wire.EmbeddedResource)
    assert isinstance(note.resource, wire.TextResourceContents)
    assert (note.resource.text, str(note.resource.uri)) == ("words", "agentfp://result/note.txt")
    assert isinstance(audio, wire.AudioContent)


# --- questions ------------------------------------------------------------------------------------------------------------


def answering(action: str, **given: Any) -> tuple[Callable[..., Any], list[Any]]:
    asked: list[Any] = []

    async def answer(context: Any, params: Any) -> wire.ElicitResult:
        asked.append(params)
        return wire.ElicitResult.model_validate({"action": action, "content": given or None})

    return answer, asked


async def test_a_tool_that_asks_for_approval_is_refused_at_the_start() -> None:
    with pytest.raises(ConfigError, match=r"'shut' asks for approval.*approvals='elicit'"):
        async with serve(agent_of(shut, add)):
            pass
    async with served(agent_of(shut, add), tools=["add"]) as (_, serving):
        assert serving.tool_names == ("add",)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    ("action", "given", "said", "failed"),
    [
        ("accept", {"q1": True}, "port 3 is shut", False),
        ("accept", {"q1": False}, "declined by human: declined", True),
        ("decline", {}, "declined by human: the client's person did not agree", True),
    ],
)
async def test_an_approval_is_asked_of_the_clients_person(mode: str, action: str, given: dict[str, Any], said: str, failed: bool) -> None:
    answer, asked = answering(action, **given)
    async with served(agent_of(shut), mode, answer, approvals="elicit") as (client, _):
        result = await client.call_tool("shut", {"port": 3})
    assert (text(result), result.is_error) == (said, failed)
    assert asked[0].message == "May shut run? shut(port=3)"
    assert asked[0].requested_schema["properties"]["q1"]["type"] == "boolean"


@pytest.mark.parametrize("mode", MODES)
async def test_what_a_tool_asks_is_asked_of_the_clients_person(mode: str) -> None:
    answer, asked = answering("accept", title="The printer", urgency="high")
    async with served(agent_of(ticket), mode, answer, approvals="elicit") as (client, _):
        assert text(await client.call_tool("ticket")) == '{"status":"input_received","values":{"title":"The printer","urgency":"high"}}'
    assert asked[0].requested_schema["properties"]["urgency"] == {"type": "string", "enum": ["low", "high"], "title": "How urgent?"}


@pytest.mark.parametrize("mode", MODES)
async def test_an_answer_that_does_not_fit_or_none_is_a_tool_error(mode: str) -> None:
    for action, given, said in (
        ("accept", {"title": "x", "urgency": "never"}, "The answer does not fit"),
        ("cancel", {}, "did not answer"),
    ):
        answer, _ = answering(action, **given)
        async with served(agent_of(ticket), mode, answer, approvals="elicit") as (client, _):
            result = await client.call_tool("ticket")
        assert result.is_error
        assert said in text(result)


@pytest.mark.parametrize("mode", MODES)
async def test_a_client_that_can_ask_nobody_is_told_so(mode: str) -> None:
    async with served(agent_of(ticket), mode) as (client, _):
        result = await client.call_tool("ticket")
        assert result.is_error
        assert "needs a person" in text(result)


async def test_the_state_of_a_question_cannot_be_made_up_or_used_elsewhere() -> None:
    async with serve(agent_of(ticket, shut), transport="http", approvals="elicit") as serving:
        capable, _ = answering("accept")
        async with Client(serving.address, elicitation_callback=capable) as client:
            first = await client.session.call_tool("shut", {"port": 1}, allow_input_required=True)
            assert isinstance(first, wire.InputRequiredResult)
            yes: Any = {"answers": wire.ElicitResult(action="accept", content={"q1": True})}
            with pytest.raises(Exception, match="Invalid or expired"):
                await client.session.call_tool("shut", {"port": 2}, input_responses=yes, request_state=first.request_state)
            with pytest.raises(Exception, match="Invalid or expired"):
                await client.session.call_tool("shut", {"port": 1}, input_responses=yes, request_state="made up")
            again = await client.session.call_tool("shut", {"port": 1}, input_responses=yes, request_state=first.request_state)
            assert text(again) == "port 1 is shut"
            twice = await client.session.call_tool("shut", {"port": 1}, input_responses=yes, request_state=first.request_state)
            assert "not open any more" in text(twice)


# --- the agent itself -----------------------------------------------------------------------------------------------------


async def test_an_agent_is_one_tool() -> None:
    agent = Agent(ScriptedModel([call("add", a=2, b=3), "It is 5."]), name="calculator", tools=[add])
    async with served(agent, as_agent=True, description="Knows sums.") as (client, _):
        (listed,) = (await client.list_tools()).tools
        assert (listed.name, listed.description) == ("calculator", "Knows sums.")
        assert text(await client.call_tool("calculator", {"message": "What is 2 + 3?"})) == "It is 5."
        wrong = await client.call_tool("calculator", {"question": "What?"})
        assert wrong.is_error


async def test_an_agent_that_fails_or_asks() -> None:
    answer, _ = answering("accept", q1=True)
    agent = Agent(ScriptedModel([call("shut", port=3), "It is shut.", ValueError("secret-payload")]), name="netops", tools=[shut])
    async with served(agent, "auto", answer, as_agent=True, approvals="elicit") as (client, _):
        assert text(await client.call_tool("netops", {"message": "Shut port 3"})) == "It is shut."
        failed = await client.call_tool("netops", {"message": "Again"})
        assert failed.is_error
        assert "secret-payload" not in text(failed)


# --- who calls, and how ---------------------------------------------------------------------------------------------------


@tool
def whoami(ctx: ToolContext[dict[str, str]]) -> str:
    """Who I am."""
    return f"{ctx.identity and ctx.identity.principal} {ctx.deps['office']}"


async def test_a_verified_client_is_the_identity_of_its_runs() -> None:
    async def verify(token: str) -> Identity | None:
        return Identity(principal=token.removeprefix("of-")) if token.startswith("of-") else None

    async with serve(agent_of(whoami), transport="http", verify=verify, deps={"office": "Bern"}) as serving:
        for name in ("ann", "bob"):
            async with mcp(url=serving.address, headers={"authorization": f"Bearer of-{name}"}) as source:
                result = await Agent(ScriptedModel([call("whoami"), "Done."]), tools=[source]).run("Who?")
                assert result.history[2].text == f"{name} Bern"
        async with httpx2.AsyncClient() as web:
            for headers in ({}, {"authorization": "Bearer nobody"}):
                assert (await web.post(serving.address, json={}, headers=headers)).status_code == 401


async def test_a_foreign_host_is_turned_away() -> None:
    async with serve(agent_of(add), transport="http") as serving, httpx2.AsyncClient() as web:
        answer = await web.post(serving.address, json={}, headers={"host": "evil.example", "accept": "application/json, text/event-stream"})
        assert answer.status_code in (403, 421)


async def test_what_cannot_be_served() -> None:
    for what, options, said in (
        (agent_of(), {}, "there is no tool to offer"),
        (agent_of(add), {"tools": ["ad"]}, "no tool 'ad' to offer"),
        (agent_of(add), {"transport": "carrier pigeon"}, "'stdio' or 'http'"),
        (agent_of(add), {"transport": "http", "host": "0.0.0.0"}, "verify="),
        (agent_of(add), {"transport": "http", "port": -1}, "port"),
        (agent_of(add), {"approvals": "always"}, "'refuse' or 'elicit'"),
        (agent_of(add), {"as_agent": True, "tools": ["add"]}, "the agent"),
        ([add, tool(nothing, name="add")], {}, "two tools are called 'add'"),
    ):
        with pytest.raises(Exception, match=said):
            async with serve(what, **options):
                pass


async def test_a_handle_tells_where_it_is_and_closes() -> None:
    async with serve([add], transport="http") as serving:
        assert serving.address == f"http://127.0.0.1:{serving.port}/mcp"
        with pytest.raises(UsageError, match="cannot be listened on"):
            async with serve([add], transport="http", port=serving.port):
                pass
        await serving.close()
        await serving.close()
        await serving.wait()
        with pytest.raises(httpx2.ConnectError):
            async with httpx2.AsyncClient() as web:
                await web.get(serving.address)
    assert not hasattr(Serving(["add"]), "port")


async def test_tools_of_another_server_are_served_on(modern: Callable[..., McpServer]) -> None:
    source = modern(filter=["add"])
    async with served(Agent("nobody:none", tools=[source])) as (client, serving):
        assert serving.tool_names == ("add",)
        assert text(await client.call_tool("add", {"a": 2, "b": 3})) == "5"


async def test_facts_travel() -> None:
    told = tool(add, metadata={"result_kind": "sum", "owner": "sales", "other": "stays"}, result_ceiling=500)
    async with serve([told], transport="http") as serving, mcp(url=serving.address) as source:
        (there,) = await source.tools()
    facts = {key: value for key, value in there.metadata.items() if not key.startswith("mcp_")}
    assert facts == {"result_kind": "sum", "owner": "sales", "result_ceiling": {"max_chars": 500, "narrow_by": []}}
