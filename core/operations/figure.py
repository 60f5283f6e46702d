"""The command that exports figures for papers and slides."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from ..errors import InputError
from ..store import current_author, log
from .console import deliver
from .describing import Argument, Option
from .opening import Opening
from .policy import PolicyOptions
from .registry import operation

FIGURES = (
    "leaderboard",
    "leaderboards",
    "scatter",
    "slope",
    "significance",
    "queries",
    "coverage",
    "examinees",
    "topics",
    "characteristic-curves",
    "item-information",
    "information",
    "shortening",
    "audit",
)
"""The keys of `project_figures.FIGURES`, because the help must not load Altair."""
ENDINGS = (".pdf", ".svg", ".png", ".json")


@operation("export figure", act="download")
def figure(
    opening: Opening,
    *,
    name: Annotated[str, Argument(choices=FIGURES, metavar="FIGURE")],
    output: Annotated[
        str, Option("-o", "--output", help=f"Output file; its ending is {', '.join(ENDINGS)}.", file="write")
    ],
    measures: Annotated[
        tuple[str, ...], Option("--measure", help="leaderboards: may be repeated. Default: nDCG@10.")
    ] = (),
    source: Annotated[str, Option(help="Basis: exam, judgments, or a source's name.")] = "exam",
    against: Annotated[str, Option(help="Official leaderboard: judgments, or a source's name.")] = "judgments",
    runs: Annotated[
        tuple[str, ...], Option("--run", help="System of queries or coverage; may be repeated. Default: the best.")
    ] = (),
    exam: Annotated[str | None, Option(help="Only items of this query.", metavar="QUERY")] = None,
    by: Annotated[
        str | None, Option(help="Categories of information.", choices=("bloom", "question type", "topic"))
    ] = None,
    audit: Annotated[str | None, Option(help="Name of the audit. Default: the newest that has not ended.")] = None,
    width: Annotated[int, Option(help="Width of the plot in pixels; 96 are an inch.", least=100, most=2000)] = 480,
    policy: PolicyOptions,
) -> str:
    """Export a figure for a paper or a slide.

    \b
    leaderboard            scores with one standard error; lines join systems that are not separated
    leaderboards           leaderboards of several measures and the official one, on one scale
    scatter                systems on the leaderboard and on the official one
    slope                  order of the systems on both
    significance           every two systems: separated or not
    queries                scores of two systems by query
    coverage               coverage by number of passages read
    examinees              accuracy of the examinees of an exam
    topics                 accuracy by topic
    characteristic-curves  probability of a right answer by ability, for each item
    item-information       information by ability, for each item
    information            mean information by ability, for all items and by category
    shortening             mean information of shortened exams
    audit                  precision by number of judgments

    PNG files have 300 dots per inch. JSON files are Vega-Lite.
    """
    ending = Path(output).suffix.lower()
    if ending not in ENDINGS:
        raise InputError("unknown-ending", f"Unknown kind of file '{output}'.", f"Endings: {', '.join(ENDINGS)}")
    # Imported here, because Altair loads slowly.
    from ..charts import for_print, picture
    from .project_figures import FigureRequest, draw_figure

    wanted = FigureRequest(measures or FigureRequest.measures, source, policy, against, runs, exam, by, audit)
    with opening() as project:
        deliver({output: picture(for_print(draw_figure(project, name, wanted), width), ending)})
        with project.transaction() as cursor:
            log(cursor, current_author(), f"export figure {name}", file=Path(output).name)
    return f"Wrote {output}."
