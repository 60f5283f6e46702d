"""The command line `exam`: the same functions as the screens, from a shell."""

from __future__ import annotations

import errno
import glob
import io
import os
import signal
import sys
import threading
from collections.abc import Sequence
from importlib import import_module
from typing import Any, TextIO

import click
import duckdb

from .. import __version__
from ..atomic_files import keep_private
from ..errors import LONGEST_MESSAGE, InputError, WorkbenchError
from ..project import no_room
from ..text import one_line, with_escapes
from .guests import guest
from .through import Elsewhere, go_through

COMMANDS = {
    "new_project": ("init",),
    "files": ("demo", "import", "export"),
    "status": ("status",),
    "bank": ("bank",),
    "grade": ("plan", "grade", "grade-plan", "ingest"),
    "batch": ("batch",),
    "generate": ("generate", "proposals"),
    "items": ("items",),
    "graders": ("graders", "prompts", "prices"),
    "vectors": ("vectors",),
    "leaderboard": ("leaderboard", "correlate", "file-leaderboard"),
    "responses": ("responses", "gold"),
    "meta": ("meta",),
    "significance": ("significance",),
    "students": ("students", "sit"),
    "exam_board": ("exam-board",),
    "irt": ("irt",),
    "audit": ("audit",),
    "runs": ("runs",),
    "study": ("curve", "selection", "unjudged"),
    "agreement": ("agreement",),
    "changes": ("changes",),
    "passages": ("passages",),
    "people": ("override", "judge"),
    "members": ("people",),
    "tokens": ("token",),
    "teamwork": ("work", "guidelines"),
    "doubles": ("double", "adjudicate"),
    "disagreements": ("disagreements",),
    "answers": ("answers",),
    "reteval": ("reteval",),
    "target": ("target",),
    "records": ("pool", "jobs", "failures", "publications"),
    "activity": ("activity", "bring-back"),
    "safety": ("check", "backup", "restore"),
    "serve": ("serve",),
}
"""The commands of each module, which is loaded when one of them is asked for: most load what others need not."""

SECTIONS: dict[str, dict[str, str]] = {
    "Main commands": {
        "init": "Create a new, empty project.",
        "demo": "Create and grade a demo project.",
        "import": "Import files.",
        "generate": "Draft questions with a model.",
        "bank": "List, edit, save, compare and restore versions of the question bank.",
        "grade": "Grade the ungraded pairs.",
        "status": (
            "Show the contents of the project, and the billed and estimated cost of jobs that called an endpoint."
        ),
        "leaderboard": "Show the leaderboard: systems ordered by a measure, with standard errors.",
        "correlate": "Correlate a leaderboard with the official leaderboard.",
        "export": "Export qrels, leaderboards, other files or the whole project.",
        "check": "Check a project's integrity: file, keys, values, hashes, revisions, publications.",
        "serve": "Start the app in the browser.",
    },
    "Collection": {
        "runs": "List runs, and set the model families that they use.",
        "responses": "List the systems with imported responses, and the length and citations of the responses.",
        "gold": "Show the gold passages, or use those of RUN.",
        "passages": "List pooled passages with WORDS in their text or id.",
        "pool": "Show the pool depth and the number of pooled passages, or set the depth.",
        "vectors": "Count the cached vectors of the embedding grader, or delete them.",
    },
    "Questions and graders": {
        "proposals": "List, edit, accept and reject questions and answer keys that models drafted.",
        "graders": "List, save, test and remove graders.",
        "prompts": "List, show and save prompts.",
        "prices": "List or set the prices of models per million tokens.",
    },
    "Grading jobs": {
        "plan": "Plan a grading job: count the pairs already graded, failed and to grade.",
        "batch": "List, fetch and cancel the batches of calls that exam grade --batch sent.",
        "jobs": "List grading jobs with their progress and result, newest first.",
        "failures": "List the pairs that a grader failed to grade, with the reason and the model's answer.",
        "grade-plan": "Grade a plan on a Ray cluster, without a project.",
        "ingest": "Import answers or grades for a file of exam plan -o.",
    },
    "Judgments and review": {
        "work": "List the queries of an assessor, and set due dates and progress.",
        "guidelines": "Show and set the guidelines for assessors, for the project or one query.",
        "judge": "Set, withdraw and list assessors' judgments of how relevant a passage is to a query.",
        "override": "Set, confirm, withdraw and list overrides.",
        "double": "Assign queries to several assessors who judge them blindly.",
        "adjudicate": "Adjudicate passages and questions with judgments of several assessors.",
        "agreement": "Compare labels with judgments: cross table and agreement coefficients.",
        "disagreements": "List, resolve and reopen disagreements, and show their history.",
        "changes": "Compare labels and systems before and after a change.",
    },
    "Evaluation studies": {
        "audit": "Correct the grader's leaderboard with judgments of a random sample.",
        "meta": "Correlate graders and other sources with the official leaderboard.",
        "significance": "Show which systems differ significantly from the best system or from a baseline.",
        "curve": "Show coverage by the number of passages read: EXAM-Cover@k for every k.",
        "selection": "Compare a grader with judgments: relevant passages, and the best system by each measure.",
        "unjudged": "Show how much of each run has a label or a judgment.",
        "file-leaderboard": "Show a leaderboard from grades in Parquet files, without a project.",
        "publications": "List the publications, newest first.",
    },
    "Generated answers": {
        "answers": "Generate, import, list and grade answers from retrieved or gold passages.",
        "reteval": "Compare retrievers by LLM-retEval, Recall, Precision and F1.",
        "target": "Query live targets: search and RAG endpoints.",
    },
    "Multiple-choice exams": {
        "items": "Generate, check, accept, retire, import and count exam items.",
        "students": "Add and list examinees: models with a mode of context, and rules without a model.",
        "sit": "Run the exam: examinees answer their unanswered items.",
        "exam-board": "Show the exam leaderboard: accuracy of each examinee, with intervals.",
        "irt": "Fit item response models: abilities of examinees, information of items.",
    },
    "People and history": {
        "people": "Manage the roles of people on a shared server: viewer, assessor, organizer.",
        "token": "Create, list and revoke tokens for the API of the server.",
        "activity": "List the actions of all people, newest first.",
        "bring-back": "Restore the data that an action replaced.",
        "backup": "Back up a project to a new file.",
        "restore": "Restore a project from BACKUP.",
    },
}
"""The sections of the help, the main job first, in the order of work. Each summary is that of the command itself, kept
here so that the help loads no command."""


_UNUSABLE = (errno.ENAMETOOLONG, errno.EACCES, errno.ELOOP)
"""What the system says where somebody only asks whether there is a file of a name."""


class _OnDemand(click.Group):
    """A group whose commands are loaded one by one."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted({*super().list_commands(ctx), *(name for names in COMMANDS.values() for name in names)})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        module = next((module for module, names in COMMANDS.items() if cmd_name in names), None)
        if module is None:
            return super().get_command(ctx, cmd_name)
        # `import` is no name in Python.
        name = "import_" if cmd_name == "import" else cmd_name.replace("-", "_")
        found: click.Command = getattr(import_module(f"{__name__}.{module}"), name)
        return found

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        width = max(map(len, self.list_commands(ctx)))
        for section, summaries in SECTIONS.items():
            with formatter.section(section):
                formatter.write_dl([(name.ljust(width), summary) for name, summary in summaries.items()])


@click.group(cls=_OnDemand, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="exam")
def cli() -> None:
    """Evaluate retrieval and RAG systems with exam questions that people curate."""


class _Terminal:
    """A stream to a terminal on which every text is shown in its order; it does all else that the stream does."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        return self._stream.write(with_escapes(text))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def main() -> None:
    """Run a command; exit 0 when done, 1 when the work failed, 2 for wrong use or bad input."""
    keep_private()
    if threading.current_thread() is threading.main_thread():
        # Whoever tells a command to end gets it ended as by Ctrl+C: the project is closed.
        signal.signal(signal.SIGTERM, signal.default_int_handler)
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is not None and stream.isatty():
            setattr(sys, name, _Terminal(stream))
        elif isinstance(stream, io.TextIOWrapper):
            # Files and pipes get UTF-8, as exports do; Windows would write them in its old code page.
            stream.reconfigure(encoding="utf-8")
    words = sys.argv[1:]
    if os.name == "nt":
        words = expand_patterns(words)
    if code := run(words):
        sys.exit(code)


def expand_patterns(words: Sequence[str]) -> list[str]:
    """Put the names of files in the place of patterns such as runs/*.run, as shells of other systems do."""
    expanded: list[str] = []
    for word in words:
        expanded += sorted(glob.glob(word)) or [word]
    return expanded


def run(words: Sequence[str]) -> int:
    """Run a command and print what it says.

    Args:
        words: of the command, after `exam`.

    Returns:
        Its exit code, as `main` has it.
    """
    try:
        _check_arguments(words)
        try:
            cli(args=list(words), prog_name="exam", standalone_mode=False)
        except Elsewhere as gone:
            return go_through(gone.door, words, gone.files, gone.project)
    except click.exceptions.Exit as stop:
        return stop.exit_code
    except click.Abort:
        click.echo("exam: stopped.", err=True)
        return 1
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message(), err=True)
        return 2
    except click.ClickException as error:
        click.echo(f"exam: {one_line(error.format_message(), LONGEST_MESSAGE)}", err=True)
        return 2
    except WorkbenchError as error:
        click.echo(f"exam: {error}", err=True)
        if asked := guest():
            asked.failure = error.code
        return 2 if isinstance(error, InputError) else 1
    except (OSError, duckdb.Error) as error:
        if full := no_room("the project", error):
            click.echo(f"exam: {full}", err=True)
            return 1
        if not isinstance(error, OSError) or error.errno not in _UNUSABLE or error.filename is None:
            raise
        click.echo(f"exam: {one_line(f'{error.filename}: {error.strerror}.', LONGEST_MESSAGE)}", err=True)
        return 2
    except SystemExit as stop:
        return stop.code if isinstance(stop.code, int) else int(stop.code is not None)
    return 0


def _check_arguments(arguments: Sequence[str]) -> None:
    """Refuse what is no text: it could be neither stored nor written out again.

    Raises:
        InputError: an argument is not valid UTF-8.
    """
    for argument in arguments:
        if not argument.isascii() and argument.encode(errors="ignore").decode() != argument:
            raise InputError(
                "argument-not-utf8",
                f"The argument '{argument}' is not valid UTF-8.",
                "Use UTF-8, or rename the file.",
            )
