"""Config files: ``agentfp.toml``, or ``[tool.agentfp]`` in ``pyproject.toml``, read into what an agent is built of.

``document`` reads a file and ``positions`` knows where everything in it stands; ``layers`` merges overlays and the environment
over it; ``tables`` says what is accepted where; ``assemble`` imports, makes and checks what one agent needs.
"""

from agentfp_core.config.config import Check, Config, ConfigValue, SecretUse
from agentfp_core.config.document import find_config
from agentfp_core.config.load import load_config
from agentfp_core.config.origin import Origin, Problem
from agentfp_core.config.schema import ConfigSchema, config_schema

__all__ = [
    "Check",
    "Config",
    "ConfigSchema",
    "ConfigValue",
    "Origin",
    "Problem",
    "SecretUse",
    "config_schema",
    "find_config",
    "load_config",
]
