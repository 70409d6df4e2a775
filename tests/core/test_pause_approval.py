"""Approvals: who is asked, what a person may decide, and what still judges the call afterwards."""

from __future__ import annotations

from typing import Annotated, Any

import pytest
from pydantic import Field

from agentfp import AskField, ToolContext, approve, reject, tool
from agentfp.events import ApprovalDecided, ArgsInvalid, PauseRequest, VerdictFiled
from agentfp.plugin import AskPerson, Deny, Plugin
from tests.core.asking import Counter, again, before, made, only, plugin
from tests.core.running import call, check_record, outcomes, tool_texts

pytestmark = pytest.mark.anyio


async def test_an_approved_call_runs_once_on_an_agent_made_anew() -> None:
    counter = Counter()
    script = [call("change", id="c1", text="a")], "done"
    result = await made(*script, tools=counter.tools(approval=True)).run("go")
    (asked,) = again(result).questions
    assert (asked.kind, asked.tool, asked.call_id, asked.arguments, asked.plugin) == ("decision", "change", "c1", {"text": "a"}, "kernel")
    assert counter.done == []
    result = await made("done", tools=counter.tools(approval=True)).resume(again(result), approve(by="ann", note="fine"))
    assert result.text == "done"
    assert counter.done == ["a"]
    (decided,) = result.record.of(ApprovalDecided)
    assert (decided.approved, decided.by, decided.note, decided.arguments_changed) == (True, "ann", "fine", False)
    check_record(result)


async def test_a_rejected_call_does_not_run_and_the_model_reads_why() -> None:
    counter = Counter()
    agent = made(call("change", id="c1", text="a"), "done", tools=counter.tools(approval=True))
    result = await agent.run("go")
    result = await agent.resume(again(result), reject("too big", by="bob"))
    assert counter.done == []
    assert outcomes(result.record) == {"c1": "declined"}
    assert tool_texts(result.history) == ["declined by human: too big"]
    (decided,) = result.record.of(ApprovalDecided)
    assert (decided.approved, decided.by) == (False, "bob")
    check_record(result)


async def test_decisions_over_one_batch_go_to_their_calls() -> None:
    counter = Counter()
    agent = made([call("note", id=f"c{i}", text=f"t{i}") for i in range(3)], "done", tools=counter.tools(approval=True))
    result = await agent.run("go")
    by_call = {q.call_id: q.id for q in again(result).questions}
    answers = {by_call["c2"]: approve(), by_call["c0"]: approve(args={"text": "changed"}), by_call["c1"]: reject()}
    result = await agent.resume(again(result), answers)
    assert sorted(counter.done) == ["changed", "t2"]
    assert tool_texts(result.history) == ["noted changed", "declined by human", "noted t2"]


async def test_arguments_of_an_approval_are_validated_and_authorized() -> None:
    paid: list[int] = []

    @tool(approval=True)
    async def pay(amount: Annotated[int, Field(ge=1)]) -> str:
        paid.append(amount)
        return "paid"

    def policy(self: Plugin, call: Any) -> Any:
        return Deny("above the limit", tell_model="Too much.") if call.arguments["amount"] in range(101, 10_000) else None

    agent = made(
        [call("pay", id=f"c{i}", amount=i + 1) for i in range(4)],
        "done",
        tools=[pay],
        plugins=[plugin("policy", hook=before("authorize")(policy))],
    )
    result = await agent.run("go")
    by_call = {q.call_id: q.id for q in again(result).questions}
    changes: dict[str, Any] = {"c0": {"amount": 50}, "c1": {"amount": 0}, "c2": {"amount": 5_000}, "c3": {"amount": "six"}}
    result = await agent.resume(again(result), {by_call[c]: approve(args=args) for c, args in changes.items()})
    assert paid == [50]
    assert outcomes(result.record) == {"c0": "success", "c1": "invalid", "c2": "denied", "c3": "invalid"}
    assert len(result.record.of(ArgsInvalid)) == 2
    assert all(decided.arguments_changed for decided in result.record.of(ApprovalDecided))
    check_record(result)


async def test_a_predicate_decides_who_is_asked_and_one_that_raises_asks() -> None:
    counter = Counter()

    def needed(ctx: ToolContext[Any], args: dict[str, Any]) -> bool:
        if args["text"] == "boom":
            raise RuntimeError("secret")
        return str(args["text"]).startswith("big")

    calls = [call("note", id=f"c{i}", text=text) for i, text in enumerate(["small", "big one", "boom"])]
    agent = made(calls, "done", tools=counter.tools(approval=needed))
    result = await agent.run("go")
    assert [q.call_id for q in again(result).questions] == ["c1", "c2"]
    assert counter.done == []
    result = await agent.resume(again(result), {q.id: approve() for q in again(result).questions})
    assert sorted(counter.done) == ["big one", "boom", "small"]
    assert result.plugin_failures == {}


async def test_an_async_predicate_is_awaited() -> None:
    counter = Counter()

    async def needed(ctx: ToolContext[Any], args: dict[str, Any]) -> bool:
        return False

    result = await made(call("note", text="a"), "done", tools=counter.tools(approval=needed)).run("go")
    assert result.text == "done"


async def test_policy_refuses_before_a_person_is_asked() -> None:
    def deny(self: Plugin, call: Any) -> Any:
        return Deny("no")

    counter = Counter()
    for phase in ("screen", "fill", "authorize", "rewrite"):
        agent = made(
            call("note", text="a"), "done", tools=counter.tools(approval=True), plugins=[plugin("policy", hook=before(phase)(deny))]
        )
        result = await agent.run("go")
        assert result.text == "done"
        assert result.record.of(PauseRequest) == []
    assert counter.done == []


async def test_invalid_arguments_are_shown_to_nobody() -> None:
    counter = Counter()
    result = await made(call("note", id="c1", words="a"), "done", tools=counter.tools(approval=True)).run("go")
    assert result.text == "done"
    assert outcomes(result.record) == {"c1": "invalid"}


async def test_credentials_are_fetched_after_the_approval_only() -> None:
    fetched: list[str] = []

    def credential(self: Plugin, call: Any) -> Any:
        fetched.append(call.id)

    counter = Counter()
    agent = made(
        [call("note", id="c1", text="a"), call("note", id="c2", text="b")],
        "done",
        tools=counter.tools(approval=True),
        plugins=[plugin("vault", hook=before("credential")(credential))],
    )
    result = await agent.run("go")
    assert fetched == []
    by_call = {q.call_id: q.id for q in again(result).questions}
    await agent.resume(again(result), {by_call["c1"]: reject(), by_call["c2"]: approve()})
    assert fetched == ["c2"]


async def test_a_tool_knows_that_it_was_approved() -> None:
    seen: list[bool] = []

    @tool(approval=True)
    async def act(ctx: ToolContext[Any]) -> str:
        seen.append(ctx.approved)
        return "x"

    @tool
    async def free(ctx: ToolContext[Any]) -> str:
        seen.append(ctx.approved)
        return "x"

    agent = made(call("act"), call("free"), "done", tools=[act, free])
    result = await agent.run("go")
    await agent.resume(again(result), approve())
    assert seen == [True, False]


async def test_an_approval_stands_through_further_pauses() -> None:
    """The decision is on the record: a pause in a later phase, in another process, does not ask for it again."""
    counter = Counter()

    def later(self: Plugin, call: Any) -> Any:
        return None if call.answers(self) else AskPerson([AskField("f", "Which?")])

    def agent(*script: Any) -> Any:
        return made(*script, tools=counter.tools(approval=True), plugins=[plugin("later", hook=before("resolve")(later))])

    result = await agent(call("note", id="c1", text="a"), "done").run("go")
    result = await agent().resume(again(result), approve(args={"text": "changed"}))
    assert [q.plugin for q in again(result).questions] == ["later"]
    assert again(result).questions[0].arguments == {"text": "changed"}
    result = await agent("done").resume(again(result), "x")
    assert counter.done == ["changed"]
    allowed = [v for v in result.record.of(VerdictFiled) if v.plugin == "kernel"]
    assert [(v.phase, v.verdict, v.arguments) for v in allowed] == [("consent", "Allow", '{"text":"changed"}')]


async def test_the_person_sees_what_the_call_will_do_and_what_bears_on_it() -> None:
    counter = Counter()

    @tool(approval=True, redact=("pin",))
    async def pay(account: str, pin: str) -> str:
        """Pays an account."""
        return "x"

    agent = made(call("note", text="account 77 is overdue"), call("pay", account="77", pin="s3cret"), "done", tools=[*counter.tools(), pay])
    result = await agent.run("settle account 77")
    (asked,) = again(result).questions
    shown = asked.context
    assert shown["will_do"] == {"tool": "pay", "description": "Pays an account.", "arguments": {"account": "77", "pin": "[hidden]"}}
    assert [frame["kind"] for frame in shown["read"]] == ["task", "result"]
    assert "s3cret" not in str(shown)
    assert shown["trail"]["tool_calls"] == [{"name": "note", "ok": True}]
    assert only(result)
