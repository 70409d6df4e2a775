"""The plugin: a credential is obtained right before a tool runs, or asked for in it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from agentfp import Pause, RunResult
from agentfp.events import PauseRequest
from agentfp.plugin import (
    AskField,
    AskPerson,
    Batch,
    CallView,
    Deny,
    Event,
    Plugin,
    Refuse,
    Registry,
    Run,
    Tool,
    ToolContext,
    hookimpl,
    nearest,
)
from agentfp_credentials.context import ToolCredentials
from agentfp_credentials.errors import CredentialConsentRequiredError, CredentialError, consent_needed
from agentfp_credentials.events import EVENTS, CredentialAcquired, CredentialAuthorizationRequired, CredentialFailed
from agentfp_credentials.needs import Needs, needs_of
from agentfp_credentials.obtaining import PLUGIN, Obtaining, ask_provider, kept
from agentfp_credentials.protocol import Authorization, AuthorizationRequired, CredentialProvider, CredentialRequest, Mode
from agentfp_credentials.providers import ByService, secrets_of
from agentfp_credentials.settings import CredentialsSettings
from agentfp_credentials.values import Credential

WITHHELD = "[only for the person: see Credentials.authorizations]"


@dataclass(frozen=True, slots=True)
class Outstanding:
    """A consent that the model was told of, and that nobody has given since."""

    session_id: str
    tool: str
    turn: int
    iteration: int


@dataclass(slots=True)
class Known:
    """What a record says of credentials.

    Args:
        outstanding: the consents that the model was told of, by service.
        asked_in_tool: turn and iteration of the last pause that a tool raised: its batch is past every gate's questions.
    """

    outstanding: dict[str, Outstanding] = field(default_factory=dict)
    asked_in_tool: tuple[int, int] | None = None


class Credentials(Plugin):
    """Hands secrets to the tools of an agent, and keeps them out of everything else."""

    name = PLUGIN
    version = "0.1.0"
    events = EVENTS
    memo_events = (CredentialAcquired.event_name, CredentialAuthorizationRequired.event_name, PauseRequest.event_name)

    class Settings(CredentialsSettings):
        """Settings of the credentials plugin."""

    def __init__(self, settings: Plugin.Settings | None = None, **values: Any) -> None:
        super().__init__(settings, **values)
        self.provider: CredentialProvider | None = self.settings.open_provider()
        self._tells = self.settings.on_authorization_required == "tell_model"

    def masked_values(self, run: Run[Any]) -> Iterable[str]:
        """What the provider holds, and what was handed out in this conversation before."""
        return (*secrets_of(self.provider), *kept(run).secrets)

    # --- what a record says ---

    def initial(self) -> Known:
        """No consent is outstanding."""
        return Known()

    def fold(self, state: Known, event: Event) -> Known:
        """What is known after an event."""
        found = event.payload
        if isinstance(found, CredentialAcquired):
            state.outstanding.pop(found.service, None)
        elif isinstance(found, CredentialAuthorizationRequired) and found.told_model:
            state.outstanding[found.service] = Outstanding(found.session_id, found.tool, event.turn, event.iteration)
        elif isinstance(found, PauseRequest) and found.phase == "tool":
            state.asked_in_tool = (event.turn, event.iteration)
        return state

    # --- building ---

    @hookimpl
    def configure(self, agent: Registry) -> None:
        """Look at what the tools declare, and provide the context's attributes."""
        agent.add_capability("credential", lambda context, run: self._of(context, run).only())
        agent.add_capability("credentials", self._of)
        agent.when_complete(lambda tools: self._check(tools, agent))

    def _check(self, tools: Mapping[str, Tool[..., Any]], agent: Registry) -> None:
        known = self.provider.services if isinstance(self.provider, ByService) else None
        for name, tool in tools.items():
            needs = needs_of(tool)
            if needs and self.provider is None:
                agent.problem(
                    f"tool {name!r} needs a credential for {needs[0].service!r} and there is no provider; set provider or services"
                )
            for need in needs:
                if known is not None and need.service not in known:
                    agent.problem(
                        f"tool {name!r} needs a credential for {need.service!r}, which has no provider; {nearest(need.service, known)}"
                    )
            services = [need.service for need in needs]
            if len(set(services)) != len(services):
                agent.problem(
                    f"tool {name!r} needs two credentials for one service; ask for one of them with ctx.credentials.get_credential"
                )

    def _of(self, context: ToolContext[Any], run: Run[Any]) -> ToolCredentials:
        issued: Mapping[str, Credential] = run.scratch(self).get("issued", {}).get(context.call_id, {})
        return ToolCredentials(self._obtaining(run, context.call_id, context.tool_name, pull=True), issued, run.identity)

    def _obtaining(self, run: Run[Any], call_id: str, tool: str, *, pull: bool, tells: bool | None = None) -> Obtaining:
        own: CredentialsSettings = self.settings
        told = pull or (self._tells if tells is None else tells)
        return Obtaining(self.provider, run, call_id, tool, "pull" if pull else "push", own.keep, own.timeout, told)

    # --- before a tool runs ---

    @hookimpl(moment="before_tool", phase="credential")
    async def acquire(self, call: CallView, batch: Batch, run: Run[Any]) -> Deny | None:
        """Obtain what the call's tool declares. Asked again on a resume: what is issued is kept nowhere."""
        if call.tool is None:
            return None
        scratch = run.scratch(self)
        answers = batch.answers.get(self.name)
        late = run.memo(self).asked_in_tool == (run.turn, run.iteration)  # only a refusal counts then, and a question would be dropped
        tells = self._tells or late or (answers is not None and self.settings.still_required == "tell_model")
        for need in needs_of(call.tool):
            asked = None if answers is None else answers.get(_key(need))
            if getattr(asked, "approved", True) is False:
                run.emit(CredentialFailed(need.service, "declined", "push", call.name), call_id=call.id)
                return Deny(f"a person declined to consent to {need.service!r}", tell_model=consent_needed(need.service), rule="declined")
            waiting = scratch.setdefault("required", {})
            known = waiting.get(need.key)  # one consent for all calls of the batch that wait for it
            answer: Credential | AuthorizationRequired
            if known is not None:
                answer = known[0]
            else:
                request = CredentialRequest(need.service, need.scopes, need.mode, run.identity)
                try:
                    answer = await self._obtaining(run, call.id, call.name, pull=False, tells=tells).obtain(request)
                except CredentialError as error:
                    return Deny(f"no credential for {need.service!r}: {error.reason}", tell_model=error.message, rule=error.reason)
            if isinstance(answer, AuthorizationRequired):
                if tells:
                    return Deny(f"consent for {need.service!r} is outstanding", tell_model=consent_needed(need.service), rule="consent")
                waiting.setdefault(need.key, (answer, need, []))[2].append(call.id)
            else:
                scratch.setdefault("issued", {}).setdefault(call.id, {})[need.service] = answer
        return None

    @hookimpl(moment="before_tool", phase="credential", per="batch")
    def ask(self, batch: Batch, run: Run[Any]) -> AskPerson | None:
        """Pause for the consents that calls wait for; one question for each, and where to go in none of them."""
        live = {call.id for call in batch.live}
        waiting = [(answer, need, ids) for answer, need, ids in run.scratch(self).get("required", {}).values() if live & {*ids}]
        run.scratch(self).pop("required", None)
        if not waiting:
            return None
        fields = [
            AskField(
                _key(need),
                f"Please consent to the use of {need.service}, then go on.",
                "acknowledge",
                call_id=next(i for i in ids if i in live),
            )
            for _, need, ids in waiting
        ]
        context = [
            {
                "service": need.service,
                "scopes": list(need.scopes),
                "mode": need.mode,
                "session_id": answer.session_id,
                "authorization_url": WITHHELD,
                "key": _key(need),
            }
            for answer, need, _ in waiting
        ]
        return AskPerson(fields, context={"authorization": context})

    # --- for the person ---

    async def authorizations(self, source: RunResult[Any] | Pause) -> tuple[Authorization, ...]:
        """Where a person consents, for each question of a pause that waits for it. The provider is asked; works in any process.

        Args:
            source: a paused result, or its pause.

        Returns:
            The consents that are still needed. A URL is for that person alone.

        Raises:
            CredentialError: the provider failed; without its words.
        """
        pause = source.pause if isinstance(source, RunResult) else source
        found = []
        for question in () if pause is None else pause.questions:
            if question.plugin != self.name:
                continue
            data = next(entry for entry in question.context["authorization"] if entry["key"] == question.key)
            mode: Mode = data["mode"]
            identity = pause.record.tail.header.identity if pause is not None else None
            request = CredentialRequest(data["service"], tuple(data["scopes"]), mode, identity)
            answer, _ = await ask_provider(self.provider, request, self.settings.timeout)
            if isinstance(answer, AuthorizationRequired):
                found.append(Authorization(data["service"], answer.authorization_url, answer.session_id, question.id))
        return tuple(found)

    # --- at the end ---

    @hookimpl(phase="claims")
    def assess_answer(self, run: Run[Any]) -> Refuse | None:
        """An answer while a consent is outstanding is none: the caller learns where the person consents."""
        for service, missing in run.memo(self).outstanding.items():
            if missing.turn == run.turn:
                url = kept(run).urls.get(service)
                return Refuse(CredentialConsentRequiredError(service, url, missing.session_id, missing.tool, missing.iteration))
        return None


def _key(need: Needs) -> str:
    """The plugin's name of the question about a need; no two needs share one."""
    return "authorize:" + json.dumps(need.key)
