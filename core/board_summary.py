"""The state of a leaderboard: its order, queries, grades, disagreements, audit and bank version;
and the checklist before a publication.

All screens, the report and the shell say it in these words.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from . import audit, labels, measures, records, review, study
from .choices import SystemTest, Ties
from .errors import InputError
from .store import Project, as_act
from .text import how_many


@dataclass(frozen=True)
class Readiness:
    """How far the leaderboard of a measure can be trusted.

    Args:
        measure: standard name.
        needed, usable: number of pairs that the measure needs, and of these with a rating; 0 if it
            needs no grades.
        disagreements: open disagreements of the labels with the first judgments; None if they
            cannot be compared, or if the person may not see them.
        audited: "audited", "only P@3 is audited", "audit in progress" or "not audited"; empty if it
            needs no grades.
        bank_version: the version that the labels are derived from.
    """

    measure: str
    needed: int
    usable: int
    disagreements: int | None
    audited: str
    bank_version: int

    @property
    def graded(self) -> str:
        """The graded share in percent, see `labels.graded_share`."""
        return labels.graded_share(self.usable, self.needed)

    @property
    def grading(self) -> str:
        """The graded share with its basis, as a sentence without a full stop; empty if the measure
        needs no grades.
        """
        return labels.graded_sentence(self.usable, self.needed, self.measure)

    @property
    def too_few(self) -> bool:
        """Whether fewer than `FEWEST_GRADED` of the pairs have a rating."""
        return self.usable < labels.FEWEST_GRADED * self.needed


@as_act("see boards", at_face=False)
def board_readiness(project: Project, policy: labels.Policy, measure: str) -> Readiness:
    """Return the readiness of the leaderboard of a measure.

    Raises:
        InputError: the measure, grader or version is unknown.
    """
    base, parsed = labels.basis(project, policy), measures.parse_measure(measure, policy.cutoff)
    pairs = (
        labels.pairs_needed(project, base, parsed)
        if parsed.takes_grades
        else {"needed": 0, "usable": 0}
    )
    compared = review.agreement_status(project, policy) if project.allows("read the bank") else None
    return Readiness(
        measure=parsed.name,
        needed=pairs["needed"],
        usable=pairs["usable"],
        disagreements=None if compared is None else compared.open,
        audited=_describe_audit(project, policy, parsed.name) if pairs["needed"] else "",
        bank_version=base.version,
    )


def _describe_audit(project: Project, policy: labels.Policy, measure: str) -> str:
    if (audited := audit.audited_by(project, policy, measure)) is not None:
        return (
            "audited" if audited.measure == measure else f"only {audited.measure_title} is audited"
        )
    return "not audited" if audit.under_way(project, policy) is None else "audit in progress"


@dataclass(frozen=True)
class Check:
    """A line of the checklist before a publication: its state, and the screen that shows or fixes
    it.
    """

    name: str
    done: bool
    says: str
    screen: str
    place: dict[str, str] = field(default_factory=dict)


def publication_checks(project: Project, policy: labels.Policy, ready: Readiness) -> list[Check]:
    """Return the checklist before a publication. An open line does not prevent the publication.

    Raises:
        InputError: the grader or version is unknown.
    """
    state = labels.label_readiness(project, labels.basis(project, policy))
    sealed = len(records.sealed_questions(project))
    cases = (
        "No judgments"
        if ready.disagreements is None
        else how_many(ready.disagreements, "open disagreements")
    )
    audited = ready.audited[:1].upper() + ready.audited[1:]
    if ready.audited == "not audited":
        audited = "Not audited: no random sample was judged to measure the error of these scores"
    left_out = ", left out of bundles" if sealed else ""
    return [
        Check("graded", ready.usable == ready.needed, ready.grading, "grading"),
        Check("failed", not state.failed, how_many(state.failed, "failed pairs"), "grading"),
        Check("disagreements", ready.disagreements == 0, cases, "disagreements"),
        Check("audit", ready.audited == "audited", audited, "audit"),
        Check(
            "stale",
            not state.stale_overrides,
            how_many(state.stale_overrides, "stale overrides") + " (question reworded since)",
            "passages",
            {"overridden": "true"},
        ),
        Check(
            "speaking",
            not state.speaking_passages,
            how_many(state.speaking_passages, "passages") + " with text that addresses the grader",
            "passages",
            {"speaking": "true"},
        ),
        Check(
            "sealed",
            not sealed,
            how_many(sealed, "sealed questions") + " (hidden until opened)" + left_out,
            "leaderboard",
            {"view": "Sealed questions"},
        ),
    ]


@dataclass(frozen=True)
class BoardSummary:
    """A leaderboard with its state in a few sentences.

    Args:
        board: the leaderboard; over all queries if every query waits for grades.
        compared: its comparison with the official leaderboard; None without one.
        groups: the systems that are not separated.
        ready: the grades and the audit behind it.
        fully_graded: the standard measures all of whose pairs have a rating, if this one has pairs
            without.
    """

    board: labels.Leaderboard
    compared: labels.Comparison | None
    groups: study.UnseparatedSystems
    ready: Readiness
    fully_graded: list[str]

    @property
    def doubt(self) -> str:
        """Why the order of the systems can still change much, as sentences; empty if it cannot.

        It can if fewer than `FEWEST_GRADED` of the pairs have a rating, or if more queries wait for
        grades than are complete.
        """
        parts = [
            f"Only {self.ready.grading}." if self.ready.too_few else "",
            f"{self.queries}." if len(self.board.left_out) > len(self.board.query_ids) else "",
        ]
        if not any(parts):
            return ""
        parts += ["The order of the systems can still change.", self.fully_graded_sentence]
        return " ".join(filter(None, parts))

    @property
    def fully_graded_sentence(self) -> str:
        """A sentence with the measures that are fully graded; empty without such measures."""
        return f"Fully graded: {', '.join(self.fully_graded)}." if self.fully_graded else ""

    @property
    def official(self) -> labels.Leaderboard | None:
        """The official leaderboard over the same queries; None without one, or if every query waits
        for grades.
        """
        return self.compared.official if self.compared and self.compared.board.systems else None

    @property
    def outcome(self) -> tuple[frozenset[str], str]:
        """The queries in the mean, and the best system; its name is empty without systems."""
        return frozenset(self.board.query_ids), next(iter(self.board.scores), "")

    def describe_change(self, before: tuple[frozenset[str], str]) -> str:
        """Return how the outcome differs from an earlier one, in sentences; empty if it is the
        same.
        """
        (earlier, first), (queries, best) = before, self.outcome
        if before == (queries, best):
            return ""
        number = (
            f"the queries in this leaderboard changed from {len(earlier):,} to {len(queries):,}"
        )
        change = number if earlier != queries else "ratings changed"
        leader = f"is still {best}" if best == first else f"was {first} and is now {best}"
        return f"Since you opened this screen, {change}. The best system {leader}."

    @property
    def unseparated(self) -> int | None:
        """Number of the best systems no two of which are separated, from 1; None if this is not
        tested.
        """
        if self.groups.untested or not self.board.systems:
            return None
        return 1 + next((last for first, last in self.groups.groups if first == 0), 0)

    @property
    def separation(self) -> str:
        """The part on the best systems; empty for a single system."""
        systems = len(self.board.systems)
        parts = (
            (systems < 2, ""),
            (self.unseparated is None, "The systems are not tested for differences"),
            (self.unseparated == systems, "No two systems are separated"),
            (self.unseparated == 1, "The best system is separated from the second"),
        )
        return next(
            (part for applies, part in parts if applies),
            f"The top {self.unseparated or 0:,} are not separated",
        )

    @property
    def queries(self) -> str:
        """The part on the queries in the mean: "Over 3 of 54 queries; 51 wait for grades"."""
        own = self.compared.queries.board if self.official and self.compared else None
        elsewhere = 0 if own is None else own - len(self.board.query_ids)
        counted = labels.counted_queries(self.board.query_ids, self.board.ungraded, elsewhere)
        return counted[:1].upper() + counted[1:]

    @property
    def agreement(self) -> str:
        """The part on the official leaderboard; empty without one."""
        if self.compared is None:
            return ""
        kendall, source = self.compared.correlation.kendall, self.compared.official.source
        return (
            f"Correlation with {source} is undefined"
            if kendall is None
            else f"Kendall {kendall:z.2f} with {source}"
        )

    @property
    def grading(self) -> str:
        """The part on the grades behind the labels; empty if the leaderboard needs no grades."""
        return f"{self.ready.graded} graded".capitalize() if self.ready.needed else ""

    @property
    def auditing(self) -> str:
        """The part on the audit; empty if the leaderboard needs no grades."""
        return self.ready.audited[:1].upper() + self.ready.audited[1:]

    @property
    def description(self) -> str:
        """All parts as sentences."""
        parts = (self.separation, self.queries, self.agreement, self.ready.grading, self.auditing)
        return " ".join(f"{part}." for part in parts if part)


@as_act("see boards", at_face=False)
def summarize_board(
    project: Project,
    policy: labels.Policy,
    measure: str,
    against: str | None = None,
    against_measure: str | None = None,
    ties: Ties = "average",
    queries: labels.QueryChoice = "common",
    test: SystemTest = "t",
) -> BoardSummary:
    """Return the leaderboard of a measure with its state.

    Args:
        against: the official leaderboard; None for no comparison.
        against_measure, ties, queries: as for `labels.compare`.
        test: the paired test that separates systems.

    Raises:
        InputError: a leaderboard cannot be made.
    """
    compared = None
    if against is not None:
        compared = labels.compare(
            project,
            measure,
            against,
            against_measure=against_measure,
            policy=policy,
            ties=ties,
            queries=queries,
        )
    if compared is not None and compared.board.systems:
        board = compared.board
    else:
        board = labels.leaderboard(
            project, measure, "exam", policy, with_ungraded=queries != "common"
        )
    groups = study.group_alike(board, study.remembered_pairs(project, board, test))
    # While a job grades, readiness would count later grades than the leaderboard.
    ready = replace(
        board_readiness(project, policy, measure), needed=board.needed, usable=board.usable
    )
    complete = [] if board.usable == board.needed else _fully_graded(project, policy)
    return BoardSummary(board, compared, groups, ready, complete)


def _fully_graded(project: Project, policy: labels.Policy) -> list[str]:
    base = labels.basis(project, policy)
    offered = [measures.parse_measure(name, policy.cutoff) for name in measures.MEASURES]
    pairs = {
        one.name: labels.pairs_needed(project, base, one) for one in offered if one.by_query_alone
    }
    return [name for name, counts in pairs.items() if counts["usable"] == counts["needed"]]


@as_act("see boards", at_face=False)
def find_summary(
    project: Project, policy: labels.Policy, measure: str, against: str | None
) -> BoardSummary | None:
    """Return the result of `summarize_board`; None without a leaderboard, whose own screen says why
    it is missing.
    """
    try:
        return (
            summarize_board(project, policy, measure, against)
            if records.ranking_scores(project)
            else None
        )
    except InputError:
        return None
