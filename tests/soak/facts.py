"""What is true in a project: read from its tables row by row, and worked out in plain Python.

Nothing here uses what the app remembers or derives in SQL, so that a screen, and `core` behind it, has something to be
held against. The definitions are those of `tests.made.projects`, straight from the words of the design.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import mean
from typing import Any

from pandas import isna

from core import bank
from core import labels as the_labels
from core.catalogue import find_grader
from core.grading import running as grading
from core.labels import Policy, basis
from core.leaderboard import score_runs
from core.measures import COVER
from core.project import Project, rankings
from core.types import Question
from tests.made.projects import expected_coverage, expected_label

Pair = tuple[str, str]
"""A question's text and a passage's text, or a query's id and a passage's id."""


@dataclass(frozen=True)
class Grading:
    """All that labels come from.

    Args:
        passages: pooled passages by query id, each with its text.
        questions: active questions by query id, as the newest bank version has them.
        ratings: what counts by (question text, passage text): a person's before the machine's.
    """

    passages: dict[str, dict[str, str | None]]
    questions: dict[str, list[Question]]
    ratings: dict[Pair, int]


def grading_of(project: Project, grader: str | None, overrides: bool = True, version: int | None = None) -> Grading:
    """Read the pool, the bank and the ratings of a grader, row by row; the newest bank for no version."""
    chosen = find_grader(project, grader)
    passages: dict[str, dict[str, str | None]] = {}
    for query, passage, text in project.rows(
        "SELECT query_id, passage_id, t.text FROM pool JOIN queries USING (query_key) JOIN passages p"
        " USING (passage_key) LEFT JOIN passage_texts t ON t.text_key = p.text_key ORDER BY query_key, position"
    ):
        passages.setdefault(query, {})[passage] = text
    questions: dict[str, list[Question]] = {}
    for question in at_version(project, version):
        if question.active and question.kind in chosen.spec.kinds:
            questions.setdefault(question.query_id, []).append(question)
    ratings: dict[Pair, int] = {
        (question, passage): rating
        for question, passage, rating in project.rows(
            "SELECT q.text, p.text, rating FROM grades JOIN question_texts q ON q.text_key = question_text_key"
            " JOIN passage_texts p ON p.text_key = passage_text_key WHERE grader_key = ?",
            [chosen.key],
        )
    }
    if overrides:
        ratings |= {
            (question, passage): rating
            for question, passage, rating in project.rows(
                "SELECT q.text, p.text, rating FROM overrides JOIN question_texts q ON q.text_key = question_text_key"
                " JOIN passage_texts p ON p.text_key = passage_text_key WHERE withdrawn_at IS NULL"
                " ORDER BY override_key"
            )
        }
    return Grading(passages, questions, ratings)


def at_version(project: Project, version: int | None) -> list[Question]:
    """The bank as a version left it: the last revision of every question up to it; as it is now for None."""
    last = {
        row[0]: Question(*row)
        for row in project.rows(
            "SELECT question_id, query_id, t.text, r.kind, r.weight, r.active FROM question_revisions r"
            " JOIN questions USING (question_key) JOIN queries USING (query_key)"
            " JOIN question_texts t ON t.text_key = r.text_key WHERE $version IS NULL OR r.version <= $version"
            " ORDER BY r.revision_key",
            {"version": version},
        )
    }
    return list(last.values())


def labels_of(found: Grading, policy: Policy) -> dict[Pair, int | None]:
    """The label of every pooled passage of a query that has questions, by (query id, passage id)."""
    return {
        (query, passage): expected_label(
            [(q.weight, found.ratings.get((q.text or "", text or ""))) for q in found.questions[query]],
            policy.label,
            policy.weighted,
        )
        for query, passages in found.passages.items()
        if query in found.questions
        for passage, text in passages.items()
    }


def board_of(
    project: Project, found: Grading, policy: Policy, measure: str, against: str | None = None
) -> dict[str, float]:
    """The score of every run by a measure of labels, or by EXAM-Cover; a skipped query counts 0.

    Args:
        against: a source of judgments, whose queries alone count where it judged some of those of the board.
    """
    if measure.startswith(COVER):
        per_query = _coverage_of(project, found, policy, measure)
        queries = {query for query, questions in found.questions.items() if any(q.weight > 0 for q in questions)}
    else:
        qrels: dict[str, dict[str, int]] = {}
        for (query, passage), label in labels_of(found, policy).items():
            if label is not None:
                qrels.setdefault(query, {})[passage] = label
        scored = score_runs(rankings(project), [measure], qrels, policy.min_rating)
        per_query = {run: by_measure.get(measure, {}) for run, by_measure in scored.items()}
        queries = set(qrels)
    judged = {
        query
        for (query,) in project.rows(
            "SELECT DISTINCT query_id FROM judgments JOIN sources USING (source_key) JOIN queries USING (query_key)"
            " WHERE name = ?",
            [against],
        )
    }
    queries = queries & judged or queries
    return {run: mean(of_run.get(query, 0.0) for query in queries) for run, of_run in per_query.items()}


def _coverage_of(project: Project, found: Grading, policy: Policy, measure: str) -> dict[str, dict[str, float]]:
    _, _, depth = measure.partition("@")
    cutoff = int(depth) if depth else policy.cutoff
    texts = dict(project.rows("SELECT passage_id, text FROM passages LEFT JOIN passage_texts USING (text_key)"))
    scores: dict[str, dict[str, float]] = {}
    for run, query, passages in project.rows(
        "SELECT name, query_id, list(passage_id ORDER BY rank) FROM rankings JOIN runs USING (run_key)"
        " JOIN queries USING (query_key) JOIN passages USING (passage_key) WHERE rank <= ? GROUP BY ALL",
        [cutoff],
    ):
        asked = found.questions.get(query, [])
        top = [texts[passage] or "" for passage in passages]
        # Two questions of the same words are two questions: each is scored by itself.
        weight = {f"{number}": q.weight for number, q in enumerate(asked)}
        rated = {
            (f"{number}", text): found.ratings.get((q.text or "", text))
            for number, q in enumerate(asked)
            for text in top
        }
        score = expected_coverage(weight, rated, top, policy.min_rating, policy.weighted)
        if score is not None:
            scores.setdefault(run, {})[query] = score
    return {run: scores.get(run, {}) for (run,) in project.rows("SELECT name FROM runs")}


# What can be asked, each with JSON values only.


def labels(project: Project, policy: Mapping[str, Any]) -> dict[str, Any]:
    """The labels of a policy, and where those of `core` differ.

    Returns:
        `differ`: up to five (query, passage, core's label, ours), `labelled`, `unlabelled`: numbers of pooled
        passages, `distribution`: passages by label, `qrels`: the lines of the qrels.
    """
    chosen = Policy(**policy)
    ours = labels_of(grading_of(project, chosen.grader, chosen.overrides), chosen)
    table = the_labels.labels(project, basis(project, chosen))
    theirs = {
        (query, passage): None if isna(label) else int(label)
        for query, passage, label in zip(table["query_id"], table["passage_id"], table["label"], strict=True)
    }
    differ = [
        [*pair, theirs.get(pair, "absent"), ours.get(pair, "absent")]
        for pair in sorted(ours.keys() | theirs.keys())
        if theirs.get(pair, "absent") != ours.get(pair, "absent")
    ]
    known = {pair: label for pair, label in ours.items() if label is not None}
    return {
        "differ": differ[:5],
        "labelled": len(known),
        "unlabelled": len(ours) - len(known),
        "distribution": {str(label): count for label, count in Counter(known.values()).items()},
        "qrels": sorted(f"{query} 0 {passage} {label}" for (query, passage), label in known.items()),
    }


def flips(project: Project, **sides: Mapping[str, Any]) -> int:
    """How many labels differ between two states, `from` and `to`."""
    before, after = (
        labels_of(grading_of(project, chosen.grader, chosen.overrides, chosen.bank_version), chosen)
        for chosen in (Policy(**sides[side]) for side in ("from", "to"))
    )
    return sum(before.get(pair) != after.get(pair) for pair in before.keys() | after.keys())


def logged(project: Project, who: str | None, act: str | None) -> int:
    """How many acts the log has, of one person or all, of one kind or all."""
    return int(
        project.value(
            "SELECT count(*) FROM activity WHERE ($who IS NULL OR author = $who) AND ($act IS NULL OR act = $act)",
            {"who": who, "act": act},
        )
    )


def board(project: Project, policy: Mapping[str, Any], measure: str, against: str | None = None) -> dict[str, float]:
    """The score of every run, over the queries that a source has judged too, or over its own."""
    chosen = Policy(**policy)
    return board_of(project, grading_of(project, chosen.grader, chosen.overrides), chosen, measure, against)


def plan(project: Project, grader: str | None = None) -> dict[str, int]:
    """Pairs of texts that the newest bank needs: how many in all, known, and still to be asked."""
    found = grading_of(project, grader, overrides=False)
    needed = {
        (question.text, text)
        for query, questions in found.questions.items()
        for question in questions
        for text in found.passages.get(query, {}).values()
        if text is not None
    }
    known = sum(pair in found.ratings for pair in needed)
    return {"needed": len(needed), "known": known, "missing": len(needed) - known}


def passage(project: Project, policy: Mapping[str, Any], query: str, passage: str) -> dict[str, Any]:
    """The label of one passage and the rating that counts for each question."""
    chosen = Policy(**policy)
    found = grading_of(project, chosen.grader, chosen.overrides)
    text = found.passages[query][passage]
    return {
        "label": labels_of(found, chosen).get((query, passage)),
        "ratings": [[q.text, found.ratings.get((q.text or "", text or ""))] for q in found.questions.get(query, [])],
    }


def questions(project: Project, version: int | None = None) -> list[dict[str, Any]]:
    """The bank at a version, in its order."""
    return [asdict(question) for question in bank.questions(project, version)]


def unsaved(project: Project, author: str) -> dict[str, Any]:
    """What a person has not saved.

    Returns:
        `drafts`: questions by id, `saved`: what the bank says of those, `steps`: how many can be undone and done
        again, `conflicts`: ids of questions that somebody else saved meanwhile.
    """
    mine = bank.drafts(project, author)
    saved = {question.question_id: question for question in bank.questions(project)}
    return {
        "drafts": {key: asdict(draft.question) for key, draft in mine.items()},
        "saved": {key: asdict(question) for key, question in saved.items()},
        "steps": bank.steps(project, author),
        "conflicts": [conflict.mine.question_id for conflict in bank.conflicts(project, author)],
    }


def history(project: Project, question_id: str) -> list[dict[str, Any]]:
    """Every wording and setting that a question has had, newest first."""
    return [
        {"version": revision.version, "question": asdict(revision.question)}
        for revision in bank.history(project, question_id)
    ]


def versions(project: Project) -> list[dict[str, Any]]:
    """Every bank version, newest first."""
    return [{"version": v.version, "note": v.note, "author": v.author} for v in bank.versions(project)]


def queries(project: Project) -> dict[str, str]:
    """The text of every query by its id."""
    return dict(project.rows("SELECT query_id, text FROM queries ORDER BY query_key"))


def ranked(project: Project) -> list[list[str]]:
    """Every pooled (query id, passage id, text) whose text is known."""
    return [
        list(row)
        for row in project.rows(
            "SELECT query_id, passage_id, passage_texts.text FROM pool JOIN queries USING (query_key)"
            " JOIN passages USING (passage_key) JOIN passage_texts ON passage_texts.text_key = passages.text_key"
            " ORDER BY query_key, position"
        )
    ]


def counts(project: Project) -> dict[str, int]:
    """Numbers of what Home shows."""
    tables = ("queries", "passages", "runs", "judgments", "questions", "grades")
    return {name: int(project.value(f"SELECT count(*) FROM {name}")) for name in tables}


def given(project: Project, author: str) -> dict[str, Any]:
    """What a person gave: `judgments` by "query passage", and `overrides` by reason."""
    judged = project.rows(
        "SELECT query_id, passage_id, value FROM judgments JOIN sources USING (source_key) JOIN queries"
        " USING (query_key) JOIN passages USING (passage_key) WHERE name = ?",
        [f"assessor: {author}"],
    )
    return {
        "judgments": {f"{query} {passage}": value for query, passage, value in judged},
        "overrides": {
            reason: {"question": question, "passage": passage, "rating": rating, "withdrawn": withdrawn}
            for reason, question, passage, rating, withdrawn in project.rows(
                "SELECT reason, question_id, passage_id, rating, withdrawn_by FROM overrides"
                " JOIN questions USING (question_key) JOIN passages USING (passage_key) WHERE author = ?",
                [author],
            )
        },
    }


def acts(project: Project, author: str, after: int) -> list[list[Any]]:
    """Key, name and detail of what the log says a person did after the act of a key."""
    return [
        list(row)
        for row in project.rows(
            "SELECT activity_key, act, detail FROM activity WHERE author = ? AND activity_key > ?"
            " ORDER BY activity_key",
            [author, after],
        )
    ]


def job(project: Project) -> dict[str, Any] | None:
    """The grading job that runs in this process or ran last."""
    found = grading.current_job(project)
    return None if found is None else asdict(found.progress) | {"over": found.progress.over}


KEPT = {
    "activity": ("activity_key", "*"),
    "bank_versions": ("version", "*"),
    "question_revisions": ("revision_key", "*"),
    "question_texts": ("text_key", "*"),
    "passage_texts": ("text_key", "*"),
    "overrides": ("override_key", "* EXCLUDE (withdrawn_by, withdrawn_at)"),
    "settlings": ("settling_key", "*"),
    "publications": ("publication_key", "*"),
    "(grades SEMI JOIN (FROM jobs WHERE ended_at IS NOT NULL) USING (job_key))": ("job_key", "*"),
    "(failures SEMI JOIN (FROM jobs WHERE ended_at IS NOT NULL) USING (job_key))": ("job_key", "*"),
}
"""Tables that are only ever added to: what orders them, and what of a row never changes."""


def kept(project: Project, upto: Mapping[str, int]) -> dict[str, list[int]]:
    """A fingerprint of everything that must never change.

    Args:
        upto: by table the key up to which to look once more.

    Returns:
        By table the last key, the fingerprint of all rows, and that of the rows up to the key that was asked for.
    """
    found = {}
    for table, (key, columns) in KEPT.items():
        row = project.rows(
            f"SELECT coalesce(max(k), 0), coalesce(bit_xor(h), 0), coalesce(bit_xor(h) FILTER (k <= ?), 0)"
            f" FROM (SELECT {key} AS k, hash(t) AS h FROM (SELECT {columns} FROM {table}) t)",
            [upto.get(table, 0)],
        )[0]
        found[table] = [int(value) for value in row]
    return found


def memory(_: Project) -> int:
    """Megabytes that the server's process holds; 0 where the machine does not say."""
    status = Path("/proc/self/status")
    held = re.search(r"VmRSS:\s+(\d+) kB", status.read_text()) if status.exists() else None
    return int(held[1]) // 1024 if held else 0


def stamp(project: Project) -> list[int]:
    """Differs whenever somebody did something, saved or not."""
    return [
        *project.state(),
        *project.rows("SELECT coalesce(max(epoch_us(changed_at)), 0), count(*) FROM drafts")[0],
    ]


FACTS: dict[str, Callable[..., Any]] = {
    fact.__name__: fact
    for fact in (
        labels, flips, logged, board, plan, passage, questions, unsaved, history, versions, queries, ranked, counts,
        given, acts, job,
        kept, memory, stamp,
    )
}  # fmt: skip
