"""The places of keys, tables and items in a TOML text."""

from __future__ import annotations

import tomllib
from typing import Any

import pytest
import tomlkit
from hypothesis import given
from hypothesis import strategies as st

from agentfp_core.config.positions import Path, positions

TRICKY = '''
# a comment with [brackets] = "quotes"
version = 1
a.b."c.d" = {x = [1, 2, {y = """q"" ]
"""}], 'z w'.k = 1} # [no]
long = """
[not.a.table]
x = "\\""""
raw = \'\'\'it's ''[x]\'\'\'
when = 1979-05-27 07:32:00
[[arr]]
q = 1
  [[arr.sub]]
  w = [
    "a", # ]
    'b]',  [ ],
  ]
[arr.sub.t]
[[arr]]
q = -inf
["x y".'z"']
deep."er\\u0061" = true
'''


def paths(value: Any, path: Path = ()) -> list[Path]:
    found = [path] if path else []
    for key, item in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        found += paths(item, (*path, key))
    return found


def check(text: str) -> None:
    """Each value has a place; at a key's place its name stands, or the header of its table."""
    found = positions(text)
    lines = text.split("\n")
    data = tomllib.loads(text)
    assert set(found) == set(paths(data))
    for path, (line, column) in found.items():
        rest = lines[line - 1][column - 1 :]
        name = path[-1]
        if isinstance(name, str):
            assert rest.startswith("[") or any(rest.startswith(f"{q}{name}"[:2]) for q in ("", '"', "'"))


def test_every_form_of_toml_is_walked() -> None:
    check(TRICKY)
    found = positions(TRICKY)
    assert found["version",] == (3, 1)
    assert found["a", "b", "c.d", "x", 2] == (4, 25)
    assert found["a", "b", "c.d", "z w", "k"] == (5, 14)
    assert found["when",] == (10, 1)
    assert found["arr", 0, "sub", 0, "w", 1] == (16, 5)
    assert found["arr", 0, "sub", 0, "t"] == (18, 1)
    assert found["arr", 1, "q"] == (20, 1)
    assert found["x y", 'z"', "deep", "era"] == (22, 6)


def test_a_table_stands_at_its_own_header() -> None:
    assert positions("[a.b]\nx = 1\n[a]\ny = 2\n")["a",] == (3, 1)


@pytest.mark.parametrize("text", ["", "\n", "# only", "a=1", "[a]"])
def test_small_texts(text: str) -> None:
    check(text)


names = st.text("abz_-. \"'#=[]é\\", min_size=1, max_size=6)
scalars = st.one_of(st.integers(-9, 10**6), st.booleans(), st.text(max_size=12), st.floats(allow_nan=False, allow_infinity=False))
values: st.SearchStrategy[Any] = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=3), max_leaves=12
)


@given(st.dictionaries(names, values, max_size=5))
def test_every_value_of_any_file_has_a_place(data: dict[str, Any]) -> None:
    text = tomlkit.dumps(data)
    assert set(positions(text)) == set(paths(tomllib.loads(text)))
