"""Arguments that no model should choose: a person is asked, or a stated value is assumed, and the record says which."""

from agentfp_inputs.declarations import Assume, Choice, FromPerson
from agentfp_inputs.plugin import Inputs
from agentfp_inputs.report import ArgumentRow, Assumed

__all__ = ["ArgumentRow", "Assume", "Assumed", "Choice", "FromPerson", "Inputs"]
