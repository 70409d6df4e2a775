"""What tools and the model do with artifacts: put, redeem, want, present, across scopes and pauses; off is absent."""

from __future__ import annotations

import dataclasses
import json
from typing import Annotated, Any

import anyio.from_thread
import pytest

from agentfp import Agent, ConfigError, Identity, Pause, ToolContext, approve, ask_human, tool
from agentfp.artifacts import InvalidArtifactError
from agentfp.plugin import Plugin
from agentfp.testing import ScriptedModel, call, check_plugin
from agentfp_artifacts import Artifacts, Wants, memory_artifacts
from tests.plugins.artifacts.agents import ROWS, filed, made, names, outcomes, said
from tests.plugins.artifacts.stores import NOW, Clock, Maker

pytestmark = pytest.mark.anyio
UNKNOWN = "art_" + "0" * 22


@tool
async def load(ctx: ToolContext[Any], kind: str = "dataset/rows", label: str = "rows") -> str:
    """Load rows."""
    meta = await ctx.artifacts.put(kind=kind, media_type="application/json", data=ROWS, label=label, digest="sha-256")
    return str(meta.ref)


@tool
async def chart(ctx: ToolContext[Any], dataset: Annotated[list[dict[str, Any]], Wants("dataset/rows")], title: str = "") -> str:
    """Draw a chart."""
    return f"{len(dataset)} rows from {ctx.wanted['dataset'].label}, first {dataset[0]['region']}"


def last(request: Any) -> str:
    """What the model read last."""
    text: str = request.messages[-1].text
    return text


def charting(request: Any) -> Any:
    return call("chart", dataset=last(request))


# --- wants ---


async def test_the_model_passes_a_ref_and_the_tool_gets_the_data(maker: Maker) -> None:
    agent = made([call("load"), charting, "done"], [load, chart], Artifacts(store=maker()))
    result = await agent.run("go")
    assert said(result)[1] == "2 rows from rows, first north"
    assert names(result) == ["minted", "resolved", "resolved"]
    lines = [line for line in result.record.to_lines() if "agentfp.tool.ended" not in line]
    assert "churn" not in "".join(lines)


def test_the_model_is_told_that_it_passes_a_text() -> None:
    assert json.loads(chart.parameters_json)["properties"]["dataset"]["type"] == "string"


async def test_an_unknown_ref_is_refused_with_those_that_would_do() -> None:
    @tool(name="load")
    async def loading(ctx: ToolContext[Any]) -> str:
        """Load."""
        await ctx.artifacts.put(kind="other", media_type="text/plain", data="x")
        return str((await ctx.artifacts.put(kind="dataset/rows", media_type="application/json", data=ROWS)).ref)

    result = await made([call("load"), call("chart", dataset=UNKNOWN), "done"], [loading, chart]).run("go")
    ref, refusal = said(result)
    assert refusal.splitlines() == [
        f"dataset: there is no artifact {UNKNOWN} here, or no more",
        f"Artifacts of kind 'dataset/rows': {ref}.",
        "The call did not run. Correct the arguments and call again.",
    ]
    assert outcomes(result) == ["success", "denied"]
    assert [(refused.op, refused.reason, refused.ref) for refused in filed(result, "refused")] == [
        ("head", "missing_or_expired", UNKNOWN),
        ("dispatch", "missing_or_expired", UNKNOWN),
    ]


@pytest.mark.parametrize(
    ("given", "what"), [(None, "null"), ([1], "an array"), ("  ", "a blank text"), (3, "a number"), (True, "a boolean"), ({}, "an object")]
)
async def test_what_is_no_ref_is_refused_by_name(given: Any, what: str) -> None:
    agent = made([call("chart", dataset=given), "done"], [chart], argument_validation="off")
    result = await agent.run("go")
    assert f"dataset: got {what};" in said(result)[0]
    assert outcomes(result) == ["denied"]
    assert [refused.reason for refused in filed(result, "refused")] == ["invalid_input"]


async def test_an_artifact_of_another_kind_is_refused() -> None:
    result = await made([call("load", kind="dataset/rowset"), charting, "done"], [load, chart]).run("go")
    assert "is of kind 'dataset/rowset', and 'dataset/rows' is wanted" in said(result)[1]
    assert "There are no artifacts of kind 'dataset/rows'." in said(result)[1]
    assert [refused.reason for refused in filed(result, "refused")] == ["kind_mismatch"]


async def test_a_damaged_artifact_is_refused(maker: Maker) -> None:
    store = maker()
    scopes: list[Any] = []

    @tool
    async def spoil(ctx: ToolContext[Any], ref: str) -> str:
        """Spoil."""
        scopes.append(ctx.artifacts._scope)
        maker.corrupt(store, scopes[-1], ref)
        return ref

    script = [call("load"), lambda request: call("spoil", ref=last(request)), charting, "done"]
    result = await made(script, [load, spoil, chart], Artifacts(store=store)).run("go")
    assert "is damaged" in said(result)[2]
    assert [refused.reason for refused in filed(result, "refused")] == ["digest_mismatch", "digest_mismatch"]


async def test_a_wanted_argument_may_be_left_out_where_it_has_a_default() -> None:
    @tool
    async def maybe(ctx: ToolContext[Any], dataset: Annotated[list[Any] | None, Wants("dataset/rows")] = None) -> str:
        """Maybe."""
        return f"{dataset} {dict(ctx.wanted)}"

    assert said(await made([call("maybe"), "done"], [maybe]).run("go")) == ["None {}"]


async def test_all_arguments_are_judged_before_one_refusal() -> None:
    @tool
    async def both(left: Annotated[Any, Wants("a")], right: Annotated[Any, Wants("b")]) -> str:
        """Both."""
        return "never"

    (refusal,) = said(await made([call("both", left=UNKNOWN, right="x"), "done"], [both]).run("go"))
    assert refusal.splitlines()[:2] == [
        f"left: there is no artifact {UNKNOWN} here, or no more",
        "right: there is no such artifact here, or no more",
    ]


@pytest.mark.parametrize("late", [False, True])
async def test_an_approval_is_over_the_ref_and_no_waiver(late: bool) -> None:
    @tool(name="chart", approval=True)
    async def approved(dataset: Annotated[list[Any], Wants("dataset/rows")]) -> str:
        """Draw."""
        return f"{len(dataset)} rows"

    clock = Clock()
    store = memory_artifacts(ttl_s=60, clock=clock)
    plugin = Artifacts(store=store)
    result = await made([call("load"), charting], [load, approved], plugin).run("go")
    assert result.pause is not None
    (question,) = result.pause.questions
    assert question.arguments == {"dataset": said(result)[0]}
    assert "north" not in result.pause.to_json()
    clock.ms += 60_001 if late else 0
    ended = await made(["done"], [load, approved], plugin).resume(Pause.from_json(result.pause.to_json()), approve())
    assert ("no more" in said(ended)[1]) if late else (said(ended)[1] == "2 rows")
    assert [expired.reason for expired in filed(ended, "expired")] == (["ttl"] if late else [])


async def test_a_call_that_waited_for_anothers_question_gets_its_data_on_the_resume() -> None:
    @tool(mutating=True)
    def wait() -> str:
        """Wait."""
        ask_human("Go on?")

    @tool(name="chart", mutating=True)
    async def late(ctx: ToolContext[Any], dataset: Annotated[list[Any], Wants("dataset/rows")]) -> str:
        """Draw."""
        return f"{len(dataset)} {ctx.wanted['dataset'].kind}"

    plugin = Artifacts()
    script = [call("load"), lambda request: [call("wait"), call("chart", dataset=last(request))]]
    result = await made(script, [load, wait, late], plugin).run("go")
    assert result.pause is not None
    ended = await made(["done"], [load, wait, late], plugin).resume(Pause.from_json(result.pause.to_json()), "yes")
    assert said(ended)[1:] == ["yes", "2 dataset/rows"]


async def test_a_placed_result_is_wanted_by_another_tool_as_what_it_says() -> None:
    @tool(metadata={"result_kind": "dataset/rows"})
    def query() -> list[dict[str, Any]]:
        """Query."""
        return ROWS * 100

    script = [call("query"), lambda request: call("chart", dataset=json.loads(last(request))["ref"]), "done"]
    result = await made(script, [query, chart], Artifacts(max_inline_chars=500)).run("go")
    assert said(result)[1] == "200 rows from query result, first north"


def test_a_wanting_tool_without_the_plugin_is_refused_at_build() -> None:
    with pytest.raises(ConfigError, match="agentfp-artifacts"):
        Agent(ScriptedModel(["x"]), tools=[chart])


@pytest.mark.parametrize("kind", ["", "  ", None])
def test_a_blank_kind_is_refused(kind: Any) -> None:
    with pytest.raises(ConfigError, match="needs the kind"):
        Wants(kind)


# --- ctx.artifacts ---


async def test_without_the_plugin_the_tool_is_told_how_to_switch_it_on() -> None:
    result = await Agent(ScriptedModel([call("load"), "done"]), tools=[load]).run("go")
    assert outcomes(result) == ["failure"]
    ended: Any
    (ended,) = [event.payload for event in result.record if event.name == "agentfp.tool.ended"]
    assert ended.error_class == "CapabilityMissingError"
    assert names(result) == []


async def test_a_sync_tool_uses_artifacts_from_its_thread() -> None:
    @tool
    def sync(ctx: ToolContext[Any]) -> str:
        """Sync."""
        meta = anyio.from_thread.run(lambda: ctx.artifacts.put(kind="k", media_type="text/plain", data="x"))
        return str(anyio.from_thread.run(ctx.artifacts.get, meta.ref).data)

    result = await made([call("sync"), "done"], [sync]).run("go")
    assert said(result) == ["x"]
    assert names(result) == ["minted", "resolved"]


async def test_every_verb_is_on_the_record(maker: Maker) -> None:
    @tool
    async def work(ctx: ToolContext[Any]) -> str:
        """Work."""
        artifacts = ctx.artifacts
        parent = await artifacts.put(kind="a", media_type="text/plain", data="parent")
        child = await artifacts.put(kind="b", media_type="text/plain", data="child", parent_refs=[parent.ref])
        grown = await artifacts.put(kind="c", media_type="text/plain", data="grown", parent_refs=[child.ref, parent.ref])
        kinds = [meta.kind for meta in await artifacts.lineage(grown.ref)]
        await artifacts.head(child.ref)
        await artifacts.delete(parent.ref)
        missing = await artifacts.get(parent.ref)
        left = sorted(meta.kind for meta in (await artifacts.list()).artifacts)
        try:
            await artifacts.put(kind=" ", media_type="text/plain", data="x")
        except InvalidArtifactError:
            return f"{kinds} {missing} {left}"
        return "not refused"

    result = await made([call("work"), "done"], [work], Artifacts(store=maker())).run("go")
    assert said(result) == ["['c', 'b', 'a'] None ['b', 'c']"]
    assert names(result) == ["minted", "minted", "minted", "resolved", "deleted", "refused", "refused"]
    assert [(refused.op, refused.reason) for refused in filed(result, "refused")] == [
        ("get", "missing_or_expired"),
        ("put", "invalid_input"),
    ]


class Foreign:
    """A store of somebody else: the five verbs and no more, and what is asked of it may fail in its own way or be answered with a lie."""

    def __init__(self, **instead: Any) -> None:
        self._inner = memory_artifacts()
        self._instead = instead
        for verb in ("put", "head", "get", "delete", "list"):
            setattr(self, verb, instead.get(verb, getattr(self._inner, verb)))


async def test_what_a_foreign_store_raises_is_on_the_record_without_its_words() -> None:
    async def fails(*args: Any, **more: Any) -> Any:
        raise ConnectionError("the tenant is secret")

    @tool
    async def work(ctx: ToolContext[Any]) -> str:
        """Work."""
        with pytest.raises(ConnectionError):
            await ctx.artifacts.put(kind="a", media_type="text/plain", data="x")
        with pytest.raises(ConnectionError):
            await ctx.artifacts.get(UNKNOWN)
        return "tried"

    store: Any = Foreign(put=fails, get=fails)
    result = await made([call("work"), "done"], [work], Artifacts(store=store)).run("go")
    assert said(result) == ["tried"]
    assert [(refused.op, refused.reason, refused.ref, refused.detail) for refused in filed(result, "refused")] == [
        ("put", "unavailable", None, "ConnectionError"),
        ("get", "unavailable", UNKNOWN, "ConnectionError"),
    ]


async def test_a_range_of_a_store_without_ranges_ends_where_the_artifact_does() -> None:
    found: list[Any] = []

    @tool
    async def work(ctx: ToolContext[Any]) -> str:
        """Work."""
        meta = await ctx.artifacts.put(kind="a", media_type="text/plain", data="0123456789")
        for offset, length in ((-5, 3), (8, 5), (20, 5), (2, -1)):
            part = await ctx.artifacts.get_range(meta.ref, offset, length)
            found.append((part.offset, part.data))
        return "read"

    store: Any = Foreign()
    await made([call("work"), "done"], [work], Artifacts(store=store)).run("go")
    assert found == [(0, b"012"), (8, b"89"), (10, b""), (2, b"")]


async def test_a_store_that_says_two_things_of_an_artifact_hands_out_nothing() -> None:
    async def another(scope: Any, ref: str) -> Any:
        found = await memory.get(scope, ref)
        assert found is not None
        return dataclasses.replace(found, meta=dataclasses.replace(found.meta, kind="payroll"))

    store: Any = Foreign(get=another)
    memory = store._inner
    result = await made([call("load"), charting, "done"], [load, chart], Artifacts(store=store)).run("go")
    assert outcomes(result) == ["success", "denied"]
    assert "cannot be read now" in said(result)[1]


async def test_a_text_that_only_begins_like_json_is_handed_over_as_it_is() -> None:
    deep = "[" * 100_000

    @tool
    async def write(ctx: ToolContext[Any]) -> str:
        """Write."""
        meta = await ctx.artifacts.put(kind="text", media_type="application/json", data=deep)
        return str(meta.ref)

    @tool
    async def count(ctx: ToolContext[Any], text: Annotated[Any, Wants("text")]) -> str:
        """Count."""
        return str(text == deep)

    result = await made([call("write"), lambda request: call("count", text=last(request)), "done"], [write, count]).run("go")
    assert said(result)[1] == "True"


async def test_what_a_lineage_finds_expired_is_on_the_record(maker: Maker) -> None:
    store = maker()

    @tool
    async def work(ctx: ToolContext[Any]) -> str:
        """Work."""
        parent = await ctx.artifacts.put(kind="a", media_type="text/plain", data="parent", expires_at=NOW + 10)
        child = await ctx.artifacts.put(kind="b", media_type="text/plain", data="child", parent_refs=[parent.ref])
        store.now.ms += 10
        return str([meta.kind for meta in await ctx.artifacts.lineage(child.ref)])

    result = await made([call("work"), "done"], [work], Artifacts(store=store)).run("go")
    assert said(result) == ["['b']"]
    assert names(result) == ["minted", "minted", "expired"]


async def test_what_a_put_sweeps_away_is_on_the_record_before_it(maker: Maker) -> None:
    @tool
    async def work(ctx: ToolContext[Any]) -> str:
        """Work."""
        for index in range(3):
            store.now.ms += 10
            await ctx.artifacts.put(kind=f"k{index}", media_type="text/plain", data="x")
        return "done"

    store = maker(max_count_per_scope=2)
    result = await made([call("work"), "done"], [work], Artifacts(store=store)).run("go")
    assert names(result) == ["minted", "minted", "expired", "minted"]
    assert [(expired.kind, expired.reason) for expired in filed(result, "expired")] == [("k0", "max_count")]


# --- scopes ---


async def redeeming(plugin: Artifacts, **first_and_second: Any) -> Any:
    """A run that puts, and another that wants what the first one put."""
    first, second = first_and_second["first"], first_and_second["second"]
    ref = said(await made([call("load"), "done"], [load], plugin).run("go", **first))[0]
    return await made([call("chart", dataset=ref), "done"], [chart], plugin).run("go", **second)


@pytest.mark.parametrize(
    ("first", "second", "same"),
    [
        ({}, {}, False),
        ({"session_id": "s1"}, {"session_id": "s2"}, False),
        ({"session_id": "s1"}, {"session_id": "s1"}, True),
        ({"session_id": "s1", "identity": Identity(tenant="t1")}, {"session_id": "s1", "identity": Identity(tenant="t2")}, False),
        (
            {"session_id": "s1", "identity": Identity(tenant="t", principal="p1")},
            {"session_id": "s1", "identity": Identity(tenant="t", principal="p2")},
            False,
        ),
        (
            {"identity": Identity(tenant="t", principal="p", conversation_id="c")},
            {"identity": Identity(tenant="t", principal="p", conversation_id="c")},
            True,
        ),
    ],
)
async def test_a_ref_is_worth_something_in_its_own_scope_only(first: Any, second: Any, same: bool) -> None:
    result = await redeeming(Artifacts(), first=first, second=second)
    assert outcomes(result) == (["success"] if same else ["denied"])


async def test_a_conversation_has_its_artifacts_over_its_turns() -> None:
    agent = made([call("load"), "done", lambda request: call("chart", dataset=request.messages[2].text), "done"], [load, chart])
    chat = agent.conversation()
    await chat.send("load")
    assert said(await chat.send("chart"))[-1] == "2 rows from rows, first north"


# --- present ---


async def test_a_long_label_does_not_fill_a_refusal() -> None:
    script = [call("load", label="x" * 100_000), call("chart", dataset=UNKNOWN), "done"]
    result = await made(script, [load, chart]).run("go")
    assert len(said(result)[1]) < 500
    assert said(result)[0] in said(result)[1]


@pytest.mark.parametrize("whose", [{}, {"identity": Identity(tenant="acme", principal="ann")}, {"session_id": "s"}])
async def test_a_nested_agent_works_with_the_artifacts_of_its_parent(whose: dict[str, Any], maker: Maker) -> None:
    plugin = Artifacts(store=maker())
    inner = made([call("load"), last], [load], plugin)
    agent = made([call("sub", request="load"), charting, "done"], [inner.as_tool("sub", "Loads."), chart], plugin)
    result = await agent.run("go", **whose)
    assert said(result)[1] == "2 rows from rows, first north"


async def test_presenting_is_on_the_record_with_what_it_is() -> None:
    def showing(request: Any) -> Any:
        return call("present", ref=last(request), label="Churn by region", **{"as": "bar-chart"})

    result = await made([call("load"), showing, "done"], [load]).run("go")
    ref, shown = said(result)
    snapshot = {"kind": "dataset/rows", "media_type": "application/json", "bytes": 59, "label": "Churn by region"}
    assert json.loads(shown) == {"presented": True, "ref": ref, "as": "bar-chart", "snapshot": snapshot}
    (presented,) = filed(result, "presented")
    assert (presented.ref, presented.view, presented.label) == (ref, "bar-chart", "Churn by region")
    assert Artifacts.kept(result).presented == [presented]


async def test_what_was_named_when_it_was_put_is_the_title_without_another() -> None:
    script = [call("load"), lambda request: call("present", ref=last(request), **{"as": "table"}), "done"]
    result = await made(script, [load]).run("go")
    assert json.loads(said(result)[1])["snapshot"]["label"] == "rows"


@pytest.mark.parametrize("arguments", [{"ref": " ", "as": "table"}, {"ref": UNKNOWN, "as": ""}])
async def test_a_blank_ref_or_view_is_told_in_words(arguments: dict[str, str]) -> None:
    result = await made([call("present", **arguments), "done"], []).run("go")
    assert "is blank" in said(result)[0]
    assert outcomes(result) == ["failure"]
    assert names(result) == []


async def test_presenting_what_is_not_there_lists_what_is() -> None:
    result = await made([call("load"), call("present", ref=UNKNOWN, **{"as": "table"}), "done"], [load]).run("go")
    ref, refusal = said(result)
    assert refusal == f"There is no artifact of this ref here, or no more. Artifacts: {ref} (rows)."
    assert filed(result, "presented") == []


def test_a_tool_of_the_same_name_is_refused_at_build() -> None:
    @tool
    def present() -> str:
        """Present."""
        return ""

    with pytest.raises(ConfigError, match="'present'"):
        made(["x"], [present])
    Agent(ScriptedModel(["x"]), tools=[present])


# --- the application, the settings, the rules ---


async def test_the_application_gets_what_was_presented_from_a_saved_record(tmp_path: Any) -> None:
    plugin = Artifacts()
    result = await made([call("load"), "done"], [load], plugin).run("go")
    result.record.save(tmp_path / "run.jsonl")
    kept = Artifacts.kept(tmp_path / "run.jsonl")
    (ref,) = kept.minted
    found = await plugin.of(tmp_path / "run.jsonl").get(ref)
    assert found is not None
    assert found.data == ROWS
    assert kept == Artifacts.kept(result)


@pytest.mark.parametrize(
    ("settings", "said_of_it"),
    [
        ({"store": "sqllite"}, "did you mean 'sqlite'"),
        ({"store": 3}, "a store with put, head"),
        ({"store": "file"}, "needs a path"),
        ({"store": "s3"}, "needs a bucket"),
        ({"path": "x"}, "path is of file and sqlite"),
        ({"bucket": "x"}, "bucket is of s3"),
        ({"max_inline_chars": 0}, "max_inline_chars"),
        ({"preview_chars": 5}, "needs max_inline_chars"),
        ({"max_inline_chars": 5, "preview_chars": 6}, "more than max_inline_chars"),
        ({"store": memory_artifacts(), "ttl_s": 5}, "set on the store itself"),
        ({"max_inline_char": 5}, "did you mean 'max_inline_chars'"),
    ],
)
def test_settings_that_do_not_fit_are_refused(settings: dict[str, Any], said_of_it: str) -> None:
    with pytest.raises(ConfigError, match=said_of_it):
        Artifacts(**settings)


async def test_a_store_that_the_settings_name_is_closed_with_the_agent(tmp_path: Any) -> None:
    plugin = Artifacts(store="sqlite", path=str(tmp_path / "a.db"), ttl_s=60)
    agent = made([call("load"), charting, "done"], [load, chart], plugin)
    assert said(await agent.run("go"))[1] == "2 rows from rows, first north"
    await agent.shutdown()
    assert not (tmp_path / "a.db-wal").exists()  # which the last connection to close clears away


# --- secrets ---


class Handing(Plugin):
    """Hands a secret to tools, as a plugin for credentials does."""

    name = "handing"

    def masked_values(self, run: Any) -> tuple[str, ...]:
        return ("SENTINEL-4711", "471108150815")


@pytest.mark.parametrize(
    ("data", "kept"),
    [
        ("a SENTINEL-4711 b", "a [REDACTED] b"),
        (b"\x00 SENTINEL-4711 \xff", b"\x00 [REDACTED] \xff"),
        ({"k": ["SENTINEL-4711", 7]}, {"k": ["[REDACTED]", 7]}),
        ({"k": [7]}, {"k": [7]}),
    ],
)
async def test_what_a_tool_puts_is_masked(data: Any, kept: Any, maker: Maker) -> None:
    store = maker()

    @tool
    async def put(ctx: ToolContext) -> str:
        """Put it."""
        meta = await ctx.artifacts.put(kind="k", media_type="m", data=data, label="of SENTINEL-4711", digest="sha-256")
        return str(meta.ref)

    plugin = Artifacts(store=store)
    result = await made([call("put"), "done"], [put], plugin, plugins=[Handing()]).run("go")
    found = await plugin.of(result).get(said(result)[0])
    assert found is not None
    assert (found.data, found.meta.label) == (kept, "of [REDACTED]")


@pytest.mark.parametrize("how", ["number", "stream"])
async def test_what_cannot_be_masked_is_not_stored(how: str) -> None:
    @tool
    async def put(ctx: ToolContext) -> str:
        """Put it."""

        async def chunks() -> Any:
            for piece in (b"a SENTI", b"NEL-4711"):
                yield piece

        if how == "number":
            await ctx.artifacts.put(kind="k", media_type="m", data={"n": 471108150815})
        await ctx.artifacts.put_stream(chunks(), kind="k", media_type="m", bytes=15)
        return "put"

    plugin = Artifacts()
    result = await made([call("put"), "done"], [put], plugin, plugins=[Handing()]).run("go")
    assert outcomes(result) == ["failure"]
    assert [refused.reason for refused in filed(result, "refused")] == ["invalid_input"]
    assert (await plugin.of(result).list()).artifacts == ()


def test_keeps_the_rules_of_plugins() -> None:
    @tool
    def long(size: int = 3000) -> str:
        """Long."""
        return "x" * size

    script = [call("long"), [call("load"), call("long", size=5)], call("read_artifact", ref=UNKNOWN), "done"]
    check_plugin(lambda: Artifacts(max_inline_chars=1500, preview_chars=20), tools=[long, load], script=script)
    check_plugin(Artifacts)
