"""The served app, and facts from its process: `python -m tests.soak.facts APP_PORT FACTS_PORT`.

The app's process holds the project's file, so a soak test asks that process. A new handle reads
each fact, because the app's handle may return cached values.
"""

import sys
import threading
import traceback
from collections.abc import Callable, Mapping
from multiprocessing.connection import Listener
from pathlib import Path
from typing import Any

from streamlit.web import cli

from exam_workbench import bank
from exam_workbench.exchange import check_project as check_project
from exam_workbench.jobs import current_job
from exam_workbench.labels import compare, leaderboard
from exam_workbench.measures import parse_measure
from exam_workbench.records import judgment_sources
from exam_workbench.store import Project, open_project

APP = Path(__file__).resolve().parents[2] / "app.py"
COUNTED = {name: name for name in ("queries", "passages", "runs", "judgments", "grades")} | {
    "questions": "bank_at((SELECT max(version) FROM bank_versions)) WHERE active"
}
PAIRS = "JOIN queries USING (query_key) JOIN passages USING (passage_key)"
ENDED = "(FROM jobs WHERE ended_at IS NOT NULL) USING (job_key)"
KEPT = {
    "activity": "activity_key",
    "bank_versions": "version",
    "question_revisions": "revision_key",
    "question_texts": "text_key",
    "passage_texts": "text_key",
    "(SELECT * EXCLUDE (withdrawn_by, withdrawn_at) FROM overrides)": "override_key",
    "settlings": "settling_key",
    f"(FROM grades SEMI JOIN {ENDED})": "job_key",
    f"(FROM failures SEMI JOIN {ENDED})": "job_key",
}
"""Tables whose rows never change after they are written, with the key that orders them."""


def known(project: Project, author: str) -> dict[str, Any]:
    """Return the state of the bank and of a person's work, the numbers on Home, and whether a job runs."""
    job = current_job(project)
    judged = f"SELECT query_id, passage_id, value FROM judgments JOIN sources USING (source_key) {PAIRS} WHERE name = ?"
    return {
        "saved": {question.question_id: question for question in bank.list_questions(project)},
        "drafts": {key: draft.question for key, draft in bank.list_drafts(project, author).items()},
        "steps": list(bank.count_steps(project, author)),
        "conflicts": {conflict.mine.question_id for conflict in bank.list_conflicts(project, author)},
        "versions": {(version.author, version.note) for version in bank.list_versions(project)},
        "judged": {f"{q} {p}": value for q, p, value in project.rows(judged, [f"assessor: {author}"])},
        "overridden": dict(project.rows("SELECT reason, rating FROM overrides WHERE author = ?", [author])),
        "counts": {name: project.value(f"SELECT count(*) FROM {rows}") for name, rows in COUNTED.items()},
        "busy": job is not None and not job.over,
    }


def acts(project: Project, author: str, after: int) -> list[str]:
    """Return the actions of a person in the log after a key, without those of jobs."""
    rows = project.rows("SELECT act FROM activity WHERE author = ? AND activity_key > ?", [author, after])
    return [act for (act,) in rows if not act.startswith("job ")]


def kept(project: Project, upto: Mapping[str, int]) -> dict[str, tuple[int, int]]:
    """Return for each table of `KEPT` the last key, and a fingerprint of the rows up to a key, or of all rows."""
    found = {}
    for table, key in KEPT.items():
        columns = f"coalesce(max({key}), 0), coalesce(bit_xor(hash(t)) FILTER ({key} <= ?), 0)"
        found[table] = project.rows(f"SELECT {columns} FROM {table} t", [upto.get(table, 2**31)])[0]
    return found


def board(project: Project, measure: str, against: str) -> dict[str, float]:
    """Return the score of each system, on the queries in common with an official leaderboard if one is chosen."""
    if against not in judgment_sources(project):
        return dict(leaderboard(project, measure).scores)
    official = measure if parse_measure(measure).takes_judgments else "nDCG@10"
    return dict(compare(project, measure, against, against_measure=official).board.scores)


def check(project: Project) -> list[str]:
    """Return the findings of `exam check` except keys: a second handle does not know if the log was just read."""
    return [str(finding) for name, findings in check_project(project).items() if name != "keys" for finding in findings]


FACTS: dict[str, Callable[..., Any]] = {fact.__name__: fact for fact in (known, acts, kept, board, check)}


def _answer(listener: Listener) -> None:
    while True:
        with listener.accept() as connection:
            fact, path, arguments = connection.recv()
            try:
                project = open_project(path)
                try:
                    connection.send((FACTS[fact](project, **arguments), ""))
                finally:
                    project.close()
            except Exception:
                connection.send((None, traceback.format_exc()))


if __name__ == "__main__":
    listener = Listener(("127.0.0.1", int(sys.argv[2])))
    threading.Thread(target=_answer, args=[listener], name="facts", daemon=True).start()
    sys.argv = ["streamlit", "run", str(APP), "--server.port", sys.argv[1], "--server.headless", "true"]
    cli.main()
