"""Policies: read of settings and of a file, and everything that is wrong with one said at once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from agentfp import Agent, ConfigError, tool
from agentfp.testing import ScriptedModel, call, check_plugin
from agentfp_permissions import AtMost, Forbid, OnlyAfter, PermissionChecked, Permissions, PolicyError, Role

FILE = """
version = 1
active_role = "clerk"

[roles]
admin = ["*"]

[roles.clerk]
tools = ["find_order", "refund"]
capabilities = []
tell_model = "Ask a colleague."

[identities]
ann = "admin"

[[sequence]]
at_most = 1
tool = "refund"
rule = "refunds:one"

[[sequence]]
only_after = ["find_order"]
tool = "refund"

[[sequence]]
forbid = ["find_order", "export"]
action = "deny"

[capabilities]
export = ["user_data"]
"""


@tool
def find_order(n: int = 0) -> str:
    """Find an order."""
    return "found"


@tool
def refund(n: int = 0) -> str:
    """Pay an order back."""
    return "paid"


@tool
def export(n: int = 0) -> str:
    """Export all."""
    return "exported"


TOOLS = [find_order, refund, export]


def write(folder: Path, text: str) -> Path:
    path = folder / "policy.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_file_says_the_same_as_settings(tmp_path: Path) -> None:
    of_file = Permissions(policy=write(tmp_path, FILE))
    in_code = Permissions(
        active_role="clerk",
        roles={"admin": ["*"], "clerk": Role(("find_order", "refund"), capabilities=(), tell_model="Ask a colleague.")},
        identities={"ann": "admin"},
        sequence=(
            AtMost("refund", 1, rule="refunds:one"),
            OnlyAfter("refund", ("find_order",)),
            Forbid(("find_order", "export"), action="deny"),
        ),
        capabilities={"export": ["user_data"]},
    )
    assert of_file.policy == in_code.policy
    assert Permissions(policy=write(tmp_path, FILE), active_role="admin").policy.digest != in_code.policy.digest


def test_an_agent_of_a_config_file_is_guarded(tmp_path: Path) -> None:
    policy = write(tmp_path, FILE)
    (tmp_path / "agentfp.toml").write_text(
        f"""
version = 1
[agent]
model = "scripted"
plugins = ["permissions"]
[plugins.permissions]
policy = {str(policy)!r}
""",
        encoding="utf-8",
    )
    script = [call("refund"), call("find_order"), call("refund"), call("refund"), call("export"), "ok"]
    agent = Agent.from_config(tmp_path / "agentfp.toml", model=ScriptedModel(script), tools=TOOLS)
    result = agent.run_sync("Go")
    refused = [row.policy_rule_id for row in result.record.of(PermissionChecked) if row.result == "deny"]
    assert refused == ["sequence.only_after:refund", "refunds:one", "clerk.allowlist.miss"]
    assert [past.tool for past in Permissions.sequence(result)] == ["find_order", "refund"]


def test_all_problems_of_a_policy_are_said_at_once(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        """
version = 2
active_role = "clark"
roels = {}
identities = { "ann@example.org" = "bos" }
[roles.clerk]
tols = ["a"]
tools = ["a*b", ""]
capabilities = ["external_nett"]
[roles.boss]
tools = "a"
[[sequence]]
forbid = []
[[sequence]]
at_most = -1
tool = "a"
scop = "run"
action = "hault"
[[sequence]]
tool = "a"
""",
    )
    with pytest.raises(PolicyError) as raised:
        Permissions(policy=path, checkers=(object(), "nowhere_at_all:x", "json:dump"))
    text = str(raised.value)
    for words in (
        "version = 1",
        "no role 'clark'; did you mean 'clerk'",
        "'roels', which is no key of a policy; did you mean 'roles'",
        "no role 'bos'; did you mean 'boss'",
        "'tols', which is no key of a role; did you mean 'tools'",
        "roles.clerk.tools[0] must be a name",
        "roles.clerk.tools[1] must be a name",
        "no capability 'external_nett'; did you mean 'external_net'",
        "roles.boss.tools must be a list",
        "sequence[0].forbid must be a list",
        "sequence[1].at_most must be a whole number",
        "'scop', which is no key of a rule with at_most; did you mean 'scope'",
        "sequence[1].action is refused; did you mean 'halt'",
        "sequence[2] must be a table with one of",
        "checkers[0] is no checker",
        "'nowhere_at_all' cannot be imported",
        "checkers[2] is no checker",
    ):
        assert words in text
    assert "ann@example.org" not in text
    assert isinstance(raised.value, ConfigError)


@pytest.mark.parametrize(("text", "words"), [("roles = [", "is no TOML"), (None, "cannot be read")])
def test_a_file_that_cannot_be_read_is_an_error_and_no_open_door(tmp_path: Path, text: str | None, words: str) -> None:
    path = tmp_path / "policy.toml" if text is None else write(tmp_path, text)
    with pytest.raises(PolicyError, match=words):
        Permissions(policy=path)


def test_names_that_no_tool_has_are_refused_at_build() -> None:
    settings: dict[str, Any] = {"roles": {"clerk": ["find_ordr", "*"]}, "sequence": ({"forbid": ["exprt_*", "refund"]},)}
    with pytest.raises(ConfigError) as raised:
        Agent(ScriptedModel(["ok"]), tools=TOOLS, plugins=[Permissions(**settings)])
    assert "names 'find_ordr', and no tool fits; did you mean 'find_order'" in str(raised.value)
    assert "sequence[0] names 'exprt_*'" in str(raised.value)
    Agent(ScriptedModel(["ok"]), tools=TOOLS, plugins=[Permissions(**settings, unknown_names="allow")])


def test_a_tool_that_says_it_reaches_what_is_no_capability_is_refused_at_build() -> None:
    wrong = [
        tool(lambda: "x", name=name, description="x", metadata={"capabilities": said})
        for name, said in (("a", ["extrnal_net"]), ("b", "x"))
    ]
    with pytest.raises(ConfigError, match="did you mean 'external_net'") as raised:
        Agent(ScriptedModel(["ok"]), tools=wrong, plugins=[Permissions()])
    assert "'b'" in str(raised.value)


def test_two_checkers_of_one_name_and_a_governed_capability_that_is_none_are_refused() -> None:
    class Checker:
        name = "mine"
        governs = ("external_nett",)

        def check(self, request: object) -> None: ...

    with pytest.raises(PolicyError) as raised:
        Permissions(checkers=(Checker(), Checker(), Checker))
    for words in ("two checkers are called 'mine'", "did you mean 'external_net'", "is the class 'Checker'"):
        assert words in str(raised.value)


def test_the_rules_of_plugins_are_kept(tmp_path: Path) -> None:
    script = [call("refund"), call("find_order"), [call("refund"), call("refund")], "ok"]
    check_plugin(Permissions, tools=TOOLS, script=script)
    check_plugin(lambda: Permissions(policy=write(tmp_path, FILE)), tools=TOOLS, script=script)


def test_a_plugin_that_is_on_and_empty_changes_nothing() -> None:
    requests = []
    for plugins in ([], [Permissions()]):
        model = ScriptedModel([call("refund"), "ok"])
        result = Agent(model, tools=TOOLS, plugins=plugins).run_sync("Go")
        requests.append([(request.system, [m.text for m in request.messages], request.tools) for request in model.requests])
        assert not [event for event in result.record if event.source == "permissions"]
    assert requests[0] == requests[1]
