"""The state of runs of the OpenAI Agents SDK, found by the object that stands for a run there; and what is known of its output items."""

from __future__ import annotations

import asyncio
import sys
import weakref
from typing import Any, Literal

from agents.models._run_context import get_model_run_owner  # the SDK has no other name for the run that a model serves

from agentfp_adapters.policy import GatePolicy
from agentfp_adapters.session import GateSession
from agentfp_evidence import EvidenceReport


class _Items:
    """What is known of output items of this process, for as long as they live."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[weakref.ref[Any], Any]] = {}

    def __getitem__(self, item: Any) -> Any:
        reference, value = self._known.get(id(item), (None, None))
        return value if reference is not None and reference() is item else None

    def __setitem__(self, item: Any, value: Any) -> None:
        key = id(item)
        self._known[key] = (weakref.ref(item, lambda _: self._known.pop(key, None)), value)


class Gate:
    """What all models of one agent, and of those it hands off to, share."""

    def __init__(self, policy: GatePolicy) -> None:
        self.policy = policy
        self._sessions: weakref.WeakKeyDictionary[Any, GateSession] = weakref.WeakKeyDictionary()
        self.calls = _Items()
        self.answers = _Items()

    def session(self, agent: str, model: str) -> GateSession:
        """The state of the run that is going on; of a call outside of any run, a new one."""
        owner = get_model_run_owner()
        session = self._sessions.get(owner) if owner is not None else None
        if session is None:
            session = GateSession(self.policy, framework="openai-agents", agent=agent, model=model)
            if owner is not None:
                self._sessions[owner] = session
        return session

    def end(self, owner: object) -> None:
        """The run of a model is over."""
        session = self._sessions.pop(owner, None)
        if session is not None:
            session.finish(_status(session))

    def report_of(self, result: Any) -> EvidenceReport | None:
        """The report on the last answer of a result."""
        for response in reversed(result.raw_responses):
            for item in reversed(response.output):
                report = self.answers[item]
                if report is not None:
                    return report  # type: ignore[no-any-return]
        return None


def _status(session: GateSession) -> Literal["answered", "paused", "failed", "cancelled"]:
    """How the run ends that is cleaned up: the SDK does so while the error passes that ends it, if one does."""
    error = sys.exc_info()[1]
    if isinstance(error, (asyncio.CancelledError, GeneratorExit)):
        return "cancelled"
    if error is not None:
        return "failed"
    return "paused" if session.waiting else "answered"
