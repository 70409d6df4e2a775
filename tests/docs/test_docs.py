"""Every block of code in the README and the guide runs, in order, and does what the page says."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from tests.docs.blocks import Block, PageError, blocks_of, pages
from tests.docs.runner import PageRun

ROOT = Path(__file__).resolve().parents[2]
PAGES = pages(ROOT)


def _name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


SISTERS = "<!-- with the sister distributions -->"
"""A page with this sign is run where they are seen; all others where the kernel is alone."""


REAL_MODEL = "<!-- with the model of this machine -->"
"""A page with this sign asks a real model."""
SIGNS = {SISTERS: pytest.mark.with_sisters, REAL_MODEL: pytest.mark.real_model}


def _sees(path: Path) -> Any:
    text = path.read_text(encoding="utf-8")
    return pytest.param(path, id=_name(path), marks=[mark for sign, mark in SIGNS.items() if sign in text])


@pytest.mark.parametrize("path", [_sees(path) for path in PAGES])
def test_the_blocks_of_a_page_run(path: Path, tmp_path: Path) -> None:
    page = PageRun(path.name, tmp_path)
    with page.open():
        text = path.read_text(encoding="utf-8").replace(SISTERS, "").replace(REAL_MODEL, "")
        for block in blocks_of(_name(path), text):
            page.run(block)


@pytest.mark.parametrize("path", PAGES, ids=_name)
def test_links_lead_somewhere(path: Path) -> None:
    broken = []
    text = re.sub(r"```.*?```", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if target.startswith(("http:", "https:", "mailto:")):
            continue
        file, _, anchor = target.partition("#")
        there = (path.parent / file).resolve() if file else path
        if not there.exists() or (anchor and anchor not in _anchors(there)):
            broken.append(target)
    assert not broken


def _anchors(path: Path) -> set[str]:
    heads = re.findall(r"^#+ (.+)$", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", head.replace("`", "").lower()).replace(" ", "-") for head in heads}


def test_every_page_is_in_the_index() -> None:
    index = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    missing = [path.name for path in PAGES[1:] if path.name != "index.md" and f"({path.name})" not in index]
    assert not missing


def test_the_readme_stays_short() -> None:
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) < 200


# --- the runner itself: it must fail where a page is wrong ------------------------------------------------------------------


def _run(text: str, folder: Path) -> None:
    page = PageRun("made.md", folder)
    with page.open():
        for block in blocks_of("made.md", text):
            page.run(block)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("```python\nprint(1)\n```\n<!-- output -->\n```text\n2\n```\n", "is not what was printed"),
        ("```python\n1 / 0\n```\n", "raised ZeroDivisionError"),
        ("<!-- runs: expect-error ValueError -->\n```python\n1 / 0\n```\n", "raised ZeroDivisionError"),
        ("<!-- runs: expect-error ValueError -->\n```python\npass\n```\n", "should have raised ValueError"),
        ("```python\nassert False, 'no'\n```\n", "no"),
        ("```text\nfree words\n```\n", "with <!-- output --> over it"),
        ("```sh\ncurl example.org\n```\n", "is not run"),
        ("```sh\nagentfp nothing-of-that-name\n```\n", "ended with 2"),
        ("```toml\nversion = 1\n[agent]\nmodul = 'x'\n```\n", "did you mean 'model'"),
        ("<!-- problems -->\n```toml\nversion = 1\n[agent]\nmodel = 'openai:x'\n```\n", "finds no problem"),
        ("<!-- file: test_it.py -->\n```python\ndef test_it():\n    assert False\n```\n", "ended with 1"),
    ],
)
def test_a_block_that_does_not_do_what_the_page_says_is_found(text: str, says: str, tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match=re.escape(says)):
        _run(text, tmp_path)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("```javascript\n1\n```\n", "a block is one of"),
        ("```\n1\n```\n", "a block is one of"),
        ("  ```python\n  1\n  ```\n", "must begin its line"),
        ("~~~python\n1\n~~~\n", "must begin its line"),
        ("```python\n1\n", "left open"),
        ("<!-- skip -->\n```python\n1\n```\n", "there is no mark 'skip'"),
        ("<!-- output -->\nwords\n", "neither a block nor a table"),
    ],
)
def test_nothing_that_looks_like_a_block_is_passed_over(text: str, says: str) -> None:
    with pytest.raises(PageError, match=re.escape(says)):
        blocks_of("made.md", text)


def test_blocks_share_a_namespace_and_may_await(tmp_path: Path) -> None:
    text = "```python\na = 1\n```\n```python\nimport anyio\nawait anyio.sleep(0)\nprint(a + 1)\n```\n<!-- output -->\n```text\n2\n```\n"
    assert [block.line for block in blocks_of("made.md", text)] == [1, 4, 10]
    _run(text, tmp_path)


def test_a_block_knows_where_it_stands() -> None:
    assert str(Block("made.md", 3, "python", "")) == "made.md:3 (python)"


UNTYPED = re.compile(r"events\(\"agentfp\.[\w.*]+\"\)(?:\[\d+\]\.payload\b|:\n(?: {4}.*\n)*? {4}.*\bevent\.payload\.)")


@pytest.mark.parametrize("path", [_sees(path) for path in PAGES])
def test_a_page_shows_code_that_type_checkers_follow(path: Path) -> None:
    """`record.of(ToolEnded)` gives payloads whose fields an editor knows; those of `record.events(...)` are of any type."""
    assert not UNTYPED.search(path.read_text(encoding="utf-8"))
