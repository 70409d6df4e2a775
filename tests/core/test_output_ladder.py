"""The last resorts of a typed answer: a fallback function, then a canned value; the text stays what the model said."""

from __future__ import annotations

from typing import Any

import pydantic
import pytest

from agentfp import OutputSchemaError
from agentfp.events import OutputCannedUsed, OutputFallbackTriggered
from tests.core.running import answering, check_record, names

pytestmark = pytest.mark.anyio


class City(pydantic.BaseModel):
    name: str


BAD = '{"town": "Ulm"}'
ULM, NOWHERE = City(name="Ulm"), City(name="nowhere")


async def made(error: OutputSchemaError, text: str) -> City:
    assert (error.raw_output, error.stage, text) == (BAD, "schema-validate", BAD)
    return ULM


def plain(error: OutputSchemaError, text: str) -> dict[str, str]:
    return {"name": "Ulm"}


def raising(error: OutputSchemaError, text: str) -> City:
    raise LookupError("no town")


def unfit(error: OutputSchemaError, text: str) -> dict[str, int]:
    return {"name": 5}


@pytest.mark.parametrize(
    ("fallback", "canned", "value", "failed"),
    [
        (made, None, ULM, None),
        (made, NOWHERE, ULM, None),
        (plain, NOWHERE, ULM, None),
        (raising, NOWHERE, NOWHERE, "LookupError"),
        (unfit, NOWHERE, NOWHERE, "ValidationError"),
        (None, NOWHERE, NOWHERE, None),
        (None, {"name": "nowhere"}, NOWHERE, None),
    ],
)
async def test_one_after_the_other(fallback: Any, canned: Any, value: City, failed: str | None) -> None:
    agent = answering(BAD, BAD, output_type=City, output_fallback=fallback, output_canned=canned)
    result = await agent.run("go")
    record = check_record(result)
    assert (result.status, result.output, result.text) == ("answered", value, BAD)
    assert result.contract_unmet is not None
    assert (result.contract_unmet.fallback_configured, result.contract_unmet.retries_spent) == (True, 1)
    used = record.of(OutputCannedUsed)
    assert [(item.retries_spent, item.error) for item in used] == ([(1, failed)] if value == NOWHERE else [])
    if fallback is not None:
        assert [(item.stage, item.retries_spent) for item in record.of(OutputFallbackTriggered)] == [("schema-validate", 1)]


async def test_when_all_fail_there_is_no_value() -> None:
    result = await answering(BAD, output_type=City, output_retries=0, output_fallback=raising).run("go")
    assert result.contract_unmet is not None
    with pytest.raises(OutputSchemaError):
        result.output  # noqa: B018
    assert result.text == BAD
    assert len(check_record(result).of(OutputFallbackTriggered)) == 1


async def test_an_answer_that_fits_asks_no_fallback() -> None:
    result = await answering('{"name": "Ulm"}', output_type=City, output_fallback=raising, output_canned=NOWHERE).run("go")
    assert result.output == ULM
    assert not any(name.startswith("resilience.") for name in names(result.record))


async def test_a_canned_value_is_each_time_a_new_one() -> None:
    agent = answering(BAD, BAD, output_type=dict[str, list[int]], output_retries=0, output_canned={"a": [1]})
    first = await agent.run("go")
    first.output["a"].append(2)
    assert (await agent.run("go")).output == {"a": [1]}
