"""Sealed questions: drawn by a seed, visible only to their authors, absent from files, and used to find leaks."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path
from random import Random

import numpy as np
import pytest

from exam_workbench import bank, exchange, review, study
from exam_workbench.exchange import exporting
from exam_workbench.graders import built_in_prompts
from exam_workbench.grading import questions_for
from exam_workbench.labels import Policy, add_override, find_overrides
from exam_workbench.measures._means_and_tests import sealed_test
from exam_workbench.operations.bank import list_drafts
from exam_workbench.operations.project_report import ReportRequest, make_report
from exam_workbench.records import ActivityFilter, activity_csv, hidden_questions, list_actions, sealed_questions
from exam_workbench.review import read_passage
from exam_workbench.store import Project
from exam_workbench.types import Question
from tests.made.projects import commit, fill, filled_project, manifest_of, unpacked
from tests.made.refusals import refusal
from tests.made.shell import ShellOn, printed

QUERIES = [f"q{i}" for i in range(1, 9)]
RUNS = ("cheat", "fair", "good", "poor")


def put(project: Project) -> None:
    """Add eight queries with six questions each and four systems; `cheat` answers only unsealed questions."""
    questions = [Question(f"{query}/{i}", query, f"Secret {i} of {query}?") for query in QUERIES for i in range(6)]
    sealed = {one for ids in drawn(questions).values() for one in ids}
    share = {"good": 4, "fair": 3, "poor": 1}
    ratings = {}
    for question in questions:
        place = int(question.question_id[-1])
        for run in RUNS:
            known = question.question_id not in sealed if run == "cheat" else (place + int(question.query_id[1])) % 6
            answered = known if run == "cheat" else int(known) < share[run]
            ratings[question.text or "", f"{question.query_id}{run}"] = 5 if answered else 0
    fill(project, questions, ratings, {run: {query: [f"{query}{run}"] for query in QUERIES} for run in RUNS})


def drawn(questions: list[Question]) -> dict[str, list[str]]:
    """Return the questions drawn with seed 3."""
    ids = {query: sorted(q.question_id for q in questions if q.query_id == query) for query in QUERIES}
    return {query: sorted(Random(f"3 {query}").sample(ids[query], 3)) for query in QUERIES}


project = filled_project(put)


def test_seed_draws_same_questions_and_leak_is_found(project: Project) -> None:
    for per_query, code in ((1, "too-few-seals"), (4, "too-few-questions")):
        with refusal(code):
            bank.seal_questions(project, "olga", per_query)
    assert sealed_questions(project) == frozenset()
    found = bank.seal_questions(project, "olga", seed=3)
    assert found == drawn(bank.list_questions(project))
    assert sealed_questions(project) == {one for ids in found.values() for one in ids}
    compared = study.sealed_coverage(project, Policy())
    assert compared.queries == 8
    first, *rest = compared.systems
    assert (first.run, first.public, first.sealed, first.flagged) == ("cheat", 1.0, 0.0, True)
    assert not any(one.flagged for one in rest)
    with refusal("already-sealed"):
        bank.seal_questions(project, "olga")
    assert bank.open_sealed(project, "olga") == 24
    assert study.sealed_coverage(project, Policy()).systems == []


def test_sealed_questions_are_hidden_from_others_and_files(project: Project) -> None:
    ids = bank.seal_questions(project, "olga", seed=3)["q1"]
    texts = [q.text or "" for q in bank.list_questions(project) if q.question_id in ids]
    author, other = project.seen_by("tester"), project.seen_by("ben")
    assert hidden_questions(author) == frozenset() and set(ids) <= hidden_questions(other)
    ways = [
        lambda p: bank.readable_questions(p, bank.list_questions(p)),
        lambda p: [bank.question_history(p, one) for one in ids],
        lambda p: read_passage(p, Policy(), "q1", "q1cheat"),
        lambda p: study.bank_worth(p, Policy()),
        lambda p: list_actions(p),
        lambda p: review.why_label(p, Policy(), Policy(min_rating=3), "q1", "q1cheat"),
        lambda p: find_overrides(p),
        lambda p: bank.find_question(p, "ben", ids[0]),
    ]
    for way in ways:
        assert not [text for text in texts if text in repr(way(other))]
    assert all(text in repr(ways[0](author)) for text in texts)
    # A file may reach anyone, so it omits sealed questions even for their author.
    files = [
        exporting.bank_jsonl,
        exporting.bank_csv,
        exporting.graded_file,
        lambda p: exporting.bank_in_form(p, "v3"),
        lambda p: make_report(p, ReportRequest(questions=True)),
    ]
    for export in files:
        content = export(author)
        content = __import__("gzip").decompress(content).decode() if isinstance(content, bytes) else content
        assert not [text for text in texts if text in content]
    question = next(q for q in bank.readable_questions(other, bank.list_questions(other)) if q.question_id == ids[0])
    for act in (
        lambda: bank.save_version(other, [question], "x", "ben"),
        lambda: bank.put_draft(other, "ben", question),
    ):
        with refusal("question-sealed", ids[0]):
            act()
    with refusal("questions-sealed", "24"):
        exchange.project_zip(author, "tester")
    bank.open_sealed(project, "olga")
    assert all(text in exporting.bank_jsonl(other) for text in texts)


def test_notes_drafts_proposals_and_trials_hide_sealed_questions(project: Project, tmp_path: Path) -> None:
    asked = [one for one in bank.list_questions(project) if one.query_id == "q1"]
    drafted = tuple(f"Drafted secret {number}?" for number in range(len(asked) + 2))
    reply = bank.Generation("question", "q1", "m", "p", "0" * 64, drafted, "")
    keys = commit(project, bank.add_generations, [reply], "tester")
    bank.accept_proposals(project, keys, "tester")
    bank.save_drafts(project, "tester", f"Quotes {' '.join(one.text or '' for one in asked)}")
    bank.save_version(project, [replace(one, weight=2.0) for one in asked], "Paraphrases the hidden ones", "tester")
    elsewhere = [replace(one, weight=2.0) for one in bank.list_questions(project) if one.query_id == "q2"][:1]
    bank.save_version(project, elsewhere, f"Quotes {' '.join(one.text or '' for one in asked)}", "tester")
    # One more than the other questions, so that at least one drafted question is sealed.
    ids = bank.seal_questions(project, "olga", len(asked) + 1, seed=3)["q1"]
    texts = [(one.text or "").rstrip("?") for one in bank.list_questions(project) if one.question_id in ids]
    assert any("rafted" in text for text in texts)
    author, other = project.seen_by("tester"), project.seen_by("ben")
    sealed = next(one for one in bank.list_questions(project) if one.question_id == ids[0])
    bank.put_draft(author, "tester", replace(sealed, text=f"{sealed.text} Reworded"))
    prompt = built_in_prompts()["self-rating"]
    ways = [
        lambda p: bank.list_versions(p),
        lambda p: [bank.question_history(p, one) for one in ids],
        lambda p: list_actions(p),
        lambda p: list_actions(p, ActivityFilter(words="secret")),
        lambda p: activity_csv(p),
        lambda p: list_drafts(p).value,
        lambda p: bank.list_proposals(p, "q1", bank.STATES),
        lambda p: questions_for(p, prompt, "q1"),
    ]
    for way in ways:
        assert not [text for text in [*texts, "Paraphrases"] if text in repr(way(other))]
        assert [text for text in texts if text in repr(way(author))]
    with refusal("questions-sealed"):
        exchange.export_project(author, tmp_path / "folder", "tester")
    with refusal("question-sealed", ids[0]):
        review.repair_question(other, ids[0], ["Another wording"], Policy(), "judgments", "ben")


def test_bundle_omits_sealed_questions_and_is_reproducible(project: Project) -> None:
    qrels = exchange.publish_qrels(project, Policy(), "tester").qrels_bytes
    before = manifest_of(exchange.bundle_publication(project, Policy(), "tester"))
    ids = sorted(one for ids in bank.seal_questions(project, "olga", seed=3).values() for one in ids)
    for one in ids[0], next(f"q1/{i}" for i in range(6) if f"q1/{i}" not in ids):
        add_override(project, one, "q1good", 5, "seen", "tester")
    texts = [one.text or "" for one in bank.list_questions(project) if one.question_id in ids]
    note = f"Quotes {' '.join(texts)}"
    bank.save_version(project, [Question("q1/new", "q1", "Another question?")], note, "tester")
    packed = exchange.bundle_publication(project.seen_by("tester"), Policy(), "tester")
    manifest = manifest_of(packed)
    files = {name: content.decode() for name, content in unpacked(packed).items()}
    assert len(files["overrides.csv"].splitlines()) == 2
    assert not [text for text in texts if text in repr(files)]
    hashes = sorted(hashlib.sha256(one.encode()).hexdigest() for one in ids)
    assert manifest["bank"]["sealed"] == {"questions": 24, "sha256": hashes} and manifest["bank"]["note"] == ""
    with refusal("questions-sealed", "24", "bank.jsonl", "overrides.csv"):
        exchange.reproduce_bundle(project, before, "tester")
    assert exchange.reproduce_qrels(project, before, "tester") == qrels
    assert exchange.reproduce_bundle(project.seen_by("ben"), manifest, "ben") == packed
    bank.open_sealed(project, "olga")
    assert exchange.reproduce_bundle(project, manifest, "tester") == packed
    assert exchange.reproduce_bundle(project, before, "tester")


def test_cli_seals_compares_and_opens_questions(shell_on: ShellOn) -> None:
    exam = shell_on(put)
    assert len(printed(exam("bank", "seal", "--seed", "3", "--json"))["sealed"]) == 8
    assert "Secret 0 of q1?" in exam("bank", "list", "--query", "q1")[1]
    assert printed(exam("bank", "sealed", "--json"))["flagged"] == ["cheat"]
    assert exam("bank", "open")[0] == 0
    assert printed(exam("bank", "sealed", "--json"))["queries"] == 0


def test_weights_count_and_equal_coverage_has_no_surplus() -> None:
    answered = [np.array([[1, 1, 0, 0], [1, 1, 0, 0], [1, 1, 0, 0]], bool)] * 6
    sealed = [np.array([False, True, False, True])] * 6
    told = sealed_test(answered, [np.array([3.0, 1.0, 1.0, 1.0])] * 6, sealed, draws=200)
    assert told.public == pytest.approx(0.75) and told.sealed == pytest.approx(0.5)
    assert told.surplus == pytest.approx(0) and told.adjusted.tolist() == [1, 1, 1]
