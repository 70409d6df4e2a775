"""An account of a run as lines of text, for people."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from agentfp_audit.explaining import RunAccount

LABEL = 12
WORDS = {
    "deny": "refused", "halt": "run ended", "gate_open": "allowed without a check", "refuse": "answer refused",
    "withhold": "result withheld",
}  # fmt: skip


def lines_of(account: RunAccount) -> Iterator[str]:
    """What an account says, line by line.

    Args:
        account: the account.
    """
    versions = "".join(f", {name} {version}" for name, version in account.versions.items())
    after = f", goes on from {account.resumed_from}" if account.resumed_from else ""
    after += f", part of {account.parent_run}" if account.parent_run else ""
    yield f"{account.run_id}: {account.agent or 'an agent'}{versions}{after}: {account.status or 'no end'}"
    for call in account.calls:
        yield _line("call", f"{call['tool'] or 'a tool'} ({call['call_id']}): {call['outcome']}")
    for decision in account.decisions:
        yield _line(WORDS.get(decision["kind"], decision["kind"]), _decision(decision))
    for service in dict.fromkeys(account.credentials):
        yield _line("credential", f"{service} handed to a tool")
    if account.evidence is not None:
        yield from _values(account.evidence)
    if account.answer is not None:
        yield _line("answer", account.answer)
    if account.usd is not None:
        yield _line("cost", f"${account.usd.normalize():f}, model calls: {account.billed}")
    for sentence in account.unchecked:
        yield _line("not checked", sentence)


def _line(label: str, text: str) -> str:
    return f"  {label:<{LABEL}} {text}"


def _decision(decision: dict[str, Any]) -> str:
    by = f" by {decision['by']}" if "by" in decision else ""
    parts = [decision.get("how"), f"rule {decision['rule']}" if "rule" in decision else None]
    parts += [f"role {decision['role']}" if "role" in decision else None, decision.get("why")]
    said = ", ".join(part for part in parts if part)
    return f"{decision.get('what') or 'the run'}{by}{f': {said}' if said else ''}"


def _values(checked: dict[str, Any]) -> Iterator[str]:
    counts = ", ".join(f"{checked.get(name, 0)} {name}" for name in ("supported", "unverifiable", "unsupported"))
    yield _line("values", f"{counts}; {checked.get('action')}")
    for value in checked.get("values") or ():
        if "text" in value:
            yield _line("", f"{value['text']!r} {value.get('verdict')} ({value.get('derivation') or value.get('how')}){_sources(value)}")


def _sources(value: dict[str, Any]) -> str:
    try:
        found = json.loads(value.get("sources") or "[]")
        return "".join(f", {path} of {call or 'what was said'}" for _, path, call in found)
    except (ValueError, TypeError):
        return ""
