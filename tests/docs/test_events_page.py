"""The page of events is what the catalog says."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from agentfp.events import CATALOG
from scripts import event_table


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
