"""Overview of a project: counts and the next step."""

from __future__ import annotations

from dataclasses import dataclass

from ..records import visible_rows
from ..store import Project, as_act
from ..text import how_many
from ..types import GraderSpec
from ._asked_questions import EXAMS, bank_for
from ._questions import latest_version

_COUNTS = {
    "queries": "SELECT count(*) FROM queries",
    "passages": "SELECT count(*) FROM passages",
    "passages without text": "SELECT count(*) FROM passages WHERE text_key IS NULL",
    "runs": "SELECT count(*) FROM runs",
    "judgments": "SELECT count(*) FROM {judgments}",
    "judgment sources": "SELECT count(*) FROM sources",
    "imported leaderboards": "SELECT count(*) FROM boards",
    "questions": "SELECT count(*) FROM bank_at($version) WHERE active",
    "questions without text": (
        "SELECT count(DISTINCT question_key) FROM question_revisions"
        " JOIN question_texts USING (text_key) WHERE text IS NULL"
    ),
    "exams": f"SELECT count(*) FROM {EXAMS}",
    "items": (
        "SELECT count(*) FROM bank_at($version) JOIN questions USING (question_key)"
        f" SEMI JOIN {EXAMS} USING (query_key) WHERE active"
    ),
    "students": "SELECT count(*) FROM students",
    "answers of students": "SELECT count(*) FROM answers WHERE correct IS NOT NULL",
    "bank versions": "SELECT count(*) FROM bank_versions",
    "pooled passages": "SELECT count(*) FROM pool",
    "graders": "SELECT count(*) FROM graders",
    "grades": "SELECT count(*) FROM grades",
    "failed pairs": (
        "SELECT count(*) FROM (SELECT DISTINCT grader_key, question_text_key, passage_text_key"
        " FROM failures ANTI JOIN grades USING (grader_key, question_text_key, passage_text_key))"
    ),
}


@as_act("see boards")
def project_counts(project: Project) -> dict[str, int]:
    """Return the counts of a project by name, such as queries. Queries include exams, and active
    questions include items.
    """
    judgments = visible_rows(project, "judgments")
    columns = ", ".join(f"({sql.format(judgments=judgments)})" for sql in _COUNTS.values())
    row = project.rows(f"SELECT {columns}", {"version": latest_version(project)})[0]
    return dict(zip(_COUNTS, row, strict=True))


@dataclass(frozen=True)
class JudgedQueries:
    """Coverage of the judged queries by the bank.

    Args:
        queries: number of judged queries.
        without_questions: number of judged queries without an active question.
        questions: mean number of active questions per judged query; None without judged queries.
    """

    queries: int
    without_questions: int
    questions: float | None

    def as_dict(self) -> dict[str, int | float | None]:
        """Return the numbers by name, as `exam status` prints them."""
        return {
            "judged queries": self.queries,
            "judged queries without questions": self.without_questions,
            "questions a judged query": self.questions,
        }


@as_act("see boards")
def parts_without_content(project: Project) -> list[str]:
    """Return "Exams" if the project has no items and examinees, and "Answers" if it has no
    generated answers.
    """
    exams, answers = project.rows(
        "SELECT EXISTS (FROM students) OR EXISTS (FROM items) OR EXISTS (FROM question_revisions"
        " WHERE kind = 'choice'), EXISTS (FROM generated_answers)"
    )[0]
    return [part for part, filled in (("Exams", exams), ("Answers", answers)) if not filled]


_ANY_GRADER = GraderSpec("any", "self-rating", "")


def judged_queries(project: Project) -> JudgedQueries:
    """Return the coverage of the queries with judgments from any source."""
    row = project.rows(
        "SELECT count(*), count(*) FILTER (n IS NULL), avg(coalesce(n, 0))"
        f" FROM (SELECT DISTINCT query_key FROM {visible_rows(project, 'judgments')}"
        ") LEFT JOIN (SELECT query_key, count(*) AS n"
        f" FROM {bank_for(_ANY_GRADER)} GROUP BY query_key) USING (query_key)",
        {"version": latest_version(project)},
    )[0]
    return JudgedQueries(*row)


@dataclass(frozen=True)
class NextStep:
    """A suggestion for the next step, and its screen."""

    sentence: str
    screen: str


def lacks_passages(counts: dict[str, int]) -> bool:
    """Return whether an import must come first: nothing can be graded or answered yet.

    Args:
        counts: result of `project_counts`.
    """
    return not counts["pooled passages"] and not counts["items"] and not counts["students"]


_Steps = tuple[tuple[object, str, str], ...]
"""Whether a step applies, its sentence and its screen; the first step that applies is next."""


def next_step(
    counts: dict[str, int],
    ungraded: int = 0,
    unsaved: int = 0,
    stale: int = 0,
    input_noun: str = "question",
) -> NextStep:
    """Return the most useful next step.

    Args:
        counts: result of `project_counts`.
        ungraded: number of pairs behind the labels that were never graded.
        unsaved: number of the person's unsaved changes to the bank.
        stale: number of overrides whose question was reworded later.
        asked: noun for the input of the grader: "query" for a direct grader.
    """
    save = f"Check the effect of your {how_many(unsaved, 'unsaved changes')}, then save."
    of_exams: _Steps = (
        (unsaved, save, "question_bank"),
        (
            not counts["students"],
            "Add examinees. Some of them, such as chance, need no model.",
            "students",
        ),
        (not counts["answers of students"], "Run the exam with the examinees.", "students"),
        (True, "Review the statistics of the items.", "items"),
    )
    of_passages: _Steps = (
        (
            not counts["queries"],
            "Import queries to begin (JSON map, TSV, JSONL or a graded file).",
            "home",
        ),
        (
            not counts["pooled passages"],
            "Import runs or judgments to get passages to grade.",
            "home",
        ),
        (
            not counts["questions"],
            "Write or import questions that a relevant passage answers.",
            "question_bank",
        ),
        (
            not counts["grades"],
            "Grade every pooled passage for every question of its query.",
            "grading",
        ),
        (ungraded, f"Grade the ungraded {input_noun}–passage pairs ({ungraded:,}).", "grading"),
        (unsaved, save, "question_bank"),
        (
            stale,
            f"Confirm or withdraw {how_many(stale, 'stale overrides')} on reworded questions.",
            "passages",
        ),
        (not counts["runs"], "Import runs to see a leaderboard.", "home"),
        (True, "Compare your leaderboard with the official one.", "leaderboard"),
    )
    only_exams = counts["exams"] and counts["exams"] == counts["queries"]
    steps = of_exams if only_exams else of_passages
    return next(NextStep(sentence, screen) for applies, sentence, screen in steps if applies)
