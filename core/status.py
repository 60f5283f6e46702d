"""What a project holds, at a glance."""

from __future__ import annotations

from core.project import Project

_COUNTS = {
    "queries": "SELECT count(*) FROM queries",
    "passages": "SELECT count(*) FROM passages",
    "passages without text": "SELECT count(*) FROM passages WHERE text_key IS NULL",
    "runs": "SELECT count(*) FROM runs",
    "judgments": "SELECT count(*) FROM judgments",
    "judgment sources": "SELECT count(*) FROM sources",
    "imported leaderboards": "SELECT count(*) FROM boards",
    "questions": "SELECT count(*) FROM questions",
    "questions without text": (
        "SELECT count(DISTINCT question_key) FROM question_revisions JOIN question_texts USING (text_key)"
        " WHERE text IS NULL"
    ),
    "bank versions": "SELECT count(*) FROM bank_versions",
    "pooled passages": "SELECT count(*) FROM pool",
    "graders": "SELECT count(*) FROM graders",
    "grades": "SELECT count(*) FROM grades",
    "failed pairs": (
        "SELECT count(*) FROM (SELECT DISTINCT grader_key, question_text_key, passage_text_key FROM failures"
        " ANTI JOIN grades USING (grader_key, question_text_key, passage_text_key))"
    ),
}


def counts(project: Project) -> dict[str, int]:
    """Numbers of things in a project, by what they are."""
    names = list(_COUNTS)
    row = project.rows("SELECT " + ", ".join(f"({sql})" for sql in _COUNTS.values()))[0]
    return dict(zip(names, row, strict=True))
