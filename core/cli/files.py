"""Commands that make a project, bring files in, take files out and say what is there."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import click

from core import exporting
from core.cli.options import (
    json_option,
    opened,
    policy_options,
    print_json,
    print_table,
    project_option,
    required,
    tell,
)
from core.demo import make_demo
from core.errors import FileError, InputError
from core.formats.source import Source
from core.importing import IMPORTERS, Options, import_files
from core.policy import Policy
from core.project import Project, create, current_author, projects_folder
from core.status import counts


@click.command()
@project_option
def init(project_path: Path | None) -> None:
    """Make a new, empty project."""
    create(required(project_path)).close()
    tell(f"Made {project_path}.")


@click.command()
@project_option
@click.option("--grade/--no-grade", default=True, help="Grade it with the embedded default grader.")
def demo(project_path: Path | None, grade: bool) -> None:
    """Make a project of the demo collection and grade it; a project that is there is left alone.

    Without --project it is demo.duckdb among the projects that the app lists.
    """
    path = project_path or projects_folder() / "demo.duckdb"
    if path.exists():
        tell(f"{path} is there already.")
        return
    make_demo(path, current_author(), grade, tell)


@click.command(name="import")
@click.argument("kind", type=click.Choice(list(IMPORTERS)))
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path))
@project_option
@click.option("--source", help="Name for judgments or a leaderboard; the file's name where not given.")
@click.option("--skip-unknown", is_flag=True, help="Leave out lines about queries that are not in the project.")
@click.option("--preview", is_flag=True, help="Say what the import would do and change nothing.")
@json_option
def import_(
    kind: str,
    files: tuple[Path, ...],
    project_path: Path | None,
    source: str | None,
    skip_unknown: bool,
    preview: bool,
    as_json: bool,
) -> None:
    """Import files; all of it, or, where a line is refused, nothing.

    Several files of runs or qrels may be named at once.
    """
    if source is not None and len(files) > 1:
        raise InputError("--source names one file, but there are several.", "Import them one by one.")
    with opened(project_path) as project:
        try:
            done = import_files(
                project,
                kind,
                [Source.of(file) for file in files],
                current_author(),
                Options(source, skip_unknown),
                preview,
            )
        except FileError as error:
            if len(error.problems) > 1 and not as_json:
                for problem in error.problems[1:20]:
                    tell(str(problem))
            raise
    if as_json:
        notes = [str(note) for note in done.notes]
        print_json({"kind": kind, "files": done.files, "counts": done.counts, "notes": notes})
        return
    for note in done.notes:
        tell(f"note: {note}")
    click.echo(", ".join(f"{name}: {count:,}" for name, count in done.counts.items()))


@click.command()
@project_option
@json_option
def status(project_path: Path | None, as_json: bool) -> None:
    """Say what the project holds."""
    with opened(project_path) as project:
        found = counts(project)
    if as_json:
        print_json(found)
    else:
        print_table(("what", "count"), list(found.items()))


@click.command()
@click.argument("what", type=click.Choice(["qrels", "bank", "graded", "leaderboard"]))
@click.option("-o", "--output", required=True, help="File to write; - for standard output.")
@project_option
@click.option("--source", default="exam", show_default=True, help="exam, or the name of judgments.")
@click.option("--binary", is_flag=True, help="Qrels of 0 and 1 at the min rating.")
@click.option("--measure", default="nDCG@10", show_default=True, help="Measure of the leaderboard.")
@policy_options
def export(
    what: str,
    output: str,
    project_path: Path | None,
    source: str,
    binary: bool,
    measure: str,
    policy: Policy,
) -> None:
    """Write qrels, the bank (.jsonl or .csv), a graded file (jsonl.gz) or a leaderboard (TSV or .tex)."""
    with opened(project_path) as project:
        content = _EXPORTS[what](project, output, source, binary, measure, policy)
    if output == "-":
        sys.stdout.buffer.write(content)
    else:
        try:
            Path(output).write_bytes(content)
        except OSError as error:
            raise InputError(f"{output}: cannot be written ({error.strerror}).") from error
        tell(f"Wrote {output}.")


def _bank(project: Project, output: str, source: str, binary: bool, measure: str, policy: Policy) -> bytes:
    write = exporting.bank_csv if output.endswith(".csv") else exporting.bank_jsonl
    return write(project, policy.bank_version).encode()


def _leaderboard(project: Project, output: str, source: str, binary: bool, measure: str, policy: Policy) -> bytes:
    write = exporting.board_latex if output.endswith(".tex") else exporting.board_tsv
    return write(project, measure, source, policy).encode()


_EXPORTS: dict[str, Callable[[Project, str, str, bool, str, Policy], bytes]] = {
    "qrels": lambda project, output, source, binary, measure, policy: exporting.qrels(
        project, policy, source, binary
    ).encode(),
    "bank": _bank,
    "graded": lambda project, output, source, binary, measure, policy: exporting.graded_file(
        project, None if source == "exam" else source
    ),
    "leaderboard": _leaderboard,
}
