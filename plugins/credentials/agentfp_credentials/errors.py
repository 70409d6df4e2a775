"""What is raised. No message holds a secret, a URL or the words of a provider."""

from __future__ import annotations

from typing import Any, ClassVar

from agentfp import ToolError
from agentfp.plugin import AnswerRefusedError
from agentfp_credentials.events import Reason


class CredentialError(ToolError):
    """A credential could not be had; the model reads which one, and not why.

    Args:
        service: the service.
        reason: one word for why.
        error_class: class name of what the provider raised.
        status: HTTP status of the service's answer.
    """

    code: ClassVar[str] = "ERR_CREDENTIAL"

    def __init__(self, service: str, reason: Reason, *, error_class: str | None = None, status: int | None = None) -> None:
        self.service = service
        self.reason: Reason = reason
        self.error_class = error_class
        self.status = status
        super().__init__(unavailable(service), detail=reason)

    def __reduce__(self) -> tuple[Any, ...]:
        return _credential_error, (self.service, self.reason, self.error_class, self.status)


def _credential_error(service: str, reason: Reason, error_class: str | None, status: int | None) -> CredentialError:
    return CredentialError(service, reason, error_class=error_class, status=status)


class ConsentNeededError(ToolError):
    """Raised in a tool that asks for a credential to which a person must consent first.

    Args:
        service: the service.
        session_id: the provider's name of the consent.
    """

    code: ClassVar[str] = "ERR_CREDENTIAL_CONSENT_NEEDED"

    def __init__(self, service: str, session_id: str) -> None:
        self.service = service
        self.session_id = session_id
        super().__init__(consent_needed(service))

    def __reduce__(self) -> tuple[Any, ...]:
        return ConsentNeededError, (self.service, self.session_id)


class CredentialConsentRequiredError(AnswerRefusedError):
    """The run ended while a person's consent was outstanding. The URL is an attribute; it is in no text, and a pickle lacks it.

    Args:
        service: the service.
        authorization_url: where to consent; None where the run went on in another process.
        session_id: the provider's name of the consent.
        tool: the tool that needed it.
        iteration: number of the model call whose reply called it.
    """

    code: ClassVar[str] = "ERR_CREDENTIAL_CONSENT_REQUIRED"

    def __init__(self, service: str, authorization_url: str | None, session_id: str, tool: str, iteration: int) -> None:
        self.service = service
        self._url = (lambda: authorization_url) if authorization_url is not None else None
        self.session_id = session_id
        self.tool = tool
        self.iteration = iteration
        text = f"tool {tool!r} needs a person's consent for {service!r}; send them to `authorization_url` of this error, then ask again"
        super().__init__(text, plugin="credentials")

    @property
    def authorization_url(self) -> str | None:
        """Where to consent."""
        return None if self._url is None else self._url()

    def __reduce__(self) -> tuple[Any, ...]:
        return CredentialConsentRequiredError, (self.service, None, self.session_id, self.tool, self.iteration)


def unavailable(service: str) -> str:
    """What the model reads when there is no credential."""
    return f"The credential for {service} could not be obtained, so this was not done. Go on without it."


def consent_needed(service: str) -> str:
    """What the model reads when a person must consent."""
    return f"This was not done: a person must consent to the use of {service} first. Tell them so; do not try it again before."
