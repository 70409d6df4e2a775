"""The lines of a config file that switch a plugin on, ready to be pasted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from agentfp_core.plugins import Plugin


def lines_for(cls: type[Plugin]) -> str:
    """The switch, and a table with every setting: the required ones to be filled in, the others at their defaults as comments."""
    from agentfp_core.config.shapes import fields_of

    lines = ["[agent]", f'plugins = ["{cls.name}"]  # add it to the list']
    settings = [_line(name, field, cls.name) for name, field in fields_of(cls.Settings).items()]
    return "\n".join([*lines, "", f"[plugins.{cls.name}]", *settings] if settings else lines)


def _line(name: str, field: Any, plugin: str) -> str:
    from agentfp_core.config.secret import is_secret_name

    if _is_secret(field.annotation) or is_secret_name(name):
        reference = f'{name} = {{ env = "{plugin.upper()}_{name.upper()}" }}'
        return reference if field.is_required() else f"# {reference}"
    if field.is_required():
        return f"{name} =   # required"
    text = _toml(field.get_default(call_default_factory=True, validated_data={}))
    return f"# {name} = {text}" if text is not None else f"# {name} ="


def _is_secret(annotation: Any) -> bool:
    return "Secret" in str(annotation)


def _toml(value: Any) -> str | None:
    """A default as TOML; None where TOML has no way to write it."""
    import pydantic_core
    import tomlkit

    try:
        data = pydantic_core.to_jsonable_python(value)
        if isinstance(data, dict):
            table = tomlkit.inline_table()
            table.update(data)
            data = table
        return None if data is None else str(tomlkit.item(data).as_string())
    except (TypeError, ValueError, pydantic_core.PydanticSerializationError):
        return None
