"""What stands on spans besides the tree: verdicts, decisions, tokens under each version of the conventions; metrics, logs, profiles."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import pytest
from opentelemetry._logs import SeverityNumber

from agentfp import ConfigError, Identity, Limits, Prices, ToolContext, tool
from agentfp.events import Retried
from agentfp.model import ModelRequest, ModelResponse, Usage
from agentfp.plugin import Content, Message, Name, Payload, Plugin, RequestDraft, Run, event, hookimpl
from agentfp.testing import ScriptedModel, call, check_plugin
from agentfp_evidence import Evidence
from agentfp_otel import Otel
from tests.observability.otel.tracing import Backend, agent, attributes, events, look, span_id, trace_id

pytestmark = pytest.mark.anyio

ANTHROPIC = ModelResponse(text="done", usage=Usage(input=110, output=30, cache_read=80, cache_write=10, thinking=12))
"""20 tokens that were new, 80 read from the cache and 10 written to it: a provider's adapter adds them up."""


@pytest.mark.parametrize(
    ("semconv", "written"),
    [
        ("genai_latest", {"gen_ai.usage.cache_write.input_tokens"}),
        ("core_1_41", {"gen_ai.usage.cache_creation.input_tokens"}),
        ("both_cache_keys", {"gen_ai.usage.cache_write.input_tokens", "gen_ai.usage.cache_creation.input_tokens"}),
    ],
)
async def test_tokens_under_each_version_of_the_conventions(semconv: Any, written: set[str]) -> None:
    backend = Backend(semconv=semconv)
    await agent(backend, ANTHROPIC).run("go")
    chat, root = attributes(backend.one("chat")), attributes(backend.one("invoke_agent"))
    assert chat["gen_ai.usage.input_tokens"] == 110
    assert chat["gen_ai.usage.output_tokens"] == 30
    assert chat["gen_ai.usage.cache_read.input_tokens"] == 80
    assert chat["gen_ai.usage.reasoning.output_tokens"] == 12
    assert {key for key in chat if "cache_write" in key or "cache_creation" in key} == written
    assert all(chat[key] == 10 for key in written)
    assert root["agentfp.semconv.profile"] == semconv
    assert ("gen_ai.agent.id" in root) is (semconv == "core_1_41")


async def test_the_environment_may_ask_for_the_newest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_SEMCONV_STABILITY_OPT_IN", "http, gen_ai_latest_experimental")
    backend = Backend(semconv="core_1_41")
    await agent(backend, "hi").run("go")
    assert attributes(backend.one("invoke_agent"))["agentfp.semconv.profile"] == "genai_latest"


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [("bedrock", "aws.bedrock"), ("gemini", "gcp.gemini"), ("mistral", "mistral_ai"), ("openai", "openai"), ("own", "own")],
)
async def test_providers_have_their_well_known_names(ours: str, theirs: str) -> None:
    backend = Backend()
    await agent(backend).run("go", model=ScriptedModel(["hi"], provider=ours, name="m"))
    for span in (backend.one("chat m"), backend.one("invoke_agent")):
        assert attributes(span)["gen_ai.provider.name"] == theirs


async def test_metrics_of_the_newest_conventions() -> None:
    backend = Backend()

    @tool
    def fail() -> str:
        """Fail."""
        raise KeyError("x")

    await agent(backend, [call("look", x=1), call("fail")], ANTHROPIC, tools=[look, fail]).run("go")
    metrics = backend.metrics()
    labels = {"gen_ai.operation.name": "chat", "gen_ai.provider.name": "scripted", "gen_ai.request.model": "script"}
    (inference,) = metrics["gen_ai.client.inference.duration"]
    assert (inference.count, dict(inference.attributes)) == (2, labels)
    (written,) = metrics["gen_ai.client.inference.usage.cache_write.input_tokens"]
    assert (written.value, dict(written.attributes)) == (10, labels)
    chats = [attributes(span)["gen_ai.usage.input_tokens"] for span in backend.named("chat")]
    assert metrics["gen_ai.client.inference.usage.input_tokens"][0].value == sum(chats)
    assert metrics["gen_ai.client.inference.usage.reasoning.output_tokens"][0].value == 12
    tools = {dict(point.attributes)["gen_ai.tool.name"]: dict(point.attributes) for point in metrics["gen_ai.execute_tool.duration"]}
    assert "error.type" not in tools["look"]
    assert tools["fail"]["error.type"] == "KeyError"
    (turn,) = metrics["gen_ai.invoke_agent.duration"]
    assert dict(turn.attributes)["agentfp.run.status"] == "answered"
    assert [metrics[f"gen_ai.invoke_agent.{calls}"][0].sum for calls in ("inference_calls", "tool_calls")] == [2, 2]
    assert not {"gen_ai.client.token.usage", "gen_ai.client.operation.duration"} & set(metrics)


async def test_metrics_of_the_conventions_before() -> None:
    backend = Backend(semconv="core_1_41")
    await agent(backend, ANTHROPIC).run("go")
    metrics = backend.metrics()
    assert {dict(point.attributes)["gen_ai.token.type"]: point.sum for point in metrics["gen_ai.client.token.usage"]} == {
        "input": 110,
        "output": 30,
    }
    assert metrics["gen_ai.client.operation.duration"][0].count == 1
    assert not [name for name in metrics if name.startswith("gen_ai.client.inference")]


async def test_no_id_is_a_label_of_a_metric() -> None:
    backend = Backend()
    result = await agent(backend, call("look", id="call-77", x=1), "done").run("go", session_id="session-88")
    points = [dict(point.attributes) for all_points in backend.metrics().values() for point in all_points]
    assert points
    assert not any(word in str(points) for word in (result.run_id, result.root_id, "call-77", "session-88"))


async def test_metrics_can_be_left_out() -> None:
    backend = Backend(metrics=False)
    await agent(backend, "hi").run("go")
    assert not backend.metrics()


PRICES = {"script": Prices(input=Decimal(3), output=Decimal(15))}


async def test_costs_stand_on_the_call_and_on_the_turn() -> None:
    backend = Backend()
    used = ModelResponse(text="", tool_calls=(), usage=Usage(1000, 200))
    made = agent(backend, lambda _: ModelResponse(text="done", usage=used.usage), prices=PRICES, limits=Limits(usd=0.001, on_usd="warn"))
    result = await made.run("go")
    chat, root = attributes(backend.one("chat")), backend.one("invoke_agent")
    assert chat["agentfp.cost.usd"] == attributes(root)["agentfp.cost.usd"] == float(result.cost_usd or 0) > 0
    assert backend.metrics()["agentfp.cost.usd"][0].value == chat["agentfp.cost.usd"]
    hit = events(root)["agentfp.cost.limit_hit"]
    assert (hit["kind"], hit["action"]) == ("max_cost", "warn")


# --- the answer ------------------------------------------------------------------------------------------------------------------


@tool
def price() -> dict[str, Any]:
    """The price."""
    return {"price": 1234}


async def test_the_verdict_on_the_evidence_and_its_counts() -> None:
    backend = Backend()
    script = [call("price"), "It costs 1234, down from 98765.25."]
    result = await agent(backend, *script, tools=[price], plugins=[Evidence(on_unsupported="flag")]).run("What does it cost?")
    report = Evidence.report(result)
    assert report is not None
    root = backend.one("invoke_agent")
    seen = attributes(root)
    assert seen["agentfp.evidence.action"] == "flagged"
    assert seen["agentfp.evidence.supported"] == sum(value.verdict == "supported" for value in report.values) > 0
    assert seen["agentfp.evidence.unsupported"] == len(report.unsupported) > 0
    noted = events(root)
    assert noted["agentfp.evidence.checked"]["unsupported"] == seen["agentfp.evidence.unsupported"]
    assert noted["gen_ai.evaluation.result"]["gen_ai.evaluation.score.label"] == "flagged"
    check = backend.one("agentfp.assess_answer")
    assert attributes(check)["agentfp.evidence.action"] == "flagged"
    assert check.parent is not None
    assert check.parent.span_id == span_id(backend.one("iteration 2"))
    assert "98765.25" not in "".join(span.to_json() for span in backend.spans)
    assert {dict(point.attributes)["agentfp.evidence.action"]: point.value for point in backend.metrics()["agentfp.evidence.checks"]} == {
        "flagged": 1
    }


async def test_an_answer_that_is_sent_back_is_judged_twice() -> None:
    backend = Backend()
    script = [call("price"), "It costs 777.", "It costs 1234."]
    await agent(backend, *script, tools=[price], plugins=[Evidence(on_unsupported="revise", act_on="any")]).run("What does it cost?")
    checks = [attributes(span)["agentfp.evidence.action"] for span in backend.named("agentfp.assess_answer")]
    assert checks == ["revision-asked", "grounded"]
    assert attributes(backend.one("invoke_agent"))["agentfp.evidence.action"] == "grounded"
    routes = [noted["agentfp.agent.route_decided"]["chosen"] for noted in map(events, backend.named("iteration"))]
    assert routes == ["tool-calls", "evidence-recheck", "final"]


async def test_events_of_any_plugin_are_span_events_without_their_content() -> None:
    @event("acme.port.watched")
    class Watched(Payload):
        """A port was watched."""

        port: Name[str]
        said: Content[str]
        parts: Name[tuple[str, ...]] = ()

    class Watcher(Plugin):
        """Watches."""

        name = "watcher"
        events = (Watched,)

        @hookimpl(phase="judge")
        def after_result(self, call: Any, run: Run[Any]) -> None:
            run.emit(Watched("p" * 300, "secret", tuple("abcdefghijklmnopqrstuvwxyz")), call_id=call.id)

    backend = Backend()
    await agent(backend, call("look", x=1), "done", plugins=[Watcher()]).run("go")
    noted = events(backend.one("iteration 1"))["acme.port.watched"]
    assert set(noted) == {"port", "parts"}
    assert noted["port"] == "p" * 255 + "…"
    assert noted["parts"] == tuple("abcdefghijklmnopqrst")


async def test_without_explainability_there_are_no_span_events() -> None:
    backend = Backend(explainability=False)
    await agent(backend, call("price"), "It costs 777.", tools=[price], plugins=[Evidence(on_unsupported="flag")]).run("?")
    assert not any(span.events for span in backend.spans)
    root = attributes(backend.one("invoke_agent"))
    assert root["agentfp.evidence.action"] == "flagged"
    assert root["gen_ai.usage.input_tokens"]


async def test_attempts_of_a_request_are_one_span() -> None:
    class Retrying(ScriptedModel):
        async def complete(self, request: ModelRequest) -> ModelResponse:
            request.report(Retried(1, 3, 5, "http-529", None, "secret words"))
            request.report(Retried(2, 3, 5, "http-529", None, "secret words"))
            return await super().complete(request)

    backend = Backend()
    await agent(backend).run("go", model=Retrying(["done"]))
    chat = backend.one("chat")
    assert attributes(chat)["agentfp.attempts"] == 3
    assert events(chat)["agentfp.error.retried"]["reason"] == "http-529"
    assert "secret" not in chat.to_json()


async def test_a_window_that_shortens_the_request_is_told() -> None:
    class Window(Plugin):
        """Hides the first message from the second call on."""

        name = "window"

        @hookimpl(phase="window")
        def serve_context(self, draft: RequestDraft) -> None:
            if draft.call == 2:
                draft.ticket(draft.messages[0].id, "(earlier)")

    backend = Backend()
    await agent(backend, call("look", x=1), call("look", x=2), "done", plugins=[Window()]).run("go")
    assert [attributes(span).get("gen_ai.conversation.compacted") for span in backend.named("chat")] == [None, True, True]


async def test_model_calls_of_plugins_have_spans_with_their_purpose() -> None:
    class Judge(Plugin):
        """Asks a model."""

        name = "judge"

        @hookimpl(phase="judge")
        async def after_result(self, run: Run[Any]) -> None:
            await run.call_model(ModelRequest(system="", messages=(Message("m", "user", "?", 1),)), purpose="judge", model=small)

    small = ScriptedModel(["yes"], name="small")
    backend = Backend()
    await agent(backend, call("look", x=1), "done", plugins=[Judge()]).run("go")
    helper = backend.one("chat small")
    assert attributes(helper)["agentfp.call.purpose"] == "judge"
    assert attributes(helper)["agentfp.call.plugin"] == "judge"
    assert helper.parent is not None
    assert helper.parent.span_id == span_id(backend.one("iteration 1"))


async def test_embeddings_have_spans_of_their_own_kind_under_the_tool_that_asked() -> None:
    @tool
    def near(ctx: ToolContext[Any]) -> str:
        """Look for what is near."""
        ctx.bill(Usage(input=7), provider="openai", model="vectors", purpose="embed")
        return "near"

    backend = Backend()
    await agent(backend, call("near"), "done", tools=[near]).run("go")
    embedded = attributes(backend.one("embeddings vectors"))
    assert (embedded["gen_ai.operation.name"], embedded["gen_ai.usage.input_tokens"]) == ("embeddings", 7)
    assert (embedded["agentfp.call.purpose"], embedded["agentfp.call.plugin"]) == ("embed", "near")


async def test_whom_a_run_is_for_stands_on_its_root() -> None:
    backend = Backend()
    who = Identity(tenant="acme", principal="ann", conversation_id="c-9")
    await agent(backend, "hi").run("go", identity=who, correlation_id="order-1")
    root = attributes(backend.one("invoke_agent"))
    assert (root["agentfp.tenant.id"], root["agentfp.principal.id"], root["gen_ai.conversation.id"]) == ("acme", "ann", "c-9")
    assert root["agentfp.correlation.id"] == "order-1"


# --- logs ---------------------------------------------------------------------------------------------------------------------------


async def test_decisions_are_log_records_of_their_span() -> None:
    backend = Backend(logs=True, explainability=False)
    await agent(backend, [call("look", id="a", x="no number")], "done").run("go")
    records = {record.event_name: record for record in backend.logs()}
    invalid = records["agentfp.validation.args_invalid"]
    span = backend.one("execute_tool")
    assert (invalid.trace_id, invalid.span_id) == (trace_id(span), span_id(span))
    assert invalid.severity_number is SeverityNumber.WARN
    assert records["agentfp.agent.route_decided"].attributes["chosen"] == "final"
    assert records["agentfp.agent.route_decided"].severity_number is SeverityNumber.INFO


async def test_no_log_record_unless_logs_are_on() -> None:
    backend = Backend()
    await agent(backend, "done").run("go")
    assert not backend.logs()


# --- other names ----------------------------------------------------------------------------------------------------------------------


async def test_the_names_of_other_backends_stand_beside_the_conventions_ones() -> None:
    backend = Backend(profiles=("openinference", "langfuse", "langsmith"), content=True)
    who = Identity(principal="ann")
    await agent(backend, call("look", id="c1", x=1), ANTHROPIC).run("go", session_id="s-1", identity=who)
    root, chat, ran = [attributes(backend.named(name)[-1]) for name in ("invoke_agent", "chat", "execute_tool")]
    kinds = [
        [span[key] for span in (root, chat, ran)] for key in ("openinference.span.kind", "langfuse.observation.type", "langsmith.span.kind")
    ]
    assert kinds == [["AGENT", "LLM", "TOOL"], ["agent", "generation", "tool"], ["chain", "llm", "tool"]]
    assert chat["llm.model_name"] == "script"
    assert chat["llm.token_count.prompt"] == chat["gen_ai.usage.input_tokens"] == 110
    assert chat["llm.token_count.prompt_details.cache_read"] == 80
    assert "llm.token_count.prompt" not in root
    assert root["session.id"] == root["langfuse.session.id"] == root["langsmith.trace.session_id"] == "s-1"
    assert root["user.id"] == root["langfuse.user.id"] == "ann"
    assert ran["tool.name"] == "look"
    assert json.loads(ran["input.value"]) == {"x": 1}
    assert ran["output.value"] == "seen 1"


async def test_no_other_names_by_default() -> None:
    backend = Backend()
    await agent(backend, call("look", x=1), "done").run("go", session_id="s-1")
    own = ("gen_ai.", "agentfp.", "error.")
    assert all(key.startswith(own) for span in backend.spans for key in attributes(span))


# --- settings -------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"service_name": " "}, "service_name"),
        ({"endpoint": "localhost:4318"}, "endpoint"),
        ({"semconv": "genai_newest"}, "semconv"),
        ({"profiles": ["openinferense"]}, "profiles"),
        ({"contents": True}, "did you mean 'content'"),
        ({"flush_seconds": 0}, "flush_seconds"),
    ],
)
def test_settings_that_cannot_be_are_refused(settings: dict[str, Any], says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        Otel(**settings)


def test_the_plugin_keeps_the_rules_of_plugins() -> None:
    report = check_plugin(Otel, tools=[look], script=[call("look", x=1), "done"])
    assert report.problems == []
