"""HTTP options of a provider's keyword settings, and what a provider may say of its own errors."""

from __future__ import annotations

from typing import Any

import pytest

from agentfp import ConfigError, ContentFilterError, ModelConnectionError, ModelRateLimitError
from agentfp.http import Explained, HttpOptions, ModelHttp, RetryPolicy, error_of_data
from tests.core.loopback import loopback, reply

OWN = ("api_key", "base_url")


def test_settings_become_options_and_the_others_keep_their_defaults() -> None:
    made = HttpOptions.of("acme", {"silence_timeout": 5, "proxy": None, "headers": {"a": "b"}})
    assert made == HttpOptions(silence_timeout=5, headers={"a": "b"})
    assert HttpOptions.of("acme", {}) == HttpOptions()


@pytest.mark.parametrize(
    ("value", "policy"),
    [(5, RetryPolicy(attempts=5)), ({"longest": 2.0}, RetryPolicy(longest=2.0)), (RetryPolicy(factor=3), RetryPolicy(factor=3))],
)
def test_retries_are_a_number_a_mapping_or_a_policy(value: Any, policy: RetryPolicy) -> None:
    assert HttpOptions.of("acme", {"retries": value}).retries == policy


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"silence_timout": 1}, "'acme' has no setting 'silence_timout'; did you mean 'silence_timeout'"),
        ({"api_kye": "s3cret"}, "did you mean 'api_key'"),
        ({"retries": {"atempts": 1}}, "retries has no 'atempts'; did you mean 'attempts'"),
        ({"retries": {"attempts": 0}}, "attempts takes a whole number from 1"),
        ({"retries": "often"}, "retries of provider 'acme' takes a whole number of attempts"),
        ({"max_connections": 1.5}, "max_connections of provider 'acme' takes a whole number above 0"),
        ({"pool_timeout": True}, "pool_timeout of provider 'acme' takes a number of seconds above 0"),
        ({"connect_timeout": float("inf")}, "takes a number of seconds above 0"),
        ({"headers": {"a": 1}}, "headers of provider 'acme' takes names of headers and their texts"),
    ],
)
def test_what_is_no_setting_is_refused(settings: dict[str, Any], says: str) -> None:
    with pytest.raises(ConfigError) as caught:
        HttpOptions.of("acme", settings, own=OWN)
    assert says in str(caught.value)
    assert "s3cret" not in str(caught.value)


def test_all_problems_are_told_at_once() -> None:
    with pytest.raises(ConfigError) as caught:
        HttpOptions.of("acme", {"a": 1, "b": 2, "keepalive": -1})
    assert len(caught.value.problems) == 3


def test_a_provider_may_say_what_to_do_and_how_long_to_wait() -> None:
    error = error_of_data("acme", "m", 429, {}, lambda *_: Explained(advice="buy more", retry_after=7.0))
    assert isinstance(error, ModelRateLimitError)
    assert error.retry_after == 7
    assert str(error).endswith("it asks to wait 7 s: buy more")


def test_a_header_goes_before_the_wait_that_a_body_asks_for() -> None:
    assert error_of_data("acme", "m", 429, {}, lambda *_: Explained(retry_after=7.0), retry_after=2.0).retry_after == 2


def test_a_provider_may_give_the_class_alone() -> None:
    assert isinstance(error_of_data("acme", "m", 400, {}, lambda *_: ContentFilterError), ContentFilterError)
    assert isinstance(error_of_data("acme", "m", 400, {}, lambda *_: Explained(ContentFilterError)), ContentFilterError)


@pytest.mark.anyio
async def test_a_provider_may_say_what_to_do_when_nobody_listens() -> None:
    async with loopback(reply()) as server:
        url = server.url
    with pytest.raises(ModelConnectionError, match="start it with: acme serve"):
        await ModelHttp(
            provider="acme",
            model="m",
            base_url=url,
            options=HttpOptions.of("acme", {"retries": 1}),
            unreachable="start it with: acme serve",
        ).post("/x", {})
