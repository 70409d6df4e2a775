"""HTTP options as settings of a provider's factory."""

from __future__ import annotations

import inspect
from typing import Any

import pytest

from agentfp import ConfigError
from agentfp.http import HttpOptions, RetryPolicy, takes_http_options


@takes_http_options
def acme_chat(model_name: str, *, api_key: str | None = None, http: HttpOptions) -> tuple[str, str | None, HttpOptions]:
    return model_name, api_key, http


def test_options_are_taken_beside_the_factorys_own_settings() -> None:
    name, key, options = acme_chat("m", api_key="k", silence_timeout=5, retries={"attempts": 2}, headers={"x": "y"}, proxy=None)
    assert (name, key) == ("m", "k")
    assert options == HttpOptions(silence_timeout=5, retries=RetryPolicy(attempts=2), headers={"x": "y"})
    assert acme_chat("m")[2] == HttpOptions()
    assert acme_chat("m", retries=RetryPolicy(attempts=1))[2].retries.attempts == 1


def test_the_signature_shows_every_setting_and_not_the_options_as_one() -> None:
    names = list(inspect.signature(acme_chat).parameters)
    assert names[:2] == ["model_name", "api_key"]
    assert {"silence_timeout", "proxy", "retries"} < set(names)
    assert "http" not in names


def test_all_that_is_wrong_is_said_at_once_with_the_nearest_name() -> None:
    with pytest.raises(ConfigError) as caught:
        acme_chat("m", silence_timout=5, apikey="k", max_connections=0, connect_timeout=True, headers={"x": 1}, http=HttpOptions())
    text = str(caught.value)
    assert "provider 'acme-chat' has no setting 'silence_timout'; did you mean 'silence_timeout'?" in text
    assert "'apikey'; did you mean 'api_key'?" in text
    assert "no setting 'http'" in text
    assert "max_connections takes a whole number from 1" in text
    assert "connect_timeout takes a number of seconds above 0" in text
    assert "headers takes names and texts" in text


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"attempt": 2}, "retries has no 'attempt'; did you mean 'attempts'?"),
        ({"attempts": 0}, "retries: attempts takes a whole number from 1"),
        (3, "retries takes a RetryPolicy, or a table"),
    ],
)
def test_retries_that_are_none(given: Any, said: str) -> None:
    with pytest.raises(ConfigError, match="retries") as caught:
        acme_chat("m", retries=given)
    assert said in str(caught.value)
