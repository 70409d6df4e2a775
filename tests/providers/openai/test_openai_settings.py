"""Which server is spoken to, with which key, and how settings reach a model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from agentfp import ConfigError, load_config
from agentfp.model import ModelAuthenticationError, ModelFeatures, resolve_model
from agentfp_openai import ChatModel, ResponsesModel, catalog, openai
from tests.providers.faults import Faults, reply
from tests.providers.openai.samples import HELLO, chat_reply, responses_reply, said

VARIABLES = ("OPENAI_API_KEY", "OPENAI_BASE_URL", "AZURE_OPENAI_API_KEY", "GROQ_API_KEY")


@pytest.fixture(autouse=True)
def _no_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)


async def asked(faults: Faults, provider: str = "openai-chat:m", **settings: Any) -> Any:
    """The request that a call of a model makes."""
    model = resolve_model(provider, settings={"base_url": f"{faults.url}/v1", **settings})
    faults.plays(reply(200, chat_reply() if isinstance(model, ChatModel) else responses_reply(said("Hi."))))
    await model.complete(HELLO)
    return faults.requests[-1]


# --- keys -----------------------------------------------------------------------------------------------------------------------


@pytest.mark.anyio
async def test_a_missing_key_is_an_error_of_the_first_call() -> None:
    model = resolve_model("openai:gpt-6.2-sol")
    with pytest.raises(ModelAuthenticationError, match="set OPENAI_API_KEY, or pass api_key") as caught:
        await model.complete(HELLO)
    assert (caught.value.provider, caught.value.model) == ("openai", "gpt-6.2-sol")
    with pytest.raises(ModelAuthenticationError, match="set OPENAI_API_KEY"):
        async for _ in model.stream(HELLO):
            pass


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"base_url": "https://api.groq.com/openai/v1"}, "set GROQ_API_KEY"),
        ({"base_url": "https://x.openai.azure.com"}, "set AZURE_OPENAI_API_KEY"),
        ({"base_url": "https://llm.example.com/v1"}, r"pass api_key \(in a config file"),
    ],
)
async def test_a_key_is_never_sent_to_another_server(monkeypatch: pytest.MonkeyPatch, settings: Any, said: str) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-openai")
    with pytest.raises(ModelAuthenticationError, match=said) as caught:
        await resolve_model("openai:m", settings=settings).complete(HELLO)
    assert "sk-openai" not in str(caught.value)


@pytest.mark.anyio
async def test_a_server_on_loopback_needs_no_key(monkeypatch: pytest.MonkeyPatch, faults: Faults) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-openai")
    assert "authorization" not in (await asked(faults)).headers
    assert (await asked(faults, api_key=" k \n")).headers["authorization"] == "Bearer k"


@pytest.mark.anyio
async def test_the_two_variables_belong_together(monkeypatch: pytest.MonkeyPatch, faults: Faults) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-mine")
    monkeypatch.setenv("OPENAI_BASE_URL", f"{faults.url}/v1/")
    faults.plays(reply(200, chat_reply()))
    await resolve_model("openai:m").complete(HELLO)
    assert (faults.requests[0].path, faults.requests[0].headers["authorization"]) == ("/v1/chat/completions", "Bearer sk-mine")


@pytest.mark.anyio
async def test_a_token_is_fetched_for_each_attempt(faults: Faults) -> None:
    tokens = iter(["one", "two"])
    model = resolve_model(
        "openai:m", settings={"base_url": f"{faults.url}/v1", "api_key": lambda: next(tokens), "retries": {"attempts": 2, "initial": 0}}
    )
    faults.plays(reply(500, {}))
    faults.plays(reply(200, chat_reply()))
    await model.complete(HELLO)
    assert [request.headers["authorization"] for request in faults.requests] == ["Bearer one", "Bearer two"]


@pytest.mark.anyio
async def test_who_is_billed_and_further_headers(faults: Faults) -> None:
    headers = (await asked(faults, api_key="k", organization="org-1", project="proj-1", headers={"X-Title": "t"})).headers
    assert (headers["openai-organization"], headers["openai-project"], headers["x-title"]) == ("org-1", "proj-1", "t")


def test_a_key_is_not_shown() -> None:
    model = resolve_model("openai:m", settings={"api_key": "sk-secret"})
    assert "sk-secret" not in f"{model!r} {getattr(model, 'server')!r} {getattr(model, 'http')!r}"  # noqa: B009


# --- servers --------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("provider", "base_url", "kind"),
    [
        ("openai:m", None, ResponsesModel),
        ("openai:m", "https://eu.api.openai.com/v1", ResponsesModel),
        ("openai:m", "https://x.openai.azure.com", ResponsesModel),
        ("openai:m", "http://127.0.0.1:8000/v1", ChatModel),
        ("openai:m", "https://api.openai.com.evil.example/v1", ChatModel),
        ("openai-chat:m", None, ChatModel),
        ("openai-responses:m", "http://127.0.0.1:8000/v1", ResponsesModel),
    ],
)
def test_which_interface_is_spoken(provider: str, base_url: str | None, kind: type) -> None:
    assert type(resolve_model(provider, settings={"base_url": base_url})) is kind


def test_the_interface_can_be_a_setting() -> None:
    assert isinstance(resolve_model("openai:m", settings={"api": "chat"}), ChatModel)
    with pytest.raises(ConfigError, match="'openai-chat' has no setting 'api'"):
        resolve_model("openai-chat:m", settings={"api": "responses"})


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("provider", "path", "version", "expected"),
    [
        ("openai-chat:d 1", "", "2024-10-21", "/openai/deployments/d%201/chat/completions?api-version=2024-10-21"),
        ("openai-responses:d", "", "2025-04-01-preview", "/openai/responses?api-version=2025-04-01-preview"),
        ("openai-chat:d", "/openai/deployments/other", "2024-10-21", "/openai/deployments/other/chat/completions?api-version=2024-10-21"),
        ("openai-responses:d", "/openai/v1", "preview", "/openai/v1/responses?api-version=preview"),
    ],
)
async def test_azure_has_paths_and_a_header_of_its_own(faults: Faults, provider: str, path: str, version: str, expected: str) -> None:
    got = await asked(faults, provider, base_url=faults.url + path, api_version=version, api_key="k")
    assert got.path == expected
    assert got.headers["api-key"] == "k"
    assert "authorization" not in got.headers


def test_azure_without_a_date_is_the_present_interface() -> None:
    model = resolve_model("openai:d", settings={"base_url": "https://x.openai.azure.com/"})
    assert repr(model) == "ResponsesModel('d', base_url='https://x.openai.azure.com/openai/v1')"


# --- features -------------------------------------------------------------------------------------------------------------------


def test_known_models_have_a_window_and_prices() -> None:
    features = resolve_model("openai:gpt-5.4-mini-2026-03-17").features
    assert features.context_window == 400_000
    assert features.prices is not None
    assert features.prices.input == features.prices.cache_read * 10  # type: ignore[operator]


def test_an_unknown_model_works_without() -> None:
    features = resolve_model("openai:gpt-99").features
    assert (features.context_window, features.prices, features.tools, features.streaming) == (None, None, True, True)


def test_a_compatible_server_sends_its_own_bill() -> None:
    features = resolve_model("openai:gpt-4.1", settings={"base_url": "http://127.0.0.1:8000/v1"}).features
    assert (features.context_window, features.prices) == (1_000_000, None)


def test_features_can_be_stated() -> None:
    model = resolve_model(
        "openai:m", settings={"features": {"images": False, "context_window": 4096, "roles": ["user", "assistant", "tool"]}}
    )
    assert model.features.images is False
    assert model.features.context_window == 4096
    assert model.features.roles == ("user", "assistant", "tool")


def test_the_data_is_dated_and_of_the_protocols_form() -> None:
    assert catalog().date >= "2026-11-30"
    assert "developers.openai.com" in catalog().source
    assert resolve_model("openai").name == catalog().default
    for name in catalog():
        assert isinstance(resolve_model(f"openai:{name}").features, ModelFeatures)


# --- mistakes -------------------------------------------------------------------------------------------------------------------


def test_all_mistakes_are_named_at_once() -> None:
    with pytest.raises(ConfigError) as caught:
        openai("m", api="respones", reasoning_effort="hi", reasoning_summary="x", features={"image": True}, api_key=5, base_url=5)  # type: ignore[arg-type]
    for words in (
        "'respones'; did you mean 'responses'",
        "'hi'",
        "'x'",
        "'image'; did you mean 'images'",
        "api_key takes",
        "base_url takes",
    ):
        assert words in str(caught.value)


def test_a_misspelt_setting_has_a_nearest_name() -> None:
    with pytest.raises(ConfigError, match="provider 'openai' has no setting 'base_ulr'; did you mean 'base_url'"):
        resolve_model("openai-chat:m", settings={"base_ulr": "http://x"})


@pytest.mark.parametrize("url", ["localhost:8000", "ftp://x/v1", "http://", "http://me:secret@host/v1"])
def test_an_address_that_is_none(url: str) -> None:
    with pytest.raises(ConfigError, match="base_url of 'openai'") as caught:
        resolve_model("openai:m", settings={"base_url": url})
    assert "secret" not in str(caught.value)


def test_another_server_needs_the_name_of_a_model() -> None:
    with pytest.raises(ConfigError, match="name the model"):
        resolve_model("openai", settings={"base_url": "http://127.0.0.1:1/v1"})


@pytest.mark.parametrize("use", ["openai", "openai-chat", "openai-responses"])
def test_a_config_file_is_checked_against_the_settings(tmp_path: Path, use: str) -> None:
    file = tmp_path / "agentfp.toml"
    file.write_text(f'version = 1\n[agent]\nmodel = "fast"\n[models.fast]\nuse = "{use}:m"\nsilence_timout = 3\n', encoding="utf-8")
    assert any("did you mean 'silence_timeout'" in str(problem) for problem in load_config(file).check().problems)
