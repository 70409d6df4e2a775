"""A result over the threshold goes to the store; the model reads a ticket, can read parts of it, and the whole is kept."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agentfp import Limits, ToolContext, ToolError, tool
from agentfp.artifacts import ArtifactStoreError, PutArtifact, PutResult, Scope
from agentfp.model import ModelRequest
from agentfp.plugin import CallView, Plugin, Replace, ResultView, Withhold, hookimpl
from agentfp.testing import call
from agentfp_artifacts import Artifacts, MemoryStore, memory_artifacts, sqlite_artifacts
from agentfp_artifacts.stores.base import wall_clock
from agentfp_artifacts.stores.retention import Limits as Limits_
from tests.plugins.artifacts.agents import filed, made, names, outcomes, ref_in, said
from tests.plugins.artifacts.stores import Maker

pytestmark = pytest.mark.anyio
TEXT = "".join(f"line {number:06d}\n" for number in range(500))


@tool
def fetch_audit() -> str:
    """The audit log."""
    return TEXT


SCRIPT = [call("fetch_audit", id="c1"), "done"]


async def test_a_long_result_is_placed_and_the_model_reads_a_ticket(maker: Maker) -> None:
    plugin = Artifacts(store=maker(), max_inline_chars=1500)
    result = await made(SCRIPT, [fetch_audit], plugin).run("go")
    ticket = json.loads(said(result)[0])
    assert {key: ticket[key] for key in ("placed", "kind", "media_type", "bytes")} == {
        "placed": True,
        "kind": "tool-result/fetch_audit",
        "media_type": "text/plain",
        "bytes": 6000,
    }
    for word in ("fetch_audit", "6000", "1500", ticket["ref"], "tool-result/fetch_audit", "read_artifact", "present"):
        assert word in ticket["reason"]
    assert "preview" not in ticket
    assert names(result) == ["minted", "placed"]
    (minted,) = filed(result, "minted")
    assert (minted.origin_call_id, minted.tool, minted.bytes, minted.label) == ("c1", "fetch_audit", 6000, "fetch_audit result")
    found = await plugin.of(result).get(ticket["ref"])
    assert found is not None
    assert found.data == TEXT
    assert outcomes(result) == ["success"]


async def test_the_record_keeps_the_whole_result_and_the_plugins_events_none_of_it() -> None:
    result = await made(SCRIPT, [fetch_audit], Artifacts(max_inline_chars=1500, preview_chars=30)).run("go")
    ended: Any
    (ended,) = [event.payload for event in result.record if event.name == "agentfp.tool.ended"]
    assert ended.content == TEXT
    assert json.loads(said(result)[0])["preview"] == TEXT[:30]
    for event in result.record:
        if event.name.startswith("agentfp.artifacts."):
            assert "line 0" not in repr(event.payload)


async def test_what_fits_stays_where_it_is() -> None:
    result = await made(SCRIPT, [fetch_audit], Artifacts(max_inline_chars=6000)).run("go")
    assert said(result) == [TEXT]
    assert names(result) == []


async def test_placing_is_off_unless_it_is_set() -> None:
    assert said(await made(SCRIPT, [fetch_audit]).run("go")) == [TEXT]


async def test_a_tools_own_ceiling_comes_first() -> None:
    @tool(name="fetch_audit", result_ceiling=1000)
    def capped() -> str:
        """The audit log."""
        return TEXT

    result = await made(SCRIPT, [capped], Artifacts(max_inline_chars=500), limits=Limits(tool_result_chars=800)).run("go")
    assert "above its ceiling of 1000" in said(result)[0]
    assert "truncated" not in said(result)[0]
    assert names(result) == []


async def test_the_cap_comes_last() -> None:
    result = await made(SCRIPT, [fetch_audit], Artifacts(max_inline_chars=10_000), limits=Limits(tool_result_chars=2000)).run("go")
    assert json.loads(said(result)[0])["truncated"] is True
    assert names(result) == []


async def test_a_failure_is_not_placed() -> None:
    @tool(name="fetch_audit")
    def failing() -> str:
        """The audit log."""
        raise ToolError("no " * 3000)

    result = await made(SCRIPT, [failing], Artifacts(max_inline_chars=100)).run("go")
    assert said(result) == ["no " * 3000]
    assert names(result) == []


async def test_rows_are_counted_and_a_tool_may_name_the_kind() -> None:
    @tool(metadata={"result_kind": "dataset/rows"})
    def rows() -> list[dict[str, int]]:
        """Rows."""
        return [{"a": number, "b": 0} for number in range(100)]

    result = await made([call("rows"), "done"], [rows], Artifacts(max_inline_chars=100)).run("go")
    ticket = json.loads(said(result)[0])
    assert (ticket["rows"], ticket["columns"], ticket["media_type"], ticket["kind"]) == (100, 2, "application/json", "dataset/rows")


class Hides(Plugin):
    """Changes a result, or withholds it."""

    name = "hides"

    class Settings(Plugin.Settings):
        withhold: bool

    @hookimpl(phase="rewrite")
    def after_result(self, result: ResultView, call: CallView) -> Any:
        return Withhold("no", tell_model="w" * 500) if self.settings.withhold else Replace(result.content.replace("line", "mask"))


async def test_what_is_placed_is_what_the_model_would_have_read() -> None:
    plugin = Artifacts(max_inline_chars=100)
    result = await made(SCRIPT, [fetch_audit], plugin, plugins=[Hides(withhold=False)]).run("go")
    found = await plugin.of(result).get(ref_in(said(result)[0]))
    assert found is not None
    assert found.data == TEXT.replace("line", "mask")


async def test_what_is_withheld_is_not_placed() -> None:
    result = await made(SCRIPT, [fetch_audit], Artifacts(max_inline_chars=100), plugins=[Hides(withhold=True)]).run("go")
    assert said(result) == ["w" * 500]
    assert names(result) == []


class FullDisk(MemoryStore):
    """A store whose disk is full."""

    async def put(self, scope: Scope, item: PutArtifact) -> PutResult:
        raise ArtifactStoreError("no space left")


async def test_when_the_store_fails_the_result_stays_and_the_run_goes_on(caplog: pytest.LogCaptureFixture) -> None:
    result = await made(SCRIPT, [fetch_audit], Artifacts(store=FullDisk(Limits_(), wall_clock), max_inline_chars=100)).run("go")
    assert said(result) == [TEXT]
    assert result.text == "done"
    (refused,) = filed(result, "refused")
    assert (refused.op, refused.reason, refused.tool) == ("put", "unavailable", "fetch_audit")
    assert "stays in the conversation" in caplog.text


async def test_a_database_that_is_really_full_leaves_the_result_where_it_is(tmp_path: Path) -> None:
    store = sqlite_artifacts(tmp_path / "a.db")
    with store._connection("test") as connection:
        connection.execute("PRAGMA max_page_count = 20")
    long = "x" * 500_000

    @tool
    def fetch_audit() -> str:
        """Fetch it."""
        return long

    result = await made(SCRIPT, [fetch_audit], Artifacts(store=store, max_inline_chars=100)).run("go")
    assert (said(result), result.text) == ([long], "done")
    assert "SQLITE_FULL" in filed(result, "refused")[0].detail
    store.close()


async def test_a_result_larger_than_the_store_may_hold_stays() -> None:
    plugin = Artifacts(store=memory_artifacts(max_bytes_per_scope=1000), max_inline_chars=100)
    result = await made(SCRIPT, [fetch_audit], plugin).run("go")
    assert said(result) == [TEXT]
    assert [refused.reason for refused in filed(result, "refused")] == ["invalid_input"]


# --- reading a part ---


def readings(ticket_of: int, *parts: dict[str, Any]) -> Iterator[Any]:
    """A script that fetches and then reads parts of what its ticket names."""
    yield call("fetch_audit")

    def reading(part: dict[str, Any]) -> Any:
        return lambda request: call("read_artifact", ref=ref_of(request, ticket_of), **part)

    for part in parts:
        yield reading(part)
    yield "done"


def ref_of(request: ModelRequest, index: int = 0) -> str:
    """The ref of a ticket in a request."""
    return ref_in([message.text for message in request.messages if message.role == "tool"][index])


async def test_the_model_reads_ranges_until_the_end(maker: Maker) -> None:
    plugin = Artifacts(store=maker(), max_inline_chars=1500, read_bytes=4000)
    script = list(readings(0, {}, {"offset": 4000}, {"offset": 2400, "length": 24}, {"offset": 6000}))
    result = await made(script, [fetch_audit], plugin).run("go")
    _, first, second, third, beyond = said(result)
    ref = ref_in(said(result)[0])
    assert first == f"[{ref}: bytes 0 to 4000 of 6000; go on with offset 4000]\n{TEXT[:4000]}"
    assert second == f"[{ref}: bytes 4000 to 6000 of 6000; this is the end]\n{TEXT[4000:]}"
    assert third == f"[{ref}: bytes 2400 to 2424 of 6000; go on with offset 2424]\n{TEXT[2400:2424]}"
    assert "the last offset is 5999" in beyond
    assert [resolved.via for resolved in filed(result, "resolved")] == ["range"] * 4


async def test_a_range_has_whole_characters_only() -> None:
    umlauts = "äöü€🎈" * 500

    @tool(name="fetch_audit")
    def fetch() -> str:
        """The audit log."""
        return umlauts

    parts: list[str] = []
    offsets = [0]

    def reading(request: ModelRequest) -> Any:
        texts = [message.text for message in request.messages if message.role == "tool"]
        if texts[-1].startswith("["):
            head, _, text = texts[-1].partition("\n")
            parts.append(text)
            if head.endswith("this is the end]"):
                return "done"
            offsets.append(int(head.rstrip("]").rpartition(" ")[2]))
        return call("read_artifact", ref=ref_of(request), offset=offsets[-1], length=1001)

    script = [call("fetch_audit"), *[reading] * 12]
    result = await made(script, [fetch], Artifacts(max_inline_chars=100), limits=Limits(iterations=20)).run("go")
    assert result.text == "done"
    assert "".join(parts) == umlauts


async def test_an_empty_artifact_is_said_to_be_empty() -> None:
    @tool
    async def nothing(ctx: ToolContext) -> str:
        """Keep nothing."""
        return str((await ctx.artifacts.put(kind="k", media_type="text/plain", data="")).ref)

    script = [call("nothing"), lambda request: call("read_artifact", ref=request.messages[-1].text), "Done."]
    result = await made(script, [nothing]).run("Go.")
    assert said(result)[1] == f"[{said(result)[0]} is empty]"


async def test_an_unknown_ref_and_what_is_no_text_are_told_in_words() -> None:
    @tool
    async def picture(ctx: ToolContext[None]) -> str:
        """A picture."""
        return (await ctx.artifacts.put(kind="image", media_type="image/png", data=bytes(range(256)))).ref  # type: ignore[no-any-return]

    script = [
        call("read_artifact", ref="art_" + "0" * 22),
        call("picture"),
        lambda request: call("read_artifact", ref=request.messages[-1].text),
        "done",
    ]
    result = await made(script, [picture]).run("go")
    assert said(result)[0] == "There is no artifact of this ref here, or no more. There are no artifacts."
    assert "is image/png and no text" in said(result)[2]
    assert outcomes(result) == ["failure", "success", "failure"]
