"""What the plugin does in a run: credentials that are declared and asked for, consents, refusals, and what stands on the record."""

from __future__ import annotations

import copy
import json
import pickle
from collections.abc import Callable
from typing import Annotated, Any

import pydantic
import pytest

from agentfp import Agent, ConfigError, Pause, ToolContext, UsageError, approve, ask_human, reject, tool
from agentfp.plugin import Identity
from agentfp.testing import ScriptedModel, call, check_plugin
from agentfp_credentials import (
    Authorization,
    AuthorizationRequired,
    ByService,
    ConsentNeededError,
    Credential,
    CredentialConsentRequiredError,
    CredentialError,
    CredentialRequest,
    Credentials,
    Issued,
    Needs,
    ProviderError,
    api_key,
    basic,
    bearer,
    header_map,
    static_tokens,
    with_credential_retry,
)

pytestmark = pytest.mark.anyio
URL = "https://login.example/consent?state=CANARY-4711-url"
TOKEN = "tok-SENTINEL-9f31"


class Consenting:
    """Plays an authorization server whose person consents when the test says so."""

    id = "consenting"

    def __init__(self) -> None:
        self.consented = False
        self.requests: list[CredentialRequest] = []

    async def get_credential(self, request: CredentialRequest, /) -> Issued | AuthorizationRequired:
        self.requests.append(request)
        return Issued(bearer(TOKEN)) if self.consented else AuthorizationRequired(URL, "session-1")


class Failing:
    """Plays a provider that raises the given errors before it issues."""

    id = "failing"

    def __init__(self, *errors: Exception) -> None:
        self.errors = list(errors)
        self.asked = 0

    async def get_credential(self, request: CredentialRequest, /) -> Issued:
        self.asked += 1
        if self.errors:
            raise self.errors.pop(0)
        return Issued(bearer(TOKEN))


class HttpError(Exception):
    def __init__(self, status: int) -> None:
        self.status_code = status
        super().__init__(f"Authorization: Bearer {TOKEN} at {URL}")


def crm(calls: list[dict[str, str]], **options: Any) -> Any:
    @tool(**options)
    def find_customer(ctx: Annotated[ToolContext, Needs("crm", scopes=("read",), mode="user")], name: str) -> str:
        """Find a customer."""
        calls.append(ctx.credential.to_headers())
        return f"{name} is customer 7"

    return find_customer


def facts(source: Any) -> list[tuple[str, str | None]]:
    return [(event.name.removeprefix("agentfp.credential."), event.call_id) for event in source.record if ".credential." in event.name]


def everything(result: Any) -> str:
    """All that a record, its checkpoint and its representations show."""
    texts = [event.payload for event in result.record]
    return str(repr(texts) + repr(result) + result.checkpoint().to_json() + repr(list(result.history)) + result.history.to_json())


ASK = [call("find_customer", name="Ann"), "Ann is customer 7."]


async def test_a_static_token_reaches_the_tool_as_a_header() -> None:
    calls: list[dict[str, str]] = []
    agent = Agent(ScriptedModel(ASK), tools=[crm(calls)], plugins=[Credentials(provider=static_tokens({"crm": "t1"}))])
    result: Any = await agent.run("Who is Ann?")
    assert result.text == "Ann is customer 7."
    assert calls == [{"authorization": "Bearer t1"}]
    assert [name for name, _ in facts(result)] == ["requested", "acquired"]
    acquired = next(event.payload for event in result.record if event.name.endswith("credential.acquired"))
    assert (acquired.service, acquired.kind, acquired.via) == ("crm", "bearer", "push")


@pytest.mark.parametrize("made", [bearer(TOKEN), api_key(TOKEN), basic("ann", TOKEN), header_map({"X-A": TOKEN})])
async def test_a_credential_shows_its_kind_only(made: Any) -> None:
    assert TOKEN not in f"{made} {made!r} {made.kind}"
    assert pydantic.TypeAdapter(Credential).dump_python(made, mode="json") == {"kind": made.kind}
    with pytest.raises(TypeError):
        vars(made)
    for leak in (pickle.dumps, copy.copy, copy.deepcopy, json.dumps):
        with pytest.raises(TypeError) as raised:
            leak(made)
        assert TOKEN not in str(raised.value)


async def test_a_person_consents_and_the_waiting_tool_runs_once() -> None:
    calls: list[dict[str, str]] = []
    provider = Consenting()
    plugin = Credentials(provider=provider)
    agent = Agent(ScriptedModel(ASK), tools=[crm(calls)], plugins=[plugin])
    result: Any = await agent.run("Who is Ann?", identity=Identity(principal="ann"))
    assert result.paused
    assert calls == []
    pause = Pause.from_json(result.pause.to_json())
    assert URL not in everything(result) + pause.to_json() + repr(pause.questions)
    assert "authorization_url" in pause.to_json()
    (wanted,) = await plugin.authorizations(pause)
    assert (wanted.url, wanted.service, wanted.session_id) == (URL, "crm", "session-1")
    assert URL not in repr(wanted)
    assert provider.requests[-1].identity == Identity(principal="ann")
    provider.consented = True
    done = await agent.resume(pause, True)
    assert done.text == "Ann is customer 7."
    assert calls == [{"authorization": f"Bearer {TOKEN}"}]
    assert {call_id for _, call_id in facts(done)} == {pause.questions[0].call_id}
    assert URL not in everything(done)
    assert TOKEN not in everything(done)
    assert done.raise_for_status() is done


async def test_a_resume_before_the_consent_pauses_again_and_a_no_is_told_to_the_model() -> None:
    calls: list[dict[str, str]] = []
    agent = Agent(ScriptedModel([ASK[0], "I could not look."]), tools=[crm(calls)], plugins=[Credentials(provider=Consenting())])
    result: Any = await agent.run("Who is Ann?")
    again: Any = await agent.resume(result.pause, True)
    assert again.paused
    assert again.pause.id != result.pause.id
    done = await agent.resume(again.pause, reject("no"))
    assert done.text == "I could not look."
    assert "consent" in done.history[2].text
    assert calls == []


async def test_a_resume_before_the_consent_is_told_to_the_model_where_the_settings_say_so() -> None:
    calls: list[dict[str, str]] = []
    plugin = Credentials(provider=Consenting(), still_required="tell_model")
    agent = Agent(ScriptedModel([ASK[0], "I could not look."]), tools=[crm(calls)], plugins=[plugin])
    result: Any = await agent.run("Who is Ann?")
    done = await agent.resume(result.pause, approve())
    assert not done.paused
    assert "a person must consent" in done.history[2].text
    assert URL not in everything(done)
    with pytest.raises(CredentialConsentRequiredError):
        done.raise_for_status()


async def test_an_answer_without_the_consent_is_refused_with_where_to_consent() -> None:
    plugin = Credentials(provider=Consenting(), on_authorization_required="tell_model")
    result: Any = await Agent(ScriptedModel(ASK), tools=[crm([])], plugins=[plugin]).run("Who is Ann?")
    assert result.status == "refused"
    with pytest.raises(CredentialConsentRequiredError) as raised:
        result.raise_for_status()
    error = raised.value
    assert (error.service, error.authorization_url, error.session_id, error.tool, error.iteration) == (
        "crm",
        URL,
        "session-1",
        "find_customer",
        1,
    )
    assert URL not in f"{error} {error!r} {vars(error)}" + everything(result)
    assert pickle.loads(pickle.dumps(error)).authorization_url is None


async def test_a_later_credential_for_the_service_clears_the_consent() -> None:
    provider = Consenting()

    def consent(request: Any) -> Any:
        provider.consented = True
        return ASK[0]

    plugin = Credentials(provider=provider, on_authorization_required="tell_model")
    result: Any = await Agent(ScriptedModel([ASK[0], consent, "Ann is customer 7."]), tools=[crm([])], plugins=[plugin]).run("Who is Ann?")
    assert result.raise_for_status().text == "Ann is customer 7."


async def test_a_call_behind_a_tools_question_does_not_run_when_the_consent_is_gone_by_then() -> None:
    calls: list[dict[str, str]] = []

    @tool(mutating=True)
    def which() -> str:
        """Ask which."""
        return ask_human("Which?")

    provider = Consenting()
    provider.consented = True
    script = [[call("which"), call("find_customer", name="Ann")], "Done."]
    agent = Agent(ScriptedModel(script), tools=[which, crm(calls, mutating=True)], plugins=[Credentials(provider=provider)])
    result: Any = await agent.run("Who?")
    assert result.pause.phase == "tool"
    provider.consented = False
    done: Any = await agent.resume(Pause.from_json(result.pause.to_json()), "this")
    assert calls == []
    with pytest.raises(CredentialConsentRequiredError):
        done.raise_for_status()


async def test_nothing_is_asked_for_before_a_call_is_approved() -> None:
    calls: list[dict[str, str]] = []
    agent = Agent(ScriptedModel(ASK), tools=[crm(calls, approval=True)], plugins=[Credentials(provider=static_tokens({"crm": TOKEN}))])
    result: Any = await agent.run("Who is Ann?")
    assert facts(result) == []
    done = await agent.resume(result.pause, approve(by="bob"))
    assert [name for name, _ in facts(done)] == ["requested", "acquired"]
    assert len(calls) == 1


async def test_a_provider_that_stumbles_is_asked_again_and_the_record_says_it_once() -> None:
    told: list[tuple[int, str]] = []
    provider = Failing(HttpError(503), HttpError(503))
    retrying = with_credential_retry(provider, max_attempts=3, initial_delay_ms=0, on_attempt=lambda *what: told.append(what))
    result: Any = await Agent(ScriptedModel(ASK), tools=[crm([])], plugins=[Credentials(provider=retrying)]).run("Who is Ann?")
    assert [name for name, _ in facts(result)] == ["requested", "acquired"]
    assert told == [(1, "HttpError"), (2, "HttpError")]
    assert provider.asked == 3


@pytest.mark.parametrize(("error", "asked"), [(HttpError(403), 1), (HttpError(429), 2), (ConnectionError("x"), 2)])
async def test_what_will_not_pass_is_not_tried_again(error: Exception, asked: int) -> None:
    provider = Failing(error, error)
    retrying = with_credential_retry(provider, max_attempts=2, initial_delay_ms=0)
    with pytest.raises(type(error)):
        await retrying.get_credential(CredentialRequest("crm"))
    assert provider.asked == asked


async def test_what_a_failing_provider_says_is_shown_to_nobody() -> None:
    calls: list[dict[str, str]] = []
    result: Any = await Agent(ScriptedModel(ASK), tools=[crm(calls)], plugins=[Credentials(provider=Failing(HttpError(401)))]).run("Who?")
    assert calls == []
    assert "credential for crm" in result.history[2].text
    failed = next(event.payload for event in result.record if event.name.endswith("credential.failed"))
    assert (failed.reason, failed.error_class, failed.status) == ("provider_failed", "HttpError", 401)
    assert TOKEN not in everything(result)
    assert URL not in everything(result)


async def test_a_provider_that_cannot_say_its_secrets_hands_none_out() -> None:
    class Odd:
        id = "odd"

        def secrets(self) -> tuple[str, ...]:
            raise ValueError(TOKEN)

        async def get_credential(self, request: CredentialRequest, /) -> Issued:
            raise AssertionError("it was asked")

    with pytest.raises(ProviderError, match="'odd' raised ValueError") as raised:
        await Agent(ScriptedModel(ASK), tools=[crm([])], plugins=[Credentials(provider=Odd())]).run("Who?")
    assert raised.value.__context__ is None


async def test_an_expired_credential_is_refused() -> None:
    class Old:
        id = "old"

        async def get_credential(self, request: CredentialRequest, /) -> Issued:
            return Issued(bearer(TOKEN), expires_at_s=1.0)

    result: Any = await Agent(ScriptedModel(ASK), tools=[crm([])], plugins=[Credentials(provider=Old())]).run("Who?")
    assert [event.payload.reason for event in result.record if event.name.endswith("credential.failed")] == ["expired"]


async def test_calls_of_one_service_are_told_apart_and_wait_for_one_consent() -> None:
    calls: list[dict[str, str]] = []
    provider = Consenting()
    both = [call("find_customer", name="Ann"), call("find_customer", name="Bob")]
    agent = Agent(ScriptedModel([both, "Found."]), tools=[crm(calls)], plugins=[Credentials(provider=provider)])
    result: Any = await agent.run("Who?")
    assert len(result.pause.questions) == 1
    assert len(provider.requests) == 1
    provider.consented = True
    done = await agent.resume(Pause.from_json(result.pause.to_json()), True)
    assert len(calls) == 2
    acquired = [call_id for name, call_id in facts(done) if name == "acquired"]
    assert len(set(acquired)) == 2


async def test_a_nested_call_keeps_its_own_id() -> None:
    inner = Agent(ScriptedModel(ASK), tools=[crm([])], plugins=[Credentials(provider=static_tokens({"crm": TOKEN}))])
    outer = Agent(ScriptedModel([call("ask_crm", request="Who is Ann?"), "Ann."]), tools=[inner.as_tool("ask_crm", "Ask the CRM.")])
    result: Any = await outer.run("Who?")
    (child,) = result.record.children.values()
    made = [event.call_id for event in child if ".credential." in event.name]
    ended = [event.call_id for event in child if event.name == "agentfp.tool.ended"]
    assert set(made) == set(ended)
    assert facts(result) == []


async def test_a_person_consents_for_a_nested_agent_that_works_for_them() -> None:
    provider, ann = Consenting(), Identity(principal="ann")
    plugin, calls = Credentials(provider=provider), list[dict[str, str]]()
    inner = Agent(ScriptedModel(ASK), tools=[crm(calls)], plugins=[plugin])
    script = [call("ask_crm", request="Who is Ann?"), "Ann."]
    outer = Agent(ScriptedModel(script), tools=[inner.as_tool("ask_crm", "Ask the CRM.")], plugins=[plugin])
    result: Any = await outer.run("Who?", identity=ann)
    assert [wanted.url for wanted in await plugin.authorizations(result)] == [URL]
    provider.consented = True
    done = await outer.resume(Pause.from_json(result.pause.to_json()), True)
    assert (done.text, len(calls)) == ("Ann.", 1)
    assert {request.identity for request in provider.requests} == {ann}


def pulling(*, sync: bool = False) -> Callable[..., Any]:
    @tool
    def find_customer(ctx: ToolContext, name: str) -> str:
        """Find a customer."""
        return str(ctx.credentials.get_credential_sync("crm").kind)

    if sync:
        return find_customer

    @tool(name="find_customer")
    async def find_async(ctx: ToolContext, name: str) -> str:
        """Find a customer."""
        return str((await ctx.credentials.get_credential("crm")).kind)

    return find_async


@pytest.mark.parametrize("sync", [True, False])
async def test_a_tool_asks_for_a_credential_while_it_runs(sync: bool) -> None:
    agent = Agent(ScriptedModel(ASK), tools=[pulling(sync=sync)], plugins=[Credentials(provider=static_tokens({"crm": TOKEN}))])
    result: Any = await agent.run("Who?")
    assert result.history[2].text == "bearer"
    assert [name for name, _ in facts(result)] == ["requested", "acquired"]
    assert {event.payload.via for event in result.record if ".credential." in event.name} == {"pull"}


async def test_a_consent_that_a_running_tool_needs_is_told_and_ends_the_run_refused() -> None:
    result: Any = await Agent(ScriptedModel(ASK), tools=[pulling()], plugins=[Credentials(provider=Consenting())]).run("Who?")
    with pytest.raises(CredentialConsentRequiredError) as raised:
        result.raise_for_status()
    assert raised.value.authorization_url == URL
    assert URL not in everything(result)


async def test_without_the_plugin_a_declaration_is_refused_and_asking_fails() -> None:
    with pytest.raises(ConfigError, match="agentfp-credentials"):
        Agent(ScriptedModel(ASK), tools=[crm([])])
    result: Any = await Agent(ScriptedModel(ASK), tools=[pulling()]).run("Who?")
    assert "agentfp-credentials" in next(e.payload.error for e in result.record if e.name == "agentfp.tool.ended")


async def test_without_a_provider_asking_fails_closed_and_declaring_is_refused() -> None:
    with pytest.raises(ConfigError, match="no provider"):
        Agent(ScriptedModel(ASK), tools=[crm([])], plugins=[Credentials()])
    result: Any = await Agent(ScriptedModel(ASK), tools=[pulling()], plugins=[Credentials()]).run("Who?")
    assert [event.payload.reason for event in result.record if event.name.endswith("credential.failed")] == ["no_provider"]


async def test_an_unused_plugin_adds_nothing_to_the_record_or_the_request() -> None:
    @tool
    def find_customer(name: str) -> str:
        """Find a customer."""
        return name

    def run(plugins: list[Any]) -> Any:
        model = ScriptedModel(ASK)
        return Agent(model, tools=[find_customer], plugins=plugins), model

    (off, off_model), (on, on_model) = run([]), run([Credentials(provider=static_tokens({"crm": TOKEN}))])
    first, second = await off.run("Who?"), await on.run("Who?")
    assert [event.name for event in first.record] == [event.name for event in second.record]
    assert [(r.system, r.tools) for r in off_model.requests] == [(r.system, r.tools) for r in on_model.requests]


async def test_a_url_that_a_tool_learns_is_masked_in_what_it_says() -> None:
    @tool
    async def find_customer(ctx: ToolContext, name: str) -> str:
        """Find a customer."""
        with pytest.raises(ConsentNeededError):
            await ctx.credentials.get_credential("crm")
        return f"go to {URL}"

    result = await Agent(ScriptedModel(ASK), tools=[find_customer], plugins=[Credentials(provider=Consenting())]).run("Who?")
    assert result.history[2].text == "go to [REDACTED]"
    assert URL not in everything(result)


@pytest.mark.parametrize(("keep", "asked"), [(True, 1), (False, 2)])
async def test_a_credential_is_handed_out_again_where_that_is_wanted(keep: bool, asked: int) -> None:
    calls: list[dict[str, str]] = []
    plugin = Credentials(provider=static_tokens({"crm": TOKEN}), keep=keep)
    result = await Agent(ScriptedModel([ASK[0], *ASK]), tools=[crm(calls)], plugins=[plugin]).run("Who?")
    assert len(calls) == 2
    assert [name for name, _ in facts(result)].count("requested") == asked


async def test_what_was_handed_out_in_one_turn_is_masked_in_the_next() -> None:
    @tool
    def recall() -> str:
        """What was seen before."""
        return str(calls)

    calls: list[dict[str, str]] = []
    plugin = Credentials(provider=static_tokens({"crm": TOKEN}))
    chat = Agent(ScriptedModel([*ASK, call("recall"), "Done."]), tools=[crm(calls), recall], plugins=[plugin]).conversation()
    await chat.send("Who?")
    result: Any = await chat.send("And before?")
    assert calls
    assert TOKEN not in everything(result)


def test_settings_are_refused_all_at_once_without_a_secret() -> None:
    with pytest.raises(ConfigError) as raised:
        Credentials(
            services={
                "crm": TOKEN,
                "billing": {"use": "enviroment", "variable": "X"},
                "mail": {"use": "keyring", "system": "mail", "variable": "Y"},
                "pay": {"use": "token", "tokn": "a"},
                "own": object(),
            }
        )
    assert len(raised.value.problems) == 6
    assert "'environment'" in str(raised.value)
    assert "did you mean 'token'" in str(raised.value)
    assert TOKEN not in str(raised.value)
    with pytest.raises(ConfigError, match="on_authorization_required is set and there is no provider"):
        Credentials(on_authorization_required="pause")
    with pytest.raises(ConfigError, match="did you mean 'user'"):
        Needs("crm", mode="usr")  # type: ignore[arg-type]


def test_a_service_without_a_provider_is_refused_with_the_nearest_name() -> None:
    with pytest.raises(ConfigError, match="did you mean 'crmx'"):
        Agent(ScriptedModel(ASK), tools=[crm([])], plugins=[Credentials(services={"crmx": static_tokens({"crmx": TOKEN})})])


async def test_a_static_miss_does_not_name_the_others() -> None:
    with pytest.raises(Exception, match="'crm'") as raised:
        await static_tokens({"payroll": TOKEN}).get_credential(CredentialRequest("crm"))
    assert "payroll" not in str(raised.value)


def test_errors_survive_a_pickle() -> None:
    for error in (CredentialError("crm", "expired", status=401), ConsentNeededError("crm", "s")):
        assert str(pickle.loads(pickle.dumps(error))) == str(error)
    for thing in (AuthorizationRequired(URL, "s"), Authorization("crm", URL, "s", "q"), CredentialRequest("crm", user_token=TOKEN)):
        assert not {URL, TOKEN} & {*repr(thing).split("'")}
        with pytest.raises(TypeError, match="cannot be pickled"):
            pickle.dumps(thing)
    with pytest.raises(TypeError):
        pickle.dumps(static_tokens({"crm": TOKEN}))
    assert TOKEN not in repr(Credentials(provider=ByService({"crm": static_tokens({"crm": TOKEN})})).settings)


async def test_the_wrong_attribute_says_what_to_write() -> None:
    said: list[str] = []

    @tool
    def find_customer(ctx: ToolContext, name: str) -> str:
        """Find a customer."""
        with pytest.raises(UsageError) as raised:
            _ = ctx.credential
        said.append(str(raised.value))
        return "x"

    plugin = Credentials(provider=static_tokens({"crm": TOKEN}))
    await Agent(ScriptedModel(ASK), tools=[find_customer], plugins=[plugin]).run("Who?")
    assert "Needs(...)" in said[0]


def test_the_rules_of_plugins() -> None:
    def make() -> Credentials:
        return Credentials(provider=static_tokens({"crm": TOKEN}))

    check_plugin(make, tools=[pulling()], script=ASK, may_change=("provider",), may_emit=("agentfp.credential.*",))
