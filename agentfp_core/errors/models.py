"""What goes wrong at a model: each error says what to do now, and carries the facts that a program would act on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agentfp_core.errors.base import AgentfpError
from agentfp_core.errors.usage import UsageError

if TYPE_CHECKING:
    from agentfp_core.messages import Usage


class ModelError(AgentfpError):
    """Base of what goes wrong at a model.

    Args:
        message: what happened and what to do; holds no key, prompt or body.
        provider: name of the provider.
        model: name of the model.
        status: HTTP status of the reply.
        request_id: the provider's id of the request, for its support.
        retry_after: seconds that the provider asks to wait.
        usage: tokens that the provider reported before it failed; they are billed.

    ``detail`` holds the provider's own words where it sent any: they may quote the request, so they stand in no message.
    """

    code = "ERR_MODEL"
    provider: str | None = None
    model: str | None = None
    status: int | None = None
    request_id: str | None = None
    retry_after: float | None = None
    usage: Usage | None = None
    detail: str | None = None

    def __init__(
        self,
        message: str = "",
        *,
        provider: str | None = None,
        model: str | None = None,
        status: int | None = None,
        request_id: str | None = None,
        retry_after: float | None = None,
        usage: Usage | None = None,
    ) -> None:
        facts = {
            "provider": provider,
            "model": model,
            "status": status,
            "request_id": request_id,
            "retry_after": retry_after,
            "usage": usage,
        }
        for name, value in facts.items():
            if value is not None:
                setattr(self, name, value)
        super().__init__(message)


class ModelNotFoundError(ModelError, UsageError):
    """No installed provider knows the model's name, or the provider itself does not."""

    code = "ERR_MODEL_NOT_FOUND"


class ModelFeatureError(ModelError, UsageError):
    """A request wishes for something the model does not have; it was not sent."""

    code = "ERR_MODEL_FEATURE"


class ProviderProtocolError(ModelError):
    """A model's reply is not of the shape that the protocol states."""

    code = "ERR_PROVIDER_PROTOCOL"


class StreamChunkError(ProviderProtocolError, TypeError):
    """A model streamed something that is no chunk."""

    code = "ERR_STREAM_CHUNK"


class ModelAuthenticationError(ModelError):
    """The provider takes no request with this key, or none for this model."""

    code = "ERR_MODEL_AUTHENTICATION"


class ModelRateLimitError(ModelError):
    """Too many requests or tokens, or a quota is used up; ``retry_after`` says how long to wait where the provider does."""

    code = "ERR_MODEL_RATE_LIMIT"


class ModelOverloadedError(ModelError):
    """The provider cannot serve at present; the same request may succeed later."""

    code = "ERR_MODEL_OVERLOADED"


class ModelConnectionError(ModelError):
    """No reply came, or it broke off: no connection, a dropped one, or one that went silent."""

    code = "ERR_MODEL_CONNECTION"


class ModelTimeoutError(ModelConnectionError, TimeoutError):
    """The provider did not answer in time."""

    code = "ERR_MODEL_TIMEOUT"


class ModelBadRequestError(ModelError):
    """The provider refuses the request as it is; sending it again does not help."""

    code = "ERR_MODEL_BAD_REQUEST"


class ContextTooLongError(ModelBadRequestError):
    """The request does not fit into the model's context window."""

    code = "ERR_CONTEXT_TOO_LONG"


class ContentFilterError(ModelError):
    """The provider's filter refused the request or the reply."""

    code = "ERR_CONTENT_FILTER"


class CircuitOpenError(ModelError):
    """Too many calls failed, so none is sent for a while; ``retry_after`` says how long."""

    code = "ERR_CIRCUIT_OPEN"


class ReliabilityFailFastError(ModelError):
    """A reliability rule ended the run.

    Args:
        message: what happened.
        kind: the rule's word for it, such as ``mid-stream-not-retryable``.
        reason: the rule's label.
        payload: facts that the rule saw: attempt, provider, error kind.
        facts: those of a model error.
    """

    code = "ERR_RELIABILITY_FAIL_FAST"

    def __init__(self, message: str, *, kind: str, reason: str, payload: dict[str, Any] | None = None, **facts: Any) -> None:
        self.kind = kind
        self.reason = reason
        self.payload = payload or {}
        super().__init__(message, **facts)
