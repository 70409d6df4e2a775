"""Models of Amazon Bedrock by its Converse API: ``bedrock:MODEL``."""

from agentfp_bedrock.model import BedrockModel

__all__ = ["BedrockModel"]
