"""Roles and permissions: actions of each role, assigned queries, and the identity of a login."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from exam_workbench import audit, bank, exchange, labels, records, review, study
from exam_workbench.board_summary import board_readiness, find_summary, summarize_board
from exam_workbench.errors import NotAllowed, WorkbenchError
from exam_workbench.exchange import exporting, import_files, record_export
from exam_workbench.formats import Source
from exam_workbench.graders import make_grader
from exam_workbench.grading import Request, Scope, draft_proposals, make_drafter, make_plan, price_tag, start_job
from exam_workbench.jobs import find_jobs, trial_control
from exam_workbench.operations.project_report import ReportRequest, make_report
from exam_workbench.store import ACTS, ROLES, ActName, Member, Project, back_up_project
from exam_workbench.types import Question
from tests.made.projects import SPEC, fill, judge, module_project
from tests.made.refusals import refusal

ROOT = Path(__file__).resolve().parents[2]
SECRET = "Zanzibar"
"""A word in every question, extracted answer, override reason and note of a bank version."""
BANK = [
    Question("q1/a", "q1", f"What is A of {SECRET}?", note=SECRET),
    Question("q2/b", "q2", f"What is B of {SECRET}?", answer_key=SECRET),
]
GRADES = {(question.text or "", passage): at for question in BANK for at, passage in enumerate(("p1", "p2", "p3"), 1)}
RANKED = {"q1": ["p1", "p2", "p3"], "q2": ["p3", "p1", "p2"]}
RUNS = {name: {q: p[at:] + p[:at] for q, p in RANKED.items()} for at, name in enumerate(("one", "two", "three"))}
NAMES = {"viewer": "vera", "assessor": "asta", "organizer": "olga"}
LIMITED = "lea"


def make(project: Project) -> None:
    fill(project, BANK, GRADES, RUNS)
    judge(project, {("q1", "p1"): 1, ("q2", "p3"): 1, ("q2", "p1"): 0})
    with project.transaction() as cursor:
        cursor.execute("UPDATE grades SET answer = ?, raw = ?", [SECRET, SECRET])
        cursor.execute("UPDATE bank_versions SET note = ?", [SECRET])
    labels.add_override(project, "q1/a", "p1", 4, SECRET, "olga")
    for role, name in NAMES.items():
        records.set_member(project, f"{name}@x.org", role, "shell")  # type: ignore[arg-type]
    records.set_member(project, f"{LIMITED}@x.org", "assessor", "shell", queries=["q1"])
    records.assign_double(project, "q2", "olga", ["zoe"], adjudicator="asta")


project = module_project(make)


def as_(project: Project, name: str) -> Project:
    return project.acting_as(f"{name}@x.org")


def a_question(project: Project, query: str = "q1") -> Question:
    return bank.list_questions(project, query_id=query)[0]


def a_case(project: Project, query: str = "q1") -> review.Case:
    return review.Case("labels", "judgments: assessors", query, "p1", None, 4, 1)


def imported(project: Project, by: str) -> None:
    import_files(project, "queries", [Source("q.tsv", data=b"q9\tanother\n")], by)


def asked(project: Project, by: str) -> None:
    draft_proposals(project, make_drafter({"model": "m", "base_url": "http://localhost:9"}), ["q1"], by)


DONE: dict[ActName, Callable[[Project, str], Any]] = {
    "see boards": lambda project, by: labels.leaderboard(project, "nDCG@10"),
    "read the bank": lambda project, by: bank.list_questions(project),
    "edit questions": lambda project, by: bank.put_draft(project, by, replace(BANK[0], weight=0.5)),
    "save the bank": lambda project, by: bank.save_version(project, [replace(BANK[0], weight=0.5)], "less", by),
    "override ratings": lambda project, by: labels.add_override(project, "q1/a", "p1", 3, "no", by),
    "judge passages": lambda project, by: records.judging.judge_passage(project, "q1", "p1", 2, by),
    "settle disagreements": lambda project, by: review.settle_by_comment(project, a_case(project), "so it is", by),
    "judge audits": lambda project, by: project.require("judge audits", ["q1"], by),
    "confirm cases": lambda project, by: records.add_gold_answer(project, "q1", f"an answer of {by}", by),
    "mark work": lambda project, by: records.mark_done(project, "q1", True, by),
    "claim work": lambda project, by: records.decline_double(project, "q2", by),
    "adjudicate": lambda project, by: review.decide_case(project, ("q2", "p1", None), 1, "so", by),
    "download": lambda project, by: record_export(project, by, "bank", "b", lambda: exporting.bank_jsonl(project)),
    "import files": imported,
    "grade": lambda project, by: start_job(
        project, make_grader("embedding", {}), Request(Scope(queries=())), by
    ).wait(),
    "ask models": lambda project, by: trial_control(project, make_grader("self-rating", {})),
    "write with models": asked,
    "run exams": lambda project, by: project.require("run exams", author=by),
    "plan audits": lambda project, by: audit.design_audit(project, "a", "P@3", audit.Goal("best"), author=by),
    "publish": lambda project, by: exchange.publish_qrels(project, labels.Policy(), by),
    "take everything out": lambda project, by: exchange.project_zip(project, by),
    "bring back": lambda project, by: records.bring_back(project, 1, by),
    "organize": lambda project, by: bank.set_price(project, "m", None, by),
    "set guidelines": lambda project, by: records.set_guidelines(project, "Read first.", by),
    "manage people": lambda project, by: records.set_member(project, f"new-{by}@x.org", "viewer", by),
    "assign work": lambda project, by: records.set_due(project, ["q1"], None, by),
}


def refused(work: Callable[[], Any]) -> bool:
    """Return whether the work was refused because of the person's role."""
    try:
        work()
    except NotAllowed:
        return True
    except WorkbenchError:
        return False
    return False


@pytest.mark.parametrize("role", ROLES)
def test_each_role_may_do_exactly_its_actions(project: Project, role: str) -> None:
    assert list(DONE) == list(ACTS)
    name = NAMES[role]
    may = [act for act, do in DONE.items() if not refused(lambda do=do: do(as_(project, name), name))]
    assert may == [act for act, rule in ACTS.items() if ROLES.index(rule.role) <= ROLES.index(role)]  # type: ignore[arg-type]


def test_refusal_names_role_and_file_access_gives_all_rights(project: Project) -> None:
    assert [act for act, do in DONE.items() if refused(lambda do=do: do(project, "anybody"))] == []
    assert project.member() is None and project.allows("manage people")
    with refusal("role-needed", "organizer", "asta", "assessor", "olga", kind=NotAllowed):
        imported(as_(project, "asta"), "asta")
    with refusal("no-role", "stray@x.org", kind=NotAllowed):
        labels.leaderboard(as_(project, "stray"), "nDCG@10")


@pytest.mark.parametrize(
    ("name", "reads", "writes"), [("vera", False, False), ("asta", True, False), ("olga", True, True)]
)
def test_assessors_read_and_organizers_write_database(project: Project, name: str, reads: bool, writes: bool) -> None:
    handle = as_(project, name)
    read: list[Callable[[], Any]] = [
        lambda: handle.rows("SELECT text FROM question_texts"),
        lambda: handle.value("SELECT 1"),
        lambda: handle.table("SELECT 1 AS one"),
        lambda: handle.read(lambda cursor: cursor.execute("SELECT 1").fetchall()),
        lambda: handle.cursor().__enter__(),
        lambda: handle.cached("known", lambda: SECRET),
    ]
    assert [refused(do) for do in read] == [not reads] * len(read)
    assert refused(lambda: handle.write(lambda cursor: None)) is not writes
    assert refused(lambda: back_up_project(handle, author=name)) is not writes
    if not writes:
        assert refused(lambda: handle.transaction().__enter__())


# Functions that a viewer may call: their results contain no text of a question or an answer.
PLAIN = (
    exchange.is_demo, study.list_methods, records.imported_leaderboards, records.official_sources, records.run_names,
    records.run_sizes, records.deepest_rank, records.gold_name, bank.latest_version, bank.list_versions,
    bank.project_counts, bank.parts_without_content, bank.label_graders, bank.stored_graders, bank.grader_succession,
    records.sealed_questions, labels.usual_min_judgment,
)  # fmt: skip
OPEN: dict[str, Callable[[Project], Any]] = {
    **{one.__name__: one for one in PLAIN},
    "basis": lambda p: labels.basis(p, labels.Policy()).key,
    "label_readiness": lambda p: labels.label_readiness(p, labels.basis(p, labels.Policy())),
    "leaderboard": lambda p: labels.leaderboard(p, "nDCG@10"),
    "leaderboard_per": lambda p: labels.leaderboard_per(p, "EXAM-Cover@3", "exam", labels.Policy()),
    "official_board": lambda p: labels.official_board(p, "assessors", "nDCG@10", labels.Policy(), "nDCG@10"),
    "compare": lambda p: labels.compare(p, "nDCG@10", "assessors"),
    "cover_curves": lambda p: labels.cover_curves(p, labels.Policy(), 3),
    "complete_curves": lambda p: labels.complete_curves(p, labels.Policy(), 3),
    "per_query_scores": lambda p: labels.per_query_scores(p, labels.leaderboard(p, "nDCG@10"), None, "one"),
    "make_board": lambda p: study.make_board(p, next(iter(study.offered_boards(p, ["AP"]).values())), labels.Policy()),
    "offered_boards": lambda p: study.offered_boards(p, ["AP"]),
    "query_points": lambda p: study.query_points(p, (b := labels.leaderboard(p, "nDCG@10")), "one", b, "two"),
    "remembered_pairs": lambda p: study.remembered_pairs(p, labels.leaderboard(p, "nDCG@10"), "t"),
    "sample_queries": lambda p: study.sample_queries(p, labels.leaderboard(p, "nDCG@10")),
    "sample_questions": lambda p: study.sample_questions(p, "nDCG@10", labels.Policy()),
    "labelled_shares": lambda p: study.labelled_shares(p, labels.Policy(), 3),
    "choose_rows": lambda p: study.choose_rows(p, [], [4], ["max"], [None], labels.Policy()),
    "meta_table": lambda p: a_table(p),
    "cell_comparison": lambda p: study.cell_comparison(
        p, a_table(p).rows[0].row, a_table(p).columns[0], labels.Policy()
    ),
    "audited_by": lambda p: audit.audited_by(p, labels.Policy()),
    "under_way": lambda p: audit.under_way(p, labels.Policy()),
    "find_circularity": lambda p: audit.find_circularity(p, labels.Policy()),
    "find_source": lambda p: records.find_source(p, "assessors"),
    "check_version": lambda p: bank.check_version(p, 1),
    "check_rating_rule": lambda p: labels.check_rating_rule(p, bank.find_grader(p, None), "written"),
    "response_support": lambda p: labels.response_support(p, None),
    "support_agreement": lambda p: labels.support_agreement(p, bank.stored_graders(p)[0]),
    "find_grader": lambda p: bank.find_grader(p, None),
    "board_readiness": lambda p: board_readiness(p, labels.Policy(), "nDCG@10"),
    "find_summary": lambda p: find_summary(p, labels.Policy(), "nDCG@10", None),
    "summarize_board": lambda p: summarize_board(p, labels.Policy(), "nDCG@10"),
    "nugget_board": lambda p: labels.nugget_board(p, labels.Policy()),
    "flip_rates": lambda p: bank.flip_rates(p, bank.stored_graders(p)[0].spec),
    "trust_notes": lambda p: bank.trust_notes(p, bank.stored_graders(p)[0].spec),
    "grader_drift": lambda p: bank.grader_drift(p, bank.stored_graders(p)[0].spec),
}


def a_table(project: Project) -> study.MetaTable:
    rows = study.choose_rows(project, [], [4], ["max"], [None], labels.Policy())
    return study.meta_table(project, rows, ["assessors"], ["AP"], None, labels.Policy(), "average")


def test_viewer_functions_are_listed_and_reveal_no_secret(project: Project) -> None:
    opened = {
        name
        for path in (ROOT / "core").rglob("*.py")
        for name in re.findall(r'@as_act\("see boards".*\)\n(?:@.+\n)?def (\w+)', path.read_text(encoding="utf-8"))
    }
    assert opened == set(OPEN)
    viewer = as_(project, "vera")
    assert [name for name, ask in OPEN.items() if SECRET in repr(ask(viewer))] == []


# Ways to a question, an answer, a grade or a judgment that a viewer may try.
SECRET_READS = (
    bank.list_questions, bank.query_overviews, bank.list_proposals, bank.item_facts, exporting.bank_jsonl,
    exporting.graded_file, back_up_project, exchange.list_publications, labels.find_overrides, review.list_settlings,
    records.list_actions, records.activity_csv, records.assessor_judgments, records.gold_texts, find_jobs,
)  # fmt: skip
WAYS: list[Callable[[Project], Any]] = [
    *SECRET_READS,
    lambda p: bank.list_questions(p, version=1, query_id="q1"),
    lambda p: bank.question_history(p, "q1/a"),
    lambda p: bank.drafted_edits(p, "vera"),
    lambda p: bank.list_drafts(p, "vera"),
    lambda p: bank.drafted_bank(p, "vera", "q1"),
    lambda p: bank.count_others_drafts(p, "vera"),
    lambda p: bank.list_conflicts(p, "vera"),
    lambda p: bank.find_question(p, "vera", "q1/a"),
    lambda p: bank.put_draft(p, "vera", BANK[0]),
    lambda p: bank.save_version(p, [BANK[0]], "", "vera"),
    lambda p: exporting.bank_csv(p, 1),
    lambda p: exporting.qrels_text(p, labels.Policy()),
    lambda p: exchange.bundle_publication(p, labels.Policy(), "vera"),
    lambda p: make_report(p, ReportRequest(questions=True)),
    lambda p: exchange.project_zip(p, "vera"),
    lambda p: labels.pool_summary(p, labels.basis(p, labels.Policy())),
    lambda p: labels.list_labels(p, labels.basis(p, labels.Policy())),
    lambda p: labels.label_qrels(p, labels.basis(p, labels.Policy())),
    lambda p: labels.inspect_query(p, "one", "q1", labels.Policy(), None),
    lambda p: review.read_passage(p, labels.Policy(), "q1", "p1"),
    lambda p: review.search_passages(p, labels.Policy(), review.Filters(), 5),
    lambda p: review.list_strays(p, labels.Policy(), "assessors"),
    lambda p: study.diagnose_questions(p, labels.Policy(), "q1", BANK, None),
    lambda p: study.to_grade(p, labels.Policy(), "one", 3, 3),
    lambda p: records.source_judgments(p, "assessors"),
    lambda p: records.passage_texts(p, ["p1"]),
    lambda p: make_plan(p, SPEC, 1),
]


def test_viewer_cannot_reach_questions_or_grades(project: Project) -> None:
    # An organizer calls each function first, so that the results are cached in the process.
    for way in WAYS:
        refused(lambda way=way: way(as_(project, "olga")))
    assert [at for at, way in enumerate(WAYS) if not refused(lambda way=way: way(as_(project, "vera")))] == []


def test_assessor_sees_price_of_unused_grader(project: Project) -> None:
    direct = make_grader("direct", {"back_end": "openai", "model": "new", "base_url": "http://127.0.0.1:9"})
    texts = "SELECT count(*) FROM question_texts"
    before = project.value(texts)
    assert price_tag(as_(project, "asta"), direct, 1).pairs > 0
    assert project.value(texts) > before
    refused(lambda: price_tag(as_(project, "vera"), direct, 1))


def test_only_known_modules_bypass_the_permission_check() -> None:
    past = re.compile(r"(?<!self)(?<!from )\.(_database|_known|_read|_cursor|_transaction|_identity|unattended)\b")
    found = {
        (path.relative_to(ROOT).as_posix(), name)
        for folder in ("core", "pages")
        for path in (ROOT / folder).rglob("*.py")
        if path.name not in ("_project.py", "_roles.py")
        for name in past.findall(path.read_text(encoding="utf-8"))
    }
    assert found == {
        ("core/exchange/_publication.py", "_database"),
        ("core/jobs/_job_run.py", "unattended"),
        ("core/server/_routes.py", "unattended"),
    }


def test_assessor_acts_only_in_assigned_queries(project: Project) -> None:
    lea = as_(project, LIMITED)
    tries: dict[str, Callable[[str], Any]] = {
        "edit": lambda q: bank.put_draft(lea, LIMITED, a_question(project, q)),
        "change": lambda q: bank.change_draft(lea, LIMITED, a_question(project, q), "weight", 0.25),
        "save": lambda q: bank.save_version(lea, [replace(a_question(project, q), weight=0.75)], "", LIMITED),
        "override": lambda q: labels.add_override(lea, f"{q}/{'a' if q == 'q1' else 'b'}", "p1", 2, "no", LIMITED),
        "judge": lambda q: records.judging.judge_passage(lea, q, "p1", 1, LIMITED),
        "settle": lambda q: review.settle_by_comment(lea, a_case(project, q), "so", LIMITED),
        "mark": lambda q: records.mark_done(lea, q, True, LIMITED),
        "answer": lambda q: records.add_gold_answer(lea, q, "a new answer", LIMITED),
    }
    assert [name for name, do in tries.items() if refused(lambda do=do: do("q1"))] == []
    assert [name for name, do in tries.items() if not refused(lambda do=do: do("q2"))] == []
    with refusal("query-not-assigned", "q2", "lea", kind=NotAllowed):
        review.settle_by_override(lea, a_case(project), ["q2/b"], 2, "by a case of q1", LIMITED)
    with refusal("query-not-assigned", "q2", "lea", kind=NotAllowed):
        tries["judge"]("q2")
    # Assessors may read everything, because they learn from the judgments of others.
    assert len(bank.list_questions(lea)) == 2


def test_action_under_another_name_is_refused(project: Project) -> None:
    before = project.value("SELECT count(*) FROM activity"), project.value("SELECT count(*) FROM overrides")
    olga = as_(project, "olga")
    for do in (
        lambda: labels.add_override(olga, "q1/a", "p1", 3, "no", "asta"),
        lambda: bank.put_draft(olga, "asta", BANK[0]),
        lambda: import_files(olga, "queries", [Source("q.tsv", data=b"q8\tanother\n")], "asta"),
        lambda: records.set_member(olga, "zoe@x.org", "viewer", "shell"),
        lambda: bank.set_price(olga, "m", None, "somebody"),
    ):
        with refusal("author-is-another", "olga", kind=NotAllowed):
            do()
    assert (project.value("SELECT count(*) FROM activity"), project.value("SELECT count(*) FROM overrides")) == before


def test_role_change_applies_from_next_action(project: Project) -> None:
    handle = as_(project, "tom")
    records.set_member(project, "Tom@X.org", "assessor", "shell")
    bank.put_draft(handle, "tom", replace(BANK[0], weight=0.3))
    records.change_member(project, "tom@x.org", "shell", role="viewer")
    assert refused(lambda: bank.list_drafts(handle, "tom")) and not refused(
        lambda: labels.leaderboard(handle, "nDCG@10")
    )
    records.remove_member(project, "tom@x.org", "shell")
    assert refused(lambda: labels.leaderboard(handle, "nDCG@10"))
    records.undo_member(project, "tom@x.org", "shell")
    assert not refused(lambda: labels.leaderboard(handle, "nDCG@10"))
    records.undo_member(project, "tom@x.org", "shell")
    assert "tom@x.org" not in project.members()


def test_last_organizer_stays(project: Project) -> None:
    for leave in (
        lambda: records.remove_member(as_(project, "olga"), "olga@x.org", "olga"),
        lambda: records.change_member(project, "olga@x.org", "shell", role="viewer"),
    ):
        with refusal("last-organizer", "olga"):
            leave()
    assert project.members()["olga@x.org"] == Member("olga@x.org", "olga", "organizer")


def test_invalid_members_are_refused(project: Project) -> None:
    for said, reason in (
        (lambda: records.set_member(project, "x@x.org", "king", "shell"), ("unknown-role",)),  # type: ignore[arg-type]
        (lambda: records.set_member(project, " ", "viewer", "shell"), ("invalid-identity",)),
        (lambda: records.set_member(project, "x@x.org", "viewer", "shell", "olga"), ("name-taken", "olga@x.org")),
        (lambda: records.set_member(project, "x@x.org", "assessor", "shell", queries=["q7"]), ("unknown-query", "q7")),
        (
            lambda: records.set_member(project, "x@x.org", "viewer", "shell", queries=["q1"]),
            ("queries-for-no-assessor",),
        ),
        (lambda: records.remove_member(project, "x@x.org", "shell"), ("unknown-member",)),
        (lambda: records.undo_member(project, "x@x.org", "shell"), ("nothing-to-undo",)),
    ):
        with refusal(*reason):
            said()
    assert "x@x.org" not in project.members()


@pytest.mark.parametrize(
    ("claims", "identity"),
    [
        ({"email": "Ann@X.org", "sub": "7"}, "ann@x.org"),
        ({"email": "ann@x.org", "email_verified": True}, "ann@x.org"),
        ({"email": "ann@x.org", "email_verified": False, "sub": "7"}, "7"),
        ({"email": "ann@x.org", "email_verified": "false", "sub": "7"}, "7"),
        ({"sub": 7}, "7"),
        # A subject that looks like an address or a prefixed subject gets the prefix.
        ({"email": "eve@x.org", "email_verified": False, "sub": "Olga@x.org"}, "subject:Olga@x.org"),
        ({"sub": "olga@x.org"}, "subject:olga@x.org"),
        ({"sub": "subject:olga@x.org"}, "subject:subject:olga@x.org"),
        ({"sub": "subject:7"}, "subject:subject:7"),
        # An address never becomes a subject or another address.
        ({"email": "7", "sub": "8"}, "8"),
        ({"email": "subject:olga@x.org", "sub": "8"}, "8"),
        ({"email": "\N{KELVIN SIGN}ate@x.org", "sub": "8"}, "8"),
    ],
)
def test_login_is_identified_by_verified_address_or_subject(claims: dict[str, Any], identity: str) -> None:
    assert records.identity_of(claims) == identity
    with refusal("login-without-identity"):
        records.identity_of({"name": "Ann"})


def test_role_of_address_does_not_apply_to_subject(project: Project) -> None:
    records.set_member(project, "olga@x.org", "organizer", "shell")
    records.set_member(project, "7", "assessor", "shell", "ann")
    subject = records.identity_of({"sub": "olga@x.org"})
    with pytest.raises(NotAllowed):
        project.acting_as(subject).require("see boards")
    # An organizer can give the prefixed subject its own role; a role given to a plain subject stays.
    member = records.set_member(project, subject, "viewer", "shell", "eve")
    assert project.acting_as(subject).member() == member and member.role == "viewer"
    kept = project.acting_as(records.identity_of({"sub": "7"})).member()
    assert kept is not None and kept.name == "ann"
    cased = records.identity_of({"sub": "Bob@Corp"})
    assert records.set_member(project, cased, "viewer", "shell").identity == cased
    assert project.acting_as(cased).member() is not None
