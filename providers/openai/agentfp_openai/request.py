"""What the requests of both interfaces have in common: tools, the schema of the answer, and further fields put over the rest."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from agentfp.http import without_surrogates
from agentfp.model import ToolSpec
from agentfp_openai.strict import strict_form

_NO_NAME = re.compile(r"[^a-zA-Z0-9_-]+")


def function(spec: ToolSpec, *, strict: bool) -> dict[str, Any]:
    """A tool: name, description and parameters, in the strict form where that is wanted and there is one.

    Args:
        spec: the tool.
        strict: whether the server knows the strict form of tools.
    """
    parameters = spec.parameters
    form = strict_form(parameters) if strict else None
    made: dict[str, Any] = {"name": spec.name, "description": spec.description, "parameters": form or parameters}
    if strict:
        made["strict"] = form is not None
    return made


def answer_schema(text: str) -> dict[str, Any]:
    """The schema of the answer: its name, itself, and whether it stands in the strict form.

    Args:
        text: JSON schema.
    """
    schema: dict[str, Any] = json.loads(text)
    form = strict_form(schema)
    name = _NO_NAME.sub("_", str(schema.get("title", "")))[:64].strip("_")
    return {"name": name or "answer", "schema": form or schema, "strict": form is not None}


def note(interface: str, facts: Mapping[str, Any]) -> str:
    """Facts of a reply as ``provider_meta``.

    Args:
        interface: name of the interface that they belong to.
        facts: JSON data.
    """
    return without_surrogates(json.dumps({interface: facts}, ensure_ascii=False))


def noted(interface: str, text: str | None) -> dict[str, Any]:
    """The facts that an interface noted; none where the ``provider_meta`` is another's.

    Args:
        interface: its name.
        text: the ``provider_meta``.
    """
    try:
        meta = json.loads(text) if text else None
    except ValueError:
        meta = None
    facts = meta.get(interface) if isinstance(meta, dict) else None
    return facts if isinstance(facts, dict) else {}
