"""The application's own check of a typed answer: what it is given, what it may answer, and what that comes to."""

from __future__ import annotations

import hashlib
import inspect
import json
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

import anyio
import anyio.to_thread

from agentfp.artifacts import ArtifactStore, Scope
from agentfp.plugin import ConfigError, nearest
from agentfp_answer.artifact_reads import ArtifactReads
from agentfp_answer.reports import CheckReport, ValidationReport

DISPOSITIONS = ("checked-pass", "checked-fail", "not-applicable", "unreachable")
MAX_ID, MAX_REASON, MAX_PATH = 128, 1024, 256
_CHECK_KEYS = ("id", "disposition", "reason", "path", "evidence_refs")

Validate: TypeAlias = "Callable[[Any, ArtifactReads], Mapping[str, Any] | Awaitable[Mapping[str, Any]]]"
"""Takes the answer as JSON data and what reads artifacts; gives ``{"checks": [{"id", "disposition", ...}]}``, sync or async."""


@dataclass(frozen=True, slots=True)
class ValidationLimits:
    """How much one check of an answer may take.

    Args:
        max_reads: artifacts that may be read.
        max_bytes: their size in all.
        max_checks: checks that may be given.
        max_candidate_bytes: size of an answer that is still checked.
        timeout_s: seconds.
    """

    max_reads: int = 16
    max_bytes: int = 4_194_304
    max_checks: int = 100
    max_candidate_bytes: int = 1_048_576
    timeout_s: float = 5.0


@dataclass(frozen=True)
class AnswerValidation:
    """A check that the application makes of every typed answer before it goes out.

    Args:
        id: its name.
        version: its version, so that a report can be told from one of an older check.
        validate: the check. It says what it found and cannot change the answer. A sync one runs in a worker thread.
        mode: ``enforce`` refuses an answer that did not pass; ``observe`` lets it out and puts it on the record.
        limits: how much it may take.
        store: where it may read artifacts of the conversation; None for nowhere.

    Raises:
        ConfigError: lists everything that is wrong.
    """

    id: str
    version: str
    validate: Validate
    mode: Literal["enforce", "observe"] = "enforce"
    limits: ValidationLimits = field(default_factory=ValidationLimits)
    store: ArtifactStore | None = None

    def __post_init__(self) -> None:
        problems = [
            f"AnswerValidation.{name} is a text of 1 to {MAX_ID} characters, got {value!r:.80}"
            for name, value in (("id", self.id), ("version", self.version))
            if not isinstance(value, str) or not value.strip() or len(value) > MAX_ID
        ]
        if not callable(self.validate):
            problems.append(f"AnswerValidation.validate is a function of (candidate, artifacts), got a {type(self.validate).__name__}")
        if self.mode not in ("enforce", "observe"):
            problems.append(f"AnswerValidation.mode: {nearest(str(self.mode), ('enforce', 'observe'))}")
        if not isinstance(self.limits, ValidationLimits):
            problems.append(f"AnswerValidation.limits is a ValidationLimits, got a {type(self.limits).__name__}")
        else:
            problems += _limits_problems(self.limits)
        if problems:
            raise ConfigError(problems)


def _limits_problems(limits: ValidationLimits) -> list[str]:
    found = []
    for name in ("max_reads", "max_bytes", "max_checks", "max_candidate_bytes", "timeout_s"):
        value = getattr(limits, name)
        kinds = (int, float) if name == "timeout_s" else (int,)
        if isinstance(value, bool) or not isinstance(value, kinds) or not 0 < value < float("inf"):
            found.append(f"ValidationLimits.{name} is a number above 0, got {value!r}")
    return found


async def validate(validation: AnswerValidation, text: str, *, scope: Scope, fits: bool) -> ValidationReport:
    """Check an answer. Never raises for what the check does; that is in the report.

    Args:
        validation: the check.
        text: the answer, these exact bytes.
        scope: whose artifacts may be read.
        fits: whether the answer fits its output type.
    """
    data = text.encode("utf-8", "surrogatepass")
    reads = ArtifactReads(validation.store, scope, validation.limits.max_reads, validation.limits.max_bytes)
    reasons: list[str] = []
    checks: tuple[CheckReport, ...] = ()
    error: str | None = None
    try:
        candidate = json.loads(text)
    except (ValueError, RecursionError):
        reasons.append("non-json-candidate")
    if len(data) > validation.limits.max_candidate_bytes:
        reasons.append("candidate-limit")
    elif not fits:
        reasons.append("schema-rejected")
    if not reasons:
        checks, why, error = await _asked(validation, candidate, reads)
        reasons += why
    reads.close()
    return ValidationReport(
        validation.id,
        validation.version,
        validation.mode,
        _status(checks, reasons),
        hashlib.sha256(data).hexdigest(),
        tuple(dict.fromkeys(reasons)),
        checks,
        reads.count,
        reads.bytes_read,
        error,
    )


def _status(checks: tuple[CheckReport, ...], reasons: list[str]) -> str:
    if reasons:
        return "unverified"
    return "failed" if any(check.disposition == "checked-fail" for check in checks) else "passed"


async def _asked(
    validation: AnswerValidation, candidate: Any, reads: ArtifactReads
) -> tuple[tuple[CheckReport, ...], list[str], str | None]:
    try:
        with anyio.fail_after(validation.limits.timeout_s):
            answer = await _call(validation.validate, candidate, reads)
    except TimeoutError as error:
        return (), ["timeout"], type(error).__name__
    except Exception as error:  # a check may raise anything; the answer is unverified then
        return (), ["validator-error"], type(error).__name__
    checks = _read(answer, validation.limits.max_checks, reads)
    if checks is None:
        return (), ["invalid-validator-result"], None
    reasons = [f"evidence-{refusal}" for refusal in reads.refusals]
    found = Counter(check.disposition for check in checks)
    if not found["checked-pass"] and not found["checked-fail"]:
        reasons.append("no-comparable-checks")
    if found["unreachable"]:
        reasons.append("unreachable-checks")
    return checks, reasons, None


async def _call(function: Validate, candidate: Any, reads: ArtifactReads) -> Any:
    if inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(getattr(function, "__call__", None)):  # noqa: B004 - an object
        made: Any = function(candidate, reads)
    else:
        made = await anyio.to_thread.run_sync(function, candidate, reads, abandon_on_cancel=True)
    return await made if inspect.isawaitable(made) else made


def _read(answer: Any, most: int, reads: ArtifactReads) -> tuple[CheckReport, ...] | None:
    """The checks that were given; None when they are not such as can be reported."""
    if not isinstance(answer, Mapping) or set(answer) != {"checks"}:
        return None
    listed = answer["checks"]
    if not isinstance(listed, (list, tuple)) or len(listed) > most:
        return None
    checks = [_check(entry, reads) for entry in listed]
    whole = tuple([check for check in checks if check is not None])
    return whole if len(whole) == len(listed) == len({check.id for check in whole}) else None


def _check(entry: Any, reads: ArtifactReads) -> CheckReport | None:
    if not isinstance(entry, Mapping) or any(key not in _CHECK_KEYS for key in entry):
        return None
    name, disposition, refs = entry.get("id"), entry.get("disposition"), entry.get("evidence_refs") or ()
    texts = ((name, MAX_ID, True), (entry.get("reason"), MAX_REASON, False), (entry.get("path"), MAX_PATH, False))
    if any((value is None and needed) or not _fits(value, most) for value, most, needed in texts) or disposition not in DISPOSITIONS:
        return None
    if not isinstance(refs, (list, tuple)) or any(ref not in reads.resolved for ref in refs):
        return None
    return CheckReport(str(name), disposition, entry.get("reason"), entry.get("path"), tuple(refs))


def _fits(value: Any, most: int) -> bool:
    return value is None or (isinstance(value, str) and bool(value.strip()) and len(value) <= most)
