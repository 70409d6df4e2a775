"""Reads ATIF trajectories (Agent Trajectory Interchange Format, as Harbor writes them), versions 1.0 to 1.7 and what resembles them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from agentfp.transcripts import Transcript, TranscriptError
from agentfp_transcripts.building import Builder, call
from agentfp_transcripts.content import as_text, items, mapping, name_of, result_text, text_of


class AtifReader:
    """An object with ``schema_version`` "ATIF-v1.x" and ``steps``; trajectories of helpers that it embeds are transcripts of their own."""

    name = "atif"

    def recognises(self, data: Any) -> bool:
        """Whether it says so of itself."""
        return isinstance(data, Mapping) and as_text(data.get("schema_version")).startswith("ATIF") and "steps" in data

    def read(self, data: Any, *, id: str, source: str) -> Sequence[Transcript]:
        """The trajectory, then those of its helpers."""
        if not isinstance(data, Mapping) or not isinstance(data.get("steps"), list):
            raise TranscriptError(f"{source}: 'steps' must be a list")
        found = []
        pending: list[tuple[Mapping[str, Any], str]] = [(data, name_of(data, "trajectory_id", "session_id") or id)]
        while pending:
            trajectory, own = pending.pop(0)
            found.append(self._one(trajectory, own, source))
            for number, helper in enumerate(items(trajectory.get("subagent_trajectories"))):
                if isinstance(helper, Mapping) and isinstance(helper.get("steps"), list):
                    pending.append((helper, f"{own}/{name_of(helper, 'trajectory_id', 'session_id') or number}"))
        return found

    def _one(self, data: Mapping[str, Any], id: str, source: str) -> Transcript:
        building = Builder(id, format=self.name, source=source)
        building.offer(mapping(data.get("agent")).get("tool_definitions"))
        if data.get("continued_trajectory_ref"):
            building.problems.append("it goes on in another file (continued_trajectory_ref), which is read by itself")
        for step in data["steps"]:
            self._add(building, step)
        return building.build()

    def _add(self, building: Builder, step: Any) -> None:
        if not isinstance(step, Mapping):
            building.unreadable(f"is of a step that is no object, but a {type(step).__name__}")
            return
        source, text = step.get("source"), text_of(step.get("message"), building.skipped)
        if source == "user":
            building.add("user", text)
        elif source == "system":
            building.add("system", text)
        elif source == "agent":
            wanted = [mapping(c) for c in items(step.get("tool_calls"))]
            calls = [call(c.get("function_name"), c.get("arguments"), c.get("tool_call_id")) for c in wanted]
            building.add("assistant", text, calls=calls)
        else:
            building.unreadable("is of a step whose source is none of system, user, agent")
        for result in items(mapping(step.get("observation")).get("results")):
            one = mapping(result)
            content = one.get("content")
            if content is None:
                if one.get("subagent_trajectory_ref"):
                    building.problems.append(f"a result after message {len(building) - 1} is a helper's trajectory, kept elsewhere")
                continue
            failed = one.get("is_error") is True or mapping(one.get("extra")).get("is_error") is True
            call_id = one.get("source_call_id")
            building.add(
                "tool", result_text(content, building.skipped), call_id=call_id if isinstance(call_id, str) else None, failed=failed
            )
