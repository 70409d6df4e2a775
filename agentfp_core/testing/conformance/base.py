"""What the classes of checks share: event loops, the leave to call the model under check, and the server that plays its provider."""

from __future__ import annotations

import dataclasses
import importlib.util
from collections.abc import Iterator
from typing import Any, ClassVar

import pytest

from agentfp_core.messages import ToolCall, Usage
from agentfp_core.model import ModelResponse
from agentfp_core.testing.conformance.server import WireServer
from agentfp_core.testing.conformance.wire import Wire

LOOPS = [name for name in ("asyncio", "trio") if name == "asyncio" or importlib.util.find_spec(name) is not None]
WAYS = [False, True]
"""Whether a reply is streamed."""
ways = pytest.mark.parametrize("stream", WAYS, ids=["complete", "stream"])


class Checks:
    """Base of classes of checks; async tests on asyncio and, where it is installed, on trio."""

    pytestmark: ClassVar[list[Any]] = [pytest.mark.anyio, pytest.mark.usefixtures("allow_any_model")]

    @pytest.fixture(params=LOOPS)
    def anyio_backend(self, request: pytest.FixtureRequest) -> str:
        """The event loop of a check."""
        name: str = request.param
        return name


class WireChecks(Checks):
    """Base of checks against a server that plays the provider."""

    wire: ClassVar[Wire]
    """The provider's format; set it in your subclass."""

    @pytest.fixture
    def server(self) -> Iterator[WireServer]:
        """The server, with an empty script."""
        if not isinstance(getattr(self, "wire", None), Wire):
            pytest.fail(f"{type(self).__name__}.wire must be set to an object of your subclass of Wire")
        with WireServer(self.wire) as server:
            yield server

    def said(self, text: str = "", *calls: ToolCall, **more: Any) -> ModelResponse:
        """A reply for a script, with numbers of tokens that the format can carry.

        Args:
            text: its text.
            *calls: its tool calls.
            **more: further fields of a ``ModelResponse``.
        """
        usage = more.pop("usage", Usage(1234567, 7654321))
        return ModelResponse(text=text, tool_calls=calls, usage=self.usage_of(usage), **more)

    def usage_of(self, usage: Usage) -> Usage:
        """The fields of a usage that the format can carry."""
        return Usage(**{f.name: getattr(usage, f.name) for f in dataclasses.fields(Usage) if f.name in self.wire.usage_fields})

    def same(self, got: ModelResponse, said: ModelResponse) -> None:
        """A reply is what the server said.

        Args:
            got: the reply that arrived.
            said: the one that was sent.
        """
        assert got.text == said.text
        self.same_calls(got, said)
        assert got.usage == said.usage, "usage: what the provider does not report is None, never 0"
        assert got.stop == said.stop
        assert [(block.text, block.redacted) for block in got.thinking] == [(block.text, block.redacted) for block in said.thinking]
        if self.wire.signatures:
            assert [block.signature for block in got.thinking] == [block.signature for block in said.thinking]

    def same_calls(self, got: ModelResponse, said: ModelResponse) -> None:
        """The calls of a reply are those that the server sent, in order.

        Args:
            got: the reply that arrived.
            said: the one that was sent.
        """
        assert [(call.name, call.arguments_json) for call in got.tool_calls] == [(c.name, c.arguments_json) for c in said.tool_calls]
        ids = [call.id for call in got.tool_calls]
        if self.wire.call_ids:
            assert ids == [call.id for call in said.tool_calls]
        else:
            assert len(set(ids) - {""}) == len([one for one in ids if one]), "ids of calls are unique, or empty for the kernel to mint"
