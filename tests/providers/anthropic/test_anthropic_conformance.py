"""Claude models pass the checks that every model should pass."""

from __future__ import annotations

from dataclasses import replace

import pytest

from agentfp.model import Model
from agentfp.testing import LiveModelConformance, ModelConformance
from agentfp_anthropic import AnthropicModel
from tests.providers.anthropic.messages_wire import MessagesWire
from tests.providers.llama import CONTEXT


class TestAnthropic(ModelConformance):
    wire = MessagesWire()


class TestAnthropicAtTheRealModel(LiveModelConformance):
    """llama.cpp's server speaks the Messages API. Its model takes only text, and nobody makes it call the tool that is named."""

    @pytest.fixture(autouse=True)
    def _server(self, llama: str) -> None:
        self.url = llama

    def make(self) -> Model:
        model = AnthropicModel("smollm2", base_url=self.url)
        model.features = replace(model.features, forced_tool_choice=False, images=False, documents=False, context_window=CONTEXT)
        return model
