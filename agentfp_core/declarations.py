"""Markers that plugins let people write on a tool's parameters: ``Annotated[str, FromPerson("Which period?")]``."""

from __future__ import annotations

from typing import Any, ClassVar


class Declaration:
    """Base of a plugin's markers in ``Annotated``.

    The kernel collects them for each parameter and refuses to build an agent whose tools carry a marker of a plugin
    that is off. They are no part of the schema, save for a ``wire_type``.
    """

    __slots__ = ()
    plugin: ClassVar[str] = ""
    """Name of the plugin that reads the marker."""
    wire_type: ClassVar[Any] = None
    """What the model writes for the parameter, where the plugin puts another value in (``Allow.values``); None for the parameter's own."""

    def respell(self, value: Any, other: Declaration) -> Any:
        """The same value as a parameter with another marker writes it, so that one answer of a person serves both.

        Args:
            value: a value of the parameter that carries this marker.
            other: the other parameter's marker.

        Returns:
            The value; None where the two cannot be told to be the same.
        """
        return None
