"""A setting of fixed words that is misspelt: the error names the one that was meant, in code and in a file."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import pytest

from agentfp import Agent, ConfigError
from agentfp.plugin import Plugin


class Mode(Plugin):
    """Has a setting of fixed words."""

    name = "mode"

    class Settings(Plugin.Settings):
        how: Literal["quick", "thorough"] = "quick"


@pytest.mark.parametrize(("word", "meant"), [("thorougly", "; did you mean 'thorough'?"), ("x", ""), (5, "")])
def test_in_code(word: Any, meant: str) -> None:
    with pytest.raises(ConfigError) as caught:
        Mode(how=word)
    assert str(caught.value).endswith(f"Input should be 'quick' or 'thorough'{meant}")


def test_in_a_file(tmp_path: Path) -> None:
    path = tmp_path / "agentfp.toml"
    path.write_text('version = 1\n[agent]\nmodel = "test:x"\nargument_validation = "enforced"\n')
    with pytest.raises(ConfigError, match="must be 'enforce', 'warn' or 'off'; did you mean 'enforce'"):
        Agent.from_config(path)
