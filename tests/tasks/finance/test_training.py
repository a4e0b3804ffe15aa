from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybridrank.errors import InputError, MissingExtra
from hybridrank.evaluation.significance import paired_interval
from hybridrank.ranking_model import RankingModel
from hybridrank.tasks.finance import FinanceIndex, training
from hybridrank.tasks.finance.candidates import CandidateFinder, Weights
from hybridrank.tasks.finance.features import GROUPS, NAMES, EvidenceFeatures
from hybridrank.tasks.finance.ranker import DEPTH, WINDOWS, open_model
from hybridrank.tasks.finance.scoring import Label, Place, covers, page_hit
from hybridrank.tasks.finance.spans import choose, cover
from hybridrank.tasks.finance.training import (
    TRAINING_SETS,
    Example,
    ceilings,
    cross_validate,
    plot,
    pyplot_for_files,
    read_examples,
    study,
    train,
)
from tests.tasks.finance.tiny_data import rows_of, write_set, write_tiny_data

SETS = ["tiny/finqa-named", "tiny/finqa-raw", "tiny/other", "tiny/pages"]
FEW = 4  # rounds: enough to learn something


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny_data(tmp_path_factory.mktemp("data"))


@pytest.fixture(scope="module")
def examples(data: Path) -> list[Example]:
    return read_examples(data)


@pytest.fixture(scope="module")
def with_units(examples: list[Example]) -> list[Example]:
    return [example for example in examples if not example.label.pages]


def made(n: int = 4, **changed: Any) -> Example:
    """An example of windows one after the other, of which the second holds all the evidence."""
    start = 10 * np.arange(n)
    example = Example(
        set_name="tiny/finqa-raw",
        query_id="q",
        company="zorvan",
        label=Label(query_id="q", units=((Place("a", 12, 18),),)),
        features=np.zeros((n, len(NAMES)), dtype=np.float32),
        grade=np.where(np.arange(n) == 1, 2, 0),
        score=np.linspace(1, 0, n),
        document=np.zeros(n, dtype=np.int64),
        documents=("a",),
        start=start,
        end=start + 10,
    )
    return replace(example, **changed)


# -- examples


def test_every_question_is_an_example(
    data: Path, examples: list[Example], sample_index: FinanceIndex
) -> None:
    assert sorted({example.set_name for example in examples}) == SETS
    assert len(examples) == len(rows_of("questions.jsonl")) + 6
    finder = CandidateFinder(sample_index.reports, Weights(depth=DEPTH))
    features = EvidenceFeatures(finder)
    texts = {row["query_id"]: row["question"] for row in rows_of("questions.jsonl")}
    profiles = dict(zip(sample_index.reports.ids, sample_index.reports.profiles, strict=True))
    for example in examples[::5]:
        found = finder.find(texts[example.query_id])
        assert found is not None
        found = found.best(WINDOWS)
        np.testing.assert_array_equal(example.features, features.compute(found))
        assert example.score.tolist() == found.score.tolist()
        ids = [sample_index.reports.ids[report] for report in found.report.tolist()]
        assert [example.documents[number] for number in example.document.tolist()] == ids
        assert (example.start.tolist(), example.end.tolist()) == (found.start.tolist(), found.end.tolist())
        companies = {profiles[document].name.lower() for document in example.label.documents}
        assert example.company in companies


def test_grades_say_how_much_of_the_evidence_a_window_holds(examples: list[Example]) -> None:
    seen = set()
    for example in examples:
        for place, grade in enumerate(example.grade.tolist()):
            span = Place(
                example.documents[example.document[place]], int(example.start[place]), int(example.end[place])
            )
            units = example.label.units
            n_held = sum(any(covers([span], one) for one in unit) for unit in units)
            assert grade == (2 if 0 < n_held == len(units) else min(n_held, 1))
            seen.add((grade, len(units) > 1))
    assert {(2, False), (1, True), (2, True), (0, True)} <= seen


def test_sets_can_be_chosen_and_what_is_done_is_told(data: Path, examples: list[Example]) -> None:
    told: list[str] = []
    some = read_examples(data, sets=TRAINING_SETS, tell=told.append)
    assert {example.set_name for example in some} == {f"tiny/{name}" for name in TRAINING_SETS}
    assert all(example.may_be_learned_from for example in some)
    assert told == [
        "indexing corpus tiny",
        "finding candidates of finqa-named in tiny",
        "finding candidates of finqa-raw in tiny",
    ]
    assert [example.set_name for example in examples if not example.may_be_learned_from] == [
        name for name in SETS for example in examples if example.set_name == name if name in SETS[2:]
    ]


def test_questions_of_unknown_words_are_left_out_and_what_fits_no_corpus_is_told(tmp_path: Path) -> None:
    write_tiny_data(tmp_path)
    label = rows_of("labels.jsonl")[0]
    questions = [{"query_id": "x", "question": "Unheard-of?"}, {"query_id": "y", "question": "Net sales?"}]
    write_set(tmp_path, "odd", questions, [label | {"query_id": name} for name in "xy"])
    foreign = [[{"document_id": "nowhere", "start": 0, "end": 1}]]
    write_set(tmp_path, "far", questions[:1], [{"query_id": "x", "units": foreign}])
    told: list[str] = []
    assert [one.query_id for one in read_examples(tmp_path, sets=["far", "odd"], tell=told.append)] == ["y"]
    assert "no corpus holds the labelled reports of far" in told


def test_a_question_that_cannot_be_learned_from_is_named(tmp_path: Path) -> None:
    write_tiny_data(tmp_path)
    questions, labels = rows_of("questions.jsonl"), rows_of("labels.jsonl")
    write_set(tmp_path, "short", questions[:2], labels[:1])
    with pytest.raises(
        InputError, match=rf"short\.queries\.jsonl: there is no label for '{labels[1]['query_id']}'"
    ):
        read_examples(tmp_path, sets=["short"])
    write_set(tmp_path, "bad", [{"query_id": "x"}], labels[:1])
    with pytest.raises(InputError, match=r"bad\.queries\.jsonl, line 1: "):
        read_examples(tmp_path, sets=["bad"])


def test_quality_is_the_contract_s() -> None:
    units = ((Place("a", 12, 18), Place("b", 0, 9)), (Place("a", 5, 15),))
    example = made(label=Label(query_id="q", units=units))
    assert [example.quality(places) for places in ([], [1], [0], [0, 1])] == [0.0, 0.5, 0.0, 1.0]
    paged = made(label=Label(query_id="q", pages=(Place("a", 0, 15),)))
    assert [paged.quality(places) for places in ([], [0], [1], [3], [2, 0])] == [0.0, 1.0, 1.0, 0.0, 1.0]


def test_the_ceiling_is_what_any_of_the_best_windows_holds() -> None:
    units = ((Place("a", 12, 18), Place("b", 0, 9)), (Place("a", 31, 39),), (Place("a", 5, 15),))
    example = made(label=Label(query_id="q", units=units))
    assert [example.ceiling(depth) for depth in (0, 1, 2, 4, 99)] == [0, 0, 1 / 3, 2 / 3, 2 / 3]
    assert replace(example, score=example.score[::-1]).ceiling(1) == 1 / 3
    paged = made(label=Label(query_id="q", pages=(Place("a", 15, 30),)))
    assert [paged.ceiling(depth) for depth in (0, 1, 2)] == [0, 0, 1]


def test_the_best_choice_takes_the_windows_that_hold_most() -> None:
    units = ((Place("a", 12, 18), Place("b", 0, 9)), (Place("a", 31, 39),), (Place("a", 5, 15),))
    example = made(label=Label(query_id="q", units=units))
    most = int(example.holds().sum(axis=1).max())
    assert [example.best_choice(n) for n in (0, 1, 5)] == [0, most / 3, example.ceiling(99)]
    paged = made(label=Label(query_id="q", pages=(Place("a", 15, 30),)))
    assert [paged.best_choice(n) for n in (0, 1)] == [0, 1]


def test_each_window_that_holds_a_unit_is_known(examples: list[Example]) -> None:
    for example in examples:
        holds = example.holds()
        units = example.label.units
        assert holds.shape == (len(example.start), max(len(units), 1))
        spans = [
            Place(example.documents[document], start, end)
            for document, start, end in zip(
                example.document.tolist(), example.start.tolist(), example.end.tolist(), strict=True
            )
        ]
        for span, held in zip(spans, holds.tolist(), strict=True):
            if units:
                assert held == [any(covers([span], place) for place in unit) for unit in units]
            else:
                assert held == [page_hit(example.label.pages, [span]) == 1]


tables = st.integers(1, 4).flatmap(
    lambda n: st.lists(st.lists(st.booleans(), min_size=n, max_size=n), min_size=1, max_size=6)
)


@given(tables, st.integers(0, 3))
def test_the_best_choice_is_as_good_as_a_greedy_one_must_be(table: list[list[bool]], n_spans: int) -> None:
    n_units = len(table[0])
    units = tuple(
        tuple(Place("a", 10 * row, 10 * row + 10) for row in range(len(table)) if table[row][unit])
        for unit in range(n_units)
    )
    example = made(len(table), label=Label(query_id="q", units=units))
    assert example.holds().tolist() == table
    best = max(
        sum(any(table[row][unit] for row in rows) for unit in range(n_units)) / n_units
        for rows in combinations(range(len(table)), min(n_spans, len(table)))
    )
    # Nemhauser et al., 1978
    assert (1 - 1 / math.e) * best - 1e-9 <= example.best_choice(n_spans) <= best
    if n_spans == 1 or n_units == 1:
        assert example.best_choice(n_spans) == best


def test_ceilings_are_means() -> None:
    units = ((Place("a", 12, 18),), (Place("a", 31, 39),))
    half = made(label=Label(query_id="q", units=(units[0], (Place("b", 0, 1),))))
    every = made(label=Label(query_id="q", units=units))
    none = made(label=Label(query_id="q", pages=(Place("b", 0, 10),)))
    names = ["candidates_150", f"candidates_{WINDOWS}", "best_5"]
    assert ceilings([every]) == dict.fromkeys(names, 1.0)
    assert ceilings([half, none]) == dict.fromkeys(names, 0.25)


# -- training


def test_the_same_examples_give_the_same_bytes(with_units: list[Example], tmp_path: Path) -> None:
    for name in ("one", "other"):
        train(with_units, rounds=FEW).save(tmp_path / name)
    one, other = (
        {path.name: path.read_bytes() for path in (tmp_path / name).iterdir()} for name in ("one", "other")
    )
    assert one == other
    assert train(with_units, rounds=FEW, seed=1).settings() != train(with_units, rounds=FEW).settings()
    opened = open_model(tmp_path / "one")
    assert opened is not None
    assert opened.names == NAMES


def test_training_orders_the_examples_better_than_chance(with_units: list[Example]) -> None:
    model = train(with_units, rounds=20)
    ours, chance = [], []
    for example in with_units:
        if example.grade.any():
            order = np.argsort(-model.predict(example.features), kind="stable")
            ours.append(example.grade[order[:5]].max() > 0)
            chance.append((example.grade > 0).mean() * 5)
    assert np.mean(ours) > 0.8 > 4 * np.mean(chance)


def test_features_that_are_withheld_are_not_gone_by(with_units: list[Example]) -> None:
    before = [example.features.copy() for example in with_units]
    gains = train(with_units, rounds=FEW, without=GROUPS["order"]).importances()
    assert {name for name in GROUPS["order"] if gains[name]} == set()
    assert any(train(with_units, rounds=FEW).importances()[name] for name in GROUPS["order"])
    for example, features in zip(with_units, before, strict=True):
        np.testing.assert_array_equal(example.features, features)


def test_examples_without_evidence_teach_nothing(with_units: list[Example]) -> None:
    holding = [example for example in with_units if example.grade.any()]
    barren = replace(holding[0], grade=np.zeros_like(holding[0].grade))
    assert train([*holding, barren], rounds=FEW).training["queries"] == len(holding)
    for none in ([], [barren]):
        with pytest.raises(InputError, match="no candidate holds labelled evidence"):
            train(none, rounds=FEW)


def test_labels_by_page_are_refused(examples: list[Example]) -> None:
    paged = next(example for example in examples if example.label.pages)
    with pytest.raises(InputError, match=rf"the label of '{paged.query_id}' names pages"):
        train([*examples[:3], paged])


def test_a_sample_keeps_the_best_and_some_of_the_rest() -> None:
    n = 2000
    score = np.random.default_rng(3).permutation(n).astype(float)
    example = made(n, score=score)
    sample = training._sample(example, np.random.default_rng(0))
    assert sample.tolist() == sorted(set(sample.tolist()))
    assert set(np.flatnonzero(score >= n - 60).tolist()) <= set(sample.tolist())
    assert len(sample) - 60 == pytest.approx(0.12 * (n - 60), rel=0.2)
    assert training._sample(example, np.random.default_rng(1)).tolist() != sample.tolist()
    assert training._sample(made(5), np.random.default_rng(0)).tolist() == [0, 1, 2, 3, 4]


def test_a_sample_does_not_look_at_grades() -> None:
    one = made(500)
    other = replace(one, grade=1 - np.minimum(one.grade, 1))
    samples = [training._sample(example, np.random.default_rng(0)).tolist() for example in (one, other)]
    assert samples[0] == samples[1]


# -- companies held out


class Judge:
    """Stands in for a model, and remembers who it learned from and who it was asked about."""

    def __init__(self, learned: Sequence[Example], without: Sequence[str]) -> None:
        self.learned, self.without = learned, tuple(without)
        self.asked: list[bytes] = []

    def predict(self, features: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        places = [NAMES.index(name) for name in self.without]
        assert np.isnan(features[:, places]).all()
        self.asked.append(features.tobytes())
        score: np.ndarray[Any, Any] = np.nan_to_num(features[:, NAMES.index("score")].astype(float))
        return score


Judges = list[Judge]


@pytest.fixture
def judges(monkeypatch: pytest.MonkeyPatch) -> Judges:
    found: Judges = []

    def spy(examples: Iterable[Example], *, without: Sequence[str] = ()) -> Judge:
        found.append(Judge(list(examples), without))
        return found[-1]

    monkeypatch.setattr(training, "train", spy)
    return found


def test_no_company_is_both_learned_and_judged(examples: list[Example], judges: Judges) -> None:
    quality = cross_validate(examples)
    assert len(judges) == 5
    companies: dict[bytes, set[str]] = {}
    for example in examples:
        companies.setdefault(example.features.tobytes(), set()).add(example.company)
    asked = [one for judge in judges for one in judge.asked]
    assert sorted(asked) == sorted(example.features.tobytes() for example in examples)  # each once
    for judge in judges:
        judged = {name for one in judge.asked for name in companies[one]}
        learned = {example.company for example in judge.learned}
        assert not judged & learned
        assert judged | learned == {example.company for example in examples}
        assert all(example.may_be_learned_from for example in judge.learned)
    for example, value in zip(examples, quality.tolist(), strict=True):
        score = example.features[:, NAMES.index("score")].astype(float)
        assert value == example.quality(cover(example.document, example.start, example.end, score))


def test_folds_are_told_and_their_number_can_be_chosen(examples: list[Example], judges: Judges) -> None:
    told: list[str] = []
    cross_validate(examples, folds=3, tell=told.append)
    assert told == ["fold 1 of 3", "fold 2 of 3", "fold 3 of 3"]
    assert len(judges) == 3


@pytest.mark.parametrize("share", [0.01, 0.125, 0.5, 0.75])
def test_a_share_of_the_other_companies_is_learned_from(
    examples: list[Example], judges: Judges, share: float
) -> None:
    cross_validate(examples)
    cross_validate(examples, share=share)
    everything, some = judges[:5], judges[5:]
    for whole, part in zip(everything, some, strict=True):
        companies = [{example.company for example in judge.learned} for judge in (whole, part)]
        assert companies[1] <= companies[0]
        assert len(companies[1]) == math.ceil(share * len(companies[0]))
        assert [one for one in whole.learned if one.company in companies[1]] == part.learned
        assert whole.asked == part.asked


def test_what_is_left_out_of_training_is_left_out_of_judging(examples: list[Example], judges: Judges) -> None:
    before = [example.features.copy() for example in examples]
    cross_validate(examples, without=GROUPS["words"])  # the judge looks whether they are there
    assert {judge.without for judge in judges} == {GROUPS["words"]}
    for example, features in zip(examples, before, strict=True):
        np.testing.assert_array_equal(example.features, features)


def test_a_study_has_all_that_the_model_card_shows(examples: list[Example], judges: Judges) -> None:
    told: list[str] = []
    report = study(examples, tell=told.append)
    assert json.loads(json.dumps(report)) == report
    assert set(report) == {"sets", "without", "share"}
    assert list(report["sets"]) == SETS
    groups = [group for group in GROUPS if group != "neural"]
    assert list(report["without"]) == groups
    assert list(report["share"]) == ["0.125", "0.25", "0.5", "1.0"]
    for by_set in (*report["without"].values(), *report["share"].values()):
        assert list(by_set) == SETS
        assert all(0 <= value <= 1 for value in by_set.values())
    for name, row in report["sets"].items():
        of_set = [example for example in examples if example.set_name == name]
        assert row["questions"] == len(of_set)
        before = [one.quality(choose(one.document, one.start, one.end, one.score)) for one in of_set]
        assert row["unlearned"] == pytest.approx(np.mean(before))
        assert row["learned"] == report["share"]["1.0"][name]
        low, high = row["difference_95"]
        assert low <= row["learned"] - row["unlearned"] <= high
        # What two windows hold together is not in the ceilings, hence the margin.
        assert 0 < row["candidates_150"] <= row[f"candidates_{WINDOWS}"] <= 1
        assert row["learned"] <= row["best_5"] + 0.05
        assert row["best_5"] <= row[f"candidates_{WINDOWS}"]
        assert {name: row[name] for name in ceilings(of_set)} == ceilings(of_set)
    assert len(judges) == 5 * (1 + len(groups) + 3)
    assert told[:2] == ["cross-validation", "fold 1 of 5"]
    assert told[-3:] == [f"learning from {share} of the companies" for share in ("12.5%", "25.0%", "50.0%")]


def test_a_study_trains_for_real_too(examples: list[Example], monkeypatch: pytest.MonkeyPatch) -> None:
    real = training.train
    monkeypatch.setattr(training, "train", lambda examples, **how: real(examples, rounds=2, **how))
    monkeypatch.setattr(training, "GROUPS", {"order": GROUPS["order"], "neural": GROUPS["neural"]})
    # So few examples, of one company: smaller leaves, or nothing can be told apart.
    monkeypatch.setattr(training, "PARAMETERS", {"num_leaves": 7, "min_data_in_leaf": 5})
    assert study(examples) == study(examples)


def test_a_study_gives_the_published_interval() -> None:
    # What stood in the first study must come out again: the bootstrap as it was written there.
    differences = np.random.default_rng(5).normal(0.2, 0.5, 40)
    random = np.random.default_rng(0)
    means = differences[random.integers(0, 40, size=(2000, 40))].mean(axis=1)
    low, high = paired_interval(differences, np.zeros(40), resamples=training._RESAMPLES)[1:]
    assert [low, high] == np.percentile(means, (2.5, 97.5)).tolist()


# -- the plot


class Canvas:
    """Stands in for matplotlib, and remembers what was drawn."""

    def __init__(self) -> None:
        self.drawn: list[tuple[str, tuple[Any, ...]]] = []

    def __getattr__(self, name: str) -> Callable[..., Any]:
        def draw(*given: Any, **more: Any) -> Any:
            self.drawn.append((name, given))
            if name == "savefig":
                Path(given[0]).write_bytes(b"\x89PNG\r\n")
            return (self, self) if name == "subplots" else None

        return draw


@pytest.fixture
def model(with_units: list[Example]) -> RankingModel:
    return train(with_units, rounds=FEW)


def test_the_plot_shows_the_features_that_were_gone_by(
    model: RankingModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    canvas = Canvas()
    monkeypatch.setattr(training, "pyplot_for_files", lambda: canvas)
    plot(model, tmp_path / "plot.png")
    drawn = dict(canvas.drawn)
    names, shares = drawn["barh"]
    gains = {name: gain for name, gain in model.importances().items() if gain > 0}
    assert names == list(gains)[::-1]
    assert sum(shares) == pytest.approx(100)
    assert shares == sorted(shares)
    assert (tmp_path / "plot.png").read_bytes().startswith(b"\x89PNG")
    assert "close" in drawn


def test_the_plot_is_a_png_where_it_can_be_drawn(model: RankingModel, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    plot(model, tmp_path / "plot.png")
    assert (tmp_path / "plot.png").read_bytes().startswith(b"\x89PNG\r\n\x1a\n")


def test_matplotlib_is_told_to_draw_into_files(monkeypatch: pytest.MonkeyPatch) -> None:
    fake, pyplot = ModuleType("matplotlib"), ModuleType("matplotlib.pyplot")
    used: list[str] = []
    vars(fake).update(use=used.append, pyplot=pyplot, __path__=[])
    monkeypatch.setitem(sys.modules, "matplotlib", fake)
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", pyplot)
    assert pyplot_for_files() is pyplot
    assert used == ["Agg"]


def test_without_matplotlib_the_extra_is_named(
    model: RankingModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingExtra, match=r"matplotlib.*hybridrank\[bench\]"):
        plot(model, tmp_path / "plot.png")
    assert not list(tmp_path.iterdir())
