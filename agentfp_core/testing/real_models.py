"""Which models may be called in a test: those that stand in for real ones, and real ones only where a test says so."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from agentfp_core.errors import UsageError
from agentfp_core.model import Model, ModelWrapper

MARKER = "real_model"
FIXTURE = "allow_any_model"
_OWN = "agentfp_core.testing."


class RealModelRefusedError(UsageError):
    """A test was about to call a real model without saying so; nothing was sent."""

    code = "ERR_REAL_MODEL_REFUSED"

    def __init__(self, model: str) -> None:
        self.model = model
        super().__init__(
            f"this test would call {model}. Give the agent a ScriptedModel or an AutoModel (`with override(agent, model=...)` for one "
            f"that the code holds), or mark the test with @pytest.mark.{MARKER} if it is meant to call a real model. A test of a provider "
            f"against a server of its own uses the fixture {FIXTURE!r}"
        )


class StandInsOnly:
    """The gate that lets only stand-ins through.

    These are models of ``agentfp.testing``, models whose class stands in the tests' own folders, and wrappers that hold nothing else.

    Args:
        folders: the tests' own folders.
    """

    def __init__(self, folders: Iterable[Path] = ()) -> None:
        self._folders = tuple(folder.resolve() for folder in folders)

    def __call__(self, model: Model | str) -> None:
        """Refuse a real model.

        Raises:
            RealModelRefusedError: it is one; a model by name always is.
        """
        if isinstance(model, str):
            raise RealModelRefusedError(f"the model {model!r}")
        if not self.lets(model):
            kind = f"{type(model).__module__}.{type(model).__qualname__}"
            raise RealModelRefusedError(f"the model {model.name!r} of {model.provider!r} ({kind})")

    def lets(self, model: Any) -> bool:
        """Whether a model is a stand-in."""
        if isinstance(model, ModelWrapper):
            return all(self.lets(inner) for inner in _held(model))
        return any(kind.__module__.startswith(_OWN) for kind in type(model).__mro__) or self._stands_here(type(model))

    def _stands_here(self, kind: type) -> bool:
        file = getattr(sys.modules.get(kind.__module__), "__file__", None)
        return file is not None and any(folder in Path(file).resolve().parents for folder in self._folders)


def _held(wrapper: ModelWrapper) -> Iterator[Model]:
    """The models that a wrapper holds, one by one or in a list: any of them may be called."""
    for value in vars(wrapper).values():
        for item in value if isinstance(value, (list, tuple)) else (value,):
            if isinstance(item, Model):
                yield item
