from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal
from unittest import mock

import numpy as np
import pytest
from numpy.typing import NDArray

from hybridrank.budget import Budget, Ledger
from hybridrank.errors import InputError
from hybridrank.tasks.finance import FinanceIndex
from hybridrank.tasks.finance.features import NAMES
from hybridrank.tasks.finance.neural import NeuralScores, NeuralSignals
from hybridrank.tasks.finance.training import read_examples, train
from tests.tasks.finance.tiny_data import rows_of, write_tiny_data


@dataclass
class Answer:
    scores: Any


@dataclass
class Scorer:
    """Scores a text by its length, or does what a test wants."""

    answer: Any = None
    calls: list[tuple[str, list[str], float | None]] = field(default_factory=list)

    def rerank(
        self,
        query: str,
        documents: Sequence[str],
        *,
        ledger: Ledger | None = None,
        deadline: float | None = None,
    ) -> Any:
        self.calls.append((query, list(documents), deadline))
        if isinstance(self.answer, Exception):
            raise self.answer
        return Answer([float(len(text)) for text in documents] if self.answer is None else self.answer)


@dataclass
class Embedder:
    model: str = "lengths"
    dimension: int = 2
    vectors: Any = None

    def embed(self, texts: Sequence[str], *, task: Literal["query", "passage"]) -> NDArray[np.float32]:
        if self.vectors is not None:
            return np.asarray(self.vectors, dtype=np.float32)
        return np.array([[len(text), 100.0] for text in texts], dtype=np.float32)


WINDOWS = ["a", "bbb", "ccccc"]


def test_scores_are_standard_whatever_the_service_counts_in() -> None:
    small = NeuralSignals(scorer=Scorer([0.1, 0.2, 0.3])).ask("q", WINDOWS)
    large = NeuralSignals(scorer=Scorer([-500.0, 0.0, 500.0])).ask("q", WINDOWS)
    assert np.allclose(small.cross_encoder, large.cross_encoder)
    assert np.isclose(small.cross_encoder.mean(), 0)
    assert np.isclose(small.cross_encoder.std(), 1)
    assert np.isnan(small.dense).all()
    assert small.degraded is None


def test_cosines_do_not_depend_on_lengths() -> None:
    said = NeuralSignals(embedder=Embedder()).ask("aaaaa", WINDOWS)
    assert said.dense.argmax() == 2
    assert np.isnan(said.cross_encoder).all()
    assert np.allclose(said.together(), said.dense)


def test_together_is_the_mean_of_what_there_is() -> None:
    nothing = np.full(2, np.nan)
    some = np.array([1.0, -1.0])
    assert NeuralScores(dense=nothing, cross_encoder=nothing).together().tolist() == [0.0, 0.0]
    assert NeuralScores(dense=some, cross_encoder=3 * some).together().tolist() == [2.0, -2.0]


def test_equal_scores_say_nothing() -> None:
    assert NeuralSignals(scorer=Scorer([7.0, 7.0, 7.0])).ask("q", WINDOWS).together().tolist() == [0.0] * 3


def test_a_blank_window_has_no_score() -> None:
    said = NeuralSignals(scorer=Scorer([1.0, -np.inf, 3.0])).ask("q", ["a", " ", "c"])
    assert np.isnan(said.cross_encoder).tolist() == [False, True, False]
    assert said.together().tolist() == [-1.0, 0.0, 1.0]


@pytest.mark.parametrize("fault", [[1.0], [[1.0]], OSError("gone"), ValueError()])
def test_a_failing_scorer_is_left_out_and_said_so(fault: object) -> None:
    signals = NeuralSignals(scorer=Scorer(fault), embedder=Embedder())
    said = signals.ask("q", WINDOWS)
    assert np.isnan(said.cross_encoder).all()
    assert not np.isnan(said.dense).any()
    assert said.degraded is not None
    assert said.degraded.startswith("cross_encoder left out: ")
    assert signals.degraded == 1


@pytest.mark.parametrize("vectors", [[[1.0, 2.0]] * 2, [[np.nan, 1.0]] * 3, [1.0, 2.0, 3.0]])
def test_a_failing_embedder_is_left_out(vectors: object) -> None:
    said = NeuralSignals(embedder=Embedder(vectors=vectors)).ask("q", WINDOWS)
    assert np.isnan(said.dense).all()
    assert said.degraded is not None


def test_a_service_that_keeps_failing_is_asked_no_more_and_one_success_forgives() -> None:
    scorer = Scorer(OSError("gone"))
    signals = NeuralSignals(scorer=scorer, patience=2)
    signals.ask("q", WINDOWS)
    scorer.answer = None
    signals.ask("q", WINDOWS)
    scorer.answer = OSError("gone")
    for _ in range(5):
        said = signals.ask("q", WINDOWS)
    assert len(scorer.calls) == 4
    assert said.degraded == "cross_encoder given up after 2 failures"


def test_one_window_and_a_blank_question_are_not_asked_about() -> None:
    scorer = Scorer()
    signals = NeuralSignals(scorer=scorer)
    assert signals.ask("q", ["a"]).degraded is None
    assert signals.ask(" ", WINDOWS).degraded is None
    assert scorer.calls == []


def test_the_time_left_is_shared_among_the_questions_to_come() -> None:
    scorer = Scorer()
    ledger = Ledger(Budget(seconds=100), clock=lambda: 0.0)
    signals = NeuralSignals(scorer=scorer, ledger=ledger)
    signals.expect(4)
    for _ in range(5):
        signals.ask("q", WINDOWS)
    assert [deadline for _, _, deadline in scorer.calls] == [25.0, 100 / 3, 50.0, 100.0, 100.0]


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"scorer": Scorer(), "depth": 1},
        {"scorer": Scorer(), "weight": -1},
        {"scorer": Scorer(), "weight": np.nan},
        {"scorer": Scorer(), "patience": 0},
    ],
)
def test_what_cannot_be_is_refused(options: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        NeuralSignals(**options)


SETS = ["finqa-raw", "finqa-named"]
QUESTION = "What were the net sales in 2021?"


@pytest.mark.parametrize("model", [None, "shipped"])
def test_services_change_the_order_of_the_best_windows_only(
    sample_directory: Path, model: Literal["shipped"] | None
) -> None:
    plain = FinanceIndex.open(sample_directory, model=model)
    scorer = Scorer()
    index = FinanceIndex.open(
        sample_directory, model=model, neural=NeuralSignals(scorer=scorer, depth=7, weight=50)
    )
    before, after = plain.spans(QUESTION), index.spans(QUESTION)
    ((asked, windows, _),) = scorer.calls
    assert asked == QUESTION
    assert len(windows) == 7
    first = after[0]
    (report,) = [place for place, name in enumerate(plain.reports.ids) if name == first.document_id]
    assert plain.text(report)[first.start : first.end] == max(windows, key=len)
    assert before != after


@pytest.mark.parametrize("model", [None, "shipped"])
def test_without_an_answer_or_a_weight_the_order_is_the_one_without_services(
    sample_directory: Path, model: Literal["shipped"] | None
) -> None:
    plain = FinanceIndex.open(sample_directory, model=model).spans(QUESTION)
    for signals in (NeuralSignals(scorer=Scorer(OSError())), NeuralSignals(scorer=Scorer(), weight=0)):
        assert FinanceIndex.open(sample_directory, model=model, neural=signals).spans(QUESTION) == plain


def test_a_question_without_known_words_asks_nothing(sample_directory: Path) -> None:
    scorer = Scorer()
    index = FinanceIndex.open(sample_directory, neural=NeuralSignals(scorer=scorer))
    assert index.spans("xyzzy") == []
    assert scorer.calls == []


class Knowing:
    """A scorer that knows which windows hold evidence, and says so for questions that a test names."""

    def __init__(self, evidence: set[str]) -> None:
        self.evidence = evidence

    def rerank(self, query: str, documents: Sequence[str], **_: Any) -> Any:
        return Answer([float(any(held in text for held in self.evidence)) for text in documents])


def test_a_model_learns_what_a_service_is_worth_and_uses_it(
    tmp_path: Path, sample_directory: Path, sample_texts: dict[str, str]
) -> None:
    data = write_tiny_data(tmp_path / "data")
    plain = read_examples(data, sets=SETS)
    evidence = {
        sample_texts[place.document_id][place.start : place.end]
        for example in plain
        for unit in example.label.units
        for place in unit
    }
    signals = NeuralSignals(scorer=Knowing(evidence))
    examples = read_examples(data, sets=SETS, neural=signals)
    column = NAMES.index("cross_encoder")
    assert all(np.isnan(example.features[:, column]).all() for example in plain)
    asked = [int(np.isfinite(example.features[:, column]).sum()) for example in examples]
    assert asked == [min(signals.depth, len(example.start)) for example in examples]
    model = train(examples, rounds=20)
    assert model.importances()["cross_encoder"] > 0
    better = np.concatenate([example.features for example in examples])
    before = model.predict(better)
    better[:, column] += 1.0
    assert (model.predict(better) >= before).all()  # more relevant is never worse
    assert "monotone_constraints" in model.training["parameters"]
    assert "monotone_constraints" not in train(plain, rounds=2).training["parameters"]
    model.save(tmp_path / "model")
    trained = FinanceIndex.open(sample_directory, model=tmp_path / "model")
    served = FinanceIndex.open(sample_directory, model=tmp_path / "model", neural=signals)
    assert trained.ranker is not None
    assert trained.ranker.has_learned_neural
    questions = [question["question"] for question in rows_of("questions.jsonl")]
    pulls = [
        [[one.pulls["cross_encoder"] for one in index.evidence(question)] for question in questions]
        for index in (trained, served)
    ]
    assert pulls[0] != pulls[1]
    assert trained.spans_many(questions) != served.spans_many(questions)
    assert served.ranker is not None
    with mock.patch.object(
        served.ranker.features, "compute", wraps=served.ranker.features.compute
    ) as compute:
        served.evidence(questions[0])
    assert compute.call_count == 1
