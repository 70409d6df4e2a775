"""Which conversations are live and which pauses are used up: what one agent, or several processes, must agree on."""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import Protocol

from agentfp_core.errors import PauseConsumedError, RunInFlightError


class ConversationIndex(Protocol):
    """Guards against two live runs of one conversation and against answering a pause twice.

    The default is a ``MemoryIndex`` of the agent alone. Share one between agents to hold the guard over all of them, and give
    them one over a store of yours to hold it across processes.
    """

    def begin(self, root_id: str, run_id: str, agent_id: str) -> None:
        """A run of a conversation begins.

        Args:
            root_id: the conversation.
            run_id: the run.
            agent_id: whose run it is.

        Raises:
            RunInFlightError: another one is live.
        """

    def end(self, root_id: str, run_id: str) -> None:
        """The run is over.

        Args:
            root_id: the conversation.
            run_id: the run.
        """

    def consume(self, pause_id: str) -> None:
        """A pause is about to be resumed.

        Raises:
            PauseConsumedError: it was before.
        """

    def release(self, pause_id: str) -> None:
        """The resume came to nothing; the pause can be resumed again."""

    def is_consumed(self, pause_id: str) -> bool:
        """Whether the pause was resumed or dropped."""


class MemoryIndex:
    """The index of one process: bounded, the oldest entries are forgotten.

    Args:
        size: conversations and pauses to remember.
    """

    def __init__(self, size: int = 1024) -> None:
        self._size = size
        self._live: dict[str, str] = {}
        self._consumed: OrderedDict[str, None] = OrderedDict()
        self._lock = threading.Lock()

    def begin(self, root_id: str, run_id: str, agent_id: str) -> None:
        """See :class:`ConversationIndex`."""
        with self._lock:
            active = self._live.get(root_id)
            if active is not None:
                raise RunInFlightError(agent_id, active)
            self._live[root_id] = run_id

    def end(self, root_id: str, run_id: str) -> None:
        """See :class:`ConversationIndex`."""
        with self._lock:
            if self._live.get(root_id) == run_id:
                del self._live[root_id]

    def consume(self, pause_id: str) -> None:
        """See :class:`ConversationIndex`."""
        with self._lock:
            if pause_id in self._consumed:
                raise PauseConsumedError(pause_id)
            self._consumed[pause_id] = None
            while len(self._consumed) > self._size:
                self._consumed.popitem(last=False)

    def release(self, pause_id: str) -> None:
        """See :class:`ConversationIndex`."""
        with self._lock:
            self._consumed.pop(pause_id, None)

    def is_consumed(self, pause_id: str) -> bool:
        """See :class:`ConversationIndex`."""
        with self._lock:
            return pause_id in self._consumed
