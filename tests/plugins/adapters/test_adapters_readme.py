"""The first programs of the three frameworks, as the README has them, with their real provider classes against OpenAI on loopback."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from agentfp.plugin import ToolCall
from tests.plugins.adapters.loopback import openai_on_loopback

ROOT = Path(__file__).resolve().parents[3]

SCENES = {
    "help desk of a bank": (
        ToolCall("c1", "balance", '{"account": "QX-4471", "pending": true}'),
        "1234.56",
        "Account QX-4471 holds $1,324.56.",
        "Account QX-4471 holds $1,234.56.",
    ),
    "Hand each question": (ToolCall("h1", "transfer_to_history_tutor", "{}"), "never", "", ""),
    "questions about history": (
        ToolCall("c2", "timeline", '{"event": "landing on the Moon"}'),
        "1969-07-20",
        "Apollo 11 landed on 22 June 1969.",
        "Apollo 11 landed on 20 July 1969.",
    ),
    "You tell the weather": (
        ToolCall("c3", "weather", '{"city": "Bergen"}'),
        "17.3",
        "It is 13.7 °C in Bergen, with wind of 22.4 km/h.",
        "It is 17.3 °C in Bergen, with wind of 22.4 km/h.",
    ),
}


def play(everything: str) -> str | ToolCall:
    """Calls the tool, invents a value, and gives it right when the draft comes back."""
    [(call, result, invented, right)] = [scene for words, scene in SCENES.items() if words in everything]
    if result not in everything:
        return call
    return right if invented in everything else invented


def test_the_blocks_of_the_readme_run_and_catch_the_invention(tmp_path: Path) -> None:
    with openai_on_loopback(play) as server:
        own = {
            "OPENAI_BASE_URL": f"{server.base_url}/v1",
            "OPENAI_API_KEY": "sk-loopback",
            "OPENAI_AGENTS_DISABLE_TRACING": "1",
            "LANGSMITH_TRACING": "false",
        }
        command = [sys.executable, "-m", "tests.plugins.adapters.readme_run", str(tmp_path)]
        done = subprocess.run(command, cwd=ROOT, env={**os.environ, **own}, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        assert len(list((tmp_path / "work" / "runs").iterdir())) == 3
    sent = [" ".join(request.strings()) for request in server.seen]
    assert sum("<draft>" in text for text in sent) == 3
    assert {request.path for request in server.seen} == {"/v1/responses", "/v1/chat/completions"}
