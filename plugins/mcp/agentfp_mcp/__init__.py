"""MCP for agentfp: the tools of MCP servers in an agent, and an agent's tools, or the agent itself, as an MCP server.

Nothing of the MCP SDK is imported before a server is opened or served.
"""

from agentfp_mcp.eliciting import Elicitation
from agentfp_mcp.errors import McpClosedError, McpError, McpProtocolError, McpStartError, McpTimeoutError, McpToolFailedError
from agentfp_mcp.serving import Serving, serve
from agentfp_mcp.source import McpServer, from_text, mcp

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
