"""What is made of providers and token endpoints that answer nonsense: no tool runs unmasked, no run breaks, nobody reads it."""

from __future__ import annotations

import datetime
import math
import pickle
import threading
from typing import Annotated, Any
from urllib.parse import parse_qs, urlsplit

import pytest

from agentfp import Agent, ConfigError, ToolContext, tool
from agentfp.plugin import Identity
from agentfp.testing import ScriptedModel, call
from agentfp_credentials import (
    AuthorizationRequired,
    ConsentCallbackError,
    Credential,
    CredentialError,
    CredentialRequest,
    Credentials,
    Issued,
    Needs,
    NoPrincipalError,
    OAuth2AuthorizationCode,
    OAuth2ClientCredentials,
    ProviderError,
    UnknownServiceError,
    bearer,
)

pytestmark = pytest.mark.anyio
TOKEN = "tok-SENTINEL-9f31"
ANN = Identity(principal="ann")


class Answers:
    """Plays a provider that answers what it is told to, and says so of its secrets."""

    id = "answers"

    def __init__(self, answer: Any, secrets: Any = ()) -> None:
        self.answer, self.told = answer, secrets

    def secrets(self) -> Any:
        return self.told() if callable(self.told) else self.told

    async def get_credential(self, request: CredentialRequest, /) -> Any:
        return self.answer


class Telling(Credential):
    """A credential of an application that says too much while it says its secrets."""

    def secrets(self) -> Any:
        raise RuntimeError(TOKEN)


class OneText(Credential):
    """One that gives a text where a tuple is meant."""

    def secrets(self) -> Any:
        return TOKEN


def made(secrets: Any, kind: Any = "bearer") -> Credential:
    return Credential(kind, {"authorization": TOKEN}, secrets)


async def run(provider: Any, **settings: Any) -> tuple[Any, str]:
    @tool
    def tell(ctx: Annotated[ToolContext, Needs("crm")]) -> str:
        """Tell."""
        return f"it is {ctx.credential.to_headers()}"

    plugin = Credentials(provider=provider, **settings)
    result = await Agent(ScriptedModel([call("tell"), "Done."]), tools=[tell], plugins=[plugin]).run("Go.")
    pause = "" if result.pause is None else result.pause.to_json()
    return result, repr([event.payload for event in result.record]) + repr(result) + result.history.to_json() + pause


@pytest.mark.parametrize(
    "answer",
    [
        None,
        TOKEN,
        bearer(TOKEN),
        Issued(TOKEN),  # type: ignore[arg-type]
        Issued(bearer(TOKEN), f"soon {TOKEN}"),  # type: ignore[arg-type]
        Issued(bearer(TOKEN), datetime.datetime(2024, 1, 1, tzinfo=datetime.UTC)),  # type: ignore[arg-type]
        Issued(bearer(TOKEN), 10**400),
        Issued(Telling("bearer", {"authorization": TOKEN}, ())),
        Issued(made((TOKEN,), kind=5)),
        AuthorizationRequired(None, "s"),  # type: ignore[arg-type]
        AuthorizationRequired(b"https://login.example/?state=s-4711", "s"),  # type: ignore[arg-type]
        AuthorizationRequired("https://login.example/?state=s-4711", None),  # type: ignore[arg-type]
        AuthorizationRequired("https://login.example/?state=s-4711", 5),  # type: ignore[arg-type]
    ],
)
async def test_what_is_no_answer_is_a_failure_that_says_nothing(answer: Any) -> None:
    result, everything = await run(Answers(answer))
    assert result.status == "answered"
    assert result.history[2].text == "The credential for crm could not be obtained, so this was not done. Go on without it."
    (failed,) = [event.payload for event in result.record if event.name == "agentfp.credential.failed"]
    assert failed.reason == "bad_answer"
    assert TOKEN not in everything


@pytest.mark.parametrize("credential", [made((TOKEN,)), made(TOKEN), OneText("bearer", {"authorization": TOKEN}, ())])
async def test_one_text_is_one_secret_and_no_list_of_letters(credential: Credential) -> None:
    _, everything = await run(Answers(Issued(credential)))
    assert "it is {'authorization': '[REDACTED]'}" in everything
    assert TOKEN not in everything


async def test_what_never_expires_is_handed_out() -> None:
    result, _ = await run(Answers(Issued(bearer(TOKEN), math.inf)))
    assert "[REDACTED]" in result.history[2].text
    assert "Infinity" not in result.checkpoint().to_json()


@pytest.mark.parametrize("secrets", [(None,), (5, TOKEN), (TOKEN.encode(),), TOKEN.encode(), None])
def test_a_credential_whose_secrets_cannot_be_masked_is_not_made(secrets: Any) -> None:
    with pytest.raises(TypeError) as raised:
        made(secrets)
    assert TOKEN not in str(raised.value)


async def later() -> tuple[str, ...]:
    return (TOKEN,)


@pytest.mark.parametrize("told", [lambda: (None, TOKEN), lambda: (TOKEN.encode(),), lambda: None, later])
async def test_a_provider_that_says_no_texts_hands_nothing_out(told: Any) -> None:
    with pytest.raises(ProviderError, match="secrets\\(\\) of the provider 'answers' raised TypeError") as raised:
        await run(Answers(Issued(bearer(TOKEN)), told))
    assert TOKEN not in str(raised.value)


async def test_a_provider_that_says_one_text_means_one_secret() -> None:
    @tool
    def early(text: str) -> str:
        """Say something that was known before."""
        return f"it is {TOKEN}"

    plugin = Credentials(provider=Answers(None, lambda: TOKEN))
    result = await Agent(ScriptedModel([call("early", text="x"), "Done."]), tools=[early], plugins=[plugin]).run("Go.")
    assert result.history[2].text == "it is [REDACTED]"


@pytest.mark.parametrize("url", [f"http://[bad/?state={TOKEN}", f"https://login.example/#state={TOKEN}&x=1", f"app:/?a=1#state={TOKEN}"])
def test_the_state_is_a_secret_wherever_it_stands_in_a_url(url: str) -> None:
    assert set(AuthorizationRequired(url, "s").secrets()) == {url, TOKEN}


# --- token endpoints ---


def client(url: str) -> OAuth2ClientCredentials:
    return OAuth2ClientCredentials("crm", token_url=f"{url}/token", client_id="agent", client_secret="client-SENTINEL-77aa/+=")


def login(url: str) -> OAuth2AuthorizationCode:
    return OAuth2AuthorizationCode(
        "crm", authorize_url=f"{url}/authorize", token_url=f"{url}/token", client_id="agent", redirect_uri="https://app.example/callback"
    )


@pytest.mark.parametrize(
    ("status", "said", "why"),
    [
        (200, {"access_token": TOKEN, "expires_at": f"soon {TOKEN}"}, None),
        (200, {"access_token": TOKEN, "expires_in": 10**400}, None),
        (200, {"access_token": TOKEN, "expires_at": 10**300}, None),
        (200, {"access_token": TOKEN, "expires_in": math.nan}, None),
        (200, {"access_token": TOKEN, "expires_in": [TOKEN]}, None),
        (200, {"access_token": TOKEN, "refresh_token": 5}, None),
        (200, {"access_token": TOKEN, "refresh_token": {"a": TOKEN}}, None),
        (200, {"access_token": f"{TOKEN}\r\nx: y"}, None),
        (200, {"access_token": "   "}, None),
        (200, {"access_token": {"a": TOKEN}}, None),
        (200, [TOKEN], None),
        (200, TOKEN, None),
        (400, {"error": {"a": TOKEN}}, 400),
        (400, {"error": [TOKEN]}, 400),
        (401, {}, 401),
        (429, {}, 429),
        (302, {}, 302),
    ],
)
async def test_nonsense_of_a_token_endpoint_is_a_failure_that_says_nothing(server: Any, status: int, said: Any, why: int | None) -> None:
    server.token = lambda form, authorization: (status, said)
    provider = client(server.url)
    with pytest.raises(ProviderError) as raised:
        await provider.get_credential(CredentialRequest("crm"))
    assert TOKEN not in f"{raised.value!r} {vars(raised.value)} {raised.value.__context__!r} {raised.value.__cause__!r}"
    assert raised.value.status == why
    assert provider.secrets() == ("client-SENTINEL-77aa/+=",), "it was kept"
    server.token = lambda form, authorization: (200, {"access_token": TOKEN})
    issued = await provider.get_credential(CredentialRequest("crm"))
    assert issued.credential.to_headers() == {"authorization": f"Bearer {TOKEN}"}


async def test_a_run_that_is_for_nobody_is_told_so_on_the_record(server: Any) -> None:
    result, _ = await run(login(server.url))
    (failed,) = [event.payload for event in result.record if event.name == "agentfp.credential.failed"]
    assert (failed.reason, failed.error_class, failed.status) == ("no_principal", "NoPrincipalError", 401)
    assert result.history[2].text == "The credential for crm could not be obtained, so this was not done. Go on without it."


def test_the_error_about_it_survives_a_pickle() -> None:
    error = pickle.loads(pickle.dumps(NoPrincipalError("oauth2:crm")))
    assert (type(error), str(error), error.status) == (NoPrincipalError, str(NoPrincipalError("oauth2:crm")), 401)


async def test_an_endpoint_that_does_not_answer_is_given_up_and_asked_again_later(server: Any) -> None:
    answered = threading.Event()

    def never(form: dict[str, str], authorization: str) -> tuple[int, Any]:
        answered.wait(60)
        return 200, {"access_token": "too-late-SENTINEL"}

    server.token = never
    provider = client(server.url)
    result, _ = await run(provider, timeout=0.2)
    answered.set()
    (failed,) = [event.payload for event in result.record if event.name == "agentfp.credential.failed"]
    assert (failed.reason, failed.error_class) == ("provider_failed", "TimeoutError")
    server.token = lambda form, authorization: (200, {"access_token": TOKEN})
    result, everything = await run(provider)
    assert "[REDACTED]" in result.history[2].text
    assert TOKEN not in everything


def state_of(answer: Any) -> str:
    assert isinstance(answer, AuthorizationRequired)
    return parse_qs(urlsplit(answer.authorization_url).query)["state"][0]


@pytest.mark.parametrize("status", [400, 401, 403])
async def test_a_refresh_that_is_refused_without_a_word_asks_the_person_anew(server: Any, status: int) -> None:
    provider = login(server.url)
    request = CredentialRequest("crm", identity=ANN)
    server.token = lambda form, authorization: (200, {"access_token": TOKEN, "refresh_token": "refresh-1", "expires_in": 1})
    state = state_of(await provider.get_credential(request))
    await provider.finish(f"https://app.example/callback?code=c&state={state}", identity=ANN)
    server.token = lambda form, authorization: (status, {})
    assert isinstance(await provider.get_credential(request), AuthorizationRequired)


async def test_a_callback_that_finishes_nothing_is_told_and_a_code_is_used_once(server: Any) -> None:
    provider = login(server.url)
    request = CredentialRequest("crm", identity=ANN)
    asked: list[str] = []

    def token(form: dict[str, str], authorization: str) -> tuple[int, Any]:
        asked.append(form["code"])
        return 200, {"access_token": TOKEN}

    server.token = token
    state = state_of(await provider.get_credential(request))
    for callback in ("", "http://[bad", f"x?code=c&state={state[:-1]}", "x?code=c", f"x?code=c&state={state}x"):
        with pytest.raises(ConsentCallbackError, match="no consent waits"):
            await provider.finish(callback, identity=ANN)
    with pytest.raises(ConsentCallbackError, match="somebody else"):
        await provider.finish(f"x?code=c&state={state}", identity=Identity(principal="bob"))
    assert await provider.finish(f"x?code=c&state={state}", identity=ANN)
    with pytest.raises(ConsentCallbackError, match="no consent waits"):
        await provider.finish(f"x?code=c&state={state}", identity=ANN)
    assert asked == ["c"]


class OfTheApplication(ProviderError):
    def __init__(self) -> None:
        super().__init__("own", status=418)


@pytest.mark.parametrize("error", [ConsentCallbackError("a"), UnknownServiceError("b"), ProviderError("c", status=503), OfTheApplication()])
def test_what_a_provider_raises_comes_out_of_another_process_as_it_was(error: ProviderError) -> None:
    again = pickle.loads(pickle.dumps(error))
    assert (str(again), again.status) == (str(error), error.status)
    assert type(again) is (ProviderError if isinstance(error, OfTheApplication) else type(error))


@pytest.mark.parametrize("scopes", [None, 5, [5], ["read", " "]])
def test_scopes_that_are_none_are_said_with_the_other_problems(scopes: Any) -> None:
    with pytest.raises(ConfigError) as raised:
        Needs("crm", scopes=scopes, mode="usr")  # type: ignore[arg-type]
    assert "scopes are texts" in str(raised.value)
    assert "'user'" in str(raised.value)


class Consents:
    """Plays a provider that wants a consent, and may answer otherwise later."""

    id = "consents"

    def __init__(self) -> None:
        self.later: Any = None

    async def get_credential(self, request: CredentialRequest, /) -> Any:
        if isinstance(self.later, Exception):
            raise self.later
        url = f"https://login.example/{request.service}/{request.mode}/{'+'.join(request.scopes)}"
        return self.later or AuthorizationRequired(url, f"{request.service}:{request.mode}:{len(request.scopes)}")


def needing(name: str, need: Needs) -> Any:
    async def run(ctx: Any) -> str:
        return ctx.credential.kind  # type: ignore[no-any-return]

    run.__annotations__["ctx"] = Annotated[ToolContext[Any], need]
    return tool(run, name=name, description=name)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (Needs("crm", scopes=("read write",)), Needs("crm", scopes=("read", "write"))),
        (Needs("crm user"), Needs("crm", mode="user", scopes=("machine",))),
    ],
)
async def test_two_needs_that_are_spelled_alike_are_two_questions(first: Needs, second: Needs) -> None:
    plugin = Credentials(provider=Consents())
    script = ScriptedModel([[call("one"), call("two")], "ok"])
    result = await Agent(script, tools=[needing("one", first), needing("two", second)], plugins=[plugin]).run("Go")
    assert result.pause is not None
    assert len({question.key for question in result.pause.questions}) == 2
    assert len({wanted.url for wanted in await plugin.authorizations(result)}) == 2


@pytest.mark.parametrize(
    ("later", "reason"),
    [(RuntimeError(f"Bearer {TOKEN}"), "provider_failed"), (AuthorizationRequired(7, "s"), "bad_answer"), ("nonsense", "bad_answer")],  # type: ignore[arg-type]
)
async def test_what_a_provider_says_when_it_is_asked_for_the_url_is_shown_to_nobody(later: Any, reason: str) -> None:
    provider = Consents()
    plugin = Credentials(provider=provider)
    result = await Agent(ScriptedModel([call("one"), "ok"]), tools=[needing("one", Needs("crm"))], plugins=[plugin]).run("Go")
    provider.later = later
    with pytest.raises(CredentialError) as caught:
        await plugin.authorizations(result)
    assert (caught.value.service, caught.value.reason) == ("crm", reason)
    assert caught.value.__context__ is None
    assert TOKEN not in repr(caught.value) + str(caught.value)
