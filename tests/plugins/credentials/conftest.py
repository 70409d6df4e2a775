"""A small authorization server on loopback: client credentials, and authorization code with PKCE and refresh."""

from __future__ import annotations

import base64
import hashlib
import json
import secrets
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest

CLIENT, CLIENT_SECRET = "agent", "client-SENTINEL-77aa/+="


class AuthorizationServer:
    """Checks what it is sent as RFC 6749 and RFC 7636 say, and counts the grants."""

    def __init__(self) -> None:
        self.grants: list[str] = []
        self.issued: list[str] = []
        self.codes: dict[str, dict[str, str]] = {}
        self.refreshable: set[str] = set()
        self.expires_in = 3600
        self.status = 0
        self.rotates = True
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def log_message(self, format: str, *args: Any) -> None:
                """Nothing on the terminal."""

            def do_GET(self) -> None:
                query = {k: v[0] for k, v in parse_qs(urlsplit(self.path).query).items()}
                assert query["response_type"] == "code"
                assert query["code_challenge_method"] == "S256"
                code = f"code-SENTINEL-{secrets.token_hex(8)}"
                outer.codes[code] = query
                self.send_response(302)
                self.send_header("Location", query["redirect_uri"] + "?" + urlencode({"code": code, "state": query["state"]}))
                self.end_headers()

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"])).decode()
                form = {k: v[0] for k, v in parse_qs(body).items()}
                status, data = outer.token(form, self.headers.get("Authorization", ""))
                text = json.dumps(data).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._http.server_address[1]}"
        self._thread = threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.02})
        self._thread.start()

    def token(self, form: dict[str, str], authorization: str) -> tuple[int, dict[str, Any]]:
        grant = form["grant_type"]
        self.grants.append(grant)
        if self.status:
            return self.status, {"error": "server_error", "error_description": f"leaked {CLIENT_SECRET}"}
        if base64.b64decode(authorization.removeprefix("Basic ")).decode() != f"{CLIENT}:{CLIENT_SECRET}":
            return 401, {"error": "invalid_client", "error_description": f"leaked {authorization}"}
        if grant == "authorization_code":
            asked = self.codes.pop(form["code"], None)
            digest = base64.urlsafe_b64encode(hashlib.sha256(form["code_verifier"].encode()).digest()).decode().rstrip("=")
            if asked is None or asked["code_challenge"] != digest or asked["redirect_uri"] != form["redirect_uri"]:
                return 400, {"error": "invalid_grant"}
        if grant == "refresh_token":
            if form["refresh_token"] not in self.refreshable:
                return 400, {"error": "invalid_grant"}
            if self.rotates:
                self.refreshable.remove(form["refresh_token"])  # each may be used once
        access = f"access-SENTINEL-{secrets.token_hex(8)}"
        self.issued.append(access)
        data: dict[str, Any] = {"access_token": access, "token_type": "Bearer", "expires_in": self.expires_in}
        if grant == "authorization_code" or (grant == "refresh_token" and self.rotates):
            refresh = f"refresh-SENTINEL-{secrets.token_hex(8)}"
            self.refreshable.add(refresh)
            self.issued.append(refresh)
            data["refresh_token"] = refresh
        return 200, data

    def close(self) -> None:
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()


@pytest.fixture
def server() -> Iterator[AuthorizationServer]:
    """The authorization server."""
    made = AuthorizationServer()
    yield made
    made.close()
