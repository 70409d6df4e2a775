"""What a tool result covers: which period it read, what it did not look at, and what time it is for the person who asks."""

from agentfp_results.clock import RunTime
from agentfp_results.emptiness import Emptiness, emptiness
from agentfp_results.forms import Bounds, Day, Joined, Lookback, Object
from agentfp_results.period import Period, period
from agentfp_results.plugin import Results, trusted

__all__ = [
    "Bounds",
    "Day",
    "Emptiness",
    "Joined",
    "Lookback",
    "Object",
    "Period",
    "Results",
    "RunTime",
    "emptiness",
    "period",
    "trusted",
]
