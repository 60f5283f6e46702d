"""Commands that make a project, bring files in and take files out."""

from __future__ import annotations

import sys
from pathlib import Path

import click
from click.core import ParameterSource

from core.bank import counts
from core.cli.export import EXPORTS, FOLDERS, Asked, export_file, export_folder
from core.cli.guests import File
from core.cli.options import (
    at_a_shell,
    json_option,
    opened,
    print_json,
    project_option,
    required,
    tell,
)
from core.cli.policy import policy_options
from core.errors import FileError, InputError
from core.exchange import IMPORTERS, Options, import_files, import_project, make_demo
from core.formats import Source
from core.labels import Policy
from core.project import create, current_author, projects_folder


@click.command()
@project_option
def init(project_path: Path | None) -> None:
    """Make a new, empty project."""
    create(required(project_path)).close()
    tell(f"Made {project_path}.")


@click.command()
@project_option
@click.option(
    "--grade/--no-grade",
    default=True,
    help="Grade it with the embedded default grader, and let students that need no model sit its exam.",
)
def demo(project_path: Path | None, grade: bool) -> None:
    """Make a project of the demo collection, grade it, and let its exam be sat; one that is there is left alone.

    Without --project it is demo.duckdb among the projects that the app lists.
    """
    at_a_shell()
    path = project_path or projects_folder() / "demo.duckdb"
    if path.exists():
        tell(f"{path} is there already.")
        return
    # Of the commands here only this one needs it, and it takes a tenth of a second to load.
    from core.pipelines import sit_by_rules

    author = current_author()
    make_demo(path, author, grade, tell, lambda project: sit_by_rules(project, author, tell) if grade else None)


@click.command(name="import")
@click.argument("kind", type=click.Choice([*IMPORTERS, "project"]))
@click.argument("files", nargs=-1, required=True, type=File(path_type=Path))
@project_option
@click.option(
    "--source",
    "--name",
    help="Name for judgments, a leaderboard, or the student of lm-eval; otherwise the name of the file or its folder.",
)
@click.option("--skip-unknown", is_flag=True, help="Leave out lines about queries that are not in the project.")
@click.option("--gold", is_flag=True, help="The responses are gold texts, one a query, and no system's.")
@click.option("--replace", is_flag=True, help="Let what the project has of the same names give way, where it differs.")
@click.option("--preview", is_flag=True, help="Say what the import would do and change nothing.")
@json_option
def import_(
    kind: str,
    files: tuple[Path, ...],
    project_path: Path | None,
    source: str | None,
    skip_unknown: bool,
    gold: bool,
    replace: bool,
    preview: bool,
    as_json: bool,
) -> None:
    """Import files; all of it, or, where a line is refused, nothing.

    Judgments of a source, runs, boards, responses, gold texts and the words of queries or passages that the project has
    otherwise give way only with --replace; exam bring-back puts them back.

    Several files of runs or qrels may be named at once. A project that was exported becomes a new one.
    """
    if kind == "project":
        if len(files) > 1 or source or skip_unknown or gold or replace or preview:
            raise InputError(
                "options-exclude-each-other",
                "A project is imported whole, by itself.",
                "Name one folder or zip, and no options.",
            )
        _import_project(files[0], required(project_path), as_json)
        return
    if gold and kind != "responses":
        raise InputError(
            "options-exclude-each-other", f"--gold does not go with {kind}.", "Gold texts are imported as responses."
        )
    if source is not None and len(files) > 1 and kind != "lm-eval":
        raise InputError(
            "source-of-several-files", "--source names one file, but there are several.", "Import them one by one."
        )
    with opened(project_path) as project:
        try:
            done = import_files(
                project,
                kind,
                [Source.of(file) for file in files],
                current_author(),
                Options(source, skip_unknown, gold, replace),
                preview,
            )
        except FileError as error:
            if len(error.problems) > 1 and not as_json:
                for problem in error.problems[1:20]:
                    tell(str(problem))
            raise
    if as_json:
        notes = [str(note) for note in done.notes]
        replaced = [{**vars(one), "what": str(one)} for one in done.replaced]
        print_json({"kind": kind, "files": done.files, "counts": done.counts, "notes": notes, "replaced": replaced})
        return
    for note in done.notes:
        tell(f"note: {note}")
    for one in done.replaced:
        tell(f"{'would replace' if preview else 'replaced'}: {one}")
    click.echo(", ".join(f"{name}: {count:,}" for name, count in done.counts.items()))


def _import_project(folder: Path, path: Path, as_json: bool) -> None:
    project = import_project(folder, path)
    try:
        found = counts(project)
    finally:
        project.close()
    if as_json:
        print_json({"kind": "project", "files": [str(folder)], "counts": found, "notes": [], "replaced": []})
    else:
        tell(f"Made {path}.")


@click.command()
@click.argument("what", type=click.Choice(EXPORTS))
@click.option(
    "-o", "--output", required=True, type=File(written=True), help="File or folder to write; - for standard output."
)
@project_option
@click.option(
    "--source", default="exam", show_default=True, help="exam, the name of judgments, or the query of an exam."
)
@click.option("--binary", is_flag=True, help="Qrels of 0 and 1 at the min rating.")
@click.option("--measure", default="nDCG@10", show_default=True, help="Measure of the leaderboard.")
@click.option(
    "--save-manifest",
    type=File(written=True, path_type=Path),
    metavar="FILE",
    help="Publish the qrels, and write there the manifest that makes them again.",
)
@click.option(
    "--manifest",
    type=File(path_type=Path),
    metavar="FILE",
    help="Make the qrels, or the bundle, of this manifest again, to the byte.",
)
@click.option("--note", default="", help="Why the qrels are published; goes into the manifest.")
@click.option("--require-complete", is_flag=True, help="Fail where pairs are ungraded or failed, or overrides stale.")
@policy_options
def export(
    what: str,
    output: str,
    project_path: Path | None,
    source: str,
    binary: bool,
    measure: str,
    save_manifest: Path | None,
    manifest: Path | None,
    note: str,
    require_complete: bool,
    policy: Policy,
) -> None:
    """Write files out of the project, or all of it.

    qrels: the labels. bank: .jsonl or .csv. graded: a graded file (jsonl.gz). leaderboard: TSV, .json or .tex.
    exam: items as exam.json. responses-matrix: answers of examinees as CSV. --source QUERY picks one of several exams.
    runs: a zip of TREC runs. bundle: a zip of the qrels with their manifest, bank, leaderboards and overrides.
    project: everything, as a folder or .zip of Parquet files for exam import project.
    grades: a folder of Parquet files for exam file-leaderboard.
    """
    if manifest and what not in ("qrels", "bundle"):
        raise InputError(
            "no-manifest-of-kind",
            f"A manifest says nothing of {what}.",
            "Export the qrels or the bundle that it is of.",
        )
    if save_manifest and what != "qrels":
        raise InputError(
            "no-manifest-of-kind", f"No manifest goes with {what}.", "A bundle has its own; else export qrels."
        )
    if manifest is not None:
        _check_alone(manifest)
    asked = Asked(output, source, binary, measure, policy, manifest, save_manifest, note, require_complete)
    with opened(project_path) as project:
        if what in FOLDERS:
            export_folder(project, what, asked)
            content = b""
        else:
            content = export_file(project, what, asked)
    if output == "-":
        sys.stdout.buffer.write(content)
        return
    tell(f"Wrote {output}.")


def _check_alone(manifest: Path) -> None:
    """Refuse options that would seem to change what a manifest has settled."""
    context = click.get_current_context()
    chosen = {name for name in context.params if context.get_parameter_source(name) is ParameterSource.COMMANDLINE} - {
        "what",
        "output",
        "project_path",
        "manifest",
    }
    if chosen:
        names = ", ".join(f"--{name.replace('_', '-')}" for name in sorted(chosen))
        raise InputError(
            "options-exclude-each-other",
            f"{manifest} settles everything: {names} cannot go with it.",
            "Leave them away.",
        )
