"""The command that exports a report."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from ..labels import DEFAULT_MEASURE
from ..records import official_sources
from ..store import current_author, log
from .console import deliver
from .describing import Option
from .opening import Opening
from .policy import PolicyOptions
from .registry import operation


@operation("export report", act="download")
def report(
    opening: Opening,
    *,
    output: Annotated[str, Option("-o", "--output", help="Output file (.html).", file="write")],
    measure: Annotated[str, Option(help="Measure of the leaderboard.")] = DEFAULT_MEASURE,
    against: Annotated[
        str | None, Option(help="Official leaderboard: judgments, a source's name, or none. Default: the first one.")
    ] = None,
    questions: Annotated[bool, Option(help="Also list the questions of every query.")] = False,
    policy: PolicyOptions,
) -> str:
    """Export a report as one HTML file, which opens without a network.

    It has the leaderboard, its agreement with the official leaderboard and with judgments, the audit, the methods and
    figures. It contains no script.
    """
    # Imported here, because Altair loads slowly.
    from .project_report import ReportRequest, make_report

    with opening() as project:
        official = against or next(iter(official_sources(project)), None)
        wanted = ReportRequest(measure, policy, None if official == "none" else official, questions)
        deliver({output: make_report(project, wanted).encode()})
        with project.transaction() as cursor:
            log(cursor, current_author(), "export report", file=Path(output).name)
    return f"Wrote {output}."
