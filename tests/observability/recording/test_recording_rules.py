"""The plugin keeps the rules of plugins."""

from __future__ import annotations

import shutil
from pathlib import Path

from agentfp.testing import call, check_plugin
from agentfp_recording import Recording
from tests.observability.recording.scenes import breaks, look, shut

SCRIPT = [[call("look", switch="A"), call("breaks")], call("shut", port=3), "Done."]

WRITER = ["_writer"]
"""The files and the thread belong to no run."""


def test_it_keeps_the_rules_of_plugins(tmp_path: Path) -> None:
    check_plugin(lambda: Recording(folder=tmp_path / "recs"), tools=[look, shut, breaks], script=SCRIPT, may_change=WRITER)
    assert list((tmp_path / "recs").glob("*.jsonl"))


def test_it_keeps_them_without_a_place_to_write_to(tmp_path: Path) -> None:
    def blocked() -> Recording:
        shutil.rmtree(tmp_path / "recs", ignore_errors=True)
        (tmp_path / "recs").unlink(missing_ok=True) if (tmp_path / "recs").is_file() else None
        plugin = Recording(folder=tmp_path / "recs")
        (tmp_path / "recs").write_text("in the way")
        return plugin

    check_plugin(blocked, tools=[look, shut, breaks], script=SCRIPT, may_change=WRITER, may_fail=True)
