"""``check_ready``: whether there is a key is told without a request."""

from __future__ import annotations

import pytest

from agentfp import ModelAuthenticationError, Retry
from agentfp.model import check_ready, resolve_model
from agentfp.testing import ScriptedModel

KEYS = ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY")


@pytest.fixture(autouse=True)
def _no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in KEYS:
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize(
    ("model", "key"),
    [
        ("openai:m", "OPENAI_API_KEY"),
        ("openai-chat:m", "OPENAI_API_KEY"),
        ("openai-responses:m", "OPENAI_API_KEY"),
        ("anthropic:m", "ANTHROPIC_API_KEY"),
        ("gemini:m", "GOOGLE_API_KEY"),
    ],
)
@pytest.mark.parametrize("wrapped", [False, True])
def test_a_key_that_is_nowhere(model: str, key: str, wrapped: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    made = resolve_model(model)
    if wrapped:
        made = Retry(made)
    with pytest.raises(ModelAuthenticationError, match=key):
        check_ready(made)
    monkeypatch.setenv(key, "k")
    check_ready(made)
    monkeypatch.delenv(key)
    check_ready(resolve_model(model, settings={"api_key": "k"}))
    check_ready(resolve_model(model, settings={"base_url": "http://127.0.0.1:9/v1"} if "gemini" not in model else {"api_key": "k"}))


def test_nothing_is_known_of_a_model_that_does_not_tell() -> None:
    check_ready(ScriptedModel(["x"]))
