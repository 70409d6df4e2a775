"""What a log tells of each run, weeks later and from files alone: who decided, what was refused, what was checked and what not, the cost.

A bounded log holds no content. A recording of the same runs adds it, after each of its events was compared with the record of the log.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any, ClassVar

from agentfp import AgentfpError, RecordFormatError
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
        parent_run: the run that this one is a part of, as a tool of it.
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
    parent_run: str | None = None
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


class RecordingDiffersError(AgentfpError):
    """A recording is not of the runs that the log tells of."""

    code: ClassVar[str] = "ERR_RECORDING_DIFFERS"


class RecordingContent:
    """The content of recordings, given out for those events only that are what the log says.

    Args:
        records: the records of the recordings.
    """

    def __init__(self, records: Iterable[Record]) -> None:
        self.runs: set[str] = set()
        self._events: dict[Key, Data] = {}
        self._used: set[Key] = set()
        self.unproved: list[str] = []
        for record in records:
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
            self.runs.add(header.run_id)
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


def explain_audit(sources: str | Path | Iterable[str | Path], *, recording: Record | Iterable[Record] | None = None) -> list[RunAccount]:
    """What a log tells, run by run. Have it verified first: this checks nothing but that a recording is of the same runs.

    Args:
        sources: the file, or files of one chain in their order.
        recording: a recording of runs in it, or several; their content is told, too.

    Raises:
        RecordingDiffersError: the recording says something else than the log.
        OSError: a file cannot be read.
    """
    content = None if recording is None else RecordingContent([recording] if isinstance(recording, Record) else recording)
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
            if account.run_id not in content.runs:
                account.unchecked.append("the recording does not have this run: it is told without content")
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
    tell = _TELLERS.get(name)
    if tell is not None:
        tell(account, data, meta)


def _genesis(account: RunAccount, data: Data, _meta: Data) -> None:
    account.versions = dict(data.get("versions") or {})
    account.resumed_from = data.get("resumed_from")
    account.parent_run = data.get("parent_run")


def _configured(account: RunAccount, data: Data, _meta: Data) -> None:
    account.agent = str(data.get("agent_id") or "")


def _call(account: RunAccount, data: Data, meta: Data) -> None:
    call_id = meta.get("call_id")
    call = next((call for call in account.calls if call["call_id"] == call_id), None)
    if call is None:
        account.calls.append(call := {"call_id": call_id, "tool": None, "outcome": "unknown"})
    call["tool"] = data.get("tool") or call["tool"]
    call["outcome"] = data.get("outcome") or call["outcome"]


def _permission(account: RunAccount, data: Data, meta: Data) -> None:
    if data.get("result") != "allow":
        fields = {"by": "checker", "what": "target", "rule": "policy_rule_id", "role": "role", "why": "rationale", "policy": "policy_hash"}
        _decided(account, meta, kind=data.get("result"), plugin=meta.get("source"), **{name: data.get(key) for name, key in fields.items()})


def _approval(account: RunAccount, data: Data, meta: Data) -> None:
    kind = "approved" if data.get("approved") else "declined"
    changed = "with other arguments" if data.get("arguments_changed") else None
    by, plugin = data.get("by") or "a person", meta.get("source")
    _decided(account, meta, kind=kind, plugin=plugin, by=by, what=data.get("tool"), why=data.get("note"), how=changed)


def _verdict(account: RunAccount, data: Data, meta: Data) -> None:
    """A refusal, unless the plugin's own event, which says more, told of it already."""
    if data.get("verdict") not in ("Deny", "Halt", "Refuse", "Withhold"):
        return
    call_id, by = meta.get("call_id"), data.get("plugin")
    if not any((told.get("call_id"), told.get("plugin")) == (call_id, by) for told in account.decisions):
        _decided(account, meta, kind=str(data["verdict"]).lower(), by=by, what=_tool(account, call_id), rule=data.get("rule"))


def _decided(account: RunAccount, meta: Data, **fields: Any) -> None:
    told = {**fields, "call_id": meta.get("call_id")}
    account.decisions.append({name: value for name, value in told.items() if value is not None})


def _tool(account: RunAccount, call_id: str | None) -> str | None:
    return next((call["tool"] for call in account.calls if call["call_id"] == call_id), None) or call_id


def _credential(account: RunAccount, data: Data, _meta: Data) -> None:
    account.credentials.append(str(data.get("service")))


def _evidence(account: RunAccount, data: Data, _meta: Data) -> None:
    account.evidence = dict(data)


def _unpriced(account: RunAccount, _data: Data, _meta: Data) -> None:
    account.unpriced += 1


def _message(account: RunAccount, data: Data, _meta: Data) -> None:
    if data.get("author") == "model" and not data.get("tool_calls"):
        account.answer = data.get("content") or account.answer


def _failure(account: RunAccount, data: Data, _meta: Data) -> None:
    account.unchecked.append(f"{data.get('plugin')} failed at {data.get('moment')} {data.get('phase') or ''}: {data.get('policy')}")


def _end(account: RunAccount, data: Data, _meta: Data) -> None:
    account.status = str(data.get("status"))
    if data.get("dropped"):
        account.unchecked.append(f"{data['dropped']} events were dropped before they reached the log")


def _charge(account: RunAccount, data: Data, _meta: Data) -> None:
    try:
        usd = Decimal(str(data.get("usd")))
    except InvalidOperation:
        usd = Decimal("nan")
    if usd.is_finite():
        account.usd = usd if account.usd is None else account.usd + usd
        account.billed += 1
    else:
        account.unpriced += 1


_TELLERS: Mapping[str, Callable[[RunAccount, Data, Data], None]] = {
    GENESIS: _genesis,
    "agentfp.agent.run_configured": _configured,
    "agentfp.tool.started": _call,
    "agentfp.tool.ended": _call,
    "agentfp.permission.check": _permission,
    "agentfp.approval.decided": _approval,
    "agentfp.hook.verdict": _verdict,
    "agentfp.credential.acquired": _credential,
    "agentfp.evidence.checked": _evidence,
    "agentfp.cost.tick": _charge,
    "agentfp.cost.unpriced": _unpriced,
    "agentfp.message.added": _message,
    "agentfp.plugin.failed": _failure,
    "agentfp.run.ended": _end,
}


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
