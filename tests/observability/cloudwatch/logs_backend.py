"""What the tests of CloudWatch share: groups of a moto server, what is in them, and a client that fails as it is told."""

from __future__ import annotations

import json
import threading
import uuid
from collections.abc import Callable
from typing import Any

from botocore.exceptions import ClientError

from tests.observability.aws.moto_server import client


class Group:
    """A log group of its own.

    Args:
        url: of the server.
    """

    def __init__(self, url: str) -> None:
        self.name = f"/tests/{uuid.uuid4().hex}"
        self.client = client("logs", url)
        self.client.create_log_group(logGroupName=self.name)

    @property
    def streams(self) -> list[str]:
        """The names of its streams."""
        return [found["logStreamName"] for found in self.client.describe_log_streams(logGroupName=self.name)["logStreams"]]

    def raw(self, stream: str | None = None) -> list[dict[str, Any]]:
        """The log events of its one stream, or of a named one, in order."""
        if stream is None:
            if not self.streams:
                return []
            (stream,) = self.streams
        found: list[dict[str, Any]] = []
        token: dict[str, str] = {}
        while True:
            page = self.client.get_log_events(logGroupName=self.name, logStreamName=stream, startFromHead=True, limit=10_000, **token)
            if not page["events"]:
                return found
            found += page["events"]
            token = {"nextToken": page["nextForwardToken"]}

    def messages(self) -> list[dict[str, Any]]:
        """What they say."""
        return [json.loads(event["message"]) for event in self.raw()]


def refusal(code: str, operation: str = "PutLogEvents", status: int = 400) -> ClientError:
    """An error as boto3 raises it."""
    response: Any = {"Error": {"Code": code, "Message": "said the service"}, "ResponseMetadata": {"HTTPStatusCode": status}}
    return ClientError(response, operation)


class Watched:
    """A client that notes what it is asked, and may do something before or instead of it.

    Args:
        inner: the client that does it.
        puts: is called before each put; what it raises is raised, and what it gives is the answer, unless that is None.
        creates: the same for the making of streams.
    """

    def __init__(self, inner: Any, puts: Callable[[], Any] = lambda: None, creates: Callable[[], Any] = lambda: None) -> None:
        self.inner = inner
        self.puts = puts
        self.creates = creates
        self.asked: list[tuple[str, int]] = []
        self.batches: list[list[dict[str, Any]]] = []
        self.lock = threading.Lock()

    def put_log_events(self, **arguments: Any) -> Any:
        assert self.lock.acquire(blocking=False), "two calls at once"
        try:
            self.asked.append(("put", len(arguments["logEvents"])))
            self.batches.append(arguments["logEvents"])
            answer = self.puts()
            return self.inner.put_log_events(**arguments) if answer is None else answer
        finally:
            self.lock.release()

    def create_log_stream(self, **arguments: Any) -> Any:
        self.asked.append(("create", 1))
        answer = self.creates()
        return self.inner.create_log_stream(**arguments) if answer is None else answer


def in_turn(*answers: Any) -> Callable[[], Any]:
    """Gives or raises one after the other, then None for ever."""
    left = list(answers)

    def answer() -> Any:
        made = left.pop(0) if left else None
        if isinstance(made, Exception):
            raise made
        return made

    return answer
