"""Runs the blocks of one page, in order, in one namespace and one folder of its own."""

from __future__ import annotations

import ast
import contextlib
import doctest
import importlib
import inspect
import io
import os
import shlex
import subprocess
import sys
import tomllib
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import anyio

from agentfp import load_config
from agentfp.plugin import Plugin
from agentfp.testing import PluginDist
from agentfp_core.cli import main
from agentfp_core.entrypoints import installed
from tests.docs.blocks import Block, PageError

ALLOWED_SH = {
    "make demo": "the Makefile's; the tests of the examples run examples/demo.py",
    "make test": "runs this very test",
    "make docs": "its own test builds the site",
    "make lint": "checks the checkout, not a page",
    "make bench": "takes minutes",
    "make setup": "installs the checkout that this test runs in",
    "pip install agentfp-agentcore": "installs into the environment that this test runs in",
    "pip install agentfp-cloudwatch": "installs into the environment that this test runs in",
    "pip install agentfp-xray": "installs into the environment that this test runs in",
    "aws logs create-log-group --log-group-name /desk/agents": "needs the command line of AWS; the test makes the group by boto3",
    "pip install agentfp-console": "installs into the environment that this test runs in",
    'pip install "agentfp-otel[otlp]"': "installs into the environment that this test runs in",
    "pip install .": "installs into the environment that this test runs in",
    'pip install ".[testing]"': "installs into the environment that this test runs in",
}
"""Commands that no page's test runs, and why not. Everything else in a block of ``sh`` is run."""

PROVIDER = """
from agentfp.testing import ScriptedModel

def make(name, **settings):
    return ScriptedModel(lambda request: "It is not known.", provider="openai", name=name)
"""
"""Stands in for a vendor's provider, which is a distribution of its own: config files name one."""

PLUGIN = """
from agentfp.plugin import Plugin

class OfficeHours(Plugin):
    '''Tools that change something run in office hours only.'''
    name = "office_hours"

    class Settings(Plugin.Settings):
        opens: int = 9
        closes: int = 17
"""
"""Stands in for an installed plugin, on the pages that do not write it themselves."""


class PageRun:
    """One page at work.

    Args:
        page: its name.
        folder: an empty folder; the current one while the page runs.
    """

    def __init__(self, page: str, folder: Path) -> None:
        self.page = page
        self.folder = folder
        self.module = types.ModuleType(f"page_{page.removesuffix('.md').lower().replace('/', '_')}")
        self.printed = ""
        self._dists: contextlib.ExitStack = contextlib.ExitStack()
        self._kinds: dict[str, Callable[[Block], None]] = {
            "python": self._python,
            "toml": self._toml,
            "sh": self._sh,
            "text": self._text,
        }

    @contextlib.contextmanager
    def open(self) -> Iterator[PageRun]:
        """Make the place in which blocks run, and leave nothing of it behind."""
        path, modules, here, environ = list(sys.path), set(sys.modules), Path.cwd(), dict(os.environ)
        work = self.folder / "work"
        work.mkdir()
        sys.modules[self.module.__name__] = self.module
        for name in [name for name in os.environ if name.startswith("AGENTFP")]:
            del os.environ[name]
        try:
            with self._dists:
                dist = self._dists.enter_context(PluginDist(self.folder / "site"))
                if "openai" not in installed().group("agentfp.models"):
                    self._stand_in(dist, "openai", "agentfp.models", "make", PROVIDER)
                self._stand_in(dist, "office_hours", "agentfp.plugins", "OfficeHours", PLUGIN)
                self.dist = dist
                sys.path.insert(0, str(work))
                os.chdir(work)
                yield self
        finally:
            os.chdir(here)
            os.environ.clear()
            os.environ.update(environ)
            sys.path[:] = path
            for name in set(sys.modules) - modules:
                file = getattr(sys.modules[name], "__file__", None)
                if name == self.module.__name__ or (file is not None and self.folder in Path(file).parents):
                    del sys.modules[name]
            importlib.invalidate_caches()

    @staticmethod
    def _stand_in(dist: PluginDist, name: str, group: str, attribute: str, source: str) -> None:
        module = f"stand_in_{name}"
        dist(
            f"agentfp-{name.replace('_', '-')}",
            version="0.1.0",
            entry_points={group: {name: f"{module}:{attribute}"}},
            modules={module: source},
        )

    def run(self, block: Block) -> None:
        """Run one block.

        Raises:
            AssertionError: it does not do what the page says.
        """
        try:
            self._kinds[block.language](block)
        except AssertionError:
            raise
        except Exception as error:
            raise AssertionError(f"{block} raised {type(error).__name__}: {error}") from error

    # --- python ---

    def _python(self, block: Block) -> None:
        if "file" in block.marks:
            self._write(block)
            name = block.marks["file"]
            if Path(name).name.startswith("test_"):
                self._process(block, ["-m", "pytest", "-q", "-p", "no:cacheprovider", name])
            else:
                self._import(name.removesuffix(".py").replace("/", "."))
            return
        expected = block.marks.get("runs", "")
        out = io.StringIO()
        try:
            with contextlib.redirect_stdout(out):
                self._execute(block)
        except Exception as error:
            wanted = expected.removeprefix("expect-error").strip()
            if wanted not in {kind.__name__ for kind in type(error).__mro__}:
                raise
            self.printed = f"{out.getvalue()}{type(error).__name__}: {error}"
            return
        if expected:
            raise AssertionError(f"{block} should have raised {expected.removeprefix('expect-error').strip()}")
        self.printed = out.getvalue()

    def _execute(self, block: Block) -> None:
        source = "\n" * block.line + block.text  # so that tracebacks name the line of the page
        code = compile(source, block.page, "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
        if code.co_flags & inspect.CO_COROUTINE:
            function = types.FunctionType(code, self.module.__dict__)
            anyio.run(function, backend="asyncio")
        else:
            exec(code, self.module.__dict__)

    def _import(self, name: str) -> None:
        sys.modules.pop(name, None)
        importlib.invalidate_caches()
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            importlib.import_module(name)
        self.printed = out.getvalue()

    def _process(self, block: Block, arguments: list[str]) -> None:
        done = subprocess.run([sys.executable, *arguments], capture_output=True, text=True, check=False, timeout=120)
        if done.returncode != 0:
            raise AssertionError(f"{block}: {shlex.join(arguments)} ended with {done.returncode}\n{done.stdout}{done.stderr}")
        self.printed = done.stdout

    # --- files ---

    def _write(self, block: Block) -> Path:
        path = Path(block.marks.get("file") or block.marks["more"])
        if path.is_absolute() or ".." in path.parts:
            raise PageError(f"{block}: a page writes into its own folder only")
        path.parent.mkdir(parents=True, exist_ok=True)
        before = path.read_text(encoding="utf-8") if "more" in block.marks else ""
        path.write_text(before + block.text, encoding="utf-8")
        return path

    def _toml(self, block: Block) -> None:
        named = "file" in block.marks or "more" in block.marks
        path = self._write(block) if named else Path("of_the_page.toml")
        if not named:
            path.write_text(block.text, encoding="utf-8")
        data = tomllib.loads(path.read_text(encoding="utf-8"))
        if "project" in data:
            self._install(block, data["project"])
            if "agentfp" not in data.get("tool", {}):
                return
        checked = load_config(path).check()
        self.printed = "\n".join(map(str, checked.problems))
        if bool(checked.problems) != ("problems" in block.marks):
            raise AssertionError(
                f"{block}: the config loader finds {'these problems' if checked.problems else 'no problem'}\n{self.printed}"
            )

    def _install(self, block: Block, project: dict[str, Any]) -> None:
        """Install what the page describes: its entry points lead to modules that the page wrote."""
        groups = {group: names for group, names in project.get("entry-points", {}).items() if group.startswith("agentfp.")}
        self.dist(project["name"], version=project.get("version", "0"), entry_points=groups)
        for group, names in groups.items():
            for name, target in names.items():
                module, _, attribute = target.partition(":")
                found = getattr(importlib.import_module(module), attribute)
                if group == "agentfp.plugins" and not (issubclass(found, Plugin) and found.name == name):
                    raise AssertionError(f"{block}: {target} is no plugin of the name {name!r}")

    # --- commands ---

    def _sh(self, block: Block) -> None:
        lines = [words for line in block.text.splitlines() if (words := shlex.split(line, comments=True))]
        self.printed = ""
        for number, words in enumerate(lines, 1):
            wanted = int(block.marks.get("exit", "0")) if number == len(lines) else 0
            self._command(block, words, wanted)

    def _command(self, block: Block, words: list[str], wanted: int) -> None:
        variables = dict(word.split("=", 1) for word in words[:1] if "=" in word)
        program, *arguments = words[len(variables) :]
        if program == "python":
            printed = self.printed
            self._process(block, arguments)
            self.printed = printed + self.printed
            return
        if program != "agentfp":
            line = " ".join(f'"{word}"' if "[" in word else word for word in words)
            if line not in ALLOWED_SH:
                raise PageError(f"{block}: {line!r} is not run; put it on the list with the reason, or leave it out")
            return
        out, keyboard = io.StringIO(), sys.stdin
        before = dict(os.environ)
        os.environ.update(variables)
        sys.stdin = io.StringIO("")
        try:
            with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
                code = main(arguments)
        finally:
            sys.stdin = keyboard
            os.environ.clear()
            os.environ.update(before)
        self.printed += out.getvalue()
        if code != wanted:
            raise AssertionError(f"{block}: {shlex.join(words)} ended with {int(code)}, not {wanted}\n{out.getvalue()}")

    # --- what was printed ---

    def _text(self, block: Block) -> None:
        if "file" in block.marks:
            self._write(block)
            return
        if "output" not in block.marks:
            raise PageError(f"{block}: a block of text is the output of the block before it, with <!-- output --> over it")
        wanted, got = _lines(block.text), _lines(self.printed)
        if not doctest.OutputChecker().check_output(wanted, got, doctest.ELLIPSIS):
            raise AssertionError(f"{block} is not what was printed, which is\n{got}")


def _lines(text: str) -> str:
    return "\n".join(line.rstrip() for line in text.strip().splitlines()) + "\n"
