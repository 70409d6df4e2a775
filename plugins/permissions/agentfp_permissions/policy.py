"""Reads a policy, of settings and of a file of its own, and says everything that is wrong with it at once."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from agentfp.plugin import nearest
from agentfp_permissions.errors import PolicyError
from agentfp_permissions.patterns import is_pattern
from agentfp_permissions.requests import DECLARABLE
from agentfp_permissions.roles import Role, RolePolicy
from agentfp_permissions.sequence import AtMost, Forbid, OnlyAfter, SequenceRule

VERSION = 1
KEYS = ("version", "active_role", "roles", "identities", "sequence", "capabilities")
_TEXTS = ("reason", "tell_model", "rule")
_LISTS = ("tools", "deny", "halt", "skills")
_SEQUENCE = {"forbid": Forbid, "at_most": AtMost, "only_after": OnlyAfter}
_CHOICES = {"action": ("deny", "halt"), "scope": ("run", "conversation")}


@dataclass(frozen=True, slots=True)
class Policy:
    """A policy that can be used.

    Args:
        roles: the roles; None when there are none, and roles do not matter.
        identities: the role of each principal.
        sequence: rules of order, in order.
        capabilities: for tools that do not say so themselves, what they reach.
        digest: of all of it.
    """

    roles: RolePolicy | None = None
    identities: Mapping[str, str] = field(default_factory=dict)
    sequence: tuple[SequenceRule, ...] = ()
    capabilities: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    digest: str = ""

    def names(self) -> Iterator[tuple[str, str]]:
        """All names and patterns of tools, each with where it stands."""
        for name, role in () if self.roles is None else self.roles.roles.items():
            for key in ("tools", "deny", "halt"):
                yield from ((tool, f"roles.{name}.{key}") for tool in getattr(role, key))
        for at, rule in enumerate(self.sequence):
            listed = rule.tools if isinstance(rule, Forbid) else (rule.tool,) if isinstance(rule, AtMost) else (rule.tool, *rule.after)
            yield from ((tool, f"sequence[{at}]") for tool in listed)
        yield from ((tool, "capabilities") for tool in self.capabilities)


def read_policy(path: str | Path | None, tables: Mapping[str, Any]) -> Policy:
    """Read a policy of a file and of settings; what the settings say of a thing stands for what the file says of it.

    Args:
        path: a TOML file, or None.
        tables: the settings; those that are empty or None count as not given.

    Raises:
        PolicyError: with every problem.
    """
    reader = _Reader()
    merged: dict[str, Any] = {}
    if path is not None:
        merged = reader.file(Path(path))
        reader.version(merged.pop("version", None))
    given = {key: value for key, value in tables.items() if value not in (None, (), [], {})}
    places = dict.fromkeys(merged, f"{path}: ") | dict.fromkeys(given, "")
    made = reader.policy(merged | given, places)
    if reader.problems:
        raise PolicyError(reader.problems)
    return made


class _Reader:
    def __init__(self) -> None:
        self.problems: list[str] = []

    def file(self, path: Path) -> dict[str, Any]:
        try:
            found = tomllib.loads(path.read_text(encoding="utf-8"))
        except OSError as error:
            self.problems.append(
                f"the policy file {str(path)!r} cannot be read: {error.strerror or type(error).__name__}; correct `policy`"
            )
            return {}
        except ValueError as error:
            self.problems.append(f"the policy file {str(path)!r} is no TOML: {error}")
            return {}
        self.keys(found, KEYS, str(path), "a policy")
        return {key: value for key, value in found.items() if key in KEYS}

    def version(self, value: Any) -> None:
        if value not in (None, VERSION) or isinstance(value, bool):
            self.problems.append(f"the policy file has a version that this release cannot read; it reads version = {VERSION}")

    def policy(self, data: Mapping[str, Any], places: Mapping[str, str]) -> Policy:
        roles = self.roles(data.get("roles"), places.get("roles", ""))
        active = data.get("active_role")
        at = places.get("active_role", "")
        if active is not None and not isinstance(active, str):
            self.problems.append(f"{at}active_role must be a text")
            active = None
        elif active is not None and active not in roles:
            self.problems.append(f"{at}active_role: the policy has no role {active!r}; {nearest(active, roles)}")
            active = None
        identities = self.identities(data.get("identities"), roles, places.get("identities", ""))
        sequence = self.sequence(data.get("sequence"), places.get("sequence", ""))
        reach = self.capabilities(data.get("capabilities"), places.get("capabilities", ""))
        if self.problems:  # a digest is of rules that can be used
            return Policy()
        policy = RolePolicy(roles, active) if roles else None
        return Policy(policy, identities, sequence, reach, digest_of(roles, active, identities, sequence, reach))

    def roles(self, value: Any, at: str) -> dict[str, Role]:
        made = {}
        for name, table in self.table(value, f"{at}roles").items():
            where = f"{at}roles.{name}"
            if not name.strip():
                self.problems.append(f"{at}roles: the name of a role is blank; give it one")
                continue
            if isinstance(table, Role):
                made[name] = table
                continue
            if isinstance(table, Sequence) and not isinstance(table, str):  # the short form: the tools and nothing else
                table = {"tools": table}
            if not isinstance(table, Mapping):
                self.problems.append(f"{where} must be a table, or a list of tools")
                continue
            self.keys(table, [f.name for f in dataclasses.fields(Role)], where, "a role")
            lists = {key: self.patterns(table[key], f"{where}.{key}") for key in _LISTS if key in table}
            texts = {key: self.text(table[key], f"{where}.{key}") for key in ("reason", "tell_model") if key in table}
            reach = self.reach(table["capabilities"], f"{where}.capabilities") if "capabilities" in table else None
            made[name] = Role(**lists, **texts, capabilities=reach)  # type: ignore[arg-type]
        return made

    def identities(self, value: Any, roles: Mapping[str, Role], at: str) -> dict[str, str]:
        table = self.table(value, f"{at}identities")
        for number, role in enumerate(table.values(), 1):  # the principals are people: they are not named
            if not isinstance(role, str) or role not in roles:
                said = f"the policy has no role {role!r}; {nearest(role, roles)}" if isinstance(role, str) else "a role must be a text"
                self.problems.append(f"{at}identities, entry {number}: {said}")
        return dict(table)

    def capabilities(self, value: Any, at: str) -> dict[str, tuple[str, ...]]:
        table = self.table(value, f"{at}capabilities")
        for name in table:
            if not is_pattern(name):
                self.problems.append(f"{at}capabilities: {name!r} is no name of a tool; a star may stand at the end only")
        return {name: self.reach(listed, f"{at}capabilities.{name}") for name, listed in table.items()}

    def sequence(self, value: Any, at: str) -> tuple[SequenceRule, ...]:
        if value is None:
            return ()
        if not isinstance(value, Sequence) or isinstance(value, str):
            self.problems.append(f"{at}sequence must be a list of rules")
            return ()
        made = [rule if isinstance(rule, SequenceRule) else self.rule(rule, f"{at}sequence[{number}]") for number, rule in enumerate(value)]
        for number, rule in enumerate(made):
            if rule is not None:
                self.check_rule(rule, f"{at}sequence[{number}]")
        return tuple([rule for rule in made if rule is not None])

    def rule(self, table: Any, where: str) -> SequenceRule | None:
        kinds = [key for key in _SEQUENCE if isinstance(table, Mapping) and key in table]
        if len(kinds) != 1:
            self.problems.append(f"{where} must be a table with one of forbid (a list), at_most (a number) and only_after (a list)")
            return None
        kind, values = kinds[0], dict(table)
        first = values.pop(kind)
        accepted = [f.name for f in dataclasses.fields(_SEQUENCE[kind]) if f.name not in ("times", "after")]
        if kind == "forbid":
            accepted.remove("tools")
            values_ok: dict[str, Any] = {"tools": self.patterns(first, f"{where}.forbid")}
        else:
            values_ok = {"times": first} if kind == "at_most" else {"after": self.patterns(first, f"{where}.only_after")}
            values_ok["tool"] = values.get("tool")
        self.keys(values, accepted, where, f"a rule with {kind}")
        for key in accepted:
            if key in values and key != "tool":
                values_ok[key] = self.text(values[key], f"{where}.{key}") if key in _TEXTS else values[key]
        return _SEQUENCE[kind](**values_ok)  # type: ignore[no-any-return]

    def check_rule(self, rule: SequenceRule, where: str) -> None:
        for key, choices in _CHOICES.items():
            if getattr(rule, key) not in choices:
                self.problems.append(f"{where}.{key} is refused; {nearest(str(getattr(rule, key)), choices)}")
        for key in _TEXTS:
            self.text(getattr(rule, key), f"{where}.{key}")
        if isinstance(rule, Forbid):
            self.patterns(rule.tools, f"{where}.forbid", at_least=1)
            if not isinstance(rule.adjacent, bool):
                self.problems.append(f"{where}.adjacent must be true or false")
            return
        if not is_pattern(rule.tool):
            self.problems.append(f"{where}.tool must be a name, or the beginning of names with a star at the end")
        if isinstance(rule, OnlyAfter):
            self.patterns(rule.after, f"{where}.only_after", at_least=1)
        elif not isinstance(rule.times, int) or isinstance(rule.times, bool) or rule.times < 0:
            self.problems.append(f"{where}.at_most must be a whole number of calls, 0 or more")

    # --- parts ---

    def table(self, value: Any, where: str) -> Mapping[str, Any]:
        if value is None:
            return {}
        if isinstance(value, Mapping) and all(isinstance(key, str) for key in value):
            return value
        self.problems.append(f"{where} must be a table")
        return {}

    def keys(self, table: Mapping[str, Any], accepted: Sequence[str], where: str, what: str) -> None:
        wrong = [key for key in table if key not in accepted]
        self.problems += [f"{where} has {key!r}, which is no key of {what}; {nearest(str(key), accepted)}" for key in wrong]

    def patterns(self, value: Any, where: str, *, at_least: int = 0) -> tuple[str, ...]:
        if not isinstance(value, Sequence) or isinstance(value, str) or len(value) < at_least:
            self.problems.append(f"{where} must be a list of names")
            return ()
        wrong = [number for number, item in enumerate(value) if not is_pattern(item)]
        self.problems += [f"{where}[{number}] must be a name, or the beginning of names with a star at the end" for number in wrong]
        return tuple([item for item in value if is_pattern(item)])

    def reach(self, value: Any, where: str) -> tuple[str, ...]:
        found = self.patterns(value, where)
        self.problems += [
            f"{where}: there is no capability {item!r}; {nearest(item, DECLARABLE)}" for item in found if item not in DECLARABLE
        ]
        return tuple([item for item in found if item in DECLARABLE])

    def text(self, value: Any, where: str) -> str | None:
        if value is None or (isinstance(value, str) and value.strip()):
            return value
        self.problems.append(f"{where} must be a text that is not empty")
        return None


def digest_of(*parts: Any) -> str:
    """A digest of rules, the same for the same rules in every process.

    Args:
        *parts: dataclasses and plain JSON data.
    """

    def plain(value: Any) -> Any:
        return {"is": type(value).__name__, **dataclasses.asdict(value)}

    text = json.dumps(parts, default=plain, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
