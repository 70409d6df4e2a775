"""``assess_answer`` verdicts: replaced, sent back, refused; and how often an answer can be sent back."""

from __future__ import annotations

from typing import Any

import pytest

from agentfp import AnswerRefusedError, MessageDeniedError
from agentfp.events import AnswerDrafted, AnswerRefused, MessageAdded, VerdictFiled
from agentfp.plugin import AnswerDraft, Message, Plugin, Refuse, Replace, Revise, Run, hookimpl
from tests.core.running import answering, call, check_record, last_request, names, roles, routes

pytestmark = pytest.mark.anyio


def look() -> str:
    """Look."""
    return "seen"


class Asks(Plugin):
    """Sends every draft back."""

    name = "asks"

    class Settings(Plugin.Settings):
        key: str = "again"
        max: int = 1
        seen: Any = None

    @hookimpl(phase="evidence")
    def assess_answer(self, draft: AnswerDraft) -> Revise:
        if self.settings.seen is not None:
            self.settings.seen.append((draft.text, draft.may_revise, draft.stopped_early))
        return Revise([f"about {self.settings.key}", "and once more"], self.settings.key, max=self.settings.max)


class Other(Asks):
    name = "other"


# --- sent back ----------------------------------------------------------------------------------------------------------------------


async def test_a_draft_that_is_sent_back_is_quoted_and_stays_out_of_the_history() -> None:
    agent = answering("guess 4711", "sure", plugins=[Asks()])
    result = await agent.run("go")
    record = check_record(result)
    late = last_request(agent).messages[-1]
    assert (late.role, late.author) == ("user", "plugin:asks")
    assert late.content.split("\n\n")[1:] == ["<draft>\nguess 4711\n</draft>", "about again", "and once more"]
    assert (roles(result.history), result.text) == (["user", "assistant"], "sure")
    assert record.of(AnswerDrafted) == [AnswerDrafted("guess 4711", "asks.again", "asks")]
    assert not any("4711" in (added.content or "") for added in record.of(MessageAdded))


@pytest.mark.parametrize(("most", "revisions"), [(1, 1), (2, 2), (3, 3), (9, 3)])
async def test_a_key_is_asked_so_often_and_nothing_more_than_three_times(most: int, revisions: int) -> None:
    seen: list[Any] = []
    result = await answering(*"abcde", plugins=[Asks(max=most, seen=seen)]).run("go")
    assert (routes(check_record(result)), result.text) == (["evidence-recheck"] * revisions + ["final"], "abcde"[revisions])
    assert [may for _, may, _ in seen] == [True] * min(revisions + 1, 3) + [False] * (revisions == 3)


async def test_the_three_are_counted_over_all_plugins() -> None:
    plugins = [Asks(max=2), Other(max=9)]
    result = await answering(*"abcdefg", plugins=plugins).run("go")
    assert [draft.by for draft in check_record(result).of(AnswerDrafted)] == ["asks", "asks", "other"]
    assert result.text == "d"


async def test_two_plugins_of_one_key_have_each_their_own_count() -> None:
    result = await answering(*"abcdefg", plugins=[Asks(), Other()]).run("go")
    assert [draft.key for draft in check_record(result).of(AnswerDrafted)] == ["asks.again", "other.again"]


async def test_a_revision_that_is_no_longer_allowed_lets_the_others_judge() -> None:
    seen: list[Any] = []
    result = await answering("a", "b", "c", plugins=[Asks(), Other(seen=seen)]).run("go")
    assert [text for text, _, _ in seen] == ["b", "c"]
    assert result.text == "c"


async def test_each_turn_has_its_revisions() -> None:
    chat = answering(*"abcd", plugins=[Asks()]).conversation()
    assert ((await chat.send("one")).text, (await chat.send("two")).text) == ("b", "d")


async def test_revisions_are_counted_apart_from_retries_of_the_type() -> None:
    result = await answering("x", "1", "y", "2", output_type=int, output_retries=2, plugins=[Asks()]).run("go")
    assert routes(check_record(result)) == ["output-retry", "evidence-recheck", "output-retry", "final"]
    assert result.output == 2


# --- replaced and refused -----------------------------------------------------------------------------------------------------------


class Says(Plugin):
    """Answers as it is told, at two phases."""

    name = "says"

    class Settings(Plugin.Settings):
        early: Any = None
        late: Any = None

    @hookimpl(moment="assess_answer", phase="rewrite")
    def first(self, draft: AnswerDraft) -> Any:
        return self.settings.early(draft) if callable(self.settings.early) else self.settings.early

    @hookimpl(moment="assess_answer", phase="append")
    def last(self, draft: AnswerDraft) -> Any:
        return self.settings.late(draft) if callable(self.settings.late) else self.settings.late


async def test_replacements_follow_one_another_and_the_last_one_is_kept() -> None:
    plugin = Says(early=lambda draft: Replace(draft.text.upper()), late=lambda draft: Replace(draft.text + "!"))
    agent = answering("fine", "next", plugins=[plugin])
    chat = agent.conversation()
    result = await chat.send("go")
    assert (result.text, result.history[-1].text, result.history[-1].own) == ("FINE!", "FINE!", None)
    await chat.send("more")
    assert last_request(agent).messages[1].text == "FINE!"
    assert [v.verdict for v in check_record(result).of(VerdictFiled)] == ["Replace", "Replace"]


async def test_a_refusal_carries_what_the_plugin_gives() -> None:
    class OwnError(Exception):
        pass

    own = OwnError("figure 4711 has no source")
    result = await answering("it is 4711", plugins=[Says(late=Refuse(own, tell_person="I cannot say."))]).run("go")
    assert (result.status, result.error, result.refused_by, result.tell_person) == ("refused", own, "says", "I cannot say.")
    with pytest.raises(OwnError):
        result.raise_for_status()
    with pytest.raises(AnswerRefusedError) as caught:
        result.text  # noqa: B018
    assert caught.value.__cause__ is own
    record = check_record(result)
    assert [(r.by, r.moment, r.error_class, r.text) for r in record.of(AnswerRefused)] == [
        ("says", "assess_answer", "OwnError", "it is 4711")
    ]
    assert roles(result.history) == ["user"]


async def test_the_conversation_goes_on_after_a_refusal() -> None:
    refuse_once = iter([Refuse(AnswerRefusedError("no")), None])
    chat = answering("bad", "good", plugins=[Says(late=lambda draft: next(refuse_once))]).conversation()
    assert (await chat.send("one")).refused
    result = await chat.send("two")
    assert (result.text, [m.content for m in result.history]) == ("good", ["one", "two", "good"])


async def test_nobody_judges_behind_a_refusal() -> None:
    seen: list[Any] = []
    result = await answering("x", plugins=[Says(early=Refuse(AnswerRefusedError("no"))), Asks(seen=seen)]).run("go")
    assert (result.refused, seen, "answer.drafted" in names(result.record)) == (True, [], False)


# --- the person's message -------------------------------------------------------------------------------------------------------------


class Door(Plugin):
    name = "door"

    class Settings(Plugin.Settings):
        verdict: Any
        seen: Any = None

    @hookimpl
    async def admit_input(self, message: Message, run: Run[Any]) -> Any:
        if self.settings.seen is not None:
            self.settings.seen.append((message.role, message.content, run.turn, len(run.history)))
        return self.settings.verdict


class Inner(Door):
    name = "inner"


async def test_a_message_may_be_changed_before_anybody_reads_it() -> None:
    seen: list[Any] = []
    agent = answering("ok", plugins=[Door(verdict=Replace("masked")), Inner(verdict=None, seen=seen)])
    result = await agent.run("my card is 4111")
    assert seen == [("user", "masked", 1, 0)]
    assert (last_request(agent).messages[0].content, result.history[0].content) == ("masked", "masked")
    assert not any("card is 4111" in line for line in result.record.to_lines())


async def test_a_message_that_is_refused_is_in_no_history_and_costs_nothing() -> None:
    seen: list[Any] = []
    plugins = [Door(verdict=Refuse(ValueError("no such questions"), tell_person="Not here.")), Inner(verdict=None, seen=seen)]
    agent = answering("never", plugins=plugins)
    result = await agent.run("SECRET-QUESTION")
    record = check_record(result)
    assert (result.status, result.tell_person, seen, len(result.history)) == ("refused", "Not here.", [], 0)
    with pytest.raises(MessageDeniedError, match="no such questions") as caught:
        result.raise_for_status()
    assert isinstance(caught.value.__cause__, ValueError)
    assert [(r.moment, r.text) for r in record.of(AnswerRefused)] == [("admit_input", "SECRET-QUESTION")]
    model: Any = agent.model
    assert model.requests == []


async def test_a_conversation_goes_on_after_a_message_was_refused() -> None:
    verdicts = iter([None, Refuse(ValueError("no")), None])

    class Turns(Door):
        name = "turns"

        @hookimpl
        def admit_input(self, message: Message) -> Any:  # type: ignore[override]
            return next(verdicts)

    chat = answering("a", "b", plugins=[Turns(verdict=None)]).conversation()
    await chat.send("one")
    assert (await chat.send("two")).refused
    result = await chat.send("three")
    assert [m.content for m in result.history] == ["one", "a", "three", "b"]
    check_record(result)


async def test_a_refusal_after_tools_ran_is_no_crash() -> None:
    """What was done before a refusal is kept; the refusal is a result and no error of the program."""
    result = await answering(call("look"), "x", tools=[look], plugins=[Says(late=Refuse(MessageDeniedError("no")))]).run("go")
    assert (result.status, roles(check_record(result).history)) == ("refused", ["user", "assistant", "tool"])
