"""A server of embeddings on loopback that speaks OpenAI's interface; a token is a word, a vector counts letters."""

from __future__ import annotations

import base64
import contextlib
import json
import struct
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

DIMENSIONS = 26


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.path != "/v1/embeddings" or not asked.get("input"):
            self._reply(400, {"error": {"message": "input is missing", "type": "invalid_request_error", "code": None, "param": "input"}})
            return
        texts = [asked["input"]] if isinstance(asked["input"], str) else asked["input"]
        packed = asked.get("encoding_format") == "base64"
        vectors = [[float(text.lower().count(chr(97 + at))) for at in range(DIMENSIONS)] for text in texts]
        data = [
            {"object": "embedding", "index": at, "embedding": _packed(vector) if packed else vector} for at, vector in enumerate(vectors)
        ]
        tokens = sum(len(text.split()) for text in texts)
        usage = {"prompt_tokens": tokens, "total_tokens": tokens}
        self._reply(200, {"object": "list", "data": data, "model": asked["model"], "usage": usage})

    def _reply(self, status: int, data: object) -> None:
        body = json.dumps(data).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Nothing."""


def _packed(vector: list[float]) -> str:
    return base64.b64encode(struct.pack(f"<{len(vector)}f", *vector)).decode()


@contextlib.contextmanager
def embedding_server() -> Iterator[str]:
    """A server; gives its base address."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    server.daemon_threads = False
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/v1"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
