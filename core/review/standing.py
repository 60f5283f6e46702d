"""How a project stands: how far it is graded, whether labels and judgments agree, who leads, and what waits for people.

Every part is remembered until something that it derives from changes, so that it can be asked for at every visit.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from ..bank import QueryOverview, drafts, overview, proposals, questions
from ..errors import InputError
from ..labels import Override, Policy, Progress, overrides
from ..leaderboard import Leaderboard, compare, leaderboard
from ..measures import Correlation
from ..project import Project, as_act, rankings, sources
from .disagreements.agreement import Agreement, agreement
from .disagreements.queue import queue
from .disagreements.sides import Judgments, Labels


@dataclass(frozen=True)
class Waiting:
    """A query at which something waits to be done, and how much of it."""

    query_id: str
    text: str
    count: int


@dataclass(frozen=True)
class ToCurate:
    """What waits at the question bank.

    Args:
        without_questions: queries with passages of which no active question is asked; the count is of the passages.
        ungraded: queries with pairs that nobody was asked yet.
        drafts: queries with unsaved changes of the person.
        proposed: queries with proposed questions that nobody decided on.
        resting: how many queries have neither passages nor active questions: nothing waits there.
    """

    without_questions: list[Waiting]
    ungraded: list[Waiting]
    drafts: list[Waiting]
    proposed: list[Waiting]
    resting: int


def at_a_glance(project: Project) -> list[QueryOverview]:
    """The queries with their counts."""
    return project.remember("queries at a glance", lambda: overview(project))


def to_curate(project: Project, found: Progress | None, author: str) -> ToCurate:
    """What waits at the question bank.

    Args:
        found: how far the pairs are graded; None where nothing is graded yet, so that all of them wait.
        author: whose drafts count; empty for nobody's.
    """
    queries = at_a_glance(project)
    texts = {query.query_id: query.text or query.query_id for query in queries}
    ungraded = {} if found is None else found.ungraded_of
    mine = Counter(draft.question.query_id for draft in drafts(project, author).values()) if author else {}
    return ToCurate(
        [
            Waiting(query.query_id, texts[query.query_id], query.pooled)
            for query in queries
            if query.pooled and not query.active
        ],
        _most_first(ungraded, texts),
        _most_first(mine, texts),
        _most_first(Counter(one.query_id for one in proposals(project)), texts),
        sum(not query.pooled and not query.active for query in queries),
    )


def _most_first(counts: dict[str, int] | Counter[str], texts: dict[str, str]) -> list[Waiting]:
    found = [Waiting(query, texts.get(query, query), count) for query, count in counts.items()]
    return sorted(found, key=lambda one: -one.count)


@dataclass(frozen=True)
class Agreeing:
    """Labels beside the judgments of a source.

    Args:
        source: the name of the judgments.
        merged: both cut in two, relevant or not.
        open: how many disagreements wait to be settled.
        settled: how many are settled.
    """

    source: str
    merged: Agreement
    open: int
    settled: int


def agreeing(project: Project, policy: Policy) -> Agreeing | None:
    """How labels agree with the judgments of the first source; None where there are none of either."""
    judged = sources(project)
    if not judged:
        return None

    def compute() -> Agreeing | None:
        sides = Labels(policy), Judgments(judged[0], policy.min_judgment)
        try:
            found = agreement(project, *sides)
            waiting = queue(project, *sides, limit=0)
        except InputError:
            # Labels and judgments that share no passage cannot be compared: the screen for it says why.
            return None
        return Agreeing(judged[0], found.merged, waiting.total, waiting.hidden)

    return project.remember(("agreeing", policy), compute)


@dataclass(frozen=True)
class Leading:
    """The leaderboard in small.

    Args:
        against: the official board that it is compared with; None where there is none.
        correlation: of the two; None where there is none.
        ungraded: the queries that have ungraded pairs, in a sentence; empty without any.
    """

    board: Leaderboard
    against: str | None
    correlation: Correlation | None
    ungraded: str = ""


@as_act("see boards")
def leading(project: Project, policy: Policy, measure: str, against: str | None) -> Leading | None:
    """The systems in order by a measure under a policy, and how the official board agrees; None without a board.

    Args:
        measure: as `leaderboard.leaderboard` takes it.
        against: the official board to compare with; None for none.
    """
    if not rankings(project):
        return None

    def compute() -> Leading | None:
        try:
            if against is not None:
                found = compare(project, measure, against, policy=policy)
                if found.board.systems:
                    return Leading(found.board, against, found.correlation, found.queries.says_ungraded)
            board = leaderboard(project, measure, "exam", policy)
            return Leading(board, None, None, board.says_ungraded)
        except InputError:
            # The leaderboard's own screen says why there is none.
            return None

    return project.remember(("leading", policy, measure, against), compute)


def stale_overrides(project: Project) -> list[Override]:
    """The overrides of active questions that do not count, as the question was reworded since; newest first."""

    def compute() -> list[Override]:
        found = [one for one in overrides(project) if one.stale]
        active = {question.question_id for question in questions(project) if question.active} if found else set()
        return [one for one in found if one.question_id in active]

    return project.remember("stale overrides", compute)
