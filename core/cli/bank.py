"""Commands about the question bank."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import click

from core import bank as banks
from core.cli.options import json_option, opened, print_json, print_table, project_option, tell
from core.errors import InputError
from core.formats.question_bank import read_bank
from core.formats.source import Report, Source
from core.project import current_author


@click.group()
def bank() -> None:
    """List and save the question bank."""


@bank.command(name="list")
@project_option
@click.option("--query", help="Only the questions of this query.")
@click.option("--version", type=int, help="The bank as this version left it.")
@click.option("--versions", is_flag=True, help="List the saved versions instead.")
@json_option
def list_(project_path: Path | None, query: str | None, version: int | None, versions: bool, as_json: bool) -> None:
    """List the questions, or the saved versions."""
    with opened(project_path) as project:
        if versions:
            saved = banks.versions(project)
            if as_json:
                print_json({"versions": [asdict(one) for one in saved]})
            else:
                header = ("version", "questions changed", "saved at", "author", "note")
                lines = [(v.version, v.changed, f"{v.saved_at:%Y-%m-%d %H:%M}", v.author, v.note) for v in saved]
                print_table(header, lines)
            return
        found = banks.questions(project, version, query)
        shown = banks.check_version(project, version)
    if as_json:
        print_json({"version": shown, "questions": [asdict(question) for question in found]})
    else:
        rows = [
            (q.question_id, q.kind, q.weight, "yes" if q.active else "no", q.text or "(text unknown)")
            for q in found
        ]
        print_table(("question", "kind", "weight", "active", "text"), rows)


@bank.command()
@click.argument("file", type=click.Path(path_type=Path))
@project_option
@click.option("--note", required=True, help="What changed and why.")
@json_option
def save(file: Path, project_path: Path | None, note: str, as_json: bool) -> None:
    """Save the questions of FILE as a new bank version; questions it does not name stay as they are."""
    report = Report()
    read = read_bank(Source.of(file), report)
    report.raise_if_refused("Nothing was saved. Mend the lines and save again.")
    if not note.strip():
        raise InputError("The note is empty.", "Say what changed and why.")
    with opened(project_path) as project:
        version = banks.save(project, read.questions, note, current_author())
        newest = banks.latest_version(project)
    if as_json:
        print_json({"version": newest, "saved": version is not None})
    else:
        tell(f"Saved bank version {version}." if version else f"Nothing differs from version {newest}.")
