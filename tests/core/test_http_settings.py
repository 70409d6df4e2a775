"""HTTP options of a provider's keyword settings, and what a provider may say of its own errors."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from agentfp import ConfigError, ContentFilterError, ModelConnectionError, ModelRateLimitError, load_config
from agentfp.http import Explained, HttpOptions, ModelHttp, RetryPolicy, error_of_data, shows_http_options
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


@shows_http_options
class Acme:
    """A model of a provider."""

    def __init__(self, name: str, *, api_key: str | None = None, **options: Any) -> None:
        self.options = HttpOptions.of("acme", options, own=("api_key",))


def test_a_config_file_finds_a_misspelt_option_before_a_key_is_there(
    plugin_dist: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("NO_SUCH_KEY", raising=False)
    plugin_dist(
        "agentfp-acme",
        entry_points={"agentfp.models": {"acme": "acme_of_test:Acme"}},
        modules={"acme_of_test": f"from {__name__} import Acme"},
    )
    file = tmp_path / "agentfp.toml"
    file.write_text(
        'version = 1\n[agent]\nmodel = "m"\n[models.m]\nuse = "acme:x"\napi_key = { env = "NO_SUCH_KEY" }\n'
        "retries = 2\nsilence_timout = 3\n"
    )
    problems = [str(problem) for problem in load_config(file).check().problems]
    assert any("silence_timout" in problem and "did you mean 'silence_timeout'" in problem for problem in problems)
    assert not any("retries" in problem.partition(";")[0] for problem in problems)
    assert Acme("x", retries=2).options.retries.attempts == 2


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
