"""What `agentfp` offers: each public name is there, comes from its home, and is told to type checkers and completion alike."""

from __future__ import annotations

import ast
from importlib import import_module
from pathlib import Path

import pytest

import agentfp
import agentfp.plugin
from agentfp_core import errors

SOURCE = ast.parse(Path(agentfp.__file__).read_text(encoding="utf-8"))


def names_for_type_checkers() -> dict[str, str]:
    """The names of the `if TYPE_CHECKING:` block and where they come from."""
    (block,) = [node for node in SOURCE.body if isinstance(node, ast.If)]
    return {alias.asname or alias.name: str(node.module) for node in block.body if isinstance(node, ast.ImportFrom) for alias in node.names}


@pytest.mark.parametrize("name", agentfp.__all__)
def test_a_public_name_is_the_object_that_type_checkers_see(name: str) -> None:
    home = names_for_type_checkers().get(name)
    offered = getattr(agentfp, name)
    if home is not None:
        assert offered is getattr(import_module(home), name)


def test_type_checkers_are_told_of_no_name_that_is_not_public() -> None:
    assert set(names_for_type_checkers()) <= set(agentfp.__all__)


def test_every_public_name_is_listed_for_completion_and_once() -> None:
    assert set(agentfp.__all__) <= set(dir(agentfp))
    assert len(set(agentfp.__all__)) == len(agentfp.__all__)


def test_every_error_of_the_library_can_be_caught_by_its_public_name() -> None:
    kinds = {name for name in errors.__all__ if isinstance(getattr(errors, name), type)}
    missing = kinds - set(agentfp.__all__) - set(agentfp.plugin.__all__)
    assert not missing


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="Agnet"):
        agentfp.Agnet  # noqa: B018
