"""Reasons to distrust grades: a changed model behind a grader, flip rates, and passages that
address the grader.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from datetime import datetime

from ..errors import GradingError
from ..graders import CHANGES
from ..injection_signs import ANY, repeatable_form
from ..store import Project, as_act
from ..types import ANSWERED, GraderSpec
from ._asked_questions import bank_for
from ._grader_catalogue import grader_key
from ._questions import latest_version


@dataclass(frozen=True)
class DriftCheck:
    """A check. `evidence` is the logarithm of the e-value of all checks until then, see
    `drift_evidence`.
    """

    at: datetime
    asked: int
    changed: int
    evidence: float


@dataclass(frozen=True)
class Drift:
    """The drift watch of a grader.

    Args:
        since: when its noise was measured.
        pairs, changed: number of pairs that were asked twice for this, and of them with another
            rating.
        bound: upper bound of the share of ratings that change by noise.
        alarm: time of the check that noticed a change; None without one.
        suspect: number of grades that may come from the changed model: those of jobs that ended
            after the check before the evidence grew; 0 without an alarm.
    """

    grader: str
    since: datetime
    pairs: int
    changed: int
    bound: float
    checks: list[DriftCheck]
    alarm: datetime | None
    suspect: int

    @property
    def says(self) -> str:
        """The state as a sentence."""
        if self.alarm is not None:
            return (
                f"The model behind {self.grader} changed: noticed on {self.alarm:%Y-%m-%d}."
                f" Grades that may come from the changed model: {self.suspect:,}."
            )
        asked, changed = (
            sum(getattr(one, name) for one in self.checks) for name in ("asked", "changed")
        )
        return (
            f"No change of the model behind {self.grader} noticed: {changed:,} of {asked:,}"
            f" repeated ratings differ (noise up to {self.bound:.1%})."
        )


@as_act("see boards")
def grader_drift(project: Project, spec: GraderSpec) -> Drift | None:
    """Return the drift watch of a grader; None if it is not watched."""
    return project.cached(("drift", spec.fingerprint), lambda: _find_drift(project, spec))


def _find_drift(project: Project, spec: GraderSpec) -> Drift | None:
    # `exam status` reads this module and needs no numpy.
    from ..measures import DRIFT_ALARM, drift_evidence, noise_bound

    key = project.read(lambda cursor: grader_key(cursor, spec))
    rows = project.rows(
        "SELECT min(asked_at), count(*), count(*) FILTER (s.rating IS DISTINCT FROM g.rating)"
        " FROM sentinel_answers s"
        " JOIN grades g USING (grader_key, question_text_key, passage_text_key)"
        " WHERE grader_key = ? GROUP BY round ORDER BY round",
        [key],
    )
    if not rows:
        return None
    (since, pairs, noisy), *later = rows
    bound = noise_bound(noisy, pairs)
    found = drift_evidence([(asked, changed) for _, asked, changed in later], bound)
    checks = [
        DriftCheck(at, asked, changed, float(value))
        for (at, asked, changed), value in zip(later, found, strict=True)
    ]
    alarm = next((at for at, one in enumerate(checks) if one.evidence >= DRIFT_ALARM), None)
    suspect = 0
    if alarm is not None:
        low = min(range(alarm), key=lambda at: checks[at].evidence, default=None)
        suspect = project.value(
            "SELECT count(*) FROM grades JOIN jobs USING (job_key) WHERE grader_key = ?"
            " AND ended_at >= ?",
            [key, since if low is None or checks[low].evidence > 0 else checks[low].at],
        )
    return Drift(
        spec.name,
        since,
        pairs,
        noisy,
        bound,
        checks,
        None if alarm is None else checks[alarm].at,
        suspect,
    )


def refuse_drifted(project: Project, spec: GraderSpec) -> Drift | None:
    """Return the drift watch of a grader, and refuse one whose model changed.

    Raises:
        GradingError: its model changed, so that its next grades would not be comparable.
    """
    watch = grader_drift(project, spec)
    if watch is not None and watch.alarm is not None:
        raise GradingError(
            "grader-drifted",
            watch.says,
            "Grade with its next edition, which has grades of its own: exam graders list",
        )
    return watch


@dataclass(frozen=True)
class FlipRate:
    """The answers to one change of passages.

    Args:
        pairs, flips, failed: numbers of usable answers, of flips among them, and of failures.
        low, high: 95 % interval of the share of flips; 0 and 1 without usable answers.
    """

    change: str
    at: datetime
    pairs: int
    flips: int
    failed: int
    low: float
    high: float

    @property
    def share(self) -> float | None:
        """Share of flips; None without usable answers."""
        return self.flips / self.pairs if self.pairs else None


@as_act("see boards")
def flip_rates(project: Project, spec: GraderSpec) -> list[FlipRate]:
    """Return the latest probe's flip rates, in the order of `CHANGES`; empty without a probe."""
    from ..measures import wilson_interval

    key, least = project.read(lambda cursor: grader_key(cursor, spec)), spec.min_rating(ANSWERED)
    counted = {
        row[0]: row[1:]
        for row in project.rows(
            "SELECT change, max(asked_at), count(rating),"
            f" count(*) FILTER ((rating >= {least:d}) <> (before >= {least:d})),"
            f" count(*) FILTER (rating >= {least:d}), count(*) - count(rating) FROM probe_answers"
            " WHERE grader_key = $key AND probe = (SELECT max(probe) FROM probe_answers"
            " WHERE grader_key = $key) GROUP BY change",
            {"key": key},
        )
    }
    rates = []
    for name, change in CHANGES.items():
        if name in counted:
            at, pairs, differs, answered, failed = counted[name]
            flips = differs if change.keeps else answered
            rates.append(
                FlipRate(
                    name, at, pairs, flips, failed, *(wilson_interval(flips, pairs) or (0.0, 1.0))
                )
            )
    return rates


def robustness_note(rates: list[FlipRate]) -> str:
    """Return the worst change that keeps answers, and the worst that should bring none, as a
    sentence.
    """
    if not rates:
        return ""
    phrases = []
    for keeps, where in ((False, "without the answer"), (True, "with the answer")):
        shares = {
            rate: rate.share
            for rate in rates
            if CHANGES[rate.change].keeps is keeps and rate.share is not None
        }
        if shares:
            worst = max(shares, key=shares.__getitem__)
            phrases.append(
                f"{where}: {worst.change} {worst.share:.0%} [{worst.low:.0%}, {worst.high:.0%}]"
            )
    listed = "; ".join(phrases)
    return (
        f"Robustness probe of {rates[0].at:%Y-%m-%d}. Highest shares of changed answers {listed}."
    )


@as_act("see boards")
def trust_notes(project: Project, spec: GraderSpec) -> list[str]:
    """Return the notes for a leaderboard of a grader: a changed model behind it, and its
    robustness.
    """
    watched = grader_drift(project, spec)
    drifted = watched.says if watched is not None and watched.alarm is not None else ""
    return [note for note in (drifted, robustness_note(flip_rates(project, spec))) if note]


Place = tuple[int, int]
"""Keys of a query and of a passage in its pool."""
Asked = frozenset[tuple[str, bool]]
"""Normalised questions of a query to search for in texts, each with whether it has a question mark.
"""


@dataclass
class _Seen:
    """Cached results for an open project. A text never changes, so each text is searched once.

    `repeats` has, for each query, the questions that were searched and the passages that repeat a
    question.
    """

    upto: int = 0
    texts: frozenset[int] = frozenset()
    pool: str = ""
    of: tuple[object, ...] = ()
    places: frozenset[Place] = frozenset()
    repeats: dict[int, tuple[Asked, frozenset[Place]]] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)


_QUESTIONS = GraderSpec("any", "self-rating", "", kinds=("question",))
"""Selects questions, not nuggets: a passage may contain a nugget word for word."""


_REPEATING = (
    "WITH said_questions AS MATERIALIZED"
    "  (SELECT unnest($queries) AS query_key, unnest($said) AS said, unnest($asks) AS asks)"
    " SELECT DISTINCT query_key, passage_key"
    " FROM (SELECT query_key, passage_key, lower(text) AS lowered,"
    "  contains(text, '?') AS has_mark FROM pool JOIN passage_texts USING (text_key)"
    "  WHERE query_key IN (SELECT query_key FROM said_questions))"
    # Most passages have no question mark, so this test is done early.
    " JOIN said_questions USING (query_key)"
    " WHERE (has_mark OR NOT asks) AND contains(lowered, said)"
)


def speaking_passages(project: Project, version: int | None = None) -> frozenset[Place]:
    """Return the pooled passages that address the grader or repeat a question of their query.

    The first call searches all texts, which takes seconds for a large pool; later calls search only
    new texts.

    Args:
        version: bank version of the questions; None for the newest.
    """
    version = latest_version(project) if version is None else version
    seen = project.cached("speaking passages", _Seen, frozenset())
    with seen.lock:
        upto, pool = project.rows(
            "SELECT (SELECT coalesce(max(text_key), 0) FROM passage_texts), (SELECT"
            " (count(*), bit_xor(hash(query_key, passage_key, text_key)))::VARCHAR FROM pool)"
        )[0]
        if upto > seen.upto:
            new = project.rows(
                "SELECT text_key FROM passage_texts WHERE text_key > ? AND text_key <= ?"
                " AND regexp_matches(text, ?)",
                [seen.upto, upto, ANY],
            )
            seen.texts, seen.upto = seen.texts.union(key for (key,) in new), upto
        if pool != seen.pool:
            seen.repeats, seen.pool = {}, pool
        if seen.of != (version, pool, upto):
            _seek_repeats(project, version, seen.repeats)
            repeating = (places for _, places in seen.repeats.values())
            seen.places = _speaking_places(project, seen.texts).union(*repeating)
            seen.of = version, pool, upto
        return seen.places


def _speaking_places(project: Project, texts: frozenset[int]) -> frozenset[Place]:
    if not texts:
        return frozenset()
    return frozenset(
        project.rows(
            "SELECT query_key, passage_key FROM pool WHERE list_contains(?, text_key)",
            [sorted(texts)],
        )
    )


def _seek_repeats(
    project: Project, version: int, known: dict[int, tuple[Asked, frozenset[Place]]]
) -> None:
    """Find the pooled passages that contain a question of their query word for word.

    Args:
        known: the questions and the passages found so far, by query key; updated in place. Only
            queries with changed questions are searched.
    """
    asked: dict[int, set[tuple[str, bool]]] = {query: set() for query in known}
    for query, text in project.rows(
        f"SELECT query_key, text FROM {bank_for(_QUESTIONS)} JOIN question_texts USING (text_key)"
        " WHERE text IS NOT NULL",
        {"version": version},
    ):
        if said := repeatable_form(text):
            asked.setdefault(query, set()).add((said, "?" in text))
    changed = {
        query: said
        for query, said in asked.items()
        if query not in known or known[query][0] != said
    }
    rows = [(query, *one) for query, sayings in changed.items() for one in sayings]
    parameters = {
        name: [row[i] for row in rows] for i, name in enumerate(("queries", "said", "asks"))
    }
    places: dict[int, set[Place]] = {query: set() for query in changed}
    for place in project.rows(_REPEATING, parameters) if rows else ():
        places[place[0]].add(place)
    for query, sayings in changed.items():
        known[query] = frozenset(sayings), frozenset(places[query])
