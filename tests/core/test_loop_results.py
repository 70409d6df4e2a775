"""What the model reads of each call, whatever became of it, and what the record says of it."""

from __future__ import annotations

from typing import Any

import pytest

from agentfp import Limits, ResultCeiling, RetryTool, ToolError, ToolReturn, raw_tool, tool
from agentfp.events import ArgsInvalid, RepeatedCall, ResultRefused, ToolEnded
from agentfp.plugin import CallView, Deny, Note, Plugin, ResultView, hookimpl
from tests.core.running import answering, call, check_record, names, outcomes, tool_texts

pytestmark = pytest.mark.anyio

FAILED = "The tool failed with an internal error. Do not take it that it did what it was asked to do."


async def reads(*calls: Any, tools: Any, **settings: Any) -> tuple[str, ToolEnded, Any]:
    """What the model reads of the first of some calls, the outcome on the record, and the result."""
    agent = answering(*calls, "done", tools=tools, **settings)
    result = await agent.run("go")
    check_record(result)
    assert result.status == "answered"
    model: Any = agent.model
    return tool_texts(model.requests[1].messages)[0], result.record.of(ToolEnded)[0], result


@tool
def give(kind: str) -> Any:
    """Give something of a kind."""
    kinds = {"text": "as is", "number": 7, "data": {"b": [1, None], "a": "ü"}, "nothing": None, "empty": "", "odd": object()}
    return kinds[kind]


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("text", "as is"),
        ("number", "7"),
        ("data", '{"b":[1,null],"a":"ü"}'),
        ("nothing", "(no value returned)"),
        ("empty", ""),
        ("odd", "[unserializable: object]"),
    ],
)
async def test_returned_values(kind: str, text: str) -> None:
    read, ended, _ = await reads(call("give", kind=kind), tools=[give])
    assert (read, ended.content, ended.outcome, ended.ran) == (text, text, "success", True)


@tool
def fail(how: str) -> str:
    """Fail."""
    errors = {
        "bare": RuntimeError("db down at 10.0.0.3"),
        "told": ToolError("The database is away.", detail="10.0.0.3"),
        "retry": RetryTool("unknown switch; one of A, B"),
    }
    raise errors[how]


@pytest.mark.parametrize(
    ("how", "text", "error_class"),
    [
        ("bare", FAILED, "RuntimeError"),
        ("told", "The database is away.", "ToolError"),
        ("retry", "unknown switch; one of A, B", "RetryTool"),
    ],
)
async def test_a_tool_that_raises(how: str, text: str, error_class: str) -> None:
    read, ended, result = await reads(call("fail", how=how), tools=[fail])
    assert (read, ended.outcome, ended.error_class) == (text, "failure", error_class)
    assert ended.error is not None
    assert "10.0.0.3" not in "".join(message.text for message in result.history)


async def test_an_unknown_tool() -> None:
    read, ended, result = await reads(call("give_me", kind="x"), tools=[give, fail])
    assert read == "Unknown tool: give_me. The tools are: fail, give"
    assert (ended.outcome, ended.ran) == ("failure", False)
    started = result.record.events("agentfp.tool.started")[0].payload
    assert (started.tool, started.undeclared) == (None, "give_me")


async def test_a_tool_that_takes_too_long() -> None:
    import anyio

    @tool(timeout=0.01)
    async def slow() -> str:
        """Wait."""
        await anyio.sleep(5)
        return "late"

    read, ended, _ = await reads(call("slow"), tools=[slow])
    assert read == "tool 'slow' did not finish in 0.01 s; it may still be running"
    assert (ended.outcome, ended.ran) == ("failure", True)


class Gate(Plugin):
    name = "gate"

    class Settings(Plugin.Settings):
        tell: str | None = None
        broken: bool = False

    @hookimpl(phase="authorize")
    def before_tool(self, call: CallView) -> Deny:
        if self.settings.broken:
            raise RuntimeError("policy store away")
        return Deny("secret reason", tell_model=self.settings.tell, rule="r1")


async def test_a_denied_call_is_told_what_the_plugin_says_and_never_why() -> None:
    read, ended, result = await reads(call("give", kind="text"), tools=[give], plugins=[Gate(tell="Not at night.")])
    assert (read, ended.outcome, ended.ran, ended.cause) == ("Not at night.", "denied", False, "r1")
    assert ended.error_class is None
    assert "secret reason" not in "".join(message.text for message in result.history)
    read, *_ = await reads(call("give", kind="text"), tools=[give], plugins=[Gate()])
    assert read == "This call is not permitted."


async def test_a_gate_that_fails_refuses() -> None:
    read, ended, result = await reads(call("give", kind="text"), tools=[give], plugins=[Gate(broken=True)])
    assert read == "This call could not be checked and was not run. Go on without it."
    assert (ended.outcome, ended.ran, result.plugin_failures) == ("denied", False, {"gate": 1})


# --- arguments -----------------------------------------------------------------------------------------------------------------

NUMBER = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"], "additionalProperties": False}
EITHER = {"type": "object", "properties": {"n": {"oneOf": [{"type": "integer"}, {"type": "string"}]}}}


def counting(schema: dict[str, Any]) -> tuple[Any, list[Any]]:
    seen: list[Any] = []

    async def handler(ctx: Any, arguments: dict[str, Any]) -> str:
        seen.append(arguments)
        return "counted"

    return raw_tool("count", "Count.", schema, handler), seen


@pytest.mark.parametrize(
    ("schema", "arguments", "words"),
    [
        (NUMBER, {"n": "5"}, "'n': expected integer, got string"),
        (NUMBER, {"m": 1}, "'n' is required but missing"),
        (EITHER, {"n": [1]}, "'n'"),
    ],
)
async def test_arguments_that_do_not_fit_are_not_run_and_can_be_mended(schema: Any, arguments: Any, words: str) -> None:
    counter, seen = counting(schema)
    agent = answering(call("count", **arguments), call("count", n=5), "done", tools=[counter])
    result = await agent.run("go")
    first, second = tool_texts(result.history)
    assert (words in first, second, seen) == (True, "counted", [{"n": 5}])
    assert list(outcomes(check_record(result)).values()) == ["invalid", "success"]
    (invalid,) = result.record.of(ArgsInvalid)
    assert (invalid.tool, invalid.enforced) == ("count", True)


@pytest.mark.parametrize(("mode", "events"), [("warn", 1), ("off", 0)])
async def test_validation_may_warn_or_be_off(mode: str, events: int) -> None:
    counter, seen = counting(NUMBER)
    read, ended, result = await reads(call("count", n="5"), tools=[counter], argument_validation=mode)
    assert (read, ended.outcome, seen) == ("counted", "success", [{"n": "5"}])
    assert [invalid.enforced for invalid in result.record.of(ArgsInvalid)] == [False] * events


async def test_valid_siblings_of_an_invalid_call_run() -> None:
    counter, seen = counting(NUMBER)
    agent = answering([call("count", n="x"), call("count", n=2)], "done", tools=[counter])
    result = await agent.run("go")
    assert (seen, list(outcomes(result.record).values())) == ([{"n": 2}], ["invalid", "success"])


# --- sizes -----------------------------------------------------------------------------------------------------------------------


def text_tool(size: int, **options: Any) -> Any:
    @tool(**options)
    def dump(limit: int = 0) -> str:
        """Dump."""
        return "x" * (size - 4) + "TAIL"

    return dump


async def test_a_result_above_the_cap_is_replaced_by_a_marker() -> None:
    read, ended, result = await reads(call("dump"), tools=[text_tool(812_431)], limits=Limits(tool_result_chars=20_000))
    assert len(read) <= 20_000
    assert read.startswith('{"truncated": true, "reason": "dump gave 812431 characters and the limit is 20000')
    assert '"head": "xxxx' in read
    assert "TAIL" not in "".join(message.text for message in result.history)
    assert len(ended.content) == 812_431


async def test_a_result_of_exactly_the_cap_is_untouched() -> None:
    read, *_ = await reads(call("dump"), tools=[text_tool(20_000)], limits=Limits(tool_result_chars=20_000))
    assert read == "x" * 19_996 + "TAIL"


async def test_a_cap_below_the_words_leaves_the_words() -> None:
    read, *_ = await reads(call("dump"), tools=[text_tool(100)], limits=Limits(tool_result_chars=40))
    assert '"truncated": true' in read
    assert "head" not in read


async def test_a_cap_over_all_results_of_a_reply() -> None:
    agent = answering([call("dump"), call("dump")], "done", tools=[text_tool(300)], limits=Limits(tool_results_total_chars=500))
    first, second = tool_texts((await agent.run("go")).history)
    assert (len(first), '"truncated": true' in second) == (300, True)


async def test_a_result_above_its_ceiling_is_refused_and_goes_nowhere() -> None:
    dump = text_tool(5_000, result_ceiling=ResultCeiling(1_000, ("limit",)))
    read, ended, result = await reads(call("dump"), tools=[dump])
    assert all(word in read for word in ("5000", "1000", "'limit'", "no data was returned"))
    assert (ended.outcome, result.record.of(ResultRefused)) == ("invalid", [ResultRefused("dump", 5_000, 1_000, ("limit",))])
    assert not any("TAIL" in line for line in result.record.to_lines())


@pytest.mark.parametrize(("size", "kept"), [(10, True), (2_000, False)])
async def test_what_is_said_beside_a_result_survives_the_ceiling_when_it_is_under_it(size: int, *, kept: bool) -> None:
    @tool(result_ceiling=1_000)
    def dump() -> ToolReturn:
        """Dump."""
        return ToolReturn("x" * 5_000, private={"note": "n" * size})

    agent = answering(call("dump"), "done", tools=[dump])
    (ended,) = (await agent.run("go")).record.of(ToolEnded)
    assert (ended.outcome, ended.private) == ("invalid", '{"note":"nnnnnnnnnn"}' if kept else None)


async def test_a_tool_may_say_that_something_is_missing() -> None:
    @tool
    def part(of: str) -> Any:
        """Part."""
        return ToolReturn("x", outcome="partial") if of == "return" else {"content": "x", "status": "partial"}

    read, ended, _ = await reads(call("part", of="return"), tools=[part])
    assert (read, ended.outcome) == ("x", "partial")
    read, ended, _ = await reads(call("part", of="dict"), tools=[part])
    assert (read, ended.outcome) == ('{"content":"x","status":"partial"}', "success")


async def test_private_data_reaches_the_record_and_not_the_model() -> None:
    @tool
    def lookup() -> ToolReturn:
        """Look up."""
        return ToolReturn("row found", private={"row": 91_337})

    agent = answering(call("lookup"), "done", tools=[lookup])
    result = await agent.run("go")
    assert result.record.of(ToolEnded)[0].private == '{"row":91337}'
    model: Any = agent.model
    assert not any("91337" in message.text for request in model.requests for message in request.messages)


# --- repeats ----------------------------------------------------------------------------------------------------------------------

SAME = "This call was made before with the same arguments and gave the same result."


def changing(**options: Any) -> Any:
    count = iter(range(9))

    @tool(**options)
    def tick(n: int = 0) -> int:
        """Tick."""
        return next(count)

    return tick


async def test_a_call_that_is_repeated_is_told_so_once() -> None:
    agent = answering(*[call("give", kind="text")] * 4, "done", tools=[give])
    result = await agent.run("go")
    texts = tool_texts(result.history)
    assert [SAME in text for text in texts] == [False, True, False, False]
    assert [message.content for message in result.history if message.role == "tool"] == ["as is"] * 4
    (event,) = check_record(result).of(RepeatedCall)
    assert (event.tool, event.occurrences, event.mode) == ("give", 2, "result")


@pytest.mark.parametrize(("options", "noted"), [({}, False), ({"repeated_when": "arguments"}, True)])
async def test_a_changing_result_is_a_repeat_only_where_the_tool_says_so(options: Any, noted: bool) -> None:
    agent = answering(*[call("tick")] * 3, call("tick", n=1), "done", tools=[changing(**options)])
    texts = tool_texts((await agent.run("go")).history)
    assert [text.partition("\n")[0] for text in texts] == ["0", "1", "2", "3"]
    assert ["\n" in text for text in texts] == [False, noted, False, False]
    assert "the same result" not in "".join(texts)


async def test_repeats_within_one_reply_count_in_order() -> None:
    agent = answering([call("give", kind="text")] * 3, "done", tools=[give])
    texts = tool_texts((await agent.run("go")).history)
    assert [SAME in text for text in texts] == [False, True, False]


async def test_repeats_are_counted_by_turn_and_only_of_calls_that_ran() -> None:
    agent = answering(call("nope"), call("nope"), call("fail", how="bare"), call("fail", how="bare"), "one", tools=[give, fail])
    result = await agent.run("go")
    assert [SAME in text for text in tool_texts(result.history)] == [False, False, False, True]
    chat = answering(call("give", kind="text"), "one", call("give", kind="text"), "two", tools=[give]).conversation()
    await chat.send("one")
    assert not any(SAME in text for text in tool_texts((await chat.send("two")).history))


async def test_the_note_can_be_off_and_the_counts_stay_out_of_the_request() -> None:
    agent = answering(*[call("give", kind="text")] * 2, "done", tools=[give], repeated_call_note=False)
    result = await agent.run("go")
    assert tool_texts(result.history) == ["as is", "as is"]
    assert "tools.repeated_call" not in names(result.record)


class Noter(Plugin):
    name = "noter"

    @hookimpl(phase="note")
    def after_result(self, result: ResultView) -> Note:
        return Note("Figures are from 2030.")


async def test_notes_stand_apart_from_the_content() -> None:
    read, ended, result = await reads(call("give", kind="text"), tools=[give], plugins=[Noter()])
    assert read == "as is\n\nFigures are from 2030."
    message = result.history[2]
    assert (message.content, message.notes, ended.content) == ("as is", ("Figures are from 2030.",), "as is")
