"""What the adapters of all providers share."""

from __future__ import annotations

from typing import Any

import pytest

from agentfp.model import lacking, on_loopback, with_extra


@pytest.mark.parametrize(
    ("body", "extra", "made"),
    [
        ({"a": 1}, {}, {"a": 1}),
        ({"a": 1}, {"a": 2, "b": 3}, {"a": 2, "b": 3}),
        ({"a": {"b": {"c": 1, "d": 2}}}, {"a": {"b": {"c": 3}, "e": 4}}, {"a": {"b": {"c": 3, "d": 2}, "e": 4}}),
        ({"tools": [1]}, {"tools": (2,)}, {"tools": [1, 2]}),
        ({"config": {"tools": [1]}}, {"config": {"tools": [2]}}, {"config": {"tools": [1, 2]}}),
        ({"stop": ["x"]}, {"stop": ["y"]}, {"stop": ["y"]}),
        ({"a": {"b": 1}}, {"a": None}, {"a": None}),
        ({"a": 1}, {"a": {"b": 1}}, {"a": {"b": 1}}),
    ],
)
def test_further_fields_are_laid_over_a_body(body: dict[str, Any], extra: dict[str, Any], made: dict[str, Any]) -> None:
    before = repr((body, extra))
    assert with_extra(body, extra) == made
    assert repr((body, extra)) == before, "neither may change: the settings serve every call"


@pytest.mark.parametrize(
    ("url", "here"),
    [
        ("http://127.0.0.1:8000/v1", True),
        ("http://127.8.9.1", True),
        ("http://[::1]:80", True),
        ("https://localhost", True),
        ("http://api.localhost:1", True),
        ("https://localhost.example.com", False),
        ("https://127.0.0.1.example.com", False),
        ("https://10.0.0.1", False),
        ("nonsense", False),
    ],
)
def test_a_server_of_this_machine_is_known(url: str, here: bool) -> None:
    assert on_loopback(url) is here


def test_a_wish_that_cannot_be_kept_names_model_and_wish() -> None:
    error = lacking("acme", "m", "images by URL", "give the bytes")
    assert str(error) == "model 'm' of 'acme' has no images by URL; give the bytes"
    assert (error.provider, error.model) == ("acme", "m")
