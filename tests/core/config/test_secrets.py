"""Secrets: by reference only, looked up late, shown nowhere."""

from __future__ import annotations

import logging
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pydantic
import pytest

from agentfp import Agent, Config, ConfigError, load_config
from agentfp.plugin import Plugin
from agentfp_core.config.secret import is_secret_name

Load = Callable[..., Config]
Write = Callable[..., Path]
SECRET = "sk-very-secret-9"
OTHER = "pw-other-secret-7"

TEXT = """
version = 1
[agent]
model = "fast"
plugins = ["hours"]
[models.fast]
use = "stub:x"
api_key = { env = "STUB_KEY" }
base_url = "https://u:${DB_PASSWORD:-none}@host"
reply = "the key is sk-very-secret-9"
[plugins.hours]
licence = { env = "STUB_KEY" }
password = { file = "secrets/pw" }
boxes = [{ key = { env = "STUB_KEY" }, size = 2 }]
where = { env = "PLACE" }
"""


@pytest.fixture
def ready(write: Write, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = write(TEXT)
    Path("secrets").mkdir()
    Path("secrets/pw").write_text(OTHER + "\n")
    for name, value in (("STUB_KEY", SECRET), ("DB_PASSWORD", OTHER), ("PLACE", "a-secret-place")):
        monkeypatch.setenv(name, value)
    return path


def hidden(text: str) -> bool:
    return not any(secret in text for secret in (SECRET, OTHER, "a-secret-place"))


def test_references_are_looked_up_when_the_agent_is_built(ready: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = load_config(ready)
    monkeypatch.setenv("STUB_KEY", "sk-later-secret")
    agent = config.build()
    model: Any = agent.model
    settings = agent.plugin_set.by_name["hours"].settings
    assert model.api_key == "sk-later-secret"
    assert settings.licence.get_secret_value() == "sk-later-secret"
    assert settings.boxes[0].key.get_secret_value() == "sk-later-secret"
    assert settings.password == OTHER
    assert settings.where == "a-secret-place"


@pytest.mark.anyio
async def test_secrets_are_shown_nowhere(ready: Path) -> None:
    config = load_config(ready)
    agent = config.build()
    told: list[str] = []
    result = await agent.run("hi", on_event=lambda event: told.append(repr(event)))
    result.record.save("saved.jsonl")
    saved = Path("saved.jsonl").read_text()
    shown = [repr(config), repr(agent), agent._repr_html_(), repr(config.explain()), repr(config.check()), repr(config.secrets()), *told]
    assert all(map(hidden, shown))
    assert hidden(saved)
    assert hidden(repr(agent.plugin_set.by_name["hours"].settings.licence))
    assert "the key is [REDACTED]" in saved


def test_explain_shows_the_reference(ready: Path) -> None:
    values = {v.path: v for v in load_config(ready).explain()}
    assert (values["models.fast.api_key"].value, values["models.fast.api_key"].secret) == ('{ env = "STUB_KEY" }', True)
    assert values["plugins.hours.password"].value == '{ file = "secrets/pw" }'
    assert (values["models.fast.base_url"].value, values["models.fast.base_url"].secret) == ("********", True)
    assert values["plugins.hours.boxes"].value == [{"key": '{ env = "STUB_KEY" }', "size": 2}]
    assert str(values["models.fast.api_key"].origin) == "agentfp.toml:7:1"


def test_what_is_needed_can_be_asked_for(ready: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PLACE")
    uses = {use.path: use for use in load_config(ready).secrets()}
    assert uses["models.fast.api_key"].error is None
    assert uses["plugins.hours.boxes[0].key"].reference == '{ env = "STUB_KEY" }'
    assert uses["plugins.hours.where"].error == "environment variable 'PLACE' is not set; set it"


@pytest.mark.parametrize(
    ("text", "place", "words"),
    [
        (
            '[models.fast]\nuse = "stub:x"\napi_key = "sk-very-secret-9"',
            "7:1",
            '[models.fast] api_key is a secret and takes no literal; write { env = "FAST_API_KEY" }',
        ),
        ('[models.fast]\nuse = "stub:x"\napi_key = "${STUB_KEY}"', "7:1", "takes no literal"),
        ('[models.fast]\nuse = "stub:x"\napi_key = { environ = "sk-very-secret-9" }', "7:1", "takes no literal"),
        ('[models.fast]\nuse = "stub:x"\nheaders.Authorization = "sk-very-secret-9"', "7:9", "headers.Authorization is a secret"),
        ('[plugins.hours]\nlicence = "sk-very-secret-9"', "6:1", "[plugins.hours] licence is a secret and takes no literal"),
        ('[plugins.hours]\nboxes = [{ key = "sk-very-secret-9" }]', "6:12", "boxes[0].key is a secret"),
        ('[plugins.hours]\nbox.key = "sk-very-secret-9"', "6:5", "box.key is a secret"),
        ("[plugins.hours]\npassword = 12345", "6:1", "password is a secret"),
    ],
)
def test_a_literal_in_a_secrets_place_is_refused(write: Write, text: str, place: str, words: str) -> None:
    path = write(f'version = 1\n[agent]\nmodel = "fast"\nplugins = ["hours"]\n{text}\n')
    overrides = {} if "models" in text else {"model": "stub:x"}
    with pytest.raises(ConfigError) as caught:
        Agent.from_config(path, **overrides)
    (problem,) = [p for p in caught.value.problems if "fast" in p or "hours" in p]
    assert problem.startswith(f"agentfp.toml:{place}: ")
    assert words in problem
    assert hidden(repr(load_config(path).explain()))
    assert hidden("".join(traceback.format_exception(caught.value)))


def test_settings_of_the_model_hold_no_literal_either(load: Load) -> None:
    config = load('version = 1\n[agent]\nmodel = "stub:x"\n[agent.model_settings.extra]\napi_key = "sk-very-secret-9"\nuser = "me"\n')
    assert [str(p).split(" ")[0] for p in config.problems] == ["agentfp.toml:5:1:"]


def test_secrets_that_are_not_there_are_named_at_their_places(ready: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("STUB_KEY")
    monkeypatch.delenv("PLACE")
    Path("secrets/pw").write_text("")
    with pytest.raises(ConfigError) as caught:
        Agent.from_config(ready)
    assert [problem.split(" ")[0] for problem in caught.value.problems] == [
        "agentfp.toml:7:1:",
        "agentfp.toml:11:1:",
        "agentfp.toml:12:1:",
        "agentfp.toml:13:12:",
        "agentfp.toml:14:1:",
    ]
    assert "environment variable 'STUB_KEY' is not set" in caught.value.problems[0]
    assert "is empty" in caught.value.problems[2]


def test_a_variable_with_a_value_is_a_secrets_place(load: Load) -> None:
    config = load(
        'version = 1\n[agent]\nmodel = "fast"\nplugins = ["hours"]\n[models.fast]\nuse = "stub:x"\n',
        AGENTFP__MODELS__FAST__API_KEY=SECRET,
        AGENTFP__PLUGINS__HOURS__LICENCE="12345678",
    )
    agent = config.build()
    model: Any = agent.model
    assert model.api_key == SECRET
    assert agent.plugin_set.by_name["hours"].settings.licence.get_secret_value() == "12345678"
    assert "12345678" in agent.secrets
    shown = repr(config.explain())
    assert hidden(shown)
    assert "12345678" not in shown


def test_errors_of_providers_do_not_tell(ready: Path) -> None:
    ready.write_text(ready.read_text().replace('reply = "the key is sk-very-secret-9"', "fail = true"))
    with pytest.raises(ConfigError, match=r"RuntimeError: no luck with \[REDACTED\]") as caught:
        Agent.from_config(ready)
    assert hidden("".join(traceback.format_exception(caught.value)))


def test_values_of_settings_stand_in_no_message(write: Write, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STUB_KEY", SECRET)
    path = write('version = 1\n[agent]\nmodel = "stub:x"\nplugins = ["hours"]\n[plugins.hours]\nfloor = { env = "STUB_KEY" }\n')
    with caplog.at_level(logging.DEBUG), pytest.raises(ConfigError, match="floor must be a whole number, got a secret") as caught:
        Agent.from_config(path)
    assert hidden("".join(traceback.format_exception(caught.value)) + caplog.text)


def test_a_table_that_only_looks_like_a_reference_stays_one(load: Load) -> None:
    config = load(
        'version = 1\n[agent]\nmodel = "stub:x"\nplugins = ["hours"]\n[plugins.hours]\nlabels = { env = "prod" }\nbox = { env = "x" }\n'
    )
    settings = config.build().plugin_set.by_name["hours"].settings
    assert (settings.labels, settings.box.env) == ({"env": "prod"}, "x")
    assert next(v for v in config.explain() if v.path == "plugins.hours.labels").value == {"env": "prod"}


@pytest.mark.parametrize(
    ("name", "secret"),
    [
        ("api_key", True),
        ("apiKey", True),
        ("API-KEY", True),
        ("db_password", True),
        ("client_secret", True),
        ("access_token", True),
        ("max_tokens", False),
        ("tokenizer", False),
        ("key", False),
        ("keys", False),
        ("secretary", False),
    ],
)
def test_names_of_secrets(name: str, secret: bool) -> None:
    assert is_secret_name(name) is secret


def test_settings_given_in_code_stand_in_no_traceback() -> None:
    class Keyed(Plugin):
        name = "keyed"

        class Settings(Plugin.Settings):
            key: pydantic.SecretStr = pydantic.Field(max_length=3)

    with pytest.raises(ConfigError, match="setting 'key' is refused") as caught:
        Keyed(key=SECRET)
    assert hidden("".join(traceback.format_exception(caught.value)))
