"""Checkers that answer nonsense, policies that are no policies: always refused, always said, never an open door."""

from __future__ import annotations

import datetime
import sys
from pathlib import Path
from typing import Any

import pytest

from agentfp import Agent, tool
from agentfp.plugin import Allow, Deny, Halt
from agentfp.testing import ScriptedModel, call
from agentfp_permissions import AtMost, PermissionChecked, PermissionRequest, Permissions, PolicyError, Role, RolePolicy

pytestmark = pytest.mark.anyio
UNAVAILABLE = "This call could not be authorised and was not run. That will not change in this run: do not try it again."
DAY = datetime.date(2024, 1, 1)


class Checker:
    def __init__(self, answer: Any, name: str = "checker") -> None:
        self.answer, self.name = answer, name
        self.saw: list[Any] = []

    def check(self, request: PermissionRequest) -> Any:
        self.saw.append(request.arguments)
        return self.answer(request) if callable(self.answer) else self.answer


class Wordless(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no words")


def raises(request: PermissionRequest) -> Any:
    raise Wordless


async def run(*checkers: Checker) -> tuple[Any, list[Any]]:
    ran: list[Any] = []

    @tool
    def wipe(path: list[str]) -> str:
        """Wipe."""
        ran.append(path)
        return "wiped"

    script = [call("wipe", path=["a"]), "Done."]
    result = await Agent(ScriptedModel(script), tools=[wipe], plugins=[Permissions(checkers=checkers)]).run("Go.")
    return result, ran


@pytest.mark.parametrize(
    "answer",
    [
        Allow(values={"path": ["b"]}),
        Allow(args={}),
        Allow(origin="person"),
        Deny(None),  # type: ignore[arg-type]
        Deny("no", tell_model=5),  # type: ignore[arg-type]
        Deny("no", rule=5),  # type: ignore[arg-type]
        Halt(None, None),  # type: ignore[arg-type]
        Halt("no", tell_model=object()),  # type: ignore[arg-type]
        raises,
    ],
)
async def test_nonsense_refuses_and_is_on_the_record_as_what_it_is(answer: Any) -> None:
    result, ran = await run(Checker(answer))
    assert ran == []
    assert result.history[2].text == UNAVAILABLE
    (row,) = result.record.of(PermissionChecked)
    assert (row.result, row.policy_rule_id) == ("deny", "checker.failed")
    assert type(row.rationale) is str


async def test_a_checker_cannot_change_what_the_next_one_judges() -> None:
    def meddle(request: PermissionRequest) -> Allow:
        assert request.arguments is not None
        request.arguments["path"].append("x")
        request.arguments["more"] = 1  # type: ignore[index]
        return Allow()

    second = Checker(Allow(), "second")
    _, ran = await run(Checker(meddle, "first"), second)
    assert second.saw == [{"path": ["a"]}]
    assert ran == [["a"]]


async def test_many_calls_of_one_reply_are_compared_with_each_other_once() -> None:
    @tool
    async def read(n: int) -> str:
        """Read."""
        return "read"

    async def lines_of(many: int) -> int:
        count = 0

        def trace(frame: Any, event: str, arg: Any) -> Any:
            nonlocal count
            count += event == "line"
            return trace if "agentfp_permissions" in frame.f_code.co_filename else None

        plugin = Permissions(sequence=[AtMost("read", 1000)])
        agent = Agent(ScriptedModel([[call("read", n=n) for n in range(many)], "Done."]), tools=[read], plugins=[plugin])
        before = sys.gettrace()
        sys.settrace(trace)
        try:
            assert (await agent.run("Go.")).status == "answered"
        finally:
            sys.settrace(before)
        return count

    assert await lines_of(120) < 5 * await lines_of(60)


# --- policies ---


@pytest.mark.parametrize(
    "made",
    [
        lambda: Role(tools="find_*"),  # type: ignore[arg-type]
        lambda: Role(("*",), deny="wipe"),  # type: ignore[arg-type]
        lambda: Role(("*",), capabilities="user_data"),  # type: ignore[arg-type]
        lambda: Role(("*",), capabilities=("network",)),
        lambda: Role(("*a",)),
        lambda: Role(None),  # type: ignore[arg-type]
        lambda: RolePolicy.from_roles({"r": "find_*"}, "r"),
        lambda: RolePolicy.from_roles({"r": ["*"]}, "r", skills={"r": "pay*"}),
    ],
)
def test_the_letters_of_a_text_are_no_names(made: Any) -> None:
    with pytest.raises(PolicyError):
        made()


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"sequence": [{"tool": "a", "at_most": DAY}]}, "sequence[0].at_most must be a whole number"),
        ({"sequence": [{"tool": "a", "at_most": 1, "action": DAY}]}, "sequence[0].action is refused"),
        ({"sequence": [{"tool": DAY, "at_most": 1}]}, "sequence[0].tool must be a name"),
        ({"sequence": [AtMost("a", DAY)]}, "sequence[0].at_most must be a whole number"),  # type: ignore[arg-type]
        ({"sequence": [AtMost("a", 1, rule=b"r")]}, "sequence[0].rule must be a text"),  # type: ignore[arg-type]
        ({"sequence": [AtMost("a", 1, reason="")]}, "sequence[0].reason must be a text"),
        ({"roles": {"": ["*"]}}, "the name of a role is blank"),
        ({"roles": {"r": {None: ["*"]}}}, "roles.r has None, which is no key of a role"),
        ({"sequence": [{"tool": "a", "at_most": 1, 7: 1}]}, "sequence[0] has 7, which is no key"),
        ({"roles": {" ": ["*"], "r": ["*"]}}, "the name of a role is blank"),
    ],
)
def test_what_is_wrong_is_said_whatever_it_is(settings: dict[str, Any], said: str) -> None:
    with pytest.raises(PolicyError) as raised:
        Permissions(**settings)
    assert said in str(raised.value)


def test_a_date_in_a_file_is_said_too(tmp_path: Path) -> None:
    path = tmp_path / "p.toml"
    path.write_text('[[sequence]]\ntool = "a"\nat_most = 2024-01-01\n')
    with pytest.raises(PolicyError, match="at_most must be a whole number"):
        Permissions(policy=path)


def test_a_role_without_a_name_is_not_the_active_one() -> None:
    policy = RolePolicy({"": Role(), "admin": Role(("*",))}, "admin")
    assert policy.is_allowed("wipe")
    assert not policy.is_allowed("wipe", "")
