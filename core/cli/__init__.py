"""The command line `exam`: the same functions as the screens, from a shell."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Sequence

import click

from core import __version__
from core.cli import (
    activity,
    agreement,
    bank,
    changes,
    disagreements,
    drafts,
    evaluation,
    files,
    generate,
    grade,
    graders,
    meta,
    passages,
    people,
    records,
    responses,
    scores,
    serve,
    significance,
    vectors,
)
from core.errors import LONGEST_MESSAGE, InputError, WorkbenchError
from core.text import one_line


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="exam")
def cli() -> None:
    """Evaluate retrieval and RAG systems with exam questions that people curate."""


for _command in (
    files.init,
    files.demo,
    files.import_,
    files.status,
    bank.bank,
    grade.plan,
    grade.grade,
    generate.generate,
    generate.proposals,
    graders.graders,
    graders.prompts,
    graders.prices,
    vectors.vectors,
    scores.leaderboard,
    scores.correlate,
    responses.responses,
    responses.gold,
    meta.meta,
    significance.significance,
    evaluation.curve,
    evaluation.selection,
    evaluation.unjudged,
    agreement.agreement,
    changes.changes,
    passages.passages,
    people.override,
    people.judge,
    disagreements.disagreements,
    records.pool,
    records.jobs,
    records.failures,
    records.publications,
    activity.activity,
    activity.bring_back,
    files.export,
    serve.serve,
):
    cli.add_command(_command)

for _command in (drafts.list_drafts, drafts.discard, drafts.settle):
    bank.bank.add_command(_command)


def main() -> None:
    """Run a command; exit 0 when done, 1 when the work failed, 2 for wrong use or bad input."""
    if threading.current_thread() is threading.main_thread():
        # Whoever tells a command to end gets it ended as by Ctrl+C: the project is closed.
        signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        _check_arguments(sys.argv[1:])
        cli(standalone_mode=False)
    except click.exceptions.Exit as stop:
        sys.exit(stop.exit_code)
    except click.Abort:
        click.echo("exam: stopped.", err=True)
        sys.exit(1)
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message(), err=True)
        sys.exit(2)
    except click.ClickException as error:
        click.echo(f"exam: {one_line(error.format_message(), LONGEST_MESSAGE)}", err=True)
        sys.exit(2)
    except WorkbenchError as error:
        click.echo(f"exam: {error}", err=True)
        sys.exit(2 if isinstance(error, InputError) else 1)


def _check_arguments(arguments: Sequence[str]) -> None:
    """Refuse what is no text: it could be neither stored nor written out again.

    Raises:
        InputError: an argument is not valid UTF-8.
    """
    for argument in arguments:
        if not argument.isascii() and argument.encode(errors="ignore").decode() != argument:
            raise InputError(f"The argument '{argument}' is not valid UTF-8.", "Write it in UTF-8; rename such a file.")
