"""Sentence splitting: boundaries as readers see them, and no lost characters."""

import itertools

import pytest
from hypothesis import given, strategies as st

from exam_workbench.sentences import MAX_SENTENCE, split_sentences


def pieces(text: str) -> list[str]:
    return [text[begin:end] for begin, end in split_sentences(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("It rains. It pours.", ["It rains.", "It pours."]),
        ("Dr. Smith paid $3.50. He left.", ["Dr. Smith paid $3.50.", "He left."]),
        ("J. R. R. Tolkien wrote it, i.e. all of it.", ["J. R. R. Tolkien wrote it, i.e. all of it."]),
        ("The U.S. Army came at 5 p.m. The rest slept.", ["The U.S. Army came at 5 p.m.", "The rest slept."]),
        ("See Fig. 3 and no. 7. No. Not that.", ["See Fig. 3 and no. 7.", "No.", "Not that."]),
        ('"Why?" he asked. "Because!" She left.', ['"Why?" he asked.', '"Because!"', "She left."]),
        ("Really?! Yes... Perhaps (or not).", ["Really?!", "Yes...", "Perhaps (or not)."]),
        ("It fell.[12] It broke.", ["It fell.[12]", "It broke."]),
        ("東京は首都です。人口は多い！", ["東京は首都です。", "人口は多い！"]),
        ("Do:\n1. Mix it. Stir.\n2. Wait\n- Bake", ["Do:", "1. Mix it.", "Stir.", "2. Wait", "- Bake"]),
        ("• one thing • another", ["• one thing", "• another"]),
        ("A Short Title\nThe text begins\nand goes on.", ["A Short Title", "The text begins\nand goes on."]),
        ("no stop here\n\nbut a new paragraph", ["no stop here", "but a new paragraph"]),
        (
            "A line of text that an editor has wrapped near the name of\nParis, which is a city.",
            ["A line of text that an editor has wrapped near the name of\nParis, which is a city."],
        ),
        (" \n\t ", []),
        ("", []),
    ],
)
def test_sentence_boundaries(text: str, expected: list[str]) -> None:
    assert pieces(text) == expected


def test_long_sentence_is_cut_at_spaces() -> None:
    found = pieces("word " * 300)
    assert all(len(piece) <= MAX_SENTENCE for piece in found)
    assert all(set(piece.split()) == {"word"} for piece in found)


def test_words_are_never_cut() -> None:
    assert pieces("x" * 1000 + " end") == ["x" * 1000, "end"]


TEXTS = st.lists(
    st.sampled_from(
        ["Dr.", "J.", "e.g.", "etc.", "3.14", "1.", "end.", "What?!", '."', "...", "•", "- a", "\n", "\n\n",
         "  ", "The", "house", "。", "\u2028", "\x1f", "(x)", "[3]", "y" * 450]
    )
    | st.text(max_size=8),
    max_size=60,
)  # fmt: skip


@given(TEXTS, st.sampled_from(["", " "]))
def test_spans_are_ordered_disjoint_trimmed_and_complete(parts: list[str], glue: str) -> None:
    text = glue.join(parts)
    spans = split_sentences(text)
    assert all(0 <= begin < end <= len(text) for begin, end in spans)
    assert all(before[1] <= after[0] for before, after in itertools.pairwise(spans))
    covered = {i for begin, end in spans for i in range(begin, end)}
    assert all(i in covered for i, character in enumerate(text) if not character.isspace())
    assert all(text[begin:end] == text[begin:end].strip() for begin, end in spans)
