"""Questions that cross the wire: what a server asks of a person through us, and what our tools ask of a person behind a client."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from agentfp_mcp.catalog import cleaned

if TYPE_CHECKING:
    from mcp.client.session import ElicitationFnT

    from agentfp_mcp.settings import Elicit


@dataclass(frozen=True, slots=True)
class Elicitation:
    """A server asks a person something while one of its tools runs. Its words are the server's: show them as such.

    Args:
        server: who asks.
        message: what the person reads.
        schema: JSON schema of an object with one property for each answer; None where ``url`` is to be visited.
        url: an address that the person is asked to open; never open it unasked.
    """

    server: str
    message: str
    schema: Mapping[str, Any] | None = None
    url: str | None = None


def responder(server: str, ask: Elicit) -> ElicitationFnT:
    """What the SDK calls when a server asks.

    Args:
        server: the server's name.
        ask: the application's function; a mapping is the answer, None declines.
    """
    import mcp.types as wire

    async def respond(context: Any, params: wire.ElicitRequestParams) -> wire.ElicitResult | wire.ErrorData:  # noqa: ARG001 - the SDK names it
        if isinstance(params, wire.ElicitRequestURLParams):
            asked = Elicitation(server, cleaned(params.message), url=cleaned(params.url, 2_000))
        else:
            asked = Elicitation(server, cleaned(params.message), dict(params.requested_schema))
        answer = ask(asked)
        if inspect.isawaitable(answer):
            answer = await answer
        if answer is None:
            return wire.ElicitResult(action="decline")
        if asked.schema is None:
            return wire.ElicitResult(action="accept")
        given = with_defaults(asked.schema, answer)
        return wire.ElicitResult(action="accept", content=given)

    return respond


def with_defaults(schema: Mapping[str, Any], answer: Mapping[str, Any]) -> dict[str, Any]:
    """An answer, with the schema's defaults where it says nothing."""
    properties = schema.get("properties")
    known = properties.items() if isinstance(properties, Mapping) else ()
    defaults = {key: part["default"] for key, part in known if isinstance(part, Mapping) and "default" in part}
    return {**defaults, **answer}
