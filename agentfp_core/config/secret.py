"""Secrets: references that are looked up when they are needed, and never shown."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any

from agentfp_core.redaction import SecretMask

MASK = "********"
"""What stands in place of a secret wherever values are shown."""

_SECRET = re.compile(
    r"(?:^|_)(?:api_?key|access_?key|secret_?key|private_?key|signing_?key|token|password|passwd|passphrase|secret|authorization)$"
)


_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
NO_NAME = 'what stands after env is no variable\'s name; write { env = "NAME" } and put the secret into that variable'


def masker(values: Collection[str]) -> Callable[[str], str]:
    """What masks these values in a text; shorter ones than four characters stand everywhere and hide nothing.

    Args:
        values: secrets that were looked up.
    """
    return SecretMask({value for value in values if len(value) >= 4}).mask_text


class SecretError(Exception):
    """A secret cannot be looked up; the message names where it should be, never what it is."""


def is_secret_name(name: str | int) -> bool:
    """Whether what stands under this name is a secret: ``api_key``, ``token``, ``db_password`` ..."""
    if not isinstance(name, str):
        return False
    snake = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower().replace("-", "_")
    return _SECRET.search(snake) is not None


def is_reference(value: Any) -> bool:
    """Whether a table is ``{ env = "NAME" }`` or ``{ file = "PATH" }``."""
    return isinstance(value, dict) and len(value) == 1 and all(k in ("env", "file") and isinstance(v, str) and v for k, v in value.items())


class SecretRef:
    """Where a secret is.

    Args:
        kind: ``env``, ``file``; ``refused`` stands for a literal that was refused.
        name: of the variable or the file.
        folder: where relative file names begin.
    """

    __slots__ = ("folder", "kind", "name")

    def __init__(self, kind: str, name: str, folder: Path | None = None) -> None:
        self.kind = kind
        self.name = name
        self.folder = folder

    @classmethod
    def of(cls, table: Mapping[str, str], folder: Path) -> SecretRef:
        """A reference of its table in the file."""
        ((kind, name),) = table.items()
        return cls(kind, name, folder)

    @property
    def table(self) -> dict[str, str]:
        """The table it was made of."""
        return {self.kind: self.name}

    @property
    def _named(self) -> bool:
        """Whether it may be told; what is no variable's name may be the secret itself, written in the wrong place."""
        return self.kind != "env" or _VARIABLE.fullmatch(self.name) is not None

    def resolve(self, environ: Mapping[str, str]) -> str:
        """Look it up.

        Raises:
            SecretError: it is not there.
        """
        if self.kind == "env":
            value = environ.get(self.name)
            if not value:
                raise SecretError(f"environment variable {self.name!r} is not set; set it" if self._named else NO_NAME)
            return value
        if self.kind == "refused":
            raise SecretError("it is a literal")
        path = Path(self.name)
        try:
            path = (self.folder or Path()) / path.expanduser()
            text = path.read_text("utf-8").rstrip("\r\n")
        except OSError as error:
            raise SecretError(f"file {str(path)!r} cannot be read: {error.strerror}") from error
        except UnicodeDecodeError:
            raise SecretError(f"file {str(path)!r} is not UTF-8 text") from None
        except (ValueError, RuntimeError) as error:  # a name that no file can have; nobody's home
            raise SecretError(f"file {str(path)!r} cannot be read: {error}") from error
        if not text:
            raise SecretError(f"file {str(path)!r} is empty")
        return text

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SecretRef) and (self.kind, self.name) == (other.kind, other.name)

    def __hash__(self) -> int:
        return hash((self.kind, self.name))

    def __repr__(self) -> str:
        if self.kind == "refused":
            return MASK
        return f'{{ {self.kind} = "{self.name if self._named else MASK}" }}'
