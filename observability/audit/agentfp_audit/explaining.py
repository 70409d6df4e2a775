"""What a log tells of each run, weeks later and from files alone: who decided, what was refused, what was checked and what not, the cost.

A bounded log holds no content. A recording of the same runs adds it, after each of its events was compared with the record of the log.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

from agentfp import RecordFormatError
from agentfp.events import UnknownPayload
from agentfp.plugin import ExportedEvent, Record
from agentfp_audit.canonical import canonical
from agentfp_audit.chain import GENESIS

Data = Mapping[str, Any]
Key = tuple[str, int]
"""Of an event: its run, and its number on the record of its conversation."""


@dataclass(slots=True)
class RunAccount:
    """What a log tells of one run.

    Args:
        run_id: the run; a resume is a run of its own.
        agent: the agent's name.
        versions: what the application said of itself.
        resumed_from: the run that this one goes on from.
        status: how it ended; None where the log does not have its end.
        calls: of each tool call ``call_id``, ``tool``, ``outcome``.
        decisions: of each refusal, halt, approval: ``by``, ``what``, ``rule`` and so on, as the events have them.
        credentials: services for which a credential was handed out.
        evidence: what came of checking the answer's values; None where nothing checked them.
        usd: dollars of the calls with a known price; None where there are none.
        billed: how many those are.
        unpriced: replies without a known price.
        answer: the answer, where the log or the recording holds content.
        unchecked: what nobody checked, or what is missing, in sentences.
    """

    run_id: str
    agent: str = ""
    versions: dict[str, str] = field(default_factory=dict)
    resumed_from: str | None = None
    status: str | None = None
    calls: list[dict[str, Any]] = field(default_factory=list)
    decisions: list[dict[str, Any]] = field(default_factory=list)
    credentials: list[str] = field(default_factory=list)
    evidence: dict[str, Any] | None = None
    usd: Decimal | None = None
    billed: int = 0
    unpriced: int = 0
    answer: str | None = None
    unchecked: list[str] = field(default_factory=list)

    def to_json(self) -> dict[str, Any]:
        """The account as JSON data; dollars as decimal text."""
        made = {name: getattr(self, name) for name in self.__dataclass_fields__}
        return {**made, "usd": None if self.usd is None else f"{self.usd.normalize():f}"}


class RecordingDiffersError(Exception):
    """A recording is not of the runs that the log tells of."""


class RecordingContent:
    """The content of a recording, given out for those events only that are what the log says.

    Args:
        record: the recording's record.
    """

    def __init__(self, record: Record) -> None:
        self._events: dict[Key, Data] = {}
        self._used: set[Key] = set()
        self.unproved: list[str] = []
        self._take(record)

    def full(self, key: Key, logged: Data) -> Data | None:
        """The data of an event with its content; None where the recording does not have it.

        Args:
            key: the event.
            logged: what the log has of it.

        Raises:
            RecordingDiffersError: the recording has something else.
        """
        found = self._events.get(key)
        if found is None:
            return None
        if not _holds(found, logged):
            raise RecordingDiffersError(f"event {key[1]} of {key[0]} in the recording is not the one of the log")
        self._used.add(key)
        return found

    def rest(self) -> int:
        """How many events of the recording the log does not have."""
        return len(self._events.keys() - self._used)

    def _take(self, record: Record) -> None:
        for header in record.headers:
            for event in record.events(run_id=header.run_id):
                data = ExportedEvent(event, header, full=True).data
                self._events[header.run_id, event.seq] = data["data"] if isinstance(event.payload, UnknownPayload) else data
        try:
            changed = record.changed_calls()
        except RecordFormatError:
            self.unproved.append(f"the requests of {record.run_id} cannot be proved: parts were masked or are missing")
        else:
            if changed:
                raise RecordingDiffersError(f"model call {changed[0]} in the recording does not hash to the receipt in the log")
        for child in record.children.values():
            self._take(child)


def _holds(whole: Any, part: Any) -> bool:
    """Whether data with content says what data without it says. Types of events are not asked: those of plugins may not be installed."""
    if isinstance(part, Mapping):
        return isinstance(whole, Mapping) and all(name in whole and _holds(whole[name], value) for name, value in part.items())
    if isinstance(part, (list, tuple)):
        return isinstance(whole, (list, tuple)) and len(whole) == len(part) and all(map(_holds, whole, part))
    return bool(canonical(whole) == canonical(part)) if not isinstance(whole, (Mapping, list, tuple)) else False


def explain_audit(sources: str | Path | Iterable[str | Path], *, recording: Record | None = None) -> list[RunAccount]:
    """What a log tells, run by run. Have it verified first: this checks nothing but that a recording is of the same runs.

    Args:
        sources: the file, or files of one chain in their order.
        recording: a recording of runs in it; its content is told, too.

    Raises:
        RecordingDiffersError: the recording says something else than the log.
        OSError: a file cannot be read.
    """
    content = None if recording is None else RecordingContent(recording)
    accounts: dict[str, RunAccount] = {}
    for line in _records(sources):
        meta = line["meta"]
        run_id = str(meta.get("run_id", "unattributed"))
        account = accounts.get(run_id)
        if account is None:
            account = accounts[run_id] = RunAccount(run_id)
        payload = line["payload"]
        full = None if content is None or "event_seq" not in meta else content.full((run_id, meta["event_seq"]), payload)
        _tell(account, line["event_type"], payload if full is None else full, meta)
    tools = {call["call_id"]: call["tool"] for account in accounts.values() for call in account.calls if call["tool"]}
    for account in accounts.values():
        for call in account.calls:  # a call that a resume ended was begun in an earlier leg
            call["tool"] = tools.get(call["call_id"])
            if account.status == "paused" and call["outcome"] == "unknown":
                call["outcome"] = "waits"
        _finish(account)
    if content is not None:
        if content.rest():
            raise RecordingDiffersError(f"{content.rest()} events of the recording are not in the log")
        for account in accounts.values():
            account.unchecked += [line for line in content.unproved if account.run_id in line]
    return [account for account in accounts.values() if account.run_id != "unattributed"]


def _records(sources: str | Path | Iterable[str | Path]) -> Iterator[dict[str, Any]]:
    for path in [sources] if isinstance(sources, (str, Path)) else sources:
        with Path(path).open(encoding="utf-8", errors="replace") as file:
            for line in file:
                try:
                    data = json.loads(line)
                except (ValueError, RecursionError):  # the torn end of a killed writer
                    continue
                if isinstance(data, dict) and isinstance(data.get("payload"), dict) and isinstance(data.get("meta"), dict):
                    yield data


def _tell(account: RunAccount, name: str, data: Data, meta: Data) -> None:
    """Add one event. Events of plugins are known by their names: the log is read where these are not installed."""
    call_id = meta.get("call_id")
    if name == GENESIS:
        account.versions = dict(data.get("versions") or {})
        account.resumed_from = data.get("resumed_from")
    elif name == "agentfp.agent.run_configured":
        account.agent = str(data.get("agent_id") or "")
    elif name in ("agentfp.tool.started", "agentfp.tool.ended"):
        call = next((call for call in account.calls if call["call_id"] == call_id), None)
        if call is None:
            account.calls.append(call := {"call_id": call_id, "tool": None, "outcome": "unknown"})
        call["tool"] = data.get("tool") or call["tool"]
        call["outcome"] = data.get("outcome") or call["outcome"]
    elif name == "agentfp.permission.check" and data.get("result") != "allow":
        account.decisions.append(
            _known(kind=data.get("result"), call_id=call_id, plugin=meta.get("source"), by=data.get("checker"), what=data.get("target"),
                   rule=data.get("policy_rule_id"), role=data.get("role"), why=data.get("rationale"), policy=data.get("policy_hash"))
        )  # fmt: skip
    elif name == "agentfp.approval.decided":
        kind = "approved" if data.get("approved") else "declined"
        changed = "with other arguments" if data.get("arguments_changed") else None
        account.decisions.append(
            _known(kind=kind, call_id=call_id, plugin=meta.get("source"), by=data.get("by") or "a person", what=data.get("tool"),
                   why=data.get("note"), how=changed)
        )  # fmt: skip
    elif (
        name == "agentfp.hook.verdict"
        and data.get("verdict") in ("Deny", "Halt", "Refuse", "Withhold")
        and not _said(account, data, call_id)
    ):
        account.decisions.append(
            _known(
                kind=str(data["verdict"]).lower(),
                call_id=call_id,
                by=data.get("plugin"),
                what=_tool(account, call_id),
                rule=data.get("rule"),
            )
        )
    elif name == "agentfp.credential.acquired":
        account.credentials.append(str(data.get("service")))
    elif name == "agentfp.evidence.checked":
        account.evidence = dict(data)
    elif name == "agentfp.cost.tick":
        _charge(account, data)
    elif name == "agentfp.cost.unpriced":
        account.unpriced += 1
    elif name == "agentfp.message.added" and data.get("author") == "model" and not data.get("tool_calls"):
        account.answer = data.get("content") or account.answer
    elif name == "agentfp.plugin.failed":
        account.unchecked.append(f"{data.get('plugin')} failed at {data.get('moment')} {data.get('phase') or ''}: {data.get('policy')}")
    elif name == "agentfp.run.ended":
        account.status = str(data.get("status"))
        if data.get("dropped"):
            account.unchecked.append(f"{data['dropped']} events were dropped before they reached the log")


def _said(account: RunAccount, data: Data, call_id: str | None) -> bool:
    """Whether the plugin's own event, which says more, told of the verdict already."""
    told = call_id, data.get("plugin")
    return any((decision.get("call_id"), decision.get("plugin")) == told for decision in account.decisions)


def _tool(account: RunAccount, call_id: str | None) -> str | None:
    return next((call["tool"] for call in account.calls if call["call_id"] == call_id), None) or call_id


def _known(**fields: Any) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not None}


def _charge(account: RunAccount, data: Data) -> None:
    try:
        usd = Decimal(str(data.get("usd")))
    except InvalidOperation:
        usd = Decimal("nan")
    if usd.is_finite():
        account.usd = usd if account.usd is None else account.usd + usd
        account.billed += 1
    else:
        account.unpriced += 1


def _finish(account: RunAccount) -> None:
    """Say what is missing."""
    if account.status is None:
        account.unchecked.append("the log does not have the end of the run")
    checked = account.evidence
    if checked is None:
        if account.status == "answered":
            account.unchecked.append("nothing checked where the values of the answer come from")
    else:
        for verdict in ("unverifiable", "unsupported"):
            if checked.get(verdict):
                account.unchecked.append(f"values of the answer that are {verdict}: {checked[verdict]}")
        if checked.get("truncated"):
            account.unchecked.append("the results were too large to be read whole")
    if account.unpriced:
        account.unchecked.append(f"replies without a known price: {account.unpriced}")
    elif account.usd is None and account.status == "answered":
        account.unchecked.append("what it cost is not known")
