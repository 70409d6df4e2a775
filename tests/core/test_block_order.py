"""The blocks of a reply go back in the order in which they came; other providers' are told apart."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentfp.model import Message, PlacedCall, PlacedThinking, ThinkingBlock, ToolCall, block_meta, ordered_blocks

kinds = st.one_of(
    st.tuples(st.just("text"), st.text("ab ", min_size=1).filter(str.strip)),
    st.tuples(st.just("call"), st.text("cd", max_size=3)),
    st.tuples(st.just("thinking"), st.text("ef", max_size=3)),
)


def kept(blocks: list[tuple[str, str]]) -> Message:
    """A message made of a reply's blocks, as a provider would."""
    text = ""
    calls: list[ToolCall] = []
    thinking: list[ThinkingBlock] = []
    for kind, value in blocks:
        if kind == "text":
            text += value
        elif kind == "call":
            calls.append(ToolCall(f"c{len(calls)}", "t", provider_meta=block_meta("acme", {"value": value}, text=len(text))))
        else:
            meta = block_meta("acme", {"value": value}, text=len(text), calls=len(calls))
            thinking.append(ThinkingBlock("", provider_meta=meta))
    return Message("m", "assistant", text, tool_calls=tuple(calls), thinking=tuple(thinking))


def read(message: Message) -> list[tuple[str, str]]:
    found = []
    for item in ordered_blocks(message, "acme"):
        if isinstance(item, str):
            found.append(("text", item))
        elif isinstance(item, PlacedCall):
            found.append(("call", item.block["value"]))
        else:
            assert item.block is not None
            found.append(("thinking", item.block["value"]))
    return found


def joined(blocks: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """Neighbouring texts are one."""
    made: list[tuple[str, str]] = []
    for kind, value in blocks:
        if kind == "text" and made and made[-1][0] == "text":
            made[-1] = ("text", made[-1][1] + value)
        else:
            made.append((kind, value))
    return made


@given(st.lists(kinds, max_size=8))
def test_blocks_come_back_in_their_order(blocks: list[tuple[str, str]]) -> None:
    assert read(kept(blocks)) == joined(blocks)


def test_calls_without_a_place_come_after_the_text() -> None:
    message = Message("m", "assistant", "Wait.", tool_calls=(ToolCall("a", "t"), ToolCall("b", "t", provider_meta='{"provider":"other"}')))
    assert list(ordered_blocks(message, "acme")) == ["Wait.", PlacedCall(message.tool_calls[0], {}), PlacedCall(message.tool_calls[1], {})]


@pytest.mark.parametrize(
    "meta", [None, "no json", "[]", '{"provider":"other","block":{}}', '{"provider":"acme"}', '{"provider":"acme","block":1}']
)
def test_thinking_of_another_provider_is_told_apart(meta: str | None) -> None:
    thinking = ThinkingBlock("Hm.", provider_meta=meta)
    message = Message("m", "assistant", "So.", thinking=(thinking,))
    assert list(ordered_blocks(message, "acme")) == [PlacedThinking(thinking, 0, None), "So."]


@pytest.mark.parametrize("text", ["", " ", "\n\n"])
def test_blank_text_is_left_out(text: str) -> None:
    assert list(ordered_blocks(Message("m", "assistant", text), "acme")) == []


def test_places_beyond_the_message_do_no_harm() -> None:
    meta: Any = block_meta("acme", {}, text=99, calls=99)
    message = Message("m", "assistant", "ab", tool_calls=(ToolCall("a", "t"),), thinking=(ThinkingBlock("", provider_meta=meta),))
    assert [type(item).__name__ for item in ordered_blocks(message, "acme")] == ["str", "PlacedCall", "PlacedThinking"]
