"""ResultAge: tells the model, and the record, that a tool's result is old."""

from agentfp_result_age.plugin import OldResult, ResultAge

__all__ = ["OldResult", "ResultAge"]
