"""The order of a call through permissions, credentials and artifacts, all of them on, on the first leg and on every resume."""

from __future__ import annotations

from typing import Annotated, Any

import pytest

from agentfp import Agent, Pause, ToolContext, ToolError, approve, ask_human, reject, tool
from agentfp.plugin import Allow, CallView, Deny, Halt, Plugin, Replace, ResultView, Withhold, hookimpl
from agentfp.testing import ScriptedModel, call
from agentfp_artifacts import Artifacts, Wants
from agentfp_credentials import AuthorizationRequired, CredentialRequest, Credentials, Issued, Needs, bearer
from agentfp_permissions import Permissions

pytestmark = pytest.mark.anyio
TOKEN = "tok-SENTINEL-4711"

SCREEN, AUTHORIZE, REWRITE, VALIDATE, CONSENT, RESOLVE, CREDENTIAL, RUN, CHECK, PLACE, LAND = range(11)
"""The steps of a call, in their order."""


class Policy:
    """Allows, or refuses where a test says so."""

    name = "policy"
    governs = frozenset({"user_data", "skill_read"})

    def __init__(self) -> None:
        self.at_screen: Any = None
        self.refuses: dict[str, Any] = {}
        self.asked: list[tuple[str, bool]] = []

    def screen(self, request: Any) -> Any:
        return self.at_screen if request.tool == "report" else None

    def check(self, request: Any) -> Any:
        if request.tool == "report":
            self.asked.append((request.capability, request.arguments.get("limit") == 3))
        return self.refuses.get(request.capability, Allow()) if request.tool == "report" else Allow()


class Rules(Plugin):
    """What an application's own rules do: change arguments before, and results after."""

    name = "rules"

    class Settings(Plugin.Settings):
        before: Any = None
        after: Any = None

    @hookimpl(moment="before_tool", phase="rewrite")
    def rewrite(self, call: CallView) -> Any:
        if call.name != "report":
            return None
        return self.settings.before or Allow(args={**call.arguments, "limit": 3})

    @hookimpl(moment="after_result", phase="rewrite")
    def shorten(self, result: ResultView, call: CallView) -> Any:
        return self.settings.after or Replace(result.content.replace("customer", "client")) if call.name == "report" else None


class Person:
    """Plays an authorization server whose person consents when the test says so."""

    id = "person"
    consented = False
    asked = 0

    async def get_credential(self, request: CredentialRequest, /) -> Issued | AuthorizationRequired:
        self.asked += 1
        return Issued(bearer(TOKEN)) if self.consented else AuthorizationRequired("https://login.example/?state=s-4711", "s")


class Scene:
    """An agent with all of it on, and one call of `report` after an artifact was put."""

    def __init__(self, *, ask: bool = False, ref: str | None = None, limit: Any = 1, raises: bool = False, **rules: Any) -> None:
        self.policy, self.person, self.runs = Policy(), Person(), 0
        scene = self

        @tool
        async def load(ctx: ToolContext) -> str:
            """Load the rows; gives a ref."""
            return str((await ctx.artifacts.put(kind="rows", media_type="text/plain", data="a,b,c")).ref)

        @tool(mutating=True)
        def which() -> str:
            """Ask which quarter."""
            return ask_human("Which quarter?")

        @tool(approval=True, mutating=True, metadata={"capabilities": ["user_data"], "skill_argument": "skill"})
        async def report(ctx: Annotated[ToolContext, Needs("crm")], rows: Annotated[str, Wants("rows")], skill: str, limit: int = 1) -> str:
            """Write a report."""
            scene.runs += 1
            if raises:
                raise ToolError("it could not be written " * 40)
            return f"customer {rows} {ctx.credential.to_headers()} " * 40

        def reporting(request: Any) -> Any:
            made = call("report", rows=ref or request.messages[-1].text, skill="sales", limit=limit, id="c")
            return [call("which", id="q"), made] if ask else made

        plugins = [Artifacts(max_inline_chars=400), Credentials(provider=self.person), Permissions(checkers=[self.policy]), Rules(**rules)]
        self.agent: Any = Agent(ScriptedModel([call("load"), reporting, "Done."]), tools=[load, which, report], plugins=plugins)
        self.legs: list[list[Any]] = []
        self.seen = 0

    async def run(self) -> Any:
        return self._leg(await self.agent.run("Write the report."))

    async def resume(self, result: Any, answer: Any) -> Any:
        """As another process would: from the stored text."""
        return self._leg(await self.agent.resume(Pause.from_json(result.pause.to_json()), answer))

    def _leg(self, result: Any) -> Any:
        events = list(result.record)
        self.legs.append(events[self.seen :])
        self.seen = len(events)
        return result

    def steps(self, leg: int) -> list[str]:
        """What a leg says of the call, in words."""
        return [words for event in self.legs[leg] if event.call_id in ("c", None) and (words := _words(event))]


def _words(event: Any) -> str:
    name: str = event.name.removeprefix("agentfp.")
    payload = event.payload
    if name == "permission.check":
        return f"{payload.phase}: {payload.capability} {payload.result}{' again' if payload.again else ''}"
    if name == "hook.verdict":
        after = "after " if payload.moment == "after_result" else ""
        return f"{after}{payload.phase}: {payload.plugin} {payload.verdict}"
    if name == "pause.request":
        return f"pause: {payload.phase}"
    if name == "tool.ended":
        return f"ended: {payload.outcome}"
    if name in ("artifacts.resolved", "artifacts.refused", "artifacts.minted", "artifacts.placed", "approval.decided"):
        return name
    if name.startswith("credential."):
        return f"{name} {payload.via}"
    return name if name in ("validation.args_invalid", "permission.halt", "message.added") and event.call_id else ""


STEP_OF = {
    "screen": SCREEN, "authorize": AUTHORIZE, "rewrite": REWRITE, "validation": VALIDATE, "consent": CONSENT, "approval": CONSENT,
    "resolve": RESOLVE, "credential": CREDENTIAL, "ended": RUN, "after rewrite": CHECK, "after place": PLACE, "message": LAND,
}  # fmt: skip
ASKED = ["authorize: tool_call allow", "authorize: user_data allow", "authorize: skill_read allow"]
AGAIN = [f"{words} again" for words in ASKED]
REDEEMED = ["artifacts.resolved", "artifacts.resolved"]  # what it is, and its data
ACQUIRED = ["credential.requested push", "credential.acquired push"]
WAITING = ["credential.requested push", "credential.authorization_required push"]


async def test_every_step_is_taken_in_order_over_three_legs() -> None:
    scene = Scene()
    result = await scene.run()
    assert scene.steps(0) == [*ASKED, "rewrite: rules Allow", "pause: consent"]
    assert scene.person.asked == 0, "a credential was asked for before the call was approved"

    result = await scene.resume(result, approve(by="ann"))
    approved = ["approval.decided", "consent: kernel Allow"]
    assert scene.steps(1) == [*approved, *AGAIN, *REDEEMED, "resolve: artifacts Allow", *WAITING, "pause: credential"]
    assert scene.runs == 0

    scene.person.consented = True
    result = await scene.resume(result, approve())
    landed = ["after rewrite: rules Replace", "artifacts.minted", "artifacts.placed", "after place: artifacts Replace", "message.added"]
    assert scene.steps(2) == [*AGAIN, *REDEEMED, *ACQUIRED, "ended: success", *landed]
    assert (result.text, scene.runs) == ("Done.", 1)
    # the policy saw what would run: at first what the model wrote, on each resume what the rules made of it
    assert [changed for _, changed in scene.policy.asked] == [False] * 3 + [True] * 6


async def test_what_is_placed_was_masked_and_rewritten_before() -> None:
    scene = Scene()
    scene.person.consented = True
    result = await scene.resume(await scene.run(), approve())
    ended = next(e.payload for e in result.record if e.name == "agentfp.tool.ended" and e.call_id == "c")
    assert ended.content.startswith("customer a,b,c {'authorization': 'Bearer [REDACTED]'}")
    (ref,) = Artifacts.kept(result).placed.values()
    artifacts = next(plugin for plugin in scene.agent.plugins if isinstance(plugin, Artifacts))
    found = await artifacts.of(result).get(ref)
    assert found is not None
    kept = found.data
    assert kept == ended.content.replace("customer", "client")
    assert TOKEN not in result.history.to_json() + result.checkpoint().to_json() + kept


async def test_a_call_behind_a_tools_question_is_resumed_through_the_same_order() -> None:
    scene = Scene(ask=True)
    scene.person.consented = True
    result = await scene.resume(await scene.run(), approve())
    assert scene.steps(1)[-6:] == [*REDEEMED, "resolve: artifacts Allow", *ACQUIRED, "pause: tool"]
    assert scene.runs == 0
    result = await scene.resume(result, "the first")
    assert scene.steps(2)[: len(AGAIN) + 5] == [*AGAIN, *REDEEMED, *ACQUIRED, "ended: success"]
    assert (result.text, scene.runs) == ("Done.", 1)


REFUSALS: dict[str, tuple[int, Any]] = {
    "by name": (SCREEN, lambda scene: setattr(scene.policy, "at_screen", Deny("no"))),
    "with its arguments": (AUTHORIZE, lambda scene: scene.policy.refuses.update(tool_call=Deny("no"))),
    "for what it reaches": (AUTHORIZE, lambda scene: scene.policy.refuses.update(user_data=Deny("no"))),
    "for the skill": (AUTHORIZE, lambda scene: scene.policy.refuses.update(skill_read=Deny("no"))),
    "with a halt": (AUTHORIZE, lambda scene: scene.policy.refuses.update(tool_call=Halt("no"))),
}


def reached(scene: Scene) -> set[int]:
    """The steps that left something on the record."""
    found = set()
    for leg in range(len(scene.legs)):
        for words in scene.steps(leg):
            if words.startswith(("pause", "permission")):
                continue
            head = words.partition(":")[0].partition(".")[0]
            step = STEP_OF.get(head)
            if head == "artifacts":
                step = RESOLVE if words in ("artifacts.resolved", "artifacts.refused") else PLACE
            if step is not None:
                found.add(step)
    return found


@pytest.mark.parametrize("how", REFUSALS)
async def test_what_is_not_permitted_reaches_no_later_step(how: str) -> None:
    step, refuse = REFUSALS[how]
    scene = Scene()
    refuse(scene)
    result = await scene.run()
    assert not result.paused
    assert {found for found in reached(scene) if step < found < RUN} == set()
    assert (scene.person.asked, scene.runs) == (0, 0)


@pytest.mark.parametrize(
    ("made", "last"),
    [({"before": Deny("no")}, REWRITE), ({"before": Allow(args={"rows": "x", "skill": "s", "limit": "many"})}, VALIDATE)],
)
async def test_what_the_rules_or_the_schema_refuse_is_asked_of_nobody(made: dict[str, Any], last: int) -> None:
    scene = Scene(**made)
    result = await scene.run()
    assert not result.paused
    assert {found for found in reached(scene) if last < found < RUN} == set()
    assert (scene.person.asked, scene.runs) == (0, 0)


async def test_a_declined_call_redeems_and_fetches_nothing() -> None:
    scene = Scene()
    result = await scene.resume(await scene.run(), reject("not now"))
    assert result.text == "Done."
    assert {RESOLVE, CREDENTIAL} & reached(scene) == set()
    assert (scene.person.asked, scene.runs) == (0, 0)


async def test_a_ref_that_is_gone_fetches_no_credential() -> None:
    scene = Scene(ref="art_" + "A" * 22)
    result = await scene.resume(await scene.run(), approve())
    assert result.text == "Done."
    assert CREDENTIAL not in reached(scene)
    assert (scene.person.asked, scene.runs) == (0, 0)


@pytest.mark.parametrize("kind", ["tool_call", "user_data", "skill_read"])
@pytest.mark.parametrize("pause", ["consent", "credential", "tool"])
async def test_a_permission_that_is_taken_back_during_a_pause_stops_the_call(pause: str, kind: str) -> None:
    scene = Scene(ask=pause == "tool")
    scene.person.consented = pause == "tool"
    result = await scene.run()
    while result.pause.phase != pause:
        result = await scene.resume(result, approve())
    scene.policy.refuses[kind] = Deny("taken back")
    scene.person.consented, before = True, scene.person.asked
    result = await scene.resume(result, approve() if pause != "tool" else "the first")
    assert result.text == "Done."
    assert f"authorize: {kind} deny again" in scene.steps(len(scene.legs) - 1)
    assert scene.person.asked == before
    assert scene.runs == 0


async def test_a_failure_is_masked_and_not_placed() -> None:
    scene = Scene(raises=True)
    scene.person.consented = True
    await scene.resume(await scene.run(), approve())
    assert PLACE not in reached(scene)


async def test_a_withheld_result_stays_on_the_record_and_is_not_placed() -> None:
    scene = Scene(after=Withhold("secret"))
    scene.person.consented = True
    result = await scene.resume(await scene.run(), approve())
    assert PLACE not in reached(scene)
    assert "a,b,c" not in result.history[4].text
    assert "a,b,c" in next(e.payload.content for e in result.record if e.name == "agentfp.tool.ended" and e.call_id == "c")
