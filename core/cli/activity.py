"""Commands that say who did what, and bring back what an act replaced."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

import click

from ..errors import InputError
from ..project import Project, Sought, activity_csv, current_author
from ..project import activity as activity_of
from ..project import bring_back as put_back
from .options import Whole, json_option, opened, project_option
from .printing import Output, at_most_one, on_project, printed


@click.command()
@project_option
@click.option("--who", metavar="NAME", help="Only actions of this person.")
@click.option("--act", help="Only actions of this kind, for example 'save bank' or override.")
@click.option("--since", type=click.DateTime(["%Y-%m-%d"]), metavar="YYYY-MM-DD", help="Only from this day.")
@click.option("--until", type=click.DateTime(["%Y-%m-%d"]), metavar="YYYY-MM-DD", help="Only until this day.")
@click.option(
    "--find", "words", default="", help="Only actions with this text in a name, note, reason, question or query."
)
@click.option("--limit", type=Whole(1), metavar="N", help="Show only the newest N actions.")
@click.option("--csv", "as_csv", is_flag=True, help="Print CSV.")
@json_option
@at_most_one(as_csv="--csv", as_json="--json")
@printed
def activity(
    project_path: Path | None,
    who: str | None,
    act: str | None,
    since: datetime | None,
    until: datetime | None,
    words: str,
    limit: int | None,
    as_csv: bool,
) -> Output:
    """List the actions of all people, newest first."""
    if as_csv and limit:
        raise InputError(
            "options-exclude-each-other",
            "--csv and --limit cannot be combined.",
            "Remove --limit, or select actions with --since.",
        )
    sought = Sought(who, act, since.date() if since else None, until.date() if until else None, words)
    with opened(project_path) as project:
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


@click.command(name="bring-back")
@click.argument("act", type=Whole(1), metavar="NUMBER")
@project_option
@json_option
@on_project
def bring_back(act: int, project: Project) -> Output:
    """Restore the data that an action replaced. NUMBER is its number in exam activity.

    The present data is kept. You can restore it with the number of this new action.
    """
    restored = [one.whole for one in put_back(project, act, current_author())]
    return Output({"act": act, "restored": restored}).note(*(f"Restored {whole}." for whole in restored))
