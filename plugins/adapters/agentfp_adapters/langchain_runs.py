"""The state of runs of LangGraph that go on: found by where a call happens, completed and let go when their run is over."""

from __future__ import annotations

import sys
import threading
import weakref
from asyncio import CancelledError
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from langchain_core.runnables.config import var_child_runnable_config
from langgraph.errors import GraphBubbleUp, GraphInterrupt
from langgraph.runtime import get_runtime

from agentfp_adapters.policy import GatePolicy
from agentfp_adapters.session import GateSession

_MAX_RUNS = 10_000


@dataclass(frozen=True, slots=True)
class _Run:
    """A run.

    Args:
        control: the object that LangGraph makes for it, and holds as long as it goes on.
        session: its state.
    """

    control: Any
    session: GateSession

    @property
    def references(self) -> int:
        """How many hold the control."""
        return sys.getrefcount(self.control)


class Runs:
    """The states of the runs of one middleware.

    LangGraph tells a middleware nothing of a run's end. One that ends in a model or a tool call is seen to end there. Of others the
    recording is completed when nothing but this holds the run any more: when the next run begins, or when the process ends.

    Args:
        policy: the settings.
    """

    def __init__(self, policy: GatePolicy) -> None:
        self._policy = policy
        self._lock = threading.Lock()
        self._open: dict[tuple[int, str], _Run] = {}
        weakref.finalize(self, _complete, self._open)

    def here(self) -> GateSession:
        """The state of the run that goes on here; agents in subgraphs have one of their own."""
        config = var_child_runnable_config.get() or {}
        place = str((config.get("metadata") or {}).get("langgraph_checkpoint_ns", "")).rpartition("|")[0]
        control = get_runtime().control
        key = (id(control), place)
        with self._lock:
            run = self._open.get(key)
            if run is None:
                over = [key for key, run in self._open.items() if run.references <= _NONE_BUT_OURS]
                over = over or list(self._open)[: len(self._open) - _MAX_RUNS + 1]
                ended = [self._open.pop(key) for key in over]
                run = self._open[key] = _Run(control, GateSession(self._policy, framework="langchain", agent=agent_name() or "agent"))
            else:
                ended = []
        for one in ended:
            one.session.finish("stopped_early")
        return run.session

    @contextmanager
    def watched(self, session: GateSession) -> Iterator[None]:
        """Complete the recording of a run that ends within."""
        try:
            yield
        except GraphInterrupt:
            session.finish("paused")
            raise
        except GraphBubbleUp:
            raise
        except (CancelledError, GeneratorExit):
            session.finish("cancelled")
            raise
        except BaseException:
            session.finish("failed")  # nothing more is done for a run that was refused
            raise


_NONE_BUT_OURS = _Run(object(), None).references  # type: ignore[arg-type]


def _complete(runs: dict[Any, _Run]) -> None:
    for run in runs.values():
        run.session.finish("stopped_early")
    runs.clear()


def agent_name() -> str:
    """The name of the agent that goes on here."""
    config = var_child_runnable_config.get() or {}
    return str((config.get("metadata") or {}).get("lc_agent_name") or "")
