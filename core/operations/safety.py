"""Commands that keep a project safe: check its integrity, make and restore backups."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

from ..errors import ProjectError
from ..exchange import CHECKS, check as look_at_everything
from ..store import (
    Backup,
    Project,
    Schedule,
    backup as make_backup,
    backups as list_backups,
    restore as put_back,
    set_aside,
    set_schedule,
)
from ..text import how_many
from .registry import Argument, Author, Opening, Option, Output, TextOutput, at_most_one, operation


@operation("check", act="read the bank", reads=True)
def check(
    project: Project,
) -> Output:
    """Check a project's integrity: file, keys, values, hashes, revisions, publications. Nothing is changed.

    The exit code is 1 if there are problems. Each is shown with its table, count, first example and fix.
    """
    found = look_at_everything(project)
    wrong = [one for findings in found.values() for one in findings]
    records = [
        {"name": one.name, "says": one.says, "findings": [vars(each) for each in found[one.name]]} for one in CHECKS
    ]
    output = Output({"sound": not wrong, "checks": records}).table(
        ("check", "result", "rule"),
        [
            (one.name, how_many(len(found[one.name]), "problems") if found[one.name] else "ok", one.says)
            for one in CHECKS
        ],
    )
    output.note(*(f"{each.check}: {each}" for each in wrong))
    failure = ProjectError(
        "check-failed",
        f"{how_many(len(wrong), 'problems')} found in {project.path.name}",
        "Apply the fix shown with each problem.",
    )
    return output.failing(failure if wrong else None)


@operation("backup", act="take everything out", reads=lambda given: given["every"] is None)
@at_most_one(listing="--list", keep="--keep")
@at_most_one(listing="--list", every="--every")
@at_most_one(every="--every", output="-o")
def backup(
    opening: Opening,
    *,
    output: Annotated[
        Path | None,
        Option(
            "-o",
            "--output",
            help="New file, or a folder. Default: the folder backups next to the project.",
            file="write",
            metavar="FILE.duckdb|FOLDER",
        ),
    ] = None,
    keep: Annotated[
        int | None,
        Option(help="Keep the N newest backups in the folder and delete older backups.", least=1, metavar="N"),
    ] = None,
    every: Annotated[
        int | None,
        Option(help="Schedule backups every HOURS while the app runs; 0 turns them off.", least=0, metavar="HOURS"),
    ] = None,
    listing: Annotated[bool, Option("--list", help="List existing backups and make none.")] = False,
    author: Author,
) -> Output | str:
    """Back up a project to a new file.

    The copy is read completely before it gets its name. Existing files are never overwritten.
    With --every, backups are only scheduled and none is made now.
    """
    if listing:
        path = opening.path
        # This opens no project, so it needs no server.
        found = [*list_backups(path, output), *set_aside(path)]
        return Output({"backups": [_told(one) for one in found]}).table(
            ("made at", "MB", "reason", "file"),
            [(f"{one.made_at:%Y-%m-%d %H:%M:%S}", round(one.size / 1e6, 1), one.why, str(one.path)) for one in found],
        )
    with opening() as project:
        if every is not None:
            wanted = Schedule(every) if keep is None else Schedule(every, keep)
            set_schedule(project, wanted, author)
            if not wanted.hours:
                return "Scheduled backups are off."
            return f"A backup is made every {wanted.hours} h while the app runs. Backups kept: {wanted.keep}."
        made = make_backup(project, output, keep)
    restoring = f"exam restore {shlex.quote(str(made.path))} --project {shlex.quote(str(opening.file))}"
    return Output(_told(made)).line(str(made.path)).note(f"To restore it: {restoring}")


def _told(made: Backup) -> dict[str, object]:
    return {"path": str(made.path), "made_at": made.made_at, "bytes": made.size, "why": made.why}


@operation("restore", act="bring back", at_shell=True)
def restore(
    opening: Opening,
    *,
    backup_path: Annotated[Path, Argument(file="read", metavar="BACKUP")],
    author: Author,
) -> TextOutput:
    """Restore a project from BACKUP. The current file is kept next to it, with the date in its name."""
    done = put_back(backup_path, opening.path, author)
    output = TextOutput().note(f"Restored {done.path} from {backup_path.name}.")
    if done.kept is not None:
        output.note(f"The previous file is {done.kept.name}, in the same folder. Delete it when you no longer need it.")
    return output
