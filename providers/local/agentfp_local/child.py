"""The process that holds the model: llama.cpp's own server on loopback. Run as a script; imports nothing of the package.

It is told what to do by one line of JSON on its input, says where it listens by one line on its output, and ends when its input
ends: that is when the parent closes it, exits, crashes or is killed.
"""

from __future__ import annotations

import json
import os
import signal
import sys


def main() -> None:
    """Serve until the input ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent, which may still want an answer
    wanted = json.loads(sys.stdin.readline())
    sys.path[:] = wanted["sys_path"]
    import xllamacpp  # type: ignore[import-untyped]

    params = xllamacpp.CommonParams()
    params.model.path = wanted["file"]
    params.model_alias = [wanted["alias"]]
    params.n_ctx = wanted["context"]
    params.n_parallel = 1  # calls take turns: a batch of several gives other roundings, and so other texts
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = wanted["threads"]
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.api_keys = [wanted["key"]]
    params.ui = False
    params.endpoint_slots = False  # it would show other people's prompts
    params.use_jinja = True
    if wanted["chat_template"]:
        params.chat_template = wanted["chat_template"]
    try:
        server = xllamacpp.Server(params)
    except RuntimeError as error:
        sys.exit(str(error))
    print(json.dumps({"url": server.listening_address}), flush=True)  # noqa: T201  the parent reads it
    while sys.stdin.buffer.read(4096):
        pass
    os._exit(0)  # at once, whatever is being decoded


if __name__ == "__main__":
    main()
