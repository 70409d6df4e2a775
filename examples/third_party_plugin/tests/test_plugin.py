"""Tests of the plugin. The model is scripted and the clock stands still, so they need no key, no network and no luck."""

from __future__ import annotations

from typing import Any

import anyio
import pytest

from agentfp import ConfigError, tool
from agentfp.testing import Harness, Outcome, call, check_plugin
from agentfp_result_age import ResultAge


@tool
def stock(as_of: str) -> dict[str, Any]:
    """What is in stock."""
    return {"left": 3, "as_of": as_of}


@tool
def motto() -> str:
    """Words without a time."""
    return "as_of old"


def run(plugin: ResultAge, *calls: Any) -> Outcome:
    async def go() -> Outcome:
        return await Harness(plugin, tools=[stock, motto], script=[list(calls), "Three are left."]).run("How many are left?")

    return anyio.run(go)


def test_it_keeps_the_rules_of_plugins() -> None:
    check_plugin(lambda: ResultAge(), tools=[stock], script=[call("stock", as_of="2001-02-03T04:05:06Z"), "Three are left."])


def test_an_old_result_gets_a_note_and_stands_on_the_record() -> None:
    outcome = run(ResultAge(), call("stock", as_of="2001-02-03T04:05:06Z"))
    assert ResultAge.old(outcome.result) == ("stock",)
    (served,) = [message.text for message in outcome.result.history if message.role == "tool"]
    assert served.startswith('{"left":3,"as_of":"2001-02-03T04:05:06Z"}')
    assert "minutes old. Say so" in served


@pytest.mark.parametrize("told", ["9999-01-01T00:00:00Z", "no time", "", "2001-02-03T04:05:06+99:00"])
def test_what_is_young_or_has_no_time_is_left_alone(told: str) -> None:
    outcome = run(ResultAge(), call("stock", as_of=told), call("motto"))
    assert ResultAge.old(outcome.result) == ()
    assert not outcome.events("result_age.*")


@pytest.mark.parametrize("settings", [{"seconds": 0}, {"secunds": 5}])
def test_settings_that_do_not_fit_are_refused(settings: dict[str, Any]) -> None:
    with pytest.raises(ConfigError):
        ResultAge(**settings)
