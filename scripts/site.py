"""Builds the guide as a site: `python -m scripts.site [--out DIR]`. A link that leads nowhere is an error.

Pages keep the places that they have in the tree, so that links between them hold on the site as they do in the checkout. Besides the guide
there are the READMEs of all distributions and examples, and the reference: a page for each public module, made of its docstrings.
"""

from __future__ import annotations

import argparse
import inspect
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from importlib import import_module
from pathlib import Path

from scripts.workshop import ROOT, distributions, pyproject

BUILD = ROOT / "build" / "site"
ROLE = re.compile(r":(?:attr|class|func|meth|mod):(?=<code>|<a )")
"""Roles of reStructuredText before a name; editors show them as they are, a page needs the name alone."""


def modules() -> list[str]:
    """All public modules: those of the library, then the package of each distribution."""
    own = [f"agentfp.{path.stem}" for path in sorted((ROOT / "agentfp").glob("*.py")) if not path.stem.startswith("_")]
    return ["agentfp", *own, *(pyproject(folder)["tool"]["uv"]["build-backend"]["module-name"] for folder in distributions()[1:])]


def home_of(module: str, name: str) -> str:
    """Where the source of a public name is."""
    thing = getattr(import_module(module), name)
    if (inspect.isclass(thing) or inspect.isfunction(thing)) and thing.__module__.startswith("agentfp"):
        return f"{thing.__module__}.{thing.__qualname__}"
    return f"{module}.{name}"


def reference(module: str) -> str:
    """The page of a module."""
    package = import_module(module)
    parts = [f"# {module}", inspect.getdoc(package) or ""]
    for name in sorted(package.__all__, key=str.lower):
        home = home_of(module, name)
        if home == f"{module}.{name}":
            kind = type(getattr(package, name)).__name__.strip("_")
            parts.append(f"## {name}\n\nA {kind}, for annotations or as a constant.")
        else:
            parts.append(f"::: {home}\n    options:\n      heading: {name}\n      toc_label: {name}")
    return "\n\n".join(parts) + "\n"


def lay_out(pages: Path) -> tuple[list[str], list[str], list[str]]:
    """Copy and write the pages; gives those of distributions, of examples and of the reference."""
    shutil.copytree(ROOT / "docs", pages / "docs")
    for name in ("README.md", "LICENSE", "CHANGELOG.md"):
        shutil.copy(ROOT / name, pages / name)
    found = [path / "README.md" for path in distributions()[1:]]
    examples = sorted((ROOT / "examples").glob("*/README.md"))
    for path in (*found, *examples):
        target = pages / path.relative_to(ROOT)
        target.parent.mkdir(parents=True)
        shutil.copy(path, target)
    (pages / "reference").mkdir()
    for module in modules():
        (pages / "reference" / f"{module}.md").write_text(reference(module), encoding="utf-8")
    relative = [[path.relative_to(ROOT).as_posix() for path in paths] for paths in (found, examples)]
    return relative[0], relative[1], [f"reference/{module}.md" for module in modules()]


def configure(build: Path, readmes: list[str], examples: list[str], references: list[str]) -> None:
    """The settings of the site, with what is known only now."""

    def entry(title: str, paths: list[str], name: str | None = None) -> str:
        rows = [f'{{ "{Path(path).parent.name if name is None else Path(path).stem}" = "{path}" }}' for path in paths]
        return f'  {{ "{title}" = [{", ".join(rows)}] }},'

    generated = [entry("Distributions", readmes), entry("Examples", examples), entry("Reference", references, "stem")]
    paths = [str(folder) for folder in distributions()]
    text = (ROOT / "zensical.toml").read_text(encoding="utf-8")
    text = text.replace("  # GENERATED", "\n".join(generated)).replace("[] # PATHS", json.dumps(paths))
    (build / "zensical.toml").write_text(text, encoding="utf-8")


def build_site(build: Path) -> bool:
    """Run the generator; its report is printed where something is wrong."""
    command = [sys.executable, "-m", "zensical", "build", "--strict", "--clean", "--config-file", str(build / "zensical.toml")]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=build)
    if done.returncode:
        print(re.sub(r"\x1b\[[0-9;]*m", "", done.stdout + done.stderr).partition("Traceback")[0], file=sys.stderr)
    return done.returncode == 0


def link_terms(page: str, glossary: Mapping[str, str]) -> str:
    """Lead from the docstrings of a page of the reference to the glossary: each term where it first stands in running text.

    Args:
        page: its HTML.
        glossary: addresses by term, in lower case.
    """
    left = dict(glossary)
    pattern = re.compile(rf"\b({'|'.join(sorted(map(re.escape, glossary), key=len, reverse=True))})(s?)\b", re.IGNORECASE)

    def linked(found: re.Match[str]) -> str:
        address = left.pop(found[1].lower(), None)
        return found[0] if address is None else f'<a href="{address}">{found[0]}</a>'

    def paragraph(found: re.Match[str]) -> str:
        parts = re.split(r"(<(?:a|code)\b.*?</(?:a|code)>|<[^>]+>)", found[0], flags=re.DOTALL)
        return "".join(part if part.startswith("<") else pattern.sub(linked, part) for part in parts)

    return re.sub(r"<p>.*?</p>", paragraph, page, flags=re.DOTALL)


def glossary_of(site: Path) -> dict[str, str]:
    """Terms of the glossary, and where they stand, seen from a page of the reference."""
    page = (site / "docs" / "glossary" / "index.html").read_text(encoding="utf-8")
    heads = re.findall(r'<h2 id="([^"]+)">([^<]+)<', page)
    return {term: f"../../docs/glossary/#{anchor}" for anchor, title in heads for term in title.lower().split(", ")}


def finish(site: Path) -> None:
    """What the generator does not do: names without their roles, and terms with their links."""
    glossary = glossary_of(site)
    for path in pages_of(site):
        page = ROLE.sub("", path.read_text(encoding="utf-8"))
        if path.is_relative_to(site / "reference"):
            page = link_terms(page, glossary)
        path.write_text(page, encoding="utf-8")


def pages_of(site: Path) -> Iterator[Path]:
    """The pages that were made."""
    return site.rglob("*.html")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m scripts.site", description=__doc__)
    parser.add_argument("--out", type=Path, default=ROOT / "site", help="where the site goes")
    given = parser.parse_args()
    shutil.rmtree(BUILD, ignore_errors=True)
    (BUILD / "pages").mkdir(parents=True)
    configure(BUILD, *lay_out(BUILD / "pages"))
    if not build_site(BUILD):
        sys.exit(1)
    finish(BUILD / "out")
    shutil.rmtree(given.out, ignore_errors=True)
    shutil.move(BUILD / "out", given.out)
    print(f"{sum(1 for _ in pages_of(given.out))} pages in {given.out}")


if __name__ == "__main__":
    main()
