"""What is special to LangChain and LangGraph: runs without an event loop, graphs by hand, summaries, structured responses."""

from __future__ import annotations

import asyncio
import gc
import subprocess
import sys
from pathlib import Path
from typing import Annotated, Any, TypedDict

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import ModelRetryMiddleware, SummarizationMiddleware, ToolRetryMiddleware
from langchain.agents.middleware.types import AgentMiddleware, ExtendedModelResponse, hook_config
from langchain.agents.structured_output import ProviderStrategy, ToolStrategy
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.errors import GraphRecursionError
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.types import Command, Send

from agentfp import Record
from agentfp_adapters.langchain import EvidenceCallback, EvidenceMiddleware, UnsupportedValuesError, evidence_of, messages_of
from agentfp_evidence import Evidence
from tests.plugins.adapters.binding import Call, Peak, Reply, Scripted, Seen, lookup
from tests.plugins.adapters.bound_langchain import BINDING, FakeChatModel, model_of

ASK = "How busy is mds-07?"
LOOK = Call("lookup", {"switch": "mds-07"})
BAD = "mds-07 peaked at 42,100 IOPS."
GOOD = "mds-07 peaked at 41,200 IOPS."


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def asked(text: str = ASK) -> Any:
    return {"messages": [("user", text)]}


def test_runs_without_an_event_loop_are_judged_too() -> None:
    state = BINDING.agent(Scripted([LOOK, BAD, GOOD]), "revise").invoke(asked())
    assert state["messages"][-1].text == GOOD
    assert state["messages"][-1].response_metadata["evidence"]["action"] == "grounded"
    with pytest.raises(UnsupportedValuesError):
        BINDING.agent(Scripted([LOOK, BAD, BAD]), "refuse").invoke(asked())


@pytest.mark.parametrize(("wish", "shown"), [("revise", GOOD), ("flag", BAD)])
def test_streams_without_an_event_loop(wish: str, shown: str) -> None:
    agent = BINDING.agent(Scripted([LOOK, BAD, GOOD]), wish)
    chunks = [str(message.text) for message, _ in agent.stream(asked(), stream_mode="messages") if message.type.startswith("AI") or
              message.type == "ai"]  # fmt: skip
    assert "".join(chunks) == shown
    assert (len([chunk for chunk in chunks if chunk]) > 1) == (wish == "flag")


def test_state_goes_with_its_run() -> None:
    gate = EvidenceMiddleware("refuse")
    agent = create_agent(model_of(Scripted([LOOK, GOOD, BAD, BAD])), tools=[tool(lookup)], middleware=[gate])
    agent.invoke(asked())
    with pytest.raises(UnsupportedValuesError):
        agent.invoke(asked())
    gc.collect()
    with pytest.raises(IndexError):  # the script is at its end
        agent.invoke(asked())
    assert len(gate._runs._open) == 1


def test_a_thread_with_a_checkpointer_keeps_its_evidence_and_gets_a_revision_each_turn() -> None:
    agent = create_agent(
        model_of(Scripted([LOOK, BAD, GOOD, BAD, GOOD])),
        tools=[tool(lookup)],
        middleware=[EvidenceMiddleware("refuse")],
        checkpointer=InMemorySaver(),
    )
    thread: Any = {"configurable": {"thread_id": "1"}}
    assert agent.invoke(asked(), thread)["messages"][-1].text == GOOD
    state = agent.invoke(asked("Again?"), thread)
    assert state["messages"][-1].text == GOOD
    assert [message.type for message in state["messages"]] == ["human", "ai", "tool", "ai", "human", "ai"]
    assert "42,100" not in str(state)


def test_a_summary_that_a_model_wrote_grounds_nothing() -> None:
    def summarise(seen: Seen) -> Reply:
        return "The twin is mds-99 with 77,300 IOPS."

    agent = create_agent(
        model_of(Scripted(["mds-99 has 77,300 IOPS."])),
        tools=[],
        middleware=[
            SummarizationMiddleware(model=model_of(summarise), trigger=("messages", 2), keep=("messages", 1)),
            EvidenceMiddleware("flag"),
        ],
    )
    earlier: Any = {"messages": [("user", "Hello."), ("assistant", "Hello."), ("user", "How busy is the twin?")]}
    state = agent.invoke(earlier)
    assert "77,300" in str(state["messages"][0].content)
    found = evidence_of(state)
    assert found is not None
    assert set(found.unsupported) == {"mds-99", "77,300 IOPS"}


def test_a_structured_response_of_the_provider_is_judged_field_by_field() -> None:
    script = Scripted([LOOK, '{"switch": "mds-07", "peak_iops": 42100}', '{"switch": "mds-07", "peak_iops": 41200}'])
    agent = create_agent(
        model_of(script), tools=[tool(lookup)], middleware=[EvidenceMiddleware("refuse")], response_format=ProviderStrategy(Peak)
    )
    state = agent.invoke(asked())
    assert state["structured_response"].peak_iops == 41_200
    found = evidence_of(state)
    assert found is not None
    assert [value.path for value in found.values] == ["$.switch", "$.peak_iops"]


class State(TypedDict):
    """The state of the graph by hand."""

    messages: Annotated[list[AnyMessage], add_messages]
    route: str


def graph_of(script: Scripted) -> Any:
    model, router = model_of(script), model_of(lambda seen: "Route RX-9901.")

    def choose(state: State) -> Any:
        return {"route": str(router.invoke(state["messages"]).text)}

    def answer(state: State) -> Any:
        return {"messages": [model.invoke([SystemMessage("Serve desk Q-4471."), *state["messages"]])]}

    def look(state: State) -> Any:
        [call] = state["messages"][-1].tool_calls  # type: ignore[union-attr]
        return {"messages": [ToolMessage(str(lookup(**call["args"])), tool_call_id=call["id"], name=call["name"])]}

    graph: Any = StateGraph(State)
    graph.add_node("choose", choose)
    graph.add_node("answer", answer)
    graph.add_node("look", look)
    graph.add_edge(START, "choose")
    graph.add_edge("choose", "answer")
    graph.add_edge("look", "answer")
    graph.add_conditional_edges("answer", lambda state: "look" if state["messages"][-1].tool_calls else END)
    return graph.compile()


def test_answers_in_a_graph_by_hand_are_flagged(tmp_path: Path) -> None:
    callback = EvidenceCallback(leave_out=["choose"], record=tmp_path)
    state = graph_of(Scripted([LOOK, BAD])).invoke(asked(), {"callbacks": [callback]})
    assert state["messages"][-1].text == BAD
    found = evidence_of(state)
    assert found is not None
    assert found.unsupported == ("42,100 IOPS",)
    [file] = tmp_path.iterdir()
    assert [message.role for message in Record.load(file).history] == ["system", "user", "assistant", "tool", "assistant"]
    assert [report.unsupported for report in Evidence.reports(file)] == [("42,100 IOPS",)]
    assert not callback._sessions
    assert not callback._roots


@pytest.mark.anyio
async def test_branches_of_a_node_that_go_on_at_once_stay_apart() -> None:
    both = asyncio.Event()
    waiting: list[str] = []

    class Slow(FakeChatModel):
        async def _agenerate(self, messages: Any, *_: Any, **__: Any) -> Any:
            waiting.append(str(messages))
            if len(waiting) == 2:
                both.set()
            await both.wait()
            return self._generate(messages)

    model = Slow(script=lambda seen: "It is 41,200 IOPS.")

    async def branch(state: Any) -> Any:
        return {"messages": [await model.ainvoke([HumanMessage(state["route"])])]}

    graph: Any = StateGraph(State)
    graph.add_node("branch", branch)
    graph.add_conditional_edges(START, lambda _: [Send("branch", {"route": text}) for text in ("41,200 IOPS?", "How much?")])
    state = await graph.compile().ainvoke(asked(), {"callbacks": [EvidenceCallback()]})
    reports = [evidence_of(message) for message in state["messages"][1:]]
    assert sorted(report.standing for report in reports if report is not None) == ["supported", "unsupported"]


def test_every_node_is_judged_unless_it_is_left_out() -> None:
    reports: list[Any] = []
    callback = EvidenceCallback(record=lambda record: reports.extend(Evidence.reports(record)))
    graph_of(Scripted([GOOD])).invoke(asked(), {"callbacks": [callback]})
    assert {text for report in reports for text in report.unsupported} >= {"RX-9901"}


def test_a_model_by_itself_is_flagged_through_the_callback() -> None:
    reply = model_of(Scripted([BAD])).invoke([HumanMessage(ASK)], {"callbacks": [EvidenceCallback()]})
    found = evidence_of(reply)
    assert found is not None
    assert found.unsupported == ("42,100 IOPS",)


def test_results_that_failed_ground_nothing_and_those_of_the_providers_tools_do() -> None:
    [failed] = messages_of(ToolMessage("QX-7788", tool_call_id="c1", status="error"))
    assert failed.failed
    found, said = messages_of(
        AIMessage(content=[{"type": "server_tool_result", "tool_call_id": "s1", "output": "7 bikes"}, {"type": "text", "text": "Seven."}])
    )
    assert (found.role, found.content) == ("tool", '"7 bikes"')
    assert said.content == "Seven."


def test_one_gate_serves_an_agent_and_another_within_its_tool() -> None:
    gate = EvidenceMiddleware("refuse")
    inner = create_agent(model_of(Scripted([LOOK, BAD, GOOD])), tools=[tool(lookup)], middleware=[gate])

    @tool
    def expert(question: str) -> str:
        """Ask the expert."""
        return str(inner.invoke(asked(question))["messages"][-1].text)

    script = Scripted([Call("expert", {"question": ASK}, "e1"), BAD, GOOD])
    state = create_agent(model_of(script), tools=[expert], middleware=[gate]).invoke(asked())
    assert state["messages"][-1].text == GOOD
    assert len(script.requests) == 3


def ends(record: Record) -> list[str]:
    return [event.payload.status for event in record.events("agentfp.run.ended")]  # type: ignore[attr-defined]


def test_a_run_that_a_limit_ends_is_recorded_when_it_is_over(tmp_path: Path) -> None:
    agent = BINDING.agent(Scripted([LOOK] * 9), "revise", record=tmp_path)
    with pytest.raises(GraphRecursionError):
        agent.invoke(asked(), {"recursion_limit": 5})
    gc.collect()
    with pytest.raises(GraphRecursionError):
        agent.invoke(asked("Once more?"), {"recursion_limit": 5})
    [file] = tmp_path.iterdir()
    assert ends(Record.load(file)) == ["stopped_early"]
    assert Record.load(file).history[0].content == ASK


def test_a_run_that_a_limit_ends_is_recorded_when_the_process_ends(tmp_path: Path) -> None:
    code = (
        "import sys, contextlib\nfrom tests.plugins.adapters.test_langchain_adapter import BINDING, LOOK, Scripted, asked\n"
        "agent = BINDING.agent(Scripted([LOOK] * 9), 'revise', record=sys.argv[1])\n"
        "with contextlib.suppress(Exception):\n    agent.invoke(asked(), {'recursion_limit': 5})\n"
    )
    root = Path(__file__).resolve().parents[3]
    subprocess.run([sys.executable, "-c", code, str(tmp_path)], cwd=root, check=True)
    [file] = tmp_path.iterdir()
    assert ends(Record.load(file)) == ["stopped_early"]


def test_a_tool_that_raises_ends_the_recording_and_a_retry_goes_on_with_it(tmp_path: Path) -> None:
    tries: list[str] = []

    @tool
    def shaky(switch: str) -> str:
        """Fails once."""
        tries.append(switch)
        if len(tries) == 1:
            raise OSError("no network")
        return "41,200 IOPS"

    def agent(script: Scripted, *outer: Any) -> Any:
        return create_agent(model_of(script), tools=[shaky], middleware=[*outer, EvidenceMiddleware("refuse", record=tmp_path)])

    with pytest.raises(OSError, match="no network"):
        agent(Scripted([Call("shaky", {"switch": "mds-07"})])).invoke(asked())
    [failed] = tmp_path.iterdir()
    assert ends(Record.load(failed)) == ["failed"]
    tries.clear()
    script = Scripted([Call("shaky", {"switch": "mds-07"}), GOOD])
    agent(script, ToolRetryMiddleware(max_retries=1, initial_delay=0)).invoke(asked())
    [kept] = set(tmp_path.iterdir()) - {failed}
    assert ends(Record.load(kept))[-1] == "answered"
    assert [message.role for message in Record.load(kept).history] == ["user", "assistant", "tool", "assistant"]


def test_a_retry_around_the_gate_gives_a_refused_answer_no_further_revision() -> None:
    script = Scripted([LOOK, BAD, BAD, BAD, GOOD])
    kept: list[Record] = []
    agent = create_agent(
        model_of(script),
        tools=[tool(lookup)],
        middleware=[
            ModelRetryMiddleware(max_retries=1, initial_delay=0, on_failure="error"),
            EvidenceMiddleware("refuse", record=kept.append),
        ],
    )
    with pytest.raises(UnsupportedValuesError):
        agent.invoke(asked())
    assert len(script.requests) == 4
    assert len({record.run_id for record in kept}) == 1


class Again(AgentMiddleware[Any, Any, Any]):
    """Has the model answer once more."""

    done = False

    @hook_config(can_jump_to=["model"])
    def after_model(self, state: Any, runtime: Any) -> Any:
        if self.done or state["messages"][-1].tool_calls:
            return None
        self.done = True
        return {"messages": [HumanMessage("Shorter.")], "jump_to": "model"}


def test_a_run_that_answers_twice_is_one_recording_and_launders_nothing() -> None:
    inner = BINDING.agent(Scripted([LOOK, "41,200 IOPS, serial QX-7788."]), "flag", name="expert")

    @tool
    def expert(question: str) -> str:
        """Ask the expert."""
        return str(inner.invoke(asked(question))["messages"][-1].text)

    kept: dict[str, Record] = {}
    gate = EvidenceMiddleware("flag", record=lambda record: kept.update({record.run_id: record}))
    script = Scripted([Call("expert", {"question": ASK}), "41,200 IOPS.", "Serial QX-7788."])
    state = create_agent(model_of(script), tools=[expert], middleware=[Again(), gate]).invoke(asked())
    found = evidence_of(state)
    assert found is not None
    assert found.unsupported == ("QX-7788",)
    [record] = kept.values()
    assert [message.content for message in record.history][-3:] == ["41,200 IOPS.", "Shorter.", "Serial QX-7788."]


def test_a_text_in_place_of_a_structured_response_is_judged() -> None:
    script = Scripted([LOOK, BAD, BAD])
    agent = create_agent(
        model_of(script), tools=[tool(lookup)], middleware=[EvidenceMiddleware("refuse")], response_format=ToolStrategy(Peak)
    )
    with pytest.raises(UnsupportedValuesError):
        agent.invoke(asked())


def test_what_may_stand_in_an_image_is_not_held_to_be_invented() -> None:
    content: Any = [{"type": "text", "text": "How busy?"}, {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}]
    found = evidence_of(BINDING.agent(Scripted([BAD]), "refuse").invoke({"messages": [HumanMessage(content)]}))
    assert found is not None
    assert found.unseen


class Wraps(AgentMiddleware[Any, Any, Any]):
    """An application's own wrapper of model calls."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[str] = []

    def wrap_model_call(self, request: Any, handler: Any) -> Any:
        response = handler(request)
        self.seen.append(str(response.result[0].text))
        return ExtendedModelResponse(model_response=response, command=Command(update={}))


@pytest.mark.parametrize("first", [True, False])
def test_wrappers_of_the_application_work_in_either_order(first: bool) -> None:
    own, gate = Wraps(), EvidenceMiddleware("refuse")
    agent = create_agent(model_of(Scripted([LOOK, BAD, GOOD])), tools=[tool(lookup)], middleware=[own, gate] if first else [gate, own])
    assert agent.invoke(asked())["messages"][-1].text == GOOD
    assert own.seen == (["", GOOD] if first else ["", BAD, GOOD])
