"""The status of a project and of the work in it: agreement, leaders, and people's progress.

Every part of the status is cached until its data changes, for every visit of a screen.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Literal, NamedTuple

from ..bank import list_drafts, list_proposals, list_questions, query_overviews
from ..errors import InputError
from ..grouping import group_pairs, nest_triples
from ..jobs import find_jobs
from ..labels import (
    Override,
    Policy,
    Progress,
    basis,
    find_overrides,
    grading_progress,
)
from ..records import (
    PREFIX,
    DoubleAssignment,
    Dues,
    Job,
    done_queries,
    due_dates,
    due_of,
    for_tuning,
    judged_pairs,
    judgment_sources,
    open_double_assignments,
    visible_rows,
)
from ..store import Member, Project, cached
from ..text import how_many
from ._disagreements.disagreement_queue import count_open
from ._disagreements.label_agreement import (
    Agreement,
    Judgments,
    Labels,
    find_confirmation,
    side_agreement,
)


@dataclass(frozen=True)
class WaitingQuery:
    """A query with work to do, and the amount of work as a number."""

    query_id: str
    text: str
    count: int


@dataclass(frozen=True)
class CurationWork:
    """The work to do in the question bank.

    Args:
        without_questions: queries with passages but without active questions, and the number of
            passages.
        ungraded: queries with ungraded pairs, and the number of pairs.
        drafts: queries with unsaved changes of the person, and the number of changes.
        proposed: queries with proposed questions without a decision, and the number of these.
        resting: number of queries without passages and active questions, which need no work.
    """

    without_questions: list[WaitingQuery]
    ungraded: list[WaitingQuery]
    drafts: list[WaitingQuery]
    proposed: list[WaitingQuery]
    resting: int


def to_curate(project: Project, grading: Progress | None, author: str) -> CurationWork:
    """Return the work to do in the question bank.

    Args:
        grading: progress of grading; None if nothing is graded yet.
        author: the person whose drafts count; empty for no drafts.
    """
    queries = query_overviews(project)
    texts = {query.query_id: query.text or query.query_id for query in queries}
    ungraded = {} if grading is None else grading.ungraded_of
    own_drafts = (
        Counter(draft.question.query_id for draft in list_drafts(project, author).values())
        if author
        else {}
    )
    return CurationWork(
        [
            WaitingQuery(query.query_id, texts[query.query_id], query.pooled)
            for query in queries
            if query.pooled and not query.active
        ],
        _most_first(ungraded, texts),
        _most_first(own_drafts, texts),
        _most_first(Counter(one.query_id for one in list_proposals(project)), texts),
        sum(not query.pooled and not query.active for query in queries),
    )


def _most_first(counts: dict[str, int] | Counter[str], texts: dict[str, str]) -> list[WaitingQuery]:
    found = [WaitingQuery(query, texts.get(query, query), count) for query, count in counts.items()]
    return sorted(found, key=lambda one: -one.count)


@dataclass(frozen=True)
class LabelJudgmentAgreement:
    """Agreement of labels with the judgments of a source.

    Args:
        source: name of the source of judgments.
        merged: the agreement on relevance, see `Agreement.merged`, without judgments that are held
            out.
        confirms: whether the agreement confirms the bank, in words; empty if the bank was never
            edited.
        open_of: number of open disagreements by query id, for queries with any.
        settled: number of settled cases.
    """

    source: str
    merged: Agreement
    confirms: str
    open_of: Mapping[str, int]
    settled: int

    @property
    def open(self) -> int:
        """Number of open disagreements."""
        return sum(self.open_of.values())


@cached()
def agreement_status(project: Project, policy: Policy) -> LabelJudgmentAgreement | None:
    """Return the agreement of labels with the judgments of the first source; None if either is
    missing.
    """
    judged = judgment_sources(project)
    if not judged:
        return None
    tuned = for_tuning(project)
    sides = Labels(policy), Judgments(judged[0], policy.min_judgment)
    try:
        agreement = side_agreement(tuned, *sides)
        open_of, settled = count_open(tuned, *sides)
    except InputError:
        # Labels and judgments without a common passage cannot be compared; their own screen says
        # why.
        return None
    confirms = str(find_confirmation(project, *sides) or "")
    return LabelJudgmentAgreement(judged[0], agreement.merged, confirms, open_of, settled)


@cached()
def stale_overrides(project: Project) -> list[Override]:
    """Return overrides of active questions that do not count after a rewording, newest first."""
    stale = [one for one in find_overrides(project) if one.stale]
    active = (
        {question.question_id for question in list_questions(project) if question.active}
        if stale
        else set()
    )
    return [one for one in stale if one.question_id in active]


Screen = Literal["question_bank", "passages"]
NEWS = timedelta(days=1)
"""Time for which a finished job is news."""


class WorkStep(NamedTuple):
    """A step of the work on a query: a phrase, the screen for it, and the filter of its passages,
    if any.
    """

    said: str
    screen: Screen
    only: Literal["assigned", "overridden"] | None = None


@dataclass(frozen=True)
class QueryWork:
    """One query of an assessor.

    Args:
        questions: number of active questions.
        unsaved: number of the assessor's drafts.
        proposed: number of a model's proposals without a decision.
        stale: number of overrides whose question was reworded later.
        judged: number of pooled passages that the assessor has judged, of `pooled`.
        ungraded: number of pairs that have not been graded yet.
        disagreements: number of open disagreements of labels and judgments; None if they cannot be
            compared.
        done: whether the assessor marked the query as done.
        due: due date of the query; None without a due date.
        blind: whether the query is doubly assigned, so that values are hidden until adjudication.
        sampled: number of passages in a doubly assigned sample, of which `sampled_left` are
            unjudged. It is 0 if all passages of the query are doubly assigned.
    """

    query_id: str
    text: str
    questions: int
    unsaved: int
    proposed: int
    stale: int
    judged: int
    pooled: int
    ungraded: int
    disagreements: int | None
    done: bool
    due: date | None = None
    blind: bool = False
    sampled: int = 0
    sampled_left: int = 0

    def is_overdue(self, today: date) -> bool:
        """Whether the query is overdue."""
        return not self.done and self.due is not None and self.due < today

    @property
    def next_step(self) -> WorkStep:
        """The next step."""
        sample = f"judge the sample of {how_many(self.sampled_left, 'passages')}"
        stale = f"confirm or withdraw {how_many(self.stale, 'stale overrides')}"
        steps = (
            (self.unsaved, WorkStep(f"save {how_many(self.unsaved, 'changes')}", "question_bank")),
            (
                not self.questions and self.pooled,
                WorkStep("write the first questions", "question_bank"),
            ),
            (
                self.proposed,
                WorkStep(
                    f"review {how_many(self.proposed, 'proposed questions')}", "question_bank"
                ),
            ),
            (
                self.stale,
                WorkStep(stale, "passages", "overridden"),
            ),
            (self.sampled_left, WorkStep(sample, "passages", "assigned")),
            (self.pooled > self.judged, WorkStep("judge the passages", "passages")),
        )
        return next(
            (step for waits, step in steps if waits),
            WorkStep("review the questions", "question_bank"),
        )


def my_work(
    project: Project, name: str, queries: tuple[str, ...] | None, policy: Policy | None
) -> list[QueryWork]:
    """Return a person's queries: open queries first, then by due date, then in the project's order.

    Args:
        name: name of the person.
        queries: ids of the assigned queries; None for all queries with a pool.
        policy: the scoring settings of the labels; None if nothing is graded yet.
    """
    own_drafts = Counter(draft.question.query_id for draft in list_drafts(project, name).values())
    proposed = Counter(entry.query_id for entry in list_proposals(project))
    stale = Counter(entry.query_id for entry in stale_overrides(project))
    judged = _judged_counts(project).get(name, {})
    done_of_person = done_queries(project).get(name, {})
    ungraded = (
        {} if policy is None else grading_progress(project, basis(project, policy)).ungraded_of
    )
    compared = None if policy is None else agreement_status(project, policy)
    due, beside = (
        due_dates(project),
        [entry for entry in open_double_assignments(project) if name in entry.present],
    )
    blind, sampled = {entry.query_id for entry in beside}, _sampled_queries(project, name, beside)
    listed = [
        QueryWork(
            entry.query_id,
            entry.text or entry.query_id,
            entry.active,
            own_drafts[entry.query_id],
            proposed[entry.query_id],
            stale[entry.query_id],
            judged.get(entry.query_id, 0),
            entry.pooled,
            ungraded.get(entry.query_id, 0),
            None if compared is None else compared.open_of.get(entry.query_id, 0),
            entry.query_id in done_of_person,
            due_of(due, entry.query_id, name),
            entry.query_id in blind,
            *sampled.get(entry.query_id, (0, 0)),
        )
        for entry in query_overviews(project)
        if (entry.query_id in queries if queries is not None else entry.pooled)
    ]
    return sorted(listed, key=lambda entry: (entry.done, entry.due or date.max))


def finished_jobs(project: Project, name: str, now: datetime | None = None) -> list[Job]:
    """Return the jobs that ended within `NEWS`: those of a person, and grading by anyone; newest
    first.

    Args:
        now: the current time; None for the local time of this computer, in which a project records
            times.
    """
    since = (now or datetime.now()) - NEWS
    return [
        one
        for one in find_jobs(project)
        if one.ended_at is not None and one.ended_at >= since
        if one.state != "imported" and (one.author == name or one.kind == "grading")
    ]


@dataclass(frozen=True)
class AssessorProgress:
    """The progress of an assessor.

    Args:
        done: number of queries marked as done, of the assessor's `queries`.
        judged: number of judged passages in these queries, of `pooled`; None if some judgments are
            hidden from the person of the handle.
        late: number of overdue queries.
        next_due: the next due date of an open query, today or later; None without such a date.
    """

    member: Member
    done: int
    queries: int
    judged: int | None
    pooled: int = 0
    late: int = 0
    next_due: date | None = None


def assessor_shares(project: Project, today: date | None = None) -> list[AssessorProgress]:
    """Return the progress of every assessor, in the order of their names.

    Args:
        today: the current day; None for the day on this computer.
    """
    now = today or date.today()
    pooled = {entry.query_id: entry.pooled for entry in query_overviews(project) if entry.pooled}
    done_by_name, judged, due = done_queries(project), _judged_counts(project), due_dates(project)
    hidden = {
        (name, entry.query_id)
        for entry in open_double_assignments(project)
        for name in entry.people
        if project.hides_judgments(name, entry.adjudicator)
    }
    return [
        _make_share(
            entry,
            tuple(pooled) if entry.assigned_queries is None else entry.assigned_queries,
            pooled,
            done_by_name,
            judged,
            hidden,
            due,
            now,
        )
        for entry in project.members().values()
        if entry.role == "assessor"
    ]


def _make_share(
    member: Member,
    query_ids: tuple[str, ...],
    pooled: Mapping[str, int],
    done_by_name: Mapping[str, Mapping[str, object]],
    judged: Mapping[str, Mapping[str, int]],
    hidden: Set[tuple[str, str]],
    due: Dues,
    today: date,
) -> AssessorProgress:
    finished = set(query_ids) & set(done_by_name.get(member.name, ()))
    days = [
        day
        for query in query_ids
        if query not in finished
        if (day := due_of(due, query, member.name)) is not None
    ]
    return AssessorProgress(
        member,
        len(finished),
        len(query_ids),
        None
        if any((member.name, query) in hidden for query in query_ids)
        else sum(judged.get(member.name, {}).get(query, 0) for query in query_ids),
        sum(pooled.get(query, 0) for query in query_ids),
        sum(day < today for day in days),
        min((day for day in days if day >= today), default=None),
    )


def _sampled_queries(
    project: Project, name: str, beside: Sequence[DoubleAssignment]
) -> dict[str, tuple[int, int]]:
    """Return, by query, the size of a person's doubly assigned sample, and the number of its
    unjudged passages.
    """
    passages = group_pairs((one.query_id, id_) for one in beside for id_ in one.passages or ())
    judged = judged_pairs(project, name) if passages else set()
    return {
        query_id: (len(of), sum((query_id, passage_id) not in judged for passage_id in of))
        for query_id, of in passages.items()
    }


def judged_of(project: Project, double: DoubleAssignment) -> tuple[dict[str, int | None], int]:
    """Return the progress of a double assignment.

    Returns:
        By name of each present assessor, the number of judged passages; and the number of all
        passages. The number of judged passages is None if the assessor's values are hidden from the
        person of the handle. In this case, the visible values would give a wrong count.
    """
    if double.passages is None:
        judged, pooled = (
            _judged_counts(project),
            {one.query_id: one.pooled for one in query_overviews(project)},
        )
        counts = {name: judged.get(name, {}).get(double.query_id, 0) for name in double.present}
        of = pooled.get(double.query_id, 0)
    else:
        places = {(double.query_id, passage_id) for passage_id in double.passages}
        counts, of = (
            {name: len(places & judged_pairs(project, name)) for name in double.present},
            len(places),
        )
    return {
        name: None if project.hides_judgments(name, double.adjudicator) else count
        for name, count in counts.items()
    }, of


def _judged_counts(project: Project) -> Mapping[str, Mapping[str, int]]:
    """Return the number of judged pooled passages, by name of the assessor and query id."""
    return nest_triples(
        project.rows(
            "SELECT substr(s.name, length($prefix) + 1), query_id, count(*)"
            f" FROM {visible_rows(project, 'judgments')} JOIN sources s USING (source_key)"
            " JOIN pool USING (query_key, passage_key) JOIN queries USING (query_key)"
            " WHERE starts_with(s.name, $prefix) GROUP BY ALL",
            {"prefix": PREFIX},
        )
    )


PRESENT = 45.0
"""Seconds for which a person counts as present after their last sign of activity."""


@dataclass(eq=False)
class Presence:
    """The last query and time of every person, in every project that this process has open."""

    _seen: dict[tuple[Path, str], tuple[str, float]] = field(default_factory=dict, init=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, init=False)

    def record_visit(
        self, project: Path, query_id: str, name: str, now: float | None = None
    ) -> list[str]:
        """Record that a person is in a query, and in no other query of the project.

        Args:
            now: seconds of a monotonic clock; None for the clock of this computer.

        Returns:
            The names of the other people in the query.
        """
        now = time.monotonic() if now is None else now
        with self._lock:
            self._seen[project, name] = query_id, now
            for key in [key for key, (_, at) in self._seen.items() if now - at > PRESENT]:
                del self._seen[key]
            return sorted(
                other
                for (where, other), (query, _) in self._seen.items()
                if where == project and query == query_id and other != name
            )
