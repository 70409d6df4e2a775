"""The agents of a file: where their tables stand, whom they extend, and the one table that comes of it."""

from __future__ import annotations

from collections.abc import Callable

from agentfp_core.config.layers import Tree
from agentfp_core.config.origin import Origin, Problem
from agentfp_core.config.positions import Path
from agentfp_core.config.shapes import table_name
from agentfp_core.errors import nearest

MAIN = "agent"
"""The name of the agent in the table ``[agent]``."""
OWN = ("name", "extends")
"""What an agent does not take from the one it extends."""


def agent_tables(tree: Tree) -> dict[str, Path]:
    """Where the table of each agent stands, the main one first."""
    found: dict[str, Path] = {}
    if isinstance(tree.get((MAIN,)), dict):
        found[MAIN] = (MAIN,)
    named = tree.get(("agents",))
    tables = named if isinstance(named, dict) else {}
    return found | {name: ("agents", name) for name, table in tables.items() if name != MAIN and isinstance(table, dict)}


def lineage(tree: Tree, name: str) -> list[str]:
    """An agent, the one it extends, and so on; a circle ends with the name that comes again."""
    tables = agent_tables(tree)
    chain = [name]
    while True:
        base = tree.get((*tables[chain[-1]], "extends"))
        if not isinstance(base, str) or base not in tables:
            return chain
        if base in chain:
            return [*chain, base]
        chain.append(base)


def extends_problems(tree: Tree) -> list[Problem]:
    """What is wrong with who extends whom."""
    tables = agent_tables(tree)
    problems = []
    if tree.get(("agents", MAIN)) is not None:
        problems.append(
            Problem(tree.origin(("agents", MAIN)), f"[agents.{MAIN}] would be the same as [{MAIN}]; give the agent another name")
        )
    for name, path in tables.items():
        base = tree.get((*path, "extends"))
        origin = tree.origin((*path, "extends"))
        if isinstance(base, str) and base not in tables:
            problems.append(Problem(origin, f"{table_name(path)} extends {base!r}, which is no agent here; {nearest(base, tables)}"))
        chain = lineage(tree, name)
        if chain[-1] == name == min(chain) and len(chain) > 1:
            problems.append(Problem(origin, f"agents extend each other in a circle: {' -> '.join(chain)}; take one extends out"))
    return problems


def effective(tree: Tree, name: str) -> tuple[Tree, Path]:
    """The table of an agent with what it takes from those it extends, and where it stands in the tree."""
    tables = agent_tables(tree)
    path = tables[name]
    made = Tree()
    chain = list(dict.fromkeys(lineage(tree, name)))
    for ancestor in reversed(chain):
        source = tables[ancestor]
        origin_of = _moved(tree, source, len(path))
        for key, value in tree.get(source).items():
            if ancestor == name or key not in OWN:
                made.put((*path, key), value, origin_of)
        made.tainted |= {(*path, *p[len(source) :]) for p in tree.tainted if p[: len(source)] == source}
    if made.get(path) is None:
        made.put(path, {}, tree.origin)
    made.origins[path] = tree.origin(path)
    return made, path


def _moved(tree: Tree, source: Path, depth: int) -> Callable[[Path], Origin]:
    """Where values came from that stand in a table now which begins `depth` names below the root."""
    return lambda path: tree.origin((*source, *path[depth:]))


def source_of(tree: Tree, made: Tree, name: str, path: Path) -> Path:
    """Where a value of an agent's effective table stands in the file: in its own table, or in one that it extends."""
    tables = agent_tables(tree)
    depth = len(tables[name])
    for ancestor in dict.fromkeys(lineage(tree, name)):
        source = (*tables[ancestor], *path[depth:])
        if tree.get(source) is not None and tree.origin(source) == made.origin(path):
            return source
    return path
