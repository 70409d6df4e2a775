"""Which errors of AWS pass, and trying again for a while."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

T = TypeVar("T")

DELAYS = (0.2, 0.4, 0.8)
"""Seconds before each further try; up to as much again is added by chance, so that many processes do not come back at once."""
BUSY = frozenset(
    {
        "BandwidthLimitExceeded",
        "EC2ThrottledException",
        "InternalFailure",
        "InternalServerError",
        "LimitExceededException",
        "OperationAbortedException",
        "PriorRequestNotComplete",
        "ProvisionedThroughputExceededException",
        "RequestLimitExceeded",
        "RequestThrottled",
        "RequestThrottledException",
        "RequestTimeout",
        "RequestTimeoutException",
        "ServiceUnavailable",
        "ServiceUnavailableException",
        "SlowDown",
        "Throttling",
        "ThrottlingException",
        "ThrottledException",
        "TooManyRequestsException",
        "TransactionInProgressException",
    }
)
"""Codes of errors that pass."""
_TOO_MANY = 429


def code_of(error: BaseException) -> str:
    """The code of an error of AWS, empty for another one. Read without botocore, for a client may be somebody's own."""
    response = getattr(error, "response", None)
    if not isinstance(response, Mapping):
        return ""
    return str(response.get("Error", {}).get("Code", ""))


def passes(error: BaseException) -> bool:
    """Whether an error may be gone at the next try: throttling, a fault of the service, no connection, no answer in time."""
    if code_of(error) in BUSY:
        return True
    response: Any = getattr(error, "response", None)
    if isinstance(response, Mapping):
        status = int(response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0))
        return status >= 500 or status == _TOO_MANY
    of_botocore = any(kind.__name__ in ("ConnectionError", "HTTPClientError") for kind in type(error).__mro__)
    return of_botocore or isinstance(error, (ConnectionError, TimeoutError))


def patiently(call: Callable[[], T], sleep: Callable[[float], Any] = time.sleep) -> T:
    """Call, and call again after errors that pass, up to three times.

    Args:
        call: what to do.
        sleep: waits.

    Returns:
        What it gives.

    Raises:
        Exception: what the last call raised.
    """
    for delay in DELAYS:
        try:
            return call()
        except Exception as error:
            if not passes(error):
                raise
        sleep(delay * (1 + random.random()))
    return call()
