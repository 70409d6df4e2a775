"""The page of events is what the catalog says."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from agentfp.events import CATALOG
from scripts import event_table, plugin_events


def test_the_page_is_up_to_date() -> None:
    assert event_table.PAGE.read_text(encoding="utf-8") == event_table.page(), "write it with python -m scripts.event_table"


def test_every_event_and_each_of_its_fields_is_on_the_page() -> None:
    rows = {line.split("`")[1]: line for line in event_table.page().splitlines() if line.startswith("| `agentfp.")}
    assert set(rows) == set(CATALOG)
    for name, kind in CATALOG.items():
        assert all(f"`{field.name}`" in rows[name] for field in dataclasses.fields(kind)), name  # type: ignore[arg-type]


def test_names_of_other_catalogs_lead_to_events_that_there_are() -> None:
    assert {here for _, here, _ in event_table.ELSEWHERE} <= set(CATALOG)


def test_a_page_that_is_out_of_date_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_table, "PAGE", tmp_path / "events.md")
    assert event_table.main(["--check"]) == 1
    assert event_table.main([]) == 0
    assert event_table.main(["--check"]) == 0


@pytest.mark.parametrize(("readme", "wanted"), [pytest.param(*page, id=page[0].parent.name) for page in plugin_events.pages()])
def test_the_events_of_a_plugin_stand_on_its_page(readme: Path, wanted: str) -> None:
    assert readme.read_text(encoding="utf-8") == wanted, "write it with python -m scripts.event_table"


def test_every_plugin_with_events_has_a_page_for_them() -> None:
    pages = dict(plugin_events.pages())
    for readme, plugins in plugin_events.plugins():
        for kind in [kind for plugin in plugins for kind in plugin.events]:
            assert f"| `{kind.event_name}` |" in pages[readme]


def test_a_section_takes_the_place_of_an_older_one() -> None:
    page = "# P\n\nText.\n\n## Events\n\nOld.\n\n## More\n\nText.\n"
    assert plugin_events.with_section(page, "## Events\n\nNew.\n") == page.replace("Old.", "New.")
    assert plugin_events.with_section("# P\n", "## Events\n") == "# P\n\n## Events\n"
