"""Who may ask the server: pages that it served itself, to who knows its address. Other sites' pages and other names for it get nothing."""

from __future__ import annotations

import secrets
from typing import Any

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from agentfp_viewer.bundle import policy

HEADERS = {
    "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}


def new_token() -> str:
    """A part of the address that nobody guesses."""
    return secrets.token_urlsafe(18)


class Guard:
    """Lets requests through that name the server by its own address, know the token, and come from no other site.

    Args:
        app: what answers them.
        token: the first part of every path.
        port: that the server listens at.
    """

    def __init__(self, app: ASGIApp, token: str, port: int) -> None:
        self._app = app
        self._token = token
        self._hosts = frozenset({f"127.0.0.1:{port}", f"localhost:{port}"})

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, or refuse."""
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self._app(scope, receive, send)
            return
        refused = self._refused(Request(scope))
        if refused is not None:
            await refused(scope, receive, send)
            return

        async def guarded(message: Any) -> None:
            if message["type"] == "http.response.start":
                named = {**HEADERS, "Content-Security-Policy": policy(connect=True) + "; frame-ancestors 'none'"}
                message["headers"] = [*message["headers"], *[(k.lower().encode(), v.encode()) for k, v in named.items()]]
            await send(message)

        await self._app(scope, receive, guarded)

    def _refused(self, request: Request) -> Response | None:
        if request.headers.get("host") not in self._hosts:  # another name that was made to point at this machine
            return PlainTextResponse("this server is called 127.0.0.1\n", 421)
        if request.method not in ("GET", "HEAD"):
            return PlainTextResponse("there is nothing to write to here\n", 405)
        given = request.url.path.split("/")[1]
        if not secrets.compare_digest(given.encode(), self._token.encode()):
            return PlainTextResponse("the address that agentfp view printed has a part that this one lacks\n", 403)
        site = request.headers.get("sec-fetch-site", "none")
        if site not in ("none", "same-origin") and not (site == "cross-site" and request.headers.get("sec-fetch-mode") == "navigate"):
            return PlainTextResponse("pages of other sites get nothing here\n", 403)
        return None
