"""A sink that does it right passes all checks of sinks."""

from __future__ import annotations

from contextlib import AbstractContextManager
from pathlib import Path

from agentfp.testing import Fault, SinkBackend, SinkConformance
from tests.core.testing.conformance.tiny_sink import tiny


class TestTinySink(SinkConformance):
    def backend(self, fault: Fault, folder: Path) -> AbstractContextManager[SinkBackend]:
        return tiny(fault, folder)
