"""The names for people who test their agents, plugins and providers. pytest finds the fixtures by itself.

The classes of checks are loaded when they are used, for they need pytest.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from agentfp_core.clock import CountingIds, StepClock
from agentfp_core.testing.called import Called, assert_called, assert_not_called, calls_of
from agentfp_core.testing.check import PluginCheckError, check_plugin
from agentfp_core.testing.conformance.artifacts import (
    ArtifactStoreHarness,
    ArtifactStoreReport,
    CaseResult,
    artifact_store_cases,
    check_artifact_case,
    check_artifact_store,
)
from agentfp_core.testing.conformance.server import WireServer
from agentfp_core.testing.conformance.sink_backends import Fault, SeenEvent, SinkBackend, SinkCounts
from agentfp_core.testing.conformance.wire import Broken, Endpoint, Refusal, SeenRequest, Wire, WireReply, cut
from agentfp_core.testing.harness import Harness, Outcome
from agentfp_core.testing.installed import PluginDist
from agentfp_core.testing.overriding import override
from agentfp_core.testing.real_models import RealModelRefusedError, StandInsOnly
from agentfp_core.testing.records import assert_record_valid, assert_same_events
from agentfp_core.testing.scripted import AutoModel, ScriptedModel, ScriptExhaustedError, call, example
from agentfp_core.testing.subject import CheckReport
from agentfp_core.testing.watch import HookCall

if TYPE_CHECKING:
    from agentfp_core.testing.conformance.live import LiveModelConformance
    from agentfp_core.testing.conformance.sinks import SinkConformance
    from agentfp_core.testing.conformance.suite import ModelConformance
    from agentfp_core.testing.conformance.wrappers import WrapperConformance

__all__ = [
    "ArtifactStoreHarness",
    "ArtifactStoreReport",
    "AutoModel",
    "Broken",
    "Called",
    "CaseResult",
    "CheckReport",
    "CountingIds",
    "Endpoint",
    "Fault",
    "Harness",
    "HookCall",
    "LiveModelConformance",
    "ModelConformance",
    "Outcome",
    "PluginCheckError",
    "PluginDist",
    "RealModelRefusedError",
    "Refusal",
    "ScriptExhaustedError",
    "ScriptedModel",
    "SeenEvent",
    "SeenRequest",
    "SinkBackend",
    "SinkConformance",
    "SinkCounts",
    "StandInsOnly",
    "StepClock",
    "Wire",
    "WireReply",
    "WireServer",
    "WrapperConformance",
    "artifact_store_cases",
    "assert_called",
    "assert_not_called",
    "assert_record_valid",
    "assert_same_events",
    "call",
    "calls_of",
    "check_artifact_case",
    "check_artifact_store",
    "check_plugin",
    "cut",
    "example",
    "override",
]
_NEED_PYTEST = {"ModelConformance": "suite", "LiveModelConformance": "live", "WrapperConformance": "wrappers", "SinkConformance": "sinks"}


def __getattr__(name: str) -> Any:
    """Load a class of checks, and keep it."""
    if name not in _NEED_PYTEST:
        raise AttributeError(f"module 'agentfp.testing' has no attribute {name!r}")
    value = getattr(import_module(f"agentfp_core.testing.conformance.{_NEED_PYTEST[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """The public names."""
    return sorted(__all__)
