"""Finds the files that paths name, and opens them: plain or gzip, from a folder, a glob or stdin."""

from __future__ import annotations

import contextlib
import glob
import gzip
import io
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, cast

from agentfp_transcripts.problems import Problem

STDIN = "-"
_SUFFIXES = frozenset({".json", ".jsonl", ".ndjson", ".jsonlines"})
_LINES = frozenset({".jsonl", ".ndjson", ".jsonlines"})
_GZIP = b"\x1f\x8b"


@dataclass(frozen=True, slots=True)
class Source:
    """One file.

    Args:
        name: what it is called in what is told of it.
        path: where it is; None for stdin.
        asked: whether it was named, rather than found in a folder.
    """

    name: str
    path: Path | None
    asked: bool = True

    @property
    def has_lines(self) -> bool:
        """Whether its name says that it holds JSON lines."""
        return _kind(self.path) in _LINES if self.path is not None else False

    @contextlib.contextmanager
    def open(self, stdin: BinaryIO | None = None) -> Iterator[BinaryIO]:
        """Its bytes, unpacked.

        Args:
            stdin: what to read where it is stdin; the process's when None.

        Raises:
            OSError: it cannot be opened.
        """
        if self.path is not None:
            with self.path.open("rb") as raw:
                yield _unpacked(raw)
            return
        yield _unpacked(_stdin() if stdin is None else stdin)


def _stdin() -> BinaryIO:
    buffer = getattr(sys.stdin, "buffer", None)
    return buffer if buffer is not None else io.BytesIO(sys.stdin.read().encode("utf-8", "surrogateescape"))


def _unpacked(raw: BinaryIO) -> BinaryIO:
    buffered = raw if isinstance(raw, io.BufferedReader) else io.BufferedReader(cast("io.RawIOBase", raw))
    if buffered.peek(2)[:2] == _GZIP:
        return cast("BinaryIO", gzip.GzipFile(fileobj=buffered))
    return buffered


def _kind(path: Path) -> str:
    return Path(path.stem).suffix.lower() if path.suffix.lower() == ".gz" else path.suffix.lower()


def expand(paths: Sequence[str | Path]) -> Iterator[Source | Problem]:
    """The files that paths name.

    Args:
        paths: files, folders, globs, ``-``.
    """
    read = False
    for given in paths:
        text = str(given)
        if text == STDIN:
            yield Problem("stdin", "is named twice and can be read once") if read else Source("stdin", None)
            read = True
            continue
        path = Path(text)
        if path.is_dir():
            yield from _in_folder(path)
        elif path.exists():
            yield Source(text, path)
        elif glob.has_magic(text):
            found = sorted(glob.glob(text, recursive=True))  # noqa: PTH207  # a pattern may be absolute
            if not found:
                yield Problem(text, "no file fits this pattern")
            for one in map(Path, found):
                if one.is_dir():
                    yield from _in_folder(one)
                else:
                    yield Source(str(one), one)
        else:
            yield Problem(text, "there is no such file")


def _in_folder(folder: Path) -> Iterator[Source | Problem]:
    """The files in a folder whose names say that they may hold transcripts; hidden ones are left alone."""
    others = taken = 0
    for path in sorted(folder.rglob("*")):
        if any(part.startswith(".") for part in path.relative_to(folder).parts):
            continue
        if path.is_symlink() and not path.exists():
            yield Problem(str(path), "is a link that leads nowhere")
            continue
        if not path.is_file():
            continue
        if _kind(path) in _SUFFIXES:
            taken += 1
            yield Source(str(path), path, asked=False)
        else:
            others += 1
    if others:
        yield Problem(str(folder), f"{others} file{'s' if others > 1 else ''} of other kinds in it left alone", skipped=True)
    if not taken:
        yield Problem(str(folder), f"holds no file that ends in {', '.join(sorted(_SUFFIXES))}, or these with .gz")
