"""The calls of one reply, as hooks see them: each call, its result, and the batch they form."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NoReturn

from agentfp_core import jsontext
from agentfp_core.errors import UsageError
from agentfp_core.messages import Part, ToolCall

if TYPE_CHECKING:
    from agentfp_core.events.tool import Outcome, ToolEnded
    from agentfp_core.plugins import Plugin
    from agentfp_core.tools import Tool

put = object.__setattr__
"""Sets a field of a view; for the kernel."""
_NO_ANSWERS: Mapping[str, Mapping[str, Any]] = MappingProxyType({})
_NO_VALUES: Mapping[str, Any] = MappingProxyType({})


class View:
    """Something of the run that hooks read. What they want changed they answer with a verdict, which is on the record."""

    __slots__ = ()

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"{type(self).__name__}.{name} cannot be set by a hook; answer with a verdict")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"{type(self).__name__}.{name} cannot be removed by a hook; answer with a verdict")


class CallView(View):
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
        "_kwargs",
        "_screening",
        "_values",
        "approved",
        "arguments_json",
        "id",
        "index",
        "name",
        "outcome",
        "proposed",
        "tool",
    )
    id: str
    name: str
    proposed: ToolCall
    index: int
    tool: Tool | None
    outcome: Outcome | None
    arguments_json: str
    approved: bool
    _kwargs: Mapping[str, Any] | None
    _screening: bool
    _values: Mapping[str, Any]
    _answers: dict[str, Mapping[str, Any]]

    def __init__(self, proposed: ToolCall, index: int, tool: Tool | None) -> None:
        put(self, "id", proposed.id)
        put(self, "name", proposed.name)
        put(self, "proposed", proposed)
        put(self, "index", index)
        put(self, "tool", tool)
        put(self, "outcome", None)
        put(self, "arguments_json", proposed.arguments_json)
        put(self, "approved", False)
        put(self, "_kwargs", None)
        put(self, "_screening", False)
        put(self, "_values", _NO_VALUES)
        put(self, "_answers", {})

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

    # --- for the kernel ---

    def _end(self, outcome: Outcome) -> None:
        put(self, "outcome", outcome)

    def _rewrite(self, arguments_json: str) -> None:
        put(self, "arguments_json", arguments_json)

    def _bind(self, kwargs: Mapping[str, Any]) -> None:
        put(self, "_kwargs", kwargs)

    def _put_in(self, values: Mapping[str, Any]) -> None:
        put(self, "_values", {**self._values, **values})

    def _approve(self) -> None:
        put(self, "approved", True)

    def _screen(self, *, on: bool) -> None:
        put(self, "_screening", on)

    def __repr__(self) -> str:
        return f"CallView({self.id!r}, {self.name!r}, outcome={self.outcome!r})"


class ResultView(View):
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
    call_id: str
    seq: int
    real: str
    content: str
    notes: tuple[str, ...]
    outcome: Outcome
    ran: bool
    value: Any
    parts: tuple[Part, ...]
    error_class: str | None
    withheld: bool

    def __init__(self, call_id: str, seq: int, ended: ToolEnded, value: Any, parts: tuple[Part, ...]) -> None:
        put(self, "call_id", call_id)
        put(self, "seq", seq)
        put(self, "real", ended.content)
        put(self, "content", ended.content)
        put(self, "notes", ())
        put(self, "outcome", ended.outcome)
        put(self, "ran", ended.ran)
        put(self, "value", value)
        put(self, "parts", parts)
        put(self, "error_class", ended.error_class)
        put(self, "withheld", False)

    # --- for the kernel ---

    def _replace(self, content: str) -> None:
        put(self, "content", content)

    def _note(self, text: str) -> None:
        put(self, "notes", (*self.notes, text))

    def _withhold(self, text: str) -> None:
        put(self, "withheld", True)
        put(self, "content", text)
        put(self, "parts", ())

    def __repr__(self) -> str:
        return f"ResultView({self.call_id!r}, {self.outcome!r})"


class Batch(View):
    """All calls of one reply.

    Attributes:
        calls: in the model's order.
        results: by call id, once there are any (in ``after_result``).
        answers: on a resume, for each plugin that asked: its own field keys with a person's answers. A hook that is called
            once a call reads ``call.answers(self)``, where answers about other calls do not stand in its way.
    """

    __slots__ = ("_by_id", "_results", "_values", "answers", "calls", "halt", "results")
    calls: tuple[CallView, ...]
    results: Mapping[str, ResultView]
    answers: Mapping[str, Mapping[str, Any]]
    halt: tuple[str, str, str | None, str] | None
    _by_id: dict[str, CallView]
    _results: dict[str, ResultView]
    _values: dict[str, Any]

    def __init__(self, calls: tuple[CallView, ...]) -> None:
        results: dict[str, ResultView] = {}
        put(self, "calls", calls)
        put(self, "results", MappingProxyType(results))
        put(self, "answers", _NO_ANSWERS)
        put(self, "halt", None)
        put(self, "_by_id", {call.id: call for call in calls})
        put(self, "_results", results)
        put(self, "_values", {})

    # --- for the kernel ---

    def _answered(self, answers: Mapping[str, Mapping[str, Any]]) -> None:
        put(self, "answers", MappingProxyType({plugin: MappingProxyType(dict(given)) for plugin, given in answers.items()}))

    def _stop(self, call_id: str, reason: str, tell_model: str | None, plugin: str) -> None:
        put(self, "halt", (call_id, reason, tell_model, plugin))

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
