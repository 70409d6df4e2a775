"""One JSON Schema of the whole file, for the plugins and providers that are installed; what editors complete and check with."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any, NamedTuple

import pydantic
from pydantic.json_schema import GenerateJsonSchema

from agentfp_core.config.secret import is_secret_name
from agentfp_core.config.settings_docs import settings_docs
from agentfp_core.config.tables import FileTable
from agentfp_core.discovery import PluginReport, load_plugin
from agentfp_core.docstrings import split_docstring
from agentfp_core.entrypoints import MODELS_GROUP, PLUGINS_GROUP, Installed, installed
from agentfp_core.errors import PluginLoadError
from agentfp_core.limits import Limits
from agentfp_core.model import ModelSettings

SECRET: Mapping[str, Any] = {
    "title": "Secret",
    "description": "Where a secret is looked up.",
    "oneOf": [
        {
            "type": "object",
            "properties": {kind: {"type": "string", "description": text}},
            "required": [kind],
            "additionalProperties": False,
        }
        for kind, text in (("env", "Name of an environment variable."), ("file", "A file, relative to this one."))
    ],
}


class _Lenient(GenerateJsonSchema):
    """Says nothing about a setting that has no schema, such as a function, which only code can give; the others keep theirs."""

    def handle_invalid_for_json_schema(self, schema: Any, error_info: str) -> dict[str, Any]:
        return {}


class ConfigSchema(NamedTuple):
    """The schema of a file.

    Args:
        schema: JSON Schema, draft 2020-12.
        skipped: plugins that are installed and could not be asked for their settings.
    """

    schema: dict[str, Any]
    skipped: tuple[PluginReport, ...]


def config_schema(found: Installed | None = None) -> ConfigSchema:
    """Make the schema. Loads the installed plugins for their settings; broken ones are skipped and reported.

    Args:
        found: what is installed; looked up when None.
    """
    found = installed() if found is None else found
    schema = FileTable.model_json_schema()
    definitions = schema["$defs"]
    definitions["Secret"] = dict(SECRET)
    _describe(definitions["Limits"], Limits)
    _describe(definitions["ModelSettings"], ModelSettings)
    providers = sorted(found.group(MODELS_GROUP))
    definitions["ModelTable"]["properties"]["use"]["examples"] = [f"{name}:MODEL" for name in providers]
    definitions["ModelTable"].pop("required", None)
    plugins, skipped = _plugins(found, definitions)
    schema["properties"]["plugins"] = {
        "type": "object",
        "description": "Settings of plugins; `agent.plugins` switches them on.",
        "properties": plugins,
        "additionalProperties": {"$ref": "#/$defs/PluginTable"} if skipped else False,
    }
    names = sorted({*plugins, *[report.name for report in skipped]})
    _without_null(definitions["AgentTable"])
    _without_null(schema)
    for key in ("plugins", "required_plugins"):
        definitions["AgentTable"]["properties"][key]["items"] = {"type": "string", "enum": names} if names else {"type": "string"}
    over = {key: value for key, value in schema["properties"].items() if key not in ("env", "version")}
    overlay = {"type": "object", "properties": over, "additionalProperties": False}
    schema["properties"]["env"] = {
        "type": "object",
        "description": "Overlays, merged over the file when `AGENTFP_ENV` names one.",
        "additionalProperties": overlay,
    }
    schema |= {"$schema": GenerateJsonSchema.schema_dialect, "title": "agentfp.toml"}
    return ConfigSchema(schema, skipped)


def _plugins(found: Installed, definitions: dict[str, Any]) -> tuple[dict[str, Any], tuple[PluginReport, ...]]:
    tables: dict[str, Any] = {}
    skipped = []
    for name, entries in sorted(found.group(PLUGINS_GROUP).items()):
        try:
            cls = load_plugin(name, entries)
            tables[name] = _settings(name, cls.Settings, definitions)
            for field, text in settings_docs(cls, cls.Settings).items():
                if field in tables[name]["properties"]:
                    tables[name]["properties"][field].setdefault("description", text)
            if cls.__doc__:
                tables[name]["description"] = inspect.cleandoc(cls.__doc__).split("\n", 1)[0]
        except PluginLoadError as error:
            skipped.append(PluginReport(name, entries[0].distribution, entries[0].version, "failed", str(error)))
        except (Exception, SystemExit) as error:  # settings that have no schema
            text = f"its settings have no JSON schema: {type(error).__name__}: {error}"
            skipped.append(PluginReport(name, entries[0].distribution, entries[0].version, "failed", text))
    return tables, tuple(skipped)


def _settings(name: str, model: type[pydantic.BaseModel], definitions: dict[str, Any]) -> dict[str, Any]:
    """The schema of a plugin's table. Its definitions get the plugin's name, for two plugins may use one."""
    template = f"#/$defs/{name}.{{model}}"
    schema = model.model_json_schema(ref_template=template, schema_generator=_Lenient)
    inner = schema.pop("$defs", {})
    for key, definition in inner.items():
        definitions[f"{name}.{key}"] = _with_secrets(definition)
    table: dict[str, Any] = _with_secrets(schema)
    table.pop("required", None)  # an overlay or the environment may bring the rest
    properties = table.setdefault("properties", {})
    properties["enabled"] = {"type": "boolean", "description": "Off keeps the settings and loads nothing.", "default": True}
    return table


def _with_secrets(schema: dict[str, Any]) -> dict[str, Any]:
    """Properties that are secrets take references only; other texts may be given by reference too."""
    for name, field in schema.get("properties", {}).items():
        if _is_secret(field) or is_secret_name(name):
            kept = {key: field[key] for key in ("title", "description") if key in field}
            schema["properties"][name] = {**kept, "$ref": "#/$defs/Secret"}
        elif field.get("type") == "string":
            kept = {key: field.pop(key) for key in ("title", "description", "default") if key in field}
            schema["properties"][name] = {**kept, "anyOf": [field, {"$ref": "#/$defs/Secret"}]}
    return schema


def _is_secret(field: Mapping[str, Any]) -> bool:
    arms = [field, *field.get("anyOf", ())]
    return any(arm.get("format") == "password" and arm.get("writeOnly") for arm in arms)


def _describe(table: dict[str, Any], cls: type[Any]) -> None:
    """Give the fields of a kernel type the words of its docstring."""
    texts = split_docstring(inspect.cleandoc(cls.__doc__ or ""))[1]
    for name, field in table["properties"].items():
        if name in texts:
            field["description"] = texts[name]
    _without_null(table)


def _without_null(table: dict[str, Any]) -> None:
    """TOML has no null: what is optional is left out."""
    for name, field in table["properties"].items():
        arms = [arm for arm in field.get("anyOf", ()) if arm != {"type": "null"}]
        if len(arms) == len(field.get("anyOf", ())):
            continue
        kept = {key: value for key, value in field.items() if key not in ("anyOf", "default")}
        table["properties"][name] = {**arms[0], **kept} if len(arms) == 1 else {**kept, "anyOf": arms}
