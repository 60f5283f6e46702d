"""The command that says what changed between two states."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import click

from ..errors import InputError
from ..labels import Policy
from ..leaderboard import DEFAULT_MEASURE, QueryChoice
from ..project import Project
from ..review import StateChanges, flips_csv, state_changes, version_edits
from ..review import changes as changes_between
from .options import (
    Whole,
    json_option,
    opened,
    project_option,
    queries_option,
)
from .policy import policy_options
from .printing import Output, at_most_one, printed


@click.command()
@project_option
@click.option("--from", "before", type=Whole(), help="Bank version before (default: --bank-version).")
@click.option("--to", "after", type=Whole(), help="Bank version after (default: --bank-version).")
@click.option("--to-grader", help="Grader after, if different.")
@click.option("--to-min-rating", type=Whole(), help="Min rating after, if different.")
@click.option("--to-label", metavar="max|support:M|mean", help="Label rule after, if different.")
@click.option("--to-weighted/--to-unweighted", default=None, help="Use of weights after, if different.")
@click.option("--to-overrides/--to-no-overrides", default=None, help="Use of overrides after, if different.")
@click.option("--measure", default=DEFAULT_MEASURE, show_default=True, help="Measure that orders the systems.")
@click.option("--against", help="Judgment source or leaderboard; adds the correlation with it before and after.")
@queries_option
@click.option("--csv", "as_csv", is_flag=True, help="Print the labels that flip as CSV.")
@policy_options
@json_option
@at_most_one(as_csv="--csv", as_json="--json")
@printed
def changes(
    project_path: Path | None,
    before: int | None,
    after: int | None,
    to_grader: str | None,
    to_min_rating: int | None,
    to_label: str | None,
    to_weighted: bool | None,
    to_overrides: bool | None,
    measure: str,
    against: str | None,
    queries: QueryChoice,
    as_csv: bool,
    policy: Policy,
) -> Output:
    """Compare labels and systems before and after a change.

    The scoring-settings options describe the state before. --to and the --to- options describe the state after.
    """
    # Without a version of its own, a state has that of the policy.
    versions = [policy.bank_version if version is None else version for version in (before, after)]
    old = replace(policy, bank_version=versions[0])
    others = {
        "grader": to_grader,
        "min_rating": to_min_rating,
        "label": to_label,
        "weighted": to_weighted,
        "overrides": to_overrides,
    }
    named = {name: value for name, value in others.items() if value is not None}
    new = replace(old, **({"bank_version": versions[1]} | named))  # type: ignore[arg-type]
    if (before is None) != (after is None):
        raise InputError("option-missing", "--from and --to go together.", "Use both, or another --to- option instead.")
    if before is None and not named:
        raise InputError("same-states", "The two states are the same.", "Use --from and --to, or a --to- option.")
    with opened(project_path) as project:
        found = state_changes(project, old, new, measure, against, queries)
        if as_csv:
            return Output().text(flips_csv(project, found))
        to_grade = _to_grade(project, found, measure)
    output = Output(_as_dict(found, to_grade))
    if found.flips:
        output.table(
            ("query", "passage", "before", "after", "cause"),
            [(f.query_id, f.passage_id, f.before, f.after, ", ".join((*f.causes, *f.questions))) for f in found.flips],
        )
    waiting = "" if to_grade is None else f" Ungraded pairs: {to_grade:,}."
    output.note(f"Labels that flip: {len(found.flips):,}.{waiting}", found.no_board)
    output.table(
        ("run", "score before", "score after", "rank before", "rank after"),
        [(s.run, s.score_before, s.score_after, s.rank_before, s.rank_after) for s in found.systems],
    )
    if found.shift is not None:
        if found.shift.before is not None and found.shift.after is not None:
            output.note(f"Spearman with {against}: {found.shift.before:z.4f} before, {found.shift.after:z.4f} after.")
        output.note(f"{found.shift.says} {found.shift.queries.says}")
    return output


def _to_grade(project: Project, found: StateChanges, measure: str) -> int | None:
    """The pairs that the bank after needs and nobody graded; None where more than the bank differs."""
    if found.differing != ("bank version",) or found.board_before is None:
        return None
    edits = version_edits(project, found.before.bank_version or 0, found.after.bank_version or 0)
    return changes_between(project, measure, found.before, edits).to_grade


def _as_dict(found: StateChanges, to_grade: int | None) -> dict[str, Any]:
    shift = None if found.shift is None else asdict(found.shift) | {"queries": found.shift.queries.as_dict()}
    return {
        "before": found.before.as_dict(),
        "after": found.after.as_dict(),
        "labels": [
            {
                "query": flip.query_id,
                "passage": flip.passage_id,
                "before": flip.before,
                "after": flip.after,
                "causes": flip.causes,
                "questions": flip.questions,
                "unknown": flip.open_pairs,
            }
            for flip in found.flips
        ],
        "systems": [asdict(system) for system in found.systems],
        "shift": shift,
        "to_grade": to_grade,
    }
