"""Rules over the order and the number of calls, and where they stand. All they know is the names of calls that ran or run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from agentfp.plugin import Deny, Halt
from agentfp_permissions.patterns import matches

Action: TypeAlias = Literal["deny", "halt"]
Scope: TypeAlias = Literal["run", "conversation"]


@dataclass(frozen=True, slots=True)
class Forbid:
    """The last of these must not be called once the others ran in this order.

    Args:
        tools: names or ``prefix*``, in order.
        action: what becomes of the last.
        rule: name for the record; made up when left out.
        scope: whether the calls of one turn count, or those of the conversation.
        adjacent: whether calls in between break the pattern.
        reason: for the operator.
        tell_model: a sentence for the model.
    """

    tools: tuple[str, ...]
    action: Action = "halt"
    rule: str | None = None
    scope: Scope = "run"
    adjacent: bool = False
    reason: str | None = None
    tell_model: str | None = None


@dataclass(frozen=True, slots=True)
class AtMost:
    """So many calls and no more; refused calls do not count.

    Args:
        tool: name or ``prefix*``; all that it fits are counted together.
        times: how many may run.
        scope: in a turn, or in the conversation.
        action: what becomes of one more.
        rule: name for the record; made up when left out.
        reason: for the operator.
        tell_model: a sentence for the model.
    """

    tool: str
    times: int
    scope: Scope = "run"
    action: Action = "deny"
    rule: str | None = None
    reason: str | None = None
    tell_model: str | None = None


@dataclass(frozen=True, slots=True)
class OnlyAfter:
    """A tool may be called only once the others were called with success.

    Args:
        tool: name or ``prefix*``.
        after: names or ``prefix*``; each must have had a success.
        scope: in the same turn, or in the conversation.
        action: what becomes of a call too early.
        rule: name for the record; made up when left out.
        reason: for the operator.
        tell_model: a sentence for the model.
    """

    tool: str
    after: tuple[str, ...]
    scope: Scope = "run"
    action: Action = "deny"
    rule: str | None = None
    reason: str | None = None
    tell_model: str | None = None


SequenceRule: TypeAlias = Forbid | AtMost | OnlyAfter


class Progress:
    """Where the rules stand after the calls so far; each call is looked at once.

    Args:
        rules: in the order in which they are asked.
    """

    def __init__(self, rules: Sequence[SequenceRule] = ()) -> None:
        self.rules = tuple(rules)
        self._reached = [0] * len(self.rules)
        self._tails: list[tuple[str, ...]] = [()] * len(self.rules)
        self._successes: list[frozenset[str]] = [frozenset()] * len(self.rules)

    @property
    def counters(self) -> tuple[int, ...]:
        """For each rule: steps of the order that were taken, calls that ran, or conditions that are met."""
        return tuple(
            len(self._successes[at]) if isinstance(rule, OnlyAfter) else len(self._tails[at]) if _adjacent(rule) else self._reached[at]
            for at, rule in enumerate(self.rules)
        )

    def new_turn(self) -> None:
        """What counts within a turn begins anew."""
        for at, rule in enumerate(self.rules):
            if rule.scope == "run":
                self._reached[at], self._tails[at], self._successes[at] = 0, (), frozenset()

    def ran(self, name: str) -> None:
        """A call runs.

        Args:
            name: the tool's name.
        """
        for at, rule in enumerate(self.rules):
            if isinstance(rule, Forbid):
                self._tails[at] = _tail(rule, self._tails[at], name)
            self._reached[at] = _next(rule, self._reached[at], name)

    def succeeded(self, name: str) -> None:
        """A call had a success.

        Args:
            name: the tool's name.
        """
        for at, rule in enumerate(self.rules):
            if isinstance(rule, OnlyAfter):
                self._successes[at] |= {condition for condition in rule.after if matches(condition, name)}

    def judge(self, name: str, in_flight: Sequence[str] = (), *, by_name: bool = False) -> Deny | Halt | None:
        """Ask the rules about a call.

        Args:
            name: the tool's name.
            in_flight: earlier calls of the same reply that are still to run.
            by_name: ask only what no call in flight can change.
        """
        for at, rule in enumerate(self.rules):
            if self._refuses(at, rule, name, in_flight, by_name):
                kind = Halt if rule.action == "halt" else Deny
                return kind(rule.reason or _reason(rule, name), rule.tell_model, rule.rule or _rule_name(rule))
        return None

    def _refuses(self, at: int, rule: SequenceRule, name: str, in_flight: Sequence[str], by_name: bool) -> bool:
        if isinstance(rule, OnlyAfter):
            return matches(rule.tool, name) and self._successes[at] != frozenset(rule.after)
        if isinstance(rule, Forbid) and rule.adjacent:
            if by_name:
                return False
            tail = self._tails[at]
            for other in in_flight:
                tail = _tail(rule, tail, other)
            whole = (*tail, name)
            return len(whole) == len(rule.tools) and all(map(matches, rule.tools, whole))
        reached = self._reached[at]
        for other in in_flight:
            reached = _next(rule, reached, other)
        if isinstance(rule, AtMost):
            return matches(rule.tool, name) and reached >= rule.times
        return reached == len(rule.tools) - 1 and matches(rule.tools[-1], name)


def _adjacent(rule: SequenceRule) -> bool:
    return isinstance(rule, Forbid) and rule.adjacent


def _tail(rule: Forbid, tail: tuple[str, ...], name: str) -> tuple[str, ...]:
    keep = len(rule.tools) - 1
    return (*tail, name)[-keep:] if keep else ()


def _next(rule: SequenceRule, reached: int, name: str) -> int:
    """How far a rule is after one more call. The earliest way through the order is taken, which finds one if there is any."""
    if isinstance(rule, AtMost):
        return reached + matches(rule.tool, name)
    if isinstance(rule, Forbid) and reached < len(rule.tools) - 1 and matches(rule.tools[reached], name):
        return reached + 1
    return reached


def _rule_name(rule: SequenceRule) -> str:
    if isinstance(rule, Forbid):
        return "sequence.forbid:" + ">".join(rule.tools)
    return f"sequence.at_most:{rule.tool}" if isinstance(rule, AtMost) else f"sequence.only_after:{rule.tool}"


def _reason(rule: SequenceRule, name: str) -> str:
    where = "turn" if rule.scope == "run" else "conversation"
    if isinstance(rule, Forbid):
        return f"{name} must not follow {', '.join(rule.tools[:-1])} in one {where}" if len(rule.tools) > 1 else f"{name} is forbidden"
    if isinstance(rule, AtMost):
        return f"{rule.tool} may run {rule.times} times in a {where}"
    return f"{name} needs a success of {', '.join(rule.after)} before it in the {where}"
