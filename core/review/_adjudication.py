"""Values of several people for the same item: decisions on them, and their agreement."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from itertools import combinations
from typing import Literal, get_args

import numpy as np

from ..bank import latest_version
from ..choices import AdjudicationState
from ..errors import InputError, NotAllowed, check_in_range, check_not_empty, check_rules
from ..grouping import nest_triples
from ..labels import write_override, write_withdrawal
from ..measures import (
    Coefficient,
    alpha_of,
    cohen_kappa,
    cross_table,
    krippendorff_alpha,
    weighted_kappa,
)
from ..records import (
    ADJUDICATED,
    PREFIX,
    SCALE,
    DoubleAssignment,
    done_queries,
    double_of,
    doubles_of,
    open_double_assignments,
    put_judgment,
    readable_texts,
    visible_rows,
    write_end,
)
from ..store import Cursor, Project, as_name, log_action
from ..text import clean_text
from ..types import RATINGS

AGREED = "All assessors agree."
"""The reason of a decision that accepts a unanimous value."""

Place = tuple[str, str, str | None]
"""Ids of query, passage and, for ratings of a question, the question; else None."""


@dataclass(frozen=True)
class Decision:
    """A decision of an adjudicator, or its withdrawal, for which `value` is None."""

    value: int | None
    reason: str
    author: str
    stated_at: datetime


@dataclass(frozen=True)
class ContestedCase:
    """A case: the values by the assessors of a double assignment for a passage, or for a question
    and a passage.

    Args:
        question_id: the rated question; None for judgments of the passage.
        query, question: text of the query, and current wording of the question.
        number: number of the double assignment.
        keys: of the query, the passage and the question.
        given: value by name of the assessor; None for an assessor without a value, finished or not.
        decision: the decision in force; None without a decision.
    """

    query_id: str
    passage_id: str
    question_id: str | None
    query: str
    question: str | None
    number: int
    keys: tuple[int, int, int | None]
    given: Mapping[str, int | None]
    standing: AdjudicationState
    decision: Decision | None = None

    @property
    def place(self) -> Place:
        """The ids that identify the case."""
        return self.query_id, self.passage_id, self.question_id


# Judgments of a query's passages have a NULL question.
_GIVEN = (
    "SELECT d.double_key, query_id, coalesce(queries.text, query_id), passage_id, g.question_id,"
    " words, d.query_key, passage_key, question_key, g.name, value FROM doubles d"
    " JOIN queries USING (query_key) JOIN ( SELECT"
    " p.double_key, p.name, j.query_key, j.passage_key, NULL AS question_key, NULL AS question_id,"
    "  NULL AS words, j.value::INTEGER AS value FROM double_people p"
    " JOIN sources s ON s.name = $prefix || p.name"
    "  JOIN {judgments} j USING (source_key) WHERE p.present UNION ALL SELECT h.double_key,"
    " o.author, q.query_key, o.passage_key, q.question_key, q.question_id, t.text,"
    "  arg_max(o.rating, o.override_key)::INTEGER FROM held_overrides h"
    " JOIN {overrides} o USING (override_key)"
    "  JOIN double_people p ON p.double_key = h.double_key AND p.name = o.author AND p.present"
    "  JOIN questions q USING (question_key) JOIN bank_at($version) r USING (question_key)"
    "  LEFT JOIN {texts} t ON t.text_key = r.text_key"
    "  WHERE withdrawn_at IS NULL AND o.question_text_key = r.text_key GROUP BY ALL"
    " ) g ON g.double_key = d.double_key AND g.query_key = d.query_key"
    " JOIN passages USING (passage_key) WHERE d.ended_at IS NULL"
    " AND (d.passage_keys IS NULL OR list_contains(d.passage_keys, g.passage_key))"
    " ORDER BY d.query_key, passage_key, question_key NULLS FIRST, g.name"
)
_DECIDED = (
    "SELECT query_id, passage_id, question_id, value, a.reason, a.author, a.stated_at FROM {} a"
    " JOIN doubles USING (double_key) JOIN queries USING (query_key)"
    " JOIN passages USING (passage_key) LEFT JOIN questions q ON q.question_key = a.question_key"
)


def contested_cases(project: Project, query_id: str | None = None) -> list[ContestedCase]:
    """Return the cases in the open double assignments that the person may adjudicate. Cases without
    a decision are first.

    Args:
        query_id: restricts the result to this query; None for all.

    Raises:
        NotAllowed: the person is neither organizer nor assessor.
    """
    with project.permit("adjudicate"):
        return _find_contested(
            project,
            [one for one in open_double_assignments(project) if _may_decide(project, one, None)],
            query_id,
        )


def _find_contested(
    project: Project, among: list[DoubleAssignment], query_id: str | None
) -> list[ContestedCase]:
    double_by_key = {entry.key: entry for entry in among}
    done_by_name = done_queries(project)
    sql = _GIVEN.format(
        judgments=visible_rows(project, "judgments"),
        overrides=visible_rows(project, "overrides"),
        texts=readable_texts(project),
    )
    rows = project.rows(sql, {"prefix": PREFIX, "version": latest_version(project)})
    values_by_case = nest_triples(
        (tuple(case), name, value)
        for *case, name, value in rows
        if case[0] in double_by_key and query_id in (None, case[1])
    )
    decided = {
        (query, passage, question): Decision(*said)
        for query, passage, question, *said in project.rows(
            _DECIDED.format("standing_adjudications") + " WHERE ended_at IS NULL"
        )
    }
    cases = []
    for (number, query, text, passage, question, words, *keys), values in values_by_case.items():
        place = (query, passage, question)
        double, decision = double_by_key[number], decided.get(place)
        complete = {name: values.get(name) for name in double.present}
        standing: AdjudicationState = (
            "decided" if decision else _find_standing(double, complete, done_by_name)
        )
        cases.append(
            ContestedCase(*place, text, words, number, tuple(keys), complete, standing, decision)
        )
    order = get_args(AdjudicationState)
    return sorted(cases, key=lambda entry: order.index(entry.standing))


def _find_standing(
    double: DoubleAssignment,
    values_by_name: Mapping[str, int | None],
    done_by_name: Mapping[str, Mapping[str, object]],
) -> AdjudicationState:
    waiting = any(
        value is None and double.query_id not in done_by_name.get(name, ())
        for name, value in values_by_name.items()
    )
    if double.free or waiting:
        return "waiting"
    return "agrees" if len(set(values_by_name.values())) == 1 else "differs"


def decide_case(
    project: Project,
    place: Place,
    value: int,
    reason: str,
    author: str,
    over: Collection[datetime | None] | None = None,
) -> datetime:
    """Decide a case. The value becomes a judgment of the source `adjudicated`, or an override of
    the question's rating.

    The decision replaces an earlier decision, which stays on record.

    Args:
        value: 0 to 3 for a passage, 0 to 5 for a question and a passage.
        reason: reason for the decision.
        over: times of the decisions that this decision may replace; the entry None allows a case
            without a decision. Pass all states that the person may have seen. If `over` is None,
            any decision is replaced.

    Returns:
        The time of the decision.

    Raises:
        InputError: the value is out of range, the reason is empty, assessors have not finished, or
            the decision in force is not in `over`.
        NotAllowed: the author takes part, or is neither organizer nor the named adjudicator.
    """
    reason = check_not_empty(
        "empty-reason",
        "The reason is empty.",
        "Give a short reason for the decision.",
        clean_text(reason).strip(),
    )

    def write_decision(cursor: Cursor, case: ContestedCase) -> None:
        if case.standing == "waiting":
            raise InputError(
                "decisions-missing",
                f"Some assessors have not finished passage {case.passage_id} of query"
                f" {case.query_id}.",
                "Wait for them, or replace them: exam assignments remove, then"
                " exam assignments join.",
            )
        if over is not None and (case.decision and case.decision.stated_at) not in over:
            now = case.decision
            earlier = (
                f"{now.author} has already decided {now.value}: {now.reason}" if now else _WITHDRAWN
            )
            raise InputError(
                "decided-meanwhile", earlier, "Check the decision, and decide again if it is wrong."
            )
        _write_decision(project, cursor, case, value, reason, author)

    _write_cases(
        project, place[0], author, write_decision, lambda case: case.place == place, place[1]
    )
    return list_decisions(project, place)[0].stated_at


_WITHDRAWN = "Another person has withdrawn the decision."


def accept_agreed(project: Project, query_id: str, author: str) -> int:
    """Accept the values of all unanimous cases without a decision in a query's double assignments.

    Returns:
        The number of decisions.

    Raises:
        InputError: the query is not doubly assigned, or there is nothing to accept.
        NotAllowed: as in `decide_case`.
    """

    def write_agreed(cursor: Cursor, case: ContestedCase) -> None:
        (value,) = set(case.given.values())
        _write_decision(project, cursor, case, int(value or 0), AGREED, author)

    return _write_cases(
        project, query_id, author, write_agreed, lambda case: case.standing == "agrees"
    )


def undo_decision(project: Project, place: Place, author: str) -> None:
    """Withdraw the decision in force, and the override that it made; the case awaits another
    decision.

    Raises:
        InputError: the case has no decision.
        NotAllowed: as in `decide_case`.
    """

    def withdraw_decision(cursor: Cursor, case: ContestedCase) -> None:
        if case.decision is None:
            raise InputError(
                "no-decision",
                "This case has no decision, so none was withdrawn.",
                "Choose a decided case (exam adjudicate list).",
            )
        _clear_decision(cursor, case, author)
        _write_adjudication(cursor, case, None, None, "", author)
        log_action(cursor, author, "undo adjudication", **_case_ids(case))

    _write_cases(
        project, place[0], author, withdraw_decision, lambda case: case.place == place, place[1]
    )


def list_decisions(project: Project, place: Place) -> list[Decision]:
    """Return all decisions and withdrawals on a case, newest first."""
    with project.permit("adjudicate"):
        return [
            Decision(*row[3:])
            for row in project.rows(
                _DECIDED.format("adjudications") + " WHERE query_id = ? AND passage_id = ?"
                " AND question_id IS NOT DISTINCT FROM ? ORDER BY adjudication_key DESC",
                list(place),
            )
        ]


def end_double(project: Project, query_id: str, author: str, number: int | None = None) -> None:
    """End the double assignment of a query: its values become visible and count like other values.

    Args:
        number: number of the assignment; needed if the query has several.

    Raises:
        InputError: the query is not doubly assigned, has several assignments, or a case awaits
            adjudication.
        NotAllowed: the author is not an organizer.
    """
    with project.transaction(act="assign work", author=author) as cursor:
        double = double_of(project, query_id, number)
        # Only organizers may end it, and for this they see all cases, even if they take part.
        waits = sum(
            one.standing == "differs" for one in _find_contested(project, [double], query_id)
        )
        if waits:
            raise InputError(
                "decisions-missing",
                f"Query {query_id} has unresolved differences: {waits:,}.",
                "Adjudicate them first, on the screen Adjudication or with exam adjudicate.",
            )
        write_end(cursor, double, author)


def may_decide(project: Project, name: str) -> list[str]:
    """Return the ids of the doubly assigned queries on which a person may decide."""
    if not project.allows("adjudicate"):
        return []
    return list(
        dict.fromkeys(
            one.query_id
            for one in open_double_assignments(project)
            if _may_decide(project, one, name or None)
        )
    )


def _may_decide(project: Project, double: DoubleAssignment, author: str | None) -> bool:
    member = project.member()
    name = member.name if member is not None else project.reader or author
    if name in double.present:
        return False
    return member is None or member.role == "organizer" or name == double.adjudicator


def _write_cases(
    project: Project,
    query_id: str,
    author: str,
    write: Callable[[Cursor, ContestedCase], None],
    which: Callable[[ContestedCase], bool],
    passage_id: str | None = None,
) -> int:
    """Call `write` for the cases of a query, or of a passage of it, that `which` selects; return
    their number.
    """
    with project.transaction(act="adjudicate", author=author) as cursor:
        among = doubles_of(project, query_id)
        if passage_id is not None:
            among = [entry for entry in among if entry.includes(passage_id)] or among
        taking_part = [entry for entry in among if as_name(author) in entry.present]
        own = {
            entry.key
            for entry in among
            if entry not in taking_part and _may_decide(project, entry, author)
        }
        check_rules(
            (
                not own and bool(taking_part),
                NotAllowed(
                    "adjudicator-takes-part",
                    f"{author} is an assessor of query {query_id}.",
                    "Ask another adjudicator.",
                ),
            ),
            (
                not own,
                NotAllowed(
                    "adjudicator-takes-part",
                    f"{author} is not an adjudicator of query {query_id}.",
                    "Ask an organizer or the adjudicator of this query.",
                ),
            ),
        )
        chosen = [
            entry
            for entry in contested_cases(project, query_id)
            if entry.number in own and which(entry)
        ]
        if not chosen:
            raise InputError(
                "nothing-to-decide",
                f"Nothing to adjudicate for query {query_id}.",
                "See exam adjudicate list.",
            )
        for entry in chosen:
            write(cursor, entry)
    return len(chosen)


def _write_decision(
    project: Project,
    cursor: Cursor,
    case: ContestedCase,
    value: int,
    reason: str,
    author: str,
) -> None:
    _clear_decision(cursor, case, author)
    override = None
    if case.question_id is not None:
        override = write_override(
            project, cursor, case.question_id, case.passage_id, value, reason, author
        )
    else:
        check_in_range(
            "judgment-out-of-range",
            f"Judgment {value}",
            f"Use {min(SCALE)} to {max(SCALE)}.",
            value in SCALE,
        )
        put_judgment(cursor, ADJUDICATED, *case.keys[:2], value)
    _write_adjudication(cursor, case, value, override, reason, author)
    given = {name: rating for name, rating in case.given.items() if rating is not None}
    log_action(
        cursor, author, "adjudicate", **_case_ids(case), value=value, given=given, reason=reason
    )


def _clear_decision(cursor: Cursor, case: ContestedCase, author: str) -> None:
    """Remove the judgment or the override from the decision in force."""
    if case.question_id is None and case.decision is not None:
        put_judgment(cursor, ADJUDICATED, *case.keys[:2], None)
    for (key,) in cursor.execute(
        "SELECT override_key FROM standing_adjudications WHERE double_key = ? AND passage_key = ?"
        " AND question_key = ?",
        [case.number, *case.keys[1:]],
    ).fetchall():
        write_withdrawal(cursor, key, author)


def _write_adjudication(
    cursor: Cursor,
    case: ContestedCase,
    value: int | None,
    override: int | None,
    reason: str,
    author: str,
) -> None:
    cursor.execute(
        "INSERT INTO adjudications VALUES (nextval('keys'), ?, ?, ?, ?, ?, ?, ?, now()::TIMESTAMP)",
        [case.number, *case.keys[1:], value, override, reason, as_name(author)],
    )


def _case_ids(case: ContestedCase) -> dict[str, str]:
    question = {} if case.question_id is None else {"question": case.question_id}
    return {"query": case.query_id, "passage": case.passage_id, **question}


Kind = Literal["judgments", "ratings"]
SCALES: Mapping[Kind, tuple[int, ...]] = {"judgments": tuple(SCALE), "ratings": tuple(RATINGS)}
"""By kind of values (judgments of passages, ratings of questions in passages), the possible values.
"""


@dataclass(frozen=True)
class TwoPersonAgreement:
    """Agreement between two people.

    Args:
        n: number of things (passages, or questions in passages) with a value from both.
        same: number of these things with equal values.
        kappa, weighted: Cohen's kappa, and kappa with quadratic weights.
        alpha: Krippendorff's alpha with ordinal distances.
    """

    left: str
    right: str
    n: int
    same: int
    kappa: Coefficient
    weighted: Coefficient
    alpha: Coefficient


@dataclass(frozen=True)
class PeopleAgreement:
    """Agreement of people on one kind of values.

    Args:
        n: number of things (passages, or questions in passages) with values from two or more
            people.
        same: number of these things with only equal values.
        people: number of these things with a value from the person, by name.
        alpha: Krippendorff's alpha of all people, with ordinal distances; values can be missing.
        pairs: all pairs of people with common things, most common things first.
    """

    kind: Kind
    n: int
    same: int
    people: Mapping[str, int]
    alpha: Coefficient
    pairs: list[TwoPersonAgreement]


_VALUES: Mapping[Kind, str] = {
    "judgments": "SELECT [query_key, passage_key]::VARCHAR AS thing,"
    " substr(name, length($prefix) + 1) AS name, value::INTEGER AS value FROM {judgments}"
    " JOIN sources USING (source_key) JOIN queries USING (query_key)"
    " WHERE starts_with(name, $prefix) AND ($query IS NULL OR query_id = $query)",
    # An adjudicated rating is not a person's own rating.
    "ratings": "SELECT [question_text_key, passage_text_key]::VARCHAR AS thing, author AS name,"
    " arg_max(rating, override_key)::INTEGER AS value FROM {overrides}"
    " JOIN questions USING (question_key) JOIN queries USING (query_key) WHERE withdrawn_at IS NULL"
    " AND $prefix <> '' AND override_key NOT IN (SELECT override_key FROM adjudications"
    " WHERE override_key IS NOT NULL) AND ($query IS NULL OR query_id = $query) GROUP BY ALL",
}


def between_people(project: Project, query_id: str | None = None) -> list[PeopleAgreement]:
    """Return the agreement of people on judgments and on ratings. Values hidden from the person of
    the handle are excluded.

    Source: Cohen 1960 and 1968, Krippendorff 2011; see `measures.cohen_kappa`.

    Args:
        query_id: restricts the values to this query; None for all.
    """
    return [_of_kind(project, kind, query_id) for kind in SCALES]


def _of_kind(project: Project, kind: Kind, query_id: str | None) -> PeopleAgreement:
    values_sql = _VALUES[kind].format(
        judgments=visible_rows(project, "judgments"), overrides=visible_rows(project, "overrides")
    )
    table = project.table(
        f"WITH given AS ({values_sql}) SELECT thing, name, value FROM given"
        " WHERE thing IN (SELECT thing FROM given GROUP BY thing HAVING count(*) > 1)"
        " ORDER BY thing, name",
        {"prefix": PREFIX, "query": query_id},
    )
    by_thing = table.to_pandas().pivot(index="thing", columns="name", values="value")
    names, matrix = list(by_thing.columns), by_thing.to_numpy(float)
    pairs = [
        _of_pair(names[entry], names[other], matrix[:, [entry, other]], SCALES[kind])
        for entry, other in combinations(range(len(names)), 2)
    ]
    return PeopleAgreement(
        kind,
        len(by_thing),
        int((by_thing.nunique(axis=1) == 1).sum()),
        {name: int(count) for name, count in by_thing.count().items()},
        krippendorff_alpha(matrix),
        sorted((entry for entry in pairs if entry.n), key=lambda entry: -entry.n),
    )


def _of_pair(
    left: str, right: str, values: np.ndarray, scale: tuple[int, ...]
) -> TwoPersonAgreement:
    both = values[~np.isnan(values).any(axis=1)].astype(int)
    table = cross_table(both[:, 0], both[:, 1], scale, scale)
    same = int((both[:, 0] == both[:, 1]).sum())
    return TwoPersonAgreement(
        left, right, len(both), same, cohen_kappa(table), weighted_kappa(table), alpha_of(table)
    )
