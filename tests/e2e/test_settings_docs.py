"""Every setting of every plugin is told of: by the command line, in the schema for editors, and on a page for its users."""

from __future__ import annotations

import re
from typing import Any

import pytest

from agentfp_core.config.schema import config_schema
from agentfp_core.config.settings_docs import settings_docs
from agentfp_core.entrypoints import PLUGINS_GROUP, find, load
from scripts.workshop import ROOT, distributions, pyproject

PLUGINS: dict[str, Any] = {name: load(entry) for name, entry in sorted(find(PLUGINS_GROUP).items())}
README = {
    name: folder / "README.md"
    for folder in distributions()
    for name in pyproject(folder)["project"].get("entry-points", {}).get(PLUGINS_GROUP, {})
}
GUIDE = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "docs").glob("*.md"))


@pytest.mark.parametrize("name", PLUGINS)
def test_every_setting_has_its_words(name: str) -> None:
    cls = PLUGINS[name]
    told = settings_docs(cls, cls.Settings)
    assert not [field for field in cls.Settings.model_fields if not told.get(field)]


def test_the_schema_for_editors_has_them_too() -> None:
    tables = config_schema().schema["properties"]["plugins"]["properties"]
    fields = {f"{name}.{field}": told for name, table in tables.items() for field, told in table["properties"].items()}
    assert not [field for field, told in fields.items() if not told.get("description")]


@pytest.mark.parametrize("name", PLUGINS)
def test_every_setting_stands_on_a_page(name: str) -> None:
    text = README[name].read_text(encoding="utf-8") + GUIDE
    fields = [field.alias or key for key, field in PLUGINS[name].Settings.model_fields.items()]
    in_code = r"`[^`\n]*\b{0}\b[^`\n]*`|^{0} = |^\[[\w.]*\b{0}\]|\b{0}="
    assert not [field for field in fields if not re.search(in_code.format(re.escape(field)), text, re.MULTILINE)]


def test_words_of_a_class_go_before_those_that_it_inherits() -> None:
    class Base:
        """Base.

        Args:
            a: of the docstring.
            b: of the base.
        """

        a: int = 1
        """Under the field.

        And more."""
        c: int = 2

    class Derived(Base):
        b: int = 3
        """Of the derived one."""

    made: Any = type("Made", (Derived,), {})
    assert settings_docs(made) == {"a": "Under the field.\n\nAnd more.", "b": "Of the derived one."}
