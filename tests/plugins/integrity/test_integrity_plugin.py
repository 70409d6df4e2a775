"""The rules of plugins, hostile calls, and the readme."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentfp import Agent, tool
from agentfp.testing import Harness, ScriptedModel, call, check_plugin
from agentfp_integrity import Integrity, declares
from agentfp_integrity.checks import arguments, lookups
from agentfp_integrity.grounds import Grounds
from agentfp_integrity.leaves import leaves_of, offered
from tests.docs.blocks import blocks_of
from tests.docs.runner import PageRun
from tests.plugins.integrity.test_integrity_checks import jobs, log
from tests.plugins.integrity.test_integrity_ledger import count

SCRIPT = [call("jobs"), [call("log", job="job-99"), call("count", job="job-44")], "Done."]


def test_it_keeps_the_rules_of_plugins() -> None:
    check_plugin(Integrity, tools=[jobs, log, count], script=SCRIPT)
    check_plugin(
        lambda: Integrity(posture="dev", check_column_types="enforce", notice_empty_lookups=True), tools=[jobs, log, count], script=SCRIPT
    )


def test_a_plugin_that_is_off_is_absent() -> None:
    def requests(*plugins: Any) -> list[str]:
        model = ScriptedModel([call("jobs", id="c1"), call("log", id="c2", job="job-99"), "Done."])
        Agent(model, tools=[jobs, log], plugins=plugins).run_sync("Go.")
        return [repr((request.system, request.tools, [message.text for message in request.messages])) for request in model.requests]

    assert requests() == requests(Integrity(posture="dev", check_column_types="enforce", notice_empty_lookups=True))


# --- hostile ------------------------------------------------------------------------------------------------------------------


@pytest.mark.anyio
@pytest.mark.parametrize(
    "job",
    [
        {"a": [{"b": ["job-99"] * 50}] * 20},
        "x" * 200_000,
        "\ud800\ud800\ud800\ud800",
        "(" * 5_000,
        "İİİİ",
        10**200,
        None,
    ],
)
async def test_odd_arguments_refuse_no_call(job: Any) -> None:
    script = [call("log", job=job), "Done."]
    outcome = await Harness([Integrity(notice_empty_lookups=True)], tools=[jobs, log], script=script, dev=False).run("Go.")
    assert (outcome.failures, outcome.calls[0].outcome) == ([], "success")


@pytest.mark.anyio
async def test_a_check_that_breaks_refuses_no_call(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arguments, "judge", lambda *_, **__: 1 / 0)
    outcome = await Harness([Integrity()], tools=[jobs, log], script=[call("log", job="job-99"), "Done."]).run("Go.")
    outcome.assert_answered("Done.")
    (row,) = [row for row in Integrity.report(outcome) if row.check == "unsupported-argument"]
    assert row.unreachable == 1


@pytest.mark.anyio
async def test_schemas_of_servers_may_be_anything() -> None:
    assert offered("[" * 5_000) == frozenset()
    deep: Any = {"enum": ["Deep"]}
    for _ in range(20):
        deep = {"properties": deep}
    assert offered('{"a":{"enum":["One",2]},"b":[{"const":"Two"}]}') == {"one", "two"}
    assert lookups.is_empty("success", "[" * 5_000) is None


@given(
    st.recursive(st.none() | st.booleans() | st.integers() | st.text(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner))
)
def test_leaves_are_texts_of_four_characters_and_numbers_of_five_digits(data: Any) -> None:
    for path, leaf in leaves_of(data):
        assert isinstance(path, str)
        assert len(leaf) >= 4


WORDS = st.text("ab-4_ .", min_size=1, max_size=8)


@settings(max_examples=200)
@given(st.lists(WORDS, max_size=4), WORDS)
def test_the_index_finds_what_a_plain_search_finds(texts: list[str], leaf: str) -> None:
    from agentfp import Message

    grounds = Grounds()
    grounds.add([Message(f"m{n}", "user", text) for n, text in enumerate(texts)])
    held = any(leaf in text for text in texts)
    found = grounds.look(leaf, left=set(), pieces=[])
    assert (found is not None) == held
    gone = {f"m{n}" for n in range(len(texts))}
    assert grounds.look(leaf, left=gone, pieces=[]) is None


def test_a_tool_made_elsewhere_may_declare_in_its_metadata() -> None:
    made = declares(arguments_from=["jobs"], result_columns={"n": {"type": "number", "nullable": True}})

    @tool(metadata=made)
    async def other(job: str) -> str:
        """Other."""
        return job

    assert other.metadata["integrity"]["result_columns"]["n"] == {"type": "number", "nullable": True}


# --- the readme ---------------------------------------------------------------------------------------------------------------

README = Path(__file__).resolve().parents[3] / "plugins" / "integrity" / "README.md"
NOT_RUN = {"pip install agentfp-integrity": "installs into the environment that this test runs in"}


def test_the_blocks_of_the_readme_run(tmp_path: Path) -> None:
    page = PageRun("integrity.md", tmp_path)
    with page.open():
        for block in blocks_of("plugins/integrity/README.md", README.read_text(encoding="utf-8")):
            if block.text.strip() not in NOT_RUN:
                page.run(block)
