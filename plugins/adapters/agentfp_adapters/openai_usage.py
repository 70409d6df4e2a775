"""Adds up the usage of responses of the OpenAI Agents SDK, whole and streamed."""

from __future__ import annotations

from agents.usage import Usage
from openai.types.responses import Response
from openai.types.responses.response_usage import InputTokensDetails, OutputTokensDetails, ResponseUsage

from agentfp.plugin import Usage as Tokens


def sum_of(one: Usage, other: Usage) -> Usage:
    """The usage of two responses together."""
    total = Usage()
    total.add(one)
    total.add(other)
    return total


def tokens_of(usage: Usage) -> Tokens:
    """The tokens of a response."""
    return Tokens(usage.input_tokens, usage.output_tokens, cache_read=usage.input_tokens_details.cached_tokens or None)


def response_tokens(response: Response) -> Tokens:
    """The tokens of a streamed response."""
    return Tokens() if response.usage is None else Tokens(response.usage.input_tokens, response.usage.output_tokens)


def response_sum(one: ResponseUsage, other: ResponseUsage | None) -> ResponseUsage:
    """The usage of two streamed responses together."""
    if other is None:
        return one
    into, out = one.input_tokens_details.model_dump(), one.output_tokens_details.model_dump()
    for total, more in ((into, other.input_tokens_details.model_dump()), (out, other.output_tokens_details.model_dump())):
        for name, count in more.items():
            total[name] = (total.get(name) or 0) + count if isinstance(count, int) else total.get(name, count)
    return ResponseUsage(
        input_tokens=one.input_tokens + other.input_tokens,
        input_tokens_details=InputTokensDetails.model_validate(into),
        output_tokens=one.output_tokens + other.output_tokens,
        output_tokens_details=OutputTokensDetails.model_validate(out),
        total_tokens=one.total_tokens + other.total_tokens,
    )
