"""Checks of what a model does when its provider refuses, breaks off, stalls or sends what nobody can read: typed errors, never a hang."""
# ruff: noqa: D102  the names of checks say what they check

from __future__ import annotations

import functools
from collections.abc import Callable

import anyio
import pytest

from agentfp_core.errors import (
    ContentFilterError,
    ContextTooLongError,
    ModelAuthenticationError,
    ModelBadRequestError,
    ModelConnectionError,
    ModelError,
    ModelNotFoundError,
    ModelOverloadedError,
    ModelRateLimitError,
    ModelTimeoutError,
    ProviderProtocolError,
)
from agentfp_core.events.base import Payload
from agentfp_core.events.error import Retried
from agentfp_core.model import Model, ModelRequest, ModelResponse, TextChunk
from agentfp_core.testing.conformance.asking import ask, request
from agentfp_core.testing.conformance.base import ways
from agentfp_core.testing.conformance.requests import RequestChecks
from agentfp_core.testing.conformance.server import KEY, PATIENCE, WireServer
from agentfp_core.testing.conformance.wire import Broken, Refusal, RefusalKind, SeenRequest, WireReply

PROMPT = "my very private prompt"
KINDS: dict[RefusalKind, type[ModelError]] = {
    "authentication": ModelAuthenticationError,
    "not_found": ModelNotFoundError,
    "rate_limit": ModelRateLimitError,
    "overloaded": ModelOverloadedError,
    "context_too_long": ContextTooLongError,
    "bad_request": ModelBadRequestError,
    "content_filter": ContentFilterError,
}
TEXT = "Once upon a time there was a model."


class FaultChecks(RequestChecks):
    """Refusals, broken and malformed replies, cancellation."""

    async def failure(
        self,
        server: WireServer,
        *,
        stream: bool,
        model: Model | None = None,
        wish: ModelRequest | None = None,
        into: list[str] | None = None,
    ) -> ModelError:
        """The typed error of a call that must fail, within good time, with nothing secret in it.

        Args:
            server: the server, which plays the fault.
            stream: whether the reply is streamed.
            model: the model; one of the server when left out.
            wish: the request; a question when left out.
            into: takes the texts that were streamed.
        """
        with anyio.fail_after(PATIENCE), pytest.raises(ModelError) as caught:
            await ask(model or server.model(), wish or request(PROMPT), stream=stream, into=into)
        error: BaseException | None = caught.value
        told: list[BaseException] = []
        while error is not None:
            assert error not in told, "an error is its own cause"
            told.append(error)
            said = f"{error} {error!r}"
            assert KEY not in said, f"the key stands in a {type(error).__name__}"
            assert PROMPT not in said, f"the prompt stands in a {type(error).__name__}"
            error = error.__cause__
        assert str(caught.value), "an error says what happened"
        return caught.value

    @ways
    @pytest.mark.parametrize("kind", KINDS)
    async def test_a_refusal_is_a_typed_error(self, server: WireServer, kind: RefusalKind, stream: bool) -> None:
        if kind not in self.wire.refusals:
            return
        server.play([Refusal(kind, f"you said {PROMPT} with {KEY}", retry_after=7 if kind == "rate_limit" else None)])
        error = await self.failure(server, stream=stream)
        assert isinstance(error, KINDS[kind]), f"{kind} is a {KINDS[kind].__name__}, got a {type(error).__name__}"
        assert type(error) is ModelBadRequestError or kind != "bad_request"
        assert error.retry_after == (7 if kind == "rate_limit" else None)
        model = server.model()
        assert (error.provider, error.model) == (model.provider, model.name)
        assert error.status is not None
        assert len(server.seen) == 1

    @ways
    async def test_a_server_that_fails_is_overloaded(self, server: WireServer, stream: bool) -> None:
        server.play([WireReply((b"<html>Oops</html>",), "text/html", 500)])
        assert isinstance(await self.failure(server, stream=stream), ModelOverloadedError)

    @ways
    async def test_what_may_pass_is_tried_again_and_told(self, server: WireServer, stream: bool) -> None:
        said = self.said(TEXT)
        server.play([Refusal("rate_limit", retry_after=0), WireReply((b"busy",), "text/plain", 503), said])
        events: list[Payload] = []
        told = await ask(server.model(attempts=3), request(report=events.append), stream=stream)
        self.same(told.response, said)
        assert [type(event) for event in events].count(Retried) == 2, "each retry is reported to request.report"

    @ways
    async def test_what_cannot_pass_is_not_tried_again(self, server: WireServer, stream: bool) -> None:
        server.play([Refusal("authentication")])
        await self.failure(server, stream=stream, model=server.model(attempts=3))
        assert len(server.seen) == 1

    @ways
    async def test_no_reply_is_a_connection_error(self, server: WireServer, stream: bool) -> None:
        server.play([Broken(self.said(TEXT), "drop", after=None)])
        assert isinstance(await self.failure(server, stream=stream), ModelConnectionError)

    @ways
    async def test_a_server_that_is_not_there_is_a_connection_error(self, server: WireServer, stream: bool) -> None:
        with WireServer(self.wire) as gone:
            model = gone.model()
        assert isinstance(await self.failure(server, stream=stream, model=model), ModelConnectionError)

    @ways
    async def test_a_silent_server_is_a_timeout(self, server: WireServer, stream: bool) -> None:
        for after in (None, 0):
            server.play([Broken(self.said(TEXT), "stall", after=after)])
            error = await self.failure(server, stream=stream, model=server.model(silence=0.2))
            assert isinstance(error, ModelTimeoutError)

    async def test_a_stream_that_stalls_is_a_timeout(self, server: WireServer) -> None:
        after = await self._first_text(server)
        server.play([Broken(self.said(TEXT), "stall", after=after)])
        texts: list[str] = []
        error = await self.failure(server, stream=True, model=server.model(silence=0.2), into=texts)
        assert isinstance(error, ModelTimeoutError)
        assert "".join(texts) == "" or TEXT.startswith("".join(texts))

    async def test_a_stream_that_is_dropped_is_never_taken_for_whole(self, server: WireServer) -> None:
        await self._cut_everywhere(server, "drop")

    async def test_a_stream_that_ends_early_is_never_taken_for_whole(self, server: WireServer) -> None:
        if self.wire.ends:
            await self._cut_everywhere(server, "end")

    async def test_a_stream_that_ends_within_a_piece_is_never_taken_for_whole(self, server: WireServer) -> None:
        if self.wire.ends:
            await self._cut_everywhere(server, "half")

    async def _cut_everywhere(self, server: WireServer, how: str) -> None:
        """A stream cut at each piece: a typed error that knows the usage, or the whole reply where only its last word was cut."""
        said = self.said(TEXT)
        pieces = await self._pieces(server, stream=True)
        for after in range(len(pieces)):
            server.play([Broken(said, how, after=after)] * 3)  # type: ignore[arg-type]
            texts: list[str] = []
            got = await self._outcome(server, texts)
            if isinstance(got, ModelError):
                assert isinstance(got, (ModelConnectionError, ProviderProtocolError)), f"got a {type(got).__name__}"
                known = got.usage.input if got.usage is not None else None
                assert known == 1234567 or b"1234567" not in b"".join(pieces[:after]), "usage that was reported before the break is lost"
            else:
                assert after > 0, "a stream of which nothing came was taken for a reply"
                self.same(got, said)
            assert TEXT.startswith("".join(texts))
            if texts:
                assert len(server.seen) == 1, "a stream was tried again after text had been shown"
            server.seen.clear()

    async def _outcome(self, server: WireServer, texts: list[str]) -> ModelResponse | ModelError:
        with anyio.fail_after(PATIENCE):
            try:
                return (await ask(server.model(attempts=3), request(PROMPT), stream=True, into=texts)).response
            except ModelError as error:
                return error

    @ways
    async def test_a_malformed_reply_is_a_protocol_error(self, server: WireServer, stream: bool) -> None:
        pieces = await self._pieces(server, stream=stream)
        spoilt = [at for at, piece in enumerate(pieces) if self.wire.garble(piece) != piece]
        assert spoilt, "the wire's garble() spoils no piece"
        for after in spoilt:
            server.play([Broken(self.said(TEXT), "garble", after=after)])
            error = await self.failure(server, stream=stream)
            assert isinstance(error, ProviderProtocolError), f"got a {type(error).__name__}"

    async def test_half_a_reply_is_a_typed_error(self, server: WireServer) -> None:
        server.play([Broken(self.said(TEXT), "half", after=0)])
        error = await self.failure(server, stream=False)
        assert isinstance(error, (ProviderProtocolError, ModelConnectionError))

    @ways
    async def test_a_reply_of_another_type_is_a_protocol_error(self, server: WireServer, stream: bool) -> None:
        for body in (b"<html>Welcome to the hotel's Wi-Fi</html>", b"[]", b"null", b""):
            server.play([WireReply((body,), "text/html")])
            error = await self.failure(server, stream=stream)
            assert isinstance(error, ProviderProtocolError), f"{body!r} gave a {type(error).__name__}"

    async def test_a_refusal_in_the_middle_of_a_stream_is_typed(self, server: WireServer) -> None:
        event = self.wire.refusal_in_stream(Refusal("overloaded", f"{PROMPT} {KEY}"))
        if event is None or not server.model().features.streaming:
            return
        for at in (0, await self._first_text(server)):
            server.play(functools.partial(self._refused_after, at, event))
            assert isinstance(await self.failure(server, stream=True), ModelOverloadedError)

    @ways
    async def test_cancelling_closes_the_connection(self, server: WireServer, stream: bool) -> None:
        server.play([Broken(self.said(TEXT), "stall", after=0)])
        with anyio.fail_after(PATIENCE):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._ask, server, stream)
                await self._until(lambda: bool(server.seen))
                await anyio.sleep(0.05)  # so that the reply's head is there
                tasks.cancel_scope.cancel()
        assert await server.hung_up(), "the call was cancelled, and its connection is still open"

    async def test_cancelling_after_text_closes_the_connection(self, server: WireServer) -> None:
        if not server.model().features.streaming:
            return
        server.play([Broken(self.said(TEXT), "stall", after=await self._first_text(server))])
        model = server.model()
        with anyio.move_on_after(PATIENCE) as scope:
            async for chunk in model.stream(request()):
                if isinstance(chunk, TextChunk):
                    scope.cancel()
        assert scope.cancel_called
        assert await server.hung_up(), "the stream was cancelled, and its connection is still open"

    async def test_a_stream_that_is_left_closes_the_connection(self, server: WireServer) -> None:
        if not server.model().features.streaming:
            return
        server.play([Broken(self.said(TEXT), "stall", after=await self._first_text(server))])
        chunks = server.model().stream(request())
        async for _ in chunks:
            break
        await chunks.aclose()  # type: ignore[attr-defined]
        assert await server.hung_up(), "the stream was left, and its connection is still open"

    @ways
    async def test_it_works_again_after_a_failure(self, server: WireServer, stream: bool) -> None:
        said = self.said(TEXT)
        model = server.play([Broken(said, "drop", after=1), Refusal("overloaded"), said]).model()
        for _ in range(2):
            await self.failure(server, stream=True, model=model)
        self.same((await ask(model, request(), stream=stream)).response, said)

    def _refused_after(self, at: int, event: bytes, seen: SeenRequest) -> WireReply:
        whole = self.wire.reply(seen, self.said(TEXT))
        return WireReply((*whole.pieces[:at], event), whole.content_type, headers=whole.headers)

    async def _ask(self, server: WireServer, stream: bool) -> None:
        await ask(server.model(), request(), stream=stream)

    async def _until(self, true: Callable[[], bool]) -> None:
        while not true():  # noqa: ASYNC110  a server in a thread has no event of this loop
            await anyio.sleep(0.005)

    async def _pieces(self, server: WireServer, *, stream: bool) -> tuple[bytes, ...]:
        """The pieces of the reply that says ``TEXT``."""
        server.play([self.said(TEXT)])
        await ask(server.model(), request(PROMPT), stream=stream)
        pieces = self.wire.reply(server.seen[-1], self.said(TEXT)).pieces
        server.seen.clear()
        return pieces

    async def _first_text(self, server: WireServer) -> int:
        """After how many pieces the first text is out."""
        pieces = await self._pieces(server, stream=True)
        return next(at for at, piece in enumerate(pieces, 1) if b"Once" in piece)
