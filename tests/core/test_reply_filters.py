"""Reply filters: what is shown of a reply, the same for pieces of any size and without a stream."""

from __future__ import annotations

from typing import Any

import pytest

from agentfp import Agent, Limits
from agentfp.events import MessageAdded
from agentfp.model import ModelError, ModelRequest, TextChunk
from agentfp.plugin import AnswerDraft, Plugin, Registry, ReplyFilter, Run, hookimpl
from tests.core.running import PLAIN, ScriptedModel, answering, call, check_record, says

pytestmark = pytest.mark.anyio

OPEN, CLOSE = "<note>", "</note>"
TEXT = "The <note>not for people</note>answer is <b>7</b> <note>nor this</note>."
SHOWN = "The answer is <b>7</b> ."


class Notes:
    """Takes out what stands between two tags, wherever the pieces are cut."""

    def __init__(self, made: list[Notes] | None = None) -> None:
        self.waiting, self.inside, self.finished = "", False, 0
        self.notes: list[str] = []
        if made is not None:
            made.append(self)

    def feed(self, text: str) -> str:
        assert not self.finished
        self.waiting += text
        out = ""
        while True:
            tag = CLOSE if self.inside else OPEN
            before, found, rest = self.waiting.partition(tag)
            if found:
                self.waiting = rest
                if self.inside:
                    self.notes.append(before)
                else:
                    out += before
                self.inside = not self.inside
                continue
            keep = next((n for n in range(len(tag) - 1, 0, -1) if self.waiting.endswith(tag[:n])), 0)
            if not self.inside:
                out += self.waiting[: len(self.waiting) - keep]
                self.waiting = self.waiting[len(self.waiting) - keep :]
            return out

    def finish(self) -> str:
        self.finished += 1
        return "" if self.inside else self.waiting


class Upper:
    def feed(self, text: str) -> str:
        return text.upper()

    def finish(self) -> str:
        return "!"


class Peels(Plugin):
    name = "peels"

    class Settings(Plugin.Settings):
        make: Any
        drafts: Any = None

    @hookimpl
    def configure(self, agent: Registry) -> None:
        agent.add_reply_filter(self.make)

    def make(self, run: Run[Any]) -> ReplyFilter:
        made: ReplyFilter = self.settings.make()
        return made

    @hookimpl(phase="stand")
    def assess_answer(self, draft: AnswerDraft) -> None:
        if self.settings.drafts is not None:
            self.settings.drafts.append(draft.text)


class After(Peels):
    name = "after"


@pytest.mark.parametrize("chunk", [0, 1, 2, 3, 5, 7, 11, len(TEXT)])
@pytest.mark.parametrize("mode", ["hold", "live"])
async def test_the_shown_text_is_the_same_for_pieces_of_any_size(chunk: int, mode: str) -> None:
    made: list[Notes] = []
    drafts: list[str] = []
    tokens: list[str] = []
    model = ScriptedModel([TEXT], chunk=chunk or None, features=None if chunk else PLAIN)
    agent: Any = Agent(model, plugins=[Peels(make=lambda: Notes(made), drafts=drafts)], stream=mode)
    async with agent.stream("go") as run:
        tokens = [piece async for piece in run.text()]
    result = run.result
    check_record(result)
    assert (result.text, "".join(tokens), drafts) == (SHOWN, SHOWN, [SHOWN])
    assert [(one.notes, one.finished) for one in made] == [(["not for people", "nor this"], 1)]


async def test_people_read_what_is_shown_and_the_provider_its_own_words() -> None:
    agent = answering(TEXT, "second", plugins=[Peels(make=Notes)])
    chat = agent.conversation()
    first = await chat.send("one")
    assert (first.history[-1].content, first.history[-1].own, first.history[-1].text) == (SHOWN, TEXT, TEXT)
    await chat.send("two")
    model: Any = agent.model
    assert model.requests[-1].messages[1].text == TEXT
    assert [(added.content, added.own) for added in first.record.of(MessageAdded)][1] == (SHOWN, TEXT)


async def test_each_reply_has_a_filter_of_its_own() -> None:
    def look() -> str:
        """Look."""
        return "seen"

    made: list[Notes] = []
    agent = answering(says(f"a {OPEN}open", call("look")), "b", tools=[look], plugins=[Peels(make=lambda: Notes(made))])
    result = await agent.run("go")
    assert (result.text, [one.finished for one in made]) == ("b", [1, 1])
    assert result.history[1].content == "a "


async def test_filters_follow_one_another() -> None:
    agent = answering(f"a{OPEN}x{CLOSE}b", plugins=[Peels(make=Notes), After(make=Upper)])
    assert (await agent.run("go")).text == "AB!"
    agent = answering(f"a{OPEN}x{CLOSE}b", plugins=[After(make=Upper), Peels(make=Notes)])
    assert (await agent.run("go")).text == "A<NOTE>X</NOTE>B!"


@pytest.mark.parametrize("streaming", [True, False])
async def test_a_filter_is_told_when_a_reply_breaks_off(streaming: bool) -> None:
    class Breaks(ScriptedModel):
        async def stream(self, request: ModelRequest) -> Any:
            yield TextChunk(TEXT[:9])
            raise ModelError("gone")

        async def complete(self, request: ModelRequest) -> Any:
            raise ModelError("gone")

    made: list[Notes] = []
    model = Breaks([], features=None if streaming else PLAIN)
    with pytest.raises(ModelError):
        await Agent(model, plugins=[Peels(make=lambda: Notes(made))]).run("go")
    assert [one.finished for one in made] == [1]


async def test_a_reply_of_nothing_but_notes_is_an_empty_answer() -> None:
    result = await answering(f"{OPEN}x{CLOSE}", plugins=[Peels(make=Notes)], limits=Limits(iterations=1)).run("go")
    assert (result.status, result.text, result.history[-1].own) == ("answered", "", f"{OPEN}x{CLOSE}")
