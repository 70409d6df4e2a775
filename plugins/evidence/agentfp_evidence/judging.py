"""The one question of this package: where does each value of an answer come from?"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import pydantic
import pydantic_core

from agentfp.plugin import ConfigError, Message, nearest
from agentfp_evidence.index import EvidenceIndex
from agentfp_evidence.options import EvidenceOptions
from agentfp_evidence.profile_lexical import judge_lexical
from agentfp_evidence.profile_standard import judge_standard
from agentfp_evidence.report import EvidenceReport

_DEFAULT = EvidenceOptions()


def judge(
    answer: Any,
    messages: Iterable[Message | Mapping[str, Any]],
    *,
    given: Sequence[Any] | Mapping[str, Any] = (),
    output_type: Any = None,
    failed: Collection[str] = (),
    nested: Mapping[str, Iterable[str]] | None = None,
    **options: Any,
) -> EvidenceReport:
    """Say of each value of an answer where it came from. A pure function: no model, no network, no state.

    It finds invention. It does not find what is false and made of true values.

    Args:
        answer: the answer's text; or JSON data, a pydantic model or a dataclass, which is judged field by field.
        messages: what stood before the answer, in order: messages of the library, or mappings in the form of OpenAI's chat
            messages. Results of tools are evidence; what the person and the application wrote is given; what the model
            wrote, arguments of calls included, is neither. A mapping with ``is_error`` or ``status: "error"`` is a failed
            result, which is never evidence.
        given: further texts or JSON data that ground values, in a list or by name.
        output_type: the type of a typed answer; its field names and constants are no values.
        failed: ids of messages or calls whose tool reported a failure.
        nested: by call id, the only texts that the answer of a nested agent grounds.
        **options: fields of :class:`EvidenceOptions`.

    Returns:
        the report: every value with its verdict, its place in the answer and its sources.

    Raises:
        ConfigError: an option does not fit.
    """
    index = EvidenceIndex(messages, given=given, failed=failed, nested=nested)
    return judge_with(index, answer, output_type=output_type, options=_options(options))


def judge_with(index: EvidenceIndex, answer: Any, *, output_type: Any = None, options: EvidenceOptions | None = None) -> EvidenceReport:
    """Judge an answer by an index that grows with the conversation, so that a later judgement costs only what is new.

    Args:
        index: what the conversation served and gave so far.
        answer: as in :func:`judge`.
        output_type: as in :func:`judge`.
        options: how to judge; the standard profile unless given.
    """
    options = options or _DEFAULT
    text, is_data = _text_of(answer)
    if options.profile == "lexical":
        return judge_lexical(index, text, options)
    return judge_standard(index, text, options, output_type=output_type, is_data=is_data)


def _options(values: dict[str, Any]) -> EvidenceOptions:
    if not values:
        return _DEFAULT
    known = [field.name for field in dataclasses.fields(EvidenceOptions)]
    unknown = [name for name in values if name not in known]
    if unknown:
        raise ConfigError([f"option {name!r} of judge() is unknown; {nearest(name, known)}" for name in unknown])
    return EvidenceOptions(**values)


def _text_of(answer: Any) -> tuple[str, bool]:
    """The text that spans point into, and whether it is data."""
    if answer is None:
        return "", False
    if isinstance(answer, str):
        return answer, False
    if isinstance(answer, pydantic.BaseModel):
        answer = answer.model_dump(mode="json")
    return json.dumps(pydantic_core.to_jsonable_python(answer), ensure_ascii=False), True
