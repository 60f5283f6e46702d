"""The app as it is served, with a door that answers what is true in a project: `python -m tests.soak.facts PORT DOOR`.

One process owns a project's file while it is open, so a soak asks that process. Labels and scores are computed here
from the rows of the tables in plain Python, by the definitions of `tests.made.projects`.
"""

from __future__ import annotations

import json
import sys
import threading
import traceback
from collections.abc import Callable, Mapping
from dataclasses import asdict
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from statistics import mean
from typing import Any
from urllib.parse import parse_qs, urlsplit

from pandas import isna
from streamlit.web import cli

from exam_workbench import bank, grading
from exam_workbench import labels as the_labels
from exam_workbench.catalogue import find_grader
from exam_workbench.exchange import check as check_project
from exam_workbench.labels import Policy, basis
from exam_workbench.leaderboard import leaderboard, score_runs
from exam_workbench.measures import COVER
from exam_workbench.project import Project, open_project, rankings
from exam_workbench.types import Question
from tests.made.projects import expected_coverage, expected_label

APP = Path(__file__).resolve().parents[2] / "app.py"
RULES = ("max", "support:2", "mean")
PAIRS = "JOIN queries USING (query_key) JOIN passages USING (passage_key)"
TEXTS = "JOIN question_texts q ON q.text_key = question_text_key JOIN passage_texts p ON p.text_key = passage_text_key"
POOL = (
    f"SELECT query_id, passage_id, t.text FROM pool {PAIRS} LEFT JOIN passage_texts t ON t.text_key = passages.text_key"
)


class Scratch:
    """What labels come from: texts of pooled passages, active questions and ratings that count, row by row."""

    def __init__(self, project: Project, grader: str | None = None) -> None:
        chosen = find_grader(project, grader)
        self.passages: dict[str, dict[str, str | None]] = {}
        for query, passage, text in project.rows(f"{POOL} ORDER BY query_key, position"):
            self.passages.setdefault(query, {})[passage] = text
        self.questions: dict[str, list[Question]] = {}
        for question in bank.questions(project):
            if question.active and question.kind in chosen.spec.kinds:
                self.questions.setdefault(question.query_id, []).append(question)
        graded = project.rows(f"SELECT q.text, p.text, rating FROM grades {TEXTS} WHERE grader_key = ?", [chosen.key])
        given = project.rows(
            f"SELECT q.text, p.text, rating FROM overrides {TEXTS} WHERE withdrawn_at IS NULL ORDER BY override_key"
        )
        self.ratings = {(question, passage): rating for question, passage, rating in [*graded, *given]}

    def labels(self, policy: Policy) -> dict[tuple[str, str], int | None]:
        """The label of every pooled passage of a query with questions, by (query id, passage id)."""
        return {
            (query, passage): expected_label(
                [(q.weight, self.ratings.get((q.text or "", text or ""))) for q in questions],
                policy.label,
                policy.weighted,
            )
            for query, questions in self.questions.items()
            for passage, text in self.passages.get(query, {}).items()
        }

    def coverage(self, project: Project, cutoff: int, policy: Policy) -> dict[str, dict[str, float]]:
        """EXAM-Cover by run and query."""
        texts = dict(project.rows("SELECT passage_id, text FROM passages LEFT JOIN passage_texts USING (text_key)"))
        found: dict[str, dict[str, float]] = {run: {} for (run,) in project.rows("SELECT name FROM runs")}
        for run, query, passages in project.rows(
            f"SELECT name, query_id, list(passage_id ORDER BY rank) FROM rankings JOIN runs USING (run_key) {PAIRS}"
            " WHERE rank <= ? GROUP BY ALL",
            [cutoff],
        ):
            asked = self.questions.get(query, [])
            top = [texts[passage] or "" for passage in passages]
            weights = {str(at): question.weight for at, question in enumerate(asked)}
            rated = {(str(at), p): self.ratings.get((q.text or "", p)) for at, q in enumerate(asked) for p in top}
            score = expected_coverage(weights, rated, top, policy.min_rating, policy.weighted)
            if score is not None:
                found[run][query] = score
        return found


def labels(project: Project) -> dict[str, Any]:
    """Where labels of `core` differ from labels from scratch, by label rule; and the lines of the qrels."""
    scratch, differ = Scratch(project), []
    for rule in RULES:
        policy = Policy(label=rule)
        ours, table = scratch.labels(policy), the_labels.labels(project, basis(project, policy))
        theirs = {
            (query, passage): None if isna(label) else int(label)
            for query, passage, label in zip(table["query_id"], table["passage_id"], table["label"], strict=True)
        }
        pairs = ours.keys() | theirs.keys()
        differ += [[rule, *pair] for pair in pairs if ours.get(pair, "absent") != theirs.get(pair, "absent")]
    known = scratch.labels(Policy())
    lines = sorted(f"{query} 0 {passage} {label}" for (query, passage), label in known.items() if label is not None)
    return {"differ": differ[:5], "qrels": lines}


def board(project: Project, measure: str, against: str | None) -> dict[str, float]:
    """The score of every run from scratch; if a source judged some of the queries, over these alone."""
    scratch, policy = Scratch(project), Policy()
    if measure.startswith(COVER):
        scores = scratch.coverage(project, int(measure.partition("@")[2] or policy.cutoff), policy)
        queries = {query for query, asked in scratch.questions.items() if any(q.weight > 0 for q in asked)}
    else:
        qrels: dict[str, dict[str, int]] = {}
        for (query, passage), label in scratch.labels(policy).items():
            if label is not None:
                qrels.setdefault(query, {})[passage] = label
        scored = score_runs(rankings(project), [measure], qrels, policy.min_rating)
        scores, queries = {run: found.get(measure, {}) for run, found in scored.items()}, set(qrels)
    judged = project.rows(
        f"SELECT DISTINCT query_id FROM judgments JOIN sources USING (source_key) {PAIRS} WHERE name = ?", [against]
    )
    if judged:
        # Beside an official board, queries with ungraded pairs are left out.
        whole = queries - leaderboard(project, measure).ungraded.keys()
        queries = whole & {query for (query,) in judged} or queries
    return {run: mean(of_run.get(query, 0.0) for query in queries) for run, of_run in scores.items()}


def unsaved(project: Project, author: str) -> dict[str, Any]:
    """The drafts of a person, the bank's questions by id, the steps to undo and redo, and the ids in conflict."""
    drafts = {key: asdict(draft.question) for key, draft in bank.drafts(project, author).items()}
    saved = {question.question_id: asdict(question) for question in bank.questions(project)}
    conflicts = [conflict.mine.question_id for conflict in bank.conflicts(project, author)]
    return {"drafts": drafts, "saved": saved, "steps": bank.steps(project, author), "conflicts": conflicts}


def state(project: Project) -> dict[str, Any]:
    """The numbers on Home, texts of queries, pooled passages, notes of versions, and the last job."""
    tables = ("queries", "passages", "runs", "judgments", "questions", "grades")
    found = grading.current_job(project)
    return {
        "counts": {name: int(project.value(f"SELECT count(*) FROM {name}")) for name in tables},
        "queries": dict(project.rows("SELECT query_id, text FROM queries ORDER BY query_key")),
        "pool": [list(row) for row in project.rows(f"{POOL} WHERE t.text IS NOT NULL ORDER BY query_key, position")],
        "versions": [[version.author, version.note] for version in bank.versions(project)],
        "busy": found is not None and not found.progress.over,
        "stamp": [*project.state(), *project.rows("SELECT count(*), max(epoch_us(changed_at)) FROM drafts")[0]],
    }


def given(project: Project, author: str) -> dict[str, Any]:
    """The judgments of a person by "query passage", and the ratings of overrides by reason."""
    judged = project.rows(
        f"SELECT query_id, passage_id, value FROM judgments JOIN sources USING (source_key) {PAIRS} WHERE name = ?",
        [f"assessor: {author}"],
    )
    overridden = project.rows("SELECT reason, rating FROM overrides WHERE author = ?", [author])
    return {
        "judgments": {f"{query} {passage}": value for query, passage, value in judged},
        "overrides": dict(overridden),
    }


def acts(project: Project, author: str, after: int) -> list[str]:
    """The acts of a person that the log has after a key."""
    rows = project.rows("SELECT act FROM activity WHERE author = ? AND activity_key > ?", [author, after])
    return [act for (act,) in rows]


ENDED = "(FROM jobs WHERE ended_at IS NOT NULL) USING (job_key)"
KEPT = {
    "activity": ("activity_key", "*"),
    "bank_versions": ("version", "*"),
    "question_revisions": ("revision_key", "*"),
    "question_texts": ("text_key", "*"),
    "passage_texts": ("text_key", "*"),
    "overrides": ("override_key", "* EXCLUDE (withdrawn_by, withdrawn_at)"),
    "settlings": ("settling_key", "*"),
    "publications": ("publication_key", "*"),
    f"(grades SEMI JOIN {ENDED})": ("job_key", "*"),
    f"(failures SEMI JOIN {ENDED})": ("job_key", "*"),
}
"""Tables that only grow: their order, and the columns that never change."""


def kept(project: Project, upto: Mapping[str, int]) -> dict[str, list[int]]:
    """By table: the last key, a fingerprint of all rows, and one of the rows up to a key."""
    found = {}
    for table, (key, columns) in KEPT.items():
        row = project.rows(
            "SELECT coalesce(max(k), 0), coalesce(bit_xor(h), 0), coalesce(bit_xor(h) FILTER (k <= ?), 0)"
            f" FROM (SELECT {key} AS k, hash(t) AS h FROM (SELECT {columns} FROM {table}) t)",
            [upto.get(table, 0)],
        )[0]
        found[table] = [int(value) for value in row]
    return found


def check(project: Project) -> list[str]:
    """What `exam check` finds, but for keys: a second handle on a file does not know if its log was just read."""
    found = check_project(project)
    del found["keys"]
    return [str(finding) for findings in found.values() for finding in findings]


FACTS: dict[str, Callable[..., Any]] = {
    fact.__name__: fact for fact in (labels, board, unsaved, state, given, acts, kept, check)
}


class Door(BaseHTTPRequestHandler):
    """Answers GET /FACT?project=FILE&arguments=JSON with JSON, or 500 with a traceback."""

    def do_GET(self) -> None:
        asked = urlsplit(self.path)
        sent = parse_qs(asked.query)
        try:
            project = open_project(Path(sent["project"][0]))
            try:
                status, answer = 200, json.dumps(FACTS[asked.path[1:]](project, **json.loads(sent["arguments"][0])))
            finally:
                project.close()
        except Exception:
            status, answer = 500, traceback.format_exc()
        self.send_response(status)
        self.end_headers()
        self.wfile.write(answer.encode())

    def log_message(self, *_: object) -> None:
        """Nothing: the log is the app's."""


if __name__ == "__main__":
    door = ThreadingHTTPServer(("127.0.0.1", int(sys.argv[2])), Door)
    threading.Thread(target=door.serve_forever, name="facts", daemon=True).start()
    sys.argv = ["streamlit", "run", str(APP), "--server.port", sys.argv[1], "--server.headless", "true"]
    cli.main()
