"""Models made more reliable by wrapping them: tried again, replaced by another, left alone while they are down, or ruled by rules.

Each wrapper forwards everything else (features, streaming, what adapters report) and reports what it does to the record.
"""

from agentfp_core.reliability.breaker import CircuitBreaker
from agentfp_core.reliability.fallback import Fallback
from agentfp_core.reliability.kinds import ErrorKind, error_kind, humanize
from agentfp_core.reliability.retry import Retry
from agentfp_core.reliability.rules import Attempt, Reliability, Rule

__all__ = ["Attempt", "CircuitBreaker", "ErrorKind", "Fallback", "Reliability", "Retry", "Rule", "error_kind", "humanize"]
