import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from hybridrank.text import folding
from hybridrank.text.folding import FoldedText, fold

ANY_TEXT = st.text(st.characters(exclude_categories=()))
# Letters with marks, parts of syllables, and signs that fold to several characters, close together.
TRICKY = st.text(
    st.sampled_from(
        "aEi \u0301\u0327\u0307Éﬁ½²™®İßΣςक\u093f\u094d\u0bc6\u0bbe가ᄀ\u1161\u11a8ㄱㅏｶﾞ\u200d\u200b\xad’–"
    ),
    max_size=12,
)


@pytest.mark.parametrize(
    ("text", "folded"),
    [
        ("Straße", "strasse"),
        ("ΣΊΣΥΦΟΣ", "σίσυφοσ"),
        ("Ｑ２　２０１８", "q2 2018"),
        ("ﬁnance", "finance"),
        ("cafe\u0301", "café"),
        ("कि", "कि"),
        ("१२३ ٤٥٦", "123 456"),
        ("١٬٢٣٤٫٥", "1,234.5"),
        ("company’s", "company's"),
        ("10‑K 10–K 10−K", "10-k 10-k 10-k"),
        ("soft\xadhyphen zero\u200dwidth bom\ufeff", "softhyphen zerowidth bom"),
        ("zero\u200bspace", "zero space"),
        ("1,234² 2½", "1,234 2 2 1 2"),
        ("CO₂", "co2"),
        ("Post-it™ 3M® €5", "post-it  3m   5"),
        ("İstanbul", "istanbul"),
        ("1️⃣ ❤️", "1  "),
        ("\ud800x", " x"),
        ("a\x00b", "a\x00b"),
    ],
)
def test_folds(text: str, folded: str) -> None:
    assert fold(text) == folded


@given(ANY_TEXT)
def test_what_is_left_outside_ascii_is_part_of_a_word(text: str) -> None:
    outside = [char for char in fold(text) if not char.isascii()]
    assert all(unicodedata.category(char)[0] in "LMN" for char in outside)


@given(ANY_TEXT | TRICKY)
def test_canonically_equal_texts_fold_alike(text: str) -> None:
    assert fold(unicodedata.normalize("NFC", text)) == fold(unicodedata.normalize("NFD", text))


@given(ANY_TEXT | TRICKY)
def test_compatible_texts_fold_alike_but_for_what_is_set_apart(text: str) -> None:
    set_apart = ("<super>", "<fraction>")
    plain = "".join(char for char in text if not unicodedata.decomposition(char).startswith(set_apart))
    assert fold(unicodedata.normalize("NFKC", plain)) == fold(plain)


@given(ANY_TEXT | TRICKY)
@example("a¨")
def test_a_folded_text_is_the_same_as_fold(text: str) -> None:
    assert FoldedText(text).folded == fold(text)


@given(ANY_TEXT | TRICKY, st.data())
def test_the_original_span_of_a_folded_stretch_folds_to_it_and_little_more(
    text: str, data: st.DataObject
) -> None:
    found = FoldedText(text)
    if not found.folded:
        return
    start = data.draw(st.integers(0, len(found.folded) - 1))
    end = data.draw(st.integers(start + 1, len(found.folded)))
    original_start, original_end = found.original_span(start, end)
    assert 0 <= original_start < original_end <= len(text)
    assert found.folded[start:end] in fold(text[original_start:original_end])


def test_a_run_whose_parts_do_not_fold_alone_maps_as_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(folding, "_extends", lambda char: False)
    found = FoldedText("x: e\u0301é.")
    assert found.folded == "x: éé."
    assert [found.original_span(at, at + 1) for at in (3, 4, 5)] == [(3, 6), (3, 6), (6, 7)]


def test_every_character_maps_to_its_own_letter_with_marks() -> None:
    text = "Ａé: ﬁ½ e\u0301x"
    found = FoldedText(text)
    spans = [found.original_span(at, at + 1) for at in range(len(found.folded))]
    assert [text[start:end] for start, end in spans] == [
        *("Ａ", "é", ":", " "),
        *("ﬁ", "ﬁ"),
        *("½", "½", "½", "½"),
        *(" ", "e\u0301", "x"),
    ]
