"""A support desk on the command line: `python support.py ["a question" ...] [--model NAME] [--member NAME] [--yes]`.

Without questions it chats. After each answer it says of every value where it came from. Conversations are kept under `recordings/`:
`agentfp view recordings`.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from agentfp import Agent, Conversation, Identity, Question, RunResult, approve, humanize, reject
from agentfp_evidence import Evidence

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from desk_tools import Desk  # noqa: E402

SIGNS = {"supported": "+", "unverifiable": "?", "unsupported": "!"}


def typed() -> Iterator[str]:
    """What a person types, line by line."""
    while True:
        try:
            yield input("> ")
        except (EOFError, KeyboardInterrupt):
            print()
            return


def decide(question: Question, by: str, *, yes: bool) -> Any:
    """Ask the person who sits here about a call that changes something."""
    said = "y" if yes else input(f"{question.prompt}\n{question.tool} {question.arguments} [y/N] ")
    return approve(by=by) if said.strip().lower() in ("y", "yes") else reject("the person said no", by=by)


def ask(chat: Conversation[Any, Any], text: str, by: str, *, yes: bool) -> RunResult[Any]:
    """One turn, with whatever is asked in the middle of it."""
    result = chat.send_sync(text)
    while result.pause is not None:
        result = chat.resume_sync({question.id: decide(question, by, yes=yes) for question in result.pause.questions})
    return result


def show(result: RunResult[Any]) -> None:
    """The answer, and of each of its values where it came from."""
    print(humanize(result.error) if result.error is not None else result.text)
    tools = {call.id: call.name for message in result.history for call in message.tool_calls}
    report = Evidence.report(result)
    for value in report.values if report else ():
        places = [f"{tools.get(source.call_id or '', 'the conversation')} {source.path}".strip() for source in value.sources]
        print(f"  {SIGNS[value.verdict]} {value.text}: {', '.join(places) or value.how}")


def main(questions: Iterable[str], model: str | None, member: str | None, *, yes: bool) -> None:
    overrides = {"model": model} if model else {}
    agent = Agent.from_config(HERE / "agentfp.toml", **overrides)
    who = member or "guest"
    options = {"permissions": {"role": "member" if member else "guest"}}
    chat = agent.conversation(deps=Desk(), identity=Identity(principal=who), options=options)
    for text in questions:
        if text.strip():
            show(ask(chat, text, who, yes=yes))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("questions", nargs="*")
    parser.add_argument("--model", help="provider:name, in place of the file's")
    parser.add_argument("--member", metavar="NAME", help="who is signed in; members may open tickets")
    parser.add_argument("--yes", action="store_true", help="approve what is asked")
    given = parser.parse_args()
    main(given.questions or typed(), given.model, given.member, yes=given.yes)
