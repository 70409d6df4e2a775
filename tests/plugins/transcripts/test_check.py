"""``agentfp check``: which answers are judged, what is printed of them, how the command ends."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from agentfp.commands import Code
from agentfp.testing import PluginDist
from tests.plugins.transcripts.conftest import Checker

CALL = {"id": "c1", "type": "function", "function": {"name": "price", "arguments": '{"city": "Oslo"}'}}


def says(text: str | None, **more: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": text, **more}


def conversation(id: str, *answers: str) -> dict[str, Any]:
    """Somebody asks about 7 nights, the tool says 1234, then come the answers."""
    return {
        "id": id,
        "messages": [
            {"role": "user", "content": "What do 7 nights cost?"},
            says(None, tool_calls=[CALL]),
            {"role": "tool", "tool_call_id": "c1", "content": json.dumps({"rows": [{"city": "Oslo", "price": 1234}]})},
            *[says(text) for text in answers],
        ],
    }


@pytest.fixture
def write(folder: Path) -> Any:
    def write(*transcripts: Any, name: str = "t.jsonl") -> str:
        (folder / name).write_text("".join(f"{json.dumps(one)}\n" for one in transcripts))
        return name

    return write


# --- what is printed -------------------------------------------------------------------------------------------------------


def test_a_line_for_each_transcript(check: Checker, write: Any) -> None:
    done = check(write(conversation("a", "It is 1234 for 7, not 999."), conversation("b", "None.")), "--json")
    assert done.code == Code.OK
    first, second = done.lines
    assert list(first)[:2] == ["id", "answers"]
    assert (first["id"], second["id"]) == ("a", "b")
    (answer,) = first["answers"]
    assert list(answer)[:4] == ["index", "standing", "values", "unsupported"]
    assert (answer["index"], answer["standing"], answer["unsupported"]) == (3, "unsupported", ["999"])
    assert answer["values"] == [
        {
            "text": "1234", "kind": "number", "start": 6, "end": 10, "verdict": "supported", "severity": None, "how": "exact",
            "sources": [{"message": 2, "path": "$.rows[0].price", "call_id": "c1"}],
        },
        {"text": "7", "kind": "number", "start": 15, "end": 16, "verdict": "unverifiable", "severity": None, "how": "given", "sources": []},
        {"text": "999", "kind": "number", "start": 22, "end": 25, "verdict": "unsupported", "severity": "strong", "how": "", "sources": []},
    ]  # fmt: skip
    assert check("t.jsonl", "--format", "json").out == done.out


def test_rows_with_tabs_in_a_pipe_and_a_summary_beside_them(check: Checker, write: Any) -> None:
    done = check(write(conversation("a", "It is 1234 for 7, not\t999.")))
    assert [line.split("\t")[:8] for line in done.out.splitlines()] == [
        ["a", "3", "supported", "", "number", "1234", "exact", "message 2 price $.rows[0].price"],
        ["a", "3", "unverifiable", "", "number", "7", "given", ""],
        ["a", "3", "unsupported", "strong", "number", "999", "", ""],
    ]
    assert "1 transcript, 1 answer judged, 3 values: 1 supported, 1 unverifiable, 1 unsupported" in done.err
    assert "1 answer with unsupported values: 1 strong, 0 weak" in done.err


def test_answers_are_what_is_said_after_a_result(check: Checker, write: Any) -> None:
    made = conversation("a", "", "  ", "It is 1234.")
    made["messages"].insert(1, says("Let me see 5."))
    made["messages"].append(says("Also 6.", tool_calls=[CALL]))
    path = write(made)
    assert [a["index"] for a in check(path, "--json").lines[0]["answers"]] == [6, 7]
    assert [a["index"] for a in check(path, "--json", "--last").lines[0]["answers"]] == [7]
    assert [a["index"] for a in check(path, "--json", "--all").lines[0]["answers"]] == [1, 6, 7]
    assert "not checked: 1 answer before any tool result" in check(path).err
    assert "not checked" not in check(path, "--all").err
    assert "1 earlier answer" in check(path, "--json", "--last").lines[0]["not_checked"][0]


def test_a_transcript_without_answers_has_a_line_too(check: Checker, write: Any) -> None:
    done = check(write([{"role": "user", "content": "Hi"}, says("Hello 5")]), "--json")
    assert done.lines[0]["answers"] == []
    assert "not checked: 1 transcript without an answer to check" in done.err


@pytest.mark.parametrize("form", ["table", "json", "junit", "sarif", "github"])
def test_a_result_that_is_no_text_is_told_whatever_is_written(check: Checker, write: Any, form: str) -> None:
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
    path = write([{"role": "tool", "tool_call_id": "c1", "content": [image]}, says("It is 7.")])
    assert "not checked: 1 transcript in part" in check(path, "--format", form).err


def test_a_failed_result_is_no_source(check: Checker, write: Any) -> None:
    blocks = [{"type": "tool_result", "tool_use_id": "c", "content": "1234", "is_error": True}]
    made = [
        {"role": "user", "content": "How much?"},
        says([{"type": "tool_use", "id": "c", "name": "p", "input": {}}]),  # type: ignore[arg-type]
        {"role": "user", "content": blocks},
        says("1234"),
    ]
    assert check(write(made), "--json").lines[0]["answers"][0]["unsupported"] == ["1234"]


def test_a_prompt_that_the_export_lacks(check: Checker, write: Any, folder: Path) -> None:
    (folder / "prompt.txt").write_text("Never say 999.")
    path = write(conversation("a", "It is 1234, not 999."))
    assert check(path, "--json").lines[0]["answers"][0]["unsupported"] == ["999"]
    (answer,) = check(path, "--json", "--system", "prompt.txt").lines[0]["answers"]
    assert answer["index"] == 3
    assert answer["unsupported"] == []
    assert answer["values"][0]["sources"][0]["message"] == 2
    assert check(path, "--system", "no.txt").code == Code.USAGE


# --- how it ends --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("answer", "options", "code"),
    [
        ("1234", ["--fail-on", "any"], 0),
        ("9", [], 0),
        ("9", ["--fail-on", "strong"], 0),
        ("9", ["--fail-on", "any"], 1),
        ("999", ["--fail-on", "strong"], 1),
        ("999", ["--fail-on", "any", "--last"], 1),
        ("7", ["--fail-on", "any"], 0),
    ],
)
def test_fail_on(check: Checker, write: Any, answer: str, options: list[str], code: int) -> None:
    assert check(write(conversation("a", answer)), *options).code == code


def test_what_could_not_be_read_fails_only_where_the_command_guards(check: Checker, write: Any, folder: Path) -> None:
    path = write(conversation("a", "1234"), conversation("b", "1234"))
    (folder / path).write_text("{broken\n" + (folder / path).read_text())
    done = check(path, "--json")
    assert done.code == Code.OK
    assert [line["id"] for line in done.lines] == ["a", "b"]
    assert "t.jsonl:1: is not JSON" in done.err
    assert check(path, "--fail-on", "strong").code == Code.NEGATIVE


def test_nothing_to_read(check: Checker, folder: Path) -> None:
    (folder / "empty").mkdir()
    for path in ("no.json", "empty", "*.json"):
        done = check(path)
        assert done.code == Code.USAGE
        assert "no transcript was read" in done.err


def test_the_same_file_again_is_judged_again_under_another_id(check: Checker, write: Any) -> None:
    path = write(conversation("a", "1234"))
    assert [line["id"] for line in check(path, path, "--json").lines] == ["a", "a#2"]


def test_stdin(check: Checker) -> None:
    text = json.dumps(conversation("a", "1234")).encode()
    assert check("-", "--json", stdin=text).lines[0]["id"] == "a"


def test_flagged_leaves_out_what_is_sound(check: Checker, write: Any) -> None:
    path = write(conversation("a", "1234", "999"), conversation("b", "1234"))
    done = check(path, "--flagged")
    assert [line.split("\t")[:2] for line in done.out.splitlines()] == [["a", "4"]]
    assert "2 transcripts, 3 answers judged" in done.err
    assert [len(line["answers"]) for line in check(path, "--flagged", "--json").lines] == [1, 0]


# --- baselines --------------------------------------------------------------------------------------------------------------------


def test_a_baseline_leaves_what_is_new(check: Checker, write: Any, folder: Path) -> None:
    path = write(conversation("a", "999 and 999"), conversation("b", "888"))
    assert check(path, "--write-baseline", "known.json", "--fail-on", "any").code == Code.NEGATIVE
    assert len(json.loads((folder / "known.json").read_text())["findings"]) == 3
    done = check(path, "--baseline", "known.json", "--fail-on", "any", "--json")
    assert done.code == Code.OK
    assert [a["unsupported"] for line in done.lines for a in line["answers"]] == [[], []]
    assert done.lines[0]["answers"][0]["known"] == ["999", "999"]
    assert "nothing new" in done.err
    rows = [line.split("\t") for line in check(path, "--baseline", "known.json").out.splitlines()]
    assert [(row[2], row[5], row[-1]) for row in rows] == [("unsupported", text, "known") for text in ("999", "999", "888")]
    write(conversation("a", "999 and 999 and 999"), conversation("c", "888"))
    done = check(path, "--baseline", "known.json", "--fail-on", "any", "--json")
    assert done.code == Code.NEGATIVE
    assert [line["answers"][0]["unsupported"] for line in done.lines] == [["999"], ["888"]]


def test_a_baseline_that_cannot_be_written_is_told_before_the_work(check: Checker, write: Any) -> None:
    done = check(write(conversation("a", "1")), "--write-baseline", "no/known.json")
    assert (done.code, done.out) == (Code.USAGE, "")
    assert "--write-baseline no/known.json: there is no folder 'no'" in done.err


def test_what_is_no_baseline(check: Checker, write: Any, folder: Path) -> None:
    path = write(conversation("a", "1"))
    for text, words in (("{", "is no baseline"), ('{"version": 9}', "of version 9"), ('{"version": 1, "findings": [1]}', "is no baseline")):
        (folder / "b.json").write_text(text)
        done = check(path, "--baseline", "b.json")
        assert done.code == Code.USAGE
        assert words in done.err


# --- judges ------------------------------------------------------------------------------------------------------------------------


def test_without_a_judge_the_command_says_what_to_install(cli: Checker, write: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agentfp_transcripts.judging.installed_judges", dict)
    done = cli("check", write(conversation("a", "1")))
    assert done.code == Code.MISSING
    assert 'pip install "agentfp[check]"' in done.err


def test_a_judge_that_is_not_installed(check: Checker, write: Any) -> None:
    done = check(write(conversation("a", "1")), "--plugin", "numbrs")
    assert done.code == Code.MISSING
    assert "did you mean 'numbers'?" in done.err


def test_a_further_judge_stands_beside_the_main_one(check: Checker, write: Any, site: PluginDist) -> None:
    module = (
        "from test_judges import Numbers\nclass Digits(Numbers):\n    name = 'digits'\n    def __init__(self):\n        self.least = 4\n"
    )
    site("agentfp-digits", entry_points={"agentfp.judges": {"digits": "digits:Digits"}}, modules={"digits": module})
    done = check(write(conversation("a", "1234, 999 and 55555")), "--plugin", "digits", "--json", "--fail-on", "any")
    (answer,) = done.lines[0]["answers"]
    assert answer["unsupported"] == ["999", "55555"]
    assert answer["plugins"]["digits"]["unsupported"] == ["55555"]


def test_settings_of_a_judge(check: Checker, write: Any) -> None:
    path = write(conversation("a", "9 and 999"))
    assert check(path, "--json", "--set", "numbers.least=3").lines[0]["answers"][0]["unsupported"] == ["999"]
    for setting, words in (
        ("least=3", "JUDGE.NAME=VALUE"),
        ("nobody.least=3", "not asked"),
        ("numbers.most=3", "no setting 'most'"),
    ):
        done = check(path, "--set", setting)
        assert done.code == Code.USAGE
        assert words in done.err


def test_a_file_of_another_kind_does_not_fill_the_screen(check: Checker, tmp_path: Path) -> None:
    (tmp_path / "log.jsonl").write_text("".join(f'{{"line": {number}}}\n' for number in range(40)))
    (tmp_path / "other.jsonl").write_text('{"line": 1}\n')
    done = check(str(tmp_path / "*.jsonl"))
    lines = done.err.splitlines()
    assert sum("log.jsonl:" in line and "no reader knows" in line for line in lines) == 5
    assert f"{tmp_path / 'log.jsonl'}: 35 more of these" in lines
    assert sum("other.jsonl" in line for line in lines) == 1
    assert "not checked: 41 places that could not be read, see above" in lines


@pytest.mark.parametrize(
    "text", ["{'messages': []}", "[{'role': 'user'}]", "[HumanMessage(content='hi')]", "{'messages': [HumanMessage()]}"]
)
def test_what_python_printed_is_told_from_json(check: Checker, tmp_path: Path, text: str) -> None:
    (tmp_path / "dump.txt").write_text(text + "\n")
    assert "it is what Python prints: save json.dumps(...) of it" in check(str(tmp_path / "dump.txt")).err
    (tmp_path / "broken.json").write_text('{"messages": [}')
    assert "Python" not in check(str(tmp_path / "broken.json")).err


def test_a_conversation_without_messages_is_told_as_one(check: Checker, tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text('{"messages": []}')
    assert "a.json: its list of messages is empty" in check(str(tmp_path / "a.json")).err


@pytest.mark.parametrize("judge", ["failing", "short"])
def test_a_judge_that_fails_is_named_and_the_others_are_heard(check: Checker, write: Any, judge: str) -> None:
    path = write(conversation("a", "1234"), conversation("b", "1234"))
    done = check(path, "--plugin", judge, "--json")
    assert done.code == Code.OK
    assert [len(line["answers"]) for line in done.lines] == [1, 1]
    assert f"judge '{judge}' failed on transcript 'a'" in done.lines[0]["failures"][0]
    assert check(path, "--plugin", judge, "--fail-on", "strong").code == Code.NEGATIVE


def test_a_main_judge_that_always_fails(cli: Checker, write: Any) -> None:
    done = cli("check", write(conversation("a", "1234")), "--judge", "failing", "--json")
    assert done.code == Code.FAILED
    assert done.lines[0]["answers"] == []


# --- formats of the input -----------------------------------------------------------------------------------------------------------


def test_a_format_that_is_named(check: Checker, write: Any) -> None:
    path = write(conversation("a", "1234"))
    assert check(path, "--format-in", "openai-chat", "--json").lines[0]["format"] == "openai-chat"
    done = check(path, "--format-in", "openai-chta")
    assert done.code == Code.USAGE
    assert "did you mean 'openai-chat'?" in done.err
    assert check(path, "--format-in", "atif").code == Code.USAGE


# --- explain ------------------------------------------------------------------------------------------------------------------------


def test_explain_a_value_that_is_supported(check: Checker, write: Any) -> None:
    done = check(write(conversation("a", "It is 1234, not 999.")), "--explain", "1234")
    assert "a, answer 3: number '1234'" in done.out
    assert "supported, exact" in done.out
    assert "from message 2 price $.rows[0].price" in done.out
    assert '{"city": "Oslo", "price": 1234}' in done.out
    assert re.findall(r"\b999\b", done.out.replace("not 999", "")) == []


def test_explain_a_value_that_is_not(check: Checker, write: Any) -> None:
    made = conversation("a", "It is 7, 999.")
    made["messages"].insert(1, says("Perhaps 999?"))
    path = write(made)
    done = check(path, "--explain", "999")
    assert "unsupported (strong)" in done.out
    assert "the same letters stand in message 1 (assistant): Perhaps [999]?" in done.out
    for more in ((), ("--json",)):
        done = check(path, "--explain", "42", *more)
        assert (done.code, "no answer that was judged holds '42'" in done.out) == (Code.NEGATIVE, not more)
    assert "no value that was judged" in check(path, "--explain", "it is").out
    (line,) = check(path, "--explain", "7", "--json").lines
    assert (line["id"], line["verdict"]) == ("a", "unverifiable")
    assert check(path, "--explain", " ").code == Code.USAGE


def test_what_a_value_nearly_is_stands_in_every_form(check: Checker, write: Any, folder: Path) -> None:
    path = write(conversation("a", "They cost 1243."))
    assert "  nearly: 1234" in check(path, "--explain", "1243").out
    done = check(path, "--html", "page.html")
    assert done.out.rstrip("\n").split("\t")[-2:] == ["1234", ""]
    assert "nearly 1234" in (folder / "page.html").read_text()
    (line,) = check(path, "--json").lines
    assert line["answers"][0]["values"][0]["near"] == "1234"


# --- in a process of its own -----------------------------------------------------------------------------------------------------------


def process(site: PluginDist, *arguments: str) -> subprocess.Popen[bytes]:
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(site.folder), os.environ.get("PYTHONPATH", "")])}
    return subprocess.Popen([sys.executable, "-m", "agentfp", "check", *arguments, "--judge", "numbers"], stdin=subprocess.PIPE,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env)  # fmt: skip


def test_each_line_is_judged_when_it_comes(site: PluginDist, folder: Path) -> None:
    running = process(site, "-", "--json", "--last")
    assert running.stdin is not None
    assert running.stdout is not None
    with running:
        for name in ("a", "b", "c"):
            running.stdin.write(json.dumps(conversation(name, "1234")).encode() + b"\n")
            running.stdin.flush()
            if name != "a":  # one line is read ahead, to tell lines from a document
                assert json.loads(running.stdout.readline())["answers"][0]["index"] == 3
        running.stdin.close()
        assert json.loads(running.stdout.read())["id"] == "c"
    assert running.returncode == 0


def test_who_reads_the_output_may_go_away(site: PluginDist, folder: Path) -> None:
    (folder / "t.jsonl").write_text("".join(json.dumps(conversation(str(n), "1234 " * 99)) + "\n" for n in range(300)))
    running = process(site, "t.jsonl", "--json")
    assert running.stdout is not None
    assert running.stderr is not None
    with running:
        running.stdout.readline()
        running.stdout.close()
        error = running.stderr.read().decode()
    assert running.returncode == Code.CLOSED_PIPE
    assert "Traceback" not in error
    assert "BrokenPipe" not in error
