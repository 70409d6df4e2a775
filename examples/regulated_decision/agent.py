"""The agent that decides about loans, with everything on that a decision must show later. A scripted model stands in for a real one."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

from agentfp import Agent, ToolContext, tool
from agentfp.model import ModelResponse, Usage
from agentfp.testing import ScriptedModel, call
from agentfp_audit import Audit
from agentfp_cost import Cost
from agentfp_credentials import Credentials, Needs, static_tokens
from agentfp_evidence import Evidence
from agentfp_permissions import Permissions
from agentfp_recording import Recording

HERE = Path(__file__).resolve().parent
REGISTER: dict[str, dict[str, Any]] = {"A-1017": {"applicant": "A-1017", "monthly_income": 2150, "monthly_debt": 1032, "score": 588}}
RULES = (("score-620", "score", ">=", 620), ("dti-43", "debt_to_income", "<=", 43))
"""Rule, value, operator, threshold."""


@tool
def applicant(ctx: Annotated[ToolContext[Any], Needs("register", scopes=("read",))], number: str) -> dict[str, Any]:
    """What the register has on an applicant."""
    ctx.credential.to_headers()  # for the request to the register
    return REGISTER[number]


@tool
def household(number: str) -> dict[str, Any]:
    """Family and origin of an applicant."""
    return {"children": 2}


@tool
def assess(number: str, amount: int) -> dict[str, Any]:
    """Hold an application against the rules of lending."""
    found = REGISTER[number]
    values = {"score": found["score"], "debt_to_income": round(100 * found["monthly_debt"] / found["monthly_income"])}
    rows = [
        {"rule": rule, "value": name, "actual": values[name], "operator": operator, "threshold": threshold,
         "met": values[name] >= threshold if operator == ">=" else values[name] <= threshold}
        for rule, name, operator, threshold in RULES
    ]  # fmt: skip
    return {"applicant": number, "amount": amount, "rules": rows}


@tool(approval=True, mutating=True)
def record_decision(number: str, decision: Literal["approve", "decline"], rules: list[str]) -> str:
    """Enter a decision, with the rules it rests on. A person signs it."""
    return f"{decision} entered for {number}"


def says(reply: Any) -> ModelResponse:
    """A reply of the scripted model, with the tokens that a real one would report."""
    text, calls = (reply, ()) if isinstance(reply, str) else ("", (reply,))
    return ModelResponse(text=text, tool_calls=calls, usage=Usage(1200, 90))


SCRIPT = (
    call("applicant", id="c1", number="A-1017"),
    call("household", id="c2", number="A-1017"),  # refused: data minimisation
    call("assess", id="c3", number="A-1017", amount="fifteen thousand"),  # refused: no number
    call("assess", id="c4", number="A-1017", amount=15000),
    call("record_decision", id="c5", number="A-1017", decision="decline", rules=["score-620", "dti-43"]),  # a person signs
    (
        "The application of A-1017 for 15,000 is declined: the score of 588 is below 620, and debt to income of 48 is above 43. "
        "The offer stands for 90 days."
    ),  # which nobody said
)


def loan_agent(bundle: Path, *, key_file: Path, anchor: Any = None, script: tuple[Any, ...] = SCRIPT) -> Agent[Any, str]:
    """The agent.

    Args:
        bundle: the folder for the log and the recordings.
        key_file: the private key that signs the log.
        anchor: takes the hash of the log's last record, to keep it elsewhere.
        script: replies of the model.
    """

    def reply(request: Any) -> ModelResponse:  # a function of the conversation, so that a resume goes on in its place
        return says(script[sum(message.role == "assistant" for message in request.messages)])

    return Agent(
        ScriptedModel(reply, name="loan-model"),
        name="loans",
        instructions="You decide about loans. State no value that no tool gave you.",
        tools=[applicant, household, assess, record_decision],
        plugins=[
            Permissions(policy=str(HERE / "policy.toml")),
            Credentials(provider=static_tokens({"register": "tok-register-4711"})),
            Evidence(on_unsupported="flag"),
            Cost(prices={"date": "2026-11-30", "models": {"loan-model": {"input": 0.25, "output": 2}}}, usd="0.05"),
            Recording(folder=bundle / "recordings"),
            Audit(path=bundle / "audit.jsonl", key_file=key_file, anchor=anchor, versions={"policy": "2026-11", "prompt": "7"}),
        ],
    )
