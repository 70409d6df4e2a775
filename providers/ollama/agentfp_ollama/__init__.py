"""Models of an Ollama server, spoken to by its native API."""

from agentfp_ollama.model import OllamaModel

__all__ = ["OllamaModel"]
