"""``agentfp cost``: recordings and folders of them, at the prices of then or at others."""

from __future__ import annotations

import gzip
import json
import lzma
import subprocess
import sys
from decimal import Decimal
from pathlib import Path
from typing import Any

import anyio
import pytest

from agentfp import Agent, ToolContext, Usage, tool
from agentfp_core.cli import main
from agentfp_cost import Cost
from tests.plugins.cost.spending import PRICES, calls, model, says


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


@pytest.fixture
def turns(tmp_path: Path) -> tuple[Path, Path]:
    """A conversation of two turns, saved after each."""
    chat = Agent(model(says("One."), says("Two.", (2000, 100))), plugins=[Cost(prices=PRICES)]).conversation()
    first, second = tmp_path / "first.jsonl", tmp_path / "second.jsonl"

    async def go() -> None:
        (await chat.send("a")).record.save(first)
        (await chat.send("b")).record.save(second)

    anyio.run(go)
    return first, second


BOTH = "scripted:small\t2\t3000\t300\t0.0135\t0\n"


def test_what_several_recordings_of_a_conversation_share_is_counted_once(turns: tuple[Path, Path], tmp_path: Path, capsys: Any) -> None:
    first, second = turns
    code, out, err = run(capsys, str(first), str(second))
    assert (code, out) == (0, BOTH)
    assert "1 call in more than one of the files; counted once" in err
    _, out, _ = run(capsys, str(tmp_path), str(second), str(tmp_path / "." / "second.jsonl"), "--json")
    told = json.loads(out)
    assert (told["calls"], told["usd"], len(told["files"])) == (2, "0.0135", 2)
    assert run(capsys, str(first), str(second), "--by", "turn")[1] == "1\t1\t1000\t200\t0.006\t0\n2\t1\t2000\t100\t0.0075\t0\n"


@pytest.mark.parametrize(("suffix", "pack"), [(".gz", gzip.compress), (".xz", lzma.compress)])
def test_packed_recordings(suffix: str, pack: Any, turns: tuple[Path, Path], tmp_path: Path, capsys: Any) -> None:
    packed = tmp_path / "packed" / f"r.jsonl{suffix}"
    packed.parent.mkdir()
    packed.write_bytes(pack(turns[1].read_bytes()))
    assert run(capsys, str(packed.parent))[:2] == (0, BOTH)
    packed.write_bytes(packed.read_bytes()[:-20])
    code, out, err = run(capsys, str(packed))
    assert (code, out) == (2, "")
    assert "cannot be unpacked to its end" in err


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_a_recording_that_is_piped_in_and_json_that_is_piped_on(pack: Any, turns: tuple[Path, Path]) -> None:
    command = [sys.executable, "-m", "agentfp", "cost", "-", "--json"]
    ended = subprocess.run(command, input=pack(turns[1].read_bytes()), capture_output=True, check=False)
    assert (ended.returncode, json.loads(ended.stdout)["usd"]) == (0, "0.0135")


def test_a_torn_last_line_is_said(turns: tuple[Path, Path], tmp_path: Path, capsys: Any) -> None:
    torn = tmp_path / "torn.jsonl"
    torn.write_bytes(turns[0].read_bytes()[:-30])
    code, out, err = run(capsys, str(torn), "--json")
    assert (code, json.loads(out)["torn"]) == (0, [str(torn)])
    assert "is torn and left out" in err
    torn.write_bytes(turns[0].read_bytes().splitlines(keepends=True)[0])
    code, out, err = run(capsys, str(torn))
    assert (code, out) == (0, "")
    assert "no call of a model" in err


ODD: list[Any] = [None, True, -1, 0, 10**30, 1.5, "", "NaN", "sNaN", "1e999999999", "-5", "9" * 400, "\u001b[31m", [], {}]


@pytest.mark.parametrize("key", ["usd", "cumulative_usd", "input_tokens", "output_tokens", "provider", "model", "duration_ms", "ts"])
def test_odd_values_in_a_recording_are_counted_as_unknown_or_refused(
    key: str, turns: tuple[Path, Path], tmp_path: Path, capsys: Any
) -> None:
    """A line that says more than what is odd is worth nothing; no price must come of it, and no traceback."""
    prices = tmp_path / "prices.toml"
    prices.write_text("[models.small]\ninput = 3\noutput = 15\n")
    path = tmp_path / "odd.jsonl"
    for odd in ODD:
        lines = []
        for line in turns[0].read_text().splitlines():
            event = json.loads(line)
            for place in (event, event.get("data", {})):
                if key in place:
                    place[key] = odd
            lines.append(json.dumps(event))
        path.write_text("\n".join(lines) + "\n")
        for arguments in (["--json"], ["--json", "--prices", str(prices)]):
            code, out, err = run(capsys, str(path), *arguments)
            assert code in (0, 2)
            assert "Traceback" not in err
            if code == 0:
                usd = json.loads(out)["usd"]
                assert usd is None or 0 <= Decimal(usd) < Decimal(10) ** 40


def test_other_prices_are_told_in_whatever_form_they_are_wrong(folder: Path, capsys: Any) -> None:
    for text in ("[models.small]\ninput = 1e999999999\noutput = 1\n", "x = [", "\x00", ""):
        (folder / "p.toml").write_text(text)
        code, out, err = run(capsys, str(folder / "a.jsonl"), "--prices", str(folder / "p.toml"))
        assert (code, out) == (2, "")
        assert "p.toml" in err
    assert run(capsys, str(folder / "a.jsonl"), "--prices", "/")[0] == 2
    assert run(capsys, str(folder / "a.jsonl"), "--prices", "/dev/zero")[0] == 2


def test_embeddings_stand_in_rows_of_their_own(tmp_path: Path, capsys: Any) -> None:
    @tool
    def near(ctx: ToolContext[Any]) -> str:
        """Look for what is near."""
        ctx.bill(Usage(input=4000), provider="openai", model="vectors", purpose="embed")
        return "near"

    result = Agent(model(calls("near"), says("Done.")), tools=[near], plugins=[Cost(prices=PRICES)]).run_sync("x")
    result.record.save(tmp_path / "r.jsonl")
    code, out, err = run(capsys, str(tmp_path / "r.jsonl"), "--by", "purpose")
    assert (code, out) == (0, "main\t2\t2000\t400\t0.012\t0\nembed\t1\t4000\t\t\t1\n")
    assert "not in any sum: 1 call without a known price" in err
    prices = tmp_path / "prices.toml"
    prices.write_text('[models.small]\ninput = 3\noutput = 15\n[models."openai:vectors"]\nembedding = 0.5\n')
    _, out, _ = run(capsys, str(tmp_path / "r.jsonl"), "--by", "purpose", "--prices", str(prices))
    assert out == "main\t2\t2000\t400\t0.012\t0\nembed\t1\t4000\t\t0.002\t0\n"
