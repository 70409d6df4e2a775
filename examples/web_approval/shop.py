"""What the agent can do: look an order up, and pay money back, which somebody must approve."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agentfp import RetryTool, ToolContext, tool

ORDERS: dict[str, dict[str, Any]] = {
    "A-17": {"customer": "Ada Moe", "total_eur": 149.5},
    "A-18": {"customer": "Bo Lind", "total_eur": 20.0},
}


@dataclass
class Shop:
    """The shop's books, in earnest its payment service.

    Args:
        database: where refunds are kept.
    """

    database: Path

    def pay_back(self, key: str, order: str, eur: float) -> None:
        """Pay once under one key, however often it is asked for."""
        with closing(sqlite3.connect(self.database)) as db, db:
            db.execute("CREATE TABLE IF NOT EXISTS refunds (key TEXT PRIMARY KEY, order_id TEXT, eur REAL)")
            db.execute("INSERT OR IGNORE INTO refunds VALUES (?, ?, ?)", (key, order, eur))


@tool
def find_order(order: str) -> dict[str, Any]:
    """Find an order."""
    if order not in ORDERS:
        raise RetryTool("there is no such order; they look like A-17")
    return {"order": order, **ORDERS[order]}


@tool(approval=True, mutating=True, idempotent=True)
def refund(ctx: ToolContext[Shop], order: str, eur: float) -> dict[str, Any]:
    """Pay money of an order back."""
    if eur > ORDERS[order]["total_eur"]:
        raise RetryTool("that is more than was paid")
    ctx.deps.pay_back(ctx.call_id, order, eur)
    return {"order": order, "refunded_eur": eur}
