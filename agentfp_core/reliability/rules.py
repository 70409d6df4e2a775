"""Rules that decide, before and after each attempt of a model call, how it goes on: again, elsewhere, or not at all."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

import anyio

from agentfp_core.billing import failed_call
from agentfp_core.errors import ConfigError, ReliabilityFailFastError, text_of
from agentfp_core.events.error import FallbackTriggered, ReliabilityFailFast, ReliabilityRecovered, ReliabilityRetried, RuleFailed
from agentfp_core.messages import Message
from agentfp_core.model import Model, ModelChunk, ModelFeatures, ModelRequest, ModelResponse, ModelWrapper, TextChunk, resolve_model
from agentfp_core.protocol import streaming
from agentfp_core.raw_arguments import RawChecker
from agentfp_core.reliability.fallback import addressed, full_name, served_by, shared_features
from agentfp_core.reliability.kinds import ErrorKind, error_kind
from agentfp_core.retrying import RetryPolicy

Action: TypeAlias = Literal["continue", "ok", "retry", "retry-other", "fallback", "fail-fast"]
MAX_ATTEMPTS = 50
_BEFORE = ("continue", "ok", "retry-other", "fallback", "fail-fast")
_AFTER = ("ok", "continue", "retry", "retry-other", "fallback", "fail-fast")


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """What a rule sees of a call.

    Args:
        number: of the attempt, from 1.
        model: the model it goes to.
        request: what it is asked.
        prior_failures: attempts of this call that came to nothing.
        response: the reply, after an attempt that brought one.
        error: what was raised, or what is wrong with the reply.
        error_kind: the kind of the error; ``ok`` without one.
        shown: whether text of the reply was shown already.
    """

    number: int
    model: Model
    request: ModelRequest = field(repr=False)
    prior_failures: int = 0
    response: ModelResponse | None = field(default=None, repr=False)
    error: Exception | None = None
    error_kind: ErrorKind = "ok"
    shown: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One rule; the first whose ``when`` gives True decides. One that raises is passed over and reported.

    Args:
        when: whether it applies.
        then: ``ok`` or ``continue`` goes on; ``retry`` asks the same model again, ``retry-other`` the next one, ``fallback`` the
            fallback model; ``fail-fast`` ends the call.
        kind: one word for it on the record and in the error, such as ``budget`` or ``empty-reply``.
        label: words for people.
        feedback: a message for the model, sent along with the next attempt and kept nowhere.
    """

    when: Callable[[Attempt], bool]
    then: Action
    kind: str
    label: str | None = None
    feedback: str | None = None


class Reliability(ModelWrapper):
    """Calls models by rules.

    Without a rule that applies, a success goes on and a failure ends the call. Once text of a reply was shown, no rule can call for
    another attempt: such a decision ends the call as ``mid-stream-not-retryable``. A call has at most 50 attempts.

    A reply without tool calls that must fit a JSON schema (``request.output_schema_json``) and does not counts as a failure of the
    kind ``schema-fail``.

    Args:
        models: the models or their names; ``retry-other`` goes through them in a circle.
        pre_check: rules before each attempt.
        post_decide: rules after each attempt.
        fallback: the model of ``fallback``.
        waits: how long to wait before another attempt after an error; ``attempts`` of it is not used.
    """

    def __init__(
        self,
        *models: Model | str,
        pre_check: Sequence[Rule] = (),
        post_decide: Sequence[Rule] = (),
        fallback: Model | str | None = None,
        waits: RetryPolicy | None = None,
    ) -> None:
        _check(models, pre_check, post_decide, fallback)
        self.models: tuple[Model, ...] = tuple(resolve_model(model) for model in models)
        self.fallback = None if fallback is None else resolve_model(fallback)
        self.pre_check, self.post_decide = tuple(pre_check), tuple(post_decide)
        self.waits = waits or RetryPolicy()
        super().__init__(self.models[0])
        everyone = [*self.models, *([] if self.fallback is None else [self.fallback])]
        self._features = shared_features([model.features for model in everyone])

    @property
    def behind(self) -> Sequence[Model]:
        """Any of them, the last resort too."""
        return (*self.models, *([] if self.fallback is None else [self.fallback]))

    @property
    def features(self) -> ModelFeatures:
        """What all models have in common."""
        return self._features

    async def complete(self, request: ModelRequest) -> ModelResponse:
        """Call by the rules.

        Raises:
            ReliabilityFailFastError: a rule ended the call, or no rule could save it.
        """
        call = _Call(self, request)
        while True:
            call.before()
            response: ModelResponse | None = None
            error: Exception | None = None
            try:
                response = await call.model.complete(call.request())
            except Exception as caught:
                error = caught
            if await call.after(response, error, shown=False) and response is not None:
                return served_by(call.model, response)

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelChunk]:
        """Stream by the rules: the first piece of text decides that this attempt is the one that serves."""
        call = _Call(self, request)
        while True:
            call.before()
            shown = False
            response: ModelResponse | None = None
            error: Exception | None = None
            try:
                async with streaming(call.model, call.request()) as chunks:
                    async for chunk in chunks:
                        if isinstance(chunk, ModelResponse):
                            response = chunk
                            continue
                        shown = shown or (isinstance(chunk, TextChunk) and bool(chunk.text))
                        yield chunk
                if response is None:
                    response = await call.model.complete(call.request())
            except Exception as caught:
                error = caught
            if await call.after(response, error, shown=shown) and response is not None:
                yield served_by(call.model, response)
                return


class _Call:
    """One call and its attempts."""

    def __init__(self, owner: Reliability, request: ModelRequest) -> None:
        self._owner = owner
        self._wanted = request
        self._at = 0
        self._failures = 0
        self._via: Literal["retry", "retry-other", "fallback"] = "retry"
        self._last_kind: ErrorKind = "ok"
        self._feedback: str | None = None
        self.number = 1
        self.model = owner.models[0]

    def request(self) -> ModelRequest:
        request = addressed(self.model, self._wanted)
        if self._feedback is None:
            return request
        told = Message(f"feedback-{self.number}", "user", self._feedback, author="library")
        return dataclasses.replace(request, messages=(*request.messages, told))

    def before(self) -> None:
        """Apply the rules that come before an attempt."""
        for _ in range(len(self._owner.models) + 1):
            rule = self._match(self._owner.pre_check, self._attempt(None, None, shown=False), "pre-check")
            if rule is None or rule.then in ("continue", "ok"):
                return
            if rule.then == "fail-fast":
                raise self._fail_fast("pre-check", rule.kind, rule, None)
            self._move(rule, None)
        raise self._fail_fast("pre-check", "no-model-left", None, None)

    async def after(self, response: ModelResponse | None, error: Exception | None, *, shown: bool) -> bool:
        """Apply the rules that come after an attempt; says whether its reply serves."""
        error = error or _unfit(response, self._wanted)
        attempt = self._attempt(response, error, shown=shown)
        rule = self._match(self._owner.post_decide, attempt, "post-decide")
        action = rule.then if rule is not None else "ok" if error is None else "fail-fast"
        if action in ("ok", "continue") and response is not None:
            if self.number > 1:
                report = ReliabilityRecovered(self.number, self._via, self._failures, self._last_kind)
                self._wanted.report(report)
            return True
        if rule is None or action in ("ok", "continue", "fail-fast"):
            raise self._fail_fast("post-decide", rule.kind if rule is not None else attempt.error_kind, rule, error)
        if shown:
            raise self._fail_fast("post-decide", "mid-stream-not-retryable", rule, error)
        if self.number >= MAX_ATTEMPTS:
            raise self._fail_fast("post-decide", "too-many-attempts", rule, error)
        if response is not None:
            self._wanted.report(failed_call(self.model, _Spent(response)))
        elif getattr(error, "usage", None) is not None:
            self._wanted.report(failed_call(self.model, error or _Spent(response)))
        self._failures += 1
        self._last_kind = attempt.error_kind
        self._move(rule, error)
        self.number += 1
        if response is None:
            await anyio.sleep(self._owner.waits.wait(self._failures, getattr(error, "retry_after", None)))
        return False

    def _attempt(self, response: ModelResponse | None, error: Exception | None, *, shown: bool) -> Attempt:
        return Attempt(
            number=self.number,
            model=self.model,
            request=self._wanted,
            prior_failures=self._failures,
            response=response,
            error=error,
            error_kind=_kind(error),
            shown=shown,
        )

    def _match(self, rules: Sequence[Rule], attempt: Attempt, phase: Literal["pre-check", "post-decide"]) -> Rule | None:
        for rule in rules:
            try:
                if rule.when(attempt) is True:
                    return rule
            except Exception as error:  # a rule is the user's code; the call must not fail over it
                self._wanted.report(RuleFailed(phase, rule.kind, type(error).__name__, text_of(error)))
        return None

    def _move(self, rule: Rule, error: Exception | None) -> None:
        """Choose the model of the next attempt."""
        here, owner = self.model, self._owner
        self._feedback = rule.feedback
        if rule.then == "fallback":
            if owner.fallback is not None:
                self.model = owner.fallback
            self._via = "fallback"
            self._wanted.report(FallbackTriggered("provider", full_name(here), full_name(self.model), _words(error)))
            return
        if rule.then == "retry-other":
            self._at = (self._at + 1) % len(owner.models)
            self.model = owner.models[self._at]
        action: Literal["retry", "retry-other"] = "retry-other" if rule.then == "retry-other" else "retry"
        self._via = action
        self._wanted.report(ReliabilityRetried(self.number, action, _kind(error), full_name(here), full_name(self.model), _words(error)))

    def _fail_fast(
        self, phase: Literal["pre-check", "post-decide"], kind: str, rule: Rule | None, error: Exception | None
    ) -> ReliabilityFailFastError:
        failed = _kind(error)
        self._wanted.report(
            ReliabilityFailFast(
                phase,
                kind,
                self.number,
                full_name(self.model),
                None if error is None else failed,
                _words(error),
            )
        )
        reason = (rule.label or rule.kind) if rule is not None else "no rule could save the call"
        made = ReliabilityFailFastError(
            f"the call of model {self.model.name!r} of {self.model.provider!r} was ended at attempt {self.number} ({kind}): {reason}",
            kind=kind,
            reason=reason,
            payload={"phase": phase, "attempt": self.number, "model": full_name(self.model), "error_kind": failed},
            provider=self.model.provider,
            model=self.model.name,
            status=getattr(error, "status", None),
            request_id=getattr(error, "request_id", None),
            retry_after=getattr(error, "retry_after", None),
            usage=getattr(error, "usage", None),
        )
        made.__cause__ = error
        return made


class SchemaUnmetError(Exception):
    """A reply does not fit the schema that it must fit."""


class _Spent(Exception):
    """Carries the tokens of a reply that was thrown away."""

    def __init__(self, response: ModelResponse | None) -> None:
        self.usage = None if response is None else response.usage
        self.request_id = None if response is None else response.request_id
        super().__init__("the reply was not used")


def _words(error: Exception | None) -> str | None:
    return None if error is None else text_of(error)


def _kind(error: Exception | None) -> ErrorKind:
    return "schema-fail" if isinstance(error, SchemaUnmetError) else error_kind(error)


def _unfit(response: ModelResponse | None, request: ModelRequest) -> Exception | None:
    if response is None or request.output_schema_json is None or response.tool_calls:
        return None
    try:
        value = json.loads(response.text)
    except ValueError:
        return SchemaUnmetError("the reply is no JSON")
    wrong = RawChecker(request.output_schema_json).issues(value)
    return SchemaUnmetError(f"the reply does not fit its schema in {len(wrong)} places") if wrong else None


def _check(models: Sequence[Any], before: Sequence[Rule], after: Sequence[Rule], fallback: Any) -> None:
    problems = [] if models else ["it needs at least one model"]
    for where, rules, allowed in (("pre_check", before, _BEFORE), ("post_decide", after, _AFTER)):
        for rule in rules:
            if rule.then not in allowed:
                problems.append(f"{where} rule {rule.kind!r}: then takes one of {', '.join(allowed)}, got {rule.then!r}")
            elif rule.then == "fallback" and fallback is None:
                problems.append(f"{where} rule {rule.kind!r} falls back, and there is no fallback model; pass fallback=")
            elif rule.then == "retry-other" and len(models) < 2:
                problems.append(f"{where} rule {rule.kind!r} goes to another model, and there is one only; pass a second one")
    if problems:
        raise ConfigError([f"Reliability: {problem}" for problem in problems])
