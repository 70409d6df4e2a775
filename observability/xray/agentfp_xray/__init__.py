"""Traces of agents in AWS X-Ray."""

from agentfp_xray.plugin import XRay
from agentfp_xray.sending import XRayError
from agentfp_xray.settings import XRaySettings

__all__ = ["XRay", "XRayError", "XRaySettings"]
