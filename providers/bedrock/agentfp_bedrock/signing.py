"""Who asks: credentials by botocore's chain, resolved off the event loop, and the signature of each attempt.

The chain may read files, run programs and ask servers (roles, single sign-on, the machine itself), so it runs in a worker thread.
A bearer token is sent as it is.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import anyio.to_thread
import botocore.exceptions
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials, ReadOnlyCredentials, RefreshableCredentials

from agentfp.http import HttpRequest
from agentfp.model import ModelAuthenticationError

BEARER_VARIABLE = "AWS_BEARER_TOKEN_BEDROCK"
SERVICE = "bedrock"


@dataclass(frozen=True, slots=True)
class Identity:
    """Whose credentials are taken; the first that is given.

    Args:
        api_key: a bearer token of Bedrock.
        access_key_id: of a key.
        secret_access_key: of the same key.
        session_token: of temporary credentials.
        profile: of the user's AWS files; botocore's chain decides where nothing is given.
    """

    api_key: str | None = field(default=None, repr=False)
    access_key_id: str | None = field(default=None, repr=False)
    secret_access_key: str | None = field(default=None, repr=False)
    session_token: str | None = field(default=None, repr=False)
    profile: str | None = None


class Signer:
    """Signs the requests of one model.

    Args:
        identity: whose credentials.
        model: name of the model, for errors.
        keyless: whether a request may go without credentials where there are none.
    """

    def __init__(self, identity: Identity, model: str, *, keyless: bool) -> None:
        self.region = ""
        self._identity = identity
        self._model = model
        self._keyless = keyless
        self._session: Any = None
        self._credentials: Credentials | None = None
        self._frozen: ReadOnlyCredentials | None = None
        self._searched = False

    async def prepare(self) -> None:
        """See that credentials are there and fresh; to be called before each request.

        Raises:
            ModelAuthenticationError: there are none, or they cannot be had.
        """
        if self._bearer():
            return
        stale = isinstance(self._credentials, RefreshableCredentials) and self._credentials.refresh_needed()
        if self._searched and not stale:
            return
        await anyio.to_thread.run_sync(self._resolve, abandon_on_cancel=True)

    async def configured_region(self) -> str | None:
        """The region that the user's AWS files name."""
        return await anyio.to_thread.run_sync(lambda: self._made_session().get_config_variable("region"), abandon_on_cancel=True)

    def sign(self, attempt: HttpRequest) -> Mapping[str, str]:
        """The headers that authorise an attempt."""
        token = self._bearer()
        if token:
            return {"authorization": f"Bearer {token}"}
        if self._frozen is None:
            return {}
        request = AWSRequest(
            method=attempt.method, url=attempt.url, data=attempt.body, headers={"content-type": attempt.headers["content-type"]}
        )
        SigV4Auth(self._frozen, SERVICE, self.region).add_auth(request)
        return {name.lower(): value for name, value in request.headers.items() if name.lower() != "content-type"}

    def _bearer(self) -> str | None:
        given = self._identity
        if given.api_key:
            return given.api_key
        return None if given.access_key_id or given.profile else os.environ.get(BEARER_VARIABLE)

    def _made_session(self) -> Any:
        if self._session is None:
            from botocore.session import Session

            self._session = Session(profile=self._identity.profile)
        return self._session

    def _resolve(self) -> None:
        given = self._identity
        try:
            if self._credentials is None and given.access_key_id and given.secret_access_key:
                self._credentials = Credentials(given.access_key_id, given.secret_access_key, given.session_token)
            elif self._credentials is None:
                self._credentials = self._made_session().get_credentials()
            if self._credentials is not None:
                self._frozen = self._credentials.get_frozen_credentials()
        except botocore.exceptions.BotoCoreError as error:  # its text may hold what a program or a server said
            raise self._refused(
                f"credentials of AWS cannot be had ({type(error).__name__}); sign in anew, or look at the profile"
            ) from error
        if self._credentials is None and not self._keyless:
            raise self._refused(
                f"no credentials of AWS were found; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, AWS_PROFILE or {BEARER_VARIABLE}"
            )
        self._searched = True

    def _refused(self, what: str) -> ModelAuthenticationError:
        return ModelAuthenticationError(f"'bedrock' (model {self._model!r}): {what}", provider="bedrock", model=self._model)
