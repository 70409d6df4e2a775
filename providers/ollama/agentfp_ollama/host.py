"""Where the server is: ``OLLAMA_HOST`` as the server itself and its other clients read it."""

from __future__ import annotations

import re

PORT = 11434
_HOST = re.compile(r"(?P<host>\[[^\]]*\]|[^:/]*)(?::(?P<port>\d+))?(?P<path>/.*)?\Z")


def url_of(host: str) -> str:
    """The base URL that a host means.

    Args:
        host: a URL, or ``host``, ``host:port``, ``:port``, each with or without a path; empty for this machine.
    """
    if "://" in host:
        return host
    found = _HOST.match(host.strip())
    if found is None:
        return f"http://{host}"  # no host at all; what reads the URL says so
    name = found["host"]
    if name in ("", "0.0.0.0", "[::]"):  # a server listens there on every address; nobody can call them
        name = "127.0.0.1"
    return f"http://{name}:{found['port'] or PORT}{found['path'] or ''}"
