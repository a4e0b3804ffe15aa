from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

from benchmarks.grow import Alias, alias_of, altered, altered_id, grow, main
from benchmarks.rows import BenchmarkError, read_rows
from hybridrank.tasks.finance.profile import profile_report
from hybridrank.text.tokens import Tokenizer
from tests.tasks.finance.tiny_data import write_tiny_data


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny_data(tmp_path_factory.mktemp("data"))


def grown(data: Path, output: Path, **size: Any) -> tuple[dict[str, Any], list[Any], list[Any]]:
    given: dict[str, Any] = {
        "corpus": "tiny",
        "reports": 20,
        "megabytes": 0.15,
        "questions": 50,
        "shortest": 0,
    }
    found = grow(data, output, **(given | size))
    return found, list(read_rows(output / "reports.jsonl")), list(read_rows(output / "questions.jsonl"))


def test_reports_and_questions_of_the_wanted_number_and_size(data: Path, tmp_path: Path) -> None:
    found, reports, questions = grown(data, tmp_path)
    assert (len(reports), len(questions)) == (20, 50)
    assert len({row["document_id"] for row in reports}) == 20
    assert len({row["query_id"] for row in questions}) == 50
    assert found["characters"] == sum(len(row["text"]) for row in reports)
    assert 0.8 < found["characters"] / 150_000 < 1.2
    assert found["sources"] == 12


def test_the_same_seed_gives_the_same_bytes_and_another_others(data: Path, tmp_path: Path) -> None:
    one, two, other = (
        grown(data, tmp_path / name, seed=seed)[1:] for name, seed in (("a", 1), ("b", 1), ("c", 2))
    )
    assert one == two
    assert one[0] != other[0]
    assert one[1] != other[1]


def test_fewer_reports_than_there_are(data: Path, tmp_path: Path) -> None:
    found, reports, _ = grown(data, tmp_path, reports=3)
    assert len(reports) == found["reports"] == 3


def test_a_copy_is_that_of_another_company(data: Path, tmp_path: Path) -> None:
    _, reports, questions = grown(data, tmp_path)
    sources = list(read_rows(data / "corpus-tiny" / "reports.jsonl"))
    for source, copy in zip(sources, reports, strict=False):
        company = profile_report(source["document_id"], source["text"], Tokenizer()).name
        named = company.lower().partition(",")[0]
        assert named in source["text"].lower()
        assert named not in copy["text"].lower()
        assert copy["document_id"].split("_")[0] not in source["text"]
        assert copy["text"].count("\n") == source["text"].count("\n")
    names = {word for row in reports for word in row["text"].split() if word.istitle()}
    known = {word for row in sources for word in row["text"].split()}
    assert sum(any(word in names - known for word in row["question"].split()) for row in questions) > 5


def test_a_number_is_the_same_wherever_it_stands_and_other_years_are_as_far_apart() -> None:
    alias = Alias(words={"zorvan": "belisto"}, years=3)
    text = altered(
        "Zorvan's 1,234.5 in 2019 and 2018; zorvan: 1,234.5, 37 of them, Act of 1934", alias, random.Random(7)
    )
    assert text.startswith("Belisto's ")
    first, *_ = text.split()[1:]
    assert text.count(first) == 2
    assert "1,234.5" not in text
    assert "in 2022 and 2021; belisto: " in text
    assert text.endswith(", 37 of them, Act of 1934")


def test_a_name_of_several_words() -> None:
    alias = alias_of("BEST_BUY_2019_10K", "Best Buy Co., Inc.\nOur best stores. Buy!", random.Random(0))
    assert list(alias.words) == ["best", "buy", "bestbuy"]
    name = "_".join(alias.words[word].upper() for word in ("best", "buy"))
    assert altered_id("BEST_BUY_2019_10K", alias) == f"{name}_{2019 + alias.years}_10K"


@pytest.mark.parametrize("missing", ["reports", "questions"])
def test_what_is_missing_is_said(data: Path, tmp_path: Path, missing: str) -> None:
    if missing == "reports":
        with pytest.raises(BenchmarkError, match="no report of 99999999 characters or more"):
            grown(data, tmp_path, shortest=99_999_999)
    else:
        other = tmp_path / "corpus-tiny"
        other.mkdir()
        (other / "reports.jsonl").write_text(json.dumps({"document_id": "A_2019", "text": "a"}))
        with pytest.raises(BenchmarkError, match=r"no NAME\.queries\.jsonl"):
            grown(tmp_path, tmp_path / "grown")


def test_the_command_says_what_it_wrote(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    size = ["--reports", "13", "--megabytes", "0.1", "--questions", "5", "--shortest", "0"]
    arguments = ["--data", str(data), "--output", str(tmp_path / "out"), "--corpus", "tiny", *size]
    assert main(arguments) == 0
    assert capsys.readouterr().err.startswith("13 reports (")
    assert main(["--data", str(tmp_path), "--output", str(tmp_path / "out")]) == 1
    assert "error:" in capsys.readouterr().err
