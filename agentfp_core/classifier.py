"""What plugins ask when one of a few answers is wanted: questions, answers, and the protocol of what answers them.

A number stands in an answer only if whoever answered gave it: nothing is renormalised, filled in or guessed from the others.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, runtime_checkable

from agentfp_core.messages import Usage

if TYPE_CHECKING:
    from agentfp_core.run import Run


@dataclass(frozen=True, slots=True)
class Choice:
    """Which one of these is it.

    Args:
        instructions: what is asked.
        criteria: what may be chosen, each with what it means.
    """

    instructions: str
    criteria: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Likelihood:
    """How likely is it that this is so.

    Args:
        instructions: what is asked; it can be true or false.
    """

    instructions: str


@dataclass(frozen=True, slots=True)
class Score:
    """How far up a ladder is it.

    Args:
        instructions: what is asked.
        criteria: the rungs in words, the lowest first.
    """

    instructions: str
    criteria: tuple[str, ...]


ClassifyQuestion: TypeAlias = Choice | Likelihood | Score


@dataclass(frozen=True, slots=True)
class ChoiceAnswer:
    """The answer to a :class:`Choice`.

    Args:
        choice: what was chosen, in the answerer's word.
        confidence: how sure it is, 0 to 1.
        probabilities: of the criteria that it scored; one that it did not score is absent.
    """

    choice: str
    confidence: float | None = None
    probabilities: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class LikelihoodAnswer:
    """The answer to a :class:`Likelihood`.

    Args:
        likelihood: 0 to 1.
    """

    likelihood: float


@dataclass(frozen=True, slots=True)
class ScoreAnswer:
    """The answer to a :class:`Score`.

    Args:
        score: the rung, 0 for the lowest; it may lie between two.
        confidence: how sure it is, 0 to 1.
        probabilities: of the rungs that it scored.
    """

    score: float
    confidence: float | None = None
    probabilities: Mapping[int, float] = field(default_factory=dict)


ClassifyAnswer: TypeAlias = ChoiceAnswer | LikelihoodAnswer | ScoreAnswer


@dataclass(frozen=True, slots=True)
class ClassifyRequest:
    """Questions about one thing.

    Args:
        state: the thing, as JSON data by name.
        questions: by id.
    """

    state: Mapping[str, Any]
    questions: Mapping[str, ClassifyQuestion]


@dataclass(frozen=True, slots=True)
class ClassifyResult:
    """Answers.

    Args:
        answers: by the question's id; a question that was not answered is absent.
        model: what answered.
        usage: tokens, where it reports any.
    """

    answers: Mapping[str, ClassifyAnswer]
    model: str = ""
    usage: Usage | None = None


@runtime_checkable
class Classifier(Protocol):
    """Answers questions with one of a few answers. One object serves many runs at once."""

    @property
    def name(self) -> str:
        """Its name on the record."""

    async def classify(self, request: ClassifyRequest, run: Run[Any]) -> ClassifyResult:
        """Answer.

        Args:
            request: the questions.
            run: the run that asks; one that calls a model does so with ``run.call_model``, so that it is billed and recorded.

        Raises:
            ClassifierError: there is no answer.
        """
