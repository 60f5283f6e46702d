"""Commands that compare labels: with judgments, with other graders, with people, and before and
after a change.
"""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import Annotated, Any

from .. import labels, records, review
from ..choices import DEFAULT_MEASURE, DisagreementOrder
from ..errors import InputError, check_rules
from .policy import PolicyOptions, QueriesOption
from .registry import (
    LARGEST,
    Argument,
    Author,
    GatheredOptions,
    Option,
    Output,
    Project,
    at_most_one,
    only_given,
    operation,
)

one_right_side = at_most_one(
    source="--source", against_grader="--against-grader", against_person="--against-person"
)
"""Refuse more than one side to compare labels with."""


@operation(
    "agreement",
    act="read the bank",
    reads=True,
    not_json=(
        "latex",
        "as_csv",
    ),
)
@at_most_one(latex="--latex", as_csv="--csv")
@one_right_side
def agreement(
    project: Project,
    *,
    source: Annotated[
        str | None, Option(help="Source of the judgments (default: the first).")
    ] = None,
    against_grader: Annotated[
        str | None,
        Option(help="Compare with another grader's labels, without overrides.", metavar="NAME"),
    ] = None,
    against_person: Annotated[
        str | None,
        Option(help="Compare the grader's ratings with an assessor's overrides.", metavar="NAME"),
    ] = None,
    first_blind: Annotated[
        bool,
        Option(
            help=(
                "Use the first blind judgments of --source, an assessor's source such as"
                " 'assessor: ann'."
            )
        ),
    ] = False,
    held_out: Annotated[
        bool, Option(help="Use only the judgments that are held out; see exam judgments hold-out.")
    ] = False,
    merged: Annotated[
        bool, Option(help="Use two levels per side, split at --min-rating and --min-judgment.")
    ] = False,
    latex: Annotated[bool, Option(help="Print the table as LaTeX.")] = False,
    as_csv: Annotated[bool, Option("--csv", help="Print the table as CSV.")] = False,
    policy: PolicyOptions,
) -> Output:
    """Compare labels with judgments: cross table and agreement coefficients."""
    both = policy_sides(policy, source, against_grader, against_person)
    if first_blind and isinstance(both[1], review.Judgments):
        both = both[0], replace(both[1], blind=True)
    confirmed = review.find_confirmation(project, *both)
    if held_out and (confirmed is None or confirmed.held_out is None):
        raise InputError(
            "nothing-held-out",
            "No judgments are held out for this comparison.",
            "Hold out a share, and compare labels with judgments: exam judgments"
            " hold-out --share 0.3",
        )
    comparison = (
        confirmed.held_out
        if held_out and confirmed and confirmed.held_out
        else review.side_agreement(project, *both)
    )
    compared = comparison.merged if merged else comparison
    if latex:
        return Output().text(review.table_latex(compared))
    if as_csv:
        return Output().text(review.table_csv(compared))
    further = {} if confirmed is None else {"tuned": confirmed.tuned, "held_out": held_out}
    output = Output(compared.as_dict() | further).line(
        f"{compared.left} (rows) against {compared.right} (columns)"
    )
    output.table(
        (compared.left.noun, *compared.table.column_names, "total", "kappa"), compared.rows
    )
    for name, whole in (
        ("Cohen's kappa", compared.kappa),
        ("with quadratic weights", compared.weighted_kappa),
        ("Krippendorff's alpha, ordinal", compared.alpha),
    ):
        output.line(
            f"{name}: "
            + (f"undefined ({whole.undefined})" if whole.value is None else f"{whole.value:.4f}")
        )
    return output.note(
        f"Pairs with both: {compared.n:,}. Only {compared.left.noun}s: {compared.left_only:,}."
        f" Only {compared.right}: {compared.right_only:,}."
        + (f" {confirmed}" if confirmed and not held_out else "")
    )


def policy_sides(
    policy: labels.Policy, source: str | None, grader: str | None, person: str | None
) -> tuple[review.Side, review.Side]:
    """Return the two sides of a comparison: the policy's labels with judgments, a grader or a
    person.
    """
    if grader is not None:
        return review.machine_labels(policy), review.machine_labels(policy, grader)
    if person is not None:
        return review.Labels(policy), review.Person(person, policy.min_rating)
    return review.Labels(policy), review.Judgments(source or "judgments", policy.min_judgment)


WAYS = ("override", "edit", "dispute", "comment")


@one_right_side
def _sides_from_options(
    *,
    policy: PolicyOptions,
    source: Annotated[
        str | None, Option(help="Source of the judgments (default: the first).")
    ] = None,
    against_grader: Annotated[
        str | None, Option(help="Compare with another grader's labels.", metavar="NAME")
    ] = None,
    against_person: Annotated[
        str | None,
        Option(help="Compare the grader's ratings with an assessor's overrides.", metavar="NAME"),
    ] = None,
) -> tuple[review.Side, review.Side]:
    return policy_sides(policy, source, against_grader, against_person)


SidesOptions = Annotated[tuple["review.Side", "review.Side"], GatheredOptions(_sides_from_options)]
"""The two sides that disagree."""


@operation("disagreements list", act="read the bank", reads=True)
def list_(
    project: Project,
    *,
    query_id: Annotated[str | None, Option("--query", help="Only this query.")] = None,
    order: Annotated[
        DisagreementOrder,
        Option(
            help=(
                "Worst first, one side higher first, or largest effect on"
                " leaderboard or kappa first."
            ),
        ),
    ] = "worst",
    show_settled: Annotated[
        bool, Option("--settled", help="Also show resolved disagreements.")
    ] = False,
    limit: Annotated[int, Option(help="Number of rows.", least=1)] = 20,
    offset: Annotated[int, Option(help="Number of rows to skip.", least=0)] = 0,
    both: SidesOptions,
) -> Output:
    """List passages whose labels differ from judgments, another grader or overrides."""
    left, right = both
    if query_id is not None:
        records.check_queries(project, [query_id])
    disagreements = review.list_disagreements(
        project,
        left,
        right,
        order,
        None,
        show_settled,
        limit=limit,
        offset=offset,
        query_id=query_id,
    )
    names = [review.side_name(project, side) for side in (left, right)]
    return (
        Output(
            {
                "left": names[0],
                "right": names[1],
                "total": disagreements.total,
                "hidden": disagreements.hidden,
                "rows": [asdict(row) for row in disagreements.rows],
            }
        )
        .line(f"{names[0]} against {names[1]}")
        .table(
            ("query", "passage", "question", "left", "right", "cause", "resolved by"),
            [
                (
                    row.pair.query_id,
                    row.pair.passage_id,
                    row.pair.question_id,
                    row.pair.left,
                    row.pair.right,
                    ", ".join(
                        question.question_id for question in (*row.left_from, *row.right_from)
                    ),
                    row.settling.act if row.settling else "",
                )
                for row in disagreements.rows
            ],
        )
        .note(
            f"Shown: {len(disagreements.rows):,} of {disagreements.total:,} disagreements. Resolved"
            f" and hidden: {disagreements.hidden:,}."
        )
    )


@operation("disagreements resolve", act="settle disagreements")
def settle(
    project: Project,
    *,
    query_id: Annotated[str, Argument(metavar="QUERY")],
    passage_id: Annotated[str, Argument(metavar="PASSAGE")],
    by: Annotated[
        str,
        Option(
            help="override: new rating; edit: planned edit; dispute: wrong judgment; comment.",
            choices=WAYS,
        ),
    ],
    reason: Annotated[str, Option(help="Reason, or text of the comment.")],
    question_id: Annotated[
        str | None, Option("--question", help="Question to override or to reword.")
    ] = None,
    rating: Annotated[int | None, Option(help="Rating of the override, 0 to 5.")] = None,
    author: Author,
    both: SidesOptions,
) -> str:
    """Resolve the disagreement on PASSAGE for QUERY."""
    left, right = both
    row = _find_row(project, left, right, query_id, passage_id, question_id)
    case = review.case_of(project, left, right, row.pair)
    if by == "override":
        if question_id is None or rating is None:
            raise InputError(
                "option-missing",
                "An override needs a question and a rating.",
                "Use --question and --rating.",
            )
        review.settle_by_override(project, case, [question_id], rating, reason, author)
    elif by == "edit":
        review.settle_by_edit(project, case, question_id, reason, author)
    elif by == "dispute":
        review.settle_by_dispute(
            project, case, _judged_source(project, left, right), reason, author
        )
    else:
        review.settle_by_comment(project, case, reason, author)
    return "Resolved. See exam disagreements history."


@operation("disagreements reopen", act="settle disagreements")
def reopen(
    project: Project,
    *,
    query_id: Annotated[str, Argument(metavar="QUERY")],
    passage_id: Annotated[str, Argument(metavar="PASSAGE")],
    reason: Annotated[str, Option(help="Reason.")] = "",
    question_id: Annotated[
        str | None, Option("--question", help="Question, with --against-person.")
    ] = None,
    withdraw_override: Annotated[
        bool, Option(help="Also withdraw the override that resolved the disagreement.")
    ] = False,
    author: Author,
    both: SidesOptions,
) -> str:
    """Reopen a resolved disagreement."""
    left, right = both
    names = [review.side_name(project, side) for side in (left, right)]
    settled = [
        one
        for one in review.settled_cases(project, names[0], names[1]).values()
        if one.case.place[:2] == (query_id, passage_id)
        and question_id in (None, one.case.question_id, one.touched)
    ]
    if not settled:
        raise InputError(
            "not-settled",
            f"No resolved disagreement on {passage_id} for {query_id}.",
            "See exam disagreements history.",
        )
    withdrawn = review.settling.reopen_case(
        project, settled[0].case, reason, author, withdraw_override
    )
    return "Reopened." + (" The override was withdrawn." if withdrawn else "")


@operation("disagreements history", act="read the bank", reads=True, not_json=("as_csv",))
def record(
    project: Project,
    *,
    as_csv: Annotated[bool, Option("--csv", help="Print CSV.")] = False,
) -> Output:
    """Show all actions on disagreements."""
    if as_csv:
        return Output().text(review.record_csv(project))
    acts = review.list_settlings(project)
    return Output({"acts": [asdict(act) for act in acts]}).table(
        ("when", "who", "action", "query", "passage", "question", "reason", "resolved"),
        [
            (
                f"{act.made_at:%Y-%m-%d %H:%M}",
                act.author,
                act.act,
                act.case.query_id,
                act.case.passage_id,
                act.touched or act.case.question_id,
                act.reason,
                "yes" if act.settled else "no",
            )
            for act in acts
        ],
    )


def _find_row(
    project: Project,
    left: review.Side,
    right: review.Side,
    query_id: str,
    passage_id: str,
    question_id: str | None,
) -> review.QueueRow:
    """Return the open disagreement on a passage; if a side is a person, on a question for that
    passage.
    """
    every = review.list_disagreements(project, left, right, query_id=query_id, limit=LARGEST)
    matching = [row for row in every.rows if row.pair.passage_id == passage_id]
    if matching and matching[0].pair.question_id is not None:
        matching = [row for row in matching if row.pair.question_id == question_id]
    if not matching:
        raise InputError(
            "no-open-disagreement",
            f"No open disagreement on {passage_id} for {query_id}.",
            "See exam disagreements list.",
        )
    return matching[0]


def _judged_source(project: Project, left: review.Side, right: review.Side) -> str:
    for side in (left, right):
        if isinstance(side, review.Judgments):
            return records.find_source(project, side.source)
    raise InputError(
        "no-judgment-to-dispute",
        "Neither side has judgments to dispute.",
        "Use --by comment, edit or override.",
    )


@operation("changes", act="read the bank", reads=True, not_json=("as_csv",))
def changes(
    project: Project,
    *,
    before: Annotated[
        int | None, Option("--from", help="Bank version before (default: --bank-version).")
    ] = None,
    after: Annotated[
        int | None, Option("--to", help="Bank version after (default: --bank-version).")
    ] = None,
    to_grader: Annotated[str | None, Option(help="Grader after, if different.")] = None,
    to_min_rating: Annotated[int | None, Option(help="Min rating after, if different.")] = None,
    to_label: Annotated[
        str | None, Option(help="Label rule after, if different.", metavar="max|support:M|mean")
    ] = None,
    to_weighted: Annotated[
        bool | None,
        Option("--to-weighted/--to-unweighted", help="Use of weights after, if different."),
    ] = None,
    to_overrides: Annotated[
        bool | None,
        Option("--to-overrides/--to-no-overrides", help="Use of overrides after, if different."),
    ] = None,
    measure: Annotated[str, Option(help="Measure that orders the systems.")] = DEFAULT_MEASURE,
    against: Annotated[
        str | None,
        Option(
            help="Judgment source or leaderboard; adds the correlation with it before and after."
        ),
    ] = None,
    queries: QueriesOption = "common",
    as_csv: Annotated[bool, Option("--csv", help="Print the changed labels as CSV.")] = False,
    policy: PolicyOptions,
) -> Output:
    """Compare labels and systems before and after a change.

    The scoring-settings options describe the state before. --to and the --to- options describe the
    state after.
    """
    # The default version of a state is that of the policy.
    versions = [policy.bank_version if version is None else version for version in (before, after)]
    old = replace(policy, bank_version=versions[0])
    others = only_given(
        grader=to_grader,
        min_rating=to_min_rating,
        label=to_label,
        weighted=to_weighted,
        overrides=to_overrides,
    )
    new = replace(old, **({"bank_version": versions[1]} | others))
    check_rules(
        (
            (before is None) != (after is None),
            InputError(
                "option-missing",
                "--from and --to go together.",
                "Use both, or another --to- option instead.",
            ),
        ),
        (
            before is None and not others,
            InputError(
                "same-states",
                "The two states are the same.",
                "Use --from and --to, or a --to- option.",
            ),
        ),
    )
    compared = review.state_changes(project, old, new, measure, against, queries)
    if as_csv:
        return Output().text(review.flips_csv(project, compared))
    to_grade = _to_grade(project, compared, measure)
    output = Output(_as_dict(compared, to_grade))
    if compared.flips:
        output.table(
            ("query", "passage", "before", "after", "cause"),
            [
                (f.query_id, f.passage_id, f.before, f.after, ", ".join((*f.causes, *f.questions)))
                for f in compared.flips
            ],
        )
    waiting = "" if to_grade is None else f" Ungraded pairs: {to_grade:,}."
    output.note(f"Changed labels: {len(compared.flips):,}.{waiting}", compared.no_board).table(
        ("run", "score before", "score after", "rank before", "rank after"),
        [
            (s.run, s.score_before, s.score_after, s.rank_before, s.rank_after)
            for s in compared.systems
        ],
    )
    if compared.shift is not None:
        if compared.shift.before is not None and compared.shift.after is not None:
            output.note(
                f"Spearman with {against}: {compared.shift.before:z.4f} before,"
                f" {compared.shift.after:z.4f} after."
            )
        output.note(f"{compared.shift.says} {compared.shift.queries.description}")
    return output


def _to_grade(project: Project, compared: review.StateChanges, measure: str) -> int | None:
    """Return the number of ungraded pairs that the later bank needs; None if more than the bank
    differs.
    """
    if compared.differing != ("bank version",) or compared.board_before is None:
        return None
    edits = review.version_edits(
        project, compared.before.bank_version or 0, compared.after.bank_version or 0
    )
    return review.changes(project, measure, compared.before, edits).to_grade


def _as_dict(compared: review.StateChanges, to_grade: int | None) -> dict[str, Any]:
    shift = (
        None
        if compared.shift is None
        else asdict(compared.shift) | {"queries": compared.shift.queries.as_dict()}
    )
    return {
        "before": compared.before.as_dict(),
        "after": compared.after.as_dict(),
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
            for flip in compared.flips
        ],
        "systems": [asdict(system) for system in compared.systems],
        "shift": shift,
        "to_grade": to_grade,
    }
