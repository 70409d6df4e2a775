"""The marks and shapes of what a tool declares of its result. They are the same in every language."""

from __future__ import annotations

ABSENT, COVERAGE, SEMANTICS = "af_absent", "af_coverage", "af_semantics"
ENVELOPES = "af_envelopes"
"""Stands beside a result, in what the application sees and the model does not."""
ITEM_KEYS = ("what", "why", "short", "kind")
KINDS = ("existence", "scope")
PERIOD_KEYS = ("queried", "held", "read_at")
SHORT_CHARS = 80
DEPTH_MOST, ITEMS_MOST = 8, 2_000
"""How deep envelopes may lie in each other, and how many items of one list are read of a foreign one."""
COUNTERS = ("sum", "count", "total", "cumulative", "counter", "delta")
"""Words in an aggregation that make it necessary to say whether it is a counter."""
