"""The plugin: what happens at each moment."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pydantic

from agentfp.plugin import (
    Allow,
    AskPerson,
    Batch,
    CallView,
    ConfigError,
    Deny,
    Event,
    MemoSource,
    Note,
    Plugin,
    Registry,
    RequestDraft,
    Run,
    Tool,
    hookimpl,
)
from agentfp_inputs.asking import host_context
from agentfp_inputs.events import EVENTS, Rewritten
from agentfp_inputs.ledger import MEMO_EVENTS, PLUGIN, Ledger, Row
from agentfp_inputs.notes import note_of
from agentfp_inputs.report import ArgumentRow, Assumed, assumed_of, rows_of
from agentfp_inputs.resolving import Resolver
from agentfp_inputs.rules import Rule, read_rules
from agentfp_inputs.sources import Checker, Texts
from agentfp_inputs.text import is_missing, json_text
from agentfp_inputs.words import SOURCES, UNREADABLE, schema_text, sources_fragment

FRAGMENT = sources_fragment()
Rules = Mapping[str, Rule]


class Inputs(Plugin):
    """Arguments that no model should choose: a person is asked, or a stated value is assumed, and the record says which."""

    name = PLUGIN
    version = "0.1.0"
    events = EVENTS
    memo_events = MEMO_EVENTS

    class Settings(Plugin.Settings):
        """Settings of the inputs plugin.

        Args:
            argument_sources: the model says where each value comes from, and that is checked.
            ask_context: a function that gives plain JSON for the screen which shows the questions.
            grounds: a function that gives texts which the application vouches for, each with a label.
        """

        argument_sources: bool = pydantic.Field(False, strict=True)
        ask_context: Any = None
        grounds: Any = None

        @pydantic.field_validator("ask_context", "grounds")
        @classmethod
        def _callable(cls, value: Any) -> Any:
            if value is not None and not callable(value):
                raise ValueError("must be a function without arguments")
            return value

    # --- the memo ---

    def initial(self) -> Ledger:
        """An empty ledger."""
        return Ledger()

    def fold(self, state: Ledger, event: Event) -> Ledger:
        """The ledger after an event."""
        state.take(event)
        return state

    @classmethod
    def rows(cls, source: MemoSource) -> list[ArgumentRow]:
        """Where the values of arguments came from, in order.

        Args:
            source: a result, a record, a checkpoint, or the path of a saved record.
        """
        return rows_of(cls.memo_of(source).rows)

    @classmethod
    def assumed(cls, source: MemoSource, *, turn: int | None = None) -> list[Assumed]:
        """Values that nobody gave, of calls that ran.

        Args:
            source: a result, a record, a checkpoint, or the path of a saved record.
            turn: number of the turn; None for the last one that has rows.
        """
        return assumed_of(cls.memo_of(source).rows, turn)

    @classmethod
    def kept_unused(cls, source: MemoSource) -> dict[int, int]:
        """How many of a person's answers a turn ended without using, because their calls were refused; by turn.

        Args:
            source: a result, a record, a checkpoint, or the path of a saved record.
        """
        return dict(cls.memo_of(source).kept_unused)

    # --- building ---

    @hookimpl
    def configure(self, agent: Registry) -> None:
        """Read every rule, so that what is wrong is said before anything runs."""
        agent.when_complete(lambda tools: self._check(tools, agent))

    def _check(self, tools: Mapping[str, Tool[..., Any]], agent: Registry) -> None:
        for tool in tools.values():
            try:
                rules = read_rules(tool)
            except ConfigError as error:
                for problem in error.problems:
                    agent.problem(problem)
                continue
            if rules and self._sources(agent.plugins) and SOURCES in tool.parameters:
                agent.problem(f"tool {tool.name!r} has a parameter {SOURCES!r}, in which the model says where values come from; rename it")

    def _sources(self, plugins: Mapping[str, Plugin]) -> bool:
        """Whether the model says where values come from; the findings plugin may ask for it too."""
        other = plugins.get("findings")
        return bool(self.settings.argument_sources or (other is not None and getattr(other.settings, "argument_sources", False)))

    # --- rules ---

    def _state(self, run: Run[Any]) -> dict[str, Any]:
        """What is computed once a leg, and what of it serves the next ones."""
        cache = run.cache(self)
        if cache.get("run_id") != run.run_id:
            cache["run_id"] = run.run_id
            cache["rules"], cache["explained"] = {}, None
            cache["sources"] = self._sources(run.agent.plugin_set.by_name)
        return cache

    def _rules(self, run: Run[Any], tool: Tool[..., Any] | None) -> Rules | str:
        """The rules of a tool; words where they cannot be read."""
        if tool is None:
            return {}
        known: dict[str, tuple[Tool[..., Any], Rules | str]] = self._state(run)["rules"]
        found = known.get(tool.name)
        if found is None or found[0] is not tool:
            try:
                rules: Rules | str = read_rules(tool) if tool.declarations or tool.metadata else {}
            except ConfigError as error:
                rules = str(error)
            found = known[tool.name] = (tool, rules)
        return found[1]

    def _readable(self, run: Run[Any], name: str) -> Rules:
        rules = self._rules(run, run.tools.get(name))
        return {} if isinstance(rules, str) else rules

    # --- the request ---

    @hookimpl(moment="serve_context", phase="compose")
    def explain(self, draft: RequestDraft, run: Run[Any]) -> None:
        """Say in the schemas which arguments may be left out. What is said stands, so it is said once."""
        state = self._state(run)
        if state.get("explained") is run.tools:
            return
        state["explained"] = run.tools
        sources = state["sources"]
        ruled: list[str] = []
        for name, tool in run.tools.items():
            rules = self._readable(run, name)
            if rules:
                with_sources = sources and SOURCES not in tool.parameters
                ruled += [name] if with_sources else []
                texts = {rule.argument: schema_text(rule, sources=with_sources) for rule in rules.values()}
                draft.explain_arguments(name, texts, optional=list(texts))
        if ruled:
            draft.decorate_tools(SOURCES, FRAGMENT, only=ruled)

    # --- calls ---

    @hookimpl(moment="before_tool", phase="peel", per="batch")
    def peel(self, batch: Batch, run: Run[Any]) -> dict[str, Allow] | None:
        """Take out where the model says that values come from."""
        if not self._state(run)["sources"]:
            return None
        verdicts: dict[str, Allow] = {}
        for call in batch.live:
            if SOURCES not in call.arguments_json and "\\u" not in call.arguments_json:
                continue
            if call.tool is None or SOURCES in call.tool.parameters or not self._rules(run, call.tool):
                continue
            arguments = call.arguments
            if SOURCES in arguments:
                verdicts[call.id] = Allow({name: value for name, value in arguments.items() if name != SOURCES})
        return verdicts or None

    @hookimpl(moment="before_tool", phase="fill", per="batch")
    def fill(self, batch: Batch, run: Run[Any]) -> dict[str, Allow | Deny] | AskPerson | None:
        """Fill what was left out, or ask for it, before any call of the batch runs."""
        ruled: list[tuple[CallView, Rules]] = []
        refused: dict[str, Allow | Deny] = {}
        for call in batch.live:
            rules = self._rules(run, call.tool)
            if isinstance(rules, str):
                refused[call.id] = Deny(rules, tell_model=UNREADABLE, rule="inputs:unreadable")
            elif rules:
                ruled.append((call, rules))
        if not ruled:
            return refused or None
        ledger: Ledger = run.memo(self)
        state = self._state(run)
        checker = None
        if state["sources"]:
            texts = state.setdefault("texts", Texts())
            hidden = any(tool.redact for tool in run.tools.values()) or bool(run.agent.tool_sources)
            checker = Checker(run, ledger, texts, self.settings.grounds, hide_quotes=hidden)
        resolver = Resolver(run, ledger, lambda name: self._readable(run, name), checker)
        open_calls = [(call, rules) for call, rules in ruled if not _is_settled(ledger, call)]
        answer = resolver.resolve(open_calls, lambda: host_context(self.settings.ask_context))
        if isinstance(answer, AskPerson):
            return answer
        return {**refused, **(answer or {})} or None

    # --- results ---

    @hookimpl(moment="after_result", phase="note", per="batch")
    def note(self, batch: Batch, run: Run[Any]) -> dict[str, Note] | None:
        """Tell the model what was filled in; file what others changed after it was judged."""
        ledger: Ledger = run.memo(self)
        if not ledger.open:
            return None
        notes: dict[str, Note] = {}
        for call in batch.calls:
            rows = ledger.rows_of(call.id)
            if not rows or not batch.results[call.id].ran:
                continue
            for row in rows if call.id in ledger.changes else ():
                if row.said.source is not None and row.rewritten is None:
                    self._changed(run, ledger, call, row)
            text = note_of(call, rows, self._readable(run, call.name), sources=self._state(run)["sources"])
            if text:
                notes[call.id] = Note(text)
        return notes or None

    def _changed(self, run: Run[Any], ledger: Ledger, call: CallView, row: Row) -> None:
        """File that an argument runs with another value than the one that was judged."""
        argument = row.said.argument
        changes = ledger.changes[call.id]
        earlier = ledger.before.get(call.id)
        before = ledger.filled.get(call.id) or (earlier[-1].arguments if earlier else call.proposed.arguments)
        value = json_text(before.get(argument))
        by, origin = None, None
        for change in changes:
            changed = json_text(change.arguments.get(argument))
            if changed != value:
                value, by, origin = changed, change.plugin, change.origin
        if by is not None:
            run.emit(Rewritten(call.name, argument, by, origin), call_id=call.id)


def _is_settled(ledger: Ledger, call: CallView) -> bool:
    """Whether the call was judged before this run broke off, and what was to be filled in is there."""
    judged = [row.said.argument for row in ledger.rows_of(call.id) if row.said.source is not None]
    if not judged:
        return False
    arguments = call.arguments
    return not any(is_missing(arguments, argument) for argument in judged)
