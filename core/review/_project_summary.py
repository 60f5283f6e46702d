"""The status of a project: agreement of labels and judgments, leading systems, and work to do.

Every part is cached until its data changes, so that every visit of a screen can request it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from ..bank import QueryOverview, drafts, overview, proposals, questions
from ..errors import InputError
from ..labels import Leaderboard, Override, Policy, Progress, compare, leaderboard, overrides
from ..measures import Correlation
from ..records import for_tuning, rankings, sources
from ..store import Project, as_act
from ._disagreements.confirming import confirmation
from ._disagreements.disagreement_queue import count_open
from ._disagreements.label_agreement import Agreement, agreement
from ._disagreements.sides import Judgments, Labels


@dataclass(frozen=True)
class Waiting:
    """A query with work to do, and the amount of work as a number."""

    query_id: str
    text: str
    count: int


@dataclass(frozen=True)
class ToCurate:
    """The work to do in the question bank.

    Args:
        without_questions: queries with passages but without active questions, and the number of passages.
        ungraded: queries with ungraded pairs, and the number of pairs.
        drafts: queries with unsaved changes of the person, and the number of changes.
        proposed: queries with proposed questions without a decision, and the number of these.
        resting: number of queries without passages and active questions, which need no work.
    """

    without_questions: list[Waiting]
    ungraded: list[Waiting]
    drafts: list[Waiting]
    proposed: list[Waiting]
    resting: int


def at_a_glance(project: Project) -> list[QueryOverview]:
    """Return the queries with their counts, cached."""
    return project.cached("queries at a glance", lambda: overview(project))


def to_curate(project: Project, found: Progress | None, author: str) -> ToCurate:
    """Return the work to do in the question bank.

    Args:
        found: progress of grading; None if nothing is graded yet.
        author: the person whose drafts count; empty for no drafts.
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
    """Agreement of labels with the judgments of a source.

    Args:
        source: name of the source of judgments.
        merged: the agreement on relevance, see `Agreement.merged`, without judgments that are held out.
        confirms: whether the agreement confirms the bank, in words; empty if the bank was never edited.
        open_of: number of open disagreements by query id, for queries with any.
        settled: number of settled disagreements.
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


def agreeing(project: Project, policy: Policy) -> Agreeing | None:
    """Return the agreement of labels with the judgments of the first source; None if either is missing."""
    judged = sources(project)
    if not judged:
        return None
    tuned = for_tuning(project)

    def compute() -> Agreeing | None:
        sides = Labels(policy), Judgments(judged[0], policy.min_judgment)
        try:
            found = agreement(tuned, *sides)
            open_of, settled = count_open(tuned, *sides)
        except InputError:
            # Labels and judgments without a common passage cannot be compared; their own screen says why.
            return None
        confirms = str(confirmation(project, *sides) or "")
        return Agreeing(judged[0], found.merged, confirms, open_of, settled)

    return project.cached(("agreeing", policy), compute)


@dataclass(frozen=True)
class Leading:
    """A small leaderboard.

    Args:
        against: name of the official leaderboard; None without an official leaderboard.
        correlation: correlation of the two leaderboards; None without an official leaderboard.
        ungraded: a sentence about the queries with ungraded pairs; empty without such queries.
    """

    board: Leaderboard
    against: str | None
    correlation: Correlation | None
    ungraded: str = ""


@as_act("see boards")
def leading(project: Project, policy: Policy, measure: str, against: str | None) -> Leading | None:
    """Return the order of systems by a measure under a policy, and the correlation with the official leaderboard.

    None without a leaderboard.

    Args:
        measure: as for `leaderboard.leaderboard`.
        against: the official leaderboard to compare with; None for no comparison.
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
            # The leaderboard's own screen says why it is missing.
            return None

    return project.cached(("leading", policy, measure, against), compute)


def stale_overrides(project: Project) -> list[Override]:
    """Return the overrides of active questions that do not count after a rewording, newest first."""

    def compute() -> list[Override]:
        found = [one for one in overrides(project) if one.stale]
        active = {question.question_id for question in questions(project) if question.active} if found else set()
        return [one for one in found if one.question_id in active]

    return project.cached("stale overrides", compute)
