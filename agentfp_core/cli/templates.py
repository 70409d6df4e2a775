"""The texts of the project that ``agentfp init`` writes."""

from __future__ import annotations

CONFIG = """\
# An agent and what it works with. `agentfp config check` says what is wrong with this file,
# `agentfp config show` where each value comes from, `agentfp config schema` what may stand in it.
version = 1

[agent]
model = "{model}"
instructions = "You look after a desk of tasks. Use the tools; say only what they told you."
tools = ["desk_tools:list_tasks", "desk_tools:finish_task"]
plugins = []  # names of installed plugins, in order; `agentfp plugins` lists them

[agent.limits]
iterations = 8
"""

TOOLS = '''\
"""The tools of the desk: functions that the model may call. Types and docstrings are what it is told of them."""

import datetime

from agentfp import RetryTool, tool

TASKS = {
    "invoice": {"due": datetime.date(2030, 3, 14), "minutes": 20, "done": False},
    "report": {"due": datetime.date(2030, 3, 12), "minutes": 90, "done": False},
    "review": {"due": datetime.date(2030, 3, 20), "minutes": 45, "done": True},
}


@tool
def list_tasks(open_only: bool = True) -> list[dict[str, object]]:
    """The tasks on the desk, the next due first.

    Args:
        open_only: leave out those that are done.
    """
    found = [{"name": name, **task} for name, task in TASKS.items() if not (open_only and task["done"])]
    return sorted(found, key=lambda task: str(task["due"]))


@tool(approval=True, mutating=True)
def finish_task(name: str) -> str:
    """Mark a task as done. A person approves each call.

    Args:
        name: the task, as list_tasks gives it.
    """
    if name not in TASKS:
        raise RetryTool(f"there is no task {name!r}; the tasks are {sorted(TASKS)}")
    TASKS[name]["done"] = True
    return f"{name} is done"
'''

TEST = '''\
"""Tests of the desk: the model is scripted, so they need no key and no network. Run them with: python -m pytest"""

from pathlib import Path

import desk_tools
from agentfp import Agent, approve, reject
from agentfp.testing import ScriptedModel, assert_called, assert_not_called, call

CONFIG = Path(__file__).parent / "agentfp.toml"


def test_it_looks_before_it_answers():
    model = ScriptedModel([call("list_tasks"), "The report is due first, on 2030-03-12."])
    agent = Agent.from_config(CONFIG, model=model)
    result = agent.run_sync("What is due first?")
    assert result.text == "The report is due first, on 2030-03-12."
    assert_called(result, "list_tasks")


def asked():
    script = [call("finish_task", name="report"), "Well."]
    agent = Agent.from_config(CONFIG, model=ScriptedModel(script))
    return agent, agent.run_sync("Finish the report.").pause


def test_a_person_decides_before_a_task_is_finished(monkeypatch):
    monkeypatch.setitem(desk_tools.TASKS["report"], "done", False)
    agent, pause = asked()
    assert_not_called(agent.resume_sync(pause, reject("not yet")), "finish_task")
    assert not desk_tools.TASKS["report"]["done"]

    agent, pause = asked()
    assert_called(agent.resume_sync(pause, approve(by="ann")), "finish_task", name="report")
    assert desk_tools.TASKS["report"]["done"]
'''


def project(model: str) -> dict[str, str]:
    """The files of a project.

    Args:
        model: what stands in the config file.
    """
    return {"agentfp.toml": CONFIG.format(model=model), "desk_tools.py": TOOLS, "test_desk.py": TEST}
