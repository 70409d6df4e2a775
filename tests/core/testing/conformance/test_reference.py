"""A provider that keeps the rules passes the suite: with everything that a model can have, and with nothing of it."""

from __future__ import annotations

from agentfp.model import Model, ModelFeatures, ModelWrapper
from agentfp.testing import ModelConformance, WrapperConformance
from tests.core.testing.conformance.tiny import TinyWire


class BareWire(TinyWire):
    features = ModelFeatures(tools=False)


class TestFull(ModelConformance):
    wire = TinyWire()


class TestBare(ModelConformance):
    wire = BareWire()


class TestWrapper(WrapperConformance):
    def wrap(self, inner: Model) -> Model:
        return ModelWrapper(inner)
