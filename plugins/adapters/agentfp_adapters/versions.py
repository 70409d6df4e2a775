"""Says at import whether the framework that is installed has the interface that an adapter was written for."""

from __future__ import annotations

import importlib
import importlib.metadata
from collections.abc import Sequence


class AdapterVersionError(ImportError):
    """A framework is missing, or of a version whose interface is another one than the adapter needs."""


def require(distribution: str, wanted: str, *, extra: str, names: Sequence[str]) -> None:
    """Check that a framework has what an adapter uses.

    Args:
        distribution: its name on the package index.
        wanted: the versions that the adapter was written for, in words.
        extra: the extra that installs it.
        names: what must be there, each as ``module:attribute.attribute``.

    Raises:
        AdapterVersionError: it is not installed, or lacks a name; says what is needed, what was found and what to install.
    """
    try:
        found = importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError as error:
        msg = f"{distribution} is not installed and this adapter needs it ({wanted}): pip install 'agentfp-adapters[{extra}]'"
        raise AdapterVersionError(msg, name=distribution) from error
    missing = [name for name in names if not _is_there(name)]
    if missing:
        raise AdapterVersionError(
            f"this adapter needs {distribution} {wanted}; found {found}, which lacks {', '.join(missing)}. "
            f"pip install -U 'agentfp-adapters[{extra}]' installs versions that fit each other",
            name=distribution,
        )


def _is_there(name: str) -> bool:
    module, _, path = name.partition(":")
    try:
        found = importlib.import_module(module)
        for part in path.split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError):
        return False
    return True
