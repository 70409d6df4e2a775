"""What the model reads: any value as text, caps and ceilings, and sentences that tell nothing of an exception."""

from __future__ import annotations

import collections
import dataclasses
import datetime
import decimal
import enum
import json
import pathlib
import time
import uuid
from collections.abc import Iterator
from typing import Any, NamedTuple

import pydantic
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from agentfp_core.errors import ConfigError, RetryTool, ToolError
from agentfp_core.messages import DocumentPart, ImagePart
from agentfp_core.results import ToolReturn, cap, ceiling_refusal, failure_text, render, timeout_text, unknown_tool_text
from agentfp_core.tools import ResultCeiling, Tool


class Row(pydantic.BaseModel):
    id: int
    when: datetime.date = datetime.date(2024, 5, 1)


class Holder(pydantic.BaseModel):
    data: Any


@dataclasses.dataclass
class Point:
    x: int
    row: Row | None = None


class Pair(NamedTuple):
    left: int
    right: str


class Colour(enum.Enum):
    RED = "red"
    NESTED = (1, 2)


class Word(str, enum.Enum):  # noqa: UP042 - the older form is the one to be read
    A = "a"


class Broken:
    def __str__(self) -> str:
        raise RuntimeError("SECRET")

    __repr__ = __str__

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        raise RuntimeError("SECRET")


class BrokenModel(pydantic.BaseModel):
    def model_dump(self, **_options: Any) -> Any:
        raise RuntimeError("SECRET")


class BrokenDict(dict[str, Any]):
    def items(self) -> Any:
        raise RuntimeError("SECRET")


def _generator() -> Iterator[int]:
    while True:
        yield 1


# --- values -----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("as is\n", "as is\n"),
        ("", ""),
        (None, "(no value returned)"),
        (True, "true"),
        (5, "5"),
        (1.5, "1.5"),
        ({"ä": [1, None]}, '{"ä":[1,null]}'),
        ([], "[]"),
        ((1, "a"), '[1,"a"]'),
        (Pair(1, "b"), '[1,"b"]'),
        ({3: "a", None: 1, True: 2}, '{"3":"a","null":1,"true":2}'),
        ({(1, 2): "a", Colour.RED: 1, datetime.date(2024, 5, 1): 2}, '{"[1,2]":"a","red":1,"2024-05-01":2}'),
        (float("nan"), "NaN"),
        ([float("inf"), float("-inf"), 1.0], '["Infinity","-Infinity",1.0]'),
        (Row(id=1), '{"id":1,"when":"2024-05-01"}'),
        ([Row(id=1)], '[{"id":1,"when":"2024-05-01"}]'),
        (Point(1, Row(id=2)), '{"x":1,"row":{"id":2,"when":"2024-05-01"}}'),
        (datetime.datetime(2024, 5, 1, 10), "2024-05-01T10:00:00"),  # noqa: DTZ001
        ({"d": decimal.Decimal("1.10")}, '{"d":"1.10"}'),
        (decimal.Decimal("1.10"), "1.10"),
        (uuid.UUID(int=1), "00000000-0000-0000-0000-000000000001"),
        (Colour.RED, "red"),
        (Colour.NESTED, "[1,2]"),
        (Word.A, "a"),
        ({3, 1, 2}, "[1,2,3]"),
        (frozenset({"b", "a"}), '["a","b"]'),
        (b"plain", "plain"),
        (b"\xff\x00\x01", "[binary data: 3 bytes]"),
        ({"b": b"\x00"}, '{"b":"[binary data: 1 bytes]"}'),
        (pathlib.PurePosixPath("/a/b"), "/a/b"),
        (range(3), "[0,1,2]"),
        ({"a": 1}.keys(), '["a"]'),
        (collections.deque([1]), "[1]"),
        (collections.OrderedDict(b=1, a=2), '{"b":1,"a":2}'),
        (_generator(), "[unserializable: generator]"),
        ({"g": _generator(), "n": 1}, '{"g":"[unserializable: generator]","n":1}'),
        (object(), "[unserializable: object]"),
        (BrokenModel(), "[unserializable: BrokenModel]"),
        (BrokenDict(a=1), "[unserializable: BrokenDict]"),
        (Row, "[unserializable: ModelMetaclass]"),
        (3j, "[unserializable: complex]"),
        ("\ud83d\ude00 and \ud800", "😀 and \ufffd"),
        (["\ud800"], '["\ufffd"]'),
        ({"\ud800", "a"}, '["a","\ufffd"]'),
        (Holder(data=b"\xff"), '{"data":"[binary data: 1 bytes]"}'),
        (Holder(data=float("nan")), '{"data":null}'),
        (Holder(data=_generator()), '{"data":"[unserializable: generator]"}'),
        (pydantic.SecretStr("SECRET"), "**********"),
    ],
)
def test_values_read_as_text(value: Any, text: str) -> None:
    assert render(value).text == text


def test_objects_that_cannot_be_asked_for_anything() -> None:
    assert render(Broken()).text == "[unserializable: Broken]"
    assert render([1, Broken()]).text == '[1,"[unserializable: Broken]"]'
    assert render({"a": Point(1, Broken())}).text == '{"a":{"x":1,"row":"[unserializable: Broken]"}}'  # type: ignore[arg-type]
    assert "SECRET" not in render(Holder(data=Broken())).text


def test_integers_with_too_many_digits() -> None:
    assert render(10**6000).text == "[unserializable: int]"
    assert render({"n": 10**6000}).text == '{"n":"[unserializable: int]"}'


def test_keys_that_read_the_same_lose_nothing() -> None:
    read = json.loads(render({"1": "a", 1: "b", "x": Row(id=1)}).text)
    assert sorted(value for key, value in read.items() if key != "x") == ["a", "b"]


def test_cycles_are_cut_where_they_close() -> None:
    loop: dict[str, Any] = {"a": 1}
    loop["self"] = loop
    assert render(loop).text == '{"a":1,"self":"[unserializable: dict]"}'
    shared = [1]
    assert render([shared, shared, {1, 2}]).text == "[[1],[1],[1,2]]"


def test_very_deep_values_are_cut() -> None:
    deep: Any = []
    for _ in range(100_000):
        deep = [deep]
    assert "[unserializable: list]" in render(deep).text
    json.loads(render(deep).text)


def test_densely_tangled_objects_end() -> None:
    nodes: list[dict[str, Any]] = [{"at": datetime.date(2024, 5, 1)} for _ in range(30)]
    for node in nodes:
        node["all"] = list(nodes)
    begun = time.perf_counter()
    text = render(nodes).text
    assert time.perf_counter() - begun < 30
    assert "[unserializable: dict]" in text


NUMBERS = st.none() | st.booleans() | st.integers() | st.floats() | st.decimals()
KEYS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters()) | st.binary() | st.dates() | st.uuids()
PLAIN = NUMBERS | KEYS
VALUES = st.recursive(
    PLAIN | st.sampled_from([object(), BrokenModel(), Colour.RED, Row(id=1), 3j]),
    lambda inner: st.lists(inner) | st.dictionaries(KEYS, inner) | st.builds(Point, inner) | st.builds(Holder, data=inner),
    max_leaves=15,
)


@given(VALUES)
@example("\ud800")
def test_rendering_never_raises_and_gives_text_that_can_be_sent(value: Any) -> None:
    rendered = render(value)
    rendered.text.encode()
    if isinstance(value, (list, dict, Point, Holder)):
        json.loads(rendered.text, parse_constant=lambda word: pytest.fail(word))
    assert "SECRET" not in rendered.text


# --- parts and ToolReturn -----------------------------------------------------------------------------------------------------

IMAGE = ImagePart("image/png", b"\x89")
PDF = DocumentPart("application/pdf", b"%", name="a.pdf")


def test_parts() -> None:
    assert render(IMAGE) == ("[image: image/png]", (IMAGE,), None, None)
    assert render([IMAGE, PDF]) == ("[image: image/png]\n[document a.pdf: application/pdf]", (IMAGE, PDF), None, None)
    assert render(["Look:", IMAGE, 3]) == ("Look:\n[image: image/png]\n3", (IMAGE,), None, None)


def test_tool_return() -> None:
    rendered = render(ToolReturn({"a": 1}, private={"b": [Row(id=1)], "a": 2}, parts=(IMAGE,), outcome="partial"))
    assert rendered == ('{"a":1}', (IMAGE,), '{"a":2,"b":[{"id":1,"when":"2024-05-01"}]}', "partial")
    assert render(ToolReturn(None)).text == "(no value returned)"
    assert render(ToolReturn(None, parts=(PDF,))).text == "[document a.pdf: application/pdf]"
    assert render(ToolReturn("x", parts=IMAGE)).parts == (IMAGE,)  # type: ignore[arg-type]
    assert render(ToolReturn([IMAGE], parts=(PDF,))).parts == (IMAGE, PDF)


def test_private_data_never_reaches_the_text() -> None:
    inner = ToolReturn("seen", private="SECRET")
    for value in (inner, [inner], {"a": inner}, Point(inner), ToolReturn(inner), {"s": [1, (inner,)]}):  # type: ignore[arg-type]
        text = render(value).text
        assert "seen" in text
        assert "SECRET" not in text
    assert render(ToolReturn(inner)).private_json == '"SECRET"'


def test_private_data_that_is_no_json_is_named() -> None:
    assert render(ToolReturn("x", private=object())).private_json == '"[unserializable: object]"'
    assert render(ToolReturn("x", private=float("nan"))).private_json == '"NaN"'
    assert render(ToolReturn("x", private=0)).private_json == "0"


def test_wrong_tool_returns_are_refused() -> None:
    with pytest.raises(ConfigError, match="success, partial, absent"):
        ToolReturn("x", outcome="fine")  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="got a str"):
        ToolReturn("x", parts=("image",))  # type: ignore[arg-type]


# --- sizes --------------------------------------------------------------------------------------------------------------------


def test_cap_leaves_what_fits() -> None:
    text = "x" * 20_000
    assert cap(text, 20_000, "t") is text


def test_cap_says_what_was_cut() -> None:
    capped = cap("ab\n" * 270_810, 20_000, "dump")
    assert len(capped) <= 20_000
    read = json.loads(capped)
    assert read["truncated"] is True
    assert read["reason"] == "dump gave 812430 characters and the limit is 20000; ask for less and call it again"
    assert len(read["head"]) > 10_000
    assert ("ab\n" * 270_810).startswith(read["head"])


def test_a_limit_too_small_for_a_head() -> None:
    assert set(json.loads(cap("x" * 100, 40, "t"))) == {"truncated", "reason"}


@given(st.text(st.characters() | st.sampled_from('"\\\n\x01é😀'), min_size=1, max_size=400), st.integers(min_value=150, max_value=400))
@example("\\" * 400, 180)
@example("\x01" * 400, 181)
@example("a\x01" * 200, 183)
def test_cap_never_exceeds_its_limit_and_its_head_is_a_beginning(text: str, limit: int) -> None:
    capped = cap(text, limit, "tool")
    assert len(capped) <= limit
    if capped != text:
        read = json.loads(capped)
        assert text.startswith(read.get("head", ""))
        longer = text[: len(read.get("head", "")) + 1]
        assert len(json.dumps({**read, "head": longer}, ensure_ascii=False)) > limit


@pytest.mark.parametrize("unit", ["x", '"', "\\", "\x01", "é😀"])
def test_cap_is_fast_for_large_texts(unit: str) -> None:
    text = unit * (10_000_000 // len(unit))
    begun = time.perf_counter()
    for limit in (20_000, 5_000_000, 9_999_999):
        assert len(cap(text, limit, "t")) <= limit
    assert time.perf_counter() - begun < 3


def test_ceiling_refusal_names_everything() -> None:
    def rows(limit: int, since: str) -> None: ...

    made = Tool.of(rows, result_ceiling=ResultCeiling(1000, ("limit", "since")))
    text = ceiling_refusal(made, 5000)
    for word in ("'rows'", "5000", "1000", "'limit'", "'since'", "no data was returned"):
        assert word in text
    assert "ask for less" in ceiling_refusal(Tool.of(rows, result_ceiling=10), 11)


# --- failures -------------------------------------------------------------------------------------------------------------------


def test_an_exception_tells_the_model_nothing() -> None:
    texts = {failure_text(error) for error in (RuntimeError("SECRET"), KeyError("k"), ToolError(""), Broken_error())}
    assert len(texts) == 1
    assert "SECRET" not in texts.pop()


class Broken_error(Exception):  # noqa: N801
    def __str__(self) -> str:
        raise RuntimeError("SECRET")


def test_tool_errors_speak() -> None:
    assert failure_text(ToolError("no such port", detail="SECRET")) == "no such port"
    assert failure_text(RetryTool("use A or B")) == "use A or B"


def test_unknown_tool_and_timeout() -> None:
    assert unknown_tool_text("x", ["b", "a"]) == "Unknown tool: x. The tools are: a, b"
    assert unknown_tool_text("x", [str(n) for n in range(31)]) == "Unknown tool: x"
    assert unknown_tool_text("x", []) == "Unknown tool: x"
    assert len(unknown_tool_text("x" * 5000, [])) < 120
    assert timeout_text("x", 30.0) == "tool 'x' did not finish in 30 s; it may still be running"
