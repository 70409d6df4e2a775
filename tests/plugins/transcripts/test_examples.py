"""The example transcripts, judged from the shell by the judge that people use: what was edited into them is found, nothing else."""

from __future__ import annotations

import json
from pathlib import Path

from agentfp_core.cli import main
from tests.plugins.transcripts.conftest import Done
from tests.plugins.transcripts.test_page import parse

EXAMPLES = Path(__file__).resolve().parents[3] / "examples" / "transcripts"
FORMATS = {
    "openai-chat.jsonl": "openai-chat",
    "openai-responses.json": "openai-responses",
    "anthropic.json": "anthropic",
    "langchain.json": "langchain",
    "langgraph-state.json": "langchain",
    "pydantic-ai.json": "pydantic-ai",
    "otel-genai.jsonl": "spans",
    "openinference-phoenix.json": "spans",
    "atif.json": "atif",
    "agentfp-recording.jsonl": "agentfp",
    "airports-live.jsonl": "agentfp",
    "airports-live.openai.jsonl": "openai-chat",
}
EDITED = {"stock-invented", "shop-atif-invented"}
INVENTED = {"TB-2047", "1,149", "16 March 2026"}
LIVE_INVENTED = {"153.0 feet", "1871", "Bergen Airport Sandsli"}


def run(capsys: object, *arguments: str) -> Done:
    capsys.readouterr()  # type: ignore[attr-defined]
    code = main(["check", *arguments])
    captured = capsys.readouterr()  # type: ignore[attr-defined]
    return Done(int(code), captured.out, captured.err)


def test_what_was_edited_is_found_and_nothing_else(capsys: object, tmp_path: Path) -> None:
    done = run(capsys, str(EXAMPLES), "--json", "--html", str(tmp_path / "page.html"))
    assert done.code == 0
    found = {Path(line["source"].partition(":")[0]).name: line["format"] for line in done.lines}
    assert found == FORMATS
    for line in done.lines:
        flagged = " ".join(text for answer in line["answers"] for text in answer["unsupported"])
        live = line["id"] == "airports-live-invented"
        edited = live or line["id"] in EDITED or line["format"] == "anthropic"
        assert bool(flagged) == edited, line
        assert not edited or all(value in flagged for value in (LIVE_INVENTED if live else INVENTED)), flagged
        assert line["answers"][0]["values"]
    reader = parse((tmp_path / "page.html").read_text(encoding="utf-8"))
    assert len(reader.of("article", "flagged")) == 6


def test_the_command_fails_on_inventions(capsys: object) -> None:
    assert run(capsys, str(EXAMPLES / "anthropic.json"), "--fail-on", "strong").code == 1
    assert run(capsys, str(EXAMPLES / "langchain.json"), "--fail-on", "any").code == 0


def test_a_format_of_its_own_by_its_map(capsys: object) -> None:
    folder = EXAMPLES.parent / "own-format"
    (line,) = run(capsys, str(folder / "shop-log.json"), "--map", str(folder / "map.toml"), "--json").lines
    assert line["answers"][0]["unsupported"] == []
    assert any(source["message"] == 3 for value in line["answers"][0]["values"] for source in value["sources"])


def test_every_example_is_described() -> None:
    described = (EXAMPLES / "README.md").read_text(encoding="utf-8")
    for path in EXAMPLES.rglob("*.json*"):
        assert f"`{path.relative_to(EXAMPLES).as_posix()}`" in described
        assert json.loads(path.read_text(encoding="utf-8").splitlines()[0] if path.suffix == ".jsonl" else path.read_text(encoding="utf-8"))
