"""Redaction policies: what they mask and where, and what they refuse to be."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentfp import (
    ConfigError,
    RedactionPolicy,
    conversation_redaction,
)
from agentfp.events import (
    CATALOG,
    AppEvent,
    CostTick,
    Event,
    Mark,
    Payload,
    ToolEnded,
    TurnStart,
    UnknownPayload,
)
from agentfp_core.events.base import marks_of
from agentfp_core.redaction import PLACEHOLDER

pytestmark = pytest.mark.anyio


def masked(policy: RedactionPolicy, payload: Payload, **envelope: Any) -> Event:
    event = Event(0, payload.event_name, 1, 0, 1, 1, None, "kernel", payload)
    return policy.apply(event._replace(**envelope))


# --- keys ---


keys = RedactionPolicy(keys=["password", "api_key"])
nested = {"user": "ann", "list": [{"password": {"deep": [1, 2]}, "api_key": 17}], "password": None}


def test_a_key_is_masked_with_all_that_is_under_it_at_any_depth() -> None:
    data = json.loads(keys.mask_text(json.dumps(nested)))
    assert data == {"user": "ann", "list": [{"password": PLACEHOLDER, "api_key": PLACEHOLDER}], "password": PLACEHOLDER}


@pytest.mark.parametrize("depth", range(1, 5))
def test_a_key_is_masked_in_json_in_json(depth: int) -> None:
    text = json.dumps({"password": "geheim-77"})
    for level in range(depth):
        text = json.dumps({"n": level, "body": text}) if level % 2 else json.dumps([text])
    assert "geheim-77" in text
    assert "geheim-77" not in keys.mask_text(text)
    assert json.loads(keys.mask_text(text))


@pytest.mark.parametrize(
    "text",
    [
        '{"user":"ann","password":"geheim-77","cut off": "her',
        '{"truncated": true, "head": "{\\"password\\":\\"geheim-77\\",\\"a"}',
        'The tool said {"password": "geheim-77"} and no more.',
        "KeyError: {'user': 'ann', 'password': 'geheim-77'}",
        '{"password": {"deep": "geheim-77"',
        '  \n{"password": "geheim-77"}',
        '"{\\"password\\": \\"geheim-77\\"}"',
        '{"a": "x", "password": "with \\" quote geheim-77", "b": 1',
        '{"a": "x", "password": geheim-77}',
        'password: "password" = "geheim-77"',
    ],
)
def test_a_quoted_key_is_masked_where_the_text_is_no_whole_json(text: str) -> None:
    shown = keys.mask_text(text)
    assert "geheim-77" not in shown
    assert PLACEHOLDER in shown


@given(
    st.recursive(st.none() | st.integers() | st.text(), lambda i: st.lists(i) | st.dictionaries(st.sampled_from(["a", "password", "b"]), i))
)
def test_no_value_under_a_key_is_left_and_nothing_else_is_touched(data: Any) -> None:
    def expected(value: Any) -> Any:
        if isinstance(value, dict):
            return {k: PLACEHOLDER if k == "password" else expected(v) for k, v in value.items()}
        return [expected(item) for item in value] if isinstance(value, list) else value

    text = json.dumps({"top": data}, ensure_ascii=False)
    assert json.loads(keys.mask_text(text)) == expected({"top": data}) or '"password"' in json.dumps(json.dumps(data))


def test_text_without_a_key_stays_as_it_is() -> None:
    for text in ("", "hello", "{not json", '{"a": 1.0,  "b": [1]}', "[1, 2]", '"text"', "the password is asked for"):
        assert keys.mask_text(text) == text


def test_a_capped_result_does_not_get_around_a_key() -> None:
    shown = masked(keys, ToolEnded("success", 1, '{"truncated":true,"head":"{\\"api_key\\": \\"geheim-77'))
    assert "geheim-77" not in repr(shown)


# --- patterns ---


def test_what_matches_a_pattern_is_masked_in_content_and_in_json() -> None:
    policy = RedactionPolicy(patterns={"card": r"\b\d{4}-\d{4}\b"})
    assert policy.mask_text("pay with 1234-5678 now") == f"pay with {PLACEHOLDER} now"
    assert json.loads(policy.mask_text('{"a": ["1234-5678"], "b": "{\\"c\\": \\"1234-5678\\"}"}')) == {
        "a": [PLACEHOLDER],
        "b": f'{{"c":"{PLACEHOLDER}"}}',
    }
    assert masked(policy, TurnStart("1234-5678")).payload == TurnStart("1234-5678"), "ids are no content"


def test_masking_raw_events_never_breaks_their_json() -> None:
    policy = RedactionPolicy(patterns=[r"\d+", '"'])
    for payload in (AppEvent('{"a":17,"b":"x"}'), UnknownPayload('{"a":17}')):
        shown = masked(policy, payload, name="acme.some.thing").payload
        assert isinstance(shown, type(payload))
        json.loads(shown.data)
        assert "17" not in shown.data


# --- content, names, numbers ---


def test_content_is_masked_whole_and_numbers_and_names_pass() -> None:
    policy = conversation_redaction()
    shown = masked(
        policy, ToolEnded("failure", 17, "text", error_class="KeyError", error="text", private='{"a":1}', fingerprint="ab12")
    ).payload
    assert isinstance(shown, ToolEnded)
    assert (shown.outcome, shown.duration_ms, shown.ran, shown.error_class, shown.fingerprint) == ("failure", 17, True, "KeyError", "ab12")
    assert (shown.content, shown.error, shown.private, shown.parts) == (PLACEHOLDER, PLACEHOLDER, PLACEHOLDER, None)
    tick = CostTick("p", "m", "0.0015", "1E-7")
    assert masked(policy, tick).payload == tick
    assert masked(policy, CostTick("p", "m", "my text", "0")).payload == CostTick("p", "m", PLACEHOLDER, "0")
    assert masked(policy, AppEvent('{"a":1}'), name="acme.x").payload == AppEvent(json.dumps(PLACEHOLDER))


def test_the_envelope_carries_no_text_either() -> None:
    shown = masked(keys, TurnStart("m"), call_id="what the model wrote", name="acme the text")
    assert (shown.call_id, shown.name) == (PLACEHOLDER, PLACEHOLDER)
    assert masked(keys, TurnStart("m"), call_id="call_1").call_id == "call_1"


def filled(cls: Any, text: str) -> Any:
    """A payload with one text in every field that can hold any, parts included."""
    values: dict[str, Any] = {}
    for field, mark in marks_of(cls).items():
        hint = str(next(f.type for f in dataclasses.fields(cls) if f.name == field))
        if isinstance(mark, type):
            made = filled(mark, text)
            values[field] = (made,) if "tuple" in hint else made
        elif mark is Mark.NUMBER:
            values[field] = 7
        else:
            values[field] = (text,) if "tuple" in hint else text
    return cls(**values)


def texts_of(payload: Any) -> list[tuple[str, Mark, Any]]:
    found: list[tuple[str, Mark, Any]] = []
    for field, mark in marks_of(type(payload)).items():
        value = getattr(payload, field)
        if isinstance(mark, type):
            for item in value if isinstance(value, tuple) else (value,):
                found += [(f"{field}.{name}", inner, text) for name, inner, text in texts_of(item)]
        else:
            found += [(field, mark, item) for item in (value if isinstance(value, tuple) else (value,))]
    return found


@pytest.mark.parametrize("cls", CATALOG.values(), ids=lambda cls: cls.event_name)
@pytest.mark.parametrize("policy", [keys, conversation_redaction()], ids=["keys", "content"])
def test_no_field_of_any_event_lets_a_text_through_that_is_not_of_its_kind(cls: type[Payload], policy: RedactionPolicy) -> None:
    shown = masked(policy, filled(cls, "a text with blanks")).payload
    for field, mark, value in texts_of(shown):
        if mark in (Mark.NAME, Mark.HASH):
            assert value == PLACEHOLDER, field
        elif mark is Mark.NUMBER:
            assert value == 7, field
        elif policy.content:
            assert value == PLACEHOLDER, field
        else:
            assert value == "a text with blanks", field


CONTENT = """
agent.output_attempt: path error | agent.output_contract_unmet: path error | agent.output_schema_retry: path error
agent.run_configured: redaction plugin_problems | answer.drafted: text | answer.refused: reason text | approval.decided: by note
context.blob: body | context.served: params | error.circuit_changed: reason | error.fatal: error | error.retried: last_error
fallback.triggered: reason | hook.verdict: arguments text reason
message.added: content tool_calls.name tool_calls.arguments tool_calls.provider_meta tool_name notes parts thinking.text
  thinking.signature thinking.provider_meta own
pause.answered: answers.value | pause.request: questions.prompt questions.schema questions.context questions.component questions.pinned
pause.resume: answers.value | plugin.failed: error | reliability.fail_fast: error_message | reliability.retried: error_message
reliability.rule_failed: error
run.stop_requested: reason
resilience.output_canned_used: error | resilience.output_fallback_triggered: error | stream.thinking_delta: text | stream.token: text
tool.ended: content error parts private | tool.progress: data | tool.started: undeclared | tools.session_close_failed: error
tools.session_started: label | validation.args_invalid: issues.path issues.expected
"""
"""Every field of the kernel's events that is content. A field that is not here was found to be a name, a number or a digest."""


def test_what_is_content_is_a_decision() -> None:
    joined = " ".join(CONTENT.replace("\n  ", " ").replace("\n", " | ").split())
    expected = {
        f"agentfp.{name}": set(fields.split()) for name, _, fields in (entry.strip().partition(": ") for entry in joined.split("|")) if name
    }
    found: dict[str, set[str]] = {}
    for name, cls in CATALOG.items():
        content = {field for field, mark, _ in texts_of(filled(cls, "x")) if mark is Mark.CONTENT}
        if content:
            found[name] = content
    assert found == expected


# --- what a policy may be ---


def test_a_policy_that_cannot_work_is_refused_with_all_that_is_wrong() -> None:
    with pytest.raises(ConfigError) as refused:
        RedactionPolicy(keys=["ok", "", 5, " "], patterns={"open": "[", "number": 5, "any": "x*"})  # type: ignore[list-item]
    assert len(refused.value.problems) == 6
    for words in ("''", "5", "' '", "'open'", "'number'", "'any'"):
        assert any(words in problem for problem in refused.value.problems)


def test_a_policy_that_masks_nothing_is_refused() -> None:
    with pytest.raises(ConfigError, match="masks nothing"):
        RedactionPolicy()
    with pytest.raises(ConfigError, match="masks nothing"):
        RedactionPolicy(keys=[], patterns={})


def test_one_text_stands_for_one_key_and_one_pattern() -> None:
    policy = RedactionPolicy(keys="password", patterns=r"\d+")
    assert policy.names[0] == "key:password"
    assert len(policy.names) == 2
    assert policy.mask_text("ab 12") == f"ab {PLACEHOLDER}"


def test_two_policies_together_mask_what_either_does() -> None:
    one, two = RedactionPolicy(keys=["a"], patterns={"p": "x+"}), RedactionPolicy(keys=["b"], patterns={"p": "y+"})
    both = one.joined(two)
    assert both.mask_text("xx yy zz") == f"{PLACEHOLDER} {PLACEHOLDER} zz"
    assert json.loads(both.mask_text('{"a":1,"b":2,"c":3}')) == {"a": PLACEHOLDER, "b": PLACEHOLDER, "c": 3}
    assert one.joined(None) is one
    assert both.joined(conversation_redaction()).content


def test_the_names_of_a_policy_show_no_pattern() -> None:
    names = conversation_redaction(keys=["password"], patterns=["geheim-77", "x+"]).names
    assert names[0] == "key:password"
    assert names[-1] == "content"
    assert "geheim-77" not in "".join(names)
