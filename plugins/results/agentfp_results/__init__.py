"""What a tool result covers: which period it read, what it did not look at, and what time it is for the person who asks."""

from agentfp_results.clock import RunTime
from agentfp_results.emptiness import Emptiness, emptiness
from agentfp_results.envelopes import absent, coverage, described_result
from agentfp_results.errors import EnvelopeError
from agentfp_results.forms import Bounds, Day, Joined, Lookback, Object
from agentfp_results.limits import AnswerCoverage, AssumedValue, Limit, PeriodRead
from agentfp_results.period import Period, period
from agentfp_results.plugin import Results, trusted

__all__ = [
    "AnswerCoverage",
    "AssumedValue",
    "Bounds",
    "Day",
    "Emptiness",
    "EnvelopeError",
    "Joined",
    "Limit",
    "Lookback",
    "Object",
    "Period",
    "PeriodRead",
    "Results",
    "RunTime",
    "absent",
    "coverage",
    "described_result",
    "emptiness",
    "period",
    "trusted",
]
