"""``agentfp view``: opens a recording, a folder of recordings, or the transcript of another framework's agent in the browser."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from agentfp.commands import CommandError, Json, console, data, note, say

if TYPE_CHECKING:
    from agentfp_viewer.library import Library
    from agentfp_viewer.recording import Recording

app = typer.Typer(add_completion=False)


@app.command()
def view(
    path: Annotated[
        Path,
        typer.Argument(
            metavar="PATH", help="A recording, a journal, a transcript that agentfp check reads, or a folder of them.", show_default=False
        ),
    ],
    html: Annotated[
        Path | None, typer.Option("--html", metavar="OUT", help="Write one page that opens without a server, and end.", show_default=False)
    ] = None,
    port: Annotated[int, typer.Option("--port", min=0, max=65535, help="Where to serve; 0 for any that is free.")] = 0,
    no_open: Annotated[bool, typer.Option("--no-open", help="Do not open the browser.")] = False,
    as_json: Json = False,
) -> None:
    """Look at a run: its answer, with each value linked to the result that it comes from, and every step that led there.

    The page is served on this machine only, at an address that nobody guesses, until Ctrl-C. A run that still writes its file is
    followed as it goes on. With --html the page is a file that can be sent to somebody.
    """
    if not path.exists():
        raise CommandError(f"there is no file and no folder {str(path)!r}")
    if html is not None:
        _write(path, html, as_json=as_json)
    else:
        _serve(path, port, opens=not no_open and not as_json, as_json=as_json)


def _opened(path: Path) -> Recording:
    from agentfp_viewer.foreign import open_any
    from agentfp_viewer.recording import NoRecordingError

    try:
        with _progress(f"reading {path.name}") as progress:
            recording = open_any(path, progress)
    except NoRecordingError as error:
        raise CommandError(str(error)) from error
    except OSError as error:
        raise CommandError(f"{path} cannot be read: {error.strerror or error}") from error
    for problem in recording.told():
        note(f"{path}: {problem}", "yellow")
    return recording


def _write(path: Path, html: Path, *, as_json: bool) -> None:
    from agentfp_viewer.standalone import write_page

    if path.is_dir():
        raise CommandError(f"--html takes one recording, and {str(path)!r} is a folder; name a file in it")
    if html.is_dir() or not html.absolute().parent.is_dir():
        raise CommandError(f"--html {html}: {'is a folder' if html.is_dir() else f'there is no folder {str(html.parent)!r}'}")
    recording = _opened(path)
    try:
        write_page(recording, html)
    except OSError as error:
        raise CommandError(f"--html {html} cannot be written: {error.strerror or error}") from error
    finally:
        recording.close()
    size = html.stat().st_size
    if as_json:
        data({"page": str(html.absolute()), "bytes": size, "problems": recording.told()})
    else:
        say(f"page written to {html}")


def _library(path: Path) -> Library:
    from agentfp_viewer.library import Library

    return Library(path) if path.is_dir() else Library(path, _opened(path))


def _serve(path: Path, port: int, *, opens: bool, as_json: bool) -> None:
    from agentfp_viewer.server import Server

    library = _library(path)
    try:
        try:
            server = Server(library, port)
        except OSError as error:
            raise CommandError(f"port {port} cannot be had: {error.strerror or error}; --port 0 takes any that is free") from error
        if as_json:
            data({"url": server.url, "port": server.port, "path": str(path.absolute())}, lines=True)
        else:
            say(server.url)
            sys.stdout.flush()
            note("open it in a browser; Ctrl-C ends it", "dim")
        if opens:
            _open_browser(server.url)
        try:
            server.run()
        except KeyboardInterrupt:
            note("ended")
    finally:
        library.close()


def _open_browser(url: str) -> None:
    import threading
    import webbrowser

    threading.Thread(target=webbrowser.open, args=(url,), daemon=True).start()


@contextmanager
def _progress(said: str) -> Iterator[Callable[[int, int], None] | None]:
    """On a terminal, how far reading is."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn

    columns: tuple[Any, ...] = (TextColumn("[dim]{task.description}"), BarColumn(), DownloadColumn())
    with Progress(*columns, console=console(stderr=True), transient=True) as progress:
        task = progress.add_task(said, total=None)
        yield lambda read, size: progress.update(task, completed=read, total=size)
