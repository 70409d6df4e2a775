"""Reads items of OpenAI's Responses API: a request's input, a response's output, both, or a list of items."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from agentfp.plugin import ToolCall
from agentfp.transcripts import Transcript, TranscriptError
from agentfp_transcripts.building import Builder, call
from agentfp_transcripts.content import as_text, items, json_text, mapping, name_of, result_text, text_of

_CALLS = {"function_call": "arguments", "custom_tool_call": "input", "local_shell_call": "action", "shell_call": "action",
          "computer_call": "action", "apply_patch_call": "operation"}  # fmt: skip
"""Calls that the application answers, and the field that holds the arguments."""
_RESULTS = frozenset(f"{kind}_output" for kind in _CALLS)
_HOSTED = {"file_search_call": "results", "code_interpreter_call": "outputs", "mcp_call": "output"}
"""Calls that the vendor answers, and the field that holds the result."""
_UNTOLD = frozenset({"web_search_call", "image_generation_call"})
"""Calls that the vendor answers, whose results the items do not hold."""
_QUIET = frozenset({"reasoning", "item_reference", "mcp_list_tools", "mcp_approval_request", "mcp_approval_response", "compaction"})
_SURE = frozenset({*_CALLS, *_RESULTS, *_HOSTED, *_UNTOLD, "item_reference", "mcp_list_tools"})
_SURE_PARTS = frozenset({"input_text", "output_text"})


def _is_item(data: Any) -> bool:
    if not isinstance(data, Mapping):
        return False
    if data.get("type") in _SURE:
        return True
    return any(isinstance(p, Mapping) and p.get("type") in _SURE_PARTS for p in items(data.get("content")))


def _lists(data: Any) -> tuple[Any, list[Any]] | None:
    """Input and output of whatever holds them."""
    if isinstance(data, list):
        return data, []
    if not isinstance(data, Mapping):
        return None
    request, response = mapping(data.get("request")), mapping(data.get("response"))
    request = mapping(request.get("body")) or request
    response = mapping(response.get("body")) or response
    given = next((part["input"] for part in (data, request, response) if isinstance(part.get("input"), (str, list))), None)
    made: list[Any] = next((part["output"] for part in (data, response) if isinstance(part.get("output"), list)), [])
    if given is None and not made:
        for key in ("items", "data"):
            if isinstance(data.get(key), list):
                return data[key], []
        return None
    return given or [], list(made)


class OpenAIResponsesReader:
    """Items with ``type``: messages, ``function_call`` and ``function_call_output``, and the vendor's own tools."""

    name = "openai-responses"

    def recognises(self, data: Any) -> bool:
        """Whether an item is of a type that this API alone has."""
        found = _lists(data)
        if found is None:
            return False
        given, made = found
        if isinstance(data, Mapping) and data.get("object") == "response":
            return True
        return any(map(_is_item, items(given)[:50])) or any(map(_is_item, made[:50]))

    def read(self, data: Any, *, id: str, source: str) -> Sequence[Transcript]:
        """The one transcript."""
        found = _lists(data)
        if found is None:
            raise TranscriptError(f"{source}: there is no list of items; they are looked for under 'input' and 'output'")
        given, made = found
        whole = mapping(data)
        parts = (whole, mapping(whole.get("request")), mapping(whole.get("response")))
        building = Builder(name_of(whole, "id", "conversation_id") or id, format=self.name, source=source)
        for part in parts:
            building.offer(part.get("tools"))
        if instructions := next((p["instructions"] for p in parts if p.get("instructions")), None):
            building.add("system", text_of(instructions))
        if any(isinstance(p.get("previous_response_id"), str) for p in parts):
            building.problems.append("it goes on from another response (previous_response_id), whose items are not here")
        reading = _Reading(building)
        for item in ([{"role": "user", "content": given}] if isinstance(given, str) else given) + made:
            reading.take(item)
        reading.end_calls()
        return [building.build()]


class _Reading:
    """Takes item by item; calls that stand in a row are of one message."""

    def __init__(self, building: Builder) -> None:
        self._building = building
        self._calls: list[ToolCall] = []

    def take(self, item: Any) -> None:
        building = self._building
        if not isinstance(item, Mapping):
            self.end_calls()
            building.unreadable(f"is no object, but a {type(item).__name__}")
            return
        kind = item.get("type", "message")
        if kind in _CALLS:
            self._calls.append(call(item.get("name", kind), item.get(_CALLS[kind]), item.get("call_id", item.get("id"))))
            return
        if kind in _QUIET:
            return
        self.end_calls()
        if kind in _RESULTS:
            failed = item.get("status") in ("failed", "incomplete") or item.get("is_error") is True
            building.add(
                "tool", result_text(item.get("output"), building.skipped), call_id=as_text(item.get("call_id")) or None, failed=failed
            )
        elif kind in _HOSTED:
            self._hosted(kind, item)
        elif kind in _UNTOLD:
            building.skipped(kind)
        elif item.get("role") in ("system", "developer"):
            building.add("system", text_of(item.get("content"), building.skipped))
        elif item.get("role") == "user":
            building.add("user", text_of(item.get("content"), building.skipped))
        elif item.get("role") == "assistant":
            building.add("assistant", text_of(item.get("content"), building.skipped, join=""), id=item.get("id"))
        elif "role" in item or not isinstance(kind, str):
            building.unreadable("has a role that this format does not know")
        else:
            building.skipped(kind)

    def _hosted(self, kind: str, item: Mapping[str, Any]) -> None:
        """A call and its result in one item."""
        building, own, result = self._building, as_text(item.get("id")), item.get(_HOSTED[kind])
        arguments = item.get("arguments", item.get("code", {"queries": item["queries"]} if "queries" in item else None))
        building.add("assistant", "", calls=[call(item.get("name", kind.removesuffix("_call")), arguments, own)])
        if item.get("error"):
            building.add("tool", as_text(item["error"]), call_id=own, failed=True)
        elif result is None:
            building.problems.append(f"the result of a {kind} is not in the export")
        else:
            building.add("tool", result if isinstance(result, str) else json_text(result), call_id=own)

    def end_calls(self) -> None:
        """Make a message of the calls that were taken."""
        if self._calls:
            self._building.add("assistant", "", calls=self._calls)
            self._calls = []
