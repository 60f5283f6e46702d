"""The work of an assessor: their queries, how far each is, and what is next in it; and how far everybody is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from core.bank import drafts, overview, proposals
from core.labels import Progress
from core.project import PREFIX, Member, Project, done_queries
from core.review.standing import stale_overrides
from core.text import how_many

Screen = Literal["question_bank", "passages"]


@dataclass(frozen=True)
class Work:
    """One query of an assessor.

    Args:
        questions: that are active.
        unsaved: drafts of theirs.
        proposed: questions that a model proposed and nobody decided on.
        stale: overrides whose question was reworded since.
        judged: pooled passages that they have judged, of `pooled`.
        ungraded: pairs that no grader was asked yet.
        done: whether they said that they are done.
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
    done: bool

    @property
    def next(self) -> tuple[str, Screen]:
        """What to do next, as a phrase, and the screen for it."""
        steps: tuple[tuple[int, str, Screen], ...] = (
            (self.unsaved, f"save {how_many(self.unsaved, 'changes')}", "question_bank"),
            (not self.questions and self.pooled, "write its first questions", "question_bank"),
            (self.proposed, f"decide on {how_many(self.proposed, 'proposed questions')}", "question_bank"),
            (self.stale, f"confirm or withdraw {how_many(self.stale, 'stale overrides')}", "passages"),
            (self.pooled > self.judged, "read its passages", "passages"),
        )
        return next(((said, screen) for waits, said, screen in steps if waits), ("look at it again", "question_bank"))


def my_work(project: Project, name: str, queries: tuple[str, ...] | None, found: Progress | None) -> list[Work]:
    """The queries of somebody, those that are not done first, in the order of the project.

    Args:
        name: under which they act.
        queries: ids of those that are assigned to them; None for all that have a pool.
        found: how far the pairs are graded; None where nothing is graded yet.
    """
    mine = Counter(draft.question.query_id for draft in drafts(project, name).values())
    proposed = Counter(one.query_id for one in proposals(project))
    stale = Counter(one.query_id for one in stale_overrides(project))
    judged = _judged(project).get(name, {})
    done = done_queries(project).get(name, {})
    ungraded = {} if found is None else found.ungraded_of
    listed = [
        Work(
            one.query_id, one.text or one.query_id, one.active, mine[one.query_id], proposed[one.query_id],
            stale[one.query_id], judged.get(one.query_id, 0), one.pooled, ungraded.get(one.query_id, 0),
            one.query_id in done,
        )
        for one in project.remember("queries at a glance", lambda: overview(project))
        if (one.query_id in queries if queries is not None else one.pooled)
    ]  # fmt: skip
    return sorted(listed, key=lambda one: one.done)


@dataclass(frozen=True)
class Share:
    """How far somebody is: queries that are done of those that are theirs, and passages that they judged in them."""

    member: Member
    done: int
    queries: int
    judged: int


def shares(project: Project) -> list[Share]:
    """How far every assessor is, in the order of their names."""
    pooled = [one.query_id for one in project.remember("queries at a glance", lambda: overview(project)) if one.pooled]
    done, judged = done_queries(project), _judged(project)
    return [
        Share(
            one,
            len(set(theirs) & set(done.get(one.name, ()))),
            len(theirs),
            sum(count for query, count in judged.get(one.name, {}).items() if query in set(theirs)),
        )
        for one in project.members().values()
        if one.role == "assessor"
        for theirs in [pooled if one.queries is None else one.queries]
    ]


def _judged(project: Project) -> Mapping[str, Mapping[str, int]]:
    """How many pooled passages everybody judged here, by name and query id."""
    rows = project.rows(
        "SELECT s.name, query_id, count(*) FROM judgments JOIN sources s USING (source_key)"
        " JOIN pool USING (query_key, passage_key) JOIN queries USING (query_key) GROUP BY ALL"
    )
    found: dict[str, dict[str, int]] = {}
    for source, query_id, count in rows:
        if source.startswith(PREFIX):
            found.setdefault(source.removeprefix(PREFIX), {})[query_id] = count
    return found
