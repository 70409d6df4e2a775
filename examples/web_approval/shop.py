"""What the agent can do: look an order up, and pay money back, which somebody must approve."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

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

    def pay_back(self, key: str, order: str, eur: float, at_most: float) -> bool:
        """Pay once under one key, however often it is asked for; False where all refunds of the order would come to more than `at_most`."""
        paid = "SELECT COALESCE(SUM(eur), 0) FROM refunds WHERE order_id = ? AND key != ?"
        with closing(sqlite3.connect(self.database, timeout=30)) as db, db:
            db.execute("CREATE TABLE IF NOT EXISTS refunds (key TEXT PRIMARY KEY, order_id TEXT, eur REAL)")
            sql = f"INSERT OR IGNORE INTO refunds SELECT ?, ?, ? WHERE ({paid}) + ? <= ?"
            db.execute(sql, (key, order, eur, order, key, eur, at_most))
            return db.execute("SELECT 1 FROM refunds WHERE key = ?", (key,)).fetchone() is not None


def _known(order: str) -> dict[str, Any]:
    if order not in ORDERS:
        raise RetryTool("there is no such order; they look like A-17")
    return ORDERS[order]


@tool
def find_order(order: str) -> dict[str, Any]:
    """Find an order."""
    return {"order": order, **_known(order)}


@tool(approval=True, mutating=True, idempotent=True)
def refund(ctx: ToolContext[Shop], order: str, eur: Annotated[float, Field(gt=0)]) -> dict[str, Any]:
    """Pay money of an order back."""
    if not ctx.deps.pay_back(ctx.call_id, order, eur, at_most=_known(order)["total_eur"]):
        raise RetryTool("with what was paid back before, that is more than was paid")
    return {"order": order, "refunded_eur": eur}
