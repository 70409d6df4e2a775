"""Models tried again, replaced, left alone while they are down, and ruled by rules: alone and inside a run, streamed and not."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from decimal import Decimal
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from agentfp import (
    Agent,
    Attempt,
    CircuitBreaker,
    CircuitOpenError,
    ConfigError,
    ContentFilterError,
    Fallback,
    ModelBadRequestError,
    ModelConnectionError,
    ModelError,
    ModelFeatureError,
    ModelOverloadedError,
    ModelRateLimitError,
    Reliability,
    ReliabilityFailFastError,
    Retry,
    RetryPolicy,
    Rule,
    error_kind,
    humanize,
    tool,
)
from agentfp.model import CacheMark, Model, ModelChunk, ModelFeatures, ModelRequest, ModelResponse, Prices, TextChunk, ToolCall, Usage

pytestmark = pytest.mark.anyio
QUICK = RetryPolicy(initial=0.001, longest=0.01)
BUSY = ModelOverloadedError("busy", status=503)


class Scripted:
    """A model that gives one item a call: a text, a response, an error, or a list of pieces of which the last may be an error."""

    def __init__(self, *items: Any, name: str = "m", streaming: bool = False, **features: Any) -> None:
        self.provider, self.name = "acme", name
        self.features = ModelFeatures(streaming=streaming, **features)
        self.items = list(items)
        self.requests: list[ModelRequest] = []
        self.closed = 0

    def _next(self, request: ModelRequest) -> Any:
        self.requests.append(request)
        item = self.items[min(len(self.requests), len(self.items)) - 1]
        return ModelResponse(text=item) if isinstance(item, str) else item

    async def complete(self, request: ModelRequest) -> ModelResponse:
        item = self._next(request)
        await anyio.lowlevel.checkpoint()
        if isinstance(item, BaseException):
            raise item
        made: ModelResponse = item
        return made

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelChunk]:
        item = self._next(request)
        pieces = item if isinstance(item, list) else [item]
        try:
            for piece in pieces:
                await anyio.lowlevel.checkpoint()
                if isinstance(piece, BaseException):
                    raise piece
                if isinstance(piece, ModelResponse):
                    yield TextChunk(piece.text)
                yield TextChunk(piece) if isinstance(piece, str) else piece
        finally:
            self.closed += 1


def asked(reports: list[Any] | None = None, **fields: Any) -> ModelRequest:
    return ModelRequest(system="", messages=(), report=(reports if reports is not None else []).append, **fields)


async def ask(model: Model, request: ModelRequest | None = None) -> ModelResponse:
    """One call, streamed where the model streams; the text shown must be that of the reply."""
    request = request or asked()
    if not model.features.streaming:
        return await model.complete(request)
    shown, response = "", None
    async for chunk in model.stream(request):
        if isinstance(chunk, ModelResponse):
            response = chunk
        elif isinstance(chunk, TextChunk):
            shown += chunk.text
    assert response is not None
    assert response.text == shown
    return response


@pytest.fixture(params=[False, True], ids=["whole", "streamed"])
def streaming(request: pytest.FixtureRequest) -> bool:
    made: bool = request.param
    return made


def names(reports: Sequence[Any]) -> list[str]:
    return [report.event_name.removeprefix("agentfp.") for report in reports]


# --- retry -----------------------------------------------------------------------------------------------------------------------


async def test_a_failed_call_is_tried_again_and_reported(streaming: bool) -> None:
    reports: list[Any] = []
    inner = Scripted(BUSY, ModelRateLimitError("slow", status=429, retry_after=0.004), "hi", streaming=streaming)
    assert (await ask(Retry(inner, QUICK), asked(reports))).text == "hi"
    assert names(reports) == ["error.retried", "error.retried", "error.recovered"]
    assert (reports[1].backoff_ms, reports[1].stated_wait_ms, reports[1].last_error) == (4, 4, "slow")
    assert reports[2].attempt == 3


async def test_the_last_error_goes_on_and_what_does_not_pass_is_not_tried_again(streaming: bool) -> None:
    inner = Scripted(BUSY, streaming=streaming)
    with pytest.raises(ModelOverloadedError):
        await ask(Retry(inner, QUICK))
    assert len(inner.requests) == 3
    for error in (ModelBadRequestError("no", status=400), ModelError("no", status=408), ContentFilterError("no")):
        inner = Scripted(error, streaming=streaming)
        with pytest.raises(type(error)):
            await ask(Retry(inner, QUICK))
        assert len(inner.requests) == 1


@pytest.mark.parametrize("wrap", [lambda m: Retry(m, QUICK), lambda m: Fallback(m, Scripted("other", streaming=True))])
async def test_a_stream_that_has_shown_text_is_final(wrap: Any) -> None:
    inner = Scripted(["one ", BUSY], "never", streaming=True)
    got: list[str] = []

    async def read() -> None:
        async for chunk in wrap(inner).stream(asked()):
            got.append(chunk.text)  # noqa: PERF401  # it fails in the middle

    with pytest.raises(ModelOverloadedError):
        await read()
    assert (got, len(inner.requests), inner.closed) == (["one "], 1, 1)


@pytest.mark.parametrize(
    "wrap",
    [
        lambda m: Retry(m, QUICK),
        lambda m: Fallback(m, Scripted("other", streaming=m.features.streaming)),
        CircuitBreaker,
        lambda m: Reliability(m, post_decide=[Rule(when=lambda a: True, then="retry", kind="always")]),
    ],
)
async def test_a_cancelled_call_is_not_tried_again(wrap: Any, streaming: bool) -> None:
    class Hanging(Scripted):
        async def complete(self, request: ModelRequest) -> ModelResponse:
            self.requests.append(request)
            await anyio.sleep_forever()
            raise AssertionError

        async def stream(self, request: ModelRequest) -> AsyncIterator[ModelChunk]:
            self.requests.append(request)
            await anyio.sleep_forever()
            yield TextChunk("never")

    inner = Hanging(streaming=streaming)
    with anyio.move_on_after(0.05) as scope:
        await ask(wrap(inner))
    assert scope.cancelled_caught
    assert len(inner.requests) == 1


# --- fallback --------------------------------------------------------------------------------------------------------------------


async def test_another_model_serves_and_the_reply_says_so(streaming: bool) -> None:
    reports: list[Any] = []
    first, second = Scripted(BUSY, name="a", streaming=streaming), Scripted("hi", name="b", streaming=streaming)
    model = Fallback(first, second)
    got = await ask(model, asked(reports))
    assert (got.text, got.model, got.by) == ("hi", "b", second)
    (report,) = reports
    assert (report.kind, report.primary, report.fallback, report.reason) == ("provider", "acme:a", "acme:b", "busy")
    assert second.requests[0].model == "b"


async def test_when_all_fail_the_last_error_tells_of_the_others(streaming: bool) -> None:
    model = Fallback(Scripted(BUSY, name="a", streaming=streaming), Scripted(ModelConnectionError("gone"), name="b", streaming=streaming))
    with pytest.raises(ModelConnectionError) as caught:
        await ask(model)
    assert caught.value.__notes__ == ["before that, acme:a failed: ModelOverloadedError: busy"]


async def test_a_condition_says_what_is_a_reason(streaming: bool) -> None:
    second = Scripted("hi", streaming=streaming)
    model = Fallback(Scripted(ContentFilterError("no"), streaming=streaming), second, when=lambda e: isinstance(e, ModelOverloadedError))
    with pytest.raises(ContentFilterError):
        await ask(model)
    assert not second.requests


async def test_its_features_are_what_all_have_and_cache_marks_go_to_those_that_know_them() -> None:
    a = Scripted(BUSY, prompt_cache="breakpoints", json_schema=True, images=True, context_window=1000, roles=("system", "user"))
    b = Scripted("hi", prompt_cache="automatic", images=True, context_window=500, roles=("user", "tool"), forced_tool_choice=True)
    model = Fallback(a, b)
    features = model.features
    assert (features.images, features.json_schema, features.forced_tool_choice, features.context_window) == (True, False, False, 500)
    assert (features.prompt_cache, features.roles) == ("breakpoints", ("user",))
    await ask(model, asked(cache_marks=(CacheMark("system", 10),)))
    assert (len(a.requests[0].cache_marks), len(b.requests[0].cache_marks)) == (1, 0)


async def test_a_run_is_priced_as_the_model_that_served_it_and_pays_for_what_failed() -> None:
    a = Scripted(ModelOverloadedError("busy", usage=Usage(100, 0)), name="a", prices=Prices(input=Decimal("0.01"), output=Decimal("0.01")))
    b = Scripted(ModelResponse(text="hi", usage=Usage(10, 1)), name="b", prices=Prices(input=Decimal(2), output=Decimal(3)))
    result = await Agent(Fallback(a, b)).run("go")
    assert (result.usage.input, result.usage.output) == (110, 1)
    ticks: list[Any] = [event.payload for event in result.record.events("agentfp.cost.tick")]
    assert [tick.cumulative_usd for tick in ticks] == ["1.00", "24.00"]
    assert [event.name for event in result.record if "fallback" in event.name or "call_failed" in event.name] == [
        "agentfp.model.call_failed",
        "agentfp.fallback.triggered",
    ]


def test_one_model_is_no_fallback() -> None:
    with pytest.raises(ConfigError, match="at least two"):
        Fallback(Scripted("x"))


async def test_a_wish_that_one_model_lacks_is_refused_before_anything_is_sent() -> None:
    a, b = Scripted("x", tools=True), Scripted("x", tools=False)

    @tool
    def look() -> str:
        """Look."""
        return ""

    with pytest.raises(ModelFeatureError):
        await Agent(Fallback(a, b), tools=[look]).run("go")
    assert not a.requests


# --- circuit breaker -------------------------------------------------------------------------------------------------------------


class Time:
    now = 0.0

    def __call__(self) -> float:
        return self.now


async def test_five_failures_open_the_circuit_one_probe_follows_and_two_successes_close_it(streaming: bool) -> None:
    reports: list[Any] = []
    clock = Time()
    inner = Scripted(*[BUSY] * 5, "one", "two", "three", streaming=streaming)
    model = CircuitBreaker(inner, clock=clock)
    for _ in range(5):
        with pytest.raises(ModelOverloadedError):
            await ask(model, asked(reports))
    assert model.state == "open"
    with pytest.raises(CircuitOpenError) as caught:
        await ask(model, asked(reports))
    assert (len(inner.requests), caught.value.retry_after, error_kind(caught.value)) == (5, 30.0, "circuit-open")
    clock.now = 30.0
    assert (await ask(model, asked(reports))).text == "one"
    assert str(model.state) == "half-open"
    assert (await ask(model, asked(reports))).text == "two"
    assert str(model.state) == "closed"
    assert [report.state for report in reports] == ["open", "half-open", "closed"]


async def test_a_probe_that_fails_opens_it_again_and_only_one_call_probes(streaming: bool) -> None:
    clock = Time()
    inner = Scripted(BUSY, BUSY, "back", streaming=streaming)
    model = CircuitBreaker(inner, failures=1, cooldown=10, clock=clock)
    with pytest.raises(ModelOverloadedError):
        await ask(model)
    clock.now = 10.0
    refused = 0

    async def probe() -> None:
        nonlocal refused
        try:
            await ask(model)
        except CircuitOpenError:
            refused += 1
        except ModelOverloadedError:
            pass

    async with anyio.create_task_group() as tasks:
        for _ in range(5):
            tasks.start_soon(probe)
    assert (refused, len(inner.requests), model.state) == (4, 2, "open")
    clock.now = 20.0
    assert (await ask(model)).text == "back"


async def test_what_is_the_callers_fault_or_a_cancellation_does_not_count(streaming: bool) -> None:
    inner = Scripted(ModelBadRequestError("no", status=400), streaming=streaming)
    model = CircuitBreaker(inner, failures=1)
    with pytest.raises(ModelBadRequestError):
        await ask(model)
    assert str(model.state) == "closed"


async def test_leaving_a_probing_stream_early_lets_the_next_call_probe() -> None:
    clock = Time()
    model = CircuitBreaker(Scripted(BUSY, ["a", "b"], "back", streaming=True), failures=1, cooldown=1, clock=clock)
    with pytest.raises(ModelOverloadedError):
        await ask(model)
    clock.now = 1.0
    stream = model.stream(asked())
    assert await anext(stream) == TextChunk("a")
    await stream.aclose()  # type: ignore[attr-defined]
    assert (await ask(model)).text == "back"


def test_settings_of_a_breaker_are_checked_all_at_once() -> None:
    with pytest.raises(ConfigError) as caught:
        CircuitBreaker(Scripted("x"), failures=0, half_open_successes=True, cooldown=-1)
    assert len(caught.value.problems) == 3


# --- rules -----------------------------------------------------------------------------------------------------------------------


def on(kind: str, then: Any, **more: Any) -> Rule:
    return Rule(when=lambda attempt: attempt.error_kind == kind, then=then, kind=kind, **more)


async def test_without_a_rule_success_goes_on_and_failure_ends_the_call(streaming: bool) -> None:
    assert (await ask(Reliability(Scripted("hi", streaming=streaming)))).text == "hi"
    reports: list[Any] = []
    with pytest.raises(ReliabilityFailFastError) as caught:
        await ask(Reliability(Scripted(BUSY, streaming=streaming)), asked(reports))
    error = caught.value
    assert (error.kind, error.payload["attempt"], error.status, error.__cause__) == ("5xx-transient", 1, 503, BUSY)
    assert names(reports) == ["reliability.fail_fast"]


async def test_rules_send_a_call_to_other_models_and_say_how_it_was_saved(streaming: bool) -> None:
    reports: list[Any] = []
    a, b = Scripted(BUSY, name="a", streaming=streaming), Scripted(BUSY, name="b", streaming=streaming)
    c = Scripted("saved", name="c", streaming=streaming)
    rules = [
        Rule(when=lambda attempt: attempt.number == 1, then="retry-other", kind="first"),
        Rule(when=lambda attempt: attempt.error is not None, then="fallback", kind="second"),
    ]
    got = await ask(Reliability(a, b, post_decide=rules, fallback=c, waits=QUICK), asked(reports))
    assert (got.text, got.by) == ("saved", c)
    assert names(reports) == ["reliability.retried", "fallback.triggered", "reliability.recovered"]
    assert (reports[0].from_provider, reports[0].to_provider) == ("acme:a", "acme:b")
    assert (reports[2].recovered_via, reports[2].prior_failures, reports[2].attempt) == ("fallback", 2, 3)


async def test_feedback_is_sent_with_the_next_attempt_and_only_with_it() -> None:
    empty = Rule(
        when=lambda attempt: attempt.response is not None and not attempt.response.text, then="retry", kind="empty", feedback="Say it."
    )
    inner = Scripted("", ModelResponse(text="", usage=Usage(5, 1)), "hi")
    reports: list[Any] = []
    request = asked(reports)
    assert (await ask(Reliability(inner, post_decide=[empty]), request)).text == "hi"
    assert [[message.content for message in sent.messages] for sent in inner.requests] == [[], ["Say it."], ["Say it."]]
    assert request.messages == ()
    assert [report.input_tokens for report in reports if report.event_name == "agentfp.model.call_failed"] == [None, 5]


async def test_once_text_was_shown_no_rule_can_ask_again() -> None:
    inner = Scripted(["one ", BUSY], streaming=True)
    with pytest.raises(ReliabilityFailFastError) as caught:
        await ask(Reliability(inner, post_decide=[on("5xx-transient", "retry")], waits=QUICK))
    assert (caught.value.kind, len(inner.requests)) == ("mid-stream-not-retryable", 1)


async def test_a_reply_that_does_not_fit_its_schema_is_a_failure_of_its_own_kind() -> None:
    schema = '{"type":"object","required":["a"],"properties":{"a":{"type":"integer"}}}'
    inner = Scripted("no json", '{"a":"x"}', ModelResponse(tool_calls=(ToolCall("1", "t"),)), json_schema=True)
    model = Reliability(inner, post_decide=[on("schema-fail", "retry")])
    got = await ask(model, asked(output_schema_json=schema))
    assert (len(inner.requests), got.tool_calls[0].name) == (3, "t")


async def test_rules_before_an_attempt_may_end_or_move_it(streaming: bool) -> None:
    a, b = Scripted("a", name="a", streaming=streaming), Scripted("b", name="b", streaming=streaming)
    stop = Rule(when=lambda attempt: True, then="fail-fast", kind="budget", label="no money left")
    with pytest.raises(ReliabilityFailFastError, match="no money left") as caught:
        await ask(Reliability(a, pre_check=[stop]))
    assert (caught.value.kind, a.requests) == ("budget", [])
    move = Rule(when=lambda attempt: attempt.model is a, then="retry-other", kind="not-a")
    assert (await ask(Reliability(a, b, pre_check=[move]))).text == "b"
    circle = Rule(when=lambda attempt: True, then="retry-other", kind="nobody")
    with pytest.raises(ReliabilityFailFastError, match="no-model-left"):
        await ask(Reliability(a, b, pre_check=[circle]))


async def test_a_rule_that_raises_is_passed_over_and_reported(streaming: bool) -> None:
    def broken(attempt: Attempt) -> bool:
        raise KeyError("x")

    reports: list[Any] = []
    rules = [Rule(when=broken, then="fail-fast", kind="broken")]
    assert (await ask(Reliability(Scripted("hi", streaming=streaming), pre_check=rules), asked(reports))).text == "hi"
    assert (names(reports), reports[0].rule, reports[0].error_class) == (["reliability.rule_failed"], "broken", "KeyError")


async def test_a_call_has_fifty_attempts_at_most(streaming: bool) -> None:
    inner = Scripted(BUSY, streaming=streaming)
    waits = RetryPolicy(initial=0, longest=0)
    with pytest.raises(ReliabilityFailFastError) as caught:
        await ask(Reliability(inner, post_decide=[on("5xx-transient", "retry")], waits=waits))
    assert (caught.value.kind, len(inner.requests)) == ("too-many-attempts", 50)


def test_rules_that_can_never_act_are_refused() -> None:
    with pytest.raises(ConfigError) as caught:
        Reliability(
            Scripted("x"),
            pre_check=[Rule(when=lambda a: True, then="retry", kind="r")],
            post_decide=[Rule(when=lambda a: True, then=then, kind=str(then)) for then in ("fallback", "retry-other")],
        )
    assert len(caught.value.problems) == 3


async def test_a_call_ended_by_a_rule_is_not_offered_for_resuming() -> None:
    @tool
    def look() -> str:
        """Look."""
        return "seen"

    inner = Scripted(ModelResponse(tool_calls=(ToolCall("1", "look"),)), BUSY)
    with pytest.raises(ReliabilityFailFastError):
        await Agent(Reliability(inner), tools=[look]).run("go")


@pytest.mark.parametrize(
    "wrap", [lambda m: Retry(m, QUICK), lambda m: Fallback(m, Scripted("x", streaming=True)), CircuitBreaker, Reliability]
)
async def test_a_stream_that_is_no_generator_is_handed_on_too(wrap: Any) -> None:
    class Chunks:
        def __init__(self) -> None:
            self.left: list[ModelChunk] = [TextChunk("hi"), ModelResponse(text="hi")]

        def __aiter__(self) -> Chunks:
            return self

        async def __anext__(self) -> ModelChunk:
            if not self.left:
                raise StopAsyncIteration
            return self.left.pop(0)

    class Plain(Scripted):
        def stream(self, request: ModelRequest) -> AsyncIterator[ModelChunk]:
            return Chunks()

    assert (await ask(wrap(Plain(streaming=True)))).text == "hi"


# --- kinds and words -------------------------------------------------------------------------------------------------------------


class VendorError(Exception):
    def __init__(self, text: str = "", status_code: int | None = None) -> None:
        if status_code is not None:
            self.status_code = status_code
        super().__init__(text)


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (None, "ok"),
        (CircuitOpenError("x"), "circuit-open"),
        (VendorError(status_code=429), "rate-limit"),
        (ModelRateLimitError("x"), "rate-limit"),
        (VendorError(status_code=500), "5xx-transient"),
        (VendorError(status_code=599), "5xx-transient"),
        (VendorError("Connection reset by peer"), "5xx-transient"),
        (VendorError("request timed out"), "5xx-transient"),
        (TimeoutError(), "5xx-transient"),
        (ModelConnectionError("x"), "5xx-transient"),
        (VendorError(status_code=400), "unknown"),
        (VendorError("connection reset", status_code=400), "unknown"),
        (ValueError("x"), "unknown"),
    ],
)
def test_the_kind_of_an_error(error: Exception | None, kind: str) -> None:
    assert error_kind(error) == kind


@pytest.mark.parametrize("error", [BUSY, ContentFilterError("SECRET"), ValueError("SECRET"), CircuitOpenError("SECRET")])
def test_a_person_reads_a_sentence_without_details(error: Exception) -> None:
    words = humanize(error)
    assert words.endswith(".")
    assert "SECRET" not in words
    wrapped = RuntimeError("outer")
    wrapped.__cause__ = error
    assert humanize(wrapped) == words
