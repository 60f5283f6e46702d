"""Examinees: identity, prompts, and the passages that they get."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import bm25s
import numpy as np
import pytest

from exam_workbench.choices import RETRIEVERS
from exam_workbench.errors import InputError
from exam_workbench.exams import Plan, add_student, import_retrieval, list_retrievals, make_retrieval
from exam_workbench.exams._exam_items import list_tasks, make_sheet
from exam_workbench.exams._examinee_setup import PROMPTS, make_student, prompt_values, with_worked
from exam_workbench.exams._item_retrievals import BM25, fuse_rankings
from exam_workbench.formats import Source
from exam_workbench.graders import fill_prompt, pair_scores
from exam_workbench.records import add_passages, list_examinees, passage_texts, read_retrieval
from exam_workbench.store import Project
from exam_workbench.text import normalise_text
from exam_workbench.types import Passage
from tests.made.exams import METALS, put_exam
from tests.made.projects import commit
from tests.made.refusals import refusal
from tests.made.tiny_models import build_tiny_cross_encoder, build_untrained, shared_model

RETRIEVALS = ("closed-book", "oracle", "words")
ENDPOINT = {"model": "m", "base_url": "http://localhost:9/v1"}
"""An endpoint that is never called."""


def of(by: str | None = None, **more: Any) -> Plan:
    return Plan(by, ENDPOINT if by is None else None, **more)


def test_examinee_fingerprint_depends_on_answer_settings(project: Project) -> None:
    put_exam(project)
    make_retrieval(project, "words", "bm25", "ann", depth=3)
    plans = [
        of(), of(retrieval="oracle"), of(retrieval="words"), of(retrieval="words", k=2), of(icl=1), of(icl=2),
        of(icl=1, seed=7), of("random"), of("random", seed=1), of("longest"), of("embedding"),
        replace(of(), settings={**ENDPOINT, "temperature": 0.5}),
        replace(of(), settings={**ENDPOINT, "model": "other"}),
    ]  # fmt: skip
    prints = [make_student(project, plan).fingerprint for plan in plans]
    assert len(set(prints)) == len(prints)
    assert prints == [make_student(project, plan).fingerprint for plan in plans]
    # A name, a factor and the number of attempts change no answer.
    for plan in (of(name="x"), of(factors={"size": "big"}), replace(of(), settings={**ENDPOINT, "attempts": 2})):
        assert make_student(project, plan).fingerprint == prints[0]


def test_examinee_is_added_once_with_its_factors(project: Project) -> None:
    first = add_student(project, of("random", factors={"kind": "rule"}), "ann")
    again = add_student(project, of("random", name="another name"), "ann")
    assert again == first and len(list_examinees(project)) == 1
    assert dict(first.factors) == {"model": "random", "retrieval": "closed-book", "icl": "ICL@0", "kind": "rule"}
    with refusal("name-taken", "random closed-book"):
        add_student(project, of("longest", name=first.name), "ann")
    # The latest value of a factor counts; earlier values are kept.
    add_student(project, of("random", factors={"kind": "chance"}), "bob")
    assert list_examinees(project)[0].factors["kind"] == "chance"
    assert project.value("SELECT count(*) FROM student_factors") == 2


@pytest.mark.parametrize(
    ("plan", "said"),
    [
        (of(retrieval="nowhere"), ("unknown-retrieval", "nowhere")),
        (of("random", retrieval="oracle"), ("settings-for-a-rule",)),
        (of("longest", icl=1), ("settings-for-a-rule",)),
        (of(k=0, retrieval="oracle"), ("parameter-out-of-range",)),
        (of(icl=6), ("too-few-items", "6")),
        (Plan("random", {"model": "m"}), ("settings-for-a-rule",)),
        (of("random", name="a\x07b"), ("invalid-name", "control")),
        (Plan("likelihood", ENDPOINT), ("no-likelihoods-at-endpoint",)),
        (Plan(None, {**ENDPOINT, "prompt": "choice"}), ("unknown-parameter",)),
        (Plan(None, {**ENDPOINT, "colour": "red"}), ("unknown-parameter", "colour")),
    ],
)  # fmt: skip
def test_invalid_examinee_is_refused(project: Project, plan: Plan, said: tuple[str, ...]) -> None:
    put_exam(project)
    with refusal(*said):
        add_student(project, plan, "ann")
    assert list_examinees(project) == []


CANDIDATES = "\n\nCandidates:\nA) tin\nB) iron\nC) zinc\nD) lead\n\n###Assistant: Correct answer"


@pytest.mark.parametrize(
    ("name", "context", "inserted"),
    [
        ("closed-book", (), ""),
        ("oracle", ("{question} {examples}",), "\n\nContext:{question} {examples}"),
        ("retrieved", ("One.", "Two."), "\nRetrieved Documents:\nOne.\nTwo."),
    ],
)
def test_prompts_match_the_authors_verbatim(
    project: Project, name: str, context: tuple[str, ...], inserted: str
) -> None:
    put_exam(project, 2)
    first, second = list_tasks(project)
    question = "###Human: Question: Which metal did they keep in jar number 1?"
    assert fill_prompt(PROMPTS[name], prompt_values(first, context)).user == question + inserted + CANDIDATES
    # Worked items come before the item, each with its own context and key.
    # Placeholders in the texts of items and passages stay.
    odd = replace(second, text="Is {choices} in {context}?")
    whole = fill_prompt(with_worked(PROMPTS[name], [(odd, context)]), prompt_values(first, context)).user
    worked = "###Human: Question: Is {choices} in {context}?" + inserted
    worked += "\n\nCandidates:\nA) iron\nB) zinc\nC) lead\nD) silver"
    assert whole == f"{worked}\n\n###Assistant: Correct answer C) lead\n\n{question}{inserted}{CANDIDATES}"


def test_worked_items_are_fixed_and_exclude_the_asked_item(project: Project) -> None:
    put_exam(project)
    student = add_student(project, of(icl=2, seed=3), "ann")
    lines = make_sheet(project, student, list_tasks(project)).lines
    shown = {line.task.question_id: [task.question_id for task, _ in line.worked] for line in lines}
    chosen = student.parameters["worked"]
    assert len(chosen) == 3 and all(len(worked) == 2 and item not in worked for item, worked in shown.items())
    assert all(worked == [name for name in chosen if name != item][:2] for item, worked in shown.items())
    assert [line.context for line in lines] == [
        line.context for line in make_sheet(project, student, list_tasks(project)).lines
    ]


def test_each_examinee_gets_passages_of_its_retrieval(project: Project) -> None:
    put_exam(project, 3)
    make_retrieval(project, "words", "bm25", "ann", depth=2)
    asked = list_tasks(project)
    sheets = {name: make_sheet(project, make_student(project, of(retrieval=name)), asked) for name in RETRIEVALS}
    given = {name: [line.texts for line in found.lines] for name, found in sheets.items()}
    assert given["closed-book"] == [(), (), ()]
    assert given["oracle"] == [(task.source,) for task in asked] == given["words"]
    both = make_sheet(project, make_student(project, of(retrieval="words", k=2)), asked).lines
    assert [len(line.texts) for line in both] == [2, 2, 2]


def test_exam_run_has_item_ids_as_query_ids(project: Project, tmp_path: Path) -> None:
    put_exam(project, 3)
    run = tmp_path / "dense.run"
    run.write_text("i1 Q0 p2 1 0.5 dense\ni1 Q0 p1 2 0.9 dense\ni3 Q0 p3 1 1 dense\n")
    assert import_retrieval(project, "dense", Source.from_path(run), "ann") == 2
    (told,) = list_retrievals(project)
    assert (told.name, told.made_by, told.items, told.depth) == ("dense", "dense.run", 2, 2)
    found = make_sheet(project, make_student(project, of(retrieval="dense")), list_tasks(project))
    assert [line.texts for line in found.lines] == [
        (list_tasks(project)[0].source,),
        (list_tasks(project)[2].source,),
    ]
    assert [task.question_id for task in found.without_context] == ["i2"]
    # It is not the run of a system, so it enters neither runs nor pool.
    assert project.value("SELECT count(*) FROM runs") == project.value("SELECT count(*) FROM pool") == 0
    with refusal("invalid-name", "dense"):
        import_retrieval(project, "dense", Source.from_path(run), "ann")
    run.write_text("i9 Q0 p1 1 0.9 dense\n")
    with refusal("unknown-item", "i9"):
        import_retrieval(project, "other", Source.from_path(run), "ann")
    assert len(list_retrievals(project)) == 1


def test_bm25_matches_the_library() -> None:
    rng = np.random.default_rng(4)
    texts = [" ".join(rng.choice(METALS, size)) for size in rng.integers(1, 30, 40)]
    asked = ["gold and silver", "tin tin", "nothing here", "Platinum, chrome; cobalt?"]
    theirs = bm25s.BM25(k1=1.2, b=0.75, method="lucene")
    theirs.index([normalise_text(text).split() for text in texts], show_progress=False)
    ours = BM25(texts)
    for question in asked:
        words = normalise_text(question).split()
        known = [word for word in words if word in theirs.vocab_dict]
        expected = theirs.get_scores(known) if known else np.zeros(len(texts))
        np.testing.assert_allclose(ours.scores(question), expected, atol=1e-5)
    assert BM25([]).scores("gold").shape == (0,)


def test_hybrid_fuses_bm25_and_embeddings_by_reciprocal_rank(project: Project) -> None:
    one, other = [("a", 9.0), ("b", 8.0), ("c", 7.0)], [("c", 0.9), ("a", 0.8)]
    assert fuse_rankings([one, other], 3) == [("a", 1 / 61 + 1 / 62), ("c", 1 / 63 + 1 / 61), ("b", 1 / 62)]
    assert fuse_rankings([one, other], 1) == fuse_rankings([one, other], 3)[:1]
    put_exam(project, 12)
    commit(project, add_passages, [Passage("far", "Parliament voted on the budget.")])
    rankings = {}
    for name in RETRIEVERS:
        assert make_retrieval(project, name, name, "ann", depth=100) == 12
        with project.transaction() as cursor:
            rankings[name] = read_retrieval(cursor, name)
    for item, found in rankings["hybrid"].items():
        expected = fuse_rankings([rankings["bm25"].get(item, []), rankings["embedding"][item]], 100)
        assert [passage for passage, _ in found] == [passage for passage, _ in expected]
    # An unrelated passage is nobody's first.
    assert "far" not in {ranking[0][0] for ranking in rankings["embedding"].values()}


def test_cross_encoder_reranks_the_top_passages(
    project: Project, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    put_exam(project, 3)
    build_tiny_cross_encoder(tmp_path / "cross")
    make_retrieval(project, "words", "bm25", "ann", depth=3)
    make_retrieval(project, "crossed", "bm25", "ann", depth=2, reranker=str(tmp_path / "cross"))
    with project.transaction() as cursor:
        words, crossed = read_retrieval(cursor, "words"), read_retrieval(cursor, "crossed")
    texts = passage_texts(project, ["p1", "p2", "p3"])
    questions = {one.question_id: one.text for one in list_tasks(project)}
    for item, ranking in crossed.items():
        names = [passage for passage, _ in words[item]]
        told = pair_scores(str(tmp_path / "cross"), [(questions[item], texts[name]) for name in names])
        scores = dict(zip(names, told, strict=True))
        assert [passage for passage, _ in ranking] == sorted(scores, key=lambda name: -scores[name])[:2]
    assert "re-ranked by cross@" in list_retrievals(project)[-1].made_by
    spans = shared_model(tmp_path_factory, build_untrained, name="causal")
    with pytest.raises(InputError):
        make_retrieval(project, "other", "bm25", "ann", reranker=str(spans))
