"""Where the model says a value comes from, and whether it does. Words that occur somewhere may refute a claim; they prove nothing."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from agentfp.plugin import Message, Run
from agentfp_inputs.ledger import Ledger
from agentfp_inputs.rules import Rule
from agentfp_inputs.text import QUOTE_CHARS, clip, count, is_missing, same_value, single, tokens, value_tokens

CLAIMED = ("user", "result", "turn", "app", "assumed")
TEXT_MOST = 1_000_000
"""The most characters of a text that is looked through; what a longer one holds is not known."""
TRACED = ("answered", "result", "app")
Grounds = Callable[[], Iterable[tuple[str, str]]]


class Claim(NamedTuple):
    """Where the model says a value comes from."""

    source: str
    quote: str | None = None
    id: str | None = None


def read_claims(value: Any) -> tuple[dict[str, Claim], int]:
    """Claims by argument, and how many entries could not be read. The first claim of an argument counts."""
    if value is None:
        return {}, 0
    claims: dict[str, Claim] = {}
    malformed = 0
    if not isinstance(value, list):
        return {}, 1
    for entry in value:
        claim = _claim(entry)
        if claim is None:
            malformed += 1
        else:
            claims.setdefault(entry["argument"], claim)
    return claims, malformed


def _claim(entry: Any) -> Claim | None:
    if not isinstance(entry, dict) or not isinstance(entry.get("argument"), str) or entry.get("source") not in CLAIMED:
        return None
    quote, call_id = entry.get("quote"), entry.get("id")
    if entry["source"] == "user" and not isinstance(quote, str):
        return None
    if entry["source"] == "result" and not isinstance(call_id, str):
        return None
    return Claim(entry["source"], quote if isinstance(quote, str) else None, call_id if isinstance(call_id, str) else None)


class Texts:
    """What there is to look through, tokenised once a message; it can be made again of the history at any time."""

    def __init__(self) -> None:
        self._tokens: dict[str, str] = {}
        self._by_text: dict[str, str] = {}
        self._begin()

    def _begin(self) -> None:
        self._read = 0
        self._last = ""
        self.person: list[Message] = []
        self.composed: list[Message] = []
        self.model: list[Message] = []
        self.results: dict[str, Message] = {}
        self.calls: dict[str, dict[str, Any]] = {}
        self._unindexed: list[Message] = []
        self._where: dict[str, list[Message]] = {}

    def follow(self, run: Run[Any]) -> None:
        """Take in the messages that came since."""
        history = run.history
        if self._read and (self._read > len(history) or history[self._read - 1].id != self._last):
            self._begin()  # a message was taken out
        nested = bool(run.path)
        for place in range(self._read, len(history)):
            message = history[place]
            if message.role == "user":
                said = message.author == "person" and not nested
                (self.person if said else self.composed).append(message)
            elif message.role == "assistant":
                self.model.append(message)
                for call in message.tool_calls:
                    self.calls[call.id] = call.arguments
            elif message.role == "tool" and message.tool_call_id is not None:
                self.results[message.tool_call_id] = message
                self._unindexed.append(message)
        self._read = len(history)
        self._last = history[-1].id if history else ""

    def of(self, message: Message) -> str | None:
        """The tokens of a message, notes left out; None when it is too long to look through."""
        if message.id not in self._tokens:
            if len(message.content) > TEXT_MOST:
                return None
            self._tokens[message.id] = tokens(message.content)
        return self._tokens[message.id]

    def in_results(self, wanted: str) -> bool:
        """Whether tokens stand in any result, one after the other. Each result is looked through once, whatever is asked for."""
        for message in self._unindexed:
            for token in set(single(self.of(message) or "")):
                self._where.setdefault(token, []).append(message)
        self._unindexed.clear()
        words = single(wanted)
        found = [self._where.get(word, []) for word in words]
        if len(words) < 2 or not all(found):
            return bool(words) and all(found)
        return any(wanted in (self.of(message) or "") for message in min(found, key=len))

    def of_text(self, text: str) -> str | None:
        """The tokens of a text of the application."""
        if len(text) > TEXT_MOST:
            return None
        if text not in self._by_text:
            self._by_text[text] = tokens(text)
        return self._by_text[text]


class Checker:
    """Checks claims about one batch.

    Args:
        run: the run.
        ledger: the fold of its record.
        texts: what there is to look through.
        grounds: what the application vouches for besides, each text with a label.
        hide_quotes: a tool keeps arguments to itself, so no quote is shown.
    """

    def __init__(self, run: Run[Any], ledger: Ledger, texts: Texts, grounds: Grounds | None, *, hide_quotes: bool) -> None:
        texts.follow(run)
        self._run = run
        self._ledger = ledger
        self._texts = texts
        self._grounds = grounds
        self._app: list[tuple[str, str]] | None = None
        self.hide_quotes = hide_quotes

    def check(self, tool: str, argument: str, rule: Rule | None, value: Any, claim: Claim | None) -> dict[str, Any]:
        """What a row says of a value that stands in a call: fields of ``Argument``."""
        wanted = value_tokens(value)
        said: dict[str, Any] = {"source": "model"}
        if claim is not None:
            said["claimed"] = claim.source
            if claim.quote is not None:
                said["quote"] = "REDACTED" if self.hide_quotes else clip(claim.quote, QUOTE_CHARS)
            if claim.source != "assumed":
                found = {} if wanted else {"failed": "uncheckable"}
                said |= found or self._checked(tool, argument, rule, value, wanted, claim)
        if said["source"] == "model" and wanted and (hint := self._coincides(wanted)) is not None:
            said["coincides"] = hint
        return said

    def _checked(self, tool: str, argument: str, rule: Rule | None, value: Any, wanted: str, claim: Claim) -> dict[str, Any]:
        if claim.source == "user":
            return self._said(rule, value, wanted, claim.quote or "")
        if claim.source == "result":
            return self._from_result(tool, value, wanted, claim.id or "")
        if claim.source == "turn":
            return self._answered(tool, argument, rule, value)
        return self._from_app(wanted)

    # --- the person ---

    def _said(self, rule: Rule | None, value: Any, wanted: str, quote: str) -> dict[str, Any]:
        words = tokens(quote)
        if not words:
            return {"failed": "uncheckable"}
        turn, found, unread = self._run.turn, [], False
        for message in self._texts.person:
            have = self._texts.of(message)
            unread = unread or have is None
            if have is not None and words in have:
                found.append(message.turn)
        if not found:
            if any(words in (self._texts.of(message) or "") for message in self._texts.composed):
                return {"failed": "composed-message"}
            return {"failed": "uncheckable" if unread else "quote-not-found"}
        said: dict[str, Any] = {"source": "said", "earlier": turn not in found, "weak_quote": count(words) == 1}
        if wanted in words:
            said["matched"] = "quote"
        elif rule is not None and any(phrase in words for phrase in rule.phrases(value)):
            said["matched"] = "phrase"
        else:
            said["reading"] = True
        return said

    def _answered(self, tool: str, argument: str, rule: Rule | None, value: Any) -> dict[str, Any]:
        unread = False
        for answer in reversed(self._ledger.answers):
            same = (answer.tool, answer.argument) == (tool, argument)
            if not answer.readable:
                unread = unread or same
            elif same and same_value(answer.value, value):
                return {"source": "answered", "earlier": answer.turn != self._run.turn}
            elif rule is not None and rule.marker is not None and not same and self._respelled(answer, rule, value):
                return {"source": "answered", "matched": "spelling", "earlier": answer.turn != self._run.turn}
        if unread:
            return {"failed": "uncheckable"}
        if not self._ledger.answers:
            wanted = value_tokens(value)
            by_model = any(wanted in (self._texts.of(message) or "") for message in self._texts.model)
            return {"failed": "only-in-model-answer" if by_model else "no-earlier-turn"}
        return {"failed": "not-in-earlier-turns"}

    def _respelled(self, answer: Any, rule: Rule, value: Any) -> bool:
        tool = self._run.tools.get(answer.tool)
        markers = () if tool is None else tool.declarations.get(answer.argument, ())
        marker = rule.marker
        return marker is not None and any((got := marker.respell(answer.value, other)) is not None and got == value for other in markers)

    # --- results ---

    def _from_result(self, tool: str, value: Any, wanted: str, call_id: str) -> dict[str, Any]:
        message = self._texts.results.get(call_id)
        if message is None:
            return {"failed": "unknown-result"}
        have = self._texts.of(message)
        if have is None:
            return {"failed": "uncheckable"}
        if wanted not in have:
            return {"failed": "placed-result" if _is_ticket(message.content) else "not-in-result"}
        sent = {**self._texts.calls.get(call_id, {}), **self._ledger.sent.get(call_id, {})}
        if any(same_value(one, value) for one in sent.values()) and not _beside_echo(message.content, sent, wanted):
            return {"failed": "echoed-argument"}
        said: dict[str, Any] = {"source": "result", "result": call_id}
        standing = self._ledger.standings.get(call_id)
        if standing in ("open", "noise", "ruled-out"):
            said["set_aside"] = standing
        grounds = self._declared_grounds(tool)
        if grounds is not None:
            said["arguments_from"] = "listed" if message.tool_name in grounds else "unlisted"
        return said

    def _declared_grounds(self, tool: str) -> set[str] | None:
        found = self._run.tools.get(tool)
        given = None if found is None else found.metadata.get("arguments_from")
        if isinstance(given, Mapping):
            names: set[str] = set()
            for one in given.values():
                names.update([one] if isinstance(one, str) else [str(name) for name in one])
            return names
        return {str(name) for name in given} if isinstance(given, (list, tuple)) else None

    # --- the application ---

    def _from_app(self, wanted: str) -> dict[str, Any]:
        unread = False
        for label, text in self._app_texts():
            have = self._texts.of_text(text)
            unread = unread or have is None
            if have is not None and wanted in have:
                return {"source": "app", "app_source": label}
        return {"failed": "uncheckable" if unread else "not-in-app-text"}

    def _app_texts(self) -> list[tuple[str, str]]:
        """What the application says: what it vouches for, then its instructions."""
        if self._app is None:
            self._app = []
            if self._grounds is not None:
                for value, label in self._grounds():
                    if isinstance(value, str) and isinstance(label, str) and value.strip() and label.strip():
                        self._app.append((clip(label, 80), value))
            blobs = self._ledger.blobs
            self._app += [("instructions", blobs[piece]) for piece in self._ledger.app_pieces if piece in blobs]
        return self._app

    # --- a hint ---

    def _coincides(self, wanted: str) -> str | None:
        texts = self._texts
        if any(wanted in (texts.of(message) or "") for message in texts.person):
            return "person"
        if texts.in_results(wanted):
            return "result"
        return "app" if any(wanted in (texts.of_text(text) or "") for _, text in self._app_texts()) else None


def _is_ticket(content: str) -> bool:
    """Whether a result reads as a reference to where it was put."""
    return '"ref"' in content[:400] or "art_" in content[:400]


def _beside_echo(content: str, sent: dict[str, Any], wanted: str) -> bool:
    """Whether a value stands in a result elsewhere than where the result repeats the arguments of its own call."""
    try:
        data = json.loads(content)
    except (ValueError, RecursionError):
        return False  # of prose it cannot be told what is an echo
    stack: list[tuple[str | None, Any]] = [(None, data)]
    while stack:
        key, item = stack.pop()
        if isinstance(item, dict):
            stack += item.items()
        elif isinstance(item, list):
            stack += [(key, one) for one in item]
        elif item is not None and wanted in value_tokens(item):
            echo = key in sent and not is_missing(sent, str(key)) and same_value(sent[str(key)], item)
            if not echo:
                return True
    return False


def traced(said: Mapping[str, Any]) -> bool:
    """Whether a value was found where it is said to come from."""
    return said["source"] in TRACED or (said["source"] == "said" and not said.get("reading"))


def of_person(said: Mapping[str, Any]) -> bool:
    """Whether a value traced to the person."""
    return said["source"] == "answered" or (said["source"] == "said" and not said.get("reading"))
