"""What is read of a file: everything that is there, whatever is wrong with the rest, and never the whole of it at once."""

from __future__ import annotations

import gzip
import json
import lzma
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agentfp import Record
from agentfp_viewer.foreign import open_any
from agentfp_viewer.library import Library, summary
from agentfp_viewer.recording import NoRecordingError, Recording
from agentfp_viewer.views import PAGE, changes
from tests.core.random_plugins import Meddling
from tests.core.random_runs import Step, scene_of, scripts
from tests.core.test_properties_runs import plugins, to_the_end
from tests.observability.viewer import recordings


def first(recording: Recording) -> Any:
    return next(iter(recording.threads.values()))


def told(path: Path) -> tuple[Recording, dict[str, Any]]:
    recording = Recording(path)
    return recording, changes(recording, first(recording), {})


def test_rows_tell_the_run_in_order(switch_file: Path) -> None:
    _, news = told(switch_file)
    assert [row["k"] for row in news["rows"]] == ["leg", "person", "model", "tool", "tool", "model", "check", "answer", "end"]
    model, *tools = news["rows"][2:5]
    assert [tool["label"] for tool in tools] == ["ports", "vendor"]
    assert {tool["p"] for tool in tools} == {model["i"]}
    assert all(tool["d"] >= 0 and tool["s"] == "ok" and tool["at"] >= model["at"] + model["d"] for tool in tools)
    about = news["overview"]
    assert (about["status"], about["model_calls"], about["tool_calls"], about["turns"]) == ("answered", 2, 2, 1)
    assert about["question"].startswith("What is wrong with SW-12?")
    record = Record.load(switch_file)
    ends = record.events("agentfp.stream.llm_end")
    assert about["tokens"][:2] == [sum(getattr(e.payload, name) for e in ends) for name in ("input_tokens", "output_tokens")]


def test_events_are_those_of_the_file(switch_file: Path) -> None:
    recording, _ = told(switch_file)
    thread = first(recording)
    assert list(recording.events(thread, range(len(thread)))) == list(recordings.events_of(switch_file))
    assert recording.event(thread, 3) == switch_file.read_bytes().splitlines()[4]
    assert recording.event(thread, 10_000) is None
    assert [e["seq"] for e in recording.events(thread, thread.between(4, 6))] == [4, 5, 6]


def test_a_system_without_reads_at_a_place(switch_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr("os.pread", raising=False)
    recording, _ = told(switch_file)
    thread = first(recording)
    assert list(recording.events(thread, range(len(thread)))) == list(recordings.events_of(switch_file))


def test_news_come_in_parts_and_once(tmp_path: Path, switch_file: Path) -> None:
    lines = switch_file.read_bytes().splitlines(keepends=True)
    path = tmp_path / "grows.jsonl"
    path.write_bytes(lines[0])
    recording = Recording(path)
    rows: dict[int, Any] = {}
    since: dict[str, int] = {}
    counts = {"messages": 0, "blobs": 0, "served": 0}
    with path.open("ab") as file:
        for line in lines[1:]:
            half = len(line) // 2
            file.write(line[:half])
            file.flush()
            recording.refresh()
            assert recording.told() == ["the last line is torn: the run still writes it, or was killed while it did"]
            file.write(line[half:])
            file.flush()
            assert recording.refresh()
            assert not recording.refresh()
            news = changes(recording, first(recording), since)
            rows |= {row["i"]: row for row in news["rows"]}
            counts = {name: counts[name] + len(news[name]) for name in counts}
            since = {"rev": news["rev"], "rows": len(rows), **counts}
    assert recording.told() == []
    whole = told(switch_file)[1]
    assert list(rows.values()) == whole["rows"]
    assert counts == {name: len(whole[name]) for name in counts}
    assert changes(recording, first(recording), since)["rows"] == []


def test_a_file_whose_place_another_took_is_read_anew(tmp_path: Path, switch_file: Path) -> None:
    path = tmp_path / "run.jsonl"
    path.write_bytes(switch_file.read_bytes())
    recording = Recording(path)
    path.write_bytes(b"".join(switch_file.read_bytes().splitlines(keepends=True)[:5]))
    assert recording.refresh()
    assert (recording.generation, len(first(recording))) == (1, 4)


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(cut=st.integers(1, 100_000))
def test_a_file_that_ends_anywhere_is_shown_up_to_there(switch_file: Path, tmp_path: Path, cut: int) -> None:
    whole = switch_file.read_bytes()
    cut %= len(whole)
    path = tmp_path / "cut.jsonl"
    path.write_bytes(whole[: cut + 1])
    complete = [line for line in whole[: cut + 1].split(b"\n") if line and line in whole.split(b"\n")]
    if not complete:
        with pytest.raises(NoRecordingError):
            Recording(path)
        return
    recording = Recording(path)
    assert len(first(recording)) == len(complete) - 1
    changes(recording, first(recording), {})


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(damage=st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 255)), min_size=1, max_size=20))
def test_damage_is_told_and_the_rest_shown(switch_file: Path, tmp_path: Path, damage: list[tuple[int, int]]) -> None:
    text = bytearray(switch_file.read_bytes())
    for place, byte in damage:
        text[place % len(text)] = byte
    path = tmp_path / "damaged.jsonl"
    path.write_bytes(bytes(text))
    try:
        recording = Recording(path)
    except NoRecordingError:
        return
    for thread in recording.threads.values():
        news = changes(recording, thread, {})
        json.dumps(news)
        list(recording.events(thread, range(len(thread))))
        list(recording.search("port", thread))


def test_events_without_a_header_and_lines_that_are_none(tmp_path: Path, switch_file: Path) -> None:
    lines = switch_file.read_text(encoding="utf-8").splitlines()
    path = tmp_path / "odd.jsonl"
    path.write_text(
        "\n".join(["[1, 2]", *lines[1:8], "}{", lines[3], *lines[8:], '{"note": "of another program"}', '"text"']), encoding="utf-8"
    )
    recording, news = told(path)
    said = " ".join(recording.told())
    assert "line 1 holds no object" in said
    assert "the begin of the file is missing" in said
    assert "line 9 is not JSON" in said
    assert "event 2 comes after event 6" in said
    assert news["overview"]["others"] == [{"note": "of another program"}]
    assert len(first(recording)) == len(lines) - 1
    assert news["overview"]["status"] == "answered"


def test_what_a_file_says_of_itself_is_told(tmp_path: Path, switch_file: Path) -> None:
    lines = switch_file.read_text(encoding="utf-8").splitlines()
    opening = {"file": {"format": "agentfp.recording/1", "run_id": "r", "detail": "lean"}}
    lost = {"file": {"dropped": {"run_id": "r", "count": 3, "first_seq": 7, "last_seq": 9, "why": "the disk was full"}}}
    sealed = {"file": {"sealed": "r", "status": "answered", "events": 9}}
    path = tmp_path / "recorded.jsonl"
    whole = [json.dumps(opening), *lines[:8], json.dumps(lost), *lines[11:], json.dumps(sealed)]
    path.write_text("\n".join(whole) + "\n", encoding="utf-8")
    recording, news = told(path)
    assert recording.told() == [
        "this recording is lean: names, numbers and digests, and nothing of what was said",
        "3 events between 7 and 9 are not in the file: the disk was full",
    ]
    assert news["overview"]["notes"] == {"format": "agentfp.recording/1", "detail": "lean", "sealed": "r", "status": "answered"}
    assert news["overview"]["others"] == []


def test_a_later_branch_counts(tmp_path: Path, switch_file: Path) -> None:
    lines = switch_file.read_text(encoding="utf-8").splitlines()
    header = json.loads(lines[0])
    header["segment"] |= {"run_id": "run_later", "first_seq": 2}
    path = tmp_path / "branched.jsonl"
    path.write_text("\n".join([*lines, json.dumps(header), *lines[3:]]) + "\n", encoding="utf-8")
    recording, news = told(path)
    assert [e["seq"] for e in recording.events(first(recording), range(len(first(recording))))] == list(range(len(lines) - 1))
    assert news["overview"]["legs"] == 2
    assert [row["k"] for row in news["rows"]] == [row["k"] for row in told(switch_file)[1]["rows"]]
    assert any("went on from event 2" in text for text in recording.told())


@pytest.mark.parametrize(
    ("content", "said"),
    [(b"", "nothing"), (b"Dear diary", "text that is not JSON;"), (b'{"a": 1, "b": 2}', "an object with the fields 'a', 'b'")],
)
def test_another_file_is_refused_with_what_it_is(tmp_path: Path, content: bytes, said: str) -> None:
    path = tmp_path / "foreign.json"
    path.write_bytes(content)
    with pytest.raises(NoRecordingError, match="is no recording: ") as refused:
        open_any(path)
    assert said in str(refused.value)


@pytest.mark.parametrize(("ending", "pack"), [("gz", gzip.compress), ("xz", lzma.compress)])
def test_a_packed_file_is_unpacked_also_when_it_was_cut(
    tmp_path: Path, switch_file: Path, ending: str, pack: Callable[[bytes], bytes]
) -> None:
    path = tmp_path / f"run.jsonl.{ending}"
    packed = pack(switch_file.read_bytes())
    path.write_bytes(packed)
    assert told(path)[1]["overview"]["status"] == "answered"
    assert [one["name"] for one in Library(tmp_path).list()] == [path.name]
    path.write_bytes(packed[: len(packed) * 3 // 4])
    assert told(path)[1]["overview"]["events"] > 5


@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(script=scripts, meddled=plugins)
def test_any_run_of_the_library_can_be_looked_at(tmp_path: Path, script: list[list[Step]], meddled: list[Meddling]) -> None:
    path = tmp_path / "random.jsonl"
    record, _ = anyio.run(to_the_end, scene_of(script, meddled))
    record.save(path)
    recording, news = told(path)
    assert recording.told() == []
    assert len(first(recording)) == len(record)
    assert len(news["served"]) == len(record.events("agentfp.context.served"))
    assert len([row for row in news["rows"] if row["k"] == "tool"]) == len(record.events("agentfp.tool.started"))
    assert len(news["messages"]) == len(record.events("agentfp.message.added"))


def test_long_texts_are_cut_for_the_page_and_whole_in_the_file(tmp_path: Path) -> None:
    path = tmp_path / "long.jsonl"
    header = {"agentfp": 1, "segment": {"root_id": "c", "run_id": "r", "first_seq": 0, "started_ns": 1}}
    body = {"outcome": "success", "duration_ms": 5, "content": "é" * 900_000, "ran": True}
    events = [
        {
            "seq": 0,
            "name": "agentfp.tool.started",
            "ts": 1,
            "off": 1,
            "turn": 1,
            "iter": 1,
            "call": "c1",
            "src": "kernel",
            "data": {"tool": "big"},
        },
        {"seq": 1, "name": "agentfp.tool.ended", "ts": 2, "off": 2, "turn": 1, "iter": 1, "call": "c1", "src": "kernel", "data": body},
    ]
    path.write_text("\n".join(json.dumps(one, ensure_ascii=False) for one in [header, *events]) + "\n", encoding="utf-8")
    recording, news = told(path)
    assert news["rows"][0] | {"s": "ok", "label": "big"} == news["rows"][0]
    (event,) = recording.events(first(recording), range(1, 2))
    assert event["data"]["content"]["$cut"] == 900_000
    assert len(event["data"]["content"]["text"]) < 900_000
    assert recording.event(first(recording), 1) == json.dumps(events[1], ensure_ascii=False).encode()


def big_file(path: Path, megabytes: int) -> int:
    """A recording of large results; gives how many calls are in it."""
    content = json.dumps([{"row": n, "text": "lorem ipsum dolor " * 20} for n in range(250)])
    calls = 0
    with path.open("w", encoding="utf-8") as file:
        header = {"agentfp": 1, "segment": {"root_id": "c", "run_id": "r", "first_seq": 0, "started_ns": 1}}
        file.write(json.dumps(header) + "\n")
        while file.tell() < megabytes << 20:
            at = {"ts": calls, "off": calls * 1000 + 1, "turn": 1, "iter": calls, "call": f"c{calls}", "src": "kernel"}
            started = {"seq": 2 * calls, "name": "agentfp.tool.started", **at, "data": {"tool": "rows"}}
            ended = {"outcome": "success", "duration_ms": 1, "content": content, "ran": True}
            file.write(
                json.dumps(started) + "\n" + json.dumps({"seq": 2 * calls + 1, "name": "agentfp.tool.ended", **at, "data": ended}) + "\n"
            )
            calls += 1
    return calls


def test_the_size_of_what_was_said_does_not_count_in_memory(tmp_path: Path) -> None:
    path = tmp_path / "big.jsonl"
    calls = big_file(path, 64)
    tracemalloc.start()
    try:
        recording = Recording(path)
        held, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(first(recording)) == 2 * calls
    assert held < 4 << 20
    assert peak < 16 << 20
    (event,) = recording.events(first(recording), range(2 * calls - 1, 2 * calls))
    assert event["data"]["outcome"] == "success"


def test_a_search_goes_through_nested_runs_too(tmp_path: Path) -> None:
    recording = Recording(recordings.nested_run(tmp_path / "nested.jsonl"))
    outer, inner = recording.threads.values()
    found = list(recording.search("MADE BY NORDLICHT", inner))
    assert {hit["thread"] for hit in found} == {inner.key}
    assert all(hit["around"][hit["at"] :].lower().startswith("made by nordlicht") for hit in found)
    both = [hit["thread"] for hit in recording.search("nordlicht", inner)]
    assert (both[0], both[-1]) == (inner.key, outer.key)
    assert len(list(recording.search("nordlicht", limit=1))) == 1
    assert list(recording.search('{"switch": "SW-12"}')) == []
    assert list(recording.search('{"switch":"SW-12"}')), "JSON within a text is found as it was written"


def test_many_rows_are_told_in_parts(tmp_path: Path) -> None:
    path = tmp_path / "many.jsonl"
    lines = [json.dumps({"agentfp": 1, "segment": {"root_id": "c", "run_id": "r", "first_seq": 0, "started_ns": 1}})]
    for n in range(PAGE + 10):
        event = {
            "seq": n,
            "name": "shop.order.checked",
            "app": True,
            "ts": n,
            "off": n,
            "turn": 1,
            "iter": 0,
            "src": "app",
            "data": {"n": n},
        }
        lines.append(json.dumps(event))
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    recording, news = told(path)
    assert (len(news["rows"]), news["more"]) == (PAGE, True)
    rest = changes(recording, first(recording), {"rows": PAGE, "rev": news["rev"]})
    assert [row["i"] for row in rest["rows"] if row["i"] >= PAGE] == list(range(PAGE, PAGE + 10))
    assert not rest["more"]


def test_the_list_of_a_folder_reads_the_edges_of_its_files_only(tmp_path: Path, switch_file: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / ".hidden").mkdir()
    for name in ("a/one.jsonl", ".hidden/two.jsonl", "three.txt"):
        (tmp_path / name).write_bytes(switch_file.read_bytes())
    library = Library(tmp_path)
    (listed,) = library.list()
    assert listed["name"] == str(Path("a/one.jsonl"))
    assert (listed["status"], listed["calls"]) == ("answered", 2)
    assert listed["values"]["unsupported"] == 3
    assert library.open(listed["id"]) is library.open(listed["id"])
    with pytest.raises(KeyError):
        library.open("../../etc/passwd")
    library.close()
    big = tmp_path / "big.jsonl"
    middle = b'{"seq":1,"name":"app.x.y","data":"' + b"x" * 1_000_000 + b'"}\n'
    lines = switch_file.read_bytes().splitlines(keepends=True)
    big.write_bytes(b"".join(lines[:4]) + middle + b"".join(lines[4:]))
    assert summary(big)["question"].startswith("What is wrong")
    assert summary(big)["status"] == "answered"
