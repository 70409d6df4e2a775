"""A folder for config files, and one on ``sys.path`` with small distributions in it: two plugins, a provider, an application."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from agentfp import Config, load_config
from agentfp.testing import PluginDist

HOURS = """
from typing import Any
import pydantic
from agentfp.plugin import Deny, Plugin, hookimpl

class Box(pydantic.BaseModel):
    model_config = {"extra": "forbid"}
    key: pydantic.SecretStr | None = None
    size: int = 1
    env: str = "none"

class Hours(Plugin):
    '''Changes in office hours only.'''
    name = "hours"
    class Settings(Plugin.Settings):
        opens: int = 9
        title: str = "Office"
        licence: pydantic.SecretStr | None = None
        password: str | None = None
        boxes: list[Box] = []
        box: Box | None = None
        labels: dict[str, str] = {}
        where: str | None = None
        floor: int | None = pydantic.Field(default=None, ge=0)
    @hookimpl(phase="authorize")
    def before_tool(self, call: Any, run: Any) -> Any:
        return Deny("closed") if self.settings.opens > 12 else None
"""
PAIRS = """
from agentfp.plugin import Plugin
class Pairs(Plugin):
    name = "pairs"
    class Settings(Plugin.Settings):
        url: str
        also: str = "x"
"""
STUB = """
from agentfp.model import ModelFeatures, Prices
from agentfp.testing import ScriptedModel
made = []
def make(name, *, base_url=None, api_key=None, headers=None, reply="hello", fail=False):
    if fail:
        raise RuntimeError(f"no luck with {api_key}")
    priced = ModelFeatures(streaming=True, parallel_tool_calls=True, prices=Prices(0, 0))
    model = ScriptedModel([reply] * 5, provider="stub", name=name or "default", features=priced)
    model.base_url, model.api_key = base_url, api_key
    made.append(model)
    return model
"""
APP = """
import pydantic
from agentfp import tool
@tool
def port_status(switch: str) -> str:
    "State of a switch."
    return "up"
def plain(x: int) -> int:
    "Doubles."
    return 2 * x
class Answer(pydantic.BaseModel):
    text: str
class Deps: ...
heard = []
def hear(event):
    heard.append(event.name)
async def hear_async(event): ...
def fallback(error, text):
    return Answer(text=text)
"""


@pytest.fixture
def site(tmp_path: Path) -> Iterator[PluginDist]:
    with PluginDist(tmp_path / "site") as dist:
        dist("agentfp-hours", entry_points={"agentfp.plugins": {"hours": "hours_plugin:Hours"}}, modules={"hours_plugin": HOURS})
        dist("agentfp-pairs", entry_points={"agentfp.plugins": {"pairs": "pairs_plugin:Pairs"}}, modules={"pairs_plugin": PAIRS})
        dist("agentfp-stub", entry_points={"agentfp.models": {"stub": "stub_models:make"}}, modules={"stub_models": STUB})
        dist("app", modules={"config_app": APP})
        yield dist


@pytest.fixture
def write(tmp_path: Path, site: PluginDist, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Path]:
    """Writes a file into the current folder, so that messages name it without one."""
    folder = tmp_path / "project"
    folder.mkdir()
    monkeypatch.chdir(folder)

    def make(text: str, name: str = "agentfp.toml") -> Path:
        path = Path(name)
        path.write_text(textwrap.dedent(text).removeprefix("\n"), encoding="utf-8")
        return path

    return make


@pytest.fixture
def load(write: Callable[..., Path]) -> Callable[..., Config]:
    """Writes a file and reads it in an empty environment."""

    def make(text: str, *, env: str | None = None, **environ: str) -> Config:
        return load_config(write(text), env=env, environ=environ)

    return make
