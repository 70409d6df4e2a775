"""Claude models by Anthropic's Messages API: ``anthropic:MODEL``."""

from agentfp_anthropic.model import AnthropicModel

__all__ = ["AnthropicModel"]
