"""What becomes of a call under each decision: one case after the other, through a real agent."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from agentfp import Agent, Pause, PolicyHaltError, approve, tool
from agentfp.plugin import Allow, AskField, AskPerson, CallView, Deny, Halt, Identity, Plugin, ToolSource, hookimpl, raw_tool
from agentfp.testing import ScriptedModel, call
from agentfp_permissions import (
    PermissionChecked,
    PermissionHalted,
    PermissionRequest,
    PermissionRole,
    Permissions,
    RolePolicy,
    UnknownRoleError,
)

pytestmark = pytest.mark.anyio
UNAVAILABLE = "This call could not be authorised and was not run. That will not change in this run: do not try it again."


class Says:
    """A checker that answers what it is told to."""

    def __init__(self, answer: Any, *, governs: tuple[str, ...] = (), name: str = "says") -> None:
        self.answer, self.governs, self.name = answer, governs, name
        self.asked: list[PermissionRequest] = []

    async def check(self, request: PermissionRequest) -> Any:
        self.asked.append(request)
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer(request) if callable(self.answer) else self.answer


class Counted:
    """Tools that count how often they ran."""

    def __init__(self) -> None:
        self.ran: list[str] = []

    def tool(self, name: str, **options: Any) -> Any:
        def run(n: int = 0) -> str:
            self.ran.append(name)
            return f"{name} done"

        return tool(run, name=name, description=name, **options)


def stored(result: Any) -> Pause:
    """The pause of a result, as another process reads it."""
    return Pause.from_json(result.pause.to_json())


def read(result: Any) -> list[str]:
    """What the model read of its calls."""
    return [message.text for message in result.history if message.role == "tool"]


def rows(result: Any) -> list[tuple[str, str, str | None]]:
    return [(row.capability, row.result, row.policy_rule_id) for row in result.record.of(PermissionChecked)]


async def test_without_a_checker_there_is_no_event() -> None:
    counted = Counted()
    result = await Agent(ScriptedModel([call("a"), "ok"]), tools=[counted.tool("a")], plugins=[Permissions()]).run("Go")
    assert counted.ran == ["a"]
    assert not [event for event in result.record if event.name.startswith("agentfp.permission.")]


async def test_what_is_allowed_runs() -> None:
    counted = Counted()
    result = await Agent(ScriptedModel([call("a"), "ok"]), tools=[counted.tool("a")], plugins=[Permissions(checkers=(Says(Allow()),))]).run(
        "Go"
    )
    assert counted.ran == ["a"]
    assert rows(result) == [("tool_call", "allow", None)]


@pytest.mark.parametrize(
    ("settings", "deny", "text"),
    [
        ({"show_rationale": True}, Deny("read-only shift"), "[permission denied: read-only shift]"),
        ({}, Deny("read-only shift"), "This call is not permitted."),
        ({"show_rationale": True}, Deny("read-only shift", "Come back tomorrow."), "Come back tomorrow."),
    ],
)
async def test_what_is_denied_does_not_run_and_the_run_goes_on(settings: dict[str, Any], deny: Deny, text: str) -> None:
    counted = Counted()
    plugin = Permissions(checkers=(Says(deny),), **settings)
    result = await Agent(ScriptedModel([call("a"), "ok"]), tools=[counted.tool("a")], plugins=[plugin]).run("Go")
    assert counted.ran == []
    assert read(result) == [text]
    assert result.text == "ok"
    assert result.record.of(PermissionChecked)[0].rationale == "read-only shift"


async def test_a_checker_that_raises_refuses() -> None:
    counted = Counted()
    plugin = Permissions(checkers=(Says(TimeoutError("db down")),))
    result = await Agent(ScriptedModel([call("a"), "ok"]), tools=[counted.tool("a")], plugins=[plugin]).run("Go")
    assert counted.ran == []
    assert read(result) == [UNAVAILABLE]
    assert result.text == "ok"
    (row,) = result.record.of(PermissionChecked)
    assert (row.result, row.policy_rule_id, row.rationale) == ("deny", "checker.failed", "checker raised: TimeoutError: db down")


@pytest.mark.parametrize("answer", [None, True, "allow", Allow({"n": 1})])
async def test_a_checker_that_answers_something_else_refuses(answer: Any) -> None:
    counted = Counted()
    plugin = Permissions(checkers=(Says(answer),))
    result = await Agent(ScriptedModel([call("a"), "ok"]), tools=[counted.tool("a")], plugins=[plugin]).run("Go")
    assert counted.ran == []
    assert read(result) == [UNAVAILABLE]


async def test_a_checker_that_takes_too_long_refuses() -> None:
    import anyio

    class Sleeps:
        name = "sleeps"

        async def check(self, request: PermissionRequest) -> Allow:
            await anyio.sleep_forever()
            raise AssertionError

    counted = Counted()
    plugin = Permissions(checkers=(Sleeps(),), timeout=0.01)
    result = await Agent(ScriptedModel([call("a"), "ok"]), tools=[counted.tool("a")], plugins=[plugin]).run("Go")
    assert counted.ran == []
    assert result.record.of(PermissionChecked)[0].policy_rule_id == "checker.failed"


async def test_a_halt_ends_the_run_and_every_sibling_has_its_outcome() -> None:
    counted = Counted()
    exfil = {"rule": "security:exfil", "forbid": ["export_csv", "mail_*"], "action": "halt"}
    plugin = Permissions(sequence=(exfil,))
    script = [call("export_csv"), [call("look"), call("mail_send", n=5), call("look")]]
    result = await Agent(
        ScriptedModel(script), tools=[counted.tool("export_csv"), counted.tool("mail_send"), counted.tool("look")], plugins=[plugin]
    ).run("Go")
    assert counted.ran == ["export_csv"]
    assert result.status == "refused"
    with pytest.raises(PolicyHaltError, match="mail_send must not follow export_csv"):
        result.raise_for_status()
    assert len(read(result)) == 4  # each call of the reply has a message: the history can be continued
    assert not any("security:exfil" in text or "export_csv" in text for text in read(result)[1:])
    halt = Permissions.halt(result)
    assert halt is not None
    assert (halt.rule, halt.checker, halt.iteration) == ("security:exfil", "sequence", 2)
    assert [past.tool for past in halt.sequence] == ["export_csv", "mail_send"]
    assert json.loads(halt.proposed.arguments_json) == {"n": 5}
    assert result.record.of(PermissionHalted)[0].sequence_length == 1
    assert {past.state for past in Permissions.attempted(result)} == {"success", "halted"}


async def test_calls_in_between_do_not_hide_a_forbidden_order_unless_it_is_adjacent() -> None:
    for adjacent, ran in ((False, ["a", "noop"]), (True, ["a", "noop", "b"])):
        counted = Counted()
        rule = {"forbid": ["a", "b"], "action": "deny", "adjacent": adjacent}
        tools = [counted.tool(name) for name in ("a", "noop", "b")]
        script = [call("a"), call("noop"), call("b"), "ok"]
        await Agent(ScriptedModel(script), tools=tools, plugins=[Permissions(sequence=(rule,))]).run("Go")
        assert counted.ran == ran


async def test_a_call_of_the_same_reply_stands_between_too() -> None:
    """Looked at by name alone, the call would follow what ran before the reply."""
    counted = Counted()
    plugin = Permissions(sequence=({"forbid": ["a", "b"], "action": "deny", "adjacent": True},))
    tools = [counted.tool(name) for name in ("a", "noop", "b")]
    script = [call("a"), [call("noop"), call("b")], [call("a"), call("b")], "ok"]
    result = await Agent(ScriptedModel(script), tools=tools, plugins=[plugin]).run("Go")
    assert [(past.tool, past.state) for past in Permissions.attempted(result)] == [
        ("a", "success"),
        ("noop", "success"),
        ("b", "success"),
        ("a", "success"),
        ("b", "denied"),
    ]


@pytest.mark.parametrize("script", [[call("refund"), call("refund"), "ok"], [[call("refund"), call("refund")], "ok"]])
async def test_at_most_so_many_calls(script: list[Any]) -> None:
    counted = Counted()
    plugin = Permissions(sequence=({"tool": "refund", "at_most": 1, "tell_model": "One refund a run."},))
    result = await Agent(ScriptedModel(script), tools=[counted.tool("refund")], plugins=[plugin]).run("Go")
    assert counted.ran == ["refund"]
    assert read(result) == ["refund done", "One refund a run."]


async def test_calls_that_did_not_run_do_not_count() -> None:
    """Invalid arguments, a denial with words of its own, and a person's rejection are attempts, not calls that ran."""
    counted = Counted()

    class Once(Plugin):
        name = "once"

        @hookimpl(phase="authorize")
        def before_tool(self, call: CallView) -> Deny | None:
            return Deny("no", tell_model="refund done") if call.arguments.get("n") == 13 else None

    plugin = Permissions(sequence=({"tool": "refund", "at_most": 1},))
    script = [call("refund", n="x"), call("refund", n=13), call("refund", n=1), call("refund", n=2), "ok"]
    result = await Agent(ScriptedModel(script), tools=[counted.tool("refund")], plugins=[plugin, Once()]).run("Go")
    assert counted.ran == ["refund"]
    assert [past.state for past in Permissions.attempted(result)] == ["invalid", "denied", "success", "denied"]
    assert len(Permissions.sequence(result)) == 1


async def test_a_limit_of_the_conversation_holds_over_its_turns() -> None:
    for scope, ran in (("run", 2), ("conversation", 1)):
        counted = Counted()
        plugin = Permissions(sequence=({"tool": "refund", "at_most": 1, "scope": scope},))
        agent = Agent(ScriptedModel([call("refund"), "ok", call("refund"), "ok"]), tools=[counted.tool("refund")], plugins=[plugin])
        chat = agent.conversation()
        await chat.send("Go")
        await chat.send("Again")
        assert len(counted.ran) == ran


async def test_this_only_after_a_success_of_that() -> None:
    counted = Counted()

    @tool
    def find_order(n: int) -> str:
        """Find an order."""
        if n == 0:
            raise ValueError("no")
        return "found"

    plugin = Permissions(sequence=({"tool": "refund", "only_after": ["find_order"]},))
    script = [call("refund"), call("find_order", n=0), call("refund"), [call("find_order", n=1), call("refund")], call("refund"), "ok"]
    result = await Agent(ScriptedModel(script), tools=[counted.tool("refund"), find_order], plugins=[plugin]).run("Go")
    assert counted.ran == ["refund"]
    assert [past.state for past in Permissions.attempted(result) if past.tool == "refund"] == ["denied", "denied", "denied", "success"]


async def test_a_capability_is_asked_only_of_a_checker_that_governs_it() -> None:
    for governs, questions in (((), ["tool_call"]), (("memory_write",), ["tool_call", "memory_write"])):
        checker, counted = Says(Allow(), governs=governs), Counted()
        tools = [counted.tool("keep", metadata={"capabilities": ["memory_write"]})]
        await Agent(ScriptedModel([call("keep"), "ok"]), tools=tools, plugins=[Permissions(checkers=(checker,))]).run("Go")
        assert [request.capability for request in checker.asked] == questions
        assert counted.ran == ["keep"]


async def test_a_role_without_the_capability_is_denied() -> None:
    counted = Counted()
    roles = {"clerk": {"tools": ["look", "post"], "capabilities": ["external_net"]}}
    tools = [counted.tool("look", metadata={"capabilities": ["user_data"]}), counted.tool("post")]
    plugin = Permissions(roles=roles, active_role="clerk", capabilities={"post": ["external_net"]})
    result = await Agent(ScriptedModel([call("look"), call("post"), "ok"]), tools=tools, plugins=[plugin]).run("Go")
    assert counted.ran == ["post"]
    refused = [row for row in result.record.of(PermissionChecked) if row.result == "deny"]
    assert [(row.capability, row.policy_rule_id) for row in refused] == [("user_data", "clerk.capabilities.miss")]


async def test_a_skill_that_is_not_the_roles_is_not_read() -> None:
    read_skills: list[str] = []

    @tool(metadata={"skill_argument": "name"})
    def read_skill(name: str) -> str:
        """Read a skill."""
        read_skills.append(name)
        return name

    roles = {"clerk": {"tools": ["read_skill"], "skills": ["returns"]}, "boss": ["*"]}
    for role, expected in (("clerk", ["returns"]), ("boss", ["returns", "payroll"])):
        read_skills.clear()
        script = [[call("read_skill", name="returns"), call("read_skill", name="payroll")], "ok"]
        await Agent(ScriptedModel(script), tools=[read_skill], plugins=[Permissions(roles=roles)]).run(
            "Go", options={"permissions": {"role": role}}
        )
        assert sorted(read_skills) == sorted(expected)


async def test_a_denied_call_reaches_neither_a_person_nor_a_later_plugin() -> None:
    seen: list[str] = []

    class Later(Plugin):
        name = "later"

        @hookimpl(moment="before_tool", phase="fill")
        def fill(self, call: CallView) -> None:
            seen.append("fill")

        @hookimpl(moment="before_tool", phase="rewrite")
        def rewrite(self, call: CallView) -> None:
            seen.append("rewrite")

    counted = Counted()
    plugin = Permissions(roles={"clerk": []}, active_role="clerk")
    tools = [counted.tool("a", approval=True)]
    result = await Agent(ScriptedModel([call("a"), "ok"]), tools=tools, plugins=[Later(), plugin]).run("Go")
    assert (result.status, counted.ran, seen) == ("answered", [], [])
    assert [row.phase for row in result.record.of(PermissionChecked)] == ["screen"]


async def test_invalid_calls_are_asked_about_too() -> None:
    checker, counted = Says(Allow()), Counted()
    await Agent(ScriptedModel([call("a", n="x"), "ok"]), tools=[counted.tool("a")], plugins=[Permissions(checkers=(checker,))]).run("Go")
    assert checker.asked[0].arguments == {"n": "x"}
    assert counted.ran == []


async def test_a_checker_sees_what_ran_and_what_will() -> None:
    seen: list[list[tuple[str, str]]] = []

    def look(request: PermissionRequest) -> Allow | Deny:
        seen.append([(past.tool, past.state) for past in request.sequence])
        return Deny("no") if request.tool == "b" else Allow()

    counted = Counted()
    tools = [counted.tool(name) for name in "abc"]
    script = [call("a"), [call("c"), call("b"), call("a")], "ok"]
    await Agent(ScriptedModel(script), tools=tools, plugins=[Permissions(checkers=(Says(look),))]).run("Go")
    ran, waiting = ("a", "success"), ("c", "in_flight")
    assert seen == [[], [ran], [ran, waiting], [ran, waiting]]


async def decide_twice(first: Any, second: Any) -> tuple[Any, list[str]]:
    """Decide over a call, and once more after a person approved it with other arguments."""
    counted, answers = Counted(), [({"n": 1}, first), ({"n": 7}, second)]

    def decide(request: PermissionRequest) -> Any:
        arguments, answer = answers.pop(0)
        assert request.arguments == arguments
        return answer

    plugin = Permissions(checkers=(Says(decide),))
    agent = Agent(ScriptedModel([call("a", n=1), "ok"]), tools=[counted.tool("a", approval=True)], plugins=[plugin])
    result = await agent.run("Go")
    assert result.paused
    pause = stored(result)
    return await agent.resume(pause, approve(by="ann", args={"n": 7})), counted.ran


async def test_a_resume_asks_again_with_the_arguments_that_were_approved() -> None:
    result, ran = await decide_twice(Allow(), Allow())
    assert ran == ["a"]
    assert [row.again for row in result.record.of(PermissionChecked)] == [False, True]


@pytest.mark.parametrize(("second", "status"), [(Deny("revoked"), "answered"), (Halt("revoked"), "refused")])
async def test_a_permission_that_was_taken_back_in_between_holds(second: Any, status: str) -> None:
    result, ran = await decide_twice(Allow(), second)
    assert (result.status, ran) == (status, [])


async def test_the_role_is_the_runs_the_persons_or_the_settings_in_this_order() -> None:
    roles = {"clerk": [], "admin": ["a"], "boss": ["a"]}
    plugin = Permissions(roles=roles, active_role="clerk", identities={"ann": "admin"})
    ann = Identity(principal="ann")
    cases: list[tuple[dict[str, Any], str, str]] = [
        ({}, "clerk", "settings"),
        ({"identity": ann}, "admin", "identity"),
        ({"identity": ann, "options": {"permissions": {"role": "boss"}}}, "boss", "options"),
    ]
    for arguments, role, source in cases:
        counted = Counted()
        result = await Agent(ScriptedModel([call("a"), "ok"]), tools=[counted.tool("a")], plugins=[plugin]).run("Go", **arguments)
        row = result.record.of(PermissionChecked)[0]
        assert (row.role, row.role_from, bool(counted.ran)) == (role, source, role != "clerk")
        assert row.policy_hash == plugin.policy.digest


async def test_a_resume_keeps_the_role_of_the_run() -> None:
    for role, expected in (("admin", ["a"]), ("clerk", [])):
        counted = Counted()
        plugin = Permissions(roles={"clerk": [], "admin": ["a"], "reader": ["a"]}, active_role="reader")
        agent = Agent(ScriptedModel([call("a"), "ok"]), tools=[counted.tool("a", approval=True)], plugins=[plugin])
        result = await agent.run("Go", options={"permissions": {"role": role}})
        if result.paused:
            result = await agent.resume(stored(result), approve())
        assert counted.ran == expected
        assert {row.role for row in result.record.of(PermissionChecked)} == {role}


class AsksFirst(Plugin):
    """Asks the person about a call before anybody decides over it."""

    name = "asks_first"

    @hookimpl(moment="before_tool", phase="fill", per="batch")
    def fill(self, batch: Any, run: Any) -> Any:
        waiting = [one for one in batch.live if one.name == "look"]
        return AskPerson([AskField("sure", "Sure?", "acknowledge", call_id=waiting[0].id)]) if waiting and not batch.answers else None


@pytest.mark.parametrize("roles", [True, False])
async def test_a_run_that_pauses_before_any_call_is_decided_goes_on_in_its_role(roles: bool) -> None:
    counted = Counted()
    tools = [counted.tool("look"), counted.tool("wipe")]
    policy: dict[str, Any] = {"roles": {"admin": ["*"], "guest": ["look"]}, "active_role": "admin"}
    seen = Says(lambda request: Allow() if request.role == "guest" or request.tool == "look" else Deny("no guest"))
    plugin = Permissions(**policy) if roles else Permissions(checkers=[seen])
    agent = Agent(ScriptedModel([call("look"), call("wipe"), "ok"]), tools=tools, plugins=[AsksFirst(), plugin])
    result = await agent.run("Go", options={"permissions": {"role": "guest"}})
    assert result.paused
    assert [row.role for row in result.record.of(PermissionRole)] == ["guest"]
    assert not result.record.of(PermissionChecked)
    result = await agent.resume(stored(result), True)
    assert {(row.role, row.role_from) for row in result.record.of(PermissionChecked)} == {("guest", "options")}
    assert counted.ran == (["look"] if roles else ["look", "wipe"])


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"options": {"permissions": {"role": "guest"}}}, ("guest", "options", "deny")),
        ({"options": {"permissions": {"role": "elsewhere"}}}, ("admin", "settings", "allow")),
        ({"identity": Identity(principal="ann")}, ("guest", "identity", "deny")),
        ({}, ("admin", "settings", "allow")),
    ],
)
async def test_a_nested_agent_goes_in_the_role_of_whom_it_works_for(arguments: dict[str, Any], expected: tuple[str, str, str]) -> None:
    counted = Counted()
    inner_policy: dict[str, Any] = {"roles": {"admin": ["*"], "guest": []}, "active_role": "admin", "identities": {"ann": "guest"}}
    inner = Agent(ScriptedModel([call("wipe"), "ok"]), tools=[counted.tool("wipe")], plugins=[Permissions(**inner_policy)])
    plain = Agent(ScriptedModel([call("sub", request="x"), "ok"]), tools=[inner.as_tool("sub", "Wipes.")])
    outer_policy: dict[str, Any] = {"roles": {"admin": ["*"], "guest": ["sub"], "elsewhere": ["sub"]}, "active_role": "admin"}
    outer = Agent(
        ScriptedModel([call("sub", request="x"), "ok"]), tools=[plain.as_tool("sub", "Asks.")], plugins=[Permissions(**outer_policy)]
    )
    result = await outer.run("Go", **arguments)
    (middle,) = result.record.children.values()
    (record,) = middle.children.values()
    assert {(row.role, row.role_from, row.result) for row in record.of(PermissionChecked)} == {expected}
    assert counted.ran == ([] if expected[2] == "deny" else ["wipe"])


@pytest.mark.parametrize(("role", "words"), [("clark", "did you mean 'clerk'"), (None, "this run has no role")])
async def test_a_run_in_no_role_of_the_policy_is_refused_before_a_model_is_called(role: str | None, words: str) -> None:
    model, counted = ScriptedModel([call("a"), "ok"]), Counted()
    agent = Agent(model, tools=[counted.tool("a")], plugins=[Permissions(roles={"clerk": ["a"]})])
    with pytest.raises(UnknownRoleError, match=words):
        (await agent.run("Go", options={"permissions": {"role": role}})).raise_for_status()
    assert not model.requests


async def test_a_role_policy_is_a_checker_of_its_own() -> None:
    policy = RolePolicy.from_roles({"clerk": ["find_*"], "admin": ["*"]}, "clerk")
    assert (policy.is_allowed("find_order"), policy.is_allowed("refund")) == (True, False)
    assert policy.with_active_role("admin").is_allowed("refund")
    with pytest.raises(ValueError, match="did you mean 'admin'"):
        policy.with_active_role("admn")
    counted = Counted()
    await Agent(
        ScriptedModel([[call("find_order"), call("refund")], "ok"]),
        tools=[counted.tool("find_order"), counted.tool("refund")],
        plugins=[Permissions(checkers=(policy,))],
    ).run("Go")
    assert counted.ran == ["find_order"]


async def test_deny_and_halt_of_a_role_come_before_its_list() -> None:
    roles = {"clerk": {"tools": ["*"], "deny": ["drop_*"], "halt": ["wipe"], "reason": "house rules", "tell_model": "Not here."}}
    for name, status, rule in (("drop_table", "answered", "clerk.deny"), ("wipe", "refused", "clerk.halt")):
        counted = Counted()
        tools = [counted.tool("drop_table"), counted.tool("wipe")]
        plugin = Permissions(roles=roles, active_role="clerk")
        result = await Agent(ScriptedModel([call(name), "ok"]), tools=tools, plugins=[plugin]).run("Go")
        assert (result.status, counted.ran) == (status, [])
        assert read(result) == ["Not here."]
        row = result.record.of(PermissionChecked)[0]
        assert (row.policy_rule_id, row.rationale) == (rule, "house rules")


async def test_no_event_holds_arguments() -> None:
    counted = Counted()
    plugin = Permissions(checkers=(Says(Halt("stop")),))
    result = await Agent(ScriptedModel([call("a", n=918273645), "ok"]), tools=[counted.tool("a")], plugins=[plugin]).run("Go")
    own = [event for event in result.record if event.name.startswith("agentfp.permission.")]
    assert len(own) == 2
    assert "918273645" not in repr(own)


async def test_a_call_that_is_taken_up_again_counts_once() -> None:
    """A nested agent pauses in the middle of a call; after the answer the call goes on, and it is still one call."""
    counted = Counted()
    inner = Agent(ScriptedModel([call("a"), "inner done"]), tools=[counted.tool("a", approval=True)])
    plugin = Permissions(sequence=({"tool": "ask", "at_most": 1},))
    agent = Agent(
        ScriptedModel([call("ask", request="x"), call("ask", request="x"), "ok"]),
        tools=[inner.as_tool("ask", "Asks the other one.")],
        plugins=[plugin],
    )
    result = await agent.run("Go")
    assert result.paused
    result = await agent.resume(stored(result), approve())
    assert counted.ran == ["a"]
    assert [past.state for past in Permissions.attempted(result)] == ["success", "denied"]
    assert len(Permissions.sequence(result)) == 1


async def test_a_tool_that_comes_in_a_run_and_reaches_what_is_no_capability_is_refused() -> None:
    """Nobody could have said so while the agent was built; what a word means that nobody knows is not guessed."""
    ran: list[str] = []

    class Shelf(ToolSource):
        name = "shelf"
        offered = tuple(
            raw_tool(name, name, None, lambda ctx, arguments: ran.append("one of them"), metadata={"capabilities": [reach]})
            for name, reach in (("good", "user_data"), ("odd", "usr_data"))
        )

        @asynccontextmanager
        async def open(self, run: Any) -> AsyncIterator[Shelf]:
            yield self

        async def tools(self) -> Any:
            return self.offered

    plugin = Permissions(roles={"clerk": {"tools": ["*"], "capabilities": ["user_data"]}}, active_role="clerk")
    result = await Agent(ScriptedModel([[call("good"), call("odd")], "ok"]), tools=[Shelf()], plugins=[plugin]).run("Go")
    assert result.text == "ok"
    assert ran == ["one of them"]
    assert [past.state for past in Permissions.attempted(result)] == ["success", "denied"]


async def test_each_row_says_which_rules_decided() -> None:
    hashes = []
    for own in ("rules of monday", "rules of tuesday", None):
        checker, counted = Says(Allow()), Counted()
        checker.policy_hash = own  # type: ignore[attr-defined]
        plugin = Permissions(checkers=(checker,), roles={"clerk": ["a"]}, active_role="clerk")
        result = await Agent(ScriptedModel([call("a"), "ok"]), tools=[counted.tool("a")], plugins=[plugin]).run("Go")
        hashes.append(result.record.of(PermissionChecked)[0].policy_hash)
    assert len(set(hashes)) == 3
    assert hashes[2] == plugin.policy.digest
    counted, policy = Counted(), RolePolicy.from_roles({"clerk": []}, "clerk")
    plugin = Permissions(checkers=(policy,))
    result = await Agent(ScriptedModel([call("a"), "ok"]), tools=[counted.tool("a")], plugins=[plugin]).run("Go")
    assert result.record.of(PermissionChecked)[0].policy_hash not in (None, plugin.policy.digest)
