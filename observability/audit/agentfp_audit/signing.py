"""Signatures of seals: with a shared secret, or with a key pair, so that who checks cannot forge."""

from __future__ import annotations

import hashlib
import hmac
from importlib.util import find_spec
from typing import Any, Protocol

from agentfp_audit.canonical import canonical_bytes

INSTALL = "pip install 'agentfp-audit[ed25519]'"


class Signer(Protocol):
    """Signs the text of a seal."""

    algorithm: str

    def sign(self, text: bytes) -> str:
        """The signature, as hexadecimal digits."""


class Checker(Protocol):
    """Checks signatures of seals."""

    algorithm: str

    def fits(self, text: bytes, signature: str) -> bool:
        """Whether the signature is one of the text."""


class HmacKey:
    """A shared secret: who has it can check, and forge.

    Args:
        secret: at least 16 bytes.
    """

    algorithm = "hmac-sha256"

    def __init__(self, secret: bytes) -> None:
        if len(secret) < 16:
            raise ValueError("the secret of a signature needs at least 16 bytes")
        self._secret = secret

    def __repr__(self) -> str:
        return "HmacKey(...)"

    def sign(self, text: bytes) -> str:
        """The signature."""
        return hmac.new(self._secret, text, hashlib.sha256).hexdigest()

    def fits(self, text: bytes, signature: str) -> bool:
        """Whether the signature is one of the text.

        Args:
            text: what was signed.
            signature: the signature, as the log has it.
        """
        return hmac.compare_digest(self.sign(text), signature)


class Ed25519Signer:
    """The private half of a key pair.

    Args:
        pem: the key, as PEM without a password.

    Raises:
        ValueError: it is no such key.
        ImportError: cryptography is not installed.
    """

    algorithm = "ed25519"

    def __init__(self, pem: bytes) -> None:
        _check_installed()
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
        from cryptography.hazmat.primitives.serialization import load_pem_private_key

        key = load_pem_private_key(pem, None)
        if not isinstance(key, Ed25519PrivateKey):
            raise ValueError("the key is no private Ed25519 key")
        self._key = key

    def __repr__(self) -> str:
        return "Ed25519Signer(...)"

    def sign(self, text: bytes) -> str:
        """The signature."""
        return self._key.sign(text).hex()


class Ed25519Checker:
    """The public half of a key pair.

    Args:
        pem: the key, as PEM.

    Raises:
        ValueError: it is no such key.
        ImportError: cryptography is not installed.
    """

    algorithm = "ed25519"

    def __init__(self, pem: bytes) -> None:
        _check_installed()
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
        from cryptography.hazmat.primitives.serialization import load_pem_public_key

        key = load_pem_public_key(pem)
        if not isinstance(key, Ed25519PublicKey):
            raise ValueError("the key is no public Ed25519 key")
        self._key = key

    def fits(self, text: bytes, signature: str) -> bool:
        """Whether the signature is one of the text.

        Args:
            text: what was signed.
            signature: the signature, as the log has it.
        """
        from cryptography.exceptions import InvalidSignature

        try:
            self._key.verify(bytes.fromhex(signature), text)
        except (InvalidSignature, ValueError):
            return False
        return True


def wrong_signature(seal: dict[str, Any], checker: Checker) -> str | None:
    """What is wrong with the signature of a seal; None where it is one of this key.

    Args:
        seal: the seal with its signature, as the log has it.
        checker: the key's.
    """
    signature = seal.get("signature")
    if not isinstance(signature, dict) or not isinstance(signature.get("value"), str):
        return "a seal without a signature"
    if signature.get("algorithm") != checker.algorithm:
        return f"a signature by {signature.get('algorithm')!r}, and the key is for {checker.algorithm!r}"
    if not checker.fits(canonical_bytes({name: value for name, value in seal.items() if name != "signature"}), signature["value"]):
        return "a signature that is not of this key and seal"
    return None


def _check_installed() -> None:
    if find_spec("cryptography") is None:
        raise ImportError(f"signatures by key pair need cryptography; {INSTALL}")


def signer_of(key: bytes) -> Signer:
    """A signer of the bytes of a file: a private key as PEM, or else a shared secret."""
    return Ed25519Signer(key) if key.lstrip().startswith(b"-----BEGIN") else HmacKey(key.strip())


def checker_of(key: bytes) -> Checker:
    """A checker of the bytes of a file: a public key as PEM, or else the shared secret."""
    return Ed25519Checker(key) if key.lstrip().startswith(b"-----BEGIN") else HmacKey(key.strip())
