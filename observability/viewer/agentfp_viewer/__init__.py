"""Opens a recording of an agent in the browser; the command is ``agentfp view``.

Each name is loaded when it is first used: the help of the command line imports this package, and should not wait for it.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from agentfp_viewer.library import Library
    from agentfp_viewer.server import Server
    from agentfp_viewer.standalone import write_page

_HOMES = {"Library": "library", "Server": "server", "write_page": "standalone"}

__all__ = ["Library", "Server", "write_page"]


def __getattr__(name: str) -> Any:
    """Load a name from its home and keep it."""
    if name not in _HOMES:
        raise AttributeError(f"module 'agentfp_viewer' has no attribute {name!r}")
    value = getattr(import_module(f"agentfp_viewer.{_HOMES[name]}"), name)
    globals()[name] = value
    return value
