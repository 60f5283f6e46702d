"""Faults of questions: gaps between the bank and judgments, and tests of rewordings."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from hashlib import blake2b
from typing import Any, TypeVar

import numpy as np

from .. import bank, graders, grading
from ..choices import DRAFTED_WORDINGS
from ..errors import InputError
from ..labels import MISSING, Basis, Policy, basis, find_overrides, graded_pairs, load_ratings
from ..measures import HELD_OUT, RepairTest, level_of_test, rewording_test
from ..records import (
    find_source,
    passage_texts,
    readable_texts,
    refuse_hidden,
    source_judgments,
    visible_rows,
)
from ..store import Project, log_action
from ..types import ANSWERED, Question

EXAMPLES = 3
"""Number of passages of each kind of error that the model reads."""
TOLD = {
    True: "This passage answers the question:",
    False: "This passage does not answer the question:",
}


@dataclass(frozen=True)
class StrayQuestion:
    """A question that judged non-relevant passages answer.

    Args:
        weight: weight in the bank; below 0 for content that a response should not have.
        non_relevant, relevant: numbers of judged passages that answer the question.
        passages: some of the non-relevant passages, lowest judgment first, then highest rating.
    """

    query_id: str
    query_text: str
    question_id: str
    text: str
    weight: float
    non_relevant: int
    relevant: int
    passages: list[str]


@dataclass(frozen=True)
class UncoveredPassage:
    """A graded passage with a relevant judgment that answers no question of positive weight.

    Args:
        best: the highest rating of the passage.
    """

    query_id: str
    query_text: str
    passage_id: str
    text: str | None
    judgment: int
    best: int


PASSAGES_NAMED = 5


def list_strays(
    project: Project, policy: Policy, source: str, limit: int = 10, offset: int = 0
) -> tuple[int, list[StrayQuestion]]:
    """Return a page of the questions that judged non-relevant passages answer, most such passages
    first.

    The result is that of `study.diagnose_questions`, for all queries at once.

    Args:
        source: source of the judgments. Passages are relevant from `policy.min_judgment` on.

    Returns:
        The number of all such questions, and the questions of the page.

    Raises:
        InputError: the grader, version or source is unknown.
    """
    return _read_page(
        project,
        policy,
        source,
        limit,
        offset,
        StrayQuestion,
        "(SELECT query_key, question_key, weight, count(*) FILTER (NOT relevant) AS stray,"
        " count(*) FILTER (relevant) AS fitting, array_agg(passage_id"
        " ORDER BY value, rating DESC, passage_key)"
        " FILTER (NOT relevant) AS passages FROM rated JOIN passages USING (passage_key)"
        " WHERE rating >= $tau AND weight <> 0 GROUP BY ALL HAVING stray > 0) SELECT count(*)"
        " OVER (), query_id, q.text, coalesce(question_id, query_id), coalesce(t.text, question_id,"
        f" q.text), found.weight, stray, fitting, passages[:{PASSAGES_NAMED}] FROM found"
        " JOIN queries q USING (query_key) LEFT JOIN questions USING (question_key)"
        " LEFT JOIN bank_at($version) r USING (question_key)"
        f" LEFT JOIN {readable_texts(project)} t ON t.text_key = r.text_key"
        " ORDER BY stray DESC, q.query_key, r.position, question_key",
    )


def list_uncovered(
    project: Project, policy: Policy, source: str, limit: int = 10, offset: int = 0
) -> tuple[int, list[UncoveredPassage]]:
    """Return a page of the judged relevant passages that answer no question, highest judgment
    first.

    Args, returns, raises: as for `list_strays`.
    """
    return _read_page(
        project,
        policy,
        source,
        limit,
        offset,
        UncoveredPassage,
        "(SELECT query_key, passage_key, value, max(rating) AS best FROM rated"
        " WHERE relevant AND weight > 0 GROUP BY ALL HAVING best < $tau)"
        " SELECT count(*) OVER (), query_id, q.text, passage_id, t.text, value, best FROM found"
        " JOIN queries q USING (query_key) JOIN passages USING (passage_key)"
        " LEFT JOIN passage_texts t USING (text_key)"
        " ORDER BY value DESC, best, query_key, passage_key",
    )


T = TypeVar("T")


def _read_page(
    project: Project,
    policy: Policy,
    source: str,
    limit: int,
    offset: int,
    kind: Callable[..., T],
    found: str,
) -> tuple[int, list[T]]:
    """Return the number of all results, and those of a page.

    Args:
        kind: makes a result from its columns.
        found: SQL of a relation `found` and of the query that reads it, first the number of rows.
            Both can read `rated`, every rating of a judged passage, and the min rating `$tau`.
    """
    base = basis(project, policy)
    rows = project.rows(
        "WITH judged AS (SELECT query_key, passage_key, value, value >= $enough AS relevant"
        f" FROM {visible_rows(project, 'judgments')}"
        " JOIN sources USING (source_key) WHERE name = $source),"
        f" rated AS (SELECT p.*, value, relevant FROM ({graded_pairs(base)}) p JOIN judged"
        " USING (query_key, passage_key) WHERE rating IS NOT NULL),"
        f" found AS {found} LIMIT $limit OFFSET $offset",
        base.parameters
        | {
            "source": find_source(project, source),
            "enough": base.policy.min_judgment,
            "tau": base.min_rating,
            "limit": limit,
            "offset": offset,
        },
    )
    return (rows[0][0] if rows else 0), [kind(*row[1:]) for row in rows]


@dataclass(frozen=True)
class Repair:
    """The outcome of a repair.

    Args:
        wording: the wording that was best on the first half.
        number: number of the question's test, from 1; each later test has a stricter level.
        test: the test on the other half.
    """

    question: str
    wording: str
    number: int
    test: RepairTest

    @property
    def description(self) -> str:
        """The outcome in two sentences."""
        test = self.test
        return (
            f"{'Accepted and drafted' if test.accepted else 'Not accepted'}: “{self.wording}”."
            f" Of {test.pairs} held-out pairs, {test.gains} became right and"
            f" {test.losses} wrong (p {test.p:.3f}, level {test.level:.3f} of test {self.number})."
        )

    def as_dict(self) -> dict[str, Any]:
        """Return the outcome as plain values, as `--json` prints it."""
        return {**asdict(self), "says": self.description}


def repair_question(
    project: Project,
    question_id: str,
    wordings: Sequence[str],
    policy: Policy,
    source: str,
    author: str,
) -> Repair:
    """Test rewordings of a question, and draft the best one if it is better.

    A rating is right if it answers the question exactly for passages that do: by an override of the
    question, or else by the judgment of the passage. Missing pairs of the wordings are graded
    first.

    Args:
        wordings: new wordings by people or models.
        source: the judgments. They count from `policy.min_judgment` on.

    Raises:
        InputError: the question, grader or source is unknown, no wording is new, or too few pairs
            can be compared. The pairs are counted before any grading.
        GradingError: the grader cannot grade the wordings here.
    """
    project.require("grade", author=author)
    refuse_hidden(project, [question_id])
    base, question = _saved_question(project, policy, question_id)
    texts = [text for text in dict.fromkeys(one.strip() for one in wordings) if text]
    if not texts or question.text in texts:
        raise InputError(
            "nothing-to-repair",
            f"No new wording of question '{question_id}'.",
            "Give its id and another wording.",
        )
    _known_pairs(project, [question], base, policy, source)
    variants = [replace(question, text=text) for text in texts]
    if (grader := bank.grader_again(project, base.grader.spec)) is not None:
        grading.run_job(project, grader, grading.Request(trial=tuple(variants)), author)
    known = _known_pairs(project, [question, *variants], base, policy, source)
    key = project.value("SELECT question_key FROM questions WHERE question_id = ?", [question_id])
    number = 1 + project.value("SELECT count(*) FROM repairs WHERE question_key = ?", [key])
    test = rewording_test(known.right[0], known.right[1:], known.held_out, level_of_test(number))
    outcome = Repair(question_id, texts[test.chosen], number, test)
    with project.transaction(act="grade", author=author) as cursor:
        cursor.execute(
            "INSERT INTO repairs VALUES (nextval('keys'), ?, ?, ?, ?, ?, ?, ?, ?, ?, ?,"
            " now()::TIMESTAMP)",
            [
                key,
                base.grader.key,
                outcome.wording,
                test.pairs,
                test.gains,
                test.losses,
                test.p,
                test.level,
                test.accepted,
                author,
            ],
        )
        log_action(cursor, author, "test rewording", question=question_id, accepted=test.accepted)
    if test.accepted:
        bank.put_draft(project, author, replace(question, text=outcome.wording))
    return outcome


def suggest_rewordings(
    project: Project,
    drafter: grading.Drafter,
    question_id: str,
    policy: Policy,
    source: str,
    author: str,
    n: int = DRAFTED_WORDINGS,
    prompt: str | None = None,
    control: graders.Control | None = None,
) -> grading.Report:
    """Draft new wordings of a question with a model, from passages that the grader rates wrongly,
    as proposals.

    The model reads no passage of the half that tests the wordings.

    Args:
        source, policy: as for `repair_question`.
        n, prompt, control: as for `draft_rewordings`.

    Raises:
        InputError: the question, grader, source or prompt is unknown, too few pairs could test a
            wording, or no rating of the first half is wrong.
        GradingError: the model cannot be used.
    """
    refuse_hidden(project, [question_id])
    base, question = _saved_question(project, policy, question_id)
    pairs = _known_pairs(project, [question], base, policy, source)
    wrong = np.flatnonzero(~pairs.right[0] & ~pairs.held_out)
    if not len(wrong):
        raise InputError(
            "no-disagreement",
            f"No rating of question '{question_id}' disagrees with a judgment or override.",
            "Write a wording yourself: exam bank repair QUESTION --wording TEXT",
        )
    example_rows = [
        at for answers in (True, False) for at in wrong[pairs.truth[wrong] == answers][:EXAMPLES]
    ]
    texts = passage_texts(project, [pairs.passage_ids[at] for at in example_rows])
    examples = "\n\n".join(
        f"{TOLD[bool(pairs.truth[at])]}\n{texts.get(pairs.passage_ids[at], '')}"
        for at in example_rows
    )
    return grading.draft_rewordings(
        project, drafter, question, examples, n, author, prompt, control
    )


def _saved_question(project: Project, policy: Policy, question_id: str) -> tuple[Basis, Question]:
    base = basis(project, replace(policy, overrides=False))
    return base, bank.saved_question(project, question_id, base.version)


@dataclass(frozen=True)
class _KnownPairs:
    """The p passages with a known answer, for w wordings.

    Args:
        truth: p; whether a passage answers the question.
        right: w x p; whether the rating of a wording says so.
        held_out: p; whether the pair is in the half that tests.
    """

    passage_ids: list[str]
    truth: np.ndarray
    right: np.ndarray
    held_out: np.ndarray


def count_held_out(project: Project, question_id: str, policy: Policy, source: str) -> int:
    """Return the number of pairs that could test a rewording of a question; a test needs
    `measures.HELD_OUT`.

    Args, raises: as for `repair_question`.
    """
    base, question = _saved_question(project, policy, question_id)
    return int(_known_pairs(project, [question], base, policy, source, least=0).held_out.sum())


def _known_pairs(
    project: Project,
    questions: Sequence[Question],
    base: Basis,
    policy: Policy,
    source: str,
    least: int = HELD_OUT,
) -> _KnownPairs:
    query_id = questions[0].query_id
    query_ratings = load_ratings(project, base, query_id, questions)
    ratings = query_ratings.select_questions(questions)
    values = source_judgments(project, find_source(project, source)).get(query_id, {})
    truth = {passage: value >= policy.min_judgment for passage, value in values.items()}
    mine = [
        one
        for one in find_overrides(project, query_id)
        if one.question_id == questions[0].question_id and not one.stale
    ]
    truth |= {one.passage_id: one.rating >= ANSWERED for one in mine}
    judged = np.array([passage in truth for passage in query_ratings.passage_ids], bool)
    rows = np.flatnonzero(judged & query_ratings.pooled & (ratings != MISSING).all(axis=1))
    names = [query_ratings.passage_ids[at] for at in rows]
    answers = np.array([truth[name] for name in names], bool)
    held_out = np.array(
        [blake2b(name.encode(), digest_size=1).digest()[0] % 2 == 1 for name in names], bool
    )
    if held_out.sum() < least:
        raise InputError(
            "too-few-pairs",
            f"A test of question '{questions[0].question_id}' needs {least} held-out pairs with a"
            f" rating and a judgment or override; it has {held_out.sum()}.",
            f"Judge more passages of query '{query_id}', or grade them. About half are held out.",
        )
    return _KnownPairs(names, answers, answers == (ratings[rows] >= base.min_rating).T, held_out)
