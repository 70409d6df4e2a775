"""The names for people who test their agents, plugins and providers. pytest finds the fixtures by itself."""

from agentfp_core.clock import CountingIds, StepClock
from agentfp_core.testing.called import Called, assert_called, assert_not_called, calls_of
from agentfp_core.testing.check import PluginCheckError, check_plugin
from agentfp_core.testing.harness import Harness, Outcome
from agentfp_core.testing.installed import PluginDist
from agentfp_core.testing.overriding import override
from agentfp_core.testing.real_models import RealModelRefusedError, StandInsOnly
from agentfp_core.testing.records import assert_record_valid, assert_same_events
from agentfp_core.testing.scripted import AutoModel, ScriptedModel, ScriptExhaustedError, call, example
from agentfp_core.testing.subject import CheckReport
from agentfp_core.testing.watch import HookCall

__all__ = [
    "AutoModel",
    "Called",
    "CheckReport",
    "CountingIds",
    "Harness",
    "HookCall",
    "Outcome",
    "PluginCheckError",
    "PluginDist",
    "RealModelRefusedError",
    "ScriptExhaustedError",
    "ScriptedModel",
    "StandInsOnly",
    "StepClock",
    "assert_called",
    "assert_not_called",
    "assert_record_valid",
    "assert_same_events",
    "call",
    "calls_of",
    "check_plugin",
    "example",
    "override",
]
