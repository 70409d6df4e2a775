"""The names for people who write a provider that speaks HTTP. Loads httpx."""

from agentfp_core.http import HttpStream, ModelHttp
from agentfp_core.http_errors import Explain, error_of_data, error_of_reply, retry_after
from agentfp_core.http_options import Authorize, HttpOptions, HttpReply, HttpRequest
from agentfp_core.retrying import RetryPolicy
from agentfp_core.sse import Decoder, NdjsonDecoder, ServerSentEvent, SseDecoder, parse_json

__all__ = [
    "Authorize",
    "Decoder",
    "Explain",
    "HttpOptions",
    "HttpReply",
    "HttpRequest",
    "HttpStream",
    "ModelHttp",
    "NdjsonDecoder",
    "RetryPolicy",
    "ServerSentEvent",
    "SseDecoder",
    "error_of_data",
    "error_of_reply",
    "parse_json",
    "retry_after",
]
