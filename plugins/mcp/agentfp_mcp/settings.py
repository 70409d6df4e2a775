"""Where a server is and how far it is trusted: the checked arguments of ``mcp()``; secrets stay out of every text made of them."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any, Literal, TypeAlias
from urllib.parse import urlsplit

from agentfp import ConfigError
from agentfp.plugin import nearest

if TYPE_CHECKING:
    import httpx2

    from agentfp_mcp.eliciting import Elicitation

Era: TypeAlias = Literal["auto", "2026-07-28", "2025-11-25"]
OnChange: TypeAlias = Literal["refuse", "ask", "accept"]
Filter: TypeAlias = "Sequence[str] | Callable[[str], bool]"
Vend: TypeAlias = Callable[[], "Mapping[str, str] | Awaitable[Mapping[str, str]]"]
Elicit: TypeAlias = "Callable[[Elicitation], Mapping[str, Any] | Awaitable[Mapping[str, Any] | None] | None]"

TOOL_OPTIONS = ("approval", "mutating", "idempotent", "timeout", "result_ceiling", "repeated_when", "metadata")
"""What ``options`` may say of one tool."""
_LAUNCHERS = frozenset({"uvx", "npx", "uv", "pnpm", "bunx", "pipx", "node", "python", "python3", "deno", "docker", "podman", "env"})
_SECRET = re.compile(r"KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIAL|AUTH|COOKIE", re.IGNORECASE)
_NAME = re.compile(r"[A-Za-z0-9_.@/-]{1,64}")


@dataclass(frozen=True, kw_only=True)
class Settings:
    """The arguments of :func:`agentfp_mcp.mcp`, which describes them."""

    command: str | None = None
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict, repr=False)
    cwd: str | Path | None = None
    stderr: str | Path = "ignore"
    url: str | None = field(default=None, repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    auth: httpx2.Auth | Vend | None = field(default=None, repr=False)
    name: str = ""
    prefix: str = ""
    filter: Filter | None = None
    approval: bool | Callable[..., Any] = False
    mutating: bool | None = None
    options: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    on_change: OnChange = "refuse"
    pins: str | Path | None = None
    resources: bool = False
    elicit: Elicit | None = None
    era: Era = "auto"
    timeout: float = 120.0
    start_timeout: float = 30.0
    retry_on_throttle: bool = True
    max_result_chars: int = 200_000
    max_message_bytes: int = 16 * 1024 * 1024
    max_tools: int = 500

    def __post_init__(self) -> None:
        """Check everything, and name the server where nobody did.

        Raises:
            ConfigError: with all problems.
        """
        problems = [*self._where(), *self._how()]
        if not self.name and not problems:
            object.__setattr__(self, "name", _name_of(self))
        if self.name and not _NAME.fullmatch(self.name):
            problems.append(f"name takes 1 to 64 letters, digits and _ . - @ /, got {self.name!r}")
        if problems:
            raise ConfigError([f"mcp: {problem}" for problem in problems])

    def _where(self) -> list[str]:
        problems: list[str] = []
        if (self.command is None) == (self.url is None):
            problems.append("pass command= (a server to start) or url= (a server that runs), one of them")
        if self.command is not None:
            wrong = [name for name in ("headers", "auth") if getattr(self, name)]
            problems += [f"{name} is for url=; a server that is started gets env=" for name in wrong]
            if not isinstance(self.command, str) or not self.command.strip():
                problems.append("command takes the name or path of a program")
            if isinstance(self.args, str) or not all(isinstance(arg, str) for arg in self.args):
                problems.append('args takes a list of texts, such as ["--verbose"]')
        if self.url is not None:
            wrong = [name for name in ("args", "env", "cwd") if getattr(self, name)]
            problems += [f"{name} is for command=; a server that runs gets headers= or auth=" for name in wrong]
            problems += _url_problems(self.url)
        for name in ("env", "headers"):
            mapping = getattr(self, name)
            if not isinstance(mapping, Mapping) or not all(isinstance(k, str) and isinstance(v, str) for k, v in mapping.items()):
                problems.append(f"{name} takes a mapping of text to text; values are read where it is made, e.g. os.environ['TOKEN']")
            elif any("\n" in v or "\r" in v or "\0" in v for v in mapping.values()) and name == "headers":
                problems.append("a value of headers holds a line break; strip it")
        return problems

    def _how(self) -> list[str]:
        problems: list[str] = []
        for name in ("timeout", "start_timeout"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value < math.inf:
                problems.append(f"{name} takes seconds above 0, got {value!r}")
        for name in ("max_result_chars", "max_message_bytes", "max_tools"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                problems.append(f"{name} takes a whole number from 1, got {value!r}")
        if self.on_change not in ("refuse", "ask", "accept"):
            problems.append(f"on_change is 'refuse', 'ask' or 'accept', got {self.on_change!r}")
        if self.era not in ("auto", "2026-07-28", "2025-11-25"):
            problems.append(f"era is 'auto', '2026-07-28' or '2025-11-25', got {self.era!r}")
        if not isinstance(self.prefix, str) or not re.fullmatch(r"[A-Za-z0-9_-]{0,32}", self.prefix):
            problems.append(f"prefix takes up to 32 letters, digits, '_' and '-', got {self.prefix!r}")
        if isinstance(self.filter, str):
            problems.append(f"filter takes a list of patterns or a function of the name, got a text; write [{self.filter!r}]")
        for tool, options in self.options.items():
            problems += [
                f"options of {tool!r}: there is no {key!r}; {nearest(key, TOOL_OPTIONS)}" for key in options if key not in TOOL_OPTIONS
            ]
        return problems

    @property
    def place(self) -> str:
        """The server as messages name it: its command, or its address without anything that may be secret."""
        if self.command is not None:
            return PurePath(self.command).name
        parts = urlsplit(self.url or "")
        return f"{parts.scheme}://{parts.netloc}{parts.path}"

    @property
    def secrets(self) -> frozenset[str]:
        """Values that must show nowhere."""
        found = {value for key, value in self.env.items() if _SECRET.search(key)}
        found |= {part for value in self.headers.values() for part in (value, value.partition(" ")[2])}
        if self.url is not None:
            found |= {pair.partition("=")[2] for pair in urlsplit(self.url).query.split("&")}
        return frozenset(value for value in found if len(value) >= 8)

    def scrubbed(self, text: str) -> str:
        """A server's words without the secrets that were given to it."""
        for secret in sorted(self.secrets, key=len, reverse=True):
            text = text.replace(secret, "***")
        return text

    def lets_in(self, tool: str) -> bool:
        """Whether a tool, by the server's own name of it, is wanted."""
        if self.filter is None:
            return True
        if callable(self.filter):
            return bool(self.filter(tool))
        return any(fnmatchcase(tool, pattern) for pattern in self.filter)


def _url_problems(url: Any) -> list[str]:
    try:
        parts = urlsplit(url)
        parts.port  # noqa: B018 - reading it checks it
    except (TypeError, ValueError, AttributeError):
        return ["url cannot be read; write http://host/path or https://host/path"]
    if parts.scheme not in ("http", "https") or not parts.hostname:
        return ["url takes an address such as https://host/mcp"]
    if parts.username or parts.password:
        return ["url must not hold a user and a password; put them into headers= or auth="]
    return []


def _name_of(settings: Settings) -> str:
    if settings.url is not None:
        return re.sub(r"[^A-Za-z0-9_.-]", "_", urlsplit(settings.url).hostname or "mcp")[:64]
    words = [os.fspath(settings.command or ""), *settings.args]
    if PurePath(words[0]).name.removesuffix(".exe") in _LAUNCHERS:
        words = [word for word in words[1:] if not word.startswith("-") and word not in ("run", "exec", "tool", "dlx")] or words[:1]
    name = PurePath(words[0].split("==")[0]).name.removesuffix(".py").removesuffix(".js") or "mcp"
    return re.sub(r"[^A-Za-z0-9_.-]", "_", name.split("@")[0] or name)[:64]
