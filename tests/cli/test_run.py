"""``agentfp run`` in a pipe: the answer on stdout, everything else on stderr, the exit code says how it ended."""

from __future__ import annotations

import json
import stat
import sys
from pathlib import Path
from typing import Any

import pytest

from agentfp import Pause, Record
from agentfp.testing import PluginDist
from tests.cli.conftest import Cli

CONFIG = """
version = 1
[agent]
model = "stub:small"
[agents.loud]
model = "noisy"
[models.noisy]
use = "stub:large"
reply = "HELLO"
[env.prod.models.noisy]
reply = "HELLO FROM PROD"
"""


def module() -> Any:
    return sys.modules["desk_agents"]


def test_the_answer_and_nothing_else(agents: Path, cli: Cli) -> None:
    done = cli("run", "desk_agents:looking", "Is A up?")
    assert (done.code, done.out, done.err) == (0, "Switch A is up.\n", "")


def test_an_agent_of_a_file(folder: Path, provider: PluginDist, cli: Cli) -> None:
    (folder / "agentfp.toml").write_text(CONFIG)
    assert cli("run", "hi").out == "hello\n"
    assert cli("run", "hi", "--agent", "loud").out == "HELLO\n"
    assert cli("run", "hi", "-a", "loud", "--env", "prod").out == "HELLO FROM PROD\n"
    assert cli("run", "hi", "--model", "noisy").out == "HELLO\n"
    assert cli("run", "-", stdin="hi\n").out == "hello\n"
    below = folder / "below"
    below.mkdir()
    assert cli("run", "hi", "--config", str(folder / "agentfp.toml")).out == "hello\n"


def test_a_file_is_found_in_a_folder_above(folder: Path, provider: PluginDist, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "agentfp.toml").write_text(CONFIG + '[agents.tools]\nextends = "agent"\ntools = ["desk_tools:look"]\n')
    (folder / "desk_tools.py").write_text("def look(x: int) -> int:\n    'Looks.'\n    return x\n")
    (folder / "below").mkdir()
    monkeypatch.chdir(folder / "below")
    assert cli("run", "hi", "--agent", "tools").out == "hello\n"


def test_json_tells_all_of_it(agents: Path, cli: Cli) -> None:
    done = cli("run", "desk_agents:typed", "How many?", "--json")
    assert done.err == ""
    assert done.json["status"] == "answered"
    assert done.json["text"] == '{"ports": 3}'
    assert done.json["output"] == {"ports": 3}
    assert done.json["usage"]["total"] > 0
    assert "pause" not in done.json


@pytest.mark.parametrize(
    ("agent", "code", "out", "err"),
    [
        ("failing", 5, "", "agentfp: the run failed in iteration 2 (call-llm): RuntimeError: out of order\n"),
        ("refused_connection", 5, "", "agentfp: connection refused\n"),
        ("stopping", 1, "", "stopped early: max-iterations\n"),
        ("misfit", 1, '{"ports": "many"}\n', "the answer does not fit the output type"),
    ],
)
def test_exit_codes_of_runs_without_an_answer(agents: Path, cli: Cli, agent: str, code: int, out: str, err: str) -> None:
    done = cli("run", f"desk_agents:{agent}", "go")
    assert (done.code, done.out) == (code, out)
    assert err in done.err
    assert "Traceback" not in done.err


def test_a_failed_run_is_data_too(agents: Path, cli: Cli) -> None:
    done = cli("run", "desk_agents:failing", "go", "--json")
    assert done.code == 5
    assert done.json == {
        "status": "failed",
        "error": "the run failed in iteration 2 (call-llm): RuntimeError: out of order",
        "type": "RuntimeError",
    }


def test_debug_shows_the_traceback_wherever_it_stands(agents: Path, cli: Cli) -> None:
    for arguments in (("--debug", "run", "desk_agents:failing", "go"), ("run", "desk_agents:failing", "go", "--debug")):
        done = cli(*arguments)
        assert done.code == 5
        assert "Traceback" in done.err
        assert "out of order" in done.err


# --- which agent ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "there is no question"),
        (["desk_agents:looking"], "there is no question"),
        (["what", "is", "up"], "put the question in quotes"),
        (["what is", "up"], "'what is' names no agent in code"),
        (["desk_agents:looking", " "], "the question is empty"),
        (["desk_agents:lookin", "x"], "did you mean 'looking'?"),
        (["nowhere.at_all:agent", "x"], "module 'nowhere.at_all' cannot be imported"),
        (["desk_agents:look", "x"], "'desk_agents:look' is a Tool"),
        (["desk_agents:with_argument", "x"], "takes arguments"),
        (["desk_agents:deps_object", "x"], "is a dict; name an agent"),
        (["desk_agents:looking", "x", "--agent", "other"], "--agent is for an agent of a file"),
        (["desk_agents:looking", "x", "--answer", "yes"], "--answer goes with --resume"),
        (["desk_agents:looking", "x", "--redact"], "--redact goes with --record"),
        (["desk_agents:looking", "x", "--deps", "desk_agents:nothing"], "has no 'nothing'"),
        (["x"], "there is no agentfp.toml here or above; `agentfp init` writes one"),
        (["x", "--config", "other.toml"], "other.toml: there is no such file"),
        (["x", "--colour"], "No such option"),
    ],
)
def test_a_wrong_command_line_exits_with_2(agents: Path, cli: Cli, words: list[str], said: str) -> None:
    done = cli("run", *words)
    assert (done.code, done.out) == (2, "")
    assert said in done.err


def test_a_wrong_file_exits_with_2_and_all_problems(folder: Path, provider: PluginDist, cli: Cli) -> None:
    (folder / "agentfp.toml").write_text('version = 1\n[agent]\nmodel = "stub:x"\ntols = []\n[agent.limits]\niterations = 0\n')
    done = cli("run", "hi")
    assert done.code == 2
    assert "agentfp.toml:4:1" in done.err
    assert "agentfp.toml:6:1" in done.err


def test_without_a_provider_it_says_what_to_install(folder: Path, cli: Cli) -> None:
    assert cli("init").code == 0
    done = cli("run", "hi")
    assert (done.code, done.out) == (3, "")
    assert 'pip install "agentfp[local]"' in done.err


def test_a_model_in_code_whose_provider_is_not_installed(agents: Path, allow_any_model: None, cli: Cli) -> None:
    done = cli("run", "desk_agents:looking", "hi", "--model", "openai:gpt-5-mini")
    assert (done.code, done.out) == (3, "")
    assert "pip install agentfp-openai" in done.err


def test_a_plugin_that_is_not_installed(folder: Path, provider: PluginDist, cli: Cli) -> None:
    (folder / "agentfp.toml").write_text('version = 1\n[agent]\nmodel = "stub:x"\nplugins = ["evidence"]\n')
    done = cli("run", "hi")
    assert done.code == 3
    assert "pip install agentfp-evidence" in done.err


def test_an_agent_in_code_that_reads_a_file(folder: Path, cli: Cli) -> None:
    """Wherever the file is read, what is not installed ends with 3."""
    (folder / "agentfp.toml").write_text('version = 1\n[agent]\nmodel = "nowhere:x"\n')
    (folder / "early.py").write_text("from agentfp import Agent\nagent = Agent.from_config('agentfp.toml')\n")
    (folder / "late.py").write_text("from agentfp import Agent\ndef agent(): return Agent.from_config('agentfp.toml')\n")
    for module_name in ("early", "late"):
        done = cli("run", f"{module_name}:agent", "hi")
        assert (done.code, done.out) == (3, "")
        assert "no installed provider is called 'nowhere'" in done.err


# --- deps -------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("factory", "kind", "log"),
    [
        ("deps_plain", "plain", []),
        ("deps_async", "async", []),
        ("deps_object", "object", []),
        ("deps_sync_context", "sync context", ["opened", "closed"]),
        ("deps_async_context", "async context", ["opened", "closed"]),
        ("deps_generator", "generator", ["opened", "closed"]),
    ],
)
def test_deps_are_made_and_let_go_of(agents: Path, cli: Cli, factory: str, kind: str, log: list[str]) -> None:
    done = cli("run", "desk_agents:depending", "x", "--deps", f"desk_agents:{factory}")
    assert (done.code, done.out) == (0, f"{kind}\n")
    assert module().log == log


# --- recordings ---------------------------------------------------------------------------------------------------------------


def test_record_saves_a_recording_also_of_a_failed_run(agents: Path, cli: Cli) -> None:
    assert cli("run", "desk_agents:looking", "Is A up?", "--record", "ok.jsonl").out == "Switch A is up.\n"
    assert [m.text for m in Record.load("ok.jsonl").history] == ["Is A up?", "", "A is up", "Switch A is up."]
    assert cli("run", "desk_agents:failing", "Is A up?", "--record", "bad.jsonl").code == 5
    assert Record.load("bad.jsonl").events("agentfp.error.fatal")


def test_redact_masks_what_was_said(agents: Path, cli: Cli) -> None:
    cli("run", "desk_agents:looking", "Is A up?", "--record", "masked.jsonl", "--redact")
    text = Path("masked.jsonl").read_text()
    assert "Is A up" not in text
    assert "agentfp.tool.ended" in text
    assert Record.load("masked.jsonl").redacted == ("content",)


def test_journal_streams_the_run(agents: Path, cli: Cli) -> None:
    cli("run", "desk_agents:looking", "Is A up?", "--journal", "run.journal")
    assert Record.load("run.journal").events("agentfp.run.ended")
    assert stat.S_IMODE(Path("run.journal").stat().st_mode) == 0o600


# --- pauses -------------------------------------------------------------------------------------------------------------------


def test_a_paused_run_exits_with_4_and_says_how_to_go_on(agents: Path, cli: Cli) -> None:
    done = cli("run", "desk_agents:shutting", "Shut port 3", "--save-pause", "pause.json")
    assert (done.code, done.out) == (4, "")
    question = Pause.from_json(Path("pause.json").read_text()).questions[0]
    assert question.id in done.err
    assert f"agentfp run desk_agents:shutting --resume pause.json --answer {question.id}=approve" in done.err
    assert stat.S_IMODE(Path("pause.json").stat().st_mode) == 0o600
    assert module().log == []


def test_a_pause_printed_as_json_is_gone_on_with(agents: Path, cli: Cli) -> None:
    paused = cli("run", "desk_agents:shutting", "Shut port 3", "--json")
    assert paused.code == 4
    question = paused.json["questions"][0]
    assert (question["tool"], question["arguments"], question["kind"]) == ("shut", {"switch": "A", "port": 3}, "decision")
    Path("pause.json").write_text(paused.out)
    done = cli("run", "desk_agents:after", "--resume", "pause.json", "--answer", f"{question['id']}=approve", "--by", "ann", "--json")
    assert (done.code, done.json["text"]) == (0, "Port 3 is shut.")
    assert module().log == [("A", 3)]


@pytest.mark.parametrize(
    ("answer", "log", "outcome"),
    [
        ("reject: not before noon", [], "declined"),
        ('{"approved": true, "args": {"switch": "A", "port": 4}}', [("A", 4)], "success"),
        ("y", [("A", 3)], "success"),
    ],
)
def test_answers_to_an_approval(agents: Path, cli: Cli, answer: str, log: list[Any], outcome: str) -> None:
    paused = cli("run", "desk_agents:shutting", "Shut port 3", "--json")
    done = cli("run", "desk_agents:after", "--resume", "-", "--answer", answer, "--record", "r.jsonl", stdin=paused.out)
    assert (done.code, done.out) == (0, "Port 3 is shut.\n")
    assert module().log == log
    walked = cli("steps", "r.jsonl", "--json").json
    calls = [call for step in walked["steps"] if step["kind"] == "model_call" for call in step["calls"]]
    assert [call["outcome"] for call in calls] == [outcome]


def test_some_answers_give_an_updated_pause(agents: Path, cli: Cli) -> None:
    asked = cli("run", "desk_agents:asking", "hi", "--json")
    Path("1.json").write_text(asked.out)
    second = "import desk_agents; from agentfp.testing import call\ndef make(): return desk_agents.agent(call('form'), 'Thanks.')\n"
    (agents / "second.py").write_text(second)
    form = cli("run", "second:make", "--resume", "1.json", "--answer", "Ann", "--json")
    assert form.code == 4
    ids = {q["prompt"]: q["id"] for q in form.json["questions"]}
    Path("2.json").write_text(form.out)
    partly = cli("run", "desk_agents:after", "--resume", "2.json", "--answer", f"{ids['Which colour?']}=red", "--json")
    assert partly.code == 4
    assert {q["prompt"] for q in partly.json["questions"]} == {"How many?", "It will be loud."}
    Path("3.json").write_text(partly.out)
    given = ["--answer", f"{ids['How many?']}=2", "--answer", f"{ids['It will be loud.']}=ok"]
    done = cli("run", "desk_agents:after", "--resume", "3.json", *given, "--record", "all.jsonl")
    assert done.code == 0
    assert '"values":{"colour":"red","count":2,"note":true}' in json.dumps(Record.load("all.jsonl").history[-2].text).replace("\\", "")


def test_a_model_without_its_provider_is_told_how_to_be_written(folder: Path, provider: PluginDist, cli: Cli) -> None:
    assert cli("init").code == 0
    done = cli("run", "hi", "--model", "gpt-5")
    assert done.code == 3
    assert done.err == "agentfp: no installed provider is called 'gpt-5'; write 'provider:gpt-5', with one of 'stub'\n"


@pytest.mark.parametrize(
    ("file", "answers", "said"),
    [
        ("pause.json", ["maybe"], "a decision is approve, reject"),
        ("pause.json", ["q_other=approve"], "names no open question"),
        ("pause.json", [], "=approve  May shut run?"),
        ("other.json", ["approve"], "other.json: No such file or directory"),
        ("text.json", ["approve"], "--resume takes a file with a pause"),
        ("empty.json", ["approve"], "pause"),
        ("done.json", ["approve"], "not paused but answered"),
    ],
)
def test_what_cannot_be_gone_on_with_exits_with_2(agents: Path, cli: Cli, file: str, answers: list[str], said: str) -> None:
    cli("run", "desk_agents:shutting", "Shut port 3", "--save-pause", "pause.json")
    Path("text.json").write_text("no json")
    Path("empty.json").write_text("{}")
    Path("done.json").write_text('{"status": "answered"}')
    options = [part for answer in answers for part in ("--answer", answer)]
    done = cli("run", "desk_agents:after", "--resume", file, *options)
    assert (done.code, done.out) == (2, "")
    assert said in done.err
