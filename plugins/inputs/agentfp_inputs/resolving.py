"""What happens to the ruled arguments of a batch: filled, run as sent, asked for, or their call refused."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from agentfp.plugin import Allow, AskPerson, CallView, Deny, Run
from agentfp_inputs.asking import TIMES_MOST, Answer, Need, RulesOf, answer_of, ask, fits
from agentfp_inputs.events import Argument
from agentfp_inputs.ledger import Ledger
from agentfp_inputs.rules import Rule
from agentfp_inputs.sources import Checker, Claim, of_person, read_claims, traced
from agentfp_inputs.text import is_missing, same_value, shown
from agentfp_inputs.words import SOURCES, refused

NOTHING: Any = object()


class Judged(NamedTuple):
    """What is found of one argument.

    Args:
        argument: its name.
        rule: its rule; None for an argument without one.
        said: fields of its row.
        fill: the value to put in; ``NOTHING`` for none.
        need: the question to a person that it takes; None for none.
        answer: what was answered to it.
    """

    argument: str
    rule: Rule | None
    said: Mapping[str, Any]
    fill: Any = NOTHING
    need: Need | None = None
    answer: Answer = Answer()


class Resolver:
    """Judges the calls of one batch.

    Args:
        run: the run.
        ledger: the fold of its record.
        rules_of: the rules of a tool by its name.
        checker: checks where values come from; None where the model is not asked to say so.
    """

    def __init__(self, run: Run[Any], ledger: Ledger, rules_of: RulesOf, checker: Checker | None) -> None:
        self._run = run
        self._ledger = ledger
        self._rules_of = rules_of
        self._checker = checker

    def resolve(self, calls: list[tuple[CallView, Mapping[str, Rule]]], host: Any) -> dict[str, Allow | Deny] | AskPerson | None:
        """The verdicts, or the one ask of the batch.

        Args:
            calls: the calls of ruled tools that are not settled yet, with their rules.
            host: makes what the application adds to the context of an ask.
        """
        used: set[tuple[str, str]] = set()
        found = [(call, self._judged(call, rules, used)) for call, rules in calls]
        open_needs = [
            (call, judged)
            for call, all_of in found
            if not any(one.answer.misfits >= TIMES_MOST for one in all_of)
            for judged in all_of
            if judged.need is not None
        ]
        if open_needs:
            needs = [_again(judged) for _, judged in open_needs if judged.need is not None]
            question, filed, asked = ask(needs, sum(1 for _ in self._ledger.fields) + 1, host())
            about = {(need.call_id, need.rule.argument): need for need in asked}
            for call, judged in open_needs:
                need = about.get((call.id, judged.argument))
                if need is not None:
                    self._file(call, judged, asked=need.why)
            self._run.emit(filed)
            return question
        verdicts: dict[str, Allow | Deny] = {}
        for call, all_of in found:
            verdict = self._settled(call, all_of)
            if verdict is not None:
                verdicts[call.id] = verdict
        return verdicts or None

    # --- one call ---

    def _judged(self, call: CallView, rules: Mapping[str, Rule], used: set[tuple[str, str]]) -> list[Judged]:
        arguments = call.arguments
        claims, malformed = read_claims(call.proposed.arguments.get(SOURCES)) if self._checker is not None else ({}, 0)
        found = [self._one(call, rule, arguments, claims.get(rule.argument), used) for rule in rules.values()]
        if self._checker is not None:
            for argument, claim in claims.items():
                known = call.tool is not None and argument in call.tool.parameters
                if known and argument not in rules and not is_missing(arguments, argument):
                    said = self._checker.check(call.name, argument, None, arguments[argument], claim)
                    hidden = call.tool is not None and argument in call.tool.redact
                    value = shown(arguments[argument], hidden=hidden)
                    found.append(Judged(argument, None, {**said, "value": value, "hidden": hidden}))
        if malformed and found:
            found[0] = found[0]._replace(said={**found[0].said, "malformed": malformed})
        return found

    def _one(self, call: CallView, rule: Rule, arguments: dict[str, Any], claim: Claim | None, used: set[tuple[str, str]]) -> Judged:
        argument, key = rule.argument, (call.name, rule.argument)
        if is_missing(arguments, argument):
            if rule.kind == "assume":
                return Judged(argument, rule, {"source": "default", "value": shown(rule.value, hidden=rule.hidden, most=None)}, rule.value)
            kept = self._ledger.kept.get(key, NOTHING)
            if kept is not NOTHING and key not in used and fits(rule, kept):
                used.add(key)
                return Judged(argument, rule, {**self._answered(rule, kept), "kept": True}, kept)
            return self._asked(call, rule, "missing", None, {})
        value = arguments[argument]
        if call.id in self._ledger.before and (by := self._put_in(call, argument)) is not None:
            put_in = {"source": "app", "app_source": by, "value": shown(value, hidden=rule.hidden)}
            if rule.kind == "assume" or fits(rule, value):
                return Judged(argument, rule, put_in)
            return self._asked(call, rule, "unverified", None, {"app_source": by, "proposed": put_in["value"]})
        said = {"source": "model"} if self._checker is None else self._checker.check(call.name, argument, rule, value, claim)
        text = shown(value, hidden=rule.hidden)
        if rule.kind == "assume":
            if same_value(value, rule.value) and not of_person(said):
                kept_of = {name: said[name] for name in ("claimed", "quote") if name in said}
                default = shown(rule.value, hidden=rule.hidden, most=None)
                return Judged(argument, rule, {**kept_of, "source": "default", "value": default, "proposed": text})
            return Judged(argument, rule, {**said, "value": text})
        if self._checker is None or traced(said):
            return Judged(argument, rule, {**said, "value": text})
        quoted = said.get("quote") if said.get("reading") and not self._checker.hide_quotes else None
        checked = {name: content for name, content in said.items() if name != "source"}
        return self._asked(call, rule, "unverified", quoted, {**checked, "proposed": text})

    def _asked(self, call: CallView, rule: Rule, why: Any, quoted: str | None, checked: dict[str, Any]) -> Judged:
        """An argument that a person must give, or has given by now."""
        answer = answer_of(self._ledger, call.id, call.name, rule, self._rules_of)
        if answer.value is not None:
            said = self._answered(rule, answer.value)
            if "proposed" in checked:
                said["proposed"] = checked["proposed"]
            return Judged(rule.argument, rule, said, answer.value, None, answer)
        return Judged(rule.argument, rule, checked, need=Need(call.id, call.name, rule, why, quoted), answer=answer)

    def _answered(self, rule: Rule, value: Any) -> dict[str, Any]:
        free = rule.choices is None and rule.schema.type == "string"
        return {"source": "answered", "value": shown(value, hidden=rule.hidden), "free": free}

    def _put_in(self, call: CallView, argument: str) -> str | None:
        """The plugin that put an argument in before it was judged; None when the model wrote it."""
        if not is_missing(call.proposed.arguments, argument):
            return None
        changes = self._ledger.before[call.id]
        return next((change.plugin for change in changes if not is_missing(change.arguments, argument)), None)

    def _settled(self, call: CallView, all_of: list[Judged]) -> Allow | Deny | None:
        filled = {judged.argument: judged.fill for judged in all_of if judged.fill is not NOTHING}
        stuck = next((judged for judged in all_of if judged.need is not None), None)
        for judged in all_of:
            self._file(call, judged, asked=None if judged.need is None else "invalid-answer" if judged.answer.misfits else judged.need.why)
        if stuck is not None and stuck.rule is not None:
            reason = f"no answer fitted the argument {stuck.argument!r} of {call.name!r}"
            return Deny(reason, tell_model=refused(stuck.rule, stuck.answer.misfits), rule="inputs:invalid-answer")
        return Allow({**call.arguments, **filled}) if filled else None

    def _file(self, call: CallView, judged: Judged, *, asked: Any) -> None:
        rule = judged.rule
        said = {name: value for name, value in judged.said.items() if asked is None or name != "source"}
        said.setdefault("hidden", rule is not None and rule.hidden)
        self._run.emit(
            Argument(
                tool=call.name,
                argument=judged.argument,
                index=call.index,
                rule=None if rule is None else rule.kind,
                period=rule is not None and rule.marker is not None,
                asked=asked,
                **said,
            ),
            call_id=call.id,
        )


def _again(judged: Judged) -> Need:
    need = judged.need
    assert need is not None
    return need._replace(why="invalid-answer") if judged.answer.misfits else need
