"""Builds one transcript, message by message: ids made unique, results joined to their calls, problems noted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, Literal

from agentfp.plugin import Message, ToolCall, ToolSpec
from agentfp.transcripts import Transcript
from agentfp_transcripts.content import as_text, clean_text, json_text

_AUTHORS = {"system": "app", "user": "person", "assistant": "model", "tool": "tool"}


class Builder:
    """Collects the messages of one transcript.

    Args:
        id: what to call it when its data has no name.
        format: name of the reader.
        source: where the data stands.
    """

    def __init__(self, id: str, *, format: str, source: str) -> None:
        self.id = id
        self.problems: list[str] = []
        self._format = format
        self._source = source
        self._messages: list[Message] = []
        self._ids: set[str] = set()
        self._failed: set[str] = set()
        self._tools: dict[str, ToolSpec] = {}
        self._called: dict[str, str] = {}
        self._skipped: Counter[str] = Counter()
        self._turn = 0

    def __len__(self) -> int:
        return len(self._messages)

    @property
    def answered(self) -> set[str]:
        """Ids of the calls that have a result."""
        return {m.tool_call_id for m in self._messages if m.role == "tool" and m.tool_call_id}

    def add(
        self,
        role: Literal["system", "user", "assistant", "tool"],
        text: str,
        *,
        id: Any = None,
        calls: Iterable[ToolCall] = (),
        call_id: str | None = None,
        tool: str | None = None,
        failed: bool = False,
        author: str | None = None,
    ) -> None:
        """Add a message.

        Args:
            role: who speaks.
            text: what it says.
            id: its own id, where the data has one.
            calls: tools that it calls.
            call_id: the call that it is the result of.
            tool: the tool's name; found by the call when None.
            failed: whether the tool reported a failure.
            author: who wrote it, where the role does not tell.
        """
        if role == "user" and author is None:
            self._turn += 1
        made = tuple(calls)
        for call in made:
            self._called[call.id] = call.name
        if role == "tool" and tool is None and call_id is not None:
            tool = self._called.get(call_id)
        own = self._own_id(id)
        if failed:
            self._failed.add(own)
        self._messages.append(
            Message(
                id=own,
                role=role,
                content=clean_text(text),
                turn=self._turn,
                author=author or _AUTHORS[role],
                tool_calls=made,
                tool_call_id=call_id,
                tool_name=tool,
            )
        )

    def unreadable(self, what: str) -> None:
        """Note a message that cannot be read; an empty one keeps its place, so that later ones keep their numbers.

        Args:
            what: what is wrong with it, as the end of a sentence that begins with its number.
        """
        self.problems.append(f"message {len(self)} {what}")
        self.add("system", "")

    def skipped(self, kind: str) -> None:
        """Count a part that no text can be made of, such as an image."""
        self._skipped[kind] += 1

    def offer(self, tools: Any) -> None:
        """Note the tools that the model was offered, in any vendor's form; odd ones are passed over."""
        for tool in tools if isinstance(tools, list) else ():
            if not isinstance(tool, Mapping):
                continue
            inner = tool.get("function") if isinstance(tool.get("function"), Mapping) else tool
            assert isinstance(inner, Mapping)
            name = inner.get("name")
            if not isinstance(name, str) or not name:
                continue
            schema = inner.get("parameters", inner.get("input_schema", inner.get("inputSchema", inner.get("parameters_json_schema"))))
            schema = schema if isinstance(schema, Mapping) else {"type": "object"}
            self._tools[name] = ToolSpec(name, clean_text(as_text(inner.get("description"))), json_text(schema))

    def fail(self, call_ids: Iterable[str]) -> None:
        """Mark the results of some calls as failures."""
        wanted = set(call_ids)
        self._failed.update(m.id for m in self._messages if m.role == "tool" and m.tool_call_id in wanted)

    def build(self) -> Transcript:
        """The transcript."""
        problems = list(self.problems)
        for kind, count in self._skipped.items():
            problems.append(f"{count} part{'s' if count > 1 else ''} of type {kind!r} cannot be read as text")
        return Transcript(
            id=clean_text(self.id),
            messages=tuple(self._messages),
            tools=tuple(self._tools.values()),
            failed=frozenset(self._failed),
            format=self._format,
            source=self._source,
            problems=tuple(problems),
        )

    def _own_id(self, id: Any) -> str:
        wanted = clean_text(id) if isinstance(id, str) and id else f"m{len(self._messages)}"
        own, count = wanted, 1
        while own in self._ids:
            count += 1
            own = f"{wanted}#{count}"
        self._ids.add(own)
        return own


def call(name: Any, arguments: Any, id: Any) -> ToolCall:
    """A tool call of whatever stands in the data.

    Args:
        name: the tool's name.
        arguments: an object, JSON text, or anything.
        id: the call's id.
    """
    if arguments is not None and not isinstance(arguments, (str, Mapping)):
        arguments = json_text(arguments)
    wanted, own = clean_text(as_text(name)), clean_text(as_text(id))
    try:
        return ToolCall.make(wanted, arguments, id=own)
    except (ValueError, TypeError, RecursionError):  # arguments that no canonical text can be made of
        return ToolCall(own, wanted, clean_text(as_text(arguments)))
