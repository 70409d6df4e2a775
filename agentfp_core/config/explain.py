"""What a configuration says in the end, and where each value came from."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pydantic
import pydantic_core

from agentfp_core.config.config import Config, ConfigValue, SecretUse
from agentfp_core.config.layers import dotted
from agentfp_core.config.origin import DEFAULT, OVERRIDE
from agentfp_core.config.positions import Path
from agentfp_core.config.secret import MASK, SecretError, SecretRef, is_secret_name, masker
from agentfp_core.config.settings import is_plain_table
from agentfp_core.config.shapes import SECRETS, fields_of, kinds_at
from agentfp_core.config.switching import discover_for
from agentfp_core.limits import Limits
from agentfp_core.model import ModelSettings

if TYPE_CHECKING:
    from agentfp_core.config.layers import Tree
    from agentfp_core.plugins import Plugin

_OBJECTS = frozenset({"clock", "ids", "secrets", "plugin_problems"})
"""Arguments of ``Agent`` that no file can give."""


def explain(config: Config, agent: str, overrides: Mapping[str, Any]) -> list[ConfigValue]:
    """All values that an agent is built of; see ``Config.explain``."""
    tree, path = config.table(agent)
    found = [ConfigValue("version", config.tree.get(("version",)), config.tree.origin(("version",)))]
    given = [v for v in _given(tree, path) if v[0][len(path)] not in overrides]
    found += [_value(tree, at, value) for at, value in given]
    found += [ConfigValue(dotted((*path, key)), _shown(value), OVERRIDE) for key, value in overrides.items()]
    found += _agent_defaults(tree, path, overrides)
    classes = {} if "plugins" in overrides else discover_for(tree, path, config.tree, config.environ).plugins
    for name, cls in classes.items():
        found += _plugin(config.tree, name, cls)
    model = overrides.get("model", tree.get((*path, "model")))
    if isinstance(model, str) and config.tree.get(("models", model)) is not None:
        found += [_value(config.tree, at, value) for at, value in config.tree.leaves(("models", model))]
    mask = _mask_of(config)
    return [dataclasses.replace(item, value=_each_text(item.value, mask)) for item in found]


def _mask_of(config: Config) -> Callable[[str], str]:
    """Masks the secrets that can be looked up now, should one stand where none belongs."""
    values = set(config.tree.secrets)
    for _, ref in _references(config.tree.values, ()):
        with contextlib.suppress(SecretError):
            values.add(ref.resolve(config.environ))
    return masker(values)


def _each_text(value: Any, change: Callable[[str], str]) -> Any:
    if isinstance(value, dict):
        return {key: _each_text(item, change) for key, item in value.items()}
    if isinstance(value, list):
        return [_each_text(item, change) for item in value]
    return change(value) if isinstance(value, str) else value


def _given(tree: Tree, path: Path) -> Iterator[tuple[Path, Any]]:
    for at, value in tree.leaves(path):
        if len(at) > len(path):
            yield at, value


def _value(tree: Tree, path: Path, value: Any, model: type[pydantic.BaseModel] | None = None) -> ConfigValue:
    shown, secret = _masked(value, path, tree, model)
    return ConfigValue(dotted(path), shown, tree.origin(path), secret)


def _masked(value: Any, path: Path, tree: Tree, model: type[pydantic.BaseModel] | None) -> tuple[Any, bool]:
    """A value as it may be shown, and whether anything in it is a secret.

    Args:
        value: the value.
        path: where it stands.
        tree: the tree it stands in.
        model: the settings of the plugin whose table it stands in.
    """
    kinds = set() if model is None else kinds_at(model, path[2:])
    if isinstance(value, SecretRef):
        if is_plain_table(value, kinds, path):
            return value.table, False
        return repr(value), True
    if isinstance(value, dict):
        parts = {key: _masked(item, (*path, key), tree, model) for key, item in value.items()}
        return {key: shown for key, (shown, _) in parts.items()}, any(secret for _, secret in parts.values())
    if isinstance(value, list):
        items = [_masked(item, (*path, index), tree, model) for index, item in enumerate(value)]
        return [shown for shown, _ in items], any(secret for _, secret in items)
    if path in tree.tainted or is_secret_name(path[-1]) or any(kind in SECRETS for kind in kinds):
        return MASK, True
    return _shown(value), False


def _shown(value: Any) -> Any:
    """A value as JSON data; of an object only what it is, for it may hold anything."""
    if isinstance(value, (pydantic.SecretStr, pydantic.SecretBytes)):
        return MASK
    if value is None or isinstance(value, (str, int, float, bool)):
        return value
    if isinstance(value, Decimal):
        return str(value)
    if isinstance(value, Mapping):
        return {str(k): MASK if is_secret_name(str(k)) and isinstance(v, str) else _shown(v) for k, v in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [_shown(item) for item in value]
    if type(value).__module__ == "datetime":
        return value.isoformat() if hasattr(value, "isoformat") else str(value)
    if isinstance(value, type):
        return f"{value.__module__}:{value.__qualname__}"
    return f"<{type(value).__name__}>"


def _agent_defaults(tree: Tree, path: Path, overrides: Mapping[str, Any]) -> list[ConfigValue]:
    from agentfp_core.config.assemble import arguments_of_agent

    found = []
    for key, default in arguments_of_agent().items():
        if key in overrides or key in _OBJECTS:
            continue
        table = tree.get((*path, key))
        if key in ("limits", "model_settings"):
            cls = Limits if key == "limits" else ModelSettings
            inner = {f.name: f.default for f in dataclasses.fields(cls) if f.default is not dataclasses.MISSING}
            known = table if isinstance(table, dict) else {}
            found += [ConfigValue(dotted((*path, key, k)), _shown(v), DEFAULT) for k, v in inner.items() if k not in known]
        elif table is None and key != "model":
            own_name = path[-1] if key == "name" and path[0] == "agents" else default
            found.append(ConfigValue(dotted((*path, key)), _shown(own_name), DEFAULT))
    return found


def _plugin(tree: Tree, name: str, cls: type[Plugin]) -> list[ConfigValue]:
    path: Path = ("plugins", name)
    found = []
    for at, value in tree.leaves(path) if isinstance(tree.get(path), dict) else ():
        found.append(_value(tree, at, value, cls.Settings))
    for key, field in fields_of(cls.Settings).items():
        if tree.get((*path, key)) is None and not field.is_required():
            default = field.get_default(call_default_factory=True, validated_data={})
            shown = MASK if default is not None and is_secret_name(key) else _shown(_data(default))
            found.append(ConfigValue(dotted((*path, key)), shown, DEFAULT))
    return found


def _data(value: Any) -> Any:
    """Settings made of models as data; secrets in them come out masked."""
    if isinstance(value, pydantic.BaseModel):
        return pydantic_core.to_jsonable_python(value, fallback=lambda other: f"<{type(other).__name__}>")
    return value


def secrets(config: Config) -> list[SecretUse]:
    """All references to secrets; see ``Config.secrets``."""
    found = []
    for path, value in _references(config.tree.values, ()):
        error = None
        try:
            value.resolve(config.environ)
        except SecretError as failed:
            error = str(failed)
        found.append(SecretUse(dotted(path), repr(value), config.tree.origin(path), error))
    return found


def _references(value: Any, path: Path) -> Iterator[tuple[Path, SecretRef]]:
    if isinstance(value, SecretRef):
        yield path, value
    for key, item in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield from _references(item, (*path, key))
