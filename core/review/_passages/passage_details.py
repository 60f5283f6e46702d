"""A passage of a query: judgments, ranks, grades of questions, and positions of answers."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any, Literal

from ...bank import (
    StoredGrader,
    asked_questions,
    bank_for,
    find_grader,
    label_graders,
    latest_version,
    query_as_question,
    readable_questions,
)
from ...errors import InputError
from ...injection_signs import Sign, find_signs
from ...labels import Basis, Override, Policy, basis, find_overrides, ratings
from ...records import visible_rows
from ...store import Project
from ...types import Question, Status
from .._changes.rescoring import single_label


@dataclass(frozen=True)
class GraderResult:
    """A grader's result for a question and the passage, without a rating if ungraded or failed."""

    status: Status | Literal["ungraded"]
    rating: int | None = None
    answer: str | None = None
    confidence: float | None = None
    raw: str | None = None
    note: str | None = None
    distribution: tuple[float, ...] | None = None
    reason: str | None = None


@dataclass(frozen=True)
class AskedQuestion:
    """A question of the query, or the query itself for a direct grader.

    Args:
        number: position in the order of the bank, from 1; 0 for the query itself.
        said: results by name of the grader, without graders that cannot grade the question.
        counts: whether the policy's grader grades this question.
        rating: the rating that counts under the policy; None without a usable grade.
        override: the override for the current wording, even if the policy ignores overrides.
        stale: overrides for an earlier wording.
        gives_label: whether the label of the passage comes from this question.
    """

    number: int
    question: Question
    said: dict[str, GraderResult]
    counts: bool
    rating: int | None
    override: Override | None = None
    stale: list[Override] = field(default_factory=list)
    gives_label: bool = False


@dataclass(frozen=True)
class PassageDetails:
    """The data of a passage for a query.

    Args:
        text: None if the passage is known only by its id.
        pooled: whether it is in the pool; otherwise it has no label.
        label: the label under the policy; None for no label.
        usable, needed: number of rated pairs behind the label, and number of all its pairs.
        asked: the query itself if a direct grader is shown, then the active questions.
        judgments: (source, value), in the order of the sources.
        ranks: (run, rank), best first; the rank is None if the run answered the query without the
            passage.
        signs: parts of the text that address the grader.
    """

    query_id: str
    query: str
    narrative: str | None
    passage_id: str
    text: str | None
    pooled: bool
    label: int | None
    usable: int
    needed: int
    asked: list[AskedQuestion]
    judgments: list[tuple[str, int]]
    ranks: list[tuple[str, int | None]]
    signs: list[Sign]


def read_passage(
    project: Project,
    policy: Policy | None,
    query_id: str,
    passage_id: str,
    grader_names: Sequence[str] = (),
) -> PassageDetails:
    """Return the data of a passage for a query.

    Args:
        policy: determines the label; None if nothing has been graded.
        grader_names: names of the graders to show; empty for the policy's grader.

    Raises:
        InputError: the query, the passage, a grader or the version is unknown.
    """
    passage_row = project.rows(
        "SELECT query_key, passage_key, p.text_key, q.text, narrative, t.text,"
        " EXISTS (SELECT * FROM pool WHERE pool.query_key = q.query_key"
        " AND pool.passage_key = p.passage_key)"
        " FROM queries q, passages p LEFT JOIN passage_texts t USING (text_key)"
        " WHERE query_id = ? AND passage_id = ?",
        [query_id, passage_id],
    )
    if not passage_row:
        raise InputError(
            "unknown-passage",
            f"Unknown query '{query_id}' or passage '{passage_id}'.",
            "Choose a passage from the list.",
        )
    query_key, passage_key, text_key, query, narrative, text, pooled = passage_row[0]
    base = basis(project, policy) if policy is not None and label_graders(project) else None
    looked_at = [find_grader(project, name) for name in grader_names] or (
        [base.grader] if base is not None else []
    )
    questions = _asked_questions(
        project, base, looked_at, query_id, query_key, passage_id, text_key
    )
    label, usable, needed = _label_and_counts(base, questions) if pooled else (None, 0, 0)
    return PassageDetails(
        query_id=query_id,
        query=query,
        narrative=narrative,
        passage_id=passage_id,
        text=text,
        pooled=pooled,
        label=label,
        usable=usable,
        needed=needed,
        asked=[_with_label(question, base, label) for question in questions],
        judgments=project.rows(
            f"SELECT name, value FROM {visible_rows(project, 'judgments')} JOIN sources"
            " USING (source_key) WHERE query_key = ? AND passage_key = ? ORDER BY source_key",
            [query_key, passage_key],
        ),
        ranks=project.rows(
            "SELECT name, min(rank) FILTER (passage_key = $passage) FROM rankings JOIN runs"
            " USING (run_key)"
            " WHERE query_key = $query GROUP BY run_key, name ORDER BY 2 NULLS LAST, run_key",
            {"query": query_key, "passage": passage_key},
        ),
        signs=find_signs(
            text or "",
            [
                question.question.text or ""
                for question in questions
                if question.number and question.question.kind != "nugget"
            ],
        ),
    )


def _asked_questions(
    project: Project,
    base: Basis | None,
    looked_at: Sequence[StoredGrader],
    query_id: str,
    query_key: int,
    passage_id: str,
    text_key: int | None,
) -> list[AskedQuestion]:
    version = base.version if base else latest_version(project)
    active = [
        q
        for q in readable_questions(project, asked_questions(project, version, query_id))
        if q.active
    ]
    results = {
        g.spec.name: _grader_results(project, g, version, query_key, text_key) for g in looked_at
    }
    counting = {} if base is None else _counting_ratings(project, base, query_key, text_key)
    same_text = {
        other
        for (other,) in project.rows(
            "SELECT passage_id FROM passages WHERE text_key = ?", [text_key]
        )
        if text_key is not None
    } | {passage_id}
    # A topic's questions are its query's, and so are the overrides.
    homes = dict.fromkeys([query_id, *(q.query_id for q in active)])
    people = [
        override
        for home in homes
        for override in find_overrides(project, home)
        if override.passage_id in same_text
    ]
    of_query = [g for g in looked_at if g.spec.method == "direct"]
    if base is not None and base.grader.spec.method == "direct":
        of_query = [base.grader, *of_query]
    questions = [*([query_as_question(project, query_id)] if of_query else []), *active]
    return [
        AskedQuestion(
            number=number,
            question=question,
            said={
                name: by_id[question.question_id]
                for name, by_id in results.items()
                if question.question_id in by_id
            },
            counts=question.question_id in counting,
            rating=counting.get(question.question_id),
            # An override that counts takes precedence over one that awaits adjudication.
            override=min(
                (
                    override
                    for override in people
                    if override.question_id == question.question_id and not override.stale
                ),
                key=lambda override: override.held,
                default=None,
            ),
            stale=[
                override
                for override in people
                if override.question_id == question.question_id and override.stale
            ],
        )
        for number, question in enumerate(questions, 0 if of_query else 1)
    ]


def label_with(
    project: Project, policy: Policy, desk: PassageDetails, ratings: Mapping[str, int | None]
) -> int | None:
    """Return the label that the passage would have with other ratings for some questions; None for
    no label.

    Args:
        ratings: by question id, on the scale for people (0 to 5); None for no usable grade.

    Raises:
        InputError: the grader or version is unknown.
    """
    if not desk.pooled:
        return None
    base = basis(project, policy)
    new_ratings = {
        key: None if rating is None else base.grader.spec.on_scale(rating)
        for key, rating in ratings.items()
    }
    questions = [
        replace(one, rating=new_ratings.get(one.question.question_id, one.rating))
        for one in desk.asked
    ]
    return _label_and_counts(base, questions)[0]


def strongest_first(questions: Sequence[AskedQuestion]) -> list[AskedQuestion]:
    """Return the questions in the order of their influence on the label.

    The query itself is first, then questions that give the label, then other questions by the
    rating that counts. Questions without a rating are last, first failed and then ungraded.
    """

    def sort_key(question: AskedQuestion) -> tuple[bool, bool, int, bool, int]:
        rating = -1 if question.rating is None else question.rating
        failed = any(result.status == "failed" for result in question.said.values())
        return question.number != 0, not question.gives_label, -rating, not failed, question.number

    return sorted(questions, key=sort_key)


_ASKED = " FROM {bank} b JOIN queries q USING (query_key) LEFT JOIN questions USING (question_key)"


def _grader_results(
    project: Project, grader: StoredGrader, version: int, query_key: int, text_key: int | None
) -> dict[str, GraderResult]:
    """Return a grader's results by question id; for a direct grader by query id."""
    rows = project.rows(
        "SELECT coalesce(question_id, query_id), g.rating, defaulted, g.answer, confidence, g.raw,"
        f" note, distribution, reason, f.raw{_ASKED.format(bank=bank_for(grader.spec))}"
        " LEFT JOIN (SELECT * FROM grades WHERE grader_key = $grader"
        " AND passage_text_key = $text) g ON g.question_text_key = b.text_key LEFT JOIN"
        " (SELECT question_text_key, arg_max(reason, rowid) AS reason, arg_max(raw, rowid) AS raw"
        "  FROM failures WHERE grader_key = $grader AND passage_text_key = $text GROUP BY 1) f"
        " ON f.question_text_key = b.text_key WHERE q.query_key = $query",
        {"version": version, "grader": grader.key, "query": query_key, "text": text_key},
    )
    return {row[0]: _as_result(row[1:]) for row in rows}


def _as_result(row: Sequence[Any]) -> GraderResult:
    rating, defaulted, answer, confidence, raw, note, distribution, reason, failed_raw = row
    if rating is not None:
        chances = None if distribution is None else tuple(distribution)
        return GraderResult(
            "defaulted" if defaulted else "graded", rating, answer, confidence, raw, note, chances
        )
    return (
        GraderResult("ungraded")
        if reason is None
        else GraderResult("failed", raw=failed_raw, reason=reason)
    )


def _counting_ratings(
    project: Project, base: Basis, query_key: int, text_key: int | None
) -> dict[str, int | None]:
    """Return the rating that counts under the policy, by question id; None for a missing rating."""
    return dict(
        project.rows(
            "SELECT coalesce(question_id, query_id),"
            f" r.rating{_ASKED.format(bank=bank_for(base.grader.spec))}"
            f" LEFT JOIN (SELECT * FROM {ratings(base)} WHERE passage_text_key = $text) r"
            " ON r.question_text_key = b.text_key WHERE q.query_key = $query",
            base.parameters | {"query": query_key, "text": text_key},
        )
    )


def _label_and_counts(
    base: Basis | None, questions: Sequence[AskedQuestion]
) -> tuple[int | None, int, int]:
    """Return the label of the passage, the number of its rated pairs, and the number of all its
    pairs.
    """
    if base is None:
        return None, 0, 0
    part = [one for one in questions if one.counts and one.question.weight > 0]
    label = single_label(base.policy, [(one.question.weight, one.rating) for one in part])
    usable = sum(one.rating is not None for one in part)
    top = base.grader.spec.max_rating
    return (None if label is None else min(label, top)), usable, len(part)


def _with_label(question: AskedQuestion, base: Basis | None, label: int | None) -> AskedQuestion:
    gives = (
        base is not None
        and base.policy.label != "mean"
        and bool(label)
        and question.question.weight > 0
        and (question.rating or 0) >= (label or 0)
    )
    return replace(question, gives_label=gives)


Span = tuple[int, int]
"""Position of the first character, and the position after the last character."""

SEARCHED_LOOSELY = 2_000
"""Maximum number of characters of an answer that is also searched without regard to case and white
space.
"""


@dataclass(frozen=True)
class Segment:
    """A piece of a text.

    Args:
        text: the piece; all pieces, joined in order, are the text.
        inside: indexes of the spans that cover the piece.
        ending: indexes of the spans that end with the piece.
    """

    text: str
    inside: tuple[int, ...] = ()
    ending: tuple[int, ...] = ()


def find_answer(text: str, answer: str | None) -> Span | None:
    """Return the first position of an answer in a text: unchanged, or else ignoring case and white
    space.

    An answer without letters and digits is not searched, because it would be found anywhere. A
    match must not begin or end within a word.
    """
    words = (answer or "").split()
    if not any(character.isalnum() for word in words for character in word):
        return None
    loose = len(answer or "") <= SEARCHED_LOOSELY
    pattern = (
        r"\s+".join(re.escape(word) for word in words)
        if loose
        else re.escape((answer or "").strip())
    )
    # In scripts that separate words by spaces, an adjacent letter means another word.
    if _joins_words(words[0][0]):
        pattern = r"(?<![^\W_])" + pattern
    if _joins_words(words[-1][-1]):
        pattern += r"(?![^\W_])"
    found = re.search(pattern, text) or (re.search(pattern, text, re.IGNORECASE) if loose else None)
    return found.span() if found else None


def _joins_words(character: str) -> bool:
    return character.isalnum() and ord(character) < 0x2E80


def cut_segments(text: str, spans: Sequence[Span]) -> list[Segment]:
    """Cut a text at the edges of spans, which may overlap, touch and nest.

    Args:
        spans: spans within the text; no span is empty.
    """
    edges = sorted({0, len(text), *(edge for span in spans for edge in span)})
    return [
        Segment(
            text[start:end],
            tuple(i for i, (first, last) in enumerate(spans) if first <= start and end <= last),
            tuple(i for i, (_, last) in enumerate(spans) if last == end),
        )
        for start, end in pairwise(edges)
    ]
