"""The thinking of other providers, which an adapter cannot send back: reported for the turn that is under way."""

from __future__ import annotations

from collections.abc import Callable

from agentfp_core.events.agent import ThinkingOmitted
from agentfp_core.messages import ThinkingBlock
from agentfp_core.model import ModelRequest


def report_foreign_thinking(request: ModelRequest, provider: str, model: str, goes_back: Callable[[ThinkingBlock], bool]) -> None:
    """Report each thinking block of the present turn that came from another provider, and cannot go back to this one.

    No provider needs the thinking of earlier turns; a report of it with each call would only fill the record.

    Args:
        request: the request; its ``report`` is called.
        provider: name of the provider.
        model: name of the model.
        goes_back: whether a block does.
    """
    for index in range(len(request.messages) - 1, -1, -1):
        message = request.messages[index]
        if message.role == "user":
            return
        for place, block in enumerate(message.thinking):
            if not goes_back(block):
                request.report(ThinkingOmitted(provider, model, index, place, "another-provider"))
