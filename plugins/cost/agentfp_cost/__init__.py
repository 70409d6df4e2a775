"""What an agent's runs cost, by model, provider and purpose; budgets for a run, a conversation or a person.

Public: :class:`Cost` (the plugin), :class:`CostReport` and :func:`report_of` (live, saved, priced anew), :class:`PriceFile`, and the
stores of what has been spent: :class:`SpendStore`, :class:`MemorySpend`, :class:`SqliteSpend`.
"""

from agentfp_cost.calls import BilledCall
from agentfp_cost.errors import BudgetSpentError, PriceFileError, SpenderUnknownError, SpendStoreError
from agentfp_cost.events import BudgetAllowed, BudgetBlind, BudgetCrossed, BudgetProjected, Charged
from agentfp_cost.plugin import Cost
from agentfp_cost.prices import PriceFile
from agentfp_cost.report import CostLine, CostReport, report_of
from agentfp_cost.spend import MemorySpend, SpendStore, SqliteSpend

__all__ = [
    "BilledCall",
    "BudgetAllowed",
    "BudgetBlind",
    "BudgetCrossed",
    "BudgetProjected",
    "BudgetSpentError",
    "Charged",
    "Cost",
    "CostLine",
    "CostReport",
    "MemorySpend",
    "PriceFile",
    "PriceFileError",
    "SpendStore",
    "SpendStoreError",
    "SpenderUnknownError",
    "SqliteSpend",
    "report_of",
]
