"""``ModelConformance``: all checks of a provider, for its author to subclass."""

from __future__ import annotations

from agentfp_core.testing.conformance.faults import FaultChecks


class ModelConformance(FaultChecks):
    """The checks that every provider should pass, against a server on loopback that the suite brings.

    Subclass it in a test file, with a name that pytest collects, and say how the provider's server writes what it says::

        class TestMyProvider(ModelConformance):
            wire = MyWire()

    A check of something that the model's features lack is that a wish for it is refused, by name, before anything is sent.
    """
