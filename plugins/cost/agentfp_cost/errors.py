"""What is raised about prices that cannot be read, and about budgets."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from typing import ClassVar

from agentfp import AgentfpError
from agentfp.plugin import AnswerRefusedError, ConfigError
from agentfp_cost.amounts import dollars


class PriceFileError(ConfigError):
    """A file of prices cannot be used. ``problems`` lists everything that is wrong with it."""

    code: ClassVar[str] = "ERR_PRICE_FILE"

    def __init__(self, problems: str | Sequence[str]) -> None:
        super().__init__(problems)


class BudgetSpentError(AnswerRefusedError):
    """A run was not begun, for its budget was spent before.

    Args:
        scope: what the budget is for.
        limit: dollars.
        spent: dollars.
    """

    code: ClassVar[str] = "ERR_BUDGET_SPENT"

    def __init__(self, scope: str, limit: Decimal, spent: Decimal) -> None:
        self.scope, self.limit, self.spent = scope, limit, spent
        state = f"the {scope}'s budget of ${dollars(limit)} is spent (${dollars(spent)})"
        super().__init__(f"{state}; raise `usd`, or wait for the next period if it has one")


class SpenderUnknownError(AnswerRefusedError):
    """A budget is for sessions or principals, and the run does not say whose it is.

    Args:
        scope: what the budget is for.
    """

    code: ClassVar[str] = "ERR_SPENDER_UNKNOWN"

    def __init__(self, scope: str) -> None:
        self.scope = scope
        wanted = "session_id=..." if scope == "session" else "identity=Identity(principal=...)"
        super().__init__(f"the budget is for each {scope}, and this run has none; pass {wanted}")


class SpendStoreError(AgentfpError):
    """A file of what was spent holds something that is no amount; what a budget has left is not known.

    Args:
        path: of the file.
        key: whose sum it is.
    """

    code: ClassVar[str] = "ERR_SPEND_STORE"

    def __init__(self, path: Path, key: str) -> None:
        super().__init__(f"{str(path)!r} holds no amount for {key!r}; mend the row, or delete it to begin at 0")
