"""The command that compares two states of a project."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import Annotated, Any

from ..errors import InputError
from ..labels import DEFAULT_MEASURE
from ..review import StateChanges, changes as changes_between, flips_csv, state_changes, version_edits
from ..store import Project
from .describing import Option
from .opening import Opening
from .options import QueriesOption
from .output import Output
from .policy import PolicyOptions
from .registry import operation


@operation("changes", act="read the bank", reads=True, not_json=("as_csv",))
def changes(
    opening: Opening,
    *,
    before: Annotated[int | None, Option("--from", help="Bank version before (default: --bank-version).")] = None,
    after: Annotated[int | None, Option("--to", help="Bank version after (default: --bank-version).")] = None,
    to_grader: Annotated[str | None, Option(help="Grader after, if different.")] = None,
    to_min_rating: Annotated[int | None, Option(help="Min rating after, if different.")] = None,
    to_label: Annotated[
        str | None, Option(help="Label rule after, if different.", metavar="max|support:M|mean")
    ] = None,
    to_weighted: Annotated[
        bool | None, Option("--to-weighted/--to-unweighted", help="Use of weights after, if different.")
    ] = None,
    to_overrides: Annotated[
        bool | None, Option("--to-overrides/--to-no-overrides", help="Use of overrides after, if different.")
    ] = None,
    measure: Annotated[str, Option(help="Measure that orders the systems.")] = DEFAULT_MEASURE,
    against: Annotated[
        str | None, Option(help="Judgment source or leaderboard; adds the correlation with it before and after.")
    ] = None,
    queries: QueriesOption = "common",
    as_csv: Annotated[bool, Option("--csv", help="Print the labels that flip as CSV.")] = False,
    policy: PolicyOptions,
) -> Output:
    """Compare labels and systems before and after a change.

    The scoring-settings options describe the state before. --to and the --to- options describe the state after.
    """
    # The default version of a state is that of the policy.
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
    with opening() as project:
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
    """Return the number of ungraded pairs that the later bank needs; None if more than the bank differs."""
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
