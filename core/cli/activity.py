"""Commands that say who did what, and bring back what an act replaced."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

import click

from ..errors import InputError
from ..project import Sought, activity_csv, current_author
from ..project import activity as activity_of
from ..project import bring_back as put_back
from .options import Whole, json_option, opened, print_json, print_rows, project_option, tell


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
def activity(
    project_path: Path | None,
    who: str | None,
    act: str | None,
    since: datetime | None,
    until: datetime | None,
    words: str,
    limit: int | None,
    as_csv: bool,
    as_json: bool,
) -> None:
    """List the actions of all people, newest first."""
    if as_csv and as_json:
        raise InputError("options-exclude-each-other", "--csv and --json cannot be combined.", "Use one of them.")
    if as_csv and limit:
        raise InputError(
            "options-exclude-each-other",
            "--csv and --limit cannot be combined.",
            "Remove --limit, or select actions with --since.",
        )
    sought = Sought(who, act, since.date() if since else None, until.date() if until else None, words)
    with opened(project_path) as project:
        if as_csv:
            click.echo(activity_csv(project, sought), nl=False)
            return
        found = activity_of(project, sought, limit or 0)
    print_rows(
        as_json,
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
        },
        ("number", "when", "who", "action"),
        [(one.key, one.happened_at.isoformat(" ", timespec="minutes"), one.author, one.said) for one in found.acts],
    )


@click.command(name="bring-back")
@click.argument("act", type=Whole(1), metavar="NUMBER")
@project_option
@json_option
def bring_back(act: int, project_path: Path | None, as_json: bool) -> None:
    """Restore the data that an action replaced. NUMBER is its number in exam activity.

    The present data is kept. You can restore it with the number of this new action.
    """
    with opened(project_path) as project:
        restored = put_back(project, act, current_author())
    if as_json:
        print_json({"act": act, "restored": [one.whole for one in restored]})
        return
    for one in restored:
        tell(f"Restored {one.whole}.")
