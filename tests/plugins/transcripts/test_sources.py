"""What paths hold: whole files, arrays, JSON lines, folders, globs, gzip, stdin; and what is damaged is told while the rest is read."""

from __future__ import annotations

import gzip
import io
import json
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentfp.testing import PluginDist
from agentfp.transcripts import Transcript
from agentfp_transcripts import Problem, Readers, read, read_data

MESSAGES = [
    {"role": "user", "content": "How much?"},
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": "c", "type": "function", "function": {"name": "price", "arguments": "{}"}}],
    },
    {"role": "tool", "tool_call_id": "c", "content": '{"price": 1234}'},
    {"role": "assistant", "content": "1234 kr, æøå."},
]


def line(id: str) -> str:
    return json.dumps({"id": id, "messages": MESSAGES}, ensure_ascii=False)


def of(path: Path | str, stdin: bytes | None = None) -> tuple[list[str], list[str]]:
    """Ids of the transcripts, and the problems."""
    found = list(read([path], readers=Readers(), stdin=None if stdin is None else io.BytesIO(stdin)))
    return [t.id for t in found if isinstance(t, Transcript)], [str(p) for p in found if isinstance(p, Problem)]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


# --- forms of files ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "text", "ids"),
    [
        ("one.json", line("a"), ["a"]),
        ("pretty.json", json.dumps(json.loads(line("a")), indent=2), ["a"]),
        ("list.json", json.dumps(MESSAGES, indent=2), ["list.json"]),
        ("array.json", f"[{line('a')},\n{line('b')}]", ["a", "b"]),
        ("array of lists.json", json.dumps([MESSAGES, MESSAGES]), ["array of lists.json[0]", "array of lists.json[1]"]),
        ("held.json", json.dumps({"version": 2, "runs": [json.loads(line("a")), json.loads(line("b"))]}), ["a", "b"]),
        ("lines.jsonl", f"{line('a')}\n{line('b')}\n", ["a", "b"]),
        ("lines.json", f"{line('a')}\n\n  \n{line('b')}", ["a", "b"]),
        ("unnamed.jsonl", f"{json.dumps(MESSAGES)}\n{json.dumps(MESSAGES)}\n", ["unnamed.jsonl:1", "unnamed.jsonl:2"]),
        ("messages.jsonl", "\n".join(map(json.dumps, MESSAGES)), ["messages.jsonl"]),
        ("documents.json", json.dumps(json.loads(line("a")), indent=1) * 2, ["a", "a#2"]),
        ("windows.jsonl", f"{line('a')}\r\n{line('b')}\r\n", ["a", "b"]),
        ("named alike.jsonl", f"{line('a')}\n{line('a')}\n{line('a#2')}\n{line('a')}\n", ["a", "a#2", "a#2#2", "a#3"]),
    ],
)
def test_forms_of_files(here: Path, name: str, text: str, ids: list[str]) -> None:
    (here / name).write_bytes(text.encode())
    assert of(name) == (ids, [])


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-16-le", "utf-16-be"])
def test_marks_of_the_encoding(here: Path, encoding: str) -> None:
    mark = "" if encoding in ("utf-8-sig", "utf-16") else "\ufeff"
    (here / "a.jsonl").write_bytes(f"{mark}{line('a')}\n{line('b')}\n".encode(encoding))
    found = list(read(["a.jsonl"], readers=Readers()))
    assert [cast("Transcript", t).messages[-1].content for t in found] == ["1234 kr, æøå."] * 2


def test_gzip_by_its_bytes_whatever_its_name(here: Path) -> None:
    packed = gzip.compress(f"{line('a')}\n{line('b')}\n".encode())
    for name in ("a.jsonl.gz", "packed"):
        (here / name).write_bytes(packed)
        assert of(name) == (["a", "b"], [])
    assert of("-", packed) == (["a", "b"], [])


def test_stdin() -> None:
    assert of("-", f"{line('a')}\n{line('b')}\n".encode()) == (["a", "b"], [])
    assert of("-", json.dumps(MESSAGES, indent=2).encode()) == (["stdin"], [])


def test_stdin_named_twice() -> None:
    first, second = read(["-", "-"], readers=Readers(), stdin=io.BytesIO(line("a").encode()))
    assert isinstance(first, Transcript)
    assert str(second) == "stdin: is named twice and can be read once"


def test_a_link_in_a_folder_that_leads_nowhere_is_told(here: Path) -> None:
    (here / "a.json").write_text(line("a"))
    (here / "b.json").symlink_to(here / "gone.json")
    assert of(".") == (["a"], ["b.json: is a link that leads nowhere"])


def test_what_no_reader_knows_is_told_by_its_fields(here: Path) -> None:
    (here / "a.json").write_text('[{"speaker": "Bot", "said": "7"}]')
    (_, (told,)) = of("a.json")
    assert told.startswith("a.json: no reader knows this list of objects with the fields 'speaker', 'said';")
    assert "--map" in told


def test_where_a_transcript_stands(here: Path) -> None:
    (here / "a.jsonl").write_text(f"\n{line('a')}\n")
    (here / "b.json").write_text(f"[{line('a')}]")
    (here / "c.jsonl").write_text(f'{{"runs": [{line("a")}]}}\n')
    assert [cast("Transcript", t).source for t in read(["a.jsonl", "b.json", "c.jsonl"], readers=Readers())] == [
        "a.jsonl:2", "b.json $[0]", "c.jsonl:1 $.runs[0]",
    ]  # fmt: skip


# --- folders and globs -----------------------------------------------------------------------------------------------------


def test_a_folder_is_read_through_and_other_files_left_alone(here: Path) -> None:
    for name in ("x/b.json", "x/deep/a.jsonl", "x/c.jsonl.gz", "x/.git/d.json", "x/notes.md", "x/data.csv"):
        path = here / name
        path.parent.mkdir(parents=True, exist_ok=True)
        text = line(path.name)
        path.write_bytes(gzip.compress(text.encode()) if name.endswith("gz") else text.encode())
    (here / "x/package.json").write_text('{"name": "x", "version": "1"}')
    found = list(read(["x"], readers=Readers()))
    assert [t.id for t in found if isinstance(t, Transcript)] == ["b.json", "c.jsonl.gz", "a.jsonl"]
    problems = [p for p in found if isinstance(p, Problem)]
    assert all(p.skipped for p in problems)
    assert "package.json: no reader knows this object with the fields 'name', 'version'" in str(problems[0])
    assert "2 files of other kinds" in str(problems[1])


def test_a_file_that_was_named_must_be_a_transcript(here: Path) -> None:
    (here / "package.json").write_text('{"name": "x"}')
    (problem,) = read(["package.json"], readers=Readers())
    assert isinstance(problem, Problem)
    assert not problem.skipped
    assert "--format-in" in problem.text


def test_globs(here: Path) -> None:
    for name in ("a.json", "b.json", "deep/c.json"):
        (here / name).parent.mkdir(exist_ok=True)
        (here / name).write_text(line(name))
    assert of("*.json")[0] == ["a.json", "b.json"]
    assert of("**/*.json")[0] == ["a.json", "b.json", "deep/c.json"]
    assert of("*.txt") == ([], ["*.txt: no file fits this pattern"])


def test_a_file_whose_name_looks_like_a_pattern(here: Path) -> None:
    (here / "a[1].json").write_text(line("a"))
    assert of("a[1].json") == (["a"], [])


def test_what_is_not_there(here: Path) -> None:
    (here / "empty").mkdir()
    assert of("no.json") == ([], ["no.json: there is no such file"])
    assert "holds no file that ends in" in of("empty")[1][0]


# --- damage ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("bad", "says"),
    [
        ('{"id": "x", "mess', "Unterminated string"),
        ("not json", "Expecting value at column 1"),
        ("{'id': 1}", "Expecting property name"),
        ("[" * 100_000, "nested too deeply"),
        ('{"id": ' + "9" * 5_000 + "}", "too many digits"),
        ("\x00\x00", "Expecting value"),
    ],
)
@pytest.mark.parametrize("place", [1, 2, 3])
def test_a_damaged_line_is_told_with_its_number_and_the_rest_is_read(here: Path, bad: str, says: str, place: int) -> None:
    lines = [line("a"), line("b")]
    lines.insert(place - 1, bad)
    for name in ("a.jsonl", "b.json"):
        (here / name).write_text("\n".join(lines))
        ids, (problem,) = of(name)
        assert ids == ["a", "b"]
        assert problem.startswith(f"{name}:{place}: ")
        assert says in problem
        assert "mess" not in problem


def test_a_damaged_document_is_told_with_its_line(here: Path) -> None:
    (here / "a.json").write_text(json.dumps(json.loads(line("a")), indent=2).replace('"content"', "content", 1))
    ids, (problem,) = of("a.json")
    assert not ids
    assert problem.startswith("a.json: is not JSON: Expecting property name enclosed in double quotes in line 6")


def test_a_gzip_file_that_breaks_off(here: Path) -> None:
    packed = gzip.compress("".join(f"{line(str(n))}\n" for n in range(3_000)).encode(), compresslevel=0)
    (here / "a.jsonl.gz").write_bytes(packed[: len(packed) // 2])
    ids, problems = of("a.jsonl.gz")
    assert len(ids) > 1_000
    assert any("breaks off" in problem for problem in problems)
    (here / "b.jsonl.gz").write_bytes(packed[:12] + b"garbage" * 99)
    assert not of("b.jsonl.gz")[0]
    assert of("b.jsonl.gz")[1]


def test_bytes_that_are_no_text_are_replaced_and_told(here: Path) -> None:
    (here / "a.jsonl").write_bytes(line("a").encode().replace(b"1234 kr", b"1234 \xff\xfe") + b"\n" + line("b").encode())
    first, second = (cast("Transcript", t) for t in read(["a.jsonl"], readers=Readers()))
    assert "1234 ��" in first.messages[-1].content
    assert first.problems == ("bytes that are no UTF-8 were replaced",)
    assert not second.problems


def test_empty_files(here: Path) -> None:
    for text in ("", "\n \n", "[]", "{}", "null"):
        (here / "a.json").write_text(text)
        assert of("a.json") == ([], ["a.json: is empty"])


def test_half_characters_are_replaced_one_for_one(here: Path) -> None:
    (here / "a.json").write_text(json.dumps([{"role": "user", "content": "x\ud800y"}, {"role": "assistant", "content": "\ude00"}]))
    (transcript,) = read(["a.json"], readers=Readers())
    assert [m.content for m in cast("Transcript", transcript).messages] == ["x�y", "�"]


def test_nan_and_keys_that_stand_twice(here: Path) -> None:
    (here / "a.json").write_text('{"id": "x", "id": "a", "score": NaN, "messages": [{"role": "tool", "content": {"price": Infinity}}]}')
    (transcript,) = read(["a.json"], readers=Readers())
    assert isinstance(transcript, Transcript)
    assert transcript.id == "a"
    assert transcript.messages[0].content == '{"price": Infinity}'


def test_data_that_is_nested_deeply(here: Path) -> None:
    deep = "[" * 900 + "]" * 900
    (here / "a.jsonl").write_text(f'{{"messages": [{{"role": "tool", "content": {deep}}}]}}\n{line("b")}\n')
    found = list(read(["a.jsonl"], readers=Readers()))
    assert len(found) == 2
    assert isinstance(found[0], Transcript) or "nested too deeply" in found[0].text


def test_a_file_that_may_not_be_read(here: Path) -> None:
    (here / "loop.json").symlink_to("loop.json")
    ids, (problem,) = of("loop.json")
    assert not ids
    assert problem.startswith("loop.json: ")


# --- bounded memory --------------------------------------------------------------------------------------------------------


class Endless(io.RawIOBase):
    """A stream of lines that are made as they are read."""

    def __init__(self, lines: int) -> None:
        self._lines: Iterator[bytes] = (f"{line(str(n))}{' ' * 50_000}\n".encode() for n in range(lines))
        self._rest = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        self._rest = self._rest or next(self._lines, b"")
        part, self._rest = self._rest[: len(buffer)], self._rest[len(buffer) :]
        buffer[: len(part)] = part
        return len(part)


def test_json_lines_are_read_one_by_one() -> None:
    tracemalloc.start()
    try:
        stream = cast("BinaryIO", io.BufferedReader(Endless(400)))
        count = sum(isinstance(one, Transcript) for one in read(["-"], readers=Readers(), stdin=stream))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert count == 400
    assert peak < 4_000_000  # the stream holds 20 MB


def test_the_first_transcript_comes_before_the_last_line_is_there() -> None:
    class Stuck(Endless):
        def readinto(self, buffer: Any) -> int:
            got = super().readinto(buffer)
            if not got:
                raise AssertionError("read beyond what was needed")
            return got

    stream = cast("BinaryIO", io.BufferedReader(Stuck(5)))
    found = read(["-"], readers=Readers(), stdin=stream)
    assert cast("Transcript", next(found)).id == "0"


# --- readers of other distributions ------------------------------------------------------------------------------------------

READER = """
from agentfp.plugin import Message
from agentfp.transcripts import Transcript

class Diary:
    name = "diary"
    def recognises(self, data):
        return isinstance(data, dict) and "dear" in data
    def read(self, data, *, id, source):
        if data["dear"] is None:
            raise RuntimeError("secret 1234")
        return [Transcript(id=id, messages=(Message("m0", "user", data["dear"]),), format="diary", source=source)]

class Odd:
    pass
"""


def test_a_reader_of_another_distribution(here: Path) -> None:
    with PluginDist(here / "site") as dist:
        dist(
            "diary",
            entry_points={"agentfp.transcripts": {"diary": "diary_reader:Diary", "odd": "diary_reader:Odd"}},
            modules={"diary_reader": READER},
        )
        readers, problems = Readers.installed()
        assert "reader 'odd' cannot be used" in problems[0]
        (here / "a.jsonl").write_text('{"dear": "me"}\n{"dear": null}\n')
        transcript, problem = read(["a.jsonl"], readers=readers)
    assert cast("Transcript", transcript).format == "diary"
    assert str(problem) == "a.jsonl:2: reader 'diary' failed on it: RuntimeError"


# --- whatever data -------------------------------------------------------------------------------------------------------------

NAMES = """
role content messages type parts kind tool_calls input output steps resourceSpans spans attributes span_id context data id lc kwargs
schema_version observation results agentfp segment part_kind function arguments args tool_call_id message sessionId name events choices
status trace_id
"""
WORDS = """
user assistant tool system text tool_use tool_result request response tool-call tool-return human ai constructor ATIF-v1.7 agent
function_call function_call_output message output_text LLM chat { [1
"""
LEAVES = st.none() | st.booleans() | st.integers() | st.floats() | st.sampled_from(WORDS.split()) | st.text(max_size=5)
DATA = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(NAMES.split()), inner, max_size=5), max_leaves=25
)


@given(DATA)
def test_no_data_breaks_the_reading(data: Any) -> None:
    for one in read_data(data, readers=Readers()):
        if isinstance(one, Transcript):
            ids = [m.id for m in one.messages]
            assert len(ids) == len(set(ids))
            assert all(isinstance(m.content, str) for m in one.messages)
            json.dumps([m.to_dict() for m in one.messages]).encode()
        else:
            assert "failed on it" not in one.text, (one, data)


@given(DATA, st.sampled_from([reader.name for reader in Readers().readers.values()]))
def test_no_data_breaks_a_reader_that_was_named(data: Any, name: str) -> None:
    for one in read_data(data, readers=Readers(only=Readers().readers[name])):
        assert isinstance(one, Transcript) or "failed on it" not in one.text, (one, data)


@given(st.binary(max_size=60), st.integers(0, 300))
def test_no_bytes_break_the_reading(mangled: bytes, position: int) -> None:
    text = f"{line('a')}\n{line('b')}\n".encode()
    for stream in (mangled, text[:position] + mangled + text[position:]):
        for one in read(["-"], readers=Readers(), stdin=io.BytesIO(stream)):
            assert str(one)
