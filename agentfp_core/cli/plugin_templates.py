"""The texts of the distribution that ``agentfp new-plugin`` writes. ``@NAME@`` and the like are filled in."""

from __future__ import annotations

import keyword
import re

PYPROJECT = """\
[build-system]
requires = ["uv_build>=0.13,<0.14"]
build-backend = "uv_build"

[project]
name = "@DISTRIBUTION@"
version = "0.1.0"
description = "A plugin for agentfp: refuses calls of the tools that its settings name."
readme = "README.md"
requires-python = ">=3.11"
dependencies = ["agentfp>=0.1"]

[project.optional-dependencies]
test = ["agentfp[testing]"]

# How agentfp finds the plugin. The name is the one in the class, and in config files.
[project.entry-points."agentfp.plugins"]
@NAME@ = "@PACKAGE@:@CLASS@"

[tool.pytest.ini_options]
testpaths = ["tests"]
pythonpath = ["src"]
"""

INIT = '''\
"""@CLASS@: refuses calls of the tools that its settings name."""

from @PACKAGE@.plugin import @EXPORTS@

__all__ = ["@CLASS@", "CallRefused"]
'''

PLUGIN = '''\
"""The plugin: its settings, its event, its hook, and what it knows of a run."""

from __future__ import annotations

from typing import Any

from agentfp.plugin import CallView, Deny, Event, MemoSource, Name, Payload, Plugin, Run, event, hookimpl


@event("@NAME@.call.refused")
class CallRefused(Payload):
    """A call was refused; the event's ``call_id`` says which."""

    tool: Name[str]


class @CLASS@(Plugin):
    """Refuses calls of the tools that its settings name."""

    name = "@NAME@"
    version = "0.1.0"
    events = (CallRefused,)
    memo_events = (CallRefused.event_name,)

    class Settings(Plugin.Settings):
        """Settings of the plugin: ``@CLASS@(refuse=("shut_port",))`` in code, ``[plugins.@NAME@]`` in a file.

        Args:
            refuse: names of the tools whose calls are refused.
            tell_model: what the model reads in place of a result.
        """

        refuse: tuple[str, ...] = ()
        tell_model: str = "This tool may not be used."

    @hookimpl(phase="authorize")
    def before_tool(self, call: CallView, run: Run[Any]) -> Deny | None:
        """Judge each call before it runs. None is "no opinion"; the other plugins judge it too."""
        if call.name not in self.settings.refuse:
            return None
        run.emit(CallRefused(call.name), call_id=call.id)
        return Deny(f"{call.name} is on the list of @NAME@", tell_model=self.settings.tell_model, rule="refuse")

    # What the plugin knows of a run is computed of its events: live, after a resume and on a saved recording alike.

    def initial(self) -> tuple[str, ...]:
        """Before the first event."""
        return ()

    def fold(self, state: tuple[str, ...], event: Event) -> tuple[str, ...]:
        """After an event of ``memo_events``."""
        return (*state, event.payload.tool) if isinstance(event.payload, CallRefused) else state

    @classmethod
    def refused(cls, source: MemoSource) -> tuple[str, ...]:
        """The tools whose calls were refused, in order.

        Args:
            source: a result, a record, or the path of a recording.
        """
        found: tuple[str, ...] = cls.memo_of(source)
        return found
'''

TESTS = '''\
"""Tests of the plugin. The model is scripted, so they need no key and no network."""

from __future__ import annotations

from typing import Any

import anyio
import pytest
from agentfp import ConfigError, tool
from agentfp.testing import Harness, Outcome, call, check_plugin

from @PACKAGE@ import @CLASS@


@tool(mutating=True)
def shut_port(port: int) -> str:
    """Shut a port."""
    return f"port {port} is shut"


def run(plugin: @CLASS@) -> Outcome:
    async def go() -> Outcome:
        return await Harness(plugin, tools=[shut_port], script=[call("shut_port", port=3), "That is all."]).run("Shut port 3.")

    return anyio.run(go)


def test_it_keeps_the_rules_of_plugins() -> None:
    check_plugin(lambda: @CLASS@(refuse=("shut_port",)), tools=[shut_port], script=[call("shut_port", port=3), "That is all."])


def test_a_named_tool_is_refused() -> None:
    outcome = run(@CLASS@(refuse=("shut_port",), tell_model="Ask an engineer."))
    outcome.assert_denied("shut_port", by="@NAME@", told="Ask an engineer.").assert_answered("That is all.")
    assert @CLASS@.refused(outcome.result) == ("shut_port",)


def test_other_tools_are_left_alone() -> None:
    outcome = run(@CLASS@())
    assert [c.outcome for c in outcome.calls] == ["success"]
    assert not outcome.events("@NAME@.*")


@pytest.mark.parametrize("settings", [{"refuse": 3}, {"refuze": ()}])
def test_settings_that_do_not_fit_are_refused(settings: dict[str, Any]) -> None:
    with pytest.raises(ConfigError):
        @CLASS@(**settings)
'''

README = """\
# @DISTRIBUTION@

A plugin for [agentfp](https://pypi.org/project/agentfp/): refuses calls of the tools that its settings name.

```sh
pip install @DISTRIBUTION@
```

In a config file:

```toml
[agent]
plugins = ["@NAME@"]            # the switch

[plugins.@NAME@]
refuse = ["shut_port"]          # names of tools
tell_model = "Ask an engineer."
```

In code:

```python
from agentfp import Agent
from @PACKAGE@ import @CLASS@

agent = Agent("provider:model", tools=[...], plugins=[@CLASS@(refuse=("shut_port",))])
result = agent.run_sync("Shut port 3.")
@CLASS@.refused(result)          # also of a record, or of the path of a recording
```

## To work on it

```sh
pip install -e '.[test]'
python -m pytest
agentfp plugins show @NAME@
```
"""


def class_name(name: str) -> str:
    """The name of a plugin's class: that of the plugin, with a word more where the texts need the name for something else.

    Args:
        name: the plugin's name.
    """
    made = "".join(part.capitalize() for part in name.split("_"))
    taken = keyword.iskeyword(made) or re.search(rf"\b{made}\b", INIT + PLUGIN + TESTS) is not None
    return f"{made}Plugin" if taken else made


def distribution(name: str) -> dict[str, str]:
    """The files of a distribution.

    Args:
        name: the plugin's name, an identifier.
    """
    package = f"agentfp_{name}"
    cls = class_name(name)
    marks = {
        "@NAME@": name,
        "@CLASS@": cls,
        "@EXPORTS@": ", ".join(sorted([cls, "CallRefused"])),
        "@PACKAGE@": package,
        "@DISTRIBUTION@": f"agentfp-{name.replace('_', '-')}",
    }
    texts = {
        "pyproject.toml": PYPROJECT,
        "README.md": README,
        f"src/{package}/__init__.py": INIT,
        f"src/{package}/plugin.py": PLUGIN,
        f"src/{package}/py.typed": "",
        "tests/test_plugin.py": TESTS,
    }
    return {path: _filled(text, marks) for path, text in texts.items()}


def _filled(text: str, marks: dict[str, str]) -> str:
    for mark, value in marks.items():
        text = text.replace(mark, value)
    return text
