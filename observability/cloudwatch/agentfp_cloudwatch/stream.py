"""One log stream: it is made when it is missing, takes batches within the service's limits, and says what it lost and why."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from agentfp import AgentfpError
from agentfp_cloudwatch.limits import LogLine, batches, sendable
from agentfp_cloudwatch.retries import code_of, passes, patiently

MISSING = "ResourceNotFoundException"
EXISTS = "ResourceAlreadyExistsException"
TAKEN_BEFORE = "DataAlreadyAcceptedException"


class CloudWatchError(AgentfpError):
    """Log events are lost; the words say of which group and stream, and what to do. Nothing of the events stands in them."""

    code: ClassVar[str] = "ERR_CLOUDWATCH"


class LogStream:
    """A log stream.

    Args:
        client: makes boto3's client, once, when there is something to send.
        group: the log group; it is never made here, for who keeps its logs decides on how long and how encrypted.
        name: of the stream, or what makes one for this process; a process that is forked off has one of its own then.
        max_events: log events of a call.
        max_bytes: of a call.
        failed: is handed each error and the number of log events that it cost.
        now: the time in seconds since the epoch.
        sleep: waits between tries.
    """

    def __init__(
        self,
        client: Callable[[], Any],
        group: str,
        name: str | Callable[[], str],
        *,
        max_events: int,
        max_bytes: int,
        failed: Callable[[Exception, int], None],
        now: Callable[[], float] = time.time,
        sleep: Callable[[float], Any] = time.sleep,
    ) -> None:
        self._make_client = client
        self._client: Any = None
        self.group = group
        self._name_of = name if callable(name) else lambda: name
        self.name = self._name_of()
        self._pid = os.getpid()
        self._max_events = max_events
        self._max_bytes = max_bytes
        self._failed = failed
        self._now = now
        self._sleep = sleep
        self._made = False
        self._unavailable: str | None = None

    def put(self, lines: list[LogLine]) -> int:
        """Send log events, one call after the other.

        Args:
            lines: in the order in which they came.

        Returns:
            How many are lost; each loss was reported.
        """
        if os.getpid() != self._pid:
            self._begin_anew()
        fit = sendable(lines, int(self._now() * 1000))
        lost = self._lose(len(lines) - len(fit), "are older than 14 days or more than two hours in the future")
        for batch in batches(fit, max_events=self._max_events, max_bytes=self._max_bytes):
            lost += self._batch(batch)
        return lost

    def note(self, line: LogLine) -> bool:
        """Send a log event of the sink's own, in one try; gives whether it was taken. It is no loss when it was not."""
        try:
            self._client_of().put_log_events(logGroupName=self.group, logStreamName=self.name, logEvents=[line._asdict()])
        except Exception:  # what comes behind it says what is wrong
            return False
        return True

    def _begin_anew(self) -> None:
        """In a process that was forked off: its connections and its stream are its own."""
        self._pid, self._client, self._made, self._unavailable = os.getpid(), None, False, None
        self.name = self._name_of()

    def _batch(self, batch: list[LogLine]) -> int:
        if self._unavailable is not None:
            return self._lose(len(batch), self._unavailable)
        try:
            reply = self._sent(batch)
        except Exception as error:  # whatever it is, the next batch may do better
            return self._lose(len(batch), self._unavailable or f"were not taken ({_kind(error)})", error)
        refused = rejected(reply, len(batch))
        if refused is None:
            return self._lose(len(batch), "got an answer that is none of the service")
        return self._lose(refused, "were rejected by the service because of their time")

    def _sent(self, batch: list[LogLine]) -> Any:
        events = [line._asdict() for line in batch]
        put = {"logGroupName": self.group, "logStreamName": self.name, "logEvents": events}
        try:
            reply = self._call("put_log_events", **put)
        except Exception as error:
            if code_of(error) == TAKEN_BEFORE:  # by a try whose answer did not arrive
                return {}
            if code_of(error) != MISSING or self._made:
                raise
            self._make()
            reply = self._call("put_log_events", **put)
        self._made = False  # it is there; should somebody delete it, it is made again
        return reply

    def _make(self) -> None:
        """Make the stream. When that is refused, nothing is ever tried again; what may pass is tried at the next batch."""
        self._made = True
        try:
            self._call("create_log_stream", logGroupName=self.group, logStreamName=self.name)
        except Exception as error:
            if code_of(error) == EXISTS:  # somebody was faster
                return
            if passes(error):
                self._made = False
                raise
            if code_of(error) == MISSING:
                self._unavailable = f"have no log group {self.group!r}: it is never made here; make it, with the retention that you want"
            else:
                needed = "logs:CreateLogStream and logs:PutLogEvents"
                self._unavailable = f"have no log stream, and it could not be made ({_kind(error)}); allow {needed} on {self.group!r}"
            raise

    def _call(self, operation: str, **arguments: Any) -> Any:
        client = self._client_of()
        return patiently(lambda: getattr(client, operation)(**arguments), self._sleep)

    def _client_of(self) -> Any:
        if self._client is None:
            self._client = self._make_client()
        return self._client

    def _lose(self, count: int, why: str, cause: Exception | None = None) -> int:
        if count:
            error = CloudWatchError(f"{count} log events for {self.name!r} of {self.group!r} {why}")
            error.__cause__ = cause
            self._failed(error, count)
        return count


def rejected(reply: Any, count: int) -> int | None:
    """How many log events of a call the service says that it did not take.

    Args:
        reply: the answer to PutLogEvents.
        count: log events of the call.

    Returns:
        The number, or None for an answer that cannot be one.
    """
    if not isinstance(reply, Mapping):
        return None
    info = reply.get("rejectedLogEventsInfo") or {}
    if not isinstance(info, Mapping):
        return None
    ends = [info.get("tooOldLogEventEndIndex", 0), info.get("expiredLogEventEndIndex", 0)]
    begin = info.get("tooNewLogEventStartIndex", count)
    if not all(isinstance(index, int) for index in (*ends, begin)):
        return None
    old = min(max(*ends, 0), count)
    return int(old + max(count - max(begin, old), 0))


def _kind(error: Exception) -> str:
    return code_of(error) or type(error).__name__
