"""One call of a client: a run of the agent, its questions put to the client's person, its result as blocks. Errors stay tool errors."""

from __future__ import annotations

import base64
import json
import logging
import re
import secrets
import time
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import anyio
import mcp.types as wire

from agentfp import AgentfpError, ImagePart, Pause, approve, reject
from agentfp_mcp.offering import OneCall

if TYPE_CHECKING:
    from mcp.server.context import ServerRequestContext

    from agentfp import Identity, Message, Question, RunResult
    from agentfp_mcp.offering import Offer

MAX_ROUNDS = 10
MAX_WAITING = 256
WAIT_SECONDS = 600.0
"""How long a question waits for its answer on the newer protocol, where the client calls again with it."""
REPORT_SECONDS = 1.0
"""How long reports of progress may hold up the result."""
_log = logging.getLogger("agentfp.mcp")

INTERNAL = "The tool failed with an internal error. Do not take it that it did what it was asked to do."
_NO_VALUE = "(no value returned)"
_NAME_OF_PART = re.compile(r"\[(image|document)\b[^\n]*\]")


@dataclass(frozen=True, slots=True)
class _Waiting:
    pause: Pause
    key: str
    until: float


class Caller:
    """Runs the calls of clients.

    Args:
        deps: what tools get as ``deps``.
        elicit: whether the client's person may be asked.
    """

    def __init__(self, deps: Any, *, elicit: bool) -> None:
        self._deps = deps
        self._elicit = elicit
        self._waiting: OrderedDict[str, _Waiting] = OrderedDict()

    async def call(
        self, offer: Offer, params: wire.CallToolRequestParams, context: ServerRequestContext[Any, Any], identity: Identity | None
    ) -> wire.CallToolResult | wire.InputRequiredResult:
        """Run one call. Never raises but for a cancellation.

        Args:
            offer: what is called.
            params: what the client sent.
            context: its request.
            identity: who the client is, where that was verified.
        """
        send, receive = anyio.create_memory_object_stream[Any](100)
        answer: wire.CallToolResult | wire.InputRequiredResult = _failed(INTERNAL)
        with send, receive:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(_report, receive, context)
                try:
                    answer = await self._call(offer, params, context, identity, _Progress(send))
                except AgentfpError as error:
                    _log.warning("mcp: a call of %r failed", offer.spec.name, exc_info=error)
                except Exception as error:  # a fault here must not end the server
                    _log.error("mcp: a call of %r failed", offer.spec.name, exc_info=error)
                send.close()
                tasks.cancel_scope.deadline = anyio.current_time() + REPORT_SECONDS
        return answer

    async def _call(
        self, offer: Offer, params: wire.CallToolRequestParams, context: Any, identity: Identity | None, progress: Any
    ) -> wire.CallToolResult | wire.InputRequiredResult:
        arguments = params.arguments or {}
        model: Any = None
        message: Any = arguments.get("message")
        if offer.tool is not None:
            model, message = OneCall(offer.tool, arguments), f"Call the tool {offer.tool}."
        elif not isinstance(message, str) or not message.strip() or set(arguments) != {"message"}:
            return _failed("'message': expected a text, and nothing else")
        options: dict[str, Any] = {"deps": self._deps, "on_event": {"agentfp.tool.progress": progress}, "model": model}
        key = f"{offer.spec.name} {identity!r}"
        waiting = self._taken(params.request_state, key)
        if params.request_state is not None:
            if waiting is None:
                return _failed("The question that this answers is not open any more; call again.")
            result = await self._resumed(offer, waiting.pause, _given(params.input_responses), options)
        else:
            result = await offer.agent.run(message, identity=identity, **options)
        for _ in range(MAX_ROUNDS):
            if isinstance(result, str):
                return _failed(result)
            if result.pause is None:
                return _answer(offer, result)
            if not self._can_ask(context):
                offer.agent.abandon(result.pause)
                return _failed("This needs a person to decide or answer, and nobody can be asked here.")
            form = _form(result.pause)
            if context.protocol_version >= "2026-07-28":
                state = self._keep(result.pause, key)
                request = wire.ElicitRequest(params=wire.ElicitRequestFormParams(**form))
                return wire.InputRequiredResult(input_requests={"answers": request}, request_state=state)
            said = await context.session.elicit_form(**form, related_request_id=context.request_id)
            result = await self._resumed(offer, result.pause, said, options)
        return _failed("It asked too often.")

    async def _resumed(self, offer: Offer, pause: Pause, said: Any, options: Mapping[str, Any]) -> RunResult[Any] | str:
        """Go on with what the person said; words for the client where they said nothing of use."""
        answers = _answers(pause, said)
        if isinstance(answers, str):
            offer.agent.abandon(pause)
            return answers
        try:
            return await offer.agent.resume(pause, answers, **options)
        except AgentfpError as error:
            _log.warning("mcp: an answer to %r is of no use", offer.spec.name, exc_info=error)
            offer.agent.abandon(pause)
            return "The answer does not fit what was asked; call again."

    def _can_ask(self, context: Any) -> bool:
        capabilities = context.session.client_capabilities
        elicitation = None if capabilities is None else capabilities.elicitation
        return self._elicit and elicitation is not None and (elicitation.form is not None or elicitation.url is None)

    def _keep(self, pause: Pause, key: str) -> str:
        """A pause stays here, for it holds the conversation; the client is given a name for it."""
        now = time.monotonic()
        for name in [name for name, waiting in self._waiting.items() if waiting.until < now]:
            del self._waiting[name]
        while len(self._waiting) >= MAX_WAITING:
            self._waiting.popitem(last=False)
        name = secrets.token_urlsafe(24)
        self._waiting[name] = _Waiting(pause, key, now + WAIT_SECONDS)
        return name

    def _taken(self, name: str | None, key: str) -> _Waiting | None:
        found = None if name is None else self._waiting.get(name)
        if name is None or found is None or found.key != key:
            return None
        del self._waiting[name]
        return found if found.until >= time.monotonic() else None


# --- progress -------------------------------------------------------------------------------------------------------------


class _Progress:
    """Takes a run's reports of progress to the task that tells the client of them; what it cannot take is dropped."""

    def __init__(self, send: Any) -> None:
        self._send = send

    def __call__(self, event: Any) -> None:
        try:
            self._send.send_nowait(event.payload.data)
        except (anyio.WouldBlock, anyio.ClosedResourceError, anyio.BrokenResourceError):
            return


async def _report(receive: Any, context: Any) -> None:
    count = 0.0
    async for text in receive:
        try:
            data = json.loads(text)
        except ValueError:
            data = None
        done, total, message = None, None, text
        if isinstance(data, dict) and isinstance(data.get("progress"), (int, float)):
            done, total, message = data["progress"], data.get("total"), data.get("message")
        count = max(count + (done is None), float(done or 0.0))
        total = total if isinstance(total, (int, float)) else None
        await context.session.report_progress(count, total, message if isinstance(message, str) else None)


# --- questions ------------------------------------------------------------------------------------------------------------


def _form(pause: Pause) -> dict[str, Any]:
    """The open questions as one form."""
    names = _names(pause)
    lines = [question.prompt + _about(question) for question in pause.questions]
    properties = {name: {**_field(question), "title": question.prompt[:200]} for name, question in names.items()}
    required = [name for name, question in names.items() if question.required]
    return {"message": "\n".join(lines), "requested_schema": {"type": "object", "properties": properties, "required": required}}


def _names(pause: Pause) -> dict[str, Question]:
    """The questions by the names of their fields: the asker's own where they differ."""
    keys = [question.key for question in pause.questions]
    plain = len(set(keys)) == len(keys) and all(key.isidentifier() for key in keys)
    return {key if plain else f"q{index}": question for index, (key, question) in enumerate(zip(keys, pause.questions, strict=True), 1)}


def _about(question: Question) -> str:
    """With what a call would run; what is hidden in its approval is hidden here."""
    will_do = question.context.get("will_do") if isinstance(question.context, Mapping) else None
    shown = will_do.get("arguments") if isinstance(will_do, Mapping) else None
    if question.kind != "decision" or not isinstance(shown, Mapping):
        return ""
    return f" {question.tool}({', '.join(f'{name}={value}' for name, value in shown.items())})"


def _field(question: Question) -> dict[str, Any]:
    """A question as the flat field that a form may have; what is no such field is asked as text."""
    if question.kind in ("decision", "acknowledge"):
        return {"type": "boolean"}
    schema = dict(question.schema or {})
    options = schema.get("enum")
    if isinstance(options, list) and options and all(isinstance(option, str) for option in options):
        return {"type": "string", "enum": options, **_kept(schema, "default", "description", "enumNames")}
    titled = schema.get("oneOf")
    if isinstance(titled, list) and titled and all(isinstance(item, Mapping) and isinstance(item.get("const"), str) for item in titled):
        return {"type": "string", "oneOf": titled, **_kept(schema, "default", "description")}
    if (
        schema.get("type") == "array"
        and isinstance(schema.get("items"), Mapping)
        and ("enum" in schema["items"] or "anyOf" in schema["items"])
    ):
        return {"type": "array", "items": schema["items"], **_kept(schema, "default", "description", "minItems", "maxItems")}
    if schema.get("type") in ("boolean", "number", "integer"):
        return {"type": schema["type"], **_kept(schema, "default", "description", "minimum", "maximum")}
    return {"type": "string", **_kept(schema, "default", "description", "minLength", "maxLength", "format")}


def _kept(schema: Mapping[str, Any], *names: str) -> dict[str, Any]:
    return {name: schema[name] for name in names if name in schema}


def _given(responses: Any) -> Any:
    return None if not responses else responses.get("answers")


def _answers(pause: Pause, said: Any) -> dict[str, Any] | str:
    """A person's answers by question; words for the client where there are none."""
    action = getattr(said, "action", None)
    given = getattr(said, "content", None) or {}
    decisions = [question for question in pause.questions if question.kind == "decision"]
    if action != "accept":
        if len(decisions) == len(pause.questions):
            return {question.id: reject("the client's person did not agree") for question in decisions}
        return "The client's person did not answer."
    answers: dict[str, Any] = {}
    for name, question in _names(pause).items():
        value = given.get(name)
        if question.kind == "decision":
            answers[question.id] = approve(by="mcp client") if value is True else reject("declined", by="mcp client")
        elif value is not None:
            answers[question.id] = value
    return answers


# --- results --------------------------------------------------------------------------------------------------------------


def _answer(offer: Offer, result: RunResult[Any]) -> wire.CallToolResult:
    if offer.tool is None:
        if result.status == "refused":
            return _failed(result.tell_person or "The agent refused to answer.")
        text = result.text or ("The agent stopped before it had an answer." if result.status == "stopped_early" else "")
        return wire.CallToolResult(content=[wire.TextContent(type="text", text=text)])
    called = result.calls[-1] if result.calls else None
    message = next((message for message in reversed(result.history) if message.role == "tool"), None)
    if called is None or message is None:  # a plugin refused before there was a call
        return _failed(result.tell_person or "The call was refused.")
    failed = called.outcome not in ("success", "partial", "absent")
    return wire.CallToolResult(content=_blocks(message), is_error=failed)


def _blocks(message: Message) -> list[wire.ContentBlock]:
    text = "" if message.text == _NO_VALUE else message.text
    if message.parts:  # the names of the parts stand in for them only where the parts themselves do not
        text = "\n".join(line for line in text.split("\n") if not _NAME_OF_PART.fullmatch(line))
    blocks: list[wire.ContentBlock] = [wire.TextContent(type="text", text=text)] if text or not message.parts else []
    return [*blocks, *[_part(part, index) for index, part in enumerate(message.parts, 1)]]


def _part(part: Any, index: int) -> wire.ContentBlock:
    name = getattr(part, "name", None) or f"part-{index}"
    if part.data is None:
        return wire.ResourceLink(type="resource_link", name=name, uri=part.url, mime_type=part.media_type)
    encoded = base64.b64encode(part.data).decode("ascii")
    if isinstance(part, ImagePart):
        return wire.ImageContent(type="image", data=encoded, mime_type=part.media_type)
    if part.media_type.startswith("audio/"):
        return wire.AudioContent(type="audio", data=encoded, mime_type=part.media_type)
    uri = name if "://" in name else f"agentfp://result/{name}"
    if part.media_type.startswith("text/") or part.media_type == "application/json":
        text = part.data.decode("utf-8", "replace")
        return wire.EmbeddedResource(type="resource", resource=wire.TextResourceContents(uri=uri, mime_type=part.media_type, text=text))
    return wire.EmbeddedResource(type="resource", resource=wire.BlobResourceContents(uri=uri, mime_type=part.media_type, blob=encoded))


def _failed(text: str) -> wire.CallToolResult:
    return wire.CallToolResult(content=[wire.TextContent(type="text", text=text)], is_error=True)
