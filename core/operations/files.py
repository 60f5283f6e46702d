"""Commands about files of projects: make the demo, import files, check, back up and restore."""

from __future__ import annotations

import shlex
from contextlib import closing
from pathlib import Path
from typing import Annotated

from .. import bank, exchange, formats
from ..choices import BEIR_SPLIT, IMPORT_KINDS, LEADERBOARD_FORMS
from ..errors import FileError, InputError, ProjectError, check_rules
from ..locations import projects_folder
from ..store import (
    Backup,
    Project,
    Schedule,
    back_up_project as make_backup,
    current_author,
    find_backups as list_backups,
    list_earlier_copies,
    restore_backup as restore_file,
    set_backup_schedule,
)
from ..text import how_many
from ..types import MAX_RATING
from .console import print_message, refuse_in_server
from .registry import Argument, Author, Opening, Option, Output, TextOutput, at_most_one, operation


@operation("demo", act="organize", at_shell=True)
def demo(
    opening: Opening,
    *,
    grade: Annotated[
        bool,
        Option(
            "--grade/--no-grade",
            help=(
                "Grade with the embedded default grader, and run the exam with examinees"
                " that need no model."
            ),
        ),
    ] = True,
) -> str | None:
    """Create and grade a demo project. An existing project is not changed.

    The default project is demo.duckdb in the projects folder of the app.
    """
    path = opening.file or projects_folder() / "demo.duckdb"
    if path.exists():
        return f"{path} already exists."
    # Imported here, because only this command needs it and it loads slowly.
    from ..exams import sit_by_rules

    author = current_author()
    exchange.make_demo(
        path,
        author,
        grade,
        print_message,
        lambda project: sit_by_rules(project, author, print_message) if grade else None,
    )
    return None


LARGE_DOWNLOAD = 10**9
"""Data sets with more bytes are downloaded only on request."""

_OF_KINDS = {
    "gold": ("responses",),
    "form": ("leaderboard",),
    "scale": ("labels",),
    "split": ("beir",),
    "all_passages": ("beir", "dataset"),
    "yes": ("dataset",),
}
"""The kinds to which an import option applies, if not to all."""


@operation("import", act="import files")
def import_(
    opening: Opening,
    *,
    kind: Annotated[str, Argument(choices=[*IMPORT_KINDS, "beir", "dataset", "project"])],
    files: Annotated[tuple[Path, ...], Argument(file="read")],
    source: Annotated[
        str | None,
        Option(
            "--source --name",
            help="Name of the judgments, leaderboard, imported grader or examinee"
            " (default: file or folder name, or id of the data set).",
        ),
    ] = None,
    skip_unknown: Annotated[
        bool, Option(help="Skip lines about unknown queries. By default, they stop the import.")
    ] = False,
    form: Annotated[
        str | None,
        Option(
            help="Form of a leaderboard file with scores per query. Default: detected.",
            choices=list(LEADERBOARD_FORMS),
        ),
    ] = None,
    gold: Annotated[
        bool, Option(help="Import the responses as gold passages, one per query.")
    ] = False,
    replace: Annotated[bool, Option(help="Replace existing data of the same names.")] = False,
    scale: Annotated[
        int | None,
        Option(
            help="Highest label of the scale (default: the highest label in the file).",
            least=1,
            most=MAX_RATING,
        ),
    ] = None,
    split: Annotated[
        str | None, Option(help=f"Split of the BEIR folder (default: {BEIR_SPLIT}).")
    ] = None,
    all_passages: Annotated[
        bool,
        Option(help="Import the whole corpus. By default, only passages of runs and judgments."),
    ] = False,
    yes: Annotated[
        bool, Option(help="Download the data set even if it is larger than 1 GB.")
    ] = False,
    preview: Annotated[
        bool, Option(help="Show the effect of the import without changing anything.")
    ] = False,
) -> Output:
    """Import files. If a line is invalid, nothing is imported.

    Existing judgments, runs, leaderboards, responses, gold passages and texts with the same names
    are replaced only with --replace. exam activity restore restores them. Changed components of
    examinees also need --replace; to restore them, import the earlier ones.

    You can name several files of runs or qrels at once. Several files of leaderboards become one
    leaderboard with --source. An exported project becomes a new project.

    beir imports the queries, judgments and passages of a BEIR folder. dataset does the same for an
    id of ir_datasets, such as beir/scifact/test. labels are ratings of whole passages by a model;
    they become grades of the grader --name.
    """
    options = {
        "gold": gold,
        "form": form,
        "scale": scale,
        "split": split,
        "all_passages": all_passages,
        "yes": yes,
    }
    for name, kinds in _OF_KINDS.items():
        if options[name] and kind not in kinds:
            flag = f"--{name.replace('_', '-')}"
            raise InputError(
                "options-exclude-each-other",
                f"{flag} cannot be combined with {kind}.",
                f"Use {flag} with {' or '.join(kinds)}.",
            )
    if kind in ("beir", "dataset"):
        refuse_in_server()
    several = len(files) > 1
    with_options = bool(source or skip_unknown or form or gold or replace or preview)
    check_rules(
        (
            kind == "project" and (several or with_options),
            InputError(
                "options-exclude-each-other",
                "A project is imported alone and without other options.",
                "Name one folder or zip file, and remove the options.",
            ),
        ),
        (
            kind in ("beir", "dataset") and several,
            InputError(
                "several-collections", "Several collections were named.", "Import them one by one."
            ),
        ),
        (
            source is not None and several and kind not in ("lm-eval", "leaderboard"),
            InputError(
                "source-of-several-files",
                "--source names one file, but several were given.",
                "Import them one by one.",
            ),
        ),
    )
    if kind == "project":
        return _import_project(files[0], opening.path)
    data_set = _announce_data_set(files[0].as_posix(), yes) if kind == "dataset" else None
    how = exchange.Options(source, skip_unknown, gold, replace, form, scale)
    author = current_author()
    with opening() as project:
        try:
            if data_set is not None:
                imported = exchange.import_data_set(
                    project, data_set, author, how, all_passages, preview
                )
            elif kind == "beir":
                imported = exchange.import_beir(
                    project, files[0], author, how, split or BEIR_SPLIT, all_passages, preview
                )
            else:
                imported = exchange.import_files(
                    project,
                    kind,
                    [formats.Source.from_path(file) for file in files],
                    author,
                    how,
                    preview,
                )
        except FileError as error:
            return Output().note(*map(str, error.problems[1:20])).failing(error)
    notes = [str(note) for note in imported.notes]
    replaced = [{**vars(record), "what": str(record)} for record in imported.replaced]
    return (
        Output(
            {
                "kind": kind,
                "files": imported.files,
                "counts": imported.counts,
                "notes": notes,
                "replaced": replaced,
            }
        )
        .note(*(f"note: {note}" for note in notes))
        .note(
            *(
                f"{'would replace' if preview else 'replaced'}: {record}"
                for record in imported.replaced
            )
        )
        .line(", ".join(f"{name}: {count:,}" for name, count in imported.counts.items()))
    )


def _announce_data_set(name: str, yes: bool) -> exchange.DataSet:
    """Return a data set, after its size and terms are shown.

    Raises:
        InputError: it is unknown, or it is large and `yes` is not set.
    """
    data_set = exchange.find_data_set(name)
    size = (
        "an unknown number of bytes" if data_set.size is None else f"{data_set.size / 1e6:,.1f} MB"
    )
    print_message(f"Download: {size}. Terms of {data_set.terms}.")
    if not yes and (data_set.size is None or data_set.size > LARGE_DOWNLOAD):
        raise InputError(
            "large-download",
            f"The data set '{name}' needs {size} from the network.",
            "To download it, add --yes.",
        )
    return data_set


def _import_project(folder: Path, path: Path) -> Output:
    with closing(exchange.import_project(folder, path)) as project:
        found = bank.project_counts(project)
    return Output(
        {"kind": "project", "files": [str(folder)], "counts": found, "notes": [], "replaced": []}
    ).note(f"Created {path}.")


@operation("check", act="read the bank", reads=True)
def check(
    project: Project,
) -> Output:
    """Check a project's integrity: file, keys, values, hashes, revisions, publications. Nothing is
    changed.

    The exit code is 1 if there are problems. Each is shown with its table, count, first example and
    fix.
    """
    by_check = exchange.check_project(project)
    wrong = [item for findings in by_check.values() for item in findings]
    records = [
        {
            "name": item.name,
            "says": item.says,
            "findings": [vars(each) for each in by_check[item.name]],
        }
        for item in exchange.CHECKS
    ]
    failure = ProjectError(
        "check-failed",
        f"{how_many(len(wrong), 'problems')} found in {project.path.name}",
        "Apply the fix shown with each problem.",
    )
    return (
        Output({"sound": not wrong, "checks": records})
        .table(
            ("check", "result", "rule"),
            [
                (
                    item.name,
                    how_many(len(by_check[item.name]), "problems") if by_check[item.name] else "ok",
                    item.says,
                )
                for item in exchange.CHECKS
            ],
        )
        .note(*(f"{each.check}: {each}" for each in wrong))
        .failing(failure if wrong else None)
    )


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
            "-o --output",
            help="New file, or a folder. Default: the folder backups next to the project.",
            file="write",
            metavar="FILE.duckdb|FOLDER",
        ),
    ] = None,
    keep: Annotated[
        int | None,
        Option(
            help="Keep the N newest backups in the folder and delete older backups.",
            least=1,
            metavar="N",
        ),
    ] = None,
    every: Annotated[
        int | None,
        Option(
            help="Schedule backups every HOURS while the app runs; 0 turns them off.",
            least=0,
            metavar="HOURS",
        ),
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
        copies = [*list_backups(path, output), *list_earlier_copies(path)]
        return Output({"backups": [_backup_record(copy) for copy in copies]}).table(
            ("made at", "MB", "reason", "file"),
            [
                (
                    f"{copy.made_at:%Y-%m-%d %H:%M:%S}",
                    round(copy.size / 1e6, 1),
                    copy.why,
                    str(copy.path),
                )
                for copy in copies
            ],
        )
    with opening() as project:
        if every is not None:
            schedule = Schedule(every) if keep is None else Schedule(every, keep)
            set_backup_schedule(project, schedule, author)
            if not schedule.hours:
                return "Scheduled backups are off."
            return (
                f"A backup is made every {schedule.hours} h while the app runs. Backups"
                f" kept: {schedule.keep}."
            )
        new_backup = make_backup(project, output, keep)
    restoring = (
        f"exam restore {shlex.quote(str(new_backup.path))}"
        f" --project {shlex.quote(str(opening.file))}"
    )
    return (
        Output(_backup_record(new_backup))
        .line(str(new_backup.path))
        .note(f"To restore it: {restoring}")
    )


def _backup_record(made: Backup) -> dict[str, object]:
    return {"path": str(made.path), "made_at": made.made_at, "bytes": made.size, "why": made.why}


@operation("restore", act="bring back", at_shell=True)
def restore(
    opening: Opening,
    *,
    backup_path: Annotated[Path, Argument(file="read", metavar="BACKUP")],
    author: Author,
) -> TextOutput:
    """Restore a project from BACKUP. The current file is kept next to it, with the date in its
    name.
    """
    restored = restore_file(backup_path, opening.path, author)
    output = TextOutput().note(f"Restored {restored.path} from {backup_path.name}.")
    if restored.kept is not None:
        output.note(
            f"The previous file is {restored.kept.name}, in the same folder. Delete it when you no"
            " longer need it."
        )
    return output
