"""The command line `exam`: the same operations as the screens and the API, from a shell."""

from __future__ import annotations

import glob
import io
import os
import signal
import sys
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TextIO

import click

from .. import __version__
from ..atomic_files import keep_private
from ..errors import LONGEST_MESSAGE, InputError
from ..operations.console import print_failure
from ..text import one_line, with_escapes
from .shell import Commands


@click.group(
    cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100}
)
@click.version_option(__version__, prog_name="exam")
def cli() -> None:
    """Evaluate retrieval and RAG systems with exam questions that people curate."""


@dataclass(eq=False)
class _Terminal:
    """A terminal stream that escapes characters which reverse the direction of writing."""

    _stream: TextIO

    def write(self, text: str) -> int:
        return self._stream.write(with_escapes(text))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def main() -> None:
    """Run a command; exit 0 on success, 1 if the work failed, 2 for wrong usage or bad input."""
    keep_private()
    if threading.current_thread() is threading.main_thread():
        # SIGTERM ends a command like Ctrl+C: the project is closed.
        signal.signal(signal.SIGTERM, signal.default_int_handler)
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is not None and stream.isatty():
            setattr(sys, name, _Terminal(stream))
        elif isinstance(stream, io.TextIOWrapper):
            # Files and pipes get UTF-8, as exports do; Windows would use its old code page.
            stream.reconfigure(encoding="utf-8")
    words = sys.argv[1:]
    if os.name == "nt":
        words = expand_patterns(words)
    if code := run_command(words):
        sys.exit(code)


def expand_patterns(words: Sequence[str]) -> list[str]:
    """Replace patterns such as runs/*.run by the names of files, as shells of other systems do."""
    return [name for word in words for name in sorted(glob.glob(word)) or [word]]


def run_command(words: Sequence[str]) -> int:
    """Run a command and print its output.

    Args:
        words: the words of the command, after `exam`.

    Returns:
        Its exit code; see `main`.
    """
    try:
        _check_arguments(words)
        # The exit code of a command that a server ran, else None.
        return cli(args=list(words), prog_name="exam", standalone_mode=False) or 0
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
    except Exception as error:
        return print_failure(error)
    except SystemExit as stop:
        return stop.code if isinstance(stop.code, int) else int(stop.code is not None)


def _check_arguments(arguments: Sequence[str]) -> None:
    """Refuse an invalid text: it could be neither stored nor written.

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
