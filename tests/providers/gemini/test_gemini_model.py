"""The model as an object: its name, settings, keys, features and data."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from agentfp import ConfigError, Message, load_config
from agentfp.model import ModelRequest, resolve_model
from agentfp_gemini import GeminiModel
from agentfp_gemini.known import catalog, known
from tests.docs.blocks import blocks_of
from tests.docs.runner import PageRun
from tests.providers.faults import Faults, reply
from tests.providers.gemini.histories import part, reply_of

README = Path(__file__).parents[3] / "providers" / "gemini" / "README.md"
ASKED = ModelRequest(system="", messages=(Message("1", "user", "go"),))


def test_it_is_found_by_name() -> None:
    model = resolve_model("gemini:gemini-2.5-pro", settings={"api_key": "k3y", "silence_timeout": 9})
    assert isinstance(model, GeminiModel)
    assert (model.provider, model.name) == ("gemini", "gemini-2.5-pro")
    assert "k3y" not in repr(model)
    assert resolve_model("gemini").name == catalog().default


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"api_kye": "k3y"}, "'gemini' has no setting 'api_kye'; did you mean 'api_key'"),
        ({"acess_token": "k3y"}, "did you mean 'access_token'"),
        ({"silence_timeouts": 1}, "did you mean 'silence_timeout'"),
        ({"base_url": "example.org"}, "base_url of 'gemini' needs http:// or https://"),
    ],
)
def test_a_wrong_setting_is_refused_with_the_nearest_name(settings: dict[str, Any], says: str) -> None:
    with pytest.raises(ConfigError) as caught:
        resolve_model("gemini:m", settings=settings)
    assert says in str(caught.value)
    assert "k3y" not in str(caught.value)


def test_a_config_file_names_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GEMINI_API_KEY", "k3y")
    path = tmp_path / "agentfp.toml"
    path.write_text(
        'version = 1\n[agent]\nmodel = "fast"\n[models.fast]\nuse = "gemini:gemini-3.8-flash"\nretries = { attempts = 5 }\n'
        'api_key = { env = "GEMINI_API_KEY" }\n'
    )
    assert not load_config(path).check().problems
    path.write_text(path.read_text() + "silence_timout = 5\n")
    (problem,) = load_config(path).check().problems
    assert "agentfp.toml:8" in str(problem)
    assert "did you mean 'silence_timeout'" in str(problem)


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("settings", "variables", "headers"),
    [
        ({"api_key": "own"}, {"GEMINI_API_KEY": "env"}, {"x-goog-api-key": "own"}),
        ({}, {"GEMINI_API_KEY": "first", "GOOGLE_API_KEY": "second"}, {"x-goog-api-key": "first"}),
        ({}, {"GEMINI_API_KEY": "", "GOOGLE_API_KEY": "second"}, {"x-goog-api-key": "second"}),
        ({"access_token": "t1"}, {"GEMINI_API_KEY": "env"}, {"authorization": "Bearer t1"}),
        ({"access_token": lambda: "t2"}, {}, {"authorization": "Bearer t2"}),
    ],
)
async def test_who_is_asking(
    faults: Faults, monkeypatch: pytest.MonkeyPatch, settings: Any, variables: dict[str, str], headers: dict[str, str]
) -> None:
    for name in ("GEMINI_API_KEY", "GOOGLE_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    model = GeminiModel("m", base_url=faults.url, **settings)
    for name, value in variables.items():  # after the model was made: they are looked up at each call
        monkeypatch.setenv(name, value)
    faults.plays(reply(200, reply_of(part("x"))))
    await model.complete(ASKED)
    (seen,) = faults.requests
    assert {name: seen.headers.get(name) for name in ("x-goog-api-key", "authorization") if name in seen.headers} == headers
    assert "key" not in seen.path


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("gemini-2.5-pro", "/p/models/gemini-2.5-pro:generateContent"),
        ("models/x", "/p/models/x:generateContent"),
        ("tunedModels/my model?", "/p/tunedModels/my%20model%3F:generateContent"),
    ],
)
async def test_where_the_request_goes(faults: Faults, name: str, path: str) -> None:
    faults.plays(reply(200, reply_of(part("x"))))
    await GeminiModel(name, api_key="k", base_url=f"{faults.url}/p/").complete(ASKED)
    assert faults.requests[0].path == path


# --- data ------------------------------------------------------------------------------------------------------------------------


def test_the_data_says_where_and_when_it_was_read() -> None:
    assert "genai-prices" in catalog().source
    assert catalog().date >= "2026-11-30"
    assert catalog().default in catalog()


@pytest.mark.parametrize("name", sorted(catalog()))
def test_every_model_has_a_window_and_prices(name: str) -> None:
    features = known(name).features
    assert features.context_window == 1_048_576
    assert features.prices is not None
    assert features.prices.input is not None
    assert features.prices.output is not None
    assert Decimal(0) < features.prices.input < features.prices.output < Decimal("0.0001")


def test_features_follow_the_model_and_its_family() -> None:
    new, old = GeminiModel("gemini-4-hydrogen").features, GeminiModel("gemini-2.5-flash").features
    assert (new.json_schema, new.thinking, new.forced_tool_choice, new.streaming) == (True, True, True, True)
    assert old.json_schema is False  # it takes no schema beside tools
    assert new.prices is not None
    assert new.prices.cache_read == Decimal("0.075") / 1_000_000
    assert GeminiModel("models/gemini-2.5-flash").features == old
    assert GeminiModel("gemini-2.5-flash-preview-09").features.json_schema is False


def test_an_unknown_model_works_without_data() -> None:
    features = GeminiModel("somebodys-own").features
    assert (features.tools, features.context_window, features.prices) == (True, None, None)


# --- the page --------------------------------------------------------------------------------------------------------------------


def test_the_blocks_of_the_readme_run(tmp_path: Path) -> None:
    page = PageRun("README.md", tmp_path)
    with page.open():
        for block in blocks_of("README.md", README.read_text(encoding="utf-8")):
            page.run(block)
