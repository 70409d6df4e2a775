"""The model as an object: its name, settings, server, features and data."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from ollama._client import _parse_host

from agentfp import ConfigError, Message, ModelNotFoundError, ProviderProtocolError, load_config
from agentfp.model import ModelRequest, resolve_model
from agentfp_ollama import OllamaModel
from agentfp_ollama.host import url_of
from tests.docs.blocks import blocks_of
from tests.docs.runner import PageRun
from tests.providers.faults import Faults, reply
from tests.providers.ollama.chats import LOOK, end

README = Path(__file__).parents[3] / "providers" / "ollama" / "README.md"
ASKED = ModelRequest(system="", messages=(Message("1", "user", "go"),))


def test_it_is_found_by_name() -> None:
    model = resolve_model("ollama:hf.co/somebody/Some-GGUF:Q4_K_M", settings={"api_key": "k3y", "num_ctx": 8192})
    assert isinstance(model, OllamaModel)
    assert (model.provider, model.name) == ("ollama", "hf.co/somebody/Some-GGUF:Q4_K_M")
    assert model.features.context_window == 8192
    assert "k3y" not in repr(model)
    assert resolve_model("ollama").name == "qwen3"


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"num_ctxt": 1}, "'ollama' has no setting 'num_ctxt'; did you mean 'num_ctx'"),
        ({"retry": 1}, "did you mean 'retries'"),
        ({"base_url": "ftp://x"}, "base_url of 'ollama' needs http:// or https://"),
        ({"base_url": "http://a:b@x"}, "holds a user name or password"),
    ],
)
def test_a_wrong_setting_is_refused_with_the_nearest_name(settings: dict[str, Any], says: str) -> None:
    with pytest.raises(ConfigError) as caught:
        resolve_model("ollama:m", settings=settings)
    assert says in str(caught.value)


def test_a_config_file_names_it(tmp_path: Path) -> None:
    path = tmp_path / "agentfp.toml"
    path.write_text('version = 1\n[agent]\nmodel = "mine"\n[models.mine]\nuse = "ollama:qwen3:8b"\nnum_ctx = 16384\n')
    assert not load_config(path).check().problems


# --- where the server is -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "host",
    [
        "",
        "1.2.3.4",
        ":56789",
        "1.2.3.4:56789",
        "example.com",
        "example.com/path",
        "example.com:5/path",
        "[::1]",
        "[::1]:5",
        "https://e.org/p",
    ],
)
def test_a_host_means_what_it_means_to_the_official_client(host: str) -> None:
    default = {"https": ":443", "http": ":80"}[url_of(host).partition(":")[0]]
    assert url_of(host) == _parse_host(host).replace(default, "")


@pytest.mark.parametrize("host", ["0.0.0.0", "0.0.0.0:11434", "[::]"])
def test_the_address_that_a_server_listens_on_is_called_on_this_machine(host: str) -> None:
    assert url_of(host) == "http://127.0.0.1:11434"


@pytest.mark.anyio
async def test_the_variable_names_the_server(faults: Faults, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OLLAMA_HOST", faults.url.removeprefix("http://"))
    monkeypatch.setenv("OLLAMA_API_KEY", "k3y")
    faults.plays(reply(200, end("x")))
    await OllamaModel("m").complete(ASKED)
    assert "authorization" not in faults.requests[0].headers  # a key of the environment goes over no open line


@pytest.mark.anyio
async def test_a_key_that_was_given_goes_along(faults: Faults) -> None:
    faults.plays(reply(200, end("x")))
    await OllamaModel("m", base_url=faults.url, api_key="k3y").complete(ASKED)
    assert faults.requests[0].headers["authorization"] == "Bearer k3y"


# --- what the server says of a model -----------------------------------------------------------------------------------------


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("shown", "window"),
    [
        (
            {"model_info": {"general.architecture": "qwen3", "qwen3.context_length": 40960}, "parameters": "stop  END\nnum_ctx    4096"},
            4096,
        ),
        ({"model_info": {"qwen3.context_length": 40960}, "parameters": "top_k 20"}, 40960),
        ({"model_info": {}, "parameters": ""}, None),
        ({}, None),
    ],
)
async def test_the_window_is_asked_for(faults: Faults, shown: dict[str, Any], window: int | None) -> None:
    faults.plays(reply(200, shown))
    faults.plays(reply(200, shown))
    model = OllamaModel("m", base_url=faults.url)
    assert (await model.inspect()).features.context_window == window
    assert model.features.context_window is None
    assert faults.requests[0].json() == {"model": "m"}
    assert (await OllamaModel("m", base_url=faults.url, num_ctx=99).inspect()).features.context_window == 99


@pytest.mark.anyio
async def test_what_a_model_can_do_is_asked_for_and_holds(faults: Faults) -> None:
    faults.plays(reply(200, {"capabilities": ["completion", "vision"]}))
    model = await OllamaModel("m", base_url=faults.url).inspect()
    assert (model.features.tools, model.features.images, model.features.thinking) == (False, True, False)
    assert repr(model) == "OllamaModel('m')"
    with pytest.raises(Exception, match="has no tools"):
        await model.complete(ModelRequest(system="", messages=ASKED.messages, tools=(LOOK,)))
    faults.plays(reply(200, end("x")))
    assert (await model.complete(ASKED)).text == "x"


@pytest.mark.anyio
async def test_what_cannot_be_asked_for(faults: Faults) -> None:
    model = OllamaModel("m", base_url=faults.url)
    faults.plays(reply(404, {"error": "model 'm' not found"}))
    with pytest.raises(ModelNotFoundError, match="ollama pull m"):
        await model.inspect()
    faults.plays(reply(200, "[]"))
    with pytest.raises(ProviderProtocolError, match="is base_url that of an Ollama server"):
        await model.inspect()


# --- data ------------------------------------------------------------------------------------------------------------------------


def test_features_follow_the_family_whatever_the_tag() -> None:
    assert OllamaModel("gemma3").features.tools is False
    assert OllamaModel("gemma3:4b-it-q4_K_M").features == OllamaModel("library/gemma3:4b").features == OllamaModel("gemma3").features
    features = OllamaModel("llama3.2:1b").features
    assert (features.tools, features.images, features.thinking) == (True, False, False)


def test_an_unknown_model_works_without_data() -> None:
    features = OllamaModel("somebodys-own").features
    assert (features.tools, features.images, features.forced_tool_choice, features.json_schema) == (True, True, False, True)
    assert (features.context_window, features.prices) == (None, None)


# --- the page --------------------------------------------------------------------------------------------------------------------


def test_the_blocks_of_the_readme_run(tmp_path: Path) -> None:
    page = PageRun("README.md", tmp_path)
    with page.open():
        for block in blocks_of("README.md", README.read_text(encoding="utf-8")):
            page.run(block)
