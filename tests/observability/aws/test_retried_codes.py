"""What both sinks of AWS try again is what boto's own retries try again, and more."""

from __future__ import annotations

from pathlib import Path

import pytest
from botocore.exceptions import ClientError
from botocore.retries import standard

import agentfp_cloudwatch.retries
import agentfp_xray.retries


def test_both_sinks_try_the_same_again() -> None:
    one, other = (Path(str(module.__file__)).read_text(encoding="utf-8") for module in (agentfp_cloudwatch.retries, agentfp_xray.retries))
    assert one == other


def test_it_is_no_less_than_what_boto_tries_again() -> None:
    throttled: list[str] = getattr(standard.ThrottledRetryableChecker, "_THROTTLED_ERROR_CODES")  # noqa: B009 - no stub names it
    passing: list[str] = getattr(standard.TransientRetryableChecker, "_TRANSIENT_ERROR_CODES")  # noqa: B009
    codes = {*throttled, *passing}
    assert codes - agentfp_xray.retries.BUSY == set()


@pytest.mark.parametrize(("status", "again"), [(400, False), (403, False), (429, True), (500, True), (503, True)])
def test_the_status_decides_where_the_code_says_nothing(status: int, again: bool) -> None:
    error = ClientError({"Error": {"Code": "Whatever"}, "ResponseMetadata": {"HTTPStatusCode": status}}, "PutIt")  # type: ignore[typeddict-item]
    assert agentfp_xray.retries.passes(error) is again
