"""The work of an assessor: their queries, their progress and next step; and the progress of all assessors."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Literal, NamedTuple

from ..bank import drafts, proposals
from ..jobs import jobs
from ..labels import Policy, basis, progress
from ..records import PREFIX, Double, Dues, Job, done_queries, doubles, due_of, dues, judged_pairs, visible
from ..store import Member, Project
from ..text import how_many
from ._project_summary import agreeing, at_a_glance, stale_overrides

Screen = Literal["question_bank", "passages"]
NEWS = timedelta(days=1)
"""Time for which a finished job is news."""


class Step(NamedTuple):
    """A step of the work on a query: a phrase, the screen for it, and the filter of its passages, if any."""

    said: str
    screen: Screen
    only: Literal["assigned", "overridden"] | None = None


@dataclass(frozen=True)
class Work:
    """One query of an assessor.

    Args:
        questions: number of active questions.
        unsaved: number of the assessor's drafts.
        proposed: number of a model's proposals without a decision.
        stale: number of overrides whose question was reworded later.
        judged: number of pooled passages that the assessor has judged, of `pooled`.
        ungraded: number of pairs that have not been graded yet.
        disagreements: number of open disagreements of labels and judgments; None if they cannot be compared.
        done: whether the assessor marked the query as done.
        due: due date of the query; None without a due date.
        blind: whether the query is doubly assigned, so that values are hidden until adjudication.
        sampled: number of passages in a doubly assigned sample, of which `sampled_left` are unjudged. It is 0 if all
            passages of the query are doubly assigned.
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

    def late(self, today: date) -> bool:
        """Whether the query is overdue."""
        return not self.done and self.due is not None and self.due < today

    @property
    def next(self) -> Step:
        """The next step."""
        sample = f"judge the sample of {how_many(self.sampled_left, 'passages')}"
        stale = f"confirm or withdraw {how_many(self.stale, 'stale overrides')}"
        steps = (
            (self.unsaved, Step(f"save {how_many(self.unsaved, 'changes')}", "question_bank")),
            (not self.questions and self.pooled, Step("write the first questions", "question_bank")),
            (self.proposed, Step(f"review {how_many(self.proposed, 'proposed questions')}", "question_bank")),
            (
                self.stale,
                Step(stale, "passages", "overridden"),
            ),
            (self.sampled_left, Step(sample, "passages", "assigned")),
            (self.pooled > self.judged, Step("judge the passages", "passages")),
        )
        return next((step for waits, step in steps if waits), Step("review the questions", "question_bank"))


def my_work(project: Project, name: str, queries: tuple[str, ...] | None, policy: Policy | None) -> list[Work]:
    """Return a person's queries: open queries first, then by due date, then in the project's order.

    Args:
        name: name of the person.
        queries: ids of the assigned queries; None for all queries with a pool.
        policy: the scoring settings of the labels; None if nothing is graded yet.
    """
    mine = Counter(draft.question.query_id for draft in drafts(project, name).values())
    proposed = Counter(one.query_id for one in proposals(project))
    stale = Counter(one.query_id for one in stale_overrides(project))
    judged = _judged(project).get(name, {})
    done = done_queries(project).get(name, {})
    ungraded = {} if policy is None else progress(project, basis(project, policy)).ungraded_of
    compared = None if policy is None else agreeing(project, policy)
    due, beside = dues(project), [one for one in doubles(project) if name in one.present]
    blind, sampled = {one.query_id for one in beside}, _sampled(project, name, beside)
    listed = [
        Work(
            one.query_id, one.text or one.query_id, one.active, mine[one.query_id], proposed[one.query_id],
            stale[one.query_id], judged.get(one.query_id, 0), one.pooled, ungraded.get(one.query_id, 0),
            None if compared is None else compared.open_of.get(one.query_id, 0),
            one.query_id in done, due_of(due, one.query_id, name), one.query_id in blind,
            *sampled.get(one.query_id, (0, 0)),
        )
        for one in at_a_glance(project)
        if (one.query_id in queries if queries is not None else one.pooled)
    ]  # fmt: skip
    return sorted(listed, key=lambda one: (one.done, one.due or date.max))


def finished_jobs(project: Project, name: str, now: datetime | None = None) -> list[Job]:
    """Return the jobs that ended within `NEWS`: those of a person, and grading by anyone; newest first.

    Args:
        now: the current time; None for the local time of this computer, in which a project records times.
    """
    since = (now or datetime.now()) - NEWS
    found = [one for one in jobs(project) if one.ended_at is not None and one.ended_at >= since]
    return [one for one in found if one.state != "imported" and (one.author == name or one.kind == "grading")]


@dataclass(frozen=True)
class Share:
    """The progress of an assessor.

    Args:
        done: number of queries marked as done, of the assessor's `queries`.
        judged: number of judged passages in these queries, of `pooled`; None if some judgments are hidden from the
            person of the handle.
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


def shares(project: Project, today: date | None = None) -> list[Share]:
    """Return the progress of every assessor, in the order of their names.

    Args:
        today: the current day; None for the day on this computer.
    """
    now = today or date.today()
    pooled = {one.query_id: one.pooled for one in at_a_glance(project) if one.pooled}
    done, judged, due = done_queries(project), _judged(project), dues(project)
    hidden = {
        (name, one.query_id) for one in doubles(project) for name in one.people if project.hides(name, one.adjudicator)
    }
    return [
        _share(one, tuple(pooled) if one.theirs is None else one.theirs, pooled, done, judged, hidden, due, now)
        for one in project.members().values()
        if one.role == "assessor"
    ]


def _share(
    member: Member,
    theirs: tuple[str, ...],
    pooled: Mapping[str, int],
    done: Mapping[str, Mapping[str, object]],
    judged: Mapping[str, Mapping[str, int]],
    hidden: Set[tuple[str, str]],
    due: Dues,
    today: date,
) -> Share:
    finished = set(theirs) & set(done.get(member.name, ()))
    days = [day for query in theirs if query not in finished if (day := due_of(due, query, member.name)) is not None]
    return Share(
        member,
        len(finished),
        len(theirs),
        None
        if any((member.name, query) in hidden for query in theirs)
        else sum(judged.get(member.name, {}).get(query, 0) for query in theirs),
        sum(pooled.get(query, 0) for query in theirs),
        sum(day < today for day in days),
        min((day for day in days if day >= today), default=None),
    )


def _sampled(project: Project, name: str, beside: Sequence[Double]) -> dict[str, tuple[int, int]]:
    """Return, by query, the size of a person's doubly assigned sample, and the number of its unjudged passages."""
    passages: dict[str, set[str]] = {}
    for one in beside:
        passages.setdefault(one.query_id, set()).update(one.passages or ())
    judged = judged_pairs(project, name) if any(passages.values()) else set()
    return {
        query_id: (len(of), sum((query_id, passage_id) not in judged for passage_id in of))
        for query_id, of in passages.items()
    }


def judged_of(project: Project, double: Double) -> tuple[dict[str, int | None], int]:
    """Return the progress of a double assignment.

    Returns:
        By name of each present assessor, the number of judged passages; and the number of all passages. The number of
        judged passages is None if the assessor's values are hidden from the person of the handle. In this case, the
        visible values would give a wrong count.
    """
    found, of = _judged_of(project, double)
    return {name: None if project.hides(name, double.adjudicator) else count for name, count in found.items()}, of


def _judged_of(project: Project, double: Double) -> tuple[dict[str, int], int]:
    if double.passages is None:
        everybody, pooled = _judged(project), {one.query_id: one.pooled for one in at_a_glance(project)}
        found = {name: everybody.get(name, {}).get(double.query_id, 0) for name in double.present}
        return found, pooled.get(double.query_id, 0)
    places = {(double.query_id, passage_id) for passage_id in double.passages}
    return {name: len(places & judged_pairs(project, name)) for name in double.present}, len(places)


def _judged(project: Project) -> Mapping[str, Mapping[str, int]]:
    """Return the number of judged pooled passages, by name of the assessor and query id."""
    rows = project.rows(
        f"SELECT s.name, query_id, count(*) FROM {visible(project, 'judgments')} JOIN sources s USING (source_key)"
        " JOIN pool USING (query_key, passage_key) JOIN queries USING (query_key) GROUP BY ALL"
    )
    found: dict[str, dict[str, int]] = {}
    for source, query_id, count in rows:
        if source.startswith(PREFIX):
            found.setdefault(source.removeprefix(PREFIX), {})[query_id] = count
    return found
