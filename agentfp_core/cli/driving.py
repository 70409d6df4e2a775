"""Drives a run of a command: its legs one after another, questions asked between them, the recording saved whatever happens."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agentfp_core.cli.exits import Code, CommandError
from agentfp_core.cli.live import Live
from agentfp_core.cli.output import note
from agentfp_core.cli.subject import deps_of

if TYPE_CHECKING:
    from agentfp_core.agent import Agent
    from agentfp_core.record import Record
    from agentfp_core.result import RunResult
    from agentfp_core.run import Run


class RunFailedError(CommandError):
    """A run failed; the error is chained.

    Args:
        text: what to say.
        code: the exit code.
        kind: name of the error's type.
    """

    def __init__(self, text: str, code: Code, kind: str) -> None:
        self.kind = kind
        super().__init__(text, code)


@dataclass
class Drive:
    """What all legs of a command's run share.

    Args:
        agent: the agent.
        deps: import path of what makes deps.
        record: where to save the recording.
        redact: whether everything that was said is masked in it.
        by: who answers questions.
        ask: whether somebody can be asked.
        live: shows the run.
        call: further options of each leg.
        runs: the legs so far.
        recorded: gives what is saved; the last leg's record when None.
        saved: whether the recording was written.
        lost: whether it could not be written.
    """

    agent: Agent[Any, Any]
    deps: str | None = None
    record: Path | None = None
    redact: bool = False
    by: str | None = None
    ask: bool = False
    live: Live = field(default_factory=Live)
    call: dict[str, Any] = field(default_factory=dict)
    runs: list[Run[Any]] = field(default_factory=list)
    recorded: Callable[[], Record] | None = None
    saved: bool = False
    lost: bool = False

    @contextlib.asynccontextmanager
    async def open(self) -> AsyncIterator[Drive]:
        """Make the deps; afterwards save the recording and let go of what tools and plugins hold."""
        async with deps_of(self.deps) as deps:
            self.call["deps"] = deps
            try:
                yield self
            finally:
                self.live.close()
                self._save()
                await self._shut_down()

    def options(self) -> dict[str, Any]:
        """The options of a leg."""
        return {**self.call, "push": self.live if self.live.on else None, "opened": self.runs.append}

    async def finish(self, leg: Awaitable[RunResult[Any]], resume: Callable[[Any], Awaitable[RunResult[Any]]]) -> RunResult[Any]:
        """Run a leg, and those that follow it while somebody answers what they ask.

        Args:
            leg: the first one.
            resume: goes on with the answers.

        Raises:
            RunFailedError: a leg failed.
        """
        result = await self._leg(leg)
        while self.ask and result.pause is not None:
            from agentfp_core.cli.asking import ask

            answers = ask(result.pause, by=self.by)
            if answers is None:
                break
            result = await self._leg(resume((result.pause, answers)))
        return result

    async def _leg(self, leg: Awaitable[RunResult[Any]]) -> RunResult[Any]:
        from agentfp_core.cli.errors import describe
        from agentfp_core.errors import AgentfpError, RunCheckpointError

        try:
            return await leg
        except Exception as error:
            text, code = describe(error)
            cause = error.__cause__ if isinstance(error, RunCheckpointError) and error.__cause__ is not None else error
            raise RunFailedError(text, code if isinstance(error, AgentfpError) else Code.FAILED, type(cause).__name__) from error
        finally:
            self.live.close()

    def _save(self) -> None:
        from agentfp_core.cli.outcome import save_record

        if self.record is None or (not self.runs and self.recorded is None):
            return
        record = self.runs[-1].record if self.recorded is None else self.recorded()
        if not len(record):
            return
        try:
            save_record(record, self.record, policy=self.agent.redact, redact=self.redact)
        except OSError as error:
            self.lost = True
            note(f"the recording cannot be written to {self.record}: {error.strerror}", "red")
        else:
            self.saved = True

    def code(self, code: Code) -> Code:
        """The exit code: a run that went well and left no recording where one was wanted did not do all of its work.

        Args:
            code: of the run.
        """
        return Code.NEGATIVE if self.lost and code is Code.OK else code

    def tell_saved(self) -> None:
        """Say where the recording is, on a terminal."""
        if self.saved and self.live.on:
            note(f"recorded in {self.record}; agentfp steps {self.record} walks through it", "dim")

    async def _shut_down(self) -> None:
        import anyio

        from agentfp_core.errors import PluginError

        with anyio.move_on_after(10, shield=True):
            try:
                await self.agent.shutdown()
            except PluginError as error:
                note(str(error), "yellow")
