"""Columns of a result that do not hold what the tool's author says they hold."""

from __future__ import annotations

import datetime
import json
import math
from collections.abc import Mapping
from typing import Any

from agentfp import ToolReturn
from agentfp_integrity.declaring import Column
from agentfp_integrity.findings import CEILINGS, Finding, Witness, clipped

MISMATCH, MISSING = "column-type-mismatch", "missing-column"
MOST_NAMED = 5


def rows_of(value: Any, content: str) -> list[Mapping[str, Any]] | None:
    """The rows of a result; None when it is no list of rows, or holds none.

    Args:
        value: what the tool returned; None when only its text is known.
        content: its text.
    """
    if isinstance(value, ToolReturn):
        value = value.content
    if value is None:
        if content[:1] not in ("[", "{"):
            return None
        try:
            value = json.loads(content)
        except (ValueError, RecursionError):
            return None
    if isinstance(value, dict) and isinstance(value.get("af_coverage"), Mapping) and "result" in value:
        value = value["result"]
    if not isinstance(value, (list, tuple)) or not value or not all(isinstance(row, dict) for row in value):
        return None
    return list(value)


def judge(tool: str, call_id: str, columns: Mapping[str, Column], rows: list[Mapping[str, Any]]) -> list[Finding]:
    """What is wrong of the columns of a result, one finding a column.

    Args:
        tool: the tool.
        call_id: the call.
        columns: what the columns hold.
        rows: the rows.
    """
    found = []
    for name, column in columns.items():
        if not any(name in row for row in rows):
            message = f"Column {name!r} of {tool!r} is in none of its {len(rows)} rows; {CEILINGS[MISSING]}."
            found.append(_finding(MISSING, tool, name, message, call_id, None))
            continue
        wrong = [row.get(name) for row in rows if not fits(row.get(name), column)]
        if wrong:
            hint = "; a row that may have nothing there is declared nullable" if wrong[0] is None else ""
            message = (
                f"Column {name!r} of {tool!r} is declared {column.type}, and {len(wrong)} of {len(rows)} rows hold something else"
                f"{hint}; {CEILINGS[MISMATCH]}."
            )
            found.append(_finding(MISMATCH, tool, name, message, call_id, clipped(wrong[0])))
    return found


def _finding(kind: str, tool: str, column: str, message: str, call_id: str, value: str | None) -> Finding:
    subjects, witness = (("tool", tool), ("column", column)), Witness(f"call:{call_id}", value)
    return Finding(kind, "write", subjects, column, message, (witness,), call_id=call_id)


def fits(value: Any, column: Column) -> bool:
    """Whether a value is what its column holds."""
    if value is None:
        return column.nullable
    match column.type:
        case "number":
            return not isinstance(value, bool) and isinstance(value, (int, float)) and math.isfinite(value)
        case "string":
            return isinstance(value, str)
        case "boolean":
            return isinstance(value, bool)
        case "date":
            return isinstance(value, datetime.date) or (isinstance(value, str) and _is_date(value))


def _is_date(text: str) -> bool:
    try:
        datetime.datetime.fromisoformat(text)
    except ValueError:
        return False
    return True


def instead(tool: str, findings: list[Finding]) -> str:
    """What the model reads in place of a result whose columns are not what they are declared to be."""
    names = [str(finding.predicate) for finding in findings]
    named = ", ".join(map(repr, names[:MOST_NAMED])) + (f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else "")
    return f"{tool!r} gave rows whose columns {named} are not of the types that it declares; no data was returned."
