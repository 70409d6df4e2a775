"""Puts the page together: the modules of ``page/`` as one script, so that a page needs nothing besides itself, also from a disk.

The modules import by name from one another (``import { a, b as c } from "./x.js"``) and export declarations; each becomes a function of
its own, so that no name of one is seen in another.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
from functools import cache
from importlib.resources import files
from typing import Any

ENTRY = "main.js"
_IMPORT = re.compile(r'^import \{([^}]*)\} from "\./([\w/.-]+)";\n', re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(?:async )?(?:function|const|class) (\w+))", re.MULTILINE)
_EXPORTED = re.compile(r"^export (?:async )?(?:function|const|class) (\w+)", re.MULTILINE)
_LIST = re.compile(r"export\s*\{([^}]*)\};?\s*$")


def _read(name: str) -> str:
    return files("agentfp_viewer").joinpath("page", *name.split("/")).read_text(encoding="utf-8")


@cache
def script() -> str:
    """All modules as one script."""
    made: dict[str, str] = {}
    _take(ENTRY, made, ())
    return '"use strict";\n' + "\n".join(made.values())


def _take(name: str, made: dict[str, str], above: tuple[str, ...]) -> None:
    if name in above:
        raise ValueError(f"the modules {' -> '.join([*above, name])} import one another in a circle")
    if name in made:
        return
    source = _read(name)
    for _, needed in _IMPORT.findall(source):
        _take(needed, made, (*above, name))
    exported = [(local, local) for local in _EXPORTED.findall(source)]
    listed = _LIST.search(source)
    if listed is not None:  # the form of minified modules
        pairs = [pair.split(" as ") for pair in listed[1].split(",")]
        exported += [(pair[0].strip(), pair[-1].strip()) for pair in pairs]
        source = source[: listed.start()]
    body = _IMPORT.sub(lambda found: f"const {{{_renamed(found[1])}}} = {_name(found[2])};\n", source)
    body = _EXPORT.sub("", body)
    given = ", ".join(f"{outer}: {inner}" for inner, outer in exported)
    made[name] = f"const {_name(name)} = (() => {{\n{body}\nreturn {{{given}}};\n}})();"


def _renamed(names: str) -> str:
    return names.replace(" as ", ": ")


def _name(module: str) -> str:
    return "$" + re.sub(r"\W", "_", module)


@cache
def style() -> str:
    """The style sheet."""
    return _read("style.css")


@cache
def policy(*, connect: bool) -> str:
    """The Content-Security-Policy: this script, this style sheet, nothing from anywhere else, and no text that becomes markup."""
    parts = [
        "default-src 'none'",
        f"script-src '{_digest(script())}'",
        f"style-src '{_digest(style())}'",
        "img-src data:",
        f"connect-src {chr(39)}self{chr(39)}" if connect else "connect-src 'none'",
        "base-uri 'none'",
        "form-action 'none'",
        "require-trusted-types-for 'script'",
        "trusted-types lit-html",
    ]
    return "; ".join(parts)


def _digest(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def head(title: str, boot: dict[str, Any], *, connect: bool) -> str:
    """The page up to its data.

    Args:
        title: of the page.
        boot: what the script is told at its begin.
        connect: whether it may ask the server that it came from.
    """
    csp = html.escape(policy(connect=connect), quote=True)
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{csp}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1"><meta name="color-scheme" content="light dark">'
        '<meta name="referrer" content="no-referrer">'
        f'<title>{html.escape(title)}</title><link rel="icon" href="data:,"><style>{style()}</style></head>\n'
        '<body><div id="app"><p class="boot">Opening the recording …</p></div>'
        "<noscript>This page needs JavaScript; it runs no script but its own.</noscript>\n"
        f"{data_block('boot', boot)}"
    )


def tail() -> str:
    """The page's script and its end."""
    return f"<script>{script()}</script>\n</body></html>\n"


def data_block(id: str, data: Any) -> str:
    """JSON data in a page, for the script to read; nothing in it can end the block or begin another."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    text = text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
    return f'<script type="application/json" id="{html.escape(id, quote=True)}">{text}</script>\n'
