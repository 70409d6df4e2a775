"""What a tool is handed: a credential that can be turned into headers, and into nothing else."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any, NoReturn

import pydantic_core

from agentfp.plugin import ConfigError


class Credential:
    """A secret for one service. Its representation, its JSON and its ``vars`` show the kind only; it cannot be pickled or copied.

    Make one with :func:`bearer`, :func:`api_key`, :func:`basic` or :func:`header_map`.

    Attributes:
        kind: ``bearer``, ``api_key``, ``basic`` or ``header_map``.
    """

    __slots__ = ("_headers", "_secrets", "kind")

    def __init__(self, kind: str, headers: Mapping[str, str], secrets: tuple[str, ...]) -> None:
        self.kind = kind
        self._headers = dict(headers)
        self._secrets = texts_of(secrets)

    def to_headers(self) -> dict[str, str]:
        """The headers of a request to the service, names in lower case."""
        return dict(self._headers)

    def secrets(self) -> tuple[str, ...]:
        """The values that are masked wherever they turn up."""
        return self._secrets

    def __repr__(self) -> str:
        return f"Credential(kind={self.kind!r})"

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        raise TypeError(f"a credential of kind {self.kind!r} cannot be pickled or copied; ask the provider for it where it is needed")

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> pydantic_core.CoreSchema:
        schema = pydantic_core.core_schema
        kind_only = schema.plain_serializer_function_ser_schema(lambda value: {"kind": value.kind})
        return schema.is_instance_schema(cls, serialization=kind_only)


def texts_of(values: Any) -> tuple[str, ...]:
    """What a ``secrets()`` gave, as texts to be masked; one text alone is one value, and no list of letters.

    Raises:
        TypeError: it is something else, of which nothing could be masked.
    """
    found = (values,) if isinstance(values, str) else tuple(values)
    for value in found:
        if not isinstance(value, str):
            raise TypeError(f"secrets() gives texts, got a {type(value).__name__}")
    return found


def _text(value: Any, what: str) -> str:
    if not isinstance(value, str) or not value.strip() or any(c in value for c in "\r\n\0"):
        raise ConfigError(f"{what} must be a text of one line that is not blank; pass the value itself")
    return value


def bearer(token: str) -> Credential:
    """A bearer token.

    Args:
        token: the token.

    Raises:
        ConfigError: it is blank, or has a line break.
    """
    token = _text(token, "a bearer token")
    return Credential("bearer", {"authorization": f"Bearer {token}"}, (token,))


def api_key(key: str, header: str = "x-api-key") -> Credential:
    """An API key in a header.

    Args:
        key: the key.
        header: the name of the header.

    Raises:
        ConfigError: one of them is blank, or has a line break.
    """
    key = _text(key, "an API key")
    return Credential("api_key", {_text(header, "the name of a header").lower(): key}, (key,))


def basic(user: str, password: str) -> Credential:
    """A user and a password.

    Args:
        user: the user, without a colon.
        password: the password.

    Raises:
        ConfigError: one of them is blank or has a line break, or the user has a colon.
    """
    if ":" in _text(user, "the user of a basic credential"):
        raise ConfigError("the user of a basic credential must not have a colon")
    password = _text(password, "the password of a basic credential")
    pair = base64.b64encode(f"{user}:{password}".encode()).decode()
    return Credential("basic", {"authorization": f"Basic {pair}"}, (password, pair))


def header_map(headers: Mapping[str, str]) -> Credential:
    """Any headers; all their values are secrets.

    Args:
        headers: values by name.

    Raises:
        ConfigError: there is none, or one is blank or has a line break.
    """
    made = {_text(name, "the name of a header").lower(): _text(value, "the value of a header") for name, value in headers.items()}
    if not made:
        raise ConfigError("header_map needs at least one header")
    return Credential("header_map", made, tuple(made.values()))
