"""``agentfp cost``: recordings and folders of them, at the prices of then or at others."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from agentfp import Agent
from agentfp_core.cli import main
from agentfp_cost import Cost
from tests.plugins.cost.spending import PRICES, model, says


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("a", "b"):
        Agent(model(says("Done.")), plugins=[Cost(prices=PRICES)]).run_sync("x").record.save(tmp_path / f"{name}.jsonl")
    (tmp_path / "notes.txt").write_text("not a recording")
    return tmp_path


def run(capsys: Any, *arguments: str) -> tuple[int, str, str]:
    code = main(["cost", *arguments])
    said = capsys.readouterr()
    return code, said.out, said.err


def test_a_folder(folder: Path, capsys: Any) -> None:
    assert run(capsys, str(folder))[:2] == (0, "scripted:small\t2\t2000\t400\t0.012\t0\n")
    _, out, _ = run(capsys, str(folder), "--by", "file")
    assert out == "".join(f"{folder / name}.jsonl\t1\t1000\t200\t0.006\t0\n" for name in ("a", "b"))


def test_json_and_other_prices(folder: Path, capsys: Any) -> None:
    prices = folder / "dear.toml"
    prices.write_text("date = 2027-01-01\n[models.small]\ninput = 30\noutput = 150\n")
    code, out, err = run(capsys, str(folder / "a.jsonl"), "--prices", str(prices), "--json")
    told = json.loads(out)
    assert (code, told["usd"], told["calls"], told["prices"]["date"]) == (0, "0.06", 1, "2027-01-01")
    assert list(told["files"]) == [str(folder / "a.jsonl")]
    assert "dear.toml, 2027-01-01" in err
    prices.write_text("[models.else]\ninput = 1\noutput = 1\n")
    assert "no price is known" in run(capsys, str(folder / "a.jsonl"), "--prices", str(prices))[2]


def test_what_cannot_be_read(folder: Path, capsys: Any) -> None:
    code, out, err = run(capsys, str(folder / "notes.txt"), str(folder / "a.jsonl"))
    assert (code, out.count("\n")) == (1, 1)
    assert "notes.txt" in err
    assert run(capsys, str(folder / "notes.txt"))[0] == 2
    assert run(capsys, str(folder / "none.jsonl"))[0] == 2
    assert run(capsys, str(folder / "a.jsonl"), "--prices", str(folder / "notes.txt"))[0] == 2
    (folder / "empty").mkdir()
    assert run(capsys, str(folder / "empty"))[0] == 2
