"""Every error that a distribution makes public is one of the library's, with a code of its own."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import pytest

from agentfp import AgentfpError

ROOT = Path(__file__).parents[2]
PACKAGES = sorted(
    path.parent.name for kind in ("plugins", "providers", "observability") for path in ROOT.glob(f"{kind}/*/agentfp_*/__init__.py")
)

pytestmark = pytest.mark.with_sisters


def public_errors(module: str) -> list[type[BaseException]]:
    made = import_module(module)
    named = [getattr(made, name) for name in getattr(made, "__all__", ())]
    return [each for each in named if isinstance(each, type) and issubclass(each, BaseException)]


@pytest.mark.parametrize("package", ["agentfp", "agentfp.plugin", "agentfp.model", "agentfp.http", "agentfp.transcripts", *PACKAGES])
def test_what_is_raised_is_of_the_librarys_hierarchy(package: str) -> None:
    assert [error.__name__ for error in public_errors(package) if not issubclass(error, AgentfpError)] == []


def test_errors_have_codes_of_their_own() -> None:
    errors = {error for package in ("agentfp", *PACKAGES) for error in public_errors(package)}
    assert len(errors) > 60
    assert sorted(error.__name__ for error in errors if error.code == AgentfpError.code and error is not AgentfpError) == []  # type: ignore[attr-defined]
