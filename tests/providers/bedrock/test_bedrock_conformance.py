"""Models of Bedrock pass the checks that every model should pass."""

from __future__ import annotations

from agentfp.testing import ModelConformance
from tests.providers.bedrock.converse_wire import ConverseWire


class TestBedrock(ModelConformance):
    wire = ConverseWire()
