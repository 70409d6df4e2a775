"""Runs the blocks of the README in a process of its own: the frameworks' provider classes keep their connections until it ends."""

from __future__ import annotations

import sys
from pathlib import Path

from tests.docs.blocks import blocks_of
from tests.docs.runner import PageRun

README = Path(__file__).resolve().parents[3] / "plugins" / "adapters" / "README.md"


def main() -> None:
    page = PageRun(README.name, Path(sys.argv[1]))
    with page.open():
        for block in blocks_of("plugins/adapters/README.md", README.read_text(encoding="utf-8")):
            page.run(block)


if __name__ == "__main__":
    main()
