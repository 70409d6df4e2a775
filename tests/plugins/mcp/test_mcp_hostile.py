"""Servers that lie, break off, hang or flood: each is contained, told of by a typed error, and nothing of what it sent leaks."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import pytest

from agentfp import Agent, RunCheckpointError
from agentfp.testing import ScriptedModel, call
from agentfp_mcp import McpError, McpProtocolError, McpServer, McpStartError, mcp
from tests.plugins.mcp.asking import ask, children, errors, outcomes, texts

pytestmark = pytest.mark.anyio
Make = Callable[..., McpServer]


async def failure(source: McpServer) -> McpError:
    """How a run ends whose server cannot be used."""
    with pytest.raises(McpError) as caught:
        await ask(source)
    assert "secret-payload" not in f"{caught.value} {caught.value.detail}"
    return caught.value


async def listed(source: McpServer) -> tuple[dict[str, str], dict[str, str]]:
    """The names of a server's tools by its own, and what is left out."""
    async with source as server:
        tools = await server.tools()
        return {tool.metadata["mcp_tool"]: tool.name for tool in tools}, dict(await server.left_out())


# --- starting -------------------------------------------------------------------------------------------------------------


async def test_no_such_program() -> None:
    error = await failure(mcp(command="no-such-program-here", args=["--token", "secret-payload"]))
    assert isinstance(error, McpStartError)
    assert "'no-such-program-here' cannot be started: No such file" in str(error.detail)


async def test_one_that_never_says_hello(hostile: Make) -> None:
    before = children()
    error = await failure(hostile("hang_init", start_timeout=0.5))
    assert isinstance(error, McpStartError)
    assert "no answer in 0.5 s (start_timeout)" in str(error.detail)
    assert children() == before


async def test_one_that_says_something_else(hostile: Make) -> None:
    assert isinstance(await failure(hostile("wrong_init")), McpStartError)


async def test_one_that_ends_at_once() -> None:
    error = await failure(mcp(command="true"))
    assert "its process ended" in str(error.detail)


async def test_another_protocol_than_the_one_asked_for(hostile: Make) -> None:
    error = await failure(hostile("fine", era="2026-07-28"))
    assert "it speaks 2025-11-25" in str(error.detail)


async def test_nobody_there() -> None:
    error = await failure(mcp(url="http://127.0.0.1:9/mcp?key=secret-payload"))
    assert isinstance(error, McpStartError)
    assert "it cannot be reached (ConnectError)" in str(error.detail)


async def test_garbage_on_stdout_is_passed_over(hostile: Make, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO):
        assert texts(await ask(hostile("garbage"), call("fine"))) == ["fine"]
    assert "Welcome" not in caplog.text


# --- listing --------------------------------------------------------------------------------------------------------------


async def test_schemas_that_are_none_are_left_out(hostile: Make) -> None:
    names, left_out = await listed(hostile("odd_schemas"))
    assert set(names) == {"fine", "regex", "itself", "seventh"}
    assert left_out == {
        "bomb": "its schema unfolds to too many parts",
        "deep": "its schema is nested deeper than 48",
        "large": left_out["large"],
        "outside": "its schema refers to something outside of itself",
        "invalid": "its schema is no JSON schema at 'properties/x/type'",
    }
    assert "more than 100000" in left_out["large"]


async def test_what_is_left_out_stands_on_the_record(hostile: Make) -> None:
    result = await ask(hostile("odd_schemas"))
    said = [str(event.payload) for event in result.record.events("mcp.tool.left_out")]
    assert len(said) == 5
    assert any('"tool":"bomb"' in text for text in said)


async def test_a_pattern_without_end_checks_nothing(hostile: Make) -> None:
    result = await ask(hostile("odd_schemas"), call("regex", x="a" * 60 + "!"))
    assert texts(result) == ["fine"]


async def test_a_list_that_cannot_be_read(hostile: Make) -> None:
    error = await failure(hostile("bad_list"))
    assert isinstance(error, McpProtocolError)
    assert "tools.0.inputSchema" in str(error.detail)


async def test_a_list_without_end(hostile: Make) -> None:
    names, left_out = await listed(hostile("endless_list", max_tools=10))
    assert len(names) == 10
    assert set(left_out.values()) == {"the server has more than 10 tools (max_tools)"}


async def test_names_that_collide_or_do_not_go(hostile: Make) -> None:
    names, left_out = await listed(hostile("names"))
    assert names["a_b"] == "a_b"
    assert len(set(names.values())) == len(names) == 6
    assert all(len(name) <= 64 and name.replace("_", "").replace("-", "").isalnum() and name.isascii() for name in names.values())
    assert set(left_out) == {"dup", ""}
    assert await listed(hostile("names")) == (names, left_out)


async def test_a_call_goes_out_under_the_servers_own_name(hostile: Make, log: Any) -> None:
    async with hostile("names") as server:
        wire = next(tool.name for tool in await server.tools() if tool.metadata["mcp_tool"] == "a.b")
    assert texts(await ask(hostile("names"), call(wire))) == ["fine"]
    assert '"name":"a.b"' in log.read_text()


async def test_words_are_cleaned_and_cut(hostile: Make) -> None:
    model = ScriptedModel(["Done."])
    await ask(hostile("words"), model=model)
    hidden, silent = model.requests[0].tools
    assert hidden.description.startswith("Read this[31mnow. xxx")
    assert len(hidden.description) == 4_000
    assert silent.description == "Tool silent of the server hostile."


async def test_facts_that_do_not_look_right_are_dropped_once(hostile: Make, caplog: pytest.LogCaptureFixture) -> None:
    source = hostile("facts")
    async with source as server:
        told = (await server.tools())[0]
        await server.refresh()
    assert {key: value for key, value in told.metadata.items() if not key.startswith("mcp_")} == {"owner": "sales"}
    assert told.approval is False
    warned = [record.getMessage() for record in caplog.records if record.name == "agentfp.mcp"]
    assert len(warned) == 3
    assert any("'result_kind'" in text for text in warned)


async def test_what_changes_something_unless_it_is_said_not_to(hostile: Make) -> None:
    async with hostile("mutating") as server:
        assert {tool.name: tool.mutating for tool in await server.tools()} == {"reads": False, "writes": True}
    async with hostile("mutating", mutating=True) as server:
        assert all(tool.mutating for tool in await server.tools())


# --- changes under way ----------------------------------------------------------------------------------------------------


async def test_a_tool_that_changes_is_refused(hostile: Make) -> None:
    model = ScriptedModel([call("fine"), call("more"), call("fine"), "Done."])
    result = await ask(hostile("changing"), model=model)
    assert [[spec.name for spec in request.tools] for request in model.requests] == [["fine"], ["more"], ["more"], ["more"]]
    assert texts(result)[:2] == ["fine", "fine"]
    assert outcomes(result)[2] == "failure"
    assert "passwords" not in str(model.requests)
    (event,) = result.record.events("mcp.tool.left_out")
    assert "it is not as it was" in str(event.payload)


async def test_a_tool_that_changes_may_be_asked_about(hostile: Make) -> None:
    result = await ask(hostile("changing", on_change="ask"), call("fine"), call("fine"))
    assert result.paused
    assert texts(result) == ["fine"]


async def test_a_tool_that_changes_may_be_taken(hostile: Make) -> None:
    assert texts(await ask(hostile("changing", on_change="accept"), call("fine"), call("fine")))[0] == "fine"


async def test_a_source_remembers_over_its_runs_and_a_file_over_processes(hostile: Make, tmp_path: Any) -> None:
    pins = tmp_path / "pins.json"
    first = hostile("fine", pins=pins)
    assert (await listed(first))[0] == {"fine": "fine"}
    assert pins.exists()
    changed = hostile("changing", pins=pins)
    result = await ask(changed, call("fine"))
    assert outcomes(result) == ["success"]
    names, _ = await listed(hostile("words", pins=pins))
    assert set(names) == {"hidden", "silent"}
    pins.write_text("not json")
    with pytest.raises(Exception, match="delete it to trust"):
        await listed(hostile("fine", pins=pins))


# --- calls ----------------------------------------------------------------------------------------------------------------


async def test_a_message_that_is_too_long(hostile: Make) -> None:
    before = children()
    result = await ask(hostile("huge_line", max_message_bytes=100_000), call("fine"))
    assert outcomes(result) == ["failure"]
    assert "a message of more than 100000 bytes" in str(errors(result)[0])
    assert children() == before


async def test_a_result_that_is_too_long_is_cut_and_says_so(hostile: Make) -> None:
    result = await ask(hostile("huge_result", max_result_chars=1_000), call("fine"))
    assert outcomes(result) == ["partial"]
    assert texts(result)[0].endswith("\n[cut: the first 1000 of 1000000 characters]")
    assert len(texts(result)[0]) < 1_100


async def test_an_answer_that_nests_too_deep_to_be_read(hostile: Make) -> None:
    result = await ask(hostile("too_deep"), call("fine"))
    assert texts(result) == ["fine of hostile failed: it sent an answer that cannot be read"]


async def test_one_that_dies_in_the_middle(hostile: Make) -> None:
    result = await ask(hostile("die"), call("fine"))
    assert texts(result) == ["The server hostile has ended. Its tools are not available now."]
    assert "its process ended" in str(errors(result)[0])
    assert result.text == "Done."


async def test_a_flood_of_notifications(hostile: Make) -> None:
    heard: list[Any] = []
    result = await ask(hostile("flood"), call("fine"), on_event={"agentfp.tool.progress": heard.append})
    assert texts(result) == ["fine"]
    assert len(heard) <= 1_000


async def test_questions_to_a_model_are_not_answered(hostile: Make) -> None:
    assert texts(await ask(hostile("asking"), call("fine"))) == ["fine"]


async def test_an_output_schema_checks_nothing(hostile: Make) -> None:
    assert texts(await ask(hostile("output"), call("fine"))) == ["fine"]


@pytest.mark.parametrize("mode", ["failing", "refusing"])
async def test_a_failure_names_tool_and_server_and_no_secret(hostile: Make, mode: str) -> None:
    token = "sk-of-the-server-1234"
    result = await ask(hostile(mode, token, env={"API_TOKEN": token}), call("fine"))
    assert outcomes(result) == ["failure"]
    assert texts(result)[0].startswith("fine of hostile failed: ")
    assert token not in texts(result)[0]
    assert token not in str(errors(result))


@pytest.mark.parametrize("mode", ["legacy_result", "oldest_result"])
async def test_what_the_first_revision_called_a_result(hostile: Make, mode: str) -> None:
    assert texts(await ask(hostile(mode), call("fine"))) == ['{"a":1}']


async def test_an_answer_that_cannot_be_read_is_told_of_by_its_shape(hostile: Make) -> None:
    result = await ask(hostile("unreadable"), call("fine"))
    assert texts(result) == ["fine of hostile gave an answer that cannot be read."]
    assert "an object with the keys bar, foo" in str(errors(result)[0])
    assert "secret-payload" not in str(result.record.events())


async def test_blocks_that_are_no_text(hostile: Make) -> None:
    result = await ask(hostile("blocks"), call("fine"))
    assert texts(result)[0].split("\n") == [
        "[image: image/png unreadable]",
        "[resource: notes file:///n]",
        "[resource: file:///t]",
        "inside",
        "[audio: audio/wav 4 bytes]",
    ]


async def test_a_start_that_fails_later_in_a_conversation_keeps_what_was(hostile: Make) -> None:
    result = await ask(hostile("fine"), call("fine"))
    broken = Agent(ScriptedModel(["unused"]), tools=[mcp(command="no-such-program-here")])
    with pytest.raises((McpError, RunCheckpointError)):
        await broken.run("Again", history=result.history)
    good = Agent(ScriptedModel(["Fine."]), tools=[hostile("fine")])
    assert (await good.run("Again", history=result.history)).text == "Fine."
