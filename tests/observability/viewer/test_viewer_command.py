"""The command: what it prints, how it ends, what it says of files that it cannot show."""

from __future__ import annotations

import io
import json
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any, TypeAlias

import httpx
import pytest

from agentfp_core.cli import main
from agentfp_viewer.foreign import open_any
from tests.docs.blocks import Block, blocks_of
from tests.docs.runner import PageRun

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as in a suite that a shell started in the background; children inherit it
    signal.signal(signal.SIGINT, signal.default_int_handler)

Viewed: TypeAlias = Callable[..., tuple[int, str, str]]
ROOT = Path(__file__).resolve().parents[3]
EXAMPLES = ROOT / "examples" / "transcripts"


@pytest.fixture
def view(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Viewed:
    monkeypatch.chdir(tmp_path)

    def run(*words: str) -> tuple[int, str, str]:
        out, err = io.StringIO(), io.StringIO()
        with redirect_stdout(out), redirect_stderr(err):
            code = main(["view", *words])
        return code, out.getvalue(), err.getvalue()

    return run


def test_a_page_is_written_and_whole(view: Viewed, switch_file: Path, tmp_path: Path) -> None:
    code, out, _ = view(str(switch_file), "--html", "run.html")
    assert (code, out) == (0, "page written to run.html\n")
    page = (tmp_path / "run.html").read_text(encoding="utf-8")
    assert page.startswith("<!doctype html>")
    assert page.endswith("</html>\n")
    assert "http://" not in page.replace("http://www.w3.org/", "")
    assert [p.name for p in tmp_path.iterdir()] == ["run.html"]
    code, out, _ = view(str(switch_file), "--html", "run.html", "--json")
    assert json.loads(out) == {"page": str(tmp_path / "run.html"), "bytes": (tmp_path / "run.html").stat().st_size, "problems": []}


def test_what_cannot_be_shown_is_told(view: Viewed, switch_file: Path, tmp_path: Path) -> None:
    (tmp_path / "note.txt").write_text("Dear diary", encoding="utf-8")
    (tmp_path / "torn.jsonl").write_bytes(switch_file.read_bytes()[:-5])
    for words, said in (
        (("gone.jsonl",), "there is no file and no folder 'gone.jsonl'"),
        (("note.txt", "--html", "x.html"), "note.txt is no recording: it begins with text that is not JSON; and no transcript: "),
        ((str(tmp_path), "--html", "x.html"), "--html takes one recording"),
        ((str(switch_file), "--html", "no/x.html"), "there is no folder 'no'"),
        ((str(switch_file), "--html", "."), "is a folder"),
        ((str(switch_file), "--port", "70000"), "65535"),
    ):
        code, out, err = view(*words)
        assert (code, out) == (2, "")
        assert said in err
        assert "diary" not in err
    code, _, err = view("torn.jsonl", "--html", "x.html")
    assert code == 0
    assert "the last line is torn" in err


def test_a_port_that_is_taken(view: Viewed, switch_file: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        code, _, err = view(str(switch_file), "--port", str(port), "--no-open")
    assert code == 2
    assert f"port {port} cannot be had" in err


@contextmanager
def ended(process: subprocess.Popen[str]) -> Iterator[None]:
    """Whatever happens, it does not stay."""
    try:
        yield
    finally:
        process.kill()


@pytest.mark.parametrize("target", ["file", "folder"])
def test_it_serves_until_it_is_interrupted(switch_file: Path, target: str) -> None:
    path = switch_file if target == "file" else switch_file.parent
    command = [sys.executable, "-m", "agentfp", "view", str(path), "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process, ended(process):
        assert process.stdout is not None
        assert process.stderr is not None
        told: dict[str, Any] = json.loads(process.stdout.readline())
        with httpx.Client(trust_env=False) as client:
            assert client.get(told["url"]).status_code == 200
            (run,) = client.get(told["url"] + "api/runs").json()
            with client.stream("GET", f"{told['url']}api/run/{run['id']}/follow") as stream:
                next(stream.iter_bytes())  # a page that follows does not keep it
                process.send_signal(signal.SIGINT)
                assert process.wait(10) == 0
        assert "Traceback" not in process.stderr.read()


def shown(path: Path) -> dict[str, Any]:
    """Verdicts of the values of all answers in a file."""
    recording = open_any(path)
    verdicts: dict[str, Any] = {}
    for thread in recording.threads.values():
        assert thread.fold.question.startswith("Do you have trail bikes")
        for answer in thread.fold.answers:
            (event,) = recording.events(thread, thread.between(answer["seq"], answer["seq"]))
            verdicts |= {value["text"]: value["verdict"] for value in event["data"]["values"]}
    return verdicts


@pytest.mark.parametrize(
    ("name", "price"),
    [
        ("anthropic.json", "1,149 euros"),
        ("atif.json", "1,149 euros"),
        ("langchain.json", "1,249 euros"),
        ("langgraph-state.json", "1,249 euros"),
        ("openai-responses.json", "1,249 euros"),
        ("openinference-phoenix.json", "1,249 euros"),
        ("otel-genai.jsonl", "1,249 euros"),
        ("pydantic-ai.json", "1,249 euros"),
    ],
)
def test_what_check_reads_is_shown_with_verdicts(name: str, price: str) -> None:
    verdicts = shown(EXAMPLES / name)
    assert verdicts[price] == ("unsupported" if price == "1,149 euros" else "supported")


def test_a_transcript_without_a_judge_is_shown_without_verdicts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agentfp_viewer.foreign.installed_judges", dict)
    assert shown(EXAMPLES / "anthropic.json") == {}


def test_calls_whose_ids_are_missing_or_double_keep_their_results(tmp_path: Path) -> None:
    def called(name: str) -> dict[str, Any]:
        return {"id": "", "type": "function", "function": {"name": name, "arguments": "{}"}}

    messages = [
        {"role": "user", "content": "Do you have trail bikes"},
        {"role": "assistant", "content": "", "tool_calls": [called("one"), called("two")]},
        {"role": "tool", "tool_call_id": "", "content": '{"a": 17171}'},
        {"role": "tool", "tool_call_id": "", "content": '{"a": 28282}'},
        {"role": "assistant", "content": "17171 and 28282"},
    ]
    path = tmp_path / "t.json"
    path.write_text(json.dumps({"messages": messages}), encoding="utf-8")
    recording = open_any(path)
    (thread,) = recording.threads.values()
    calls = [row for row in thread.fold.rows if row["k"] == "tool"]
    assert [row["label"] for row in calls] == ["one", "two"]
    assert len({row["call"] for row in calls}) == 2
    (event,) = recording.events(thread, thread.between(thread.fold.answers[0]["seq"], thread.fold.answers[0]["seq"]))
    where = {value["text"]: json.loads(value["sources"])[0][2] for value in event["data"]["values"]}
    assert where == {"17171": calls[0]["call"], "28282": calls[1]["call"]}


class Readme(PageRun):
    """A page on which a command serves until it is interrupted."""

    def _command(self, block: Block, words: list[str], wanted: int) -> None:
        if words[:2] != ["agentfp", "view"] or "--html" in words:
            super()._command(block, words, wanted)
            return
        command = [sys.executable, "-m", *words, "--no-open"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process, ended(process):
            assert process.stdout is not None
            assert process.stdout.readline().startswith("http://127.0.0.1:")


def test_the_blocks_of_the_readme_run(tmp_path: Path) -> None:
    page = Readme("readme.md", tmp_path)
    with page.open():
        for block in blocks_of("README.md", (ROOT / "observability/viewer/README.md").read_text(encoding="utf-8")):
            page.run(block)
        assert (tmp_path / "work" / "run.html").exists()
