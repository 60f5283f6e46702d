"""Commands about people: their overrides and judgments, their roles, tokens for scripts, and their
actions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Annotated

from .. import labels, records
from ..store import ABOUT_ROLES, ROLES, Member, Project, Role, current_author
from ..text import how_many
from .registry import Argument, Author, Option, Output, TextOutput, at_most_one, operation


@operation("overrides set", act="override ratings")
def set_override(
    project: Project,
    *,
    question_id: Annotated[str, Argument(metavar="QUESTION")],
    passage_id: Annotated[str, Argument(metavar="PASSAGE")],
    rating: Annotated[int, Argument()],
    reason: Annotated[str, Option(help="Why the grader's rating is wrong.")],
    author: Author,
) -> Output:
    """Override the grader's rating of how well PASSAGE answers QUESTION, from 0 to 5."""
    key = labels.add_override(project, question_id, passage_id, rating, reason, author)
    return Output({"override": key}).note(
        f"Saved override {key}. To withdraw it: exam overrides withdraw {key}"
    )


@operation("overrides withdraw", act="override ratings")
def withdraw(
    project: Project,
    *,
    keys: Annotated[tuple[int, ...], Argument(metavar="OVERRIDE...")],
    author: Author,
) -> str:
    """Withdraw overrides. The grader's ratings count again, and the history keeps the overrides."""
    labels.withdraw_all(project, keys, author)
    return f"Withdrew {how_many(len(keys), 'overrides')}."


@operation("overrides confirm", act="override ratings")
def confirm(
    project: Project,
    *,
    keys: Annotated[tuple[int, ...], Argument(metavar="OVERRIDE...")],
    author: Author,
) -> str:
    """Confirm overrides for the new wording of a reworded question."""
    for key in keys:
        labels.confirm_override(project, key, author)
    return f"Confirmed {how_many(len(keys), 'overrides')} for the current wording."


@operation("overrides list", act="read the bank", reads=True)
def list_overrides(
    project: Project,
    *,
    query_id: Annotated[str | None, Option("--query", help="Only overrides of this query.")] = None,
    who: Annotated[
        str | None, Option(help="Only overrides by this person.", metavar="NAME")
    ] = None,
    stale: Annotated[
        bool, Option(help="Only overrides whose question was reworded later.")
    ] = False,
) -> Output:
    """List the current overrides, newest first."""
    current = [
        override
        for override in labels.find_overrides(project, query_id)
        if (override.stale or not stale) and (who is None or override.author == who)
    ]
    output = Output({"overrides": [asdict(override) for override in current]}).table(
        ("override", "query", "question", "passage", "rating", "stale", "author", "reason"),
        [
            (
                str(o.key),
                o.query_id,
                o.question_id,
                o.passage_id,
                o.rating,
                "yes" if o.stale else "",
                o.author,
                o.reason,
            )
            for o in current
        ],
    )
    waiting = " ".join(str(override.key) for override in current if override.stale)
    confirming = (
        f"To confirm the stale overrides: exam overrides confirm {waiting}. You can"
        " also withdraw them."
    )
    return output.note(confirming if waiting else None)


@operation("judgments set", act="judge passages")
def set_judgment(
    project: Project,
    *,
    query_id: Annotated[str, Argument(metavar="QUERY")],
    passage_id: Annotated[str, Argument(metavar="PASSAGE")],
    value: Annotated[int, Argument()],
    note: Annotated[str, Option(help="Reason for the judgment, kept in the history.")] = "",
    author: Author,
) -> str:
    """Judge PASSAGE for QUERY, from 0 to 3. This replaces your earlier judgment."""
    records.judging.judge_passage(project, query_id, passage_id, value, author, note)
    return f"Saved judgment {value} under source '{records.source_of(author)}'."


@operation("judgments withdraw", act="judge passages")
def withdraw_judgment(
    project: Project,
    *,
    query_id: Annotated[str, Argument(metavar="QUERY")],
    passage_id: Annotated[str, Argument(metavar="PASSAGE")],
    author: Author,
) -> str:
    """Withdraw your judgment of PASSAGE for QUERY. The history keeps it."""
    records.judging.withdraw_judgment(project, query_id, passage_id, author)
    return "Judgment withdrawn."


@operation("judgments list", act="read the bank", reads=True)
def list_judgments(
    project: Project,
    *,
    query_id: Annotated[str | None, Option("--query", help="Only judgments of this query.")] = None,
    who: Annotated[
        str | None, Option(help="Only judgments by this assessor.", metavar="NAME")
    ] = None,
) -> Output:
    """List the judgments that assessors made in this project, with the first blind one of each
    passage.

    To get imported judgments, use exam export qrels.
    """
    rows = records.assessor_judgments(project, query_id, who)
    blind = {
        name: records.blind_judgments(project, name)
        for name in {judgment.author for judgment in rows}
    }
    first = [
        blind[judgment.author].get((judgment.query_id, judgment.passage_id)) for judgment in rows
    ]
    listed = [
        asdict(judgment) | {"first_blind": value}
        for judgment, value in zip(rows, first, strict=True)
    ]
    return Output({"judgments": listed}).table(
        ("assessor", "query", "passage", "value", "first blind"),
        [
            (judgment.author, judgment.query_id, judgment.passage_id, judgment.value, value)
            for judgment, value in zip(rows, first, strict=True)
        ],
    )


@operation("judgments hold-out", act="organize", reads=lambda given: given["share"] is None)
def hold_out_judgments(
    project: Project,
    *,
    share: Annotated[
        float | None,
        Option(
            help="Hold out this share of the judgments of each query; 0 for none.", metavar="SHARE"
        ),
    ] = None,
    seed: Annotated[
        int | None, Option(help="Seed of the random choice (default: a random seed).")
    ] = None,
    author: Author,
) -> Output:
    """Show which judgments are held out from the impact of edits, or hold out a random share.

    exam agreement --held-out reports the agreement on them.
    """
    setting = (
        records.hold_out(project)
        if share is None
        else records.set_hold_out(project, share, author, seed)
    )
    if setting is None:
        return Output({"hold_out": None}).line("No judgments are held out.")
    confirming = records.for_confirming(project)
    counts = (
        {}
        if confirming is None
        else {
            name: sum(map(len, records.source_judgments(confirming, name).values()))
            for name in records.judgment_sources(confirming)
        }
    )
    return (
        Output({"hold_out": asdict(setting), "held_out": counts})
        .line(
            f"Share: {setting.share:g}. Seed: {setting.seed}. Set at bank version"
            f" {setting.version}."
        )
        .table(("source", "held out"), list(counts.items()))
    )


ROLE_HELP = "; ".join(f"{role}: {about}" for role, about in ABOUT_ROLES.items()) + "."


@operation("people add", act="manage people")
def add_person(
    project: Project,
    *,
    identity: Annotated[str, Argument()],
    role: Annotated[Role, Option(help=ROLE_HELP, choices=ROLES)],
    name: Annotated[
        str | None, Option(help="Name for recorded actions. Default: IDENTITY up to the @.")
    ] = None,
    queries: Annotated[
        Sequence[str], Option("--query", help="Limit an assessor to this query; may be repeated.")
    ] = (),
    author: Author,
) -> str:
    """Add a person with a role.

    IDENTITY is the e-mail address of the login, or the subject from the login provider.
    """
    return _describe_member(
        records.set_member(project, identity, role, author, name, queries or None)
    )


@operation("people set", act="manage people")
def change_person(
    project: Project,
    *,
    identity: Annotated[str, Argument()],
    role: Annotated[
        Role | None, Option(help="New role. Default: unchanged.", choices=ROLES)
    ] = None,
    name: Annotated[str | None, Option(help="New name. Default: unchanged.")] = None,
    queries: Annotated[
        Sequence[str], Option("--query", help="Limit an assessor to this query; may be repeated.")
    ] = (),
    all_queries: Annotated[bool, Option(help="Remove the limit to queries.")] = False,
    author: Author,
) -> str:
    """Change the role, name or queries of IDENTITY."""
    return _describe_member(
        records.change_member(project, identity, author, role, name, queries or None, all_queries)
    )


@operation("people remove", act="manage people")
def remove_person(
    project: Project,
    *,
    identity: Annotated[str, Argument()],
    author: Author,
) -> str:
    """Remove the role of IDENTITY. Recorded actions stay."""
    records.remove_member(project, identity, author)
    return f"Removed the role of {identity}. To undo: exam people undo {identity}"


@operation("people undo", act="manage people")
def undo_person(
    project: Project,
    *,
    identity: Annotated[str, Argument()],
    author: Author,
) -> str:
    """Undo the last change to the role of IDENTITY."""
    now = records.undo_member(project, identity, author)
    return _describe_member(now) if now else f"{identity} has no role."


@operation("people list", act="manage people", reads=True)
def list_people(
    project: Project,
) -> Output:
    """List people, their roles and the queries of assessors."""
    members = project.members().values()
    return Output({"people": [vars(member) for member in members]}).table(
        ("identity", "name", "role", "queries"),
        [
            (
                member.identity,
                member.name,
                member.role,
                " ".join(member.queries) if member.queries is not None else "all",
            )
            for member in members
        ],
    )


def _describe_member(member: Member) -> str:
    limit = "" if member.queries is None else f" for {how_many(len(member.queries), 'queries')}"
    return (
        f"Role of {member.identity}: {member.role}{limit}. Name for recorded"
        f" actions: {member.name}."
    )


@operation("tokens add", act="manage people")
def make(
    project: Project,
    *,
    name: Annotated[str, Argument()],
    role: Annotated[Role, Option(help=ROLE_HELP, choices=ROLES)],
    author: Author,
) -> TextOutput:
    """Create token NAME and print it. Actions with this token are recorded under `token NAME`."""
    return (
        TextOutput()
        .line(records.make_token(project, name, role, author))
        .note(f"Token '{name}' ({role}) is shown only now. Store it like a password.")
    )


@operation("tokens list", act="manage people", reads=True)
def list_tokens(
    project: Project,
) -> Output:
    """List the names, roles and use of tokens. The tokens themselves are not stored."""
    with project.permit("manage people"):
        listed = records.find_tokens(project)
    return Output({"tokens": [asdict(token) for token in listed]}).table(
        ("name", "role", "created", "by", "last used", "revoked"),
        [
            (
                token.name,
                token.role,
                _day_text(token.made_at),
                token.author,
                _day_text(token.used_at),
                _day_text(token.withdrawn_at),
            )
            for token in listed
        ],
    )


@operation("tokens revoke", act="manage people")
def revoke_token(
    project: Project,
    *,
    name: Annotated[str, Argument()],
    author: Author,
) -> str:
    """Revoke token NAME."""
    records.withdraw_token(project, name, author)
    return f"Token '{name}' is revoked."


def _day_text(at: object) -> str | None:
    return None if at is None else f"{at:%Y-%m-%d %H:%M}"


@operation("activity", act="read the bank", reads=True, not_json=("as_csv",))
@at_most_one(as_csv="--csv", limit="--limit")
def activity(
    project: Project,
    *,
    who: Annotated[str | None, Option(help="Only actions of this person.", metavar="NAME")] = None,
    act: Annotated[
        str | None, Option(help="Only actions of this kind, for example 'save bank' or override.")
    ] = None,
    since: Annotated[
        datetime | None, Option(help="Only from this day.", metavar="YYYY-MM-DD")
    ] = None,
    until: Annotated[
        datetime | None, Option(help="Only up to and including this day.", metavar="YYYY-MM-DD")
    ] = None,
    words: Annotated[
        str,
        Option(
            "--find", help="Only actions with this text in a name, note, reason, question or query."
        ),
    ] = "",
    limit: Annotated[
        int | None, Option(help="Show only the newest N actions.", least=1, metavar="N")
    ] = None,
    as_csv: Annotated[bool, Option("--csv", help="Print CSV.")] = False,
) -> Output:
    """List the actions of all people, newest first."""
    sought = records.ActivityFilter(
        who, act, since.date() if since else None, until.date() if until else None, words
    )
    if as_csv:
        return Output().text(records.activity_csv(project, sought))
    result = records.list_actions(project, sought, limit or 0)
    return Output(
        {
            "total": result.total,
            "acts": [
                {
                    "number": entry.key,
                    "happened_at": entry.happened_at.isoformat(timespec="seconds"),
                    "who": entry.author,
                    "act": entry.act,
                    "what": entry.said,
                    "detail": entry.detail,
                }
                for entry in result.acts
            ],
        }
    ).table(
        ("number", "when", "who", "action"),
        [
            (
                entry.key,
                entry.happened_at.isoformat(" ", timespec="minutes"),
                entry.author,
                entry.said,
            )
            for entry in result.acts
        ],
    )


@operation("activity restore", act="bring back")
def bring_back(
    project: Project,
    *,
    act: Annotated[int, Argument(least=1, metavar="NUMBER")],
) -> Output:
    """Restore the data that an action replaced. NUMBER is its number in exam activity.

    The present data is kept. You can restore it with the number of this new action.
    """
    restored = [one.whole for one in records.bring_back(project, act, current_author())]
    return Output({"act": act, "restored": restored}).note(
        *(f"Restored {whole}." for whole in restored)
    )
