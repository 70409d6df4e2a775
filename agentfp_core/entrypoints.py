"""Entry points of installed distributions, found by their metadata without importing anything.

The scan reads one small file of each distribution, and the rest of the metadata only of those that have something for us.
"""

from __future__ import annotations

import importlib.metadata
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from agentfp_core.errors import PluginLoadError

PREFIX = "agentfp."
PLUGINS_GROUP = "agentfp.plugins"
"""An entry point is a subclass of ``Plugin``; its name is the class's ``name``."""
MODELS_GROUP = "agentfp.models"
"""An entry point is a callable ``(model_name: str, **settings) -> Model``; its name is the provider's."""
TRANSCRIPTS_GROUP = "agentfp.transcripts"
"""Readers of other frameworks' transcripts."""
FILES_GROUP = "agentfp.transcript_files"
"""Callables of a list of paths that give the transcripts in them, and of whatever else an object whose text says what is wrong with it."""
JUDGES_GROUP = "agentfp.judges"
"""Judges of transcripts: callables ``(**settings) -> TranscriptJudge``."""
COMMANDS_GROUP = "agentfp.commands"
"""Commands of the command line."""
TOOLS_GROUP = "agentfp.tools"
"""An entry point is a callable of the text after ``NAME:`` in a file's ``tools`` that gives a tool or several."""

PATTERN = importlib.metadata.EntryPoint.pattern
"""What the value of an entry point must look like."""
_HEADER = re.compile(r"^(Name|Version):(.*)$", re.MULTILINE | re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry point, not imported.

    Args:
        group: for example ``agentfp.plugins``.
        name: its name in the group.
        value: ``module:attribute``.
        distribution: name of the distribution that brings it.
        version: the distribution's version.
    """

    group: str
    name: str
    value: str
    distribution: str
    version: str
    _point: importlib.metadata.EntryPoint = field(repr=False, compare=False)

    def load(self) -> Any:
        """Import it; whatever the module raises comes through. ``load`` guards against that."""
        return self._point.load()

    @property
    def origin(self) -> str:
        """The distribution and its version, as messages name them."""
        return f"{self.distribution} {self.version}"


@dataclass(frozen=True, slots=True)
class Installed:
    """What is installed.

    Args:
        entries: by group and name, in the order of ``sys.path``; several of one name when distributions are at odds.
        unreadable: problems of distributions whose metadata cannot be read.
    """

    entries: Mapping[str, Mapping[str, tuple[Entry, ...]]]
    unreadable: tuple[str, ...] = ()

    def group(self, group: str) -> Mapping[str, tuple[Entry, ...]]:
        """The entries of a group by name."""
        return self.entries.get(group, {})


def installed(group: str | None = None) -> Installed:
    """What is installed now, looked up anew: what pip installs while a program runs is there at the next call.

    Args:
        group: look at distributions that have entry points of this group only; all groups of the library when None.
    """
    sign = PREFIX if group is None else f"[{group}]"
    found: dict[str, dict[str, list[Entry]]] = {}
    unreadable: list[str] = []
    seen: set[str] = set()
    for distribution in importlib.metadata.distributions():
        try:
            entries = _entries(distribution, seen, sign)
        except Exception as error:  # one broken folder must not hide the other distributions
            unreadable.append(f"the metadata of {_folder(distribution)} cannot be read: {type(error).__name__}: {error}")
            continue
        for entry in entries:
            found.setdefault(entry.group, {}).setdefault(entry.name, []).append(entry)
    frozen = {group: {name: tuple(entries) for name, entries in names.items()} for group, names in found.items()}
    return Installed(frozen, tuple(unreadable))


def find(group: str) -> dict[str, Entry]:
    """Entry points of a group by name; of two with one name the first found.

    Args:
        group: for example ``agentfp.models``.
    """
    return {name: entries[0] for name, entries in installed().group(group).items()}


def load(entry: Entry) -> Any:
    """Import an entry point. Whatever its module does, what comes out is the object or one error.

    Args:
        entry: of any group.

    Raises:
        PluginLoadError: it cannot be imported; names distribution, version and cause, which is chained.
    """
    if PATTERN.fullmatch(entry.value) is None:
        raise PluginLoadError(f"{entry.value!r} of {entry.origin} is no import path module:attribute", entry=entry)
    try:
        return entry.load()
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # a module may raise anything, call sys.exit, or skip itself as a test does
        said = " ".join(str(error).split())
        cause = type(error).__name__ + (f": {said}" if said else "")
        raise PluginLoadError(f"{entry.value!r} of {entry.origin} cannot be imported: {cause}", entry=entry) from error


def the_one(name: str, entries: Sequence[Entry]) -> Entry:
    """The only entry of a name.

    Raises:
        PluginLoadError: several distributions bring it; names them.
    """
    if len(entries) > 1:
        raise PluginLoadError(f"{at_odds(name, entries)}; uninstall all but one", entry=entries[0])
    return entries[0]


def at_odds(name: str, entries: Sequence[Entry]) -> str:
    """Words for a name that several distributions bring."""
    return f"{len(entries)} distributions bring {name!r}: " + " and ".join(sorted(f"{e.origin} ({e.value})" for e in entries))


def _entries(distribution: importlib.metadata.Distribution, seen: set[str], sign: str) -> list[Entry]:
    """Our entry points of a distribution; none when another installation of it comes first on the path."""
    text = distribution.read_text("entry_points.txt")
    if text is None or sign not in text:
        return []
    name, version = _name_and_version(distribution)
    normal = re.sub(r"[-_.]+", "-", name).lower()
    if normal in seen or importlib.metadata.distribution(name).read_text("entry_points.txt") != text:
        return []
    seen.add(normal)
    return [Entry(p.group, p.name, p.value, name, version, p) for p in distribution.entry_points if p.group.startswith(PREFIX)]


def _name_and_version(distribution: importlib.metadata.Distribution) -> tuple[str, str]:
    """Of the metadata its head only: below it stands the whole README, which takes long to parse."""
    head = (distribution.read_text("METADATA") or distribution.read_text("PKG-INFO") or "").split("\n\n", 1)[0]
    found = {match[1].lower(): match[2].strip() for match in _HEADER.finditer(head)}
    return found["name"], found["version"]


def _folder(distribution: importlib.metadata.Distribution) -> str:
    return str(getattr(distribution, "_path", distribution.locate_file("")))
