"""Google's Gemini models, spoken to by ``generateContent``: the Gemini API, Vertex AI, or a server that speaks the same."""

from agentfp_gemini.model import GeminiModel

__all__ = ["GeminiModel"]
