"""What the source of a class says of its settings: in the docstring of the class, and under each field."""

from __future__ import annotations

import ast
import inspect
import itertools
import textwrap

from agentfp_core.docstrings import split_docstring


def settings_docs(*owners: type) -> dict[str, str]:
    """The words on settings, by name. Later owners go before earlier ones, and a class before those that it is made of.

    Args:
        owners: the classes that may speak of them, such as a plugin and its settings.
    """
    docs: dict[str, str] = {}
    for owner in (kind for given in owners for kind in reversed(given.__mro__)):
        if owner.__module__.partition(".")[0] not in ("builtins", "pydantic", "typing"):
            docs |= split_docstring(inspect.cleandoc(owner.__doc__ or ""))[1] | _under_fields(owner)
    return docs


def _under_fields(owner: type) -> dict[str, str]:
    """The texts under the annotated names of a class; none where its source is not at hand."""
    try:
        made = ast.parse(textwrap.dedent(inspect.getsource(owner))).body[0]
    except (OSError, TypeError, SyntaxError, IndexError):
        return {}
    docs = {}
    for field, below in itertools.pairwise(made.body if isinstance(made, ast.ClassDef) else ()):
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name) and isinstance(below, ast.Expr):
            text = below.value.value if isinstance(below.value, ast.Constant) else None
            if isinstance(text, str):
                docs[field.target.id] = inspect.cleandoc(text)
    return docs
