"""How complete the labels of a policy are: what is graded, failed, ungraded or overridden behind them."""

from __future__ import annotations

from dataclasses import dataclass

from core.bank import bank_for, speaking_passages
from core.labels.basis import Basis
from core.labels.labels import labels
from core.labels.ratings import graded_pairs
from core.project import Project


@dataclass(frozen=True)
class Readiness:
    """What the labels of a policy rest on; every needed pair is in one of five states.

    Args:
        needed: pairs of a pooled passage and an active question of positive weight.
        graded: those where a usable grade of the grader counts.
        failed: those that were asked and gave nothing usable.
        ungraded: those that were never asked, but could be.
        without_text: those that cannot be asked, since the text of the passage is missing.
        overridden: those where a person's rating counts.
        stale_overrides: overrides of active questions that were reworded since: they do not count.
        partial_labels: labels where some pairs behind them have no rating.
        unlabelled_passages: pooled (query, passage) without a label.
        speaking_passages: pooled (query, passage) whose text speaks to the grader: see `core.speaking`.
    """

    needed: int
    graded: int
    failed: int
    ungraded: int
    without_text: int
    overridden: int
    stale_overrides: int
    partial_labels: int
    unlabelled_passages: int
    speaking_passages: int

    @property
    def complete(self) -> bool:
        """Whether nothing is left to grade, to retry or to confirm."""
        return not (self.failed or self.ungraded or self.without_text or self.stale_overrides)


def readiness(project: Project, base: Basis) -> Readiness:
    """Say how complete the labels of a policy are."""
    table = labels(project, base)
    needed, usable = int(table["needed"].sum()), int(table["usable"].sum())
    overridden = stale = 0
    if base.overridden:
        # Of a grader that never graded anything, only what people said remains.
        overridden = project.value(
            f"SELECT count(*) FROM ({graded_pairs(base)}) WHERE rating IS NOT NULL AND weight > 0",
            base.parameters | {"grader": -1},
        )
        stale = project.value(
            "SELECT count(*) FROM overrides o JOIN bank_at($version) r USING (question_key)"
            " WHERE withdrawn_at IS NULL AND active AND o.question_text_key <> r.text_key",
            {"version": base.version},
        )
    failed = _failed(project, base)
    without_text = project.value(
        f"SELECT count(*) FROM pool p JOIN {bank_for(base.grader.spec)} b USING (query_key)"
        " WHERE p.text_key IS NULL AND weight > 0 AND $grader IS NOT NULL",
        base.parameters,
    )
    labelled = table["label"].notna()
    return Readiness(
        needed=needed,
        graded=usable - overridden,
        failed=failed,
        ungraded=needed - usable - failed - without_text,
        without_text=without_text,
        overridden=overridden,
        stale_overrides=stale,
        partial_labels=int((labelled & (table["usable"] < table["needed"])).sum()),
        unlabelled_passages=int((~labelled).sum()),
        speaking_passages=len(speaking_passages(project, base.version)),
    )


def failed_pairs(base: Basis) -> str:
    """The needed pairs that were asked and have no rating, as a query: query_key, question_key, passage_key."""
    return (
        f"SELECT g.query_key, g.question_key, g.passage_key FROM ({graded_pairs(base)}) g"
        f" JOIN {bank_for(base.grader.spec)} b USING (query_key, question_key)"
        " JOIN pool p USING (query_key, passage_key)"
        " SEMI JOIN (SELECT DISTINCT question_text_key, passage_text_key FROM failures"
        "  WHERE grader_key = $grader) f ON f.question_text_key = b.text_key AND f.passage_text_key = p.text_key"
        " WHERE g.rating IS NULL AND g.weight > 0"
    )


def _failed(project: Project, base: Basis) -> int:
    return int(project.value(f"SELECT count(*) FROM ({failed_pairs(base)})", base.parameters))
