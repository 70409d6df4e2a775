"""The checks that every provider passes, for both interfaces; those against a real model, for both as a compatible server has them."""

from __future__ import annotations

from typing import Any, ClassVar

import pytest

from agentfp.model import Model, resolve_model
from agentfp.testing import LiveModelConformance, ModelConformance
from tests.providers.llama import CONTEXT
from tests.providers.openai.wires import ChatWire, ResponsesWire


class TestChat(ModelConformance):
    wire = ChatWire()


class TestResponses(ModelConformance):
    wire = ResponsesWire()


class TestRealModelOverChat(LiveModelConformance):
    """The real model calls no tool, whatever it is told; so the features that are stated for it say that it cannot be made to."""

    api: ClassVar[str] = "chat"
    features: ClassVar[dict[str, Any]] = {"context_window": CONTEXT, "forced_tool_choice": False, "images": False, "thinking": False}

    @pytest.fixture(autouse=True)
    def _server(self, llama: str) -> None:
        self.url = llama

    def make(self) -> Model:
        return resolve_model(f"openai-{self.api}:smollm2", settings={"base_url": f"{self.url}/v1", "features": self.features})


class TestRealModelOverResponses(TestRealModelOverChat):
    """llama.cpp does not enforce schemas over this interface."""

    api = "responses"
    features: ClassVar[dict[str, Any]] = {**TestRealModelOverChat.features, "json_schema": False}
