"""MCP for agentfp: the tools of MCP servers in an agent, and an agent's tools, or the agent itself, as an MCP server.

Each name is loaded when it is first used. Nothing of the MCP SDK is imported before a server is opened or served.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from agentfp_mcp.eliciting import Elicitation
    from agentfp_mcp.errors import McpClosedError, McpError, McpProtocolError, McpStartError, McpTimeoutError, McpToolFailedError
    from agentfp_mcp.serving import Serving, serve
    from agentfp_mcp.source import McpServer, from_text, mcp

_HOMES = {
    "agentfp_mcp.eliciting": ("Elicitation",),
    "agentfp_mcp.errors": ("McpClosedError", "McpError", "McpProtocolError", "McpStartError", "McpTimeoutError", "McpToolFailedError"),
    "agentfp_mcp.serving": ("Serving", "serve"),
    "agentfp_mcp.source": ("McpServer", "from_text", "mcp"),
}
_HOME_OF = {name: module for module, names in _HOMES.items() for name in names}

__all__ = [
    "Elicitation",
    "McpClosedError",
    "McpError",
    "McpProtocolError",
    "McpServer",
    "McpStartError",
    "McpTimeoutError",
    "McpToolFailedError",
    "Serving",
    "from_text",
    "mcp",
    "serve",
]


def __getattr__(name: str) -> Any:
    """Load a name from its home and keep it."""
    module = _HOME_OF.get(name)
    if module is None:
        raise AttributeError(f"module 'agentfp_mcp' has no attribute {name!r}")
    value = getattr(import_module(module), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """The public names."""
    return sorted(__all__)
