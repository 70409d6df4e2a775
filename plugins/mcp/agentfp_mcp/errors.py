"""What goes wrong between an agent and an MCP server. No message holds a header, a value of the environment or an argument."""

from __future__ import annotations

from agentfp import ToolError


class McpError(ToolError):
    """Base of what goes wrong with a server: the words are for the model, ``detail`` stands on the record only."""

    code = "ERR_MCP"


class McpStartError(McpError):
    """The server could not be started or reached, or did not speak MCP in time."""

    code = "ERR_MCP_START"


class McpClosedError(McpError):
    """The session is over: it was closed, or the server ended."""

    code = "ERR_MCP_CLOSED"


class McpTimeoutError(McpError, TimeoutError):
    """The server did not answer a call in time."""

    code = "ERR_MCP_TIMEOUT"


class McpProtocolError(McpError):
    """The server sent something that cannot be read. Names the shape, never the content."""

    code = "ERR_MCP_PROTOCOL"


class McpToolFailedError(McpError):
    """The tool failed, and the server said so."""

    code = "ERR_MCP_TOOL_FAILED"
