"""A bounded, content-free list of who decided what at the security boundaries of an agent, honest about what it lost.

Public: :class:`Trust` (the plugin, and facts of saved records) and :class:`Counters`.
"""

from agentfp_trust.plugin import Trust
from agentfp_trust.recorder import Counters

__all__ = ["Counters", "Trust"]
