"""The calls of one reply, as hooks see them: each call, its result, and the batch they form."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from agentfp_core import jsontext
from agentfp_core.errors import UsageError
from agentfp_core.messages import Part, ToolCall

if TYPE_CHECKING:
    from agentfp_core.events.tool import Outcome, ToolEnded
    from agentfp_core.plugins import Plugin
    from agentfp_core.tools import Tool


class CallView:
    """One proposed call.

    Attributes:
        id: its id.
        name: the tool's name as the model wrote it.
        tool: the tool; None when there is none of that name.
        index: its place in the batch, from 0.
        proposed: the call as the model proposed it.
        outcome: how it ended; None while it is live.
    """

    __slots__ = (
        "_answers",
        "_screening",
        "approved",
        "arguments_json",
        "id",
        "index",
        "kwargs",
        "name",
        "outcome",
        "proposed",
        "tool",
        "why",
    )

    def __init__(self, proposed: ToolCall, index: int, tool: Tool | None) -> None:
        self.id = proposed.id
        self.name = proposed.name
        self.proposed = proposed
        self.index = index
        self.tool = tool
        self.outcome: Outcome | None = None
        self.arguments_json = proposed.arguments_json
        self.kwargs: Mapping[str, Any] | None = None
        self.approved = False
        self.why: str | None = None
        self._screening = False
        self._answers: dict[str, dict[str, Any]] = {}

    def answers(self, plugin: Plugin | str) -> Mapping[str, Any]:
        """On a resume, what a person answered about this call to a plugin, by the plugin's own field keys; else empty.

        An optional question that was left open has no key here; :meth:`asked` tells it from one that was not asked.

        Args:
            plugin: the plugin or its name.
        """
        return self._answers.get(plugin if isinstance(plugin, str) else plugin.name, {})

    def asked(self, plugin: Plugin | str) -> bool:
        """Whether a person has been asked about this call by a plugin, and the run goes on with what they answered.

        Args:
            plugin: the plugin or its name.
        """
        return (plugin if isinstance(plugin, str) else plugin.name) in self._answers

    @property
    def live(self) -> bool:
        """Whether the call can still run."""
        return self.outcome is None

    @property
    def arguments(self) -> dict[str, Any]:
        """The arguments as they would be run now, parsed anew for each reader; ``{}`` when they are no JSON object."""
        if self._screening:
            raise UsageError("arguments cannot be read in phase 'screen'; decide over them in phase 'authorize'")
        try:
            value = jsontext.parse(self.arguments_json)
        except ValueError:
            return {}
        return value if isinstance(value, dict) else {}

    @property
    def mutating(self) -> bool:
        """Whether the tool says that it changes something."""
        return self.tool is not None and self.tool.mutating

    def __repr__(self) -> str:
        return f"CallView({self.id!r}, {self.name!r}, outcome={self.outcome!r})"


class ResultView:
    """What a call ended with, as ``after_result`` sees and shapes it.

    Attributes:
        call_id: the call.
        real: the tool's own result as text; what is on the record.
        content: what the model will read of it, notes apart.
        notes: sentences added so far.
        outcome: how the call ended.
        ran: whether the tool's code ran.
        value: what the tool returned; None after a resume and for calls that did not run.
        parts: images and documents.
        error_class: class name of the exception of a failed call.
    """

    __slots__ = ("call_id", "content", "error_class", "notes", "outcome", "parts", "ran", "real", "seq", "value", "withheld")

    def __init__(self, call_id: str, seq: int, ended: ToolEnded, value: Any, parts: tuple[Part, ...]) -> None:
        self.call_id = call_id
        self.seq = seq
        self.real = ended.content
        self.content = ended.content
        self.notes: tuple[str, ...] = ()
        self.outcome = ended.outcome
        self.ran = ended.ran
        self.value = value
        self.parts = parts
        self.error_class = ended.error_class
        self.withheld = False

    def __repr__(self) -> str:
        return f"ResultView({self.call_id!r}, {self.outcome!r})"


class Batch:
    """All calls of one reply.

    Attributes:
        calls: in the model's order.
        results: by call id, once there are any (in ``after_result``).
        answers: on a resume, for each plugin that asked: its own field keys with a person's answers. A hook that is called
            once a call reads ``call.answers(self)``, where answers about other calls do not stand in its way.
    """

    __slots__ = ("_by_id", "answers", "calls", "halt", "results", "values")

    def __init__(self, calls: tuple[CallView, ...]) -> None:
        self.calls = calls
        self.results: dict[str, ResultView] = {}
        self.answers: dict[str, dict[str, Any]] = {}
        self.values: dict[str, Any] = {}
        self.halt: tuple[str, str, str | None, str] | None = None
        self._by_id = {call.id: call for call in calls}

    @property
    def live(self) -> tuple[CallView, ...]:
        """The calls that can still run."""
        return tuple([call for call in self.calls if call.outcome is None])

    @property
    def any_live(self) -> bool:
        """Whether any call can still run."""
        for call in self.calls:  # noqa: SIM110 - asked at every phase; a generator would cost more than the loop
            if call.outcome is None:
                return True
        return False

    def __getitem__(self, call_id: str) -> CallView:
        return self._by_id[call_id]

    def get(self, call_id: str) -> CallView | None:
        """The call with this id, or None."""
        return self._by_id.get(call_id)

    def __len__(self) -> int:
        return len(self.calls)
