"""Spans and log events for Amazon Bedrock AgentCore."""

from agentfp_agentcore.environment import session
from agentfp_agentcore.plugin import AgentCore

__all__ = ["AgentCore", "session"]
