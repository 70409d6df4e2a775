"""The guide as a site: it builds with no broken link, fetches nothing from elsewhere, and its reference has every public name."""

from __future__ import annotations

import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

from scripts import site
from scripts.workshop import ROOT

pytestmark = pytest.mark.with_sisters


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, built as `make docs` does."""
    out = tmp_path_factory.mktemp("site") / "site"
    command = [sys.executable, "-m", "scripts.site", "--out", str(out)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return out


def test_every_page_of_the_guide_is_in_the_navigation() -> None:
    listed = set(re.findall(r'"(docs/[^"]+\.md)"', (ROOT / "zensical.toml").read_text(encoding="utf-8")))
    assert listed == {f"docs/{path.name}" for path in (ROOT / "docs").glob("*.md")}


def test_the_reference_has_every_public_name(built: Path) -> None:
    missing = []
    for module in site.modules():
        page = (built / "reference" / module / "index.html").read_text(encoding="utf-8")
        heads = re.findall(r"<h2[^>]*>(.*?)</h2>", page, flags=re.DOTALL)
        told = {re.sub(r"<[^>]+>|&para;|¶", "", head).strip().split()[0] for head in heads}
        missing += [f"{module}.{name}" for name in import_module(module).__all__ if name not in told]
    assert not missing


def test_docstrings_lead_to_the_glossary(built: Path) -> None:
    page = (built / "reference" / "agentfp" / "index.html").read_text(encoding="utf-8")
    glossary = (built / "docs" / "glossary" / "index.html").read_text(encoding="utf-8")
    anchors = set(re.findall(r'href="../../docs/glossary/#([^"]+)"', page))
    assert {"record", "pause", "plugin", "run"} <= anchors
    assert all(f'id="{anchor}"' in glossary for anchor in anchors)


def test_a_term_is_linked_once_and_not_within_code_or_a_link() -> None:
    page = '<p>The <code>record</code> and <a href="x">a record</a>: records, then a record.</p><h2>record</h2>'
    wanted = page.replace("records,", '<a href="g">records</a>,')
    assert site.link_terms(page, {"record": "g"}) == wanted


def test_no_page_fetches_anything_from_elsewhere(built: Path) -> None:
    fetched = set()
    for page in site.pages_of(built):
        fetched.update(re.findall(r'<(?:script|img|iframe)[^>]*\ssrc="?(https?://[^"\s>]+)', page.read_text(encoding="utf-8")))
        fetched.update(re.findall(r'<link rel="?stylesheet"? href="?(https?://[^"\s>]+)', page.read_text(encoding="utf-8")))
    assert not fetched


def test_a_broken_link_is_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "pages").mkdir()
    (tmp_path / "pages" / "index.md").write_text("# A\n\n[there](nowhere.md)\n", encoding="utf-8")
    (tmp_path / "zensical.toml").write_text('[project]\nsite_name = "a"\ndocs_dir = "pages"\nsite_dir = "out"\n', encoding="utf-8")
    assert not site.build_site(tmp_path)
    assert "index.md:3" in capsys.readouterr().err
