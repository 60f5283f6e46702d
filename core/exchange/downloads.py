"""Downloads for screens: the content of each file. Some are recorded in the activity log."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path

from ..atomic_files import WorkingFolder
from ..errors import InputError
from ..formats import trec_run
from ..labels import Policy, basis, progress
from ..locations import is_reserved
from ..project import Project, record
from ..text import written_text
from ..types import Ranked
from .exporting import qrels
from .parquet.project import export_project
from .zipping import zipped


def recorded(project: Project, author: str, what: str, file: str, make: Callable[[], str | bytes]) -> bytes:
    """Return the content of a file after recording the export in the activity log, if the log can be written.

    Args:
        what: as the log names it, such as "bank".
        file: the file's name.
        make: makes the content.
    """
    content = make()
    record(project, author, f"export {what}", file=file)
    return content.encode() if isinstance(content, str) else content


def qrels_counts(project: Project, policy: Policy, binary: bool) -> dict[int, int]:
    """Return the number of lines of a policy's qrels by value, greatest value first; empty without labels."""
    base = basis(project, policy)
    found: Counter[int] = Counter()
    for label, passages in progress(project, base).labels.items():
        if label is not None:
            found[int(label >= base.min_rating) if binary else label] += passages
    return dict(sorted(found.items(), reverse=True))


def qrels_head(project: Project, policy: Policy, binary: bool, lines: int = 8) -> list[str]:
    """Return the first lines of the qrels of a policy.

    Raises:
        InputError: nothing is labelled.
    """
    return qrels(project, policy, binary=binary, lines=lines).splitlines()


def runs_zip(project: Project) -> bytes:
    """Return all runs as TREC runs, in one zip; the same project gives the same bytes.

    Raises:
        InputError: the project has no runs, or an id is not valid in a run file.
    """
    files: dict[str, bytes | Path] = {}
    for key, name in project.rows("SELECT run_key, name FROM runs ORDER BY run_key"):
        rows = project.rows(
            "SELECT query_id, passage_id, rank, score FROM rankings JOIN queries USING (query_key)"
            " JOIN passages USING (passage_key) WHERE run_key = ? ORDER BY query_key, rank",
            [key],
        )
        files[_file_name(name, files)] = written_text(trec_run.write_run, name, (Ranked(*row) for row in rows)).encode()
    if not files:
        raise InputError("no-runs", "No runs to export.", "Import runs first: exam import runs FILE...")
    return zipped(files)


def _file_name(run: str, taken: dict[str, bytes | Path]) -> str:
    """Return a file name for a run that every operating system can unpack and that no other run has."""
    stem = "".join(c if c.isalnum() or c in "._-+" else "_" for c in run).lstrip(".") or "run"
    if is_reserved(stem):
        stem = f"_{stem}"
    lower = {name.lower() for name in taken}
    name, number = f"{stem}.run", 2
    while name.lower() in lower:
        name, number = f"{stem}-{number}.run", number + 1
    return name


def project_zip(project: Project, author: str) -> bytes:
    """Return the whole project as a zip of Parquet files. The export is in the activity log, and so in the zip.

    Raises:
        InputError: it cannot be written.
    """
    with WorkingFolder() as folder:
        target = folder / f"{project.name}.zip"
        export_project(project, target, author)
        return target.read_bytes()
