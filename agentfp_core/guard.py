"""The gate that a test run may put before every model: asked when a leg of a run begins, and before each request."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from agentfp_core.model import Model

ModelGate: TypeAlias = "Callable[[Model | str], None]"
"""Is handed a model, or the name of one that is not looked up yet, and raises to refuse it."""


class _Holder:
    __slots__ = ("gate",)

    def __init__(self) -> None:
        self.gate: ModelGate | None = None


_holder = _Holder()


@contextmanager
def model_gate(gate: ModelGate | None) -> Iterator[None]:
    """Put a gate before all models of this process, for the time of a ``with`` block; the gate before it comes back then.

    It holds for the process and not for a context, for a test's work may go on in threads and loops made elsewhere.

    Args:
        gate: the gate; None for none.
    """
    before = _holder.gate
    _holder.gate = gate
    try:
        yield
    finally:
        _holder.gate = before


def admit_model(model: Model | str) -> None:
    """Ask the gate, when there is one.

    Args:
        model: the model that would be called, or its name.

    Raises:
        Exception: what the gate refuses with.
    """
    if _holder.gate is not None:
        _holder.gate(model)
