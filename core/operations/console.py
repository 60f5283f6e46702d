"""Results, printing, progress, files and stopping of operations, at a shell and in a server.

At a shell an operation prints to the process and works on its files. In a server each request has a
`ServedRequest`.
"""

from __future__ import annotations

import errno
import gzip
import io
import json
import logging
import re
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self

from ..atomic_files import replace_file
from ..errors import LONGEST_MESSAGE, GradingError, InputError, WorkbenchError
from ..store import hold_value
from ..text import how_many, one_line, with_escapes

if TYPE_CHECKING:
    from ..grading import PriceTag
    from ..jobs import Progress
    from ..store import Project

Stream = Literal["output", "error"]

LONGEST_NAME = 50
"""Characters of a file's name. Each takes at most 4 bytes, and a name at most 255."""


@dataclass
class ServedRequest:
    """A request that a server runs in this thread.

    Args:
        project: the open project, with the rights of the person.
        author: name under which the person's actions are recorded.
        folder: a new folder for the files of the request. No other file is read or written.
        files: files that were sent, by their names in the request.
        background: whether a grading job continues after the operation has ended.
        stopping: set if the operation has to end.
        stopped_by: the cause as a sentence; empty if the person stopped it, for example with
            Ctrl+C.
        say: receives the printed output.
        terminal: whether the person sees it on a terminal.
    """

    project: Project
    author: str
    folder: Path
    files: Mapping[str, Path] = field(default_factory=dict)
    background: bool = False
    stopping: threading.Event = field(default_factory=threading.Event)
    stopped_by: str = ""
    say: Callable[[Stream, bytes], None] = lambda stream, content: None
    terminal: bool = False
    hand_over: Callable[[], None] = lambda: None
    """Waits until the shell has put the written files in their places."""
    outputs: dict[str, Path] = field(default_factory=dict)
    """Files that the operation may write, by their names in the request."""
    absent: dict[str, Path] = field(default_factory=dict)
    """Files that were not sent, by their names in the request. Nothing is at these paths."""

    def check_stopped(self) -> None:
        """End the operation at this point if it has to end.

        Raises:
            KeyboardInterrupt: as Ctrl+C would in a process of its own; it says who stopped the
                command, if that was another person.
        """
        if self.stopping.is_set():
            self.stopping.clear()
            raise KeyboardInterrupt(self.stopped_by)

    def place(self, name: str, written: bool) -> Path:
        """Return the path of a file of the request. The file is missing if it was not sent or is
        not written yet.
        """
        if not written and name in self.files:
            return self.files[name]
        places, kind = (self.outputs, "written") if written else (self.absent, "absent")
        if name not in places:
            folder = self.folder / f"{kind}-{len(places)}"
            folder.mkdir()
            # The ending shows the kind of file. Systems limit the length of names, and the engine
            # limits characters.
            plain = re.sub(r"[^\w. -]", "-", Path(name).name)[-LONGEST_NAME:]
            places[name] = folder / (plain if plain not in ("", "..") else "file")
        return places[name]


_guest: ContextVar[ServedRequest | None] = ContextVar("guest", default=None)


def current_request() -> ServedRequest | None:
    """Return the request that this thread runs in a server; None at a shell."""
    return _guest.get()


def host_guest(request: ServedRequest) -> AbstractContextManager[None]:
    """Run a request in this thread until the block ends."""
    return hold_value(_guest, request)


def pause_seconds(seconds: float) -> None:
    """Wait. A request in a server can be stopped meanwhile.

    Raises:
        KeyboardInterrupt: as `ServedRequest.check_stopped`.
    """
    if (host := current_request()) is None:
        time.sleep(seconds)
    else:
        host.stopping.wait(seconds)
        host.check_stopped()


def sibling_path(written: str, ending: str) -> str:
    """Return the path of a further file next to a written one, with the same name and another
    ending.
    """
    if (host := current_request()) is None:
        return str(Path(written).with_suffix(ending))
    (named,) = (Path(name) for name, path in host.outputs.items() if str(path) == written)
    return str(host.place(str(named.with_suffix(ending)), True))


GZIP = b"\x1f\x8b"
"""The first bytes of a gzip file."""


def deliver_files(files: Mapping[str, bytes]) -> None:
    """Write files, all or none, and wait until they are in their places, also at a shell that asked
    a server.

    Args:
        files: contents by path. `-` is standard output, which is written at the end of the command.
            A path that ends in .gz is compressed.

    Raises:
        InputError, ProjectError, KeyboardInterrupt: they are not in place, so the export must not
            be recorded.
    """
    with ExitStack() as places:
        for name, content in files.items():
            if name != "-":
                compressed = name.endswith(".gz") and not content.startswith(GZIP)
                # Without the time, so that the same content gives the same bytes.
                made = gzip.compress(content, mtime=0) if compressed else content
                places.enter_context(replace_file(Path(name))).write_bytes(made)
    if (host := current_request()) is not None:
        host.hand_over()


def read_text_file(file: Path) -> str:
    """Return the text of a small file that a command names, or of standard input.

    Raises:
        InputError: it cannot be read, or is not in UTF-8.
    """
    # Imported here, because most commands read no such file.
    from ..formats import read_small_text

    try:
        if current_request() is None and file == Path("-"):
            return io.TextIOWrapper(io.BytesIO(sys.stdin.buffer.read()), encoding="utf-8").read()
        return read_small_text(file)
    except UnicodeDecodeError as error:
        raise InputError("not-utf8", f"{file} is not valid UTF-8.", "Save it as UTF-8.") from error


def sent_file(name: str) -> Path | None:
    """Return the file that an ambiguous value names; None if it does not exist, or was not sent to
    the server.
    """
    if (host := current_request()) is not None and Path(name) not in host.files.values():
        return None
    path = Path(name)
    return path if path.is_file() else None


def refuse_in_server() -> None:
    """Refuse to run this operation in a server.

    Raises:
        InputError: this thread runs a request of a server.
    """
    if current_request() is not None:
        raise InputError(
            "needs-a-shell",
            "This command needs local files.",
            "Run it in a shell on the computer that has the files, while no app"
            " has the project open.",
        )


def print_text(text: str, stream: Stream = "output") -> None:
    """Print a text, which has its own line ends."""
    if (host := current_request()) is not None:
        host.check_stopped()
        shown = with_escapes(text) if host.terminal else text
        host.say(stream, shown.encode(errors="backslashreplace"))
        return
    file = sys.stdout if stream == "output" else sys.stderr
    file.write(text)
    file.flush()


def write_bytes(content: bytes) -> None:
    """Print the content of a file."""
    if (host := current_request()) is not None:
        host.say("output", content)
    else:
        sys.stdout.buffer.write(content)


def print_message(message: str) -> None:
    """Print a line on stderr, so that stdout has only the results."""
    print_text(f"{message}\n", "error")


def warn_of_terms(project: Project) -> None:
    """Warn before texts of data sets with terms of use are exported."""
    # Imported here, because most operations export no texts.
    from ..records import terms_of

    for terms in terms_of(project):
        print_message(
            "warning: the export has texts of a data set. Check its terms before you"
            f" share them. {terms}"
        )


def print_json(value: Any) -> None:
    """Print one JSON object."""
    print_text(json.dumps(value, ensure_ascii=False, default=str) + "\n")


def table_lines(header: Sequence[str], rows: Sequence[Sequence[Any]]) -> Iterator[str]:
    """Yield the lines of a table: numbers right, text left, `-` for missing values."""
    cells = [[_cell_text(value) for value in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(header, *cells, strict=True)]
    right = [bool(rows) and isinstance(rows[0][i], int | float) for i in range(len(header))]
    for line in (list(header), *cells):
        texts = [
            text.rjust(width) if to_right else text.ljust(width)
            for text, width, to_right in zip(line, widths, right, strict=True)
        ]
        yield "  ".join(texts).rstrip() + "\n"


def _cell_text(value: Any) -> str:
    if value is None:
        return "-"
    return f"{value:z.4f}" if isinstance(value, float) else with_escapes(str(value))


Part = Literal["text", "table", "note"]


@dataclass(eq=False)
class Output:
    """The result of an operation: one JSON object, or its parts in the order in which they were
    added.

    Args:
        value: the JSON object.
    """

    value: Any = None
    failure: WorkbenchError | None = field(default=None, init=False)
    _parts: list[tuple[Part, Iterable[str]]] = field(default_factory=list, init=False)

    def text(self, text: str) -> Self:
        """Add a text that has its own line ends, such as a CSV file."""
        self._parts.append(("text", [text]))
        return self

    def line(self, text: str = "") -> Self:
        """Add a line."""
        return self.text(f"{text}\n")

    def table(self, header: Sequence[str], rows: Sequence[Sequence[Any]]) -> Self:
        """Add rows in columns. An empty line separates a table from a table directly before it."""
        if self._parts and self._parts[-1][0] == "table":
            self.line()
        self._parts.append(("table", table_lines(header, rows)))
        return self

    def note(self, *texts: str | None) -> Self:
        """Add lines on stderr, so that stdout has only the results. Empty texts are left out."""
        self._parts.append(("note", [f"{text}\n" for text in texts if text]))
        return self

    def failing(self, failure: WorkbenchError | None) -> Self:
        """Make the operation fail after its result is printed."""
        self.failure = failure
        return self

    def print(self, as_json: bool) -> None:
        """Print the JSON object if there is one, or all parts.

        Raises:
            WorkbenchError: the operation failed.
        """
        if as_json:
            if self.value is not None:
                print_json(self.value)
        else:
            for part, texts in self._parts:
                for text in texts:
                    print_text(text, "error" if part == "note" else "output")
        if self.failure is not None:
            raise self.failure


class TextOutput(Output):
    """The result of an operation that has no JSON object."""


def print_result(result: Any, as_json: bool) -> None:
    """Print the result of an operation: an `Output`, or a text for stderr.

    Raises:
        WorkbenchError: the operation failed.
    """
    if isinstance(result, Output):
        result.print(as_json)
    elif result is not None:
        print_message(result)


_UNUSABLE = (errno.ENAMETOOLONG, errno.EACCES, errno.ELOOP)
"""Errors of the system for impossible or inaccessible file names."""


def as_workbench_error(error: BaseException) -> WorkbenchError | None:
    """Return the error to show in place of an exception; None if the exception is a fault of the
    program.
    """
    if isinstance(error, WorkbenchError):
        return error
    # Imported here, because help needs no database.
    from ..store import no_room

    if full := no_room("the project", error):
        return full
    if not isinstance(error, OSError) or error.errno not in _UNUSABLE or error.filename is None:
        return None
    return InputError(
        "unusable-name", one_line(f"{error.filename}: {error.strerror}.", LONGEST_MESSAGE)
    )


def print_failure(error: BaseException) -> int:
    """Print why an operation failed.

    Returns:
        The exit code: 1 if the work failed, 2 for bad input.

    Raises:
        BaseException: the same error, if it is a fault of the program.
    """
    if isinstance(error, KeyboardInterrupt):
        print_message("exam: stopped.")
        return 1
    workbench_error = as_workbench_error(error)
    if workbench_error is None:
        raise error
    print_message(f"exam: {workbench_error}")
    return 2 if isinstance(workbench_error, InputError) else 1


def is_terminal() -> bool:
    """Return whether a person sees stderr."""
    return host.terminal if (host := current_request()) is not None else sys.stderr.isatty()


FIRST_WAIT = 10.0
"""Seconds from the start to the first line without a terminal."""
GROWTH = 1.3
"""Growth of the wait from line to line: about 16 lines in an hour, 30 in a day."""


@dataclass(eq=False)
class ProgressLines:
    """Receives progress at any rate, and prints it on stderr at a useful rate.

    Args:
        things: the unit of progress, as "pairs".
        terminal: whether a person watches stderr.
        clock: seconds that only ever grow.
    """

    things: str
    terminal: bool = field(default_factory=is_terminal)
    clock: Callable[[], float] = time.monotonic
    wait: float = field(default=FIRST_WAIT, init=False)

    def __post_init__(self) -> None:
        self.started = self.said = self.clock()

    def print_progress(
        self, done: int, total: int, rate: float | None = None, over: bool = False
    ) -> None:
        """Print the progress of the work, if it is time to.

        Args:
            done, total: numbers of things.
            rate: things per second; None means computed from the clock.
            over: whether the work has ended, so that no time is left.
        """
        if (host := current_request()) is not None:
            host.check_stopped()
        now = self.clock()
        if self.terminal:
            print_text(f"\r{self._line(done, total, rate, now, over):<78}" + "\n" * over, "error")
        elif not over and now - self.said >= self.wait:
            self.said, self.wait = now, self.wait * GROWTH
            print_message(f"exam: {self._line(done, total, rate, now, over)}")

    def show(self, progress: Progress) -> None:
        """Print the progress of a job, if it is time to."""
        self.print_progress(progress.done, progress.total, progress.rate, progress.is_over)

    def count(self, done: int, total: int) -> None:
        """Print the progress of work that ends as soon as its last thing is done."""
        self.print_progress(done, total, over=done == total)

    def _line(self, done: int, total: int, rate: float | None, now: float, over: bool) -> str:
        if rate is None:
            rate = done / (now - self.started) if now > self.started else 0.0
        line = f"{done:,} of {total:,} {self.things}"
        if not rate:
            return line
        speed = f"{rate:,.0f} per second" if rate >= 1 else f"{60 * rate:,.1f} per minute"
        return f"{line}, {speed}" + (
            "" if over else f", {_describe_duration((total - done) / rate)} left"
        )


def _describe_duration(seconds: float) -> str:
    """Return a length of time in its two largest units."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


def progress_watcher(things: str) -> Callable[[str, Progress], None]:
    """Return a function that prints the progress of a named job."""
    lines = ProgressLines(things)
    return lambda name, progress: lines.show(progress)


def price_words(tag: PriceTag, batch: bool = False) -> str:
    """Return the words of a price tag after a number of pairs; empty if no model is called."""
    if not tag.calls:
        return ""
    money = tag.batch_cost if batch else tag.cost
    cost = "" if money is None else f", cost {money:,.2f}"
    if not batch and tag.batch_cost is not None:
        cost += f" ({tag.batch_cost:,.2f} with --batch)"
    about = "" if tag.counted else "about "
    cached = f" ({tag.cached_tokens:,} cached)" if tag.cached_tokens else ""
    thinking = f" ({tag.thinking_tokens:,} thinking)" if tag.thinking_tokens else ""
    again = f" ({tag.sentinels:,} repeated pairs included)" if tag.sentinels else ""
    return (
        f". Estimated: {tag.calls:,} calls{again}, {about}{tag.input_tokens:,} input tokens{cached}"
        f" and {tag.output_tokens:,} output tokens{thinking}{cost}"
    )


def check_ended(final: Progress, things: str) -> None:
    """Refuse to go on after a job that failed or was cancelled.

    Raises:
        GradingError: it did; the hint counts the saved things.
    """
    if final.state in ("failed", "cancelled"):
        raise GradingError("job-failed", final.message, f"Saved: {how_many(final.graded, things)}.")


def find_total_failure(final: Progress, things: str) -> GradingError | None:
    """Return the error of a job that saved nothing because every call failed; else None."""
    if final.graded or not final.failed:
        return None
    return GradingError(
        "nothing-usable",
        f"The model gave no usable answer: 0 {things}, {final.failed:,} failed.",
        "Try another model or prompt.",
    )


def call_note_printer() -> Callable[[str], None]:
    """Return a function that prints a job's notes on its calls; at a shell the log, which repeats
    them, is silenced.
    """
    if current_request() is None:
        logging.getLogger("exam.grading").addHandler(logging.NullHandler())
    return lambda line: print_message(f"exam: {line}")
