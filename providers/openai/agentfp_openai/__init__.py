"""Models of OpenAI and of every server that speaks its protocol: `openai:gpt-6.2-sol`, or any model by `base_url`."""

from agentfp_openai.chat import ChatModel
from agentfp_openai.errors import explain
from agentfp_openai.factory import catalog, openai, openai_chat, openai_responses
from agentfp_openai.responses import ResponsesModel
from agentfp_openai.server import Server

__all__ = ["ChatModel", "ResponsesModel", "Server", "catalog", "explain", "openai", "openai_chat", "openai_responses"]
