"""Hands secrets to the tools of an agent, and keeps them out of everything else."""

from agentfp_credentials.errors import ConsentNeededError, CredentialConsentRequiredError, CredentialError
from agentfp_credentials.events import CredentialAcquired, CredentialAuthorizationRequired, CredentialFailed, CredentialRequested
from agentfp_credentials.needs import Needs
from agentfp_credentials.oauth import ConsentCallbackError, OAuth2AuthorizationCode, OAuth2ClientCredentials
from agentfp_credentials.plugin import Credentials
from agentfp_credentials.protocol import Authorization, AuthorizationRequired, CredentialProvider, CredentialRequest, Issued
from agentfp_credentials.providers import (
    ByService,
    EnvironmentTokens,
    KeyringTokens,
    NoPrincipalError,
    ProviderError,
    StaticTokens,
    UnknownServiceError,
    static_tokens,
    with_credential_retry,
)
from agentfp_credentials.tokens import FolderTokens, MemoryTokens, TokenStore
from agentfp_credentials.values import Credential, api_key, basic, bearer, header_map

__all__ = [
    "Authorization",
    "AuthorizationRequired",
    "ByService",
    "ConsentCallbackError",
    "ConsentNeededError",
    "Credential",
    "CredentialAcquired",
    "CredentialAuthorizationRequired",
    "CredentialConsentRequiredError",
    "CredentialError",
    "CredentialFailed",
    "CredentialProvider",
    "CredentialRequest",
    "CredentialRequested",
    "Credentials",
    "EnvironmentTokens",
    "FolderTokens",
    "Issued",
    "KeyringTokens",
    "MemoryTokens",
    "Needs",
    "NoPrincipalError",
    "OAuth2AuthorizationCode",
    "OAuth2ClientCredentials",
    "ProviderError",
    "StaticTokens",
    "TokenStore",
    "UnknownServiceError",
    "api_key",
    "basic",
    "bearer",
    "header_map",
    "static_tokens",
    "with_credential_retry",
]
