"""What Google's refusals become."""

from __future__ import annotations

from typing import Any

import pytest

from agentfp.http import error_of_data, error_of_reply
from agentfp.model import (
    ContextTooLongError,
    ModelAuthenticationError,
    ModelBadRequestError,
    ModelConnectionError,
    ModelError,
    ModelNotFoundError,
    ModelOverloadedError,
    ModelRateLimitError,
    ModelTimeoutError,
)
from agentfp_gemini.errors import explain

INFO = "type.googleapis.com/google.rpc.ErrorInfo"
RETRY = "type.googleapis.com/google.rpc.RetryInfo"
TOO_LONG = "The input token count (1048577) exceeds the maximum number of tokens allowed (1048576)."
QUOTA = "type.googleapis.com/google.rpc.QuotaFailure"


def error_of(status: int, name: str | None, message: str = "", *details: dict[str, Any]) -> ModelError:
    data = {"error": {"code": status, "message": message, "status": name, "details": list(details)}}
    return error_of_data("gemini", "m", status, data, explain)


@pytest.mark.parametrize(
    ("status", "name", "message", "kind"),
    [
        (400, "INVALID_ARGUMENT", "Invalid value at 'contents'", ModelBadRequestError),
        (400, "INVALID_ARGUMENT", TOO_LONG, ContextTooLongError),
        (400, "INVALID_ARGUMENT", "API key not valid. Please pass a valid API key.", ModelAuthenticationError),
        (401, "UNAUTHENTICATED", "", ModelAuthenticationError),
        (403, "PERMISSION_DENIED", "", ModelAuthenticationError),
        (404, "NOT_FOUND", "models/x is not found", ModelNotFoundError),
        (429, "RESOURCE_EXHAUSTED", "", ModelRateLimitError),
        (500, "INTERNAL", "", ModelOverloadedError),
        (503, "UNAVAILABLE", "The model is overloaded.", ModelOverloadedError),
        (504, "DEADLINE_EXCEEDED", "", ModelTimeoutError),
        (418, "SOMETHING_NEW", "", ModelBadRequestError),
        (0, "UNAVAILABLE", "", ModelOverloadedError),
        (0, "RESOURCE_EXHAUSTED", "", ModelRateLimitError),
        (0, None, "", ModelConnectionError),
    ],
)
def test_each_code_has_a_class(status: int, name: str | None, message: str, kind: type[ModelError]) -> None:
    error = error_of(status, name, message)
    assert type(error) is kind
    assert error.detail == message
    assert message == "" or message not in str(error)


def test_a_bad_key_is_known_by_its_reason() -> None:
    reason = {"@type": INFO, "reason": "API_KEY_INVALID", "domain": "googleapis.com"}
    assert isinstance(error_of(400, "INVALID_ARGUMENT", "Ungültig.", reason), ModelAuthenticationError)


@pytest.mark.parametrize(
    ("delay", "seconds"),
    [("17s", 17.0), ("0.5s", 0.5), ({"seconds": "9"}, 9.0), ({"seconds": 9}, 9.0), ("soon", None), (5, None), ({}, None)],
)
def test_the_wait_is_read_from_the_details(delay: Any, seconds: float | None) -> None:
    error = error_of(429, "RESOURCE_EXHAUSTED", "", {"@type": RETRY, "retryDelay": delay})
    assert error.retry_after == seconds


def test_a_quota_of_the_day_says_so() -> None:
    violation = {"@type": QUOTA, "violations": [{"quotaId": "GenerateRequestsPerDayPerProjectPerModel-FreeTier"}]}
    error = error_of(429, "RESOURCE_EXHAUSTED", "", violation, {"@type": RETRY, "retryDelay": "40s"})
    assert error.retry_after == 40
    assert "the quota of the day is used up" in str(error)


@pytest.mark.parametrize(
    ("status", "name", "message", "details", "says"),
    [
        (400, "FAILED_PRECONDITION", "User location is not supported", (), "without billing"),
        (400, "INVALID_ARGUMENT", "Function call is missing a thought_signature", (), "begin a new conversation"),
        (403, "PERMISSION_DENIED", "", ({"@type": INFO, "reason": "SERVICE_DISABLED"},), "switch the Generative Language API on"),
    ],
)
def test_advice_that_fits(status: int, name: str, message: str, details: Any, says: str) -> None:
    assert says in str(error_of(status, name, message, *details))


def test_a_refused_stream_is_a_list_with_one_error() -> None:
    error = error_of_reply("gemini", "m", 503, {}, b'[{"error": {"code": 503, "status": "UNAVAILABLE", "message": "x"}}]', explain)
    assert isinstance(error, ModelOverloadedError)


@pytest.mark.parametrize(
    "data",
    [
        None,
        [],
        [1],
        "x",
        {"error": "x"},
        {"error": {"details": 5, "message": 5, "status": []}},
        {"error": {"status": "RESOURCE_EXHAUSTED", "details": [5, {"violations": 3}, {"violations": [1]}]}},
    ],
)
def test_odd_bodies_are_no_trouble(data: Any) -> None:
    assert isinstance(error_of_data("gemini", "m", 429, data, explain), ModelRateLimitError)
