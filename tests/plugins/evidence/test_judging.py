"""The function as other code calls it: typed answers, options, the index, and the judge of transcripts."""

from __future__ import annotations

import enum
import importlib.metadata
import json
import re
from typing import Any, Literal

import pydantic
import pytest

from agentfp import AgentfpError
from agentfp.plugin import Message, ToolCall
from agentfp.transcripts import Transcript, TranscriptJudge
from agentfp_evidence import EvidenceIndex, EvidenceOptions, Shape, judge, judge_with


class Level(enum.Enum):
    HIGH = "LEVEL-9"


class Finding(pydantic.BaseModel):
    kind: Literal["CVE-2024-0001"] = "CVE-2024-0001"
    level: Level = Level.HIGH
    errors: int
    p95_ms: float
    host: str


LOGS = {"role": "tool", "tool_call_id": "c1", "content": '{"errors": 4417, "p95_ms": 12.5, "host": "web-17"}'}


def test_a_typed_answer_is_judged_by_field() -> None:
    report = judge(Finding(errors=4418, p95_ms=12.5, host="web-18"), [LOGS], output_type=Finding)
    assert report.is_data
    assert [(v.path, v.text, v.verdict) for v in report.values] == [
        ("$.errors", "4418", "unsupported"),
        ("$.p95_ms", "12.5", "supported"),
        ("$.host", "web-18", "unsupported"),
    ]
    assert report.values[2].near == "web-17"


def test_json_text_is_judged_by_field_and_keys_are_no_values() -> None:
    report = judge('{"errors":4417,"p95_ms":12.5}', [LOGS])
    assert [(v.path, v.verdict) for v in report.values] == [("$.errors", "supported"), ("$.p95_ms", "supported")]
    fenced = judge('```json\n{"errors": 4400}\n```', [LOGS])
    assert [(v.path, v.text) for v in fenced.values if v.verdict == "unsupported"] == [("$.errors", "4400")]


def test_escapes_in_json_text_keep_their_place() -> None:
    answer = '{"note": "on \\"web-99\\"\\nweb-17"}'
    report = judge(answer, [LOGS])
    assert [(v.text, v.verdict) for v in report.values] == [("web-99", "unsupported"), ("web-17", "supported")]


def test_the_unit_in_a_key_counts() -> None:
    assert judge({"latency_ms": 12.5}, [LOGS]).unsupported == ()
    assert judge("12.5 seconds", [LOGS]).unsupported == ("12.5 seconds",)


def test_messages_of_the_library() -> None:
    messages = [
        Message("m1", "system", "Escalate to Q-4471.", author="app"),
        Message("m2", "user", "work OPS-4471"),
        Message("m3", "user", "Wrap up JOB-1234 now.", author="library"),
        Message("m4", "assistant", "", author="model", tool_calls=(ToolCall.make("find", {"id": "vm-9931"}, id="c1"),)),
        Message("m5", "tool", '{"id": 1440}', author="tool", tool_call_id="c1", tool_name="find", notes=("see NOTE-7781",)),
    ]
    report = judge("Q-4471, OPS-4471, JOB-1234, vm-9931, 1,440, NOTE-7781", messages)
    assert report.unsupported == ("JOB-1234", "vm-9931", "NOTE-7781")
    source = next(v for v in report.values if v.text == "1,440").sources[0]
    assert (source.message, source.path, source.call_id) == (4, "$.id", "c1")
    assert judge("1,440", messages, failed=["c1"]).unsupported == ("1,440",)
    assert judge("1,440", messages, failed=["m5"]).unsupported == ("1,440",)


def test_options_that_do_not_fit_are_all_named() -> None:
    bad: dict[str, Any] = {"profile": "standart", "min_digits": True, "figures": "no", "exempt": [7]}
    with pytest.raises(AgentfpError) as caught:
        EvidenceOptions(shapes=(Shape("", "["), Shape("a", "b"), Shape("a", "b")), **bad)
    text = str(caught.value)
    for part in ("standart", "standard", "min_digits", "figures", "needs a name", "no regular expression", "two shapes", "exempt"):
        assert part in text
    with pytest.raises(AgentfpError, match="min_digit"):
        judge("", [], min_digit=3)


def test_exempt_values_and_declared_shapes() -> None:
    options = EvidenceOptions(exempt=("build-8841", re.compile(r"tmp-\d+")), shapes=(Shape("ticket", "OPS-[a-z]{4}"),))
    report = judge_with(EvidenceIndex(), "build-8841 in TMP-77 for ops-open", options=options)
    assert [(v.text, v.kind, v.severity) for v in report.values] == [("ops-open", "ticket", "strong")]


def test_a_second_judgement_reads_only_what_is_new() -> None:
    class Counted(list[Any]):
        reads = 0

        def __iter__(self) -> Any:
            for item in super().__iter__():
                Counted.reads += 1
                yield item

    index = EvidenceIndex(Counted([LOGS] * 50))
    judge_with(index, "4417")
    assert Counted.reads == 50
    index.add(Counted([{"role": "user", "content": "and HOST-1?"}]))
    report = judge_with(index, "4417 HOST-1")
    assert Counted.reads == 51
    assert report.unsupported == ()
    assert len(index) == 51


def test_a_huge_result_is_truncated_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agentfp_evidence.table.MAX_FORMS", 20)
    report = judge("42,100", [{"role": "tool", "content": json.dumps(list(range(1000, 1100)))}])
    assert report.truncated
    assert any("larger" in note for note in report.notes)


def test_the_judge_of_transcripts_is_found_and_judges_each_answer_by_what_stands_before() -> None:
    (point,) = [p for p in importlib.metadata.entry_points(group="agentfp.judges") if p.name == "evidence"]
    judge_ = point.load()()
    assert isinstance(judge_, TranscriptJudge)
    messages = (
        Message("a", "user", "How many errors?"),
        Message("b", "assistant", "There are 4417.", author="model"),
        Message("c", "tool", LOGS["content"], author="tool", tool_call_id="c1"),
        Message("d", "assistant", "There are 4417 on web-17.", author="model"),
    )
    before, after = judge_.judge(Transcript(id="t", messages=messages), [1, 3])
    assert (before.answer, before.standing, before.unsupported) == (1, "unsupported", ("4417",))
    assert (after.answer, after.standing, after.unsupported) == (3, "supported", ())
    failed = judge_.judge(Transcript(id="t", messages=messages, failed=frozenset({"c"})), [3])[0]
    assert failed.unsupported == ("4417", "web-17")


def test_nothing_to_judge() -> None:
    for answer in ("", None, "All done, thank you."):
        report = judge(answer, [LOGS])
        assert (report.standing, report.values) == ("no-values", ())
