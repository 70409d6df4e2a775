"""Log records of what was decided in a run, each with the trace and the span that it belongs to."""

from __future__ import annotations

from typing import Any

from opentelemetry._logs import Logger, LogRecord, SeverityNumber
from opentelemetry.context import Context

from agentfp_otel.texts import all_sendable

WORSE = {
    "agentfp.error.fatal": SeverityNumber.ERROR,
    "agentfp.plugin.failed": SeverityNumber.ERROR,
    "agentfp.run.cancelled": SeverityNumber.WARN,
    "agentfp.answer.refused": SeverityNumber.WARN,
    "agentfp.answer.not_assessed": SeverityNumber.WARN,
    "agentfp.agent.budget_exhausted": SeverityNumber.WARN,
    "agentfp.cost.limit_hit": SeverityNumber.WARN,
    "agentfp.model.call_failed": SeverityNumber.WARN,
    "agentfp.error.retried": SeverityNumber.WARN,
    "agentfp.validation.args_invalid": SeverityNumber.WARN,
}


class Logs:
    """Writes log records.

    Args:
        logger: takes them.
    """

    def __init__(self, logger: Logger) -> None:
        self._logger = logger

    def write(self, name: str, ts_ns: int, attributes: dict[str, Any], context: Context) -> None:
        """Write one.

        Args:
            name: of the event.
            ts_ns: when it happened.
            attributes: what may be seen of it.
            context: of the span it belongs to.
        """
        severity = WORSE.get(name, SeverityNumber.INFO)
        self._logger.emit(
            LogRecord(
                timestamp=ts_ns,
                context=context,
                severity_number=severity,
                severity_text=severity.name,
                body=name,
                attributes=all_sendable(attributes),
                event_name=name,
            )
        )
