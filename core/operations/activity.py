"""Commands that list people's actions, and restore the data that an action replaced."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from ..errors import InputError
from ..records import Sought, activity as activity_of, activity_csv, bring_back as put_back
from ..store import Project, current_author
from .describing import Argument, Option
from .opening import Opening
from .output import Output
from .registry import operation


@operation("activity", act="read the bank", reads=True, not_json=("as_csv",))
def activity(
    opening: Opening,
    *,
    who: Annotated[str | None, Option(help="Only actions of this person.", metavar="NAME")] = None,
    act: Annotated[str | None, Option(help="Only actions of this kind, for example 'save bank' or override.")] = None,
    since: Annotated[datetime | None, Option(help="Only from this day.", metavar="YYYY-MM-DD")] = None,
    until: Annotated[datetime | None, Option(help="Only up to and including this day.", metavar="YYYY-MM-DD")] = None,
    words: Annotated[
        str, Option("--find", help="Only actions with this text in a name, note, reason, question or query.")
    ] = "",
    limit: Annotated[int | None, Option(help="Show only the newest N actions.", least=1, metavar="N")] = None,
    as_csv: Annotated[bool, Option("--csv", help="Print CSV.")] = False,
) -> Output:
    """List the actions of all people, newest first."""
    if as_csv and limit:
        raise InputError(
            "options-exclude-each-other",
            "--csv and --limit cannot be combined.",
            "Remove --limit, or select actions with --since.",
        )
    sought = Sought(who, act, since.date() if since else None, until.date() if until else None, words)
    with opening() as project:
        if as_csv:
            return Output().text(activity_csv(project, sought))
        found = activity_of(project, sought, limit or 0)
    return Output(
        {
            "total": found.total,
            "acts": [
                {
                    "number": one.key,
                    "happened_at": one.happened_at.isoformat(timespec="seconds"),
                    "who": one.author,
                    "act": one.act,
                    "what": one.said,
                    "detail": one.detail,
                }
                for one in found.acts
            ],
        }
    ).table(
        ("number", "when", "who", "action"),
        [(one.key, one.happened_at.isoformat(" ", timespec="minutes"), one.author, one.said) for one in found.acts],
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
    restored = [one.whole for one in put_back(project, act, current_author())]
    return Output({"act": act, "restored": restored}).note(*(f"Restored {whole}." for whole in restored))
