"""One log stream against a real server: made when it is missing, batches within the limits, tries again, says what it lost."""

from __future__ import annotations

import time
from typing import Any

import pytest
from botocore.exceptions import ConnectTimeoutError, ReadTimeoutError
from hypothesis import given
from hypothesis import strategies as st

from agentfp_cloudwatch import CloudWatchError, limits, retries
from agentfp_cloudwatch.limits import LogLine, batches, sendable
from agentfp_cloudwatch.stream import LogStream, rejected
from tests.observability.cloudwatch.logs_backend import Group, Watched, in_turn, refusal

NOW_MS = 1_800_000_000_000


class Given:
    """A stream, the group it is in, and what it reported."""

    def __init__(self, url: str, **watched: Any) -> None:
        self.group = Group(url)
        self.client = Watched(self.group.client, **watched)
        self.reported: list[tuple[str, int]] = []
        self.slept: list[float] = []
        self.now = time.time
        self.stream = self.another()

    def another(self, group: str | None = None, **limited: int) -> LogStream:
        return LogStream(
            lambda: self.client,
            group or self.group.name,
            "s",
            max_events=limited.get("max_events", limits.MAX_BATCH_EVENTS),
            max_bytes=limited.get("max_bytes", limits.MAX_BATCH_BYTES),
            failed=self._failed,
            now=lambda: self.now(),
            sleep=self.slept.append,
        )

    def _failed(self, error: Exception, count: int) -> None:
        assert isinstance(error, CloudWatchError)
        self.reported.append((str(error), count))


def lines(count: int, text: str = "line") -> list[LogLine]:
    start = int(time.time() * 1000)
    return [LogLine(start + number // 100, f"{text} {number}") for number in range(count)]


def test_a_missing_stream_is_made_once_and_the_same_batch_is_put_again(aws: str) -> None:
    given = Given(aws)
    assert given.stream.put(lines(3)) == 0
    assert given.stream.put(lines(2)) == 0
    assert given.client.asked == [("put", 3), ("create", 1), ("put", 3), ("put", 2)]
    assert [event["message"] for event in given.group.raw()] == ["line 0", "line 1", "line 2", "line 0", "line 1"]


def test_a_stream_that_may_not_be_made_is_tried_once_and_all_later_batches_are_reported(aws: str) -> None:
    given = Given(aws, creates=in_turn(refusal("AccessDeniedException", "CreateLogStream")))
    assert given.stream.put(lines(3)) == 3
    assert given.stream.put(lines(2)) == 2
    assert given.client.asked == [("put", 3), ("create", 1)]
    (first, three), (second, two) = given.reported
    assert (three, two) == (3, 2)
    for words in (first, second):
        assert "AccessDeniedException" in words
        assert "logs:CreateLogStream and logs:PutLogEvents" in words
        assert repr(given.group.name) in words


def test_a_stream_that_somebody_deletes_is_made_again(aws: str) -> None:
    given = Given(aws)
    assert given.stream.put(lines(3)) == 0
    for count in (2, 4):
        given.group.client.delete_log_stream(logGroupName=given.group.name, logStreamName="s")
        assert given.stream.put(lines(count)) == 0
        assert len(given.group.raw()) == count
    assert given.reported == []


def test_a_stream_whose_making_was_throttled_is_made_with_the_next_batch(aws: str) -> None:
    given = Given(aws, creates=in_turn(*[refusal("ThrottlingException", "CreateLogStream")] * 4))
    assert given.stream.put(lines(3)) == 3
    assert [words for words, _ in given.reported] == [f"3 log events for 's' of {given.group.name!r} were not taken (ThrottlingException)"]
    assert given.stream.put(lines(2)) == 0
    assert len(given.group.raw()) == 2


def test_a_process_that_is_forked_off_has_a_stream_and_a_client_of_its_own(aws: str, monkeypatch: pytest.MonkeyPatch) -> None:
    given, clients, names = Given(aws), [], iter(("mine", "its"))

    def client() -> Any:
        clients.append(given.client)
        return given.client

    stream = LogStream(client, given.group.name, lambda: next(names), max_events=10, max_bytes=10_000, failed=given._failed)
    assert (stream.put(lines(1)), stream.name) == (0, "mine")
    monkeypatch.setattr("os.getpid", lambda: -1)  # what a child sees is another number
    assert (stream.put(lines(1)), stream.name) == (0, "its")
    assert len(clients) == 2
    assert sorted(given.group.streams) == ["its", "mine"]


def test_a_note_of_the_sinks_own_is_tried_once_and_is_no_loss(aws: str) -> None:
    given = Given(aws, puts=in_turn(None, None, refusal("ThrottlingException")))
    assert given.stream.put(lines(1)) == 0
    asked = len(given.client.asked)
    assert given.stream.note(LogLine(int(time.time() * 1000), "2 events are lost")) is False
    assert (len(given.client.asked) - asked, given.reported, given.slept) == (1, [], [])


def test_a_group_that_is_missing_is_never_made(aws: str) -> None:
    given = Given(aws)
    stream = given.another(group="/not/there")
    assert stream.put(lines(1)) == 1
    assert stream.put(lines(1)) == 1
    assert given.client.asked == [("put", 1), ("create", 1)]
    assert given.reported[0][0].startswith("1 log events for 's' of '/not/there' have no log group '/not/there': it is never made here")
    groups = given.group.client.describe_log_groups(logGroupNamePrefix="/not/there")
    assert groups["logGroups"] == []


def test_somebody_who_was_faster_in_making_the_stream_is_no_error(aws: str) -> None:
    given = Given(aws)
    make = given.group.client.create_log_stream
    given.client.creates = lambda: make(logGroupName=given.group.name, logStreamName="s") and None
    assert given.stream.put(lines(3)) == 0
    assert len(given.group.raw()) == 3
    assert given.reported == []


def test_twelve_thousand_small_events_make_two_calls_in_order(aws: str) -> None:
    given = Given(aws)
    given.group.client.create_log_stream(logGroupName=given.group.name, logStreamName="s")
    assert given.stream.put(lines(12_000)) == 0
    assert given.client.asked == [("put", 10_000), ("put", 2_000)]
    assert [event["message"] for event in given.group.raw()] == [f"line {number}" for number in range(12_000)]


def test_a_batch_of_exactly_the_bytes_of_the_service_is_one_call_and_one_byte_more_two(aws: str) -> None:
    given = Given(aws)
    given.group.client.create_log_stream(logGroupName=given.group.name, logStreamName="s")
    half = limits.MAX_BATCH_BYTES // 2 - limits.EVENT_OVERHEAD
    start = int(time.time() * 1000)
    assert given.stream.put([LogLine(start, "ä" * (half // 2)), LogLine(start, "b" * half)]) == 0
    assert given.client.asked == [("put", 2)]
    assert given.stream.put([LogLine(start, "ä" * (half // 2)), LogLine(start, "b" * (half + 1))]) == 0
    assert given.client.asked == [("put", 2), ("put", 1), ("put", 1)]


def test_events_go_out_by_time_and_those_of_one_time_in_their_order(aws: str) -> None:
    given = Given(aws)
    start = int(time.time() * 1000)
    assert given.stream.put([LogLine(start + 2, "c"), LogLine(start, "a"), LogLine(start + 2, "d"), LogLine(start + 1, "b")]) == 0
    assert [event["message"] for event in given.client.batches[-1]] == ["a", "b", "c", "d"]


@pytest.mark.parametrize("error", [refusal("ThrottlingException"), refusal("Whatever", status=503), ConnectionResetError(), TimeoutError()])
def test_two_errors_that_pass_are_waited_out(aws: str, error: Exception) -> None:
    given = Given(aws)
    given.stream.put(lines(1))
    given.client.puts = in_turn(error, error)
    assert given.stream.put(lines(3)) == 0
    assert len(given.group.raw()) == 4
    assert given.reported == []
    assert [0.2 <= given.slept[0] <= 0.4, 0.4 <= given.slept[1] <= 0.8, len(given.slept)] == [True, True, 2]


def test_after_the_third_try_again_the_batch_is_lost_and_the_next_one_is_not(aws: str) -> None:
    given = Given(aws)
    given.stream.put(lines(1))
    given.client.puts = in_turn(*[refusal("ThrottlingException")] * 4)
    assert given.stream.put(lines(3)) == 3
    assert len(given.slept) == 3
    assert 0.8 <= given.slept[2] <= 1.6
    assert given.reported == [(f"3 log events for 's' of {given.group.name!r} were not taken (ThrottlingException)", 3)]
    assert given.stream.put(lines(2)) == 0


def test_an_error_that_stays_is_not_tried_again(aws: str) -> None:
    given = Given(aws)
    given.stream.put(lines(1))
    given.client.puts = in_turn(refusal("InvalidParameterException"))
    assert given.stream.put(lines(3)) == 3
    assert given.slept == []


def test_what_a_try_without_an_answer_delivered_is_not_counted_as_lost(aws: str) -> None:
    given = Given(aws)
    given.stream.put(lines(1))
    given.client.puts = in_turn(TimeoutError(), refusal("DataAlreadyAcceptedException"))
    assert given.stream.put(lines(3)) == 0


def test_timeouts_of_boto3_pass() -> None:
    assert retries.passes(ReadTimeoutError(endpoint_url="http://x"))
    assert retries.passes(ConnectTimeoutError(endpoint_url="http://x"))
    assert not retries.passes(ValueError())


def test_events_out_of_the_services_time_are_not_sent_and_counted(aws: str) -> None:
    given = Given(aws)
    now = int(time.time() * 1000)
    old, future = LogLine(now - limits.MAX_AGE_MS - 1000, "old"), LogLine(now + limits.MAX_FUTURE_MS + 60_000, "future")
    assert given.stream.put([future, LogLine(now, "now"), old]) == 2
    assert [event["message"] for event in given.group.raw()] == ["now"]
    assert given.reported[0][1] == 2


def test_events_that_the_service_rejects_are_counted(aws: str) -> None:
    """Its clock and ours may differ: this one believes to be in the past, where the events are new.

    The index in the reply is exclusive; moto gives that of the last event that is too old, so that one more was rejected here.
    """
    given = Given(aws)
    given.stream.put(lines(1))
    past = time.time() - 20 * 24 * 3600
    given.now = lambda: past
    old = int(past * 1000)
    assert given.stream.put([LogLine(old + number, "old") for number in range(3)]) == 2
    assert given.reported == [(f"2 log events for 's' of {given.group.name!r} were rejected by the service because of their time", 2)]
    assert [event["message"] for event in given.group.raw()] == ["line 0"]


@pytest.mark.parametrize(
    ("reply", "count"),
    [
        ({}, 0),
        ({"rejectedLogEventsInfo": None}, 0),
        ({"rejectedLogEventsInfo": {"tooOldLogEventEndIndex": 3}}, 3),
        ({"rejectedLogEventsInfo": {"expiredLogEventEndIndex": 2, "tooOldLogEventEndIndex": 4}}, 4),
        ({"rejectedLogEventsInfo": {"tooNewLogEventStartIndex": 7}}, 3),
        ({"rejectedLogEventsInfo": {"tooOldLogEventEndIndex": 2, "tooNewLogEventStartIndex": 9}}, 3),
        ({"rejectedLogEventsInfo": {"tooOldLogEventEndIndex": 99}}, 10),
        ({"rejectedLogEventsInfo": {"tooNewLogEventStartIndex": -5}}, 10),
        ({"rejectedLogEventsInfo": {"tooOldLogEventEndIndex": "many"}}, None),
        ({"rejectedLogEventsInfo": "all"}, None),
        (None, None),
        ("ok", None),
    ],
)
def test_what_a_reply_says_was_rejected(reply: Any, count: int | None) -> None:
    assert rejected(reply, 10) == count


def test_an_answer_that_is_none_counts_as_lost(aws: str) -> None:
    given = Given(aws)
    given.stream.put(lines(1))
    given.client.puts = in_turn("200 OK")
    assert given.stream.put(lines(3)) == 3


# --- the limits, one by one ------------------------------------------------------------------------------------------------------------


def test_the_limits_are_those_of_the_service() -> None:
    """As its reference said on the day that stands in `limits.CHECKED`. Whoever changes one looks all of them up."""
    assert limits.CHECKED == "2026-12-01"
    assert limits.MAX_BATCH_EVENTS == 10_000
    assert limits.MAX_BATCH_BYTES == 1_048_576
    assert limits.EVENT_OVERHEAD == 26
    assert limits.MAX_EVENT_BYTES == 1_048_576
    assert limits.MAX_SPAN_MS == 86_400_000
    assert limits.MAX_FUTURE_MS == 7_200_000
    assert limits.MAX_AGE_MS == 1_209_600_000


def test_max_batch_events() -> None:
    assert [len(batch) for batch in batches([LogLine(0, "")] * 20_001)] == [10_000, 10_000, 1]


def test_max_batch_bytes_with_the_overhead_of_each_event() -> None:
    line = LogLine(0, "x" * 1022)  # 1,048 bytes with the overhead
    assert [len(batch) for batch in batches([line] * 1001)] == [1000, 1]


def test_max_span() -> None:
    last = LogLine(limits.MAX_SPAN_MS, "")
    assert [len(batch) for batch in batches([LogLine(0, ""), LogLine(limits.MAX_SPAN_MS - 1, ""), last, last])] == [2, 2]


def test_max_future() -> None:
    inside, outside = LogLine(NOW_MS + limits.MAX_FUTURE_MS - 1, ""), LogLine(NOW_MS + limits.MAX_FUTURE_MS, "")
    assert sendable([outside, inside], NOW_MS) == [inside]


def test_max_age() -> None:
    inside, outside = LogLine(NOW_MS - limits.MAX_AGE_MS + 1, ""), LogLine(NOW_MS - limits.MAX_AGE_MS, "")
    assert sendable([outside, inside], NOW_MS) == [inside]


@given(
    st.lists(st.builds(LogLine, st.integers(NOW_MS - 2 * limits.MAX_SPAN_MS, NOW_MS), st.text("aä€", max_size=30)), max_size=60),
    st.integers(1, 20),
    st.integers(26, 300),
)
def test_every_batch_fits_and_none_is_missing(given_lines: list[LogLine], max_events: int, max_bytes: int) -> None:
    made = list(batches(sendable(given_lines, NOW_MS), max_events=max_events, max_bytes=max_bytes))
    assert [line for batch in made for line in batch] == sorted(given_lines, key=lambda line: line.timestamp)
    for batch in made:
        assert 1 <= len(batch) <= max_events
        assert len(batch) == 1 or sum(line.size for line in batch) <= max_bytes
        assert batch[-1].timestamp - batch[0].timestamp < limits.MAX_SPAN_MS
