"""The reference server of the protocol's authors (an npm package), over stdio and over streamable HTTP."""

from __future__ import annotations

import os
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from agentfp import ImagePart
from agentfp.testing import ScriptedModel, call
from agentfp_mcp import McpServer, mcp
from tests.plugins.mcp.asking import HTTP_ON_TRIO, ask, children, outcomes, texts

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.service,
    HTTP_ON_TRIO,
]


@pytest.fixture(scope="module")
def program(npm_packages: Path) -> str:
    return str(npm_packages / "server-everything" / "dist" / "index.js")


@pytest.fixture(scope="module")
def address(node: Path, program: str) -> Iterator[str]:
    """Where the server is over HTTP."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    environment = {**os.environ, "PORT": str(port)}
    with subprocess.Popen(
        [node, program, "streamableHttp"], env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as process:
        for _ in range(400):
            try:
                socket.create_connection(("127.0.0.1", port), 1).close()
                break
            except OSError:
                time.sleep(0.05)
        yield f"http://127.0.0.1:{port}/mcp"
        process.kill()


@pytest.fixture(params=["stdio", "http"])
def everything(request: pytest.FixtureRequest, node: Path, program: str) -> Callable[..., McpServer]:
    """Makes a source of the server over one of its transports."""

    def make(**settings: Any) -> McpServer:
        if request.param == "stdio":
            return mcp(command=str(node), args=[program, "stdio"], name="everything", **settings)
        return mcp(url=request.getfixturevalue("address"), name="everything", **settings)

    return make


async def test_texts_numbers_images_and_structured_data(everything: Callable[..., McpServer]) -> None:
    source = everything(prefix="ev_")
    before = children()
    model = ScriptedModel(
        [
            [call("ev_echo", message="héllo ✓"), call("ev_get-sum", a=2, b=3), call("ev_get-structured-content", location="Chicago")],
            [
                call("ev_get-tiny-image"),
                call("ev_get-resource-links", count=2),
                call("ev_get-resource-reference", resourceType="Text", resourceId=1),
            ],
            "Done.",
        ]
    )
    result = await ask(source, model=model)
    assert outcomes(result) == ["success"] * 6
    echo, total, structured, image, links, reference = texts(result)
    assert (echo, total) == ("Echo: héllo ✓", "The sum of 2 and 3 is 5.")
    assert '"temperature":36' in structured
    assert "[image: image/png" in image
    assert [type(part) for message in result.history for part in message.parts] == [ImagePart]
    assert links.count("[resource: ") == 2
    assert "[resource: demo://resource/dynamic/text/1]" in reference
    assert children() <= before
    for number, request in enumerate(model.requests, 1):
        assert result.record.served_at(number).tools == request.tools


async def test_progress_of_a_long_operation(everything: Callable[..., McpServer]) -> None:
    heard: list[str] = []
    listener = {"agentfp.tool.progress": lambda event: heard.append(event.payload.data)}
    result = await ask(everything(), call("trigger-long-running-operation", duration=0.4, steps=4), on_event=listener)
    assert outcomes(result) == ["success"]
    assert len(heard) >= 3
    assert '"total":4.0' in heard[0]


async def test_arguments_that_do_not_fit_and_resources(everything: Callable[..., McpServer]) -> None:
    result = await ask(everything(resources=True), call("get-sum", a="x", b=1), call("list_resources"))
    assert outcomes(result) == ["invalid", "success"]
    assert '"uri":"demo://' in texts(result)[1]
