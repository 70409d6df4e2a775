"""What people see: colours, tables, progress; and texts that cannot steer the terminal."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from agentfp.testing import PluginDist
from tests.cli.terminal import Terminal
from tests.plugins.transcripts.test_check import conversation
from tests.plugins.transcripts.test_check import write as write

Open: TypeAlias = Callable[..., Terminal]


@pytest.fixture
def open_terminal(site: PluginDist, folder: Path) -> Iterator[Open]:
    """Runs ``agentfp check`` with the judge of numbers in a terminal."""
    opened: list[Terminal] = []

    def start(*arguments: str, program: Any = None, **env: str) -> Terminal:
        path = os.pathsep.join([str(site.folder), os.environ.get("PYTHONPATH", "")])
        run = ("-m", "agentfp", "check") if program is None else program
        opened.append(Terminal((*arguments, "--judge", "numbers"), folder, {"PYTHONPATH": path, **env}, run))
        return opened[-1]

    yield start
    for one in opened:
        one.close()


def test_an_answer_with_its_values_in_colours_and_a_table(open_terminal: Open, write: Any) -> None:
    shown = open_terminal(write(conversation("a", "It is 1234 for 7, not 999.")))
    assert shown.wait() == 0
    assert "a in t.jsonl:1  answer 3  unsupported" in shown.text
    assert "It is 1234 for 7, not 999." in shown.text
    assert re.search(r"verdict +value +kind +how +source", shown.text)
    assert re.search(r"supported +1234 +number +exact +message 2 price \$\.rows\[0\]\.price", shown.text)
    assert re.search(r"unsupported \(strong\) +999 +number", shown.text)
    assert re.search(r"\x1b\[[0-9;]*32m1234\x1b", shown.raw)
    assert re.search(r"\x1b\[[0-9;]*31m999\x1b", shown.raw)


def test_without_colours(open_terminal: Open, write: Any) -> None:
    shown = open_terminal(write(conversation("a", "999")), NO_COLOR="1")
    assert shown.wait() == 0
    assert not re.search(r"\x1b\[[0-9;]*3\dm", shown.raw)


def test_texts_cannot_steer_the_terminal(open_terminal: Open, write: Any) -> None:
    evil = "\x1b]0;owned\x07\x1b[2J [red]999[/red] \u202e1234"
    made = conversation(f"id{evil}", evil)
    made["messages"][1]["tool_calls"][0] = {**made["messages"][1]["tool_calls"][0], "function": {"name": evil, "arguments": "{}"}}
    made["messages"][2]["content"] = json.dumps({evil: 1234})
    path = write(made, {"broken": evil})
    for options in ((), ("--explain", "1234"), ("--explain", "999")):
        shown = open_terminal(path, *options)
        assert shown.wait() == 0
        assert "\x1b]0;" not in shown.raw
        assert "\x1b[2J" not in shown.raw
        assert "\u202e" not in shown.raw
        assert "[red]999[/red]" in shown.text


def test_progress_is_shown_while_results_go_elsewhere(open_terminal: Open, write: Any, folder: Path) -> None:
    path = write(*[conversation(str(n), "It is 1234.") for n in range(50)])
    (folder / "out.py").write_text(
        "import sys\nfrom agentfp_core.cli import main\nsys.stdout = open('out.jsonl', 'w')\nsys.exit(main(['check', *sys.argv[1:]]))\n"
    )
    shown = open_terminal(path, "--json", program=["out.py"])
    assert shown.wait() == 0
    assert "50 transcripts, 50 answers judged" in shown.text
    assert len((folder / "out.jsonl").read_text().splitlines()) == 50


def test_what_is_wrong_with_an_input_is_told_on_the_terminal(open_terminal: Open, write: Any, folder: Path) -> None:
    path = write(conversation("a", "1234"))
    with (folder / path).open("a") as file:
        file.write("{broken\n")
    shown = open_terminal(path, "--fail-on", "strong")
    assert shown.wait() == 1
    assert "t.jsonl:2: is not JSON" in shown.text
    assert "not checked: 1 place that could not be read" in shown.text
