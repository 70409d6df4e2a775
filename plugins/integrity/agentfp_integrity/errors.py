"""What a run ends with whose checks were not alive."""

from __future__ import annotations

from typing import ClassVar

from agentfp.plugin import AnswerRefusedError


class CheckerDeadError(AnswerRefusedError):
    """A check did not look, or does not see what it must see: that nothing was found says nothing then.

    Args:
        check: the check.
        seam: the moment that it looks at.
    """

    code: ClassVar[str] = "ERR_CHECKER_DEAD"

    def __init__(self, check: str, seam: str) -> None:
        self.check = check
        self.seam = seam
        super().__init__(
            f"check {check!r} at {seam!r} is dead: it filed nothing though there was work, or passed over a known fault; "
            "its silence is no pass. Mend it, or leave the posture 'dev'",
            plugin="integrity",
        )

    def __reduce__(self) -> tuple[object, ...]:
        return CheckerDeadError, (self.check, self.seam)
