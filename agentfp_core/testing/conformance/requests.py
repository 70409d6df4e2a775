"""Checks of what a model sends: everything it was given, nothing it was not, and no wish that it cannot keep."""
# ruff: noqa: D102  the names of checks say what they check

from __future__ import annotations

import base64
from typing import Any

import pytest

from agentfp_core import jsontext
from agentfp_core.errors import ModelFeatureError
from agentfp_core.messages import DocumentPart, ImagePart, Message, Part, StopReason, ToolCall
from agentfp_core.model import ModelRequest, ModelSettings, ToolSpec
from agentfp_core.testing.conformance.asking import ODD, TOOLS, WEATHER, ask, request, user
from agentfp_core.testing.conformance.base import ways
from agentfp_core.testing.conformance.replies import PARIS, ROME, ReplyChecks
from agentfp_core.testing.conformance.server import KEY, WireServer
from agentfp_core.testing.conformance.wire import SeenRequest

PIXEL = base64.b64decode("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==")
SCHEMA = jsontext.canonical(
    {
        "type": "object",
        "properties": {"conformance_field": {"type": "integer"}},
        "required": ["conformance_field"],
        "additionalProperties": False,
    }
)
SETTINGS: list[tuple[str, Any, Any]] = [
    ("temperature", 0.125, 0.125),
    ("top_p", 0.375, 0.375),
    ("max_tokens", 4321, 4321),
    ("stop", ("HALT-HERE",), "HALT-HERE"),
    ("seed", 424242, 424242),
    ("extra", {"conformance_extra": "as it is"}, "as it is"),
]


class RequestChecks(ReplyChecks):
    """Messages, tools, wishes."""

    async def sent(self, server: WireServer, wish: ModelRequest, *, stream: bool = False) -> SeenRequest:
        """What the server got of a request.

        Args:
            server: the server.
            wish: the request.
            stream: whether the reply is streamed.
        """
        server.seen.clear()
        server.play([self.said("Noted.")])
        await ask(server.model(), wish, stream=stream)
        assert len(server.seen) == 1
        return server.seen[0]

    @ways
    async def test_system_text_messages_and_model_are_sent(self, server: WireServer, stream: bool) -> None:
        seen = await self.sent(server, request("What is up?", system="You are terse."), stream=stream)
        assert any("You are terse." in text for text in seen.strings())
        assert any("What is up?" in text for text in seen.strings())
        assert any(self.wire.model_name in text for text in seen.strings()), "the model's name is neither in the path nor in the body"

    @ways
    async def test_any_text_is_sent_as_it_is(self, server: WireServer, stream: bool) -> None:
        wish = request([user(ODD), Message("m_2", "assistant", "Yes. " + ODD), user("Then: " + ODD, id="m_3")], system="Be " + ODD)
        seen = await self.sent(server, wish, stream=stream)
        for text in ("Be " + ODD, ODD, "Yes. " + ODD, "Then: " + ODD):
            assert any(text in sent for sent in seen.strings())

    @ways
    async def test_a_long_history_is_sent_whole_and_in_order(self, server: WireServer, stream: bool) -> None:
        tools = server.model().features.tools
        messages = [message for number in range(60) for message in _turn(number, tools=tools)]
        texts = (await self.sent(server, request(messages, tools=TOOLS if tools else ()), stream=stream)).strings()
        wanted = [message.content for message in messages if message.content]
        at = 0
        for text in wanted:
            at = next((index for index in range(at, len(texts)) if text in texts[index]), -1)
            assert at >= 0, f"{text!r} was not sent, or not in its place"

    async def test_results_are_sent_with_the_calls_that_they_answer(self, server: WireServer) -> None:
        if not server.model().features.tools:
            return
        calls = (PARIS, ROME) if server.model().features.parallel_tool_calls else (PARIS,)
        messages = [user("And?"), Message("m_2", "assistant", "", tool_calls=calls)]
        messages += [
            Message(f"m_{call.id}", "tool", f"result of {call.id} é", tool_call_id=call.id, tool_name=call.name, notes=("A note.",))
            for call in calls
        ]
        seen = await self.sent(server, request(messages, tools=TOOLS))
        for call in calls:
            if self.wire.call_ids:
                assert seen.strings().count(call.id) >= 2, "the id of a call stands with the call and with its result"
            assert any(f"result of {call.id} é" in text for text in seen.strings())
            assert call.arguments["city"] in seen.strings(), "a call is sent with its arguments"
        assert any("A note." in text for text in seen.strings()), "a message is sent as its `text`: own text or content, then notes"

    async def test_the_models_own_text_goes_back(self, server: WireServer) -> None:
        shown = Message("m_2", "assistant", "As shown.", own="As the model wrote it.")
        seen = await self.sent(server, request([user("Hi"), shown, user("And?", id="m_3")]))
        assert any("As the model wrote it." in text for text in seen.strings())
        assert not any("As shown." in text for text in seen.strings())

    async def test_empty_contents_can_be_sent(self, server: WireServer) -> None:
        messages = [user(""), Message("m_2", "assistant", ""), user("Well?", id="m_3")]
        await self.sent(server, request(messages))
        if server.model().features.tools:
            calling = Message("m_4", "assistant", "", tool_calls=(PARIS,))
            empty = Message("m_5", "tool", "", tool_call_id=PARIS.id, tool_name=PARIS.name)
            seen = await self.sent(server, request([*messages, calling, empty], tools=TOOLS))
            assert "Paris" in seen.strings()

    async def test_messages_of_one_role_may_follow_each_other(self, server: WireServer) -> None:
        messages = [user("One."), user("Two.", id="m_2"), Message("m_3", "assistant", "Three."), Message("m_4", "assistant", "Four.")]
        seen = await self.sent(server, request([*messages, user("Five.", id="m_5"), user("Six.", id="m_6")]))
        for word in ("One.", "Two.", "Three.", "Four.", "Five.", "Six."):
            assert any(word in text for text in seen.strings())

    async def test_arguments_that_were_no_json_can_be_sent_back(self, server: WireServer) -> None:
        if not server.model().features.tools:
            return
        bad = ToolCall("call_bad", "get_weather", '{"city": "Par')
        answer = Message("m_3", "tool", "The arguments are no JSON.", tool_call_id="call_bad", tool_name="get_weather")
        wish = request([user("And?"), Message("m_2", "assistant", "", tool_calls=(bad,)), answer], tools=TOOLS)
        assert any("The arguments are no JSON." in text for text in (await self.sent(server, wish)).strings())

    async def test_tools_are_sent_with_their_schemas(self, server: WireServer) -> None:
        nested = {"type": "object", "properties": {"where": {"type": "object", "properties": {"deep_field": {"enum": ["a", "b"]}}}}}
        wish = request(
            tools=(
                WEATHER,
                ToolSpec("no_arguments", "Takes nothing.", '{"properties":{},"type":"object"}'),
                ToolSpec("deep", "Deep.", jsontext.canonical(nested)),
            )
        )
        if not server.model().features.tools:
            await self.refused(server, wish)
            return
        texts = (await self.sent(server, wish)).strings()
        for text in ("get_weather", "The weather of a city.", "city", "Its name.", "no_arguments", "Takes nothing.", "deep", "deep_field"):
            assert text in texts

    @ways
    async def test_a_forced_tool_is_named(self, server: WireServer, stream: bool) -> None:
        forced = request(tools=TOOLS, tool_choice="get_time")
        if not server.model().features.forced_tool_choice:
            await self.refused(server, forced)
            return
        free = await self.sent(server, request(tools=TOOLS), stream=stream)
        bound = await self.sent(server, forced, stream=stream)
        assert bound.strings().count("get_time") > free.strings().count("get_time"), "the tool that must be called was not sent"

    @ways
    async def test_the_schema_of_the_answer_is_sent(self, server: WireServer, stream: bool) -> None:
        wish = request(output_schema_json=SCHEMA)
        if not server.model().features.json_schema:
            await self.refused(server, wish)
            return
        assert "conformance_field" in (await self.sent(server, wish, stream=stream)).strings()

    @pytest.mark.parametrize("kind", ["image", "document"])
    async def test_parts_are_sent_or_refused(self, server: WireServer, kind: str) -> None:
        features = server.model().features
        part: Part = (
            ImagePart("image/png", PIXEL) if kind == "image" else DocumentPart("application/pdf", b"%PDF-1.4 tiny", name="tiny.pdf")
        )
        wish = request([user("Look.", parts=(part,))])
        if not (features.images if kind == "image" else features.documents):
            await self.refused(server, wish)
            return
        encoded = base64.b64encode(part.data or b"").decode()
        assert any(encoded in text for text in (await self.sent(server, wish)).strings())

    async def test_roles_are_sent_or_refused(self, server: WireServer) -> None:
        wish = request([user("Hi."), Message("m_2", "system", "From now on, in French.")])
        if "system" not in server.model().features.roles:
            await self.refused(server, wish)
            return
        assert any("From now on, in French." in text for text in (await self.sent(server, wish)).strings())

    @pytest.mark.parametrize(("name", "value", "sign"), SETTINGS, ids=[name for name, _, _ in SETTINGS])
    async def test_a_setting_is_sent_or_refused_never_dropped(self, server: WireServer, name: str, value: Any, sign: Any) -> None:
        wish = request(settings=ModelSettings(**{name: value}))
        refusal: ModelFeatureError | None = None
        values: list[Any] = []
        try:
            values = (await self.sent(server, wish)).values()
        except ModelFeatureError as error:
            refusal = error
        if refusal is None:
            assert sign in values, f"{name} was neither sent nor refused"
        else:
            assert name in str(refusal), f"the refusal of {name} does not name it"
            assert not server.seen, "a request that cannot be served was sent"

    async def test_the_same_request_gives_the_same_bytes(self, server: WireServer) -> None:
        tools = TOOLS if server.model().features.tools else ()
        wish = request([user("Hi."), Message("m_2", "assistant", "Hello."), user("And?", id="m_3")], system="Be brief.", tools=tools)
        first, second = [(await self.sent(server, wish)).body for _ in range(2)]
        assert first == second, "caches of providers work only where the same request is the same bytes"

    async def test_a_wish_for_thinking_is_kept_or_refused(self, server: WireServer) -> None:
        wish = request(settings=ModelSettings(thinking_tokens=2048, max_tokens=8192))
        if not server.model().features.thinking:
            await self.refused(server, wish)
            return
        plain = await self.sent(server, request(settings=ModelSettings(max_tokens=8192)))
        assert (await self.sent(server, wish)).body != plain.body, "the wish for thinking changed nothing in what is sent"

    async def test_thinking_goes_back_byte_by_byte(self, server: WireServer) -> None:
        model = server.model()
        if not model.features.thinking:
            return
        calls = (PARIS,) if model.features.tools else ()
        server.play([self.said("", *calls, thinking=self.thinking(), stop=StopReason.TOOL_USE if calls else StopReason.STOP)])
        first = (await ask(model, request(tools=TOOLS if calls else ()), stream=True)).response
        answer = Message("m_2", "assistant", first.text, tool_calls=first.tool_calls, thinking=first.thinking)
        results = [Message("m_3", "tool", "Sunny.", tool_call_id=c.id, tool_name=c.name) for c in first.tool_calls]
        seen = await self.sent(server, request([user("Hi"), answer, *(results or [user("And?", id="m_3")])], tools=TOOLS if calls else ()))
        for block in self.thinking():
            if block.signature is not None:
                assert block.signature in seen.strings(), "the signature did not go back as it came"
                assert block.text in seen.strings(), "signed thinking did not go back as it came"

    async def test_a_model_that_nobody_knows_works(self, server: WireServer) -> None:
        model = server.play([self.said("Here I am.")]).model("unheard-of-model-2099")
        assert model.name == "unheard-of-model-2099"
        assert (await ask(model, request(), stream=True)).response.text == "Here I am."
        assert any("unheard-of-model-2099" in text for text in server.seen[0].strings())

    async def test_the_key_is_in_no_body_and_no_repr(self, server: WireServer) -> None:
        seen = await self.sent(server, request(tools=TOOLS if server.model().features.tools else ()))
        assert KEY.encode() not in seen.body
        assert KEY not in seen.path
        assert KEY not in repr(server.model())
        assert KEY not in str(server.model())


def _turn(number: int, *, tools: bool) -> list[Message]:
    ask_, answer = user(f"question {number}.", id=f"q_{number}"), Message(f"a_{number}", "assistant", f"answer {number}.")
    if not tools:
        return [ask_, answer]
    call = ToolCall.make("get_weather", {"city": f"city {number}"}, id=f"call_{number}")
    calling = Message(f"c_{number}", "assistant", "", tool_calls=(call,))
    return [ask_, calling, Message(f"t_{number}", "tool", f"result {number}.", tool_call_id=call.id, tool_name=call.name), answer]
