"""Models made of a name and settings: what `openai:`, `openai-chat:` and `openai-responses:` stand for."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Mapping
from functools import cache
from typing import Any

from agentfp.http import HttpOptions, shows_http_options
from agentfp.model import ModelCatalog, ModelFeatures
from agentfp.plugin import ConfigError, nearest
from agentfp_openai.chat import ChatModel
from agentfp_openai.responses import ResponsesModel
from agentfp_openai.server import Key, Kind, Server, server

_APIS: Mapping[str, type[ChatModel | ResponsesModel]] = {"chat": ChatModel, "responses": ResponsesModel}
_EFFORTS = ("none", "minimal", "low", "medium", "high", "xhigh", "max")
_SUMMARIES = ("auto", "concise", "detailed")
_OPENAI = ModelFeatures(
    streaming=True,
    parallel_tool_calls=True,
    forced_tool_choice=True,
    json_schema=True,
    prompt_cache="automatic",
    thinking=True,
    images=True,
    documents=True,
    roles=("system", "user", "assistant", "tool"),
)
_COMPATIBLE = dataclasses.replace(_OPENAI, prompt_cache="none", documents=False)
"""Nobody can tell from here what a compatible server's model has; what it has not, the server itself refuses."""


@cache
def catalog() -> ModelCatalog:
    """What is known of OpenAI's models."""
    return ModelCatalog.of_package("agentfp_openai")


def openai(
    model_name: str,
    *,
    api: str | None = None,
    api_key: Key | None = None,
    base_url: str | None = None,
    api_version: str | None = None,
    organization: str | None = None,
    project: str | None = None,
    reasoning_effort: str | None = None,
    reasoning_summary: str | None = None,
    features: Mapping[str, Any] | None = None,
    **options: Any,
) -> ChatModel | ResponsesModel:
    """A model of OpenAI, of Azure, or of a compatible server.

    Args:
        model_name: the model's id; OpenAI's default model when empty. On Azure the name of the deployment.
        api: ``responses`` or ``chat``; at OpenAI and Azure ``responses``, elsewhere ``chat`` when None.
        api_key: the key; a function that gives a token, called for each attempt; or ``""`` for a server that wants none. When None,
            the environment variable of the server: ``OPENAI_API_KEY``, ``AZURE_OPENAI_API_KEY``, ``GROQ_API_KEY``, ...
        base_url: where the server is; when None ``OPENAI_BASE_URL``, else OpenAI.
        api_version: Azure's dated interface, such as ``2024-10-21``; leave it out for the present one.
        organization: who is billed, at OpenAI.
        project: which project is billed, at OpenAI.
        reasoning_effort: how much the model thinks: ``none``, ``minimal``, ``low``, ``medium``, ``high``, ``xhigh``, ``max``.
        reasoning_summary: ``auto``, ``concise`` or ``detailed``: a summary of the thinking to read, over Responses.
        features: fields of ``ModelFeatures`` in which this model differs from what is assumed.
        options: fields of ``agentfp.http.HttpOptions``: timeouts, pool, proxy, retries.

    Raises:
        ConfigError: settings that cannot be; names all of them.
    """
    problems = _problems(api, reasoning_effort, reasoning_summary)
    stated = _stated(features, problems)
    http = _http(options, problems)
    where = server(
        api_key=api_key,
        base_url=base_url,
        api_version=api_version,
        organization=organization,
        project=project,
        problems=problems,
    )
    name = model_name or _default(where)
    known = dataclasses.replace(_features(name, where.kind), **stated)
    kind = _APIS[api or ("chat" if where.kind == "compatible" else "responses")]
    return kind(name, server=where, features=known, options=http, reasoning_effort=reasoning_effort, reasoning_summary=reasoning_summary)


shows_http_options(openai)  # type: ignore[type-var]
_OWN = tuple(name for name in inspect.signature(openai).parameters if name != "model_name")


def _http(options: Mapping[str, Any], problems: list[str]) -> HttpOptions | None:
    try:
        return HttpOptions.of("openai", options, own=_OWN)
    except ConfigError as error:
        problems += error.problems
        return None


def openai_chat(model_name: str, **settings: Any) -> ChatModel | ResponsesModel:
    """The same over Chat Completions; see :func:`openai`.

    Args:
        model_name: the model.
        **settings: as for :func:`openai`, except ``api``.
    """
    return _over("chat", model_name, settings)


def openai_responses(model_name: str, **settings: Any) -> ChatModel | ResponsesModel:
    """The same over the Responses interface; see :func:`openai`.

    Args:
        model_name: the model.
        **settings: as for :func:`openai`, except ``api``.
    """
    return _over("responses", model_name, settings)


def _over(api: str, model_name: str, settings: dict[str, Any]) -> ChatModel | ResponsesModel:
    if "api" in settings:
        raise ConfigError(f"provider 'openai-{api}' has no setting 'api'; its name says which one it is, and 'openai' lets you choose")
    return openai(model_name, api=api, **settings)


def _show_settings(factory: Any) -> None:
    """A file's settings are checked against the signature."""
    shown = inspect.signature(openai)
    factory.__signature__ = shown.replace(parameters=[p for name, p in shown.parameters.items() if name != "api"])


_show_settings(openai_chat)
_show_settings(openai_responses)


def _problems(api: Any, effort: Any, summary: Any) -> list[str]:
    choices = {"api": (api, tuple(_APIS)), "reasoning_effort": (effort, _EFFORTS), "reasoning_summary": (summary, _SUMMARIES)}
    return [
        f"{name} has no value {value!r}; {nearest(str(value), accepted)}"
        for name, (value, accepted) in choices.items()
        if value is not None and value not in accepted
    ]


def _stated(features: Mapping[str, Any] | None, problems: list[str]) -> dict[str, Any]:
    if features is None:
        return {}
    if not isinstance(features, Mapping):
        problems.append(f"features takes a table such as {{ images = true }}, got a {type(features).__name__}")
        return {}
    known = [f.name for f in dataclasses.fields(ModelFeatures) if f.name != "prices"]  # an agent has a table of these
    problems += [f"features has no {name!r}; {nearest(str(name), known)}" for name in features if name not in known]
    return {name: tuple(value) if isinstance(value, list) else value for name, value in features.items()}


def _default(where: Server) -> str:
    if where.kind == "openai" and catalog().default is not None:
        return str(catalog().default)
    raise ConfigError("'openai' alone means a model of OpenAI itself; for another server name the model, as in 'openai:llama-3.3-70b'")


def _features(name: str, kind: Kind) -> ModelFeatures:
    """What is known of the model; prices only where OpenAI sends the bill."""
    if kind == "compatible":
        return dataclasses.replace(catalog().features(name, _COMPATIBLE), prices=None)
    return catalog().features(name, _OPENAI)
