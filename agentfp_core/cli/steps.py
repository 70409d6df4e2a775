"""``agentfp steps``: walks through a recording or a journal, model call by model call."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from agentfp_core.cli.exits import Code, CommandError
from agentfp_core.cli.options import Json
from agentfp_core.cli.output import counted, data, note, one_line, say, to_json
from agentfp_core.cli.recordings import recording_in

if TYPE_CHECKING:
    from agentfp_core.file_steps import FileSteps
    from agentfp_core.model import ModelRequest
    from agentfp_core.record_file import RecordFile

SWITCHES = frozenset({"agentfp.fallback.triggered", "agentfp.reliability.retried"})
"""Events of another model, or another try, in place of the first."""

app = typer.Typer(add_completion=False)


@app.command()
def steps(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            help="A recording, a saved record (run --record) or a journal (run --journal); a folder for its newest.",
            show_default=False,
        ),
    ],
    call: Annotated[int | None, typer.Option("--call", help="Show the request of this model call, rebuilt.", metavar="K")] = None,
    drill: Annotated[
        str | None, typer.Option("--drill", help="Only the steps of a nested run: the calls or agents that lead to it.", metavar="A/B")
    ] = None,
    full: Annotated[bool, typer.Option("--full", help="Show texts whole.")] = False,
    as_json: Json = False,
) -> None:
    """Walk through what happened in a run.

    For each model call: what it was served, what it replied, what became of each tool call, who stepped in, where a person was asked.
    A file of any size is read; of a damaged one, what can be read is shown, and the exit code is 1.
    """
    from agentfp_core.errors import RecordError
    from agentfp_core.record_file import RecordFile

    file = recording_in(file)
    try:
        opened = RecordFile(file)
    except RecordError as error:
        raise CommandError(f"{file}: {error}") from error
    path = _path(opened, drill)
    if call is not None:
        _show_request(_request(opened, call, path), call, as_json=as_json)
        return
    walked = opened.steps(path)
    if as_json:
        _data(opened, walked)
    else:
        _Printer(full).file(opened, walked)
    if opened.problem is not None:
        raise CommandError(f"{file}: {opened.problem}; what can be read of it is shown", Code.NEGATIVE)


def _path(file: RecordFile, drill: str | None) -> tuple[str, ...]:
    """The call ids that a drill path means: each part is one, or the name of the agent that ran there.

    Raises:
        CommandError: no nested run is there; names those that are.
    """
    path: tuple[str, ...] = ()
    for part in (drill or "").strip("/").split("/") if drill else ():
        here = [h for h in file.headers if len(h.path) == len(path) + 1 and h.path[:-1] == path]
        found = next((h.path for h in here if part == h.path[-1]), None) or next((h.path for h in here if part == h.agent_id), None)
        if found is None:
            known = ", ".join(dict.fromkeys(f"{h.path[-1]} ({h.agent_id})" if h.agent_id else h.path[-1] for h in here))
            where = f"in {'/'.join(path)}" if path else "in it"
            raise CommandError(f"no nested run {part!r} is {where}; there {f'are {known}' if known else 'is none'}")
        path = found
    return path


def _data(file: RecordFile, walked: FileSteps) -> None:
    """Print the steps as one JSON document, each as it comes."""
    say("{")
    _entry("conversation", file.root_id, ",")
    _entry("legs", len([h for h in file.headers if h.path == walked.path]), ",")
    _entry("redacted", list(file.redacted), ",")
    say('  "steps": [')
    before = ""
    for step in walked:
        if before:
            say(before + ",")
        before = textwrap.indent(to_json(step), "    ")
    say(before + ("\n  ]," if before else "  ],"))
    if file.torn_line is not None:
        _entry("torn_line", file.torn_line, ",")
    if file.problem is not None:
        _entry("problem", file.problem, ",")
    _entry("events", walked.events, ",")
    _entry("unknown_events", walked.unknown, "")
    say("}")


def _entry(name: str, value: Any, end: str) -> None:
    say(textwrap.indent(f"{to_json(name)}: {to_json(value)}{end}", "  "))


def _request(file: RecordFile, call: int, path: tuple[str, ...]) -> tuple[ModelRequest, str]:
    """The request of a model call, and its receipt."""
    from agentfp_core.errors import RecordFormatError
    from agentfp_core.events.context import Served

    known = {event.payload.call: event.payload.receipt for event in file.events(path) if isinstance(event.payload, Served)}
    if call not in known:
        has = f"calls {min(known)} to {max(known)}" if known else "no model call"
        raise CommandError(f"the recording holds no model call {call}; it has {has}")
    try:
        return file.served_at(call, path), known[call]
    except RecordFormatError as error:
        raise CommandError(str(error), Code.NEGATIVE) from error


def _show_request(found: tuple[ModelRequest, str], call: int, *, as_json: bool) -> None:
    request, receipt = found
    messages = [message.to_dict() for message in request.messages]
    tools = [{"name": t.name, "description": t.description, "parameters": t.parameters} for t in request.tools]
    settings = json.loads(request.settings.to_json())
    if as_json:
        made = {"call": call, "receipt": receipt, "model": request.model, "system": request.system, "messages": messages, "tools": tools}
        schema = None if request.output_schema_json is None else json.loads(request.output_schema_json)
        data({**made, "settings": settings, "tool_choice": request.tool_choice, "output_schema": schema})
        return
    say(f"model call {call} of {request.model or 'a model without a name'}, receipt {receipt}", "bold")
    say("system", "cyan")
    say(_indented(request.system or "(none)"))
    for message in request.messages:
        say(f"{message.role}{f' ({message.tool_name})' if message.tool_name else ''}", "cyan")
        if message.text:
            say(_indented(message.text))
        for wanted in message.tool_calls:
            say(_indented(f"calls {wanted.name}({wanted.arguments_json})"))
    for tool in request.tools:
        say(f"tool {tool.name}", "cyan")
        say(_indented(f"{tool.description}\n{tool.parameters_json}"))
    if settings:
        say(f"settings {json.dumps(settings, ensure_ascii=False)}", "dim")


def _indented(text: str) -> str:
    return "\n".join(f"  {line}" for line in text.splitlines())


class _Printer:
    """Prints steps for people.

    Args:
        full: whether texts are shown whole.
    """

    def __init__(self, full: bool, indent: str = "") -> None:
        self._full = full
        self._indent = indent
        self._kinds: Mapping[str, Callable[[dict[str, Any]], None]] = {
            "leg": self._leg,
            "message": self._message,
            "model_call": self._model_call,
            "intervention": self._intervention,
            "pause": self._pause,
            "answers": self._answers,
            "limit": self._limit,
            "failure": self._failure,
            "event": self._event,
            "end": self._end,
        }

    def file(self, file: RecordFile, walked: FileSteps) -> None:
        """Print the steps of a file, each as it comes."""
        if file.redacted:
            note(f"this copy was redacted by {', '.join(file.redacted)}", "yellow")
        if file.torn_line is not None:
            note(f"the last line ({file.torn_line}) is torn and left out", "yellow")
        for _, about in file.notes:
            lost = about.get("dropped") if isinstance(about, Mapping) else None
            if isinstance(lost, Mapping):
                note(
                    f"{lost.get('count')} events from {lost.get('first_seq')} to {lost.get('last_seq')} are missing: {lost.get('why')}",
                    "yellow",
                )
        for step in walked:
            self._kinds[step["kind"]](step)
        self._unknown(walked.unknown)

    def show(self, walked: dict[str, Any]) -> None:
        """Print the steps of a nested run."""
        for step in walked["steps"]:
            self._kinds[step["kind"]](step)
        self._unknown(walked["unknown_events"])

    def _unknown(self, unknown: Mapping[str, int]) -> None:
        if unknown:
            listed = ", ".join(f"{name} ({count})" for name, count in sorted(unknown.items()))
            self._line(f"events that this environment has no type for: {listed}", "dim")

    def _line(self, text: str, style: str | None = None) -> None:
        for line in text.splitlines() or [""]:
            say(f"{self._indent}{line}", style)

    def _text(self, text: str, label: str = "") -> None:
        shown = text if self._full else one_line(text, 160)
        lines = shown.splitlines() or [""]
        self._line(f"    {label}{lines[0]}")
        for line in lines[1:]:
            self._line(f"    {line}")

    def _leg(self, step: dict[str, Any]) -> None:
        plugins = f", plugins {', '.join(step['plugins'])}" if step["plugins"] else ""
        self._line(f"{step['leg']} of {step['agent']} on {step['provider']}:{step['model']}{plugins}", "bold")
        for problem in step.get("plugin_problems", ()):
            self._line(f"  {problem}", "yellow")

    def _message(self, step: dict[str, Any]) -> None:
        self._line(f"  {step['author']} says", "cyan")
        self._text(step["text"])

    def _model_call(self, step: dict[str, Any]) -> None:
        served = step["served"]
        counts = ", ".join(counted(served[f"{what}s"], what) for what in ("message", "tool", "piece"))
        self._line(f"  model call {step['call']}: served {counts}, receipt {served['receipt'][:12]}", "cyan")
        for edit in served.get("edits", ()):
            self._line(f"    {edit['plugin']} edits the request: {edit['op']} {edit['target']}", "dim")
        told = step.get("events", ())
        for event in told:
            if event["seq"] < step.get("replied_seq", event["seq"] + 1):
                self._event(event, "    ")
        if not step["replied"]:
            self._line("    no reply was accepted", "yellow")
        else:
            tokens = [str(step[key]) if step[key] is not None else "?" for key in ("input_tokens", "output_tokens")]
            cost = f", ${step['usd']}" if "usd" in step else ""
            self._line(f"    replied ({step['stop']}), {tokens[0]} + {tokens[1]} tokens{cost}, {step['duration_ms']} ms", "dim")
        if step.get("text"):
            self._text(step["text"], "says: ")
        for call in step["calls"]:
            self._call(call)
        for event in told:
            if event["seq"] > step.get("replied_seq", event["seq"]):
                self._event(event, "    ")
        for other in step.get("other_events", ()):
            self._line(f"    event {other['name']} of {other['source']}", "dim")

    def _event(self, event: dict[str, Any], indent: str = "  ") -> None:
        text = event["text"] if self._full else one_line(event["text"], 160)
        self._line(f"{indent}{event['source']}: {text}", "yellow" if event["name"] in SWITCHES else "dim")

    def _call(self, call: dict[str, Any]) -> None:
        outcome = call["outcome"] or "waits"
        took = f", {call['duration_ms']} ms" if call.get("ran") else ""
        cause = f" ({call['cause']})" if call.get("cause") else ""
        style = None if outcome == "success" else "yellow"
        arguments = call["arguments"] if self._full else one_line(call["arguments"], 120)
        self._line(f"    {call['tool']}({arguments}): {outcome}{cause}{took}", style)
        for verdict in call.get("verdicts", ()):
            why = verdict.get("reason") or verdict.get("text") or verdict.get("arguments") or ""
            self._line(f"      {verdict['plugin']} in {verdict['phase']}: {verdict['verdict']} {one_line(why)}".rstrip(), "dim")
        if "approval" in call:
            approval = call["approval"]
            by = f" by {approval['by']}" if "by" in approval else ""
            why = f": {one_line(approval['note'])}" if "note" in approval else ""
            changed = ", with other arguments" if approval.get("arguments_changed") else ""
            self._line(f"      {'approved' if approval['approved'] else 'rejected'}{by}{changed}{why}", "dim")
        if call.get("error_class"):
            self._line(f"      {call['error_class']}: {one_line(call.get('error') or '')}", "yellow")
        if call.get("result"):
            self._text(call["result"], "  -> ")
        if "nested" in call:
            _Printer(self._full, self._indent + "      ").show(call["nested"])

    def _intervention(self, step: dict[str, Any]) -> None:
        back = "sends the answer back" if step.get("carried_out") else "wants the answer sent back, which was not done"
        what = {"Revise": back, "Refuse": "refuses", "Replace": "replaces the text"}.get(step["verdict"], step["verdict"])
        why = step.get("reason") or step.get("key") or ""
        self._line(f"  {step['plugin']} {what}{f': {one_line(why)}' if why else ''}", "yellow")
        for key in ("draft", "text"):
            if step.get(key):
                self._text(step[key])

    def _pause(self, step: dict[str, Any]) -> None:
        self._line(f"  paused in {step['phase']}", "yellow")
        for question in step["questions"]:
            about = f" about {question['tool']}" if question["tool"] else ""
            self._line(f"    {question['plugin']} asks{about}: {one_line(question['prompt'])}")

    def _answers(self, step: dict[str, Any]) -> None:
        waited = f" after {step['waited_ms'] / 1000:.1f} s" if "waited_ms" in step else ""
        self._line(f"  a person answers{waited}", "cyan")
        for question, answer in step["answers"].items():
            self._line(f"    {question}: {one_line(json.dumps(answer, ensure_ascii=False))}")

    def _limit(self, step: dict[str, Any]) -> None:
        self._line(f"  limit {step['reason']}: {step['action']}, {step['pending_tool_calls']} calls left undone", "yellow")

    def _failure(self, step: dict[str, Any]) -> None:
        where = f"plugin {step['plugin']} in {step['moment']} ({step['policy']})" if "plugin" in step else step["stage"]
        self._line(f"  failed: {where}: {step['error_class']} {one_line(step.get('error') or '')}".rstrip(), "red")

    def _end(self, step: dict[str, Any]) -> None:
        self._line(f"  {step['status'].replace('_', ' ')} after {step['duration_ms']} ms", "bold")
