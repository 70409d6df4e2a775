"""The gate in a live run: every call is asked about, by name before anybody is asked anything, then with its arguments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import pydantic

from agentfp.plugin import (
    Allow,
    Batch,
    CallView,
    Deny,
    Event,
    Halt,
    MemoSource,
    Message,
    Plugin,
    Refuse,
    Registry,
    Run,
    Tool,
    hookimpl,
    nearest,
)
from agentfp_permissions.asking import Question, capabilities_of, skill_of
from agentfp_permissions.calls import PastCall
from agentfp_permissions.checkers import ask_checker, load_checkers
from agentfp_permissions.errors import PolicyError, UnknownRoleError
from agentfp_permissions.events import PermissionChecked, PermissionHalted, PermissionRole, Phase, Result, RoleFrom
from agentfp_permissions.facts import Facts, Ruling, facts_of
from agentfp_permissions.ledger import READ, Check, HaltReport, Ledger
from agentfp_permissions.patterns import matches
from agentfp_permissions.policy import digest_of, read_policy
from agentfp_permissions.requests import PermissionChecker, PermissionRequest
from agentfp_permissions.roles import RolePolicy

HALTED = "This tool is not available in this context."


class Permissions(Plugin):
    """Decides which tool calls may run: by role, by what a tool reaches, by what ran before, and by checkers of your own."""

    name = "permissions"
    version = "0.1.0"
    events = (PermissionChecked, PermissionHalted, PermissionRole)
    memo_events = READ

    class Settings(Plugin.Settings):
        """Settings of the gate."""

        policy: str | Path | None = None
        """A TOML file with `active_role`, `roles`, `identities`, `sequence` and `capabilities`; relative to the working directory.
        What is set here of these stands for what the file says."""
        active_role: str | None = None
        """The role of runs that have none of their own."""
        roles: dict[str, Any] = pydantic.Field(default_factory=dict)
        """What each role may do: a table, or a list of tools."""
        identities: dict[str, str] = pydantic.Field(default_factory=dict)
        """The role of each principal."""
        sequence: tuple[Any, ...] = ()
        """Rules over the order and number of calls."""
        capabilities: dict[str, Any] = pydantic.Field(default_factory=dict)
        """What tools reach that do not say so in their metadata."""
        checkers: tuple[Any, ...] = ()
        """Checkers of your own, or `module:name` of one; asked in order, after the policy."""
        show_rationale: bool = False
        """Whether the model reads the reason of a denial that has no sentence for it."""
        unknown_names: Literal["refuse", "allow"] = "refuse"
        """Whether a policy may name tools that the agent does not have; needed for tools that are known only in a run."""
        timeout: float = pydantic.Field(default=10.0, gt=0, le=30)
        """Seconds in which an async checker must answer one question; the call is refused after that."""

    class RunOptions(Plugin.RunOptions):
        """Options of one run."""

        role: str | None = None
        """The role of this run."""

    def __init__(self, settings: Settings | None = None, **values: Any) -> None:
        super().__init__(settings, **values)
        own: Permissions.Settings = self.settings
        problems: list[str] = []
        given = {key: getattr(own, key) for key in ("active_role", "roles", "identities", "sequence", "capabilities")}
        try:
            self.policy = read_policy(own.policy, given)
        except PolicyError as error:
            problems += error.problems
        self._own = load_checkers(own.checkers, problems)
        if problems:
            raise PolicyError(problems)
        self.checkers: tuple[PermissionChecker, ...] = (*((self.policy.roles,) if self.policy.roles else ()), *self._own)
        self._governed = frozenset(name for checker in self.checkers for name in getattr(checker, "governs", ()))
        self._guards = bool(self.checkers or self.policy.sequence)

    # --- what it says of a record ---

    def initial(self) -> Ledger:
        """No calls yet."""
        return Ledger(self.policy.sequence)

    def fold(self, state: Ledger, event: Event) -> Ledger:
        """What is known after an event."""
        return state.fold(event)

    @classmethod
    def checks(cls, source: MemoSource) -> tuple[Check, ...]:
        """All questions that were asked, and the answers, in order.

        Args:
            source: a result, a record, or the path of a saved one.
        """
        return tuple(cls.memo_of(source).checks)

    @classmethod
    def halt(cls, source: MemoSource) -> HaltReport | None:
        """Why the last run that was ended over a call was ended; None when none was.

        Args:
            source: a result, a record, or the path of a saved one.
        """
        halts: list[HaltReport] = cls.memo_of(source).halts
        return halts[-1] if halts else None

    @classmethod
    def sequence(cls, source: MemoSource) -> tuple[PastCall, ...]:
        """The calls of the conversation that ran, in the order in which they were let through.

        Args:
            source: a result, a record, or the path of a saved one.
        """
        return tuple(cls.memo_of(source).executed)

    @classmethod
    def attempted(cls, source: MemoSource) -> tuple[PastCall, ...]:
        """All calls of the conversation that were proposed, each with what became of it.

        Args:
            source: a result, a record, or the path of a saved one.
        """
        return tuple(cls.memo_of(source).attempted)

    # --- hooks ---

    @hookimpl
    def configure(self, agent: Registry) -> None:
        """Report names that no tool has: a rule with a typing error guards nothing."""
        agent.when_complete(lambda tools: self._check(tools, agent))

    def _check(self, tools: Mapping[str, Tool[..., Any]], agent: Registry) -> None:
        for tool in tools.values():
            for wrong in capabilities_of(tool, self.policy)[1]:
                agent.problem(f"tool {tool.name!r} says that it reaches {wrong}")
        if self.settings.unknown_names == "allow":
            return
        for pattern, where in self.policy.names():
            if not any(matches(pattern, name) for name in tools) and pattern != "*":
                agent.problem(
                    f"{where} names {pattern!r}, and no tool fits; {nearest(pattern, tools)}. "
                    "unknown_names = 'allow' lets a policy name tools that come later"
                )

    @hookimpl
    def admit_input(self, message: Message, run: Run[Any]) -> Refuse | None:
        """Refuse a run in a role that is not there, before a model is called; put the role on the record that its caller named."""
        role, role_from = self._role(run)
        if self.policy.roles is not None and (role is None or role not in self.policy.roles.roles):
            return Refuse(UnknownRoleError(role, self.policy.roles.roles))
        if role is not None and role_from == "options":
            run.emit(PermissionRole(role))
        return None

    @hookimpl(moment="before_tool", phase="screen")
    async def screen(self, call: CallView, batch: Batch, run: Run[Any]) -> Deny | Halt | None:
        """Refuse by name, so that nobody is asked about a call that will not run."""
        return await self._decide("screen", call, batch, run) if self._guards else None

    @hookimpl(moment="before_tool", phase="authorize")
    async def authorize(self, call: CallView, batch: Batch, run: Run[Any]) -> Deny | Halt | None:
        """Decide with the arguments; on a resume once more."""
        return await self._decide("authorize", call, batch, run) if self._guards else None

    async def _decide(self, phase: Phase, call: CallView, batch: Batch, run: Run[Any]) -> Deny | Halt | None:
        facts = facts_of(run.memo(self), call, batch, run, *self._role(run))
        for question in self._questions(phase, call):
            refusal = await self._refusal(phase, question, call, run, facts)
            if refusal is not None:
                self._file(phase, question, refusal, call, run, facts)
                return self._refused(refusal, call, run, facts)
            if phase == "authorize":  # what may run by its name is asked about again with the arguments
                self._file(phase, question, Ruling(Allow(), None, self._whole_digest()), call, run, facts)
        return None

    async def _refusal(self, phase: Phase, question: Question, call: CallView, run: Run[Any], facts: Facts) -> Ruling | None:
        """The first answer to a question that lets the call not run: of the checkers in order, then of the rules of order."""
        asked = PermissionRequest(
            question.capability,
            question.target,
            call.name,
            call.id,
            facts.role,
            run.identity,
            run.deps,
            run.iteration,
            None,
            facts.sequence,
            facts.attempted,
            lambda: run.history,
        )
        for checker in self.checkers:
            if question.capability != "tool_call" and question.capability not in getattr(checker, "governs", ()):
                continue
            own = asked if phase == "screen" else replace(asked, arguments=call.arguments)  # parsed anew: nobody changes another's
            answer = await ask_checker(checker, own, phase, self.settings.timeout)
            if not isinstance(answer, Allow):
                return Ruling(answer, checker.name, self._digest(checker))
        if question.capability != "tool_call":
            return None
        by_name = phase == "screen"
        broken = facts.progress.judge(call.name, () if by_name else [other.tool for other in facts.waiting], by_name=by_name)
        return None if broken is None else Ruling(broken, "sequence", self.policy.digest)

    def _file(self, phase: Phase, question: Question, ruling: Ruling, call: CallView, run: Run[Any], facts: Facts) -> None:
        answer = ruling.answer
        result: Result = "allow" if isinstance(answer, Allow) else "halt" if isinstance(answer, Halt) else "deny"
        rule, reason = (None, None) if isinstance(answer, Allow) else (answer.rule, answer.reason)
        row = PermissionChecked(
            question.capability, question.target, result, phase, ruling.checker, rule, reason, ruling.digest, facts.role, facts.role_from,
            sequence_length=len(facts.sequence), again=facts.again,
        )  # fmt: skip
        run.emit(row, call_id=call.id)

    def _questions(self, phase: Phase, call: CallView) -> Sequence[Question]:
        assert call.tool is not None  # the kernel refuses names that no tool has before this is asked
        found, wrong = capabilities_of(call.tool, self.policy)
        questions = [Question("tool_call", call.name)]
        governed = self._governed
        if wrong and governed:
            raise PolicyError([f"tool {call.name!r} says that it reaches {each}" for each in wrong])
        questions += [Question(capability, call.name) for capability in found if capability in governed]
        if phase == "authorize" and "skill_read" in governed and (skill := skill_of(call)) is not None:
            questions.append(Question("skill_read", f"skill:{skill}"))
        return questions

    def _refused(self, ruling: Ruling, call: CallView, run: Run[Any], facts: Facts) -> Deny | Halt:
        answer = ruling.answer
        assert not isinstance(answer, Allow)
        if isinstance(answer, Halt):
            told = answer.tell_model or HALTED
            run.emit(PermissionHalted(call.name, answer.reason, facts.ran, ruling.checker, answer.rule, told), call_id=call.id)
            return Halt(answer.reason, told, answer.rule)
        if answer.tell_model is None and self.settings.show_rationale:
            return Deny(answer.reason, f"[permission denied: {answer.reason}]", answer.rule)
        return answer

    def _role(self, run: Run[Any]) -> tuple[str | None, RoleFrom | None]:
        option = run.options(self).role
        if option is None:
            option = self._named_before(run)
        if option is not None:
            return option, "options"
        principal = None if run.identity is None else run.identity.principal
        if principal is not None and principal in self.policy.identities:
            return self.policy.identities[principal], "identity"
        active = None if self.policy.roles is None else self.policy.roles.active_role
        return active, None if active is None else "settings"

    def _named_before(self, run: Run[Any]) -> str | None:
        """The role that a caller named when the run was started; a nested run goes in its parent's, where its own policy has that role."""
        ledger = run.memo(self)
        if isinstance(ledger, Ledger) and ledger.option_role is not None and ledger.option_role[0] == run.turn:
            return ledger.option_role[1]
        outer = None if run.parent is None else self._named_before(run.parent)
        return outer if self.policy.roles is None or outer in self.policy.roles.roles else None

    def _digest(self, checker: PermissionChecker) -> str | None:
        if isinstance(checker, RolePolicy):
            return self.policy.digest if checker is self.policy.roles else digest_of(checker)
        found = getattr(checker, "policy_hash", None)
        return found if isinstance(found, str) else None

    def _whole_digest(self) -> str:
        """Of all the rules that let a call through: the policy's own, or with those of the checkers that have one."""
        others = [(checker.name, found) for checker in self._own if (found := self._digest(checker))]
        return self.policy.digest if not others else digest_of(self.policy.digest, others)
