"""Documents on their way to X-Ray: the limits one by one, what is tried again, and what counts as lost."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest
from botocore.exceptions import ClientError

from agentfp_xray import XRayError, limits
from agentfp_xray.limits import key_of, name_of
from agentfp_xray.segments import OF_ROOT, Segment, Trace, trace_id_of
from agentfp_xray.sending import Sender, unprocessed
from tests.observability.aws.moto_server import client
from tests.observability.xray.segments_backend import Watched, stored

START_NS = 1_800_000_000_123_456_789


def nobody(segment: Segment, end_ns: int) -> None:
    """Takes a segment that has ended."""


class Given:
    """A sender, its client, and what it reported."""

    def __init__(self, url: str | None, *answers: Any) -> None:
        left = list(answers)

        def answer() -> Any:
            made = left.pop(0) if left else None
            if isinstance(made, Exception):
                raise made
            return made

        self.client = Watched(url, answer)
        self.reported: list[tuple[str, int]] = []
        self.slept: list[float] = []
        self.sender = Sender(lambda: self.client, self._failed, self.slept.append)

    def _failed(self, error: Exception, count: int) -> None:
        assert isinstance(error, XRayError)
        self.reported.append((str(error), count))


def refusal(code: str, status: int = 400) -> ClientError:
    response: Any = {"Error": {"Code": code, "Message": "said the service"}, "ResponseMetadata": {"HTTPStatusCode": status}}
    return ClientError(response, "PutTraceSegments")


def documents(count: int, made: list[str] | None = None) -> list[str]:
    """Documents of one trace, the root first."""
    made = [] if made is None else made
    trace = Trace(trace_id_of(None, START_NS), lambda segment, end_ns: made.append(segment.document(end_ns)))
    root = Segment(trace, None, "desk", START_NS)
    root.end(START_NS + 5)
    for number in range(count - 1):
        Segment(trace, root, f"part {number}", START_NS).end(START_NS + 5)
    return made


def test_documents_arrive_on_the_server(aws: str) -> None:
    given = Given(aws)
    sent = documents(50)
    assert given.sender.put(sent) == 0
    trace_id = json.loads(sent[0])["trace_id"]
    assert {document["id"] for document in stored(aws, trace_id)} == {json.loads(document)["id"] for document in sent}


def test_what_the_server_does_not_process_is_tried_once_more_and_then_reported(aws: str) -> None:
    bad = json.dumps({"id": "1234567890abcdef", "name": "no trace id", "trace_id": ""})
    given = Given(aws)
    reply = client("xray", aws).put_trace_segments(TraceSegmentDocuments=[bad])
    assert reply["UnprocessedTraceSegments"], "the server takes it, so that nothing is tried here"
    assert given.sender.put([*documents(3), bad]) == 1
    assert [len(call) for call in given.client.calls] == [4, 1]
    assert given.reported == [("1 segments were not processed, twice", 1)]


def test_what_is_processed_at_the_second_try_is_not_lost() -> None:
    sent = documents(3)
    given = Given(None, {"UnprocessedTraceSegments": [{"Id": json.loads(sent[1])["id"], "ErrorCode": "ThrottledException"}]})
    assert given.sender.put(sent) == 0
    assert [len(call) for call in given.client.calls] == [3, 1]
    assert given.client.calls[1][0]["id"] == json.loads(sent[1])["id"]


def test_throttling_that_ends_loses_nothing() -> None:
    given = Given(None, refusal("ThrottledException"), refusal("Whatever", 503))
    assert given.sender.put(documents(3)) == 0
    assert len(given.slept) == 2


def test_throttling_that_does_not_end_loses_the_batch_and_not_the_next_one() -> None:
    given = Given(None, *[refusal("ThrottledException")] * 4)
    assert given.sender.put(documents(3)) == 3
    assert given.reported == [("3 segments were not taken (ThrottledException)", 3)]
    assert given.sender.put(documents(2)) == 0


def test_an_error_that_stays_is_not_tried_again() -> None:
    given = Given(None, refusal("AccessDeniedException"))
    assert given.sender.put(documents(3)) == 3
    assert given.slept == []


@pytest.mark.parametrize(
    ("reply", "count"),
    [
        ({}, 0),
        ({"UnprocessedTraceSegments": None}, 0),
        ({"UnprocessedTraceSegments": [{"ErrorCode": "x"}]}, 1),
        ({"UnprocessedTraceSegments": [{"Id": "of nobody"}, {"Id": "either"}]}, 2),
        ({"UnprocessedTraceSegments": [{}] * 99}, 3),
        ({"UnprocessedTraceSegments": "all"}, None),
        ({"UnprocessedTraceSegments": ["all"]}, None),
        (None, None),
        ("ok", None),
    ],
)
def test_what_a_reply_says_was_not_processed(reply: Any, count: int | None) -> None:
    found = unprocessed(reply, documents(3))
    assert (None if found is None else len(found)) == count


def test_an_answer_that_is_none_counts_as_lost() -> None:
    given = Given(None, "200 OK")
    assert given.sender.put(documents(3)) == 3
    assert len(given.client.calls) == 1


# --- the limits, one by one ------------------------------------------------------------------------------------------------------------


def test_the_limits_are_those_of_the_service() -> None:
    """As its reference said on the day that stands in `limits.CHECKED`. Whoever changes one looks all of them up."""
    assert limits.CHECKED == "2026-12-01"
    assert limits.MAX_DOCUMENTS == 50
    assert limits.MAX_DOCUMENT_BYTES == 64_000
    assert limits.MAX_ANNOTATIONS == 50
    assert limits.MAX_NAME == 200


def test_max_document_bytes() -> None:
    segment = Segment(Trace(trace_id_of(None, START_NS), nobody), None, "desk", START_NS)
    segment.metadata |= {f"field {number}": "ä" * limits.MAX_TEXT for number in range(1000)}
    document = segment.document(START_NS)
    assert len(document.encode()) <= limits.MAX_DOCUMENT_BYTES
    assert json.loads(document)["metadata"]["agentfp"]["oversize"] is True
    assert json.loads(document)["name"] == "desk"


def test_max_annotations_of_a_trace_with_room_kept_for_the_root() -> None:
    made: list[str] = []
    trace = Trace(trace_id_of(None, START_NS), lambda segment, end_ns: made.append(segment.document(end_ns)))
    root = Segment(trace, None, "desk", START_NS)
    root.annotations |= {f"key {number}": number for number in range(OF_ROOT + 3)}
    for number in range(60):
        below = Segment(trace, root, "part", START_NS)
        below.annotations["number"] = number
        below.end(START_NS)
    root.end(START_NS)
    parsed = [json.loads(document) for document in made]
    assert sum(len(document.get("annotations", {})) for document in parsed) == limits.MAX_ANNOTATIONS
    assert len(parsed[-1]["annotations"]) == OF_ROOT
    assert len(parsed[-1]["metadata"]["agentfp"]) == 3
    assert parsed[-2]["metadata"]["agentfp"] == {"number": 59}, "what has no room as an annotation is metadata"


def test_max_name_and_the_characters_that_names_and_keys_may_have() -> None:
    assert name_of("tool_look/up: a=b") == "tool_look/up: a=b"
    assert name_of('tool_<b>"x"\'') == "tool__b__x__"
    assert len(name_of("x" * 999)) == limits.MAX_NAME
    assert name_of("") == "_"
    assert key_of("a.b-c d") == "a_b_c_d"


def test_times_are_exact_to_the_microsecond() -> None:
    segment = Segment(Trace(trace_id_of(None, START_NS), nobody), None, "desk", START_NS)
    assert f"{json.loads(segment.document(START_NS + 2_000))['start_time']:.6f}" == "1800000000.123457"
    assert f"{json.loads(segment.document(START_NS + 2_000))['end_time']:.6f}" == "1800000000.123459"


@pytest.mark.parametrize("given", ["1-4efaaf4d-1e8720b39541901950019ee5", "4efaaf4d1e8720b39541901950019ee5"])
def test_a_trace_of_the_caller_is_joined(given: str) -> None:
    assert trace_id_of(given, START_NS) == "1-4efaaf4d-1e8720b39541901950019ee5"


@pytest.mark.parametrize("given", [None, "", "abc", "1-4efaaf4d-1e8720b39541901950019ee"])
def test_an_id_that_is_none_of_a_trace_is_not_used(given: str | None) -> None:
    assert trace_id_of(given, START_NS).startswith(f"1-{1_800_000_000:08x}-")
    assert trace_id_of(given, START_NS) != trace_id_of(given, START_NS)


def test_what_is_no_number_is_written_as_text() -> None:
    made = Segment(Trace(trace_id_of(None, START_NS), nobody), None, "desk", START_NS)
    made.annotations = {"a": float("nan"), "b": float("inf"), "c": 0.5}
    document = json.loads(made.document(START_NS), parse_constant=lambda name: pytest.fail(f"{name} is no JSON"))
    assert document["annotations"] == {"a": "nan", "b": "inf", "c": 0.5}


def test_a_process_that_is_forked_off_makes_ids_of_its_own() -> None:
    program = (
        "import os, sys; from agentfp_xray.segments import new_id; new_id(); read, write = os.pipe(); child = os.fork()\n"
        "if child == 0: os.write(write, new_id().encode()); os._exit(0)\n"
        "os.waitpid(child, 0); print(os.read(read, 16).decode() == new_id())"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_a_process_that_is_forked_off_makes_a_client_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[object] = []

    def client() -> Any:
        made.append(given.client)
        return given.client

    given = Given(None, *[{"UnprocessedTraceSegments": []}] * 3)
    sender = Sender(client, given._failed, given.slept.append)
    sender.put(documents(1))
    sender.put(documents(1))
    monkeypatch.setattr("os.getpid", lambda: -1)
    sender.put(documents(1))
    assert (len(made), given.reported) == (2, [])
