"""Writes `docs/events.md` from the catalog: what each event is, and where names of other catalogs went.

`python -m scripts.event_table` writes the page, `python -m scripts.event_table --check` says whether it is up to date.
"""

from __future__ import annotations

import dataclasses
import sys
import types
import typing
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from agentfp.events import CATALOG, Mark, Payload
from scripts import plugin_events

PAGE = Path(__file__).resolve().parent.parent / "docs" / "events.md"

ELSEWHERE: tuple[tuple[str, str, str], ...] = (
    ("stream.tool_start", "agentfp.tool.started", "the arguments stand in the assistant's `message.added`"),
    ("stream.tool_end", "agentfp.tool.ended", "with one outcome for every way in which a call can end"),
    ("stream.tool_progress", "agentfp.tool.progress", ""),
    ("stream.llm_start", "agentfp.context.served", "what was served can be rebuilt: `record.served_at(k)`"),
    ("stream.llm_end", "agentfp.stream.llm_end", "the reply's text stands in `message.added`"),
    ("agent.message", "agentfp.message.added", "the one home of what a person or a model wrote"),
    ("context.injected", "agentfp.context.served", "its `pieces`, by plugin and key"),
    ("context.slot_composed", "agentfp.context.served", "its `system_chars` and `message_chars`"),
    ("context.evicted", "agentfp.context.served", "its `edits`: a hidden message or a ticket in its place"),
    ("middleware.decision", "agentfp.hook.verdict", "of every moment, not of tools only"),
    ("permission.check", "agentfp.hook.verdict", "a refusal by a plugin; the call's outcome is `denied`"),
    ("permission.halt", "agentfp.hook.verdict", "verdict `Halt`; then `agentfp.answer.refused`"),
    ("checkin.request", "agentfp.pause.request", "a question of plugin `kernel`, kind `decision`"),
    ("checkin.decision", "agentfp.approval.decided", ""),
    ("evidence.will_do", "agentfp.pause.request", "the `context` of an approval's question"),
    ("meta.resumed_from", "agentfp.agent.run_configured", "its `resumed_from`; also in the segment's header"),
    ("agent.output_schema_validation_failed", "agentfp.agent.output_attempt", "outcome `retried` or `exhausted`"),
    ("agent.grounding_nudged", "agentfp.answer.drafted", "the draft that was sent back; the verdict stands in `agentfp.hook.verdict`"),
)
"""Name elsewhere, name here, and what is different."""

HEAD = """\
# Events

Every event that the kernel files, made from the catalog by `python -m scripts.event_table`. [record.md](record.md) tells how to read them.
An event of a plugin has a name in a domain of the plugin's own; the plugin's page lists it.

Kinds: **stored** is on the record and in checkpoints. **diagnostic** is on the record only. **transient** is delivered to whoever
listens, has no `seq` and is not built when nobody does.

Marks say how private a field is: **content** is what a person, a model, a tool or data wrote; **name** is a word of the library, an id or
a name declared while building; **number** is a count, a size, a time or a flag; **hash** is a digest. A sink gets no content unless its
settings ask for it. A field with `?` may be left out.
"""


def page() -> str:
    """The whole page."""
    lines = [HEAD]
    domains: dict[str, list[type[Payload]]] = {}
    for name, kind in CATALOG.items():
        domains.setdefault(name.split(".")[1], []).append(kind)
    for domain in sorted(domains):
        lines += [f"## {domain}", "", "| event | kind | fields | what it says |", "|---|---|---|---|"]
        lines += [_row(kind) for kind in domains[domain]]
        lines.append("")
    lines += ["## Names of other catalogs", "", "| there | here | note |", "|---|---|---|"]
    lines += [f"| `{there}` | `{here}` | {note} |" for there, here, note in ELSEWHERE]
    return "\n".join(lines) + "\n"


def _row(kind: type[Payload]) -> str:
    fields = "<br>".join(_fields(kind)) or "none"
    doc = " ".join((kind.__doc__ or "").split()).replace("``", "`").replace("|", "\\|")
    return f"| `{kind.event_name}` | {kind.event_kind} | {fields} | {doc} |"


def _fields(cls: type[Any]) -> Iterator[str]:
    hints = typing.get_type_hints(cls, include_extras=True)
    for field in dataclasses.fields(cls):
        hint = hints[field.name]
        optional = "?" if field.default is not dataclasses.MISSING else ""
        yield f"`{field.name}`{optional} {_words(hint)}"


def _words(hint: Any) -> str:
    """The mark of a field, and the words that it may hold where they are a closed list; of parts their own fields."""
    mark = next((meta for meta in getattr(hint, "__metadata__", ()) if isinstance(meta, Mark)), None)
    arms = list(_unfold(hint))
    inner = next((arm for arm in arms if isinstance(arm, type) and dataclasses.is_dataclass(arm)), None)
    if inner is not None:
        return f"parts: ({', '.join(_fields(inner))})"
    # Sorted: which order of a `Literal` one gets depends on who else wrote one with the same values.
    values = sorted(value for arm in arms if typing.get_origin(arm) is typing.Literal for value in typing.get_args(arm))
    one_of = f" ({', '.join(map(str, values))})" if values else ""
    return f"{(mark or Mark.CONTENT).value}{one_of}"


def _unfold(hint: Any) -> Iterator[Any]:
    """The arms of a type: what it holds in unions, tuples and annotations."""
    origin = typing.get_origin(hint)
    if origin is typing.Annotated or origin is tuple:
        for inner in typing.get_args(hint)[: 1 if origin is typing.Annotated else None]:
            yield from _unfold(inner)
    elif origin in (typing.Union, types.UnionType):
        for arm in typing.get_args(hint):
            yield from _unfold(arm)
    else:
        yield hint


def main(arguments: list[str]) -> int:
    """Write the page, or compare it."""
    made = {PAGE: page(), **dict(plugin_events.pages())}
    if "--check" not in arguments:
        for path, text in made.items():
            path.write_text(text, encoding="utf-8")
        print(f"{len(CATALOG)} events in {PAGE.name}, those of plugins in {len(made) - 1} READMEs")
        return 0
    old = [path for path, text in made.items() if not path.exists() or path.read_text(encoding="utf-8") != text]
    for path in old:
        print(f"{path} is not what the events say of themselves; write it with python -m scripts.event_table", file=sys.stderr)
    if not old:
        print("docs/events.md and the READMEs of plugins are up to date")
    return 1 if old else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
