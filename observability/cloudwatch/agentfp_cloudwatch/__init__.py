"""Events of agents in Amazon CloudWatch Logs."""

from agentfp_cloudwatch.plugin import CloudWatch
from agentfp_cloudwatch.settings import CloudWatchSettings
from agentfp_cloudwatch.stream import CloudWatchError

__all__ = ["CloudWatch", "CloudWatchError", "CloudWatchSettings"]
