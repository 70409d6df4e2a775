"""A small real model on this machine, for ``model = "local"``, and any other GGUF file by its path."""

from agentfp_local.model import LocalModel
from agentfp_local.servers import shutdown

__all__ = ["LocalModel", "shutdown"]
