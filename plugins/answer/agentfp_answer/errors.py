"""What is raised at the line where a declaration is wrong, and by a run whose answer a check did not let through."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from agentfp import UsageError
from agentfp.plugin import AnswerRefusedError

if TYPE_CHECKING:
    from agentfp_answer.reports import ValidationReport


class DeclarationRefusedError(UsageError, ValueError):
    """A tool's author declares something of a result that cannot be declared like that.

    Raised in a tool, it is that call's failure: a limit that cannot be read is not passed over.
    """

    code: ClassVar[str] = "ERR_DECLARATION"

    def __init__(self, why: str) -> None:
        super().__init__(f"refused: {why}")


class AnswerValidationError(AnswerRefusedError):
    """An answer did not pass the check that the application makes of every answer.

    Args:
        report: what the check came to; it holds no word of the answer.
    """

    code: ClassVar[str] = "ERR_ANSWER_VALIDATION"

    def __init__(self, report: ValidationReport) -> None:
        self.report = report
        why = ", ".join(report.reasons) or ", ".join(check.id for check in report.checks if check.disposition == "checked-fail")
        super().__init__(
            f"the answer check {report.id!r} version {report.version!r} did not pass: {report.status} ({why}); "
            "the report on this error names every check",
            plugin="answer",
        )

    def __reduce__(self) -> tuple[object, ...]:
        return AnswerValidationError, (self.report,)
