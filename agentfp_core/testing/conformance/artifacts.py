"""Checks a store of artifacts: who runs the cases, how a store is made for them, and what came of each.

The cases themselves are in ``artifact_cases``. Nothing here needs pytest: a case raises to fail.
"""

from __future__ import annotations

import inspect
import itertools
import secrets
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from agentfp_core.artifacts import ArtifactMeta, PutArtifact, Scope

CaseOutcome: TypeAlias = Literal["passed", "not_applicable", "declared", "failed"]


@dataclass(frozen=True, kw_only=True)
class ArtifactStoreHarness:
    """How a store is made and handled. Each function may be sync or async.

    Args:
        name: the store's, for the report.
        create_store: makes a new, empty store.
        dispose_store: is handed it when a case is over.
        advance_time: is handed the store and milliseconds, by which its clock goes on.
        corrupt: is handed the store, a scope and a ref, and puts other bytes of the same form in place of the payload.
        bounded_store: makes a store whose scopes hold so many bytes.
        declared: cases that the store is known to fail, each with the reason.
    """

    name: str
    create_store: Callable[[], Any]
    dispose_store: Callable[[Any], Any] | None = None
    advance_time: Callable[[Any, int], Any] | None = None
    corrupt: Callable[[Any, Scope, str], Any] | None = None
    bounded_store: Callable[[int], Any] | None = None
    declared: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class CaseResult:
    """What came of one case.

    Args:
        case: its name.
        outcome: ``declared`` for one that is known to fail, whether it does or not.
        reason: why it failed, is not applicable, or was declared.
        still_fails: of a declared case: False says that the declaration is stale.
    """

    case: str
    outcome: CaseOutcome
    reason: str = ""
    still_fails: bool | None = None


@dataclass(frozen=True, slots=True)
class ArtifactStoreReport:
    """What came of all cases."""

    store: str
    results: tuple[CaseResult, ...]

    @property
    def ok(self) -> bool:
        """Whether none failed."""
        return not any(result.outcome == "failed" for result in self.results)

    def raise_for_failures(self) -> None:
        """Raise when a case failed.

        Raises:
            AssertionError: names each that did, and why.
        """
        lines = [f"{result.case}: {result.reason}" for result in self.results if result.outcome == "failed"]
        if lines:
            raise AssertionError("\n".join([f"the store {self.store!r} fails {len(lines)} of {len(self.results)} cases", *lines]))


@dataclass(frozen=True, slots=True)
class Case:
    """One case: what it needs, and the function that raises where the store does not hold it."""

    name: str
    run: Callable[[Kit], Any]
    hooks: tuple[str, ...] = ()
    members: tuple[str, ...] = ()


class Kit:
    """What a case works with.

    Attributes:
        store: the store.
        token: a text that no other case has.
    """

    def __init__(self, harness: ArtifactStoreHarness, store: Any) -> None:
        self.harness = harness
        self.store = store
        self.token = secrets.token_hex(6)
        self._counter = itertools.count()

    def scope(self, suffix: str = "a") -> Scope:
        """A scope of this case."""
        return Scope(f"conversation-{self.token}-{suffix}", f"tenant-{self.token}", f"principal-{self.token}")

    async def put(self, scope: Scope, data: Any = "data", **more: Any) -> ArtifactMeta:
        """Put something, and give what is known of it."""
        values: dict[str, Any] = {"kind": "test/thing", "media_type": "text/plain", **more}
        done = await self.store.put(scope, PutArtifact(data=data, **values))
        meta: ArtifactMeta = done.meta
        return meta

    async def now(self) -> int:
        """The store's time."""
        aside = self.scope(f"clock-{next(self._counter)}")
        probe = await self.put(aside)
        await self.store.delete(aside, probe.ref)
        return probe.created_at

    async def advance(self, ms: int) -> None:
        """Let the store's clock go on."""
        assert self.harness.advance_time is not None
        await resolved(self.harness.advance_time(self.store, ms))

    async def corrupt(self, scope: Scope, ref: str) -> None:
        """Put other bytes in place of a payload."""
        assert self.harness.corrupt is not None
        await resolved(self.harness.corrupt(self.store, scope, ref))

    async def refused(self, code: str, put: PutArtifact, scope: Scope) -> Exception:
        """See that a put is refused with an error of this code."""
        return await raising(code, self.store.put(scope, put))


async def raising(code: str, done: Awaitable[Any]) -> Exception:
    """The error that something raises, which must be of this code."""
    raised: Exception | None = None
    try:
        await done
    except Exception as error:
        raised = error
    assert raised is not None, f"it was not refused; {code} was to be raised"
    assert getattr(raised, "code", None) == code, f"it was refused with {type(raised).__name__}, and should be with {code}"
    return raised


async def resolved(value: Any) -> Any:
    """A value, or what comes of it when it is awaited."""
    return await value if inspect.isawaitable(value) else value


def artifact_store_cases() -> tuple[str, ...]:
    """The names of the cases, in order."""
    from agentfp_core.testing.conformance.artifact_cases import CASES

    return tuple([case.name for case in CASES])


async def check_artifact_case(harness: ArtifactStoreHarness, name: str) -> CaseResult:
    """Run one case.

    Args:
        harness: how the store is made.
        name: one of :func:`artifact_store_cases`.

    Returns:
        What came of it. Never raises for what a store does.
    """
    from agentfp_core.testing.conformance.artifact_cases import CASES

    case = next(case for case in CASES if case.name == name)
    try:
        made = await resolved(harness.create_store())
    except Exception as error:
        return CaseResult(name, "failed", f"create_store raised {type(error).__name__}: {error}")
    missing = [member for member in case.members if not callable(getattr(made, member, None))]
    if missing:
        await _disposed(harness, made)
        return CaseResult(name, "not_applicable", f"the store has no {', '.join(missing)}")
    reason = await _failure(harness, case, made)
    declared = harness.declared.get(name)
    if declared is not None:
        return CaseResult(name, "declared", declared, still_fails=reason is not None)
    return CaseResult(name, "passed") if reason is None else CaseResult(name, "failed", reason)


async def _failure(harness: ArtifactStoreHarness, case: Case, made: Any) -> str | None:
    store = made
    try:
        lacking = [hook for hook in case.hooks if getattr(harness, hook) is None]
        if lacking:
            return f"it needs {', '.join(lacking)} of the harness; supply it, or declare the case"
        if "bounded_store" in case.hooks and harness.bounded_store is not None:
            await _disposed(harness, made)
            store = await resolved(harness.bounded_store(64))
        begun = time.monotonic()
        await case.run(Kit(harness, store))
        return None if time.monotonic() - begun < 600 else "it took more than ten minutes"
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    finally:
        await _disposed(harness, store)


async def _disposed(harness: ArtifactStoreHarness, store: Any) -> None:
    if harness.dispose_store is not None:
        try:
            await resolved(harness.dispose_store(store))
        except Exception:  # how a store is thrown away says nothing of how it works
            return


async def check_artifact_store(harness: ArtifactStoreHarness, *, only: Sequence[str] | None = None) -> ArtifactStoreReport:
    """Check that a store of artifacts keeps the rules of stores.

    In a test of it::

        report = await check_artifact_store(ArtifactStoreHarness(name="mine", create_store=MyStore, advance_time=..., ...))
        report.raise_for_failures()

    Args:
        harness: how the store is made.
        only: names of cases; all of them where it is left out.
    """
    names = artifact_store_cases() if only is None else only
    return ArtifactStoreReport(harness.name, tuple([await check_artifact_case(harness, name) for name in names]))
