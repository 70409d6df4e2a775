"""How messages come in: the person's message and its checks, a history from outside and its repairs."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from agentfp_core.calling import check_verdict, each, file_verdict
from agentfp_core.errors import AnswerRefusedError, InvalidRunInputError, MessageDeniedError, describe_type, text_of
from agentfp_core.events.agent import AnswerRefused, TurnStart
from agentfp_core.events.message import MessageAdded, MessageRepaired, ProposedCall, Thinking
from agentfp_core.loop import End
from agentfp_core.messages import DocumentPart, History, ImagePart, Message, Part, ToolCall
from agentfp_core.outcomes import parts_json
from agentfp_core.verdicts import Refuse, Replace

if TYPE_CHECKING:
    from agentfp_core.plugins import Impl
    from agentfp_core.run import Run

LOST = "The result of this call is not known."


@dataclass(frozen=True, slots=True)
class UserMessage:
    """What a person says.

    Args:
        text: the words; may be empty when there are parts.
        parts: images and documents.
    """

    text: str
    parts: tuple[Part, ...] = ()


def read_message(message: Any, runner: str) -> UserMessage:
    """Take a message in whatever form it comes.

    Args:
        message: a text, a :class:`UserMessage`, or a list of texts, images and documents.
        runner: what was called, for the error.

    Raises:
        InvalidRunInputError: it is something else, or empty; says what type, never what value.
    """
    if isinstance(message, UserMessage):
        made = message
    elif isinstance(message, str):
        made = UserMessage(message)
    elif isinstance(message, Sequence) and message and all(isinstance(item, (str, ImagePart, DocumentPart)) for item in message):
        texts = [item for item in message if isinstance(item, str)]
        made = UserMessage("\n\n".join(texts), tuple(item for item in message if not isinstance(item, str)))
    else:
        raise InvalidRunInputError(runner, describe_type(message))
    if not isinstance(made.text, str) or not (made.parts or made.text.strip()):
        raise InvalidRunInputError(runner, describe_type(made.text))
    return made


async def admit(run: Run[Any], said: UserMessage) -> End | None:
    """Ask the plugins whether a message may come in, and put it into the history.

    Returns:
        An end when it was refused; then it is not in the history.
    """
    text = said.text
    refused: list[tuple[str, Refuse]] = []
    message_id = run.ids.new("m")

    def take(impl: Impl, _: None, answer: Any) -> bool:
        nonlocal text
        verdict = check_verdict(impl, answer)
        file_verdict(run, impl, verdict)
        if isinstance(verdict, Replace):
            text = verdict.content
            return True
        refused.append((impl.plugin, verdict))
        return False

    def failed(impl: Impl, _: None, error: Exception) -> bool:
        run.plugin_failed(impl.plugin, "admit_input", "", "answer-refused", error)
        why = MessageDeniedError(f"plugin {impl.plugin!r} failed to check the message", plugin=impl.plugin)
        why.__cause__ = error
        refused.append((impl.plugin, Refuse(why)))
        return False

    for impl in run.agent.plugin_set.table["admit_input"]:
        message = Message(message_id, "user", text, run.turn, "person", parts=said.parts)
        await each(run, [(impl, None, (message, run))], take, failed)
        if refused:
            break
    if refused:
        plugin, verdict = refused[0]
        run.emit(AnswerRefused(plugin, "admit_input", type(verdict.error).__name__, text_of(verdict.error), said.text))
        error = verdict.error
        if not isinstance(error, AnswerRefusedError):
            error = MessageDeniedError(text_of(verdict.error), plugin=plugin)
            error.__cause__ = verdict.error
        return End("refused", refused_by=plugin, error=error, tell_person=verdict.tell_person)
    run.emit(MessageAdded(message_id=message_id, role="user", author="person", content=text, parts=parts_json(said.parts)))
    run.emit(TurnStart(message_id))
    return None


def seed_history(run: Run[Any], history: History) -> None:
    """Put a history from outside on the record, repaired so that every call has exactly one result and an id of its own.

    Providers refuse a conversation with an open call for ever, so it is closed here, with an event that says so.
    """
    turn, owner = 0, ""
    used: set[str] = set()
    answered: set[str] = set()
    unanswered: dict[str, list[ToolCall]] = {}
    for message in history:
        if message.role != "tool":
            _close_orphans(run, owner, unanswered, turn)
        if message.role == "user" and message.author == "person":
            turn += 1
        if message.role == "tool":
            given = message.tool_call_id or ""
            if not unanswered.get(given):
                reason: Literal["duplicate-result", "orphan-result"] = "duplicate-result" if given in answered else "orphan-result"
                run.emit(MessageRepaired(message.id, given, reason), call_id=message.tool_call_id)
                continue
            call = unanswered[given].pop(0)
            answered.add(given)
            _add(run, dataclasses.replace(message, tool_call_id=call.id, tool_name=message.tool_name or call.name), turn)
        elif message.tool_calls:
            owner, calls = message.id, []
            for proposed in message.tool_calls:
                call = proposed if proposed.id and proposed.id not in used else dataclasses.replace(proposed, id=run.ids.new("call"))
                used.add(call.id)
                calls.append(call)
                unanswered.setdefault(proposed.id, []).append(call)
            _add(run, dataclasses.replace(message, tool_calls=tuple(calls)), turn)
        else:
            _add(run, message, turn)
    _close_orphans(run, owner, unanswered, turn)
    run.begin_turn(turn)


def _close_orphans(run: Run[Any], owner: str, unanswered: dict[str, list[ToolCall]], turn: int) -> None:
    for call in [call for calls in unanswered.values() for call in calls]:
        run.emit(MessageRepaired(owner, call.id, "orphan-call"), call_id=call.id)
        _add(run, Message(run.ids.new("m"), "tool", LOST, turn, "library", tool_call_id=call.id, tool_name=call.name), turn)
    unanswered.clear()


def _add(run: Run[Any], message: Message, turn: int) -> None:
    run.emit(
        MessageAdded(
            message_id=message.id,
            role=message.role,
            author=message.author,
            content=message.content,
            tool_calls=tuple([ProposedCall(c.id, c.name, c.arguments_json, c.provider_meta) for c in message.tool_calls]) or None,
            tool_call_id=message.tool_call_id,
            tool_name=message.tool_name,
            notes=message.notes or None,
            parts=parts_json(message.parts),
            thinking=tuple([Thinking(t.text, t.signature, t.redacted, t.provider_meta) for t in message.thinking]) or None,
            own=message.own,
            message_turn=message.turn or turn,
            failed=message.failed or None,
        ),
        call_id=message.tool_call_id,
    )
