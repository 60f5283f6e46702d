"""Commands that keep a project safe: look whether it is sound, make backups, put one back."""

from __future__ import annotations

import shlex
from pathlib import Path

import click

from core.cli.guests import File
from core.cli.options import (
    Whole,
    author_option,
    counted,
    json_option,
    opened,
    print_json,
    print_rows,
    print_table,
    project_option,
    required,
    tell,
)
from core.errors import InputError, ProjectError
from core.exchange import CHECKS
from core.exchange import check as look_at_everything
from core.project import (
    Backup,
    Schedule,
    set_aside,
    set_schedule,
)
from core.project import backup as make_backup
from core.project import backups as list_backups
from core.project import restore as put_back


@click.command()
@project_option
@json_option
def check(project_path: Path | None, as_json: bool) -> None:
    """Look whether a project is sound: its file, keys, values, hashes, revisions, publications. Nothing is changed.

    Exit code 1 where something is wrong, which is said with the table, how often, the first example and what to do.
    """
    with opened(project_path) as project:
        found = look_at_everything(project)
    wrong = [one for findings in found.values() for one in findings]
    if as_json:
        print_json(
            {
                "sound": not wrong,
                "checks": [
                    {"name": one.name, "says": one.says, "findings": [vars(each) for each in found[one.name]]}
                    for one in CHECKS
                ],
            }
        )
    else:
        print_table(
            ("check", "found", "says"),
            [(one.name, f"{len(found[one.name])} wrong" if found[one.name] else "sound", one.says) for one in CHECKS],
        )
        for each in wrong:
            tell(f"{each.check}: {each}")
    if wrong:
        raise ProjectError(
            "check-failed",
            f"{counted(len(wrong), 'thing')} wrong in {project.path.name}",
            "What to do is said with each.",
        )


@click.command()
@project_option
@click.option(
    "-o",
    "--output",
    type=File(written=True, path_type=Path),
    metavar="FILE.duckdb|FOLDER",
    help="A new file, or a folder; the folder backups beside the project where not given.",
)
@click.option("--keep", type=Whole(1), metavar="N", help="Keep the N newest backups of the folder, and delete others.")
@click.option(
    "--every", type=Whole(0), metavar="HOURS", help="Make none now, but so often while the app runs; 0 for never."
)
@click.option("--list", "listing", is_flag=True, help="Make none, but list those that are there.")
@author_option
@json_option
def backup(
    project_path: Path | None,
    output: Path | None,
    keep: int | None,
    every: int | None,
    listing: bool,
    author: str,
    as_json: bool,
) -> None:
    """Make a backup of a project: a copy of one moment, read from end to end before it gets its name.

    It never takes the place of a file that is there.
    """
    if listing and (keep is not None or every is not None):
        raise InputError("options-exclude-each-other", "--list makes no backup.", "Leave --keep and --every out.")
    if every is not None and output is not None:
        raise InputError(
            "options-exclude-each-other", "--every makes backups in the folder beside the project.", "Leave -o out."
        )
    if listing:
        path = required(project_path)
        # Nothing of the project is opened for that, so it needs no server.
        _print_list([*list_backups(path, output), *set_aside(path)], as_json)
        return
    with opened(project_path) as project:
        if every is not None:
            wanted = Schedule(every) if keep is None else Schedule(every, keep)
            set_schedule(project, wanted, author)
            tell(
                f"A backup is made every {wanted.hours} h while the app runs, and {wanted.keep} are kept."
                if wanted.hours
                else "No backups are made by themselves."
            )
            return
        made = make_backup(project, output, keep)
    if as_json:
        print_json(_told(made))
    else:
        click.echo(str(made.path))
        tell(f"To put it back: exam restore {shlex.quote(str(made.path))} --project {shlex.quote(str(project_path))}")


def _told(made: Backup) -> dict[str, object]:
    return {"path": str(made.path), "made_at": made.made_at, "bytes": made.size, "why": made.why}


def _print_list(found: list[Backup], as_json: bool) -> None:
    print_rows(
        as_json,
        {"backups": [_told(one) for one in found]},
        ("made at", "MB", "why", "file"),
        [(f"{one.made_at:%Y-%m-%d %H:%M:%S}", round(one.size / 1e6, 1), one.why, str(one.path)) for one in found],
    )


@click.command()
@click.argument("backup_path", metavar="BACKUP", type=File(path_type=Path))
@project_option
@author_option
def restore(backup_path: Path, project_path: Path | None, author: str) -> None:
    """Put a backup in the place of a project; the file that was there is kept beside it, under a name with the date."""
    done = put_back(backup_path, required(project_path), author)
    tell(f"{done.path} is what {backup_path.name} holds.")
    if done.kept is not None:
        tell(f"What was there before is {done.kept.name}, in the same folder: delete it when you do not need it.")
