"""Distributions for tests: written to a folder with real metadata, found by entry points, gone afterwards."""

from __future__ import annotations

import importlib
import importlib.metadata
import re
import sys
import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any


class PluginDist:
    """Installs small distributions under a folder that is on ``sys.path`` for as long as this object is open.

    Discovery sees them as it sees what pip installed: a ``.dist-info`` with metadata and entry points, and modules that may be broken::

        plugin_dist(
            "agentfp-shout",
            entry_points={"agentfp.plugins": {"shout": "shout_plugin:Shout"}},
            modules={"shout_plugin": "raise RuntimeError('broken while it is imported')"},
        )

    Args:
        folder: where to write; it must be empty.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._path = str(folder)
        folder.mkdir(parents=True, exist_ok=True)
        sys.path.insert(0, self._path)
        _forget_paths()

    def __call__(
        self,
        name: str,
        *,
        entry_points: Mapping[str, Mapping[str, str]] | None = None,
        modules: Mapping[str, str] | None = None,
        version: str = "1.0",
        requires: Sequence[str] = (),
    ) -> Path:
        """Install a distribution; one of that name and version before is replaced.

        Args:
            name: its name, as pip shows it.
            entry_points: by group, the target of each name: ``{"agentfp.models": {"mine": "mine_models:make"}}``.
            modules: the source of each module, by dotted name; the packages above it are made.
            version: its version.
            requires: what it requires, as requirement lines.

        Returns:
            The ``.dist-info`` folder.
        """
        info = self.folder / f"{re.sub(r'[-_.]+', '_', name)}-{version}.dist-info"
        files = {
            info / "METADATA": _metadata(name, version, requires),
            info / "entry_points.txt": _ini(entry_points or {}),
            info / "INSTALLER": "agentfp.testing\n",
        }
        for module, source in (modules or {}).items():
            files |= self._module(module, source)
        for path, text in files.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        rows = [f"{path.relative_to(self.folder).as_posix()},,\n" for path in [*files, info / "RECORD"]]
        (info / "RECORD").write_text("".join(rows), encoding="utf-8")
        self._forget_modules()
        _forget_paths()
        return info

    def _module(self, name: str, source: str) -> dict[Path, str]:
        *packages, last = name.split(".")
        files: dict[Path, str] = {}
        at = self.folder
        for package in packages:
            at = at / package
            if not (at / "__init__.py").exists():
                files[at / "__init__.py"] = ""
        return {**files, at / f"{last}.py": textwrap.dedent(source)}

    def close(self) -> None:
        """Take the folder off ``sys.path`` and forget every module that was imported from it."""
        while self._path in sys.path:
            sys.path.remove(self._path)
        self._forget_modules()
        _forget_paths()

    def _forget_modules(self) -> None:
        for name, module in list(sys.modules.items()):
            if _stands_under(module, self.folder):
                del sys.modules[name]

    def __enter__(self) -> PluginDist:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _stands_under(module: Any, folder: Path) -> bool:
    file = getattr(module, "__file__", None)
    return isinstance(file, str) and folder in Path(file).parents


def _forget_paths() -> None:
    """Finders keep what they saw of a folder; a file written within the clock's grain would stay unseen."""
    importlib.invalidate_caches()
    finder: Any = importlib.metadata.MetadataPathFinder()
    finder.invalidate_caches()


def _metadata(name: str, version: str, requires: Sequence[str]) -> str:
    lines = ["Metadata-Version: 2.1", f"Name: {name}", f"Version: {version}", "Summary: Made for a test."]
    return "\n".join([*lines, *[f"Requires-Dist: {line}" for line in requires], ""])


def _ini(entry_points: Mapping[str, Mapping[str, str]]) -> str:
    groups = [f"[{group}]\n" + "".join(f"{name} = {target}\n" for name, target in names.items()) for group, names in entry_points.items()]
    return "\n".join(groups)
