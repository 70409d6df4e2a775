"""ATIF trajectories, as the models of NVIDIA's toolkit, which follow the specification, write them."""

from __future__ import annotations

import json
from typing import Any

from nat.atif import Trajectory  # type: ignore[import-untyped]

from tests.plugins.transcripts.telling import ANSWER, ASKED, CONVERSATION, RESULT, read_all, read_one, told

STEPS: list[dict[str, Any]] = [
    {"step_id": 1, "source": "system", "message": "Be brief."},
    {"step_id": 2, "source": "user", "message": ASKED},
    {
        "step_id": 3, "source": "agent", "message": "", "model_name": "m", "reasoning_content": "Hm.",
        "tool_calls": [{"tool_call_id": "c1", "function_name": "price", "arguments": {"city": "Oslo"}}],
        "observation": {"results": [{"source_call_id": "c1", "content": json.dumps(RESULT)}]},
    },
    {"step_id": 4, "source": "agent", "message": ANSWER},
]  # fmt: skip


def trajectory(steps: list[dict[str, Any]] | None = None, **more: Any) -> dict[str, Any]:
    data = {"schema_version": "ATIF-v1.7", "session_id": "s1", "agent": {"name": "a", "version": "1"}, "steps": steps or STEPS, **more}
    made: dict[str, Any] = Trajectory.model_validate(data).model_dump(mode="json", exclude_none=True)
    return made


def test_a_trajectory() -> None:
    transcript = read_one(trajectory(), "atif")
    assert told(transcript) == CONVERSATION
    assert transcript.id == "s1"


def test_every_version_is_read() -> None:
    for version in ("ATIF-v1.0", "ATIF-v1.4", "ATIF-v1.9"):
        assert told(read_one({**trajectory(), "schema_version": version}, "atif")) == CONVERSATION


def test_parts_of_a_result() -> None:
    parts = [{"type": "text", "text": "1234"}, {"type": "image", "source": {"media_type": "image/png", "path": "a.png"}}]
    steps = [*STEPS[:2], {**STEPS[2], "observation": {"results": [{"source_call_id": "c1", "content": parts}]}}, STEPS[3]]
    transcript = read_one(trajectory(steps), "atif")
    assert transcript.messages[3].content == "1234\n[image]"
    assert "image" in transcript.problems[0]


def test_helpers_that_are_embedded() -> None:
    asking = {**STEPS[1], "step_id": 1}
    helper = {
        "schema_version": "ATIF-v1.7",
        "trajectory_id": "h1",
        "session_id": "s1",
        "agent": {"name": "h", "version": "1"},
        "steps": [asking],
    }
    main, second = read_all(trajectory(trajectory_id="t1", subagent_trajectories=[helper]))
    assert (main.id, second.id) == ("t1", "t1/h1")
    assert told(second) == CONVERSATION[1:2]


def test_odd_steps_are_told() -> None:
    transcript = read_one({**trajectory(), "steps": [*STEPS[:2], 7, {"source": "nobody"}, *STEPS[2:]]}, "atif")
    assert len(transcript.problems) == 2
    assert told(transcript)[-1] == CONVERSATION[-1]
