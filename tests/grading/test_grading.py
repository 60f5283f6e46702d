"""Grading jobs: plans, counts, stops and resumption."""

from __future__ import annotations

import hashlib
import json
import random
import threading
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from exam_workbench import bank, grading
from exam_workbench.bank import drafted_edits, latest_version, put_draft, save_drafts, save_version
from exam_workbench.errors import GradingError, WorkbenchError
from exam_workbench.graders import Control, Outcome, Pair
from exam_workbench.grading._needed_pairs import _plan_parameters, pairs_to_grade
from exam_workbench.jobs import Progress, _job_run as job_run, current_job, find_jobs
from exam_workbench.labels import Policy, basis, label_readiness
from exam_workbench.records import add_passages, add_queries, pool_depth, refresh_pool
from exam_workbench.review import changes
from exam_workbench.store import Project
from exam_workbench.types import Grade, GraderInput, GraderSpec, Passage, Query, Question
from tests.made.projects import SPEC, examples, fill, grade, judge, new_project
from tests.made.refusals import mentions, refusal
from tests.made.shell import exam_on

QUESTIONS = [Question("q1/a", "q1", "A?"), Question("q1/b", "q1", "B?"), Question("q2/c", "q2", "C?")]
RUNS = {"one": {"q1": ["p1", "p2", "p3"], "q2": ["p3", "p4"]}}
PAIRS = 2 * 3 + 2


def rating_of(question: str, passage: str) -> int:
    """Return a pseudo-random rating that depends only on the two texts."""
    return hashlib.sha256(f"{question}\n{passage}".encode()).digest()[0] % 6


class HashGrader:
    """Rates pairs one by one with a hash of the two texts, and records them."""

    def __init__(
        self,
        failing: Collection[tuple[str, str]] = (),
        breaks_at: int | None = None,
        error: Exception | None = None,
        before: Callable[[int], None] = lambda number: None,
    ) -> None:
        self.spec = GraderSpec("hash", "self-rating", "sha256")
        self.failing = failing
        self.breaks_at = breaks_at
        self.error = error
        self.before = before
        self.asked: list[tuple[str, str]] = []

    def grade(
        self, questions: Mapping[int, GraderInput], passages: Mapping[int, str], pairs: Sequence[Pair], control: Control
    ) -> Iterator[list[Outcome]]:
        for question, passage in pairs:
            if control.stopping:
                return
            texts = questions[question].text, passages[passage]
            self.before(len(self.asked))
            if len(self.asked) == self.breaks_at and self.error:
                raise self.error
            self.asked.append(texts)
            if texts in self.failing:
                yield [(question, passage, Grade(None, "failed", raw="no idea", reason="no number in the answer"))]
            else:
                yield [(question, passage, Grade(rating_of(*texts)))]


@pytest.fixture
def filled(project: Project) -> Project:
    """A project that needs eight grades and has none."""
    fill(project, QUESTIONS, {}, RUNS)
    return project


def known(project: Project) -> dict[tuple[str, str], int]:
    """Return ratings by question and passage text, and check that each pair occurs once."""
    rows = project.rows(
        "SELECT q.text, p.text, rating FROM grades JOIN question_texts q ON q.text_key = question_text_key"
        " JOIN passage_texts p ON p.text_key = passage_text_key"
    )
    found = {(question, passage): rating for question, passage, rating in rows}
    assert len(found) == len(rows)
    return found


def plan(project: Project, **options) -> grading.Plan:
    return grading.make_plan(project, HashGrader().spec, bank.latest_version(project), grading.Scope(**options))


def asked(project: Project, request: grading.Request | None = None, **scope: Any) -> list[tuple[str, str]]:
    """Run a job to its end, and return the pairs that it asked for."""
    grader = HashGrader()
    final = grading.run_job(project, grader, request or grading.Request(grading.Scope(**scope)), "ann")
    assert (final.state, final.total, final.graded) == ("done", len(grader.asked), len(grader.asked))
    return grader.asked


def needed(questions: Sequence[Question] = QUESTIONS) -> set[tuple[str, str]]:
    return {(q.text or "", f"text of {p}") for q in questions for p in RUNS["one"][q.query_id]}


def test_every_pair_is_graded_once_even_with_a_second_job(filled: Project):
    assert plan(filled) == grading.Plan(needed=PAIRS, known=0, failed=0, to_grade=PAIRS, without_text=0)
    grader = HashGrader()
    reports: list[Progress] = []
    final = grading.run_job(filled, grader, grading.Request(), "ann", reports.append)
    assert (final.state, final.total, final.graded, final.failed) == ("done", PAIRS, PAIRS, 0)
    assert len(grader.asked) == PAIRS
    # Questions of a passage are asked consecutively.
    passages = [passage for _, passage in grader.asked[:6]]
    assert passages == [f"text of {p}" for p in ("p1", "p1", "p2", "p2", "p3", "p3")]
    assert known(filled) == {pair: rating_of(*pair) for pair in needed()}
    assert plan(filled) == grading.Plan(needed=PAIRS, known=PAIRS, failed=0, to_grade=0, without_text=0)
    assert [r.done for r in reports] == sorted(r.done for r in reports)
    assert reports[-1] == final
    assert asked(filled) == []
    assert [(job.state, job.total, job.done, job.author) for job in find_jobs(filled)] == [
        ("done", 0, 0, "ann"),
        ("done", PAIRS, PAIRS, "ann"),
    ]


def test_next_job_grades_exactly_the_rest_of_a_cancelled_job(filled: Project):
    reached, go_on = threading.Event(), threading.Event()

    def before(number: int) -> None:
        if number == 2:
            reached.set()
            assert go_on.wait(30)

    first = HashGrader(before=before)
    job = grading.start_job(filled, first, grading.Request(), "ann")
    assert reached.wait(30)
    job.control.cancel()
    go_on.set()
    assert job.wait(30)
    assert (job.progress.state, job.progress.graded) == ("cancelled", 3)
    assert set(known(filled)) == set(first.asked)
    second = asked(filled)
    assert len(second) == PAIRS - 3
    assert set(first.asked) | set(second) == needed()
    assert [job.state for job in find_jobs(filled)] == ["done", "cancelled"]
    unknown = grading.start_job(filled, HashGrader(), grading.Request(bank_version=7), "ann")
    assert unknown.wait(30)
    assert unknown.progress.state == "failed"
    assert mentions(unknown.progress.message, "7")


@pytest.mark.parametrize(
    ("error", "told", "fault"),
    [
        (GradingError("package-missing", "No model.", "Install it."), "No model. Install it.", False),
        (RuntimeError("odd"), "RuntimeError: odd", True),
        # Running out of memory is not a fault of the grader, so the message hides the type of error.
        (MemoryError("7 GB"), "", False),
    ],
)
def test_grader_error_ends_its_job_as_failed(filled: Project, error: Exception, told: str, fault: bool):
    broken = HashGrader(breaks_at=5, error=error)
    final = grading.run_job(filled, broken, grading.Request(), "ann")
    assert (final.state, final.graded) == ("failed", 5) and final.message and told in final.message
    assert (type(error).__name__ in final.message) == fault and "7 GB" not in final.message
    assert set(known(filled)) == set(broken.asked)
    assert [(job.state, job.message, job.done) for job in find_jobs(filled)] == [("failed", final.message, 5)]
    assert len(asked(filled)) == PAIRS - 5


def test_failed_pairs_are_retried_only_on_request(filled: Project):
    failing = [("A?", "text of p1"), ("C?", "text of p4")]
    final = grading.run_job(filled, HashGrader(failing), grading.Request(), "ann")
    assert (final.state, final.graded, final.failed, final.done) == ("done", PAIRS - 2, 2, PAIRS)
    assert set(known(filled)) == needed() - set(failing)
    assert filled.rows("SELECT DISTINCT reason, raw FROM failures") == [("no number in the answer", "no idea")]
    assert plan(filled) == grading.Plan(needed=PAIRS, known=PAIRS - 2, failed=2, to_grade=0, without_text=0)
    assert plan(filled, retry_failed=True).to_grade == 2
    assert asked(filled) == []
    retried = HashGrader(failing[:1])
    final = grading.run_job(filled, retried, grading.Request(grading.Scope(retry_failed=True)), "ann")
    assert (set(retried.asked), final.graded, final.failed) == (set(failing), 1, 1)
    assert asked(filled, retry_failed=True) == failing[:1]
    assert known(filled) == {pair: rating_of(*pair) for pair in needed()}
    assert plan(filled, retry_failed=True) == grading.Plan(PAIRS, PAIRS, 0, 0, 0)


def test_weightless_pairs_are_graded_and_counted_apart(filled: Project):
    bank.save_version(
        filled, [replace(QUESTIONS[0], weight=0.0), replace(QUESTIONS[2], weight=-1.0)], "out of it", "ann"
    )
    assert plan(filled) == grading.Plan(PAIRS, 0, 0, PAIRS, 0, weightless=3 + 2)
    policy = Policy(grader=HashGrader().spec.name)
    grading.run_job(filled, HashGrader(), grading.Request(), "ann")
    assert label_readiness(filled, basis(filled, policy)).needed == PAIRS - plan(filled).weightless
    # Another question with the same wording has a weight.
    bank.save_version(filled, [Question("q1/e", "q1", "A?")], "again", "ann")
    assert plan(filled).weightless == 2


def test_top_limits_grading_to_the_top_of_each_run(project: Project):
    fill(project, QUESTIONS, {}, RUNS | {"two": {"q1": ["p3", "p2"], "q2": ["p4", "p3"]}})
    assert plan(project, runs=("one",), top=1).to_grade == 2 * 1 + 1
    assert plan(project, top=1).needed == plan(project, top=1).to_grade == 2 * 2 + 2
    assert plan(project, top=1, queries=("q1",)).to_grade == 4
    assert plan(project, top=2).to_grade == plan(project).to_grade == PAIRS
    assert grading.price_tag(project, HashGrader(), 1, grading.Scope(top=1)).pairs == 6
    first = asked(project, top=1)
    assert {(question, passage[-2:]) for question, passage in first} == {
        ("A?", "p1"), ("B?", "p1"), ("A?", "p3"), ("B?", "p3"), ("C?", "p3"), ("C?", "p4")
    }  # fmt: skip
    assert json.loads(project.value("SELECT request FROM jobs"))["top"] == 1
    both = first + asked(project)
    assert len(both) == len(set(both)) == PAIRS


def test_invalid_top_or_bank_version_is_refused_before_the_job(filled: Project) -> None:
    depth = filled.read(pool_depth)
    for top in (0, -1, depth + 1):
        for ask in (plan, lambda project, top: pairs_to_grade(project, HashGrader().spec, 1, grading.Scope(top=top))):
            with refusal("invalid-top"):
                ask(filled, top=top)  # type: ignore[operator]
    assert plan(filled, top=depth).to_grade == PAIRS
    with filled.transaction() as cursor:
        cursor.execute("DELETE FROM rankings")
        cursor.execute("DELETE FROM runs")
    with refusal("no-runs"):
        plan(filled, top=1)
    with refusal("unknown-bank-version", "7"):
        grading.run_job(filled, HashGrader(), grading.Request(bank_version=7), "ann")
    assert find_jobs(filled) == []


def test_passages_and_questions_without_text_are_graded_later(filled: Project):
    with filled.transaction() as cursor:
        cursor.execute("UPDATE passages SET text_key = NULL WHERE passage_id = 'p4'")
        refresh_pool(cursor)
    bank.save_version(filled, [Question("q1/d", "q1", None)], "an id only", "ann")
    assert plan(filled) == grading.Plan(needed=PAIRS - 1, known=0, failed=0, to_grade=PAIRS - 1, without_text=1)
    assert plan(filled, queries=["q1"]).without_text == 0
    grading.run_job(filled, HashGrader(), grading.Request(), "ann")
    assert len(known(filled)) == PAIRS - 1
    with filled.transaction() as cursor:
        add_passages(cursor, [Passage("p4", "text of p4")])
        refresh_pool(cursor)
    bank.save_version(filled, [Question("q1/d", "q1", "D?")], "its text", "ann")
    assert plan(filled).to_grade == 1 + 3


def test_only_rewording_a_question_needs_new_grades(filled: Project):
    grading.run_job(filled, HashGrader(), grading.Request(), "ann")
    reworded = replace(QUESTIONS[0], text="A, that is?")
    bank.save_version(filled, [reworded], "reword", "ann")
    assert (plan(filled).to_grade, plan(filled).known) == (3, PAIRS - 3)
    bank.save_version(filled, QUESTIONS, "back", "ann")
    assert plan(filled).to_grade == 0
    weighed = [replace(q, weight=i - 1.5, note="w") for i, q in enumerate(QUESTIONS)]
    bank.save_version(filled, weighed, "weights", "ann")
    assert plan(filled).to_grade == 0
    bank.save_version(filled, [replace(weighed[0], active=False)], "retire", "ann")
    assert (plan(filled).to_grade, plan(filled).needed) == (0, PAIRS - 3)
    assert set(asked(filled, grading.Request(bank_version=2))) == needed([reworded])


def trial(project: Project, *questions: Question) -> list[tuple[str, str]]:
    """Run a trial of questions, and return the pairs that it asked for."""
    return asked(project, grading.Request(trial=questions))


def test_trial_grades_exactly_the_missing_pairs_of_a_draft(filled: Project):
    grading.run_job(filled, HashGrader(), grading.Request(), "ann")
    drafted = replace(QUESTIONS[0], text="  A, that is? ")
    put_draft(filled, "ann", drafted)
    edits = drafted_edits(filled, "ann")
    assert changes(filled, "EXAM-Cover", Policy(), edits).to_grade == 3
    before = bank.list_questions(filled)
    tried = trial(filled, drafted, *QUESTIONS[1:])
    assert sorted(tried) == sorted(needed([replace(drafted, text="A, that is?")]))
    assert (bank.list_questions(filled), bank.latest_version(filled)) == (before, 1)
    assert plan(filled).needed == PAIRS
    assert changes(filled, "EXAM-Cover", Policy(), edits).to_grade == 0
    assert trial(filled, drafted) == []
    save_drafts(filled, "ann", "reword")
    assert plan(filled) == grading.Plan(needed=PAIRS, known=PAIRS, failed=0, to_grade=0, without_text=0)
    assert trial(filled, QUESTIONS[0]) == []
    bank.save_version(filled, QUESTIONS, "back", "ann")
    assert plan(filled).to_grade == 0


def test_job_records_calls_that_gave_no_grade(filled: Project):
    control = Control()

    def ask_in_vain(number: int) -> None:
        control.reserve(100, 10)
        control.replace_reservation((100, 10), (90, 0))
        if number == 1:
            raise WorkbenchError("endpoint-gone", "The endpoint is gone.", "Start it.")

    final = grading.run_job(filled, HashGrader(before=ask_in_vain), grading.Request(), "ann", control=control)
    (job,) = find_jobs(filled)
    assert (final.state, job.state, job.done) == ("failed", "failed", 1)
    assert (job.calls, job.input_tokens) == (final.usage.calls, final.usage.input_tokens) == (2, 180)


def test_trial_skips_ungradable_questions_and_never_grades_the_bank(filled: Project):
    unfit = [
        Question("q1/off", "q1", "Off?", active=False),
        Question("q1/empty", "q1", "  "),
        Question("q1/id only", "q1", None),
    ]
    assert trial(filled, *unfit) == []
    assert trial(filled) == []
    assert plan(filled).known == 0
    grader = HashGrader()
    grader.spec = replace(grader.spec, kinds=("question",))
    grading.run_job(
        filled, grader, grading.Request(trial=(Question("q1/n", "q1", "A key fact", kind="nugget"),)), "ann"
    )
    assert grader.asked == []


def test_wording_shared_by_questions_is_graded_once(filled: Project):
    bank.save_version(filled, [Question("q1/again", "q1", "A?"), Question("q2/a", "q2", "A?")], "the same", "ann")
    graded = asked(filled)
    assert len(graded) == len(set(graded)) == PAIRS + 1
    same = [Question("q1/same", "q1", "Same?"), Question("q1/twin", "q1", "Same?"), Question("q2/same", "q2", "Same?")]
    tried = trial(filled, *same)
    assert len(tried) == len(set(tried)) == 4
    assert set(tried) == needed(same)


def test_queries_and_a_limit_choose_the_graded_pairs(filled: Project):
    assert plan(filled, queries=["q2"]).needed == 2
    assert set(asked(filled, queries=("q2",))) == needed(QUESTIONS[2:])
    assert plan(filled, queries=["q1"]).to_grade == 6
    assert plan(filled, limit=3).to_grade == 3
    for new, graded in ((3, 5), (3, 8)):
        assert (len(asked(filled, limit=3)), len(known(filled))) == (new, graded)


def test_second_job_is_refused_while_the_first_is_running(filled: Project, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(job_run, "COMMIT_SECONDS", 0.0)
    reached, go_on = threading.Event(), threading.Event()

    def before(number: int) -> None:
        if number == 3:
            reached.set()
            assert go_on.wait(30)

    job = grading.start_job(filled, HashGrader(before=before), grading.Request(), "ann")
    assert reached.wait(30)
    assert current_job(filled) is job
    assert (job.progress.state, job.progress.graded, job.progress.total) == ("running", 3, PAIRS)
    assert len(known(filled)) == 3
    with refusal("job-running", kind=GradingError):
        grading.start_job(filled, HashGrader(), grading.Request(), "bob")
    bank.save_version(filled, [replace(QUESTIONS[0], weight=2.0)], "people go on editing meanwhile", "bob")
    go_on.set()
    assert job.wait(30)
    assert (job.progress.state, job.progress.graded) == ("done", PAIRS)
    after = grading.start_job(filled, HashGrader(), grading.Request(), "bob")
    assert after.wait(30)
    assert after.progress.state == "done"
    assert after.progress.total == 0


def test_judged_sample_is_balanced_and_graded_alone(project: Project) -> None:
    bank_of_three = [Question(f"q{q}/a", f"q{q}", f"What of q{q}?") for q in range(3)]
    runs = {"one": {f"q{q}": [f"q{q}p{n}" for n in range(8)] for q in (0, 1, 2, 3)}}
    fill(project, bank_of_three, {}, runs)
    # Most passages are not relevant, and a query without questions is judged, too.
    values = {(f"q{q}", f"q{q}p{n}"): 2 if n == 0 else int(n == 1) for q in range(4) for n in range(8)}
    judge(project, values)
    found = grading.judged_sample(project, HashGrader().spec, "assessors", 6)
    assert Counter(value for _, _, value in found) == {0: 2, 1: 2, 2: 2}
    assert {query for query, _, _ in found} <= {"q0", "q1", "q2"}
    assert all(len({query for query, _, value in found if value == level}) == 2 for level in range(3))
    assert grading.judged_sample(project, HashGrader().spec, "assessors", 6) == found
    assert len(grading.judged_sample(project, HashGrader().spec, "assessors", 100)) == 24
    found = grading.judged_sample(project, HashGrader().spec, "assessors", 5)
    passages = tuple((query, passage) for query, passage, _ in found)
    graded = asked(project, passages=passages)
    assert len(graded) == 5
    places = {(question.split()[-1].rstrip("?"), passage.split()[-1]) for question, passage in graded}
    assert places == set(passages)
    assert plan(project, passages=passages).to_grade == 0
    assert exam_on(project, "grade", "--judged", "5", "--dry-run", "--json")["to_grade"] == 5


QUERIES = ("q1", "q1/s", "q2", "q3")
PASSAGES = [f"p{i}" for i in range(9)]
DIRECT = GraderSpec("direct", "direct", "none")
READER = GraderSpec("reader", "self-rating", "none", parameters={"reads": ["answer_key"]})


def make(path: Path, dice: random.Random) -> Project:
    """Create a random project with shared wordings, shared and missing passage texts, and pairs in every state."""
    wordings = [f"{letter}?" for letter in "ABCDE"]
    asked = [
        Question(
            f"{query}/{i}", query, dice.choice(wordings), weight=dice.choice([1.0, 0.5, 0.0, -1.0]),
            active=dice.random() < 0.8, answer_key=dice.choice(["", "a key"]),
            subtopic_id=dice.choice([None, "s"]) if query == "q1" else None,
        )
        for query in ("q1", "q2", "q3")
        for i in range(4)
    ]  # fmt: skip
    runs = {
        run: {query: dice.sample(PASSAGES, dice.randint(1, 5)) for query in QUERIES if dice.random() < 0.8}
        for run in ("one", "two")
    }
    project = new_project(path)
    fill(project, [], {}, {"none": {"q1": PASSAGES}} | runs)
    save_version(project, asked, "asked", "tester")
    # Grades and failures of random pairs, including pairs that no question needs now.
    for spec in (SPEC, DIRECT, READER):
        texts = [text for (text,) in project.rows("SELECT text FROM question_texts WHERE text IS NOT NULL ORDER BY 1")]
        pairs = [(text, passage) for text in texts for passage in PASSAGES]
        grade(project, {pair: dice.choice([None, 0, 3]) for pair in dice.sample(pairs, len(pairs) // 2)}, spec)
    with project.transaction() as cursor:
        add_queries(cursor, [Query("q3", "q3")], replace=True)
        cursor.execute("UPDATE passages SET text_key = NULL WHERE passage_id = 'p8'")
        cursor.execute(
            "UPDATE passages SET text_key = (SELECT text_key FROM passages WHERE passage_id = 'p0')"
            " WHERE passage_id = 'p1'"
        )
        cursor.execute("DELETE FROM runs WHERE name = 'none'")
        cursor.execute("DELETE FROM rankings WHERE run_key NOT IN (SELECT run_key FROM runs)")
        refresh_pool(cursor)
        cursor.execute(
            "INSERT INTO jobs BY NAME SELECT grader_key AS job_key, 'grading' AS kind, grader_key AS subject_key,"
            " '' AS request, 'waiting' AS state, 0 AS total,"
            " 0 AS done, 0 AS failed, '' AS message, 'ann' AS author, now()::TIMESTAMP AS started_at"
            " FROM graders"
        )
        cursor.execute(
            "INSERT INTO kept_replies SELECT grader_key, t.text_key, p.text_key, 'first', '3', NULL"
            " FROM graders, question_texts t, passage_texts p WHERE hash(grader_key, t.text_key, p.text_key) % 3 = 0"
        )
    return project


@pytest.mark.parametrize("seed", range(examples(1)))
def test_plan_counts_match_the_stored_pairs(tmp_path: Path, seed: int) -> None:
    dice = random.Random(seed)
    project = make(tmp_path / "made.duckdb", dice)
    seen: Counter[str] = Counter()
    for spec in (SPEC, DIRECT, READER, GraderSpec("nobody", "self-rating", "none")):
        for scope in (
            grading.Scope(),
            grading.Scope(queries=("q1", "q1/s")),
            grading.Scope(runs=("two",), retry_failed=True),
            grading.Scope(only_failed=True, limit=2),
            grading.Scope(top=2),
            grading.Scope(passages=(("q1", "p1"), ("q1", "p2"), ("q2", "p1"), ("q2", "no such passage"))),
            grading.Scope(passages=()),
            grading.Scope(runs=("two",), top=1, retry_failed=True),
        ):
            plan = grading.make_plan(project, spec, latest_version(project), scope)
            pairs = project.rows(
                f"SELECT state, weight <= 0 FROM ({grading.missing_pairs(spec)})",
                _plan_parameters(project, spec, latest_version(project), scope),
            )
            states = Counter(state for state, _ in pairs)
            seen += states
            counts = {"known": plan.known, "sent": plan.sent, "failed": plan.failed}
            assert counts == {state: states[state] for state in counts}
            assert (plan.needed, plan.weightless) == (len(pairs), sum(without for _, without in pairs))
            asked = sum(states[state] for state in scope.states)
            assert plan.to_grade == (asked if scope.limit is None else min(asked, scope.limit))
    assert min(seen[state] for state in ("known", "sent", "failed", "ungraded")) > 0
