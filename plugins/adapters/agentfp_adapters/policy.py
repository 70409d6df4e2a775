"""What a gate does with unsupported values, and where recordings of its runs go: the settings that all adapters share."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any, Literal, TypeAlias

from agentfp import ConfigError
from agentfp.plugin import Record
from agentfp_evidence import Evidence

Wish: TypeAlias = Literal["flag", "revise", "refuse"]
Recording: TypeAlias = str | Path | Callable[[Record], None] | None
"""Where the recording of a run goes: a folder, in which each run has a file of its own, or a function that takes it."""

_UNSAFE = re.compile(r"[^\w.-]+")


def _check_folder(folder: Path) -> None:
    """Recordings are written when runs are over: that they cannot be is said before."""
    if folder.exists() and not folder.is_dir():
        msg = f"record={str(folder)!r} is a file; recordings need a folder, in which each run gets a file of its own"
        raise ConfigError(msg)
    if folder.is_dir() and not os.access(folder, os.W_OK | os.X_OK):
        msg = f"record={str(folder)!r} is a folder that this process may not write to; give another, or change its permissions"
        raise ConfigError(msg)


class GatePolicy:
    """The settings of a gate, checked once. Holds nothing of a run, so that one gate serves many runs at once.

    Args:
        on_unsupported: ``flag``, ``revise`` or ``refuse``.
        record: where recordings go; nothing is recorded without it.
        leave_out: names of agents or nodes whose replies are no answers, such as summarisers and routers.
        **settings: further settings of :class:`agentfp_evidence.Evidence`, such as ``act_on`` and ``exempt``.

    Raises:
        ConfigError: a setting does not fit.
    """

    def __init__(
        self, on_unsupported: Wish = "flag", *, record: Recording = None, leave_out: Collection[str] = (), **settings: Any
    ) -> None:
        evidence = Evidence(on_unsupported=on_unsupported, **settings)
        self.settings: Evidence.Settings = evidence.settings
        self.options = evidence.options
        self.refuse_on_failure = evidence.refuse_on_failure
        self.holds = evidence.may_change_answers
        """Whether streams are held until their answer is accepted."""
        self.leave_out = frozenset((leave_out,) if isinstance(leave_out, str) else leave_out)
        self.record = record
        if isinstance(record, (str, Path)):
            _check_folder(Path(record))

    def keep(self, record: Record) -> None:
        """Put a recording where it belongs; an earlier state of the same run is replaced.

        Args:
            record: the run's record.
        """
        if self.record is None:
            return
        if callable(self.record):
            self.record(record)
            return
        folder = Path(self.record)
        folder.mkdir(parents=True, exist_ok=True)
        record.save(folder / f"{_UNSAFE.sub('-', record.run_id)}.jsonl")
