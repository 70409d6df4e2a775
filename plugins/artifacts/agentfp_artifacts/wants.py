"""Arguments that are artifacts: the model passes a ref, the tool gets the data."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, ClassVar

from agentfp.artifacts import ArtifactError, ArtifactMeta
from agentfp.plugin import Allow, CallView, ConfigError, Declaration, Deny, Tool
from agentfp_artifacts.events import Reason
from agentfp_artifacts.scoped import ScopedArtifacts, reason_of
from agentfp_artifacts.stores.refs import is_ref

SHOWN = 10
LABEL = 80
"""Characters of a label that stand beside a ref."""
ROWS, PAGES = 200, 50
"""How far the scope is looked through for refs that would have fitted."""


class Wants(Declaration):
    """Marks a parameter that takes an artifact: ``rows: Annotated[list[dict], Wants("dataset/rows")]``.

    The model writes a ref; the function gets the artifact's data. An artifact of another kind is refused.

    Args:
        kind: the kind, exactly as it was put.

    Raises:
        ConfigError: the kind is blank.
    """

    __slots__ = ("kind",)
    plugin: ClassVar[str] = "artifacts"
    wire_type: ClassVar[Any] = str

    def __init__(self, kind: str) -> None:
        if not isinstance(kind, str) or not kind.strip():
            raise ConfigError("Wants needs the kind of the artifacts that it takes, such as 'dataset/rows'")
        self.kind = kind


def wanted_by(tool: Tool[..., Any]) -> dict[str, str]:
    """The parameters of a tool that take artifacts, each with its kind."""
    return {parameter: marker.kind for parameter, markers in tool.declarations.items() for marker in markers if isinstance(marker, Wants)}


class Refusal(Exception):
    """An argument cannot be resolved; the words are for the model."""

    def __init__(self, reason: Reason, words: str) -> None:
        self.reason = reason
        super().__init__(words)


async def resolve(
    artifacts: ScopedArtifacts, call: CallView, wanted: Mapping[str, str], metas: dict[str, ArtifactMeta]
) -> tuple[Allow | Deny | None, list[tuple[str, Reason, str]]]:
    """Redeem the refs of a call. All arguments are judged; one that cannot be redeemed refuses the call.

    Args:
        artifacts: those of the run's scope.
        call: the call.
        wanted: its parameters that take artifacts, with the kinds.
        metas: takes what is known of each.

    Returns:
        The verdict, and what was wrong: parameter, reason and words.
    """
    assert call.tool is not None
    arguments = call.arguments
    required = json.loads(call.tool.parameters_json).get("required", ())
    values: dict[str, Any] = {}
    wrong: list[tuple[str, Reason, str]] = []
    for parameter, kind in wanted.items():
        if parameter not in arguments and parameter not in required:
            continue
        try:
            meta, values[parameter] = await _redeem(artifacts, kind, arguments, parameter)
            metas[parameter] = meta
        except Refusal as refusal:
            wrong.append((parameter, refusal.reason, str(refusal)))
    if not wrong:
        return (Allow(values=values) if values else None), wrong
    lines = [f"{parameter}: {words}" for parameter, _, words in wrong]
    kinds = dict.fromkeys([wanted[parameter] for parameter, _, _ in wrong])
    lines += [await live_refs(artifacts, kind) for kind in kinds]
    lines.append("The call did not run. Correct the arguments and call again.")
    return Deny(f"an artifact that {call.name!r} wants: {wrong[0][1]}", tell_model="\n".join(lines), rule=wrong[0][1]), wrong


async def _redeem(artifacts: ScopedArtifacts, kind: str, arguments: Mapping[str, Any], parameter: str) -> tuple[ArtifactMeta, Any]:
    if parameter not in arguments:
        raise Refusal("invalid_input", f"it is missing; pass the ref of an artifact of kind {kind!r}")
    given = arguments[parameter]
    if not isinstance(given, str) or not given.strip():
        raise Refusal("invalid_input", f"got {_what(given)}; pass the ref of an artifact of kind {kind!r}")
    try:
        meta = await artifacts.head(given)
        if meta is None:
            named = f"no artifact {given}" if is_ref(given) else "no such artifact"
            raise Refusal("missing_or_expired", f"there is {named} here, or no more")
        if meta.kind != kind:
            raise Refusal("kind_mismatch", f"{given} is of kind {meta.kind!r}, and {kind!r} is wanted")
        found = await artifacts.get(given)
    except ArtifactError as error:
        if reason_of(error) == "digest_mismatch":
            raise Refusal("digest_mismatch", f"{given} is damaged; make it again") from error
        raise Refusal("unavailable", f"{given} cannot be read now") from error
    if found is None:
        raise Refusal("missing_or_expired", f"there is no artifact {given} here, or no more")
    if found.meta.kind != kind:  # a store that says two things of one artifact
        raise Refusal("unavailable", f"{given} cannot be read now")
    return found.meta, _data(found.data, meta.media_type)


def _data(data: Any, media_type: str) -> Any:
    """What the function gets: of a text that is JSON, what it says."""
    if isinstance(data, str) and media_type == "application/json":
        try:
            return json.loads(data)
        except (ValueError, RecursionError):
            return data
    return data


def _what(value: Any) -> str:
    if value is None:
        return "null"
    names = {list: "an array", dict: "an object", str: "a blank text", bool: "a boolean", int: "a number", float: "a number"}
    return names.get(type(value), "something else")


def _short(label: str) -> str:
    return label if len(label) <= LABEL else f"{label[: LABEL - 1]}…"


async def live_refs(artifacts: ScopedArtifacts, kind: str | None = None) -> str:
    """Words that list the newest artifacts of a kind, or of any.

    Args:
        artifacts: those of the run's scope.
        kind: the kind; None for all.
    """
    found: list[str] = []
    cursor: str | None = None
    seen: set[str] = set()
    looked = 0
    try:
        for _ in range(PAGES):
            page = await artifacts.list(cursor=cursor)
            looked += len(page.artifacts)
            found += [
                meta.ref if meta.label is None else f"{meta.ref} ({_short(meta.label)})"
                for meta in page.artifacts
                if kind in (None, meta.kind)
            ]
            cursor = page.cursor
            if cursor is None or cursor in seen or looked >= ROWS or len(found) >= SHOWN:
                break
            seen.add(cursor)
    except ArtifactError:  # what is there cannot be told; the refusal stands without it
        return "What artifacts there are cannot be told now."
    of_kind = "" if kind is None else f" of kind {kind!r}"
    return f"Artifacts{of_kind}: {', '.join(found[:SHOWN])}." if found else f"There are no artifacts{of_kind}."
