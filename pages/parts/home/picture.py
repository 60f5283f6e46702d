"""A picture of a project's state: graded pairs, label distribution, best systems, latest actions."""

from datetime import UTC, datetime, timedelta
from typing import Any

from exam_workbench.labels import Progress
from exam_workbench.project import Act, Project, activity
from exam_workbench.review import Agreeing, Leading
from exam_workbench.text import how_many
from pages.parts.home.panels import Block, bar, count, lines, panel, text, to
from pages.parts.shared import ui
from pages.parts.shared.address import of_cell

SYSTEMS = 6
ACTS = 4

COUNTED = {
    "queries": "question_bank",
    "passages": "passages",
    "runs": "leaderboard",
    "judgments": "disagreements",
    "questions": "question_bank",
    "grades": "grading",
    "items": "exam",
    "students": "students",
}
"""Contents of a project, and the screen that shows each."""


def counted(found: dict[str, int]) -> dict[str, Any]:
    """Return the counts of the project's contents, and of those known only by id."""
    missing = [
        count(
            found[name],
            f"{name if found[name] > 1 else name.replace('s without', ' without')}: import {what}",
            tone="changed",
        )
        for name, what in (
            ("passages without text", "the texts before grading"),
            ("questions without text", "the question bank with the texts"),
        )
        if found[name]
    ]
    # Items are questions, and exams are queries, but both have counts of their own.
    shown = found | {"queries": found["queries"] - found["exams"], "questions": found["questions"] - found["items"]}
    of_exams = () if found["items"] or found["students"] else ("items", "students")
    held = [
        count(shown[name], how_many(shown[name], name.replace("student", "examinee")).partition(" ")[2], to(screen))
        for name, screen in COUNTED.items()
        if name not in of_exams
    ]
    return panel("Project contents", [{"kind": "counts", "lines": held}, lines(missing) if missing else None])


def grading(found: Progress | None, failed: int) -> dict[str, Any]:
    """Return how many pairs behind the labels are graded, and the distribution of the labels.

    Args:
        failed: number of failed pairs of all graders, shown before anything is graded.
    """
    address = to("grading")
    if found is None:
        more = f"Failed pairs (no usable rating): {failed:,}." if failed else ""
        return panel("Grading", [text("No grades yet."), text(more) if more else None], address)
    labelled = [(label, number) for label, number in found.labels.items() if label is not None]
    unlabelled = found.labels.get(None, 0)
    return panel(
        "Grading",
        [
            bar(
                "Question–passage pairs",
                [
                    ("graded", found.graded, "rated", address),
                    ("overridden", found.overridden, "person", to("passages", overridden="true")),
                    ("failed", found.failed, "failed", address),
                    ("ungraded", found.ungraded, "open", address),
                    ("without text", found.without_text, "textless", to("passages")),
                ],
            ),
            text("Labels of passages"),
            bar(
                "Labels of passages",
                [
                    *(
                        (f"label {label}", number, f"r{label}", to("passages", has_label=str(label)))
                        for label, number in labelled
                    ),
                    ("without label", unlabelled, "none", to("passages", has_label="none")),
                ],
            ),
        ],
        address,
        f"{ui.percent(found.share)} of {found.needed:,} pairs",
    )


def agreement(found: Agreeing | None) -> dict[str, Any]:
    """Return the agreement of labels with judgments, both as binary values."""
    address = to("disagreements")
    if found is None:
        return panel("Agreement", [text("No passage has both a label and a judgment.")], address)
    table, kappa = found.merged.table, found.merged.kappa
    counts = table.counts
    number = f"kappa {ui.number(kappa.value, 2)}" if kappa.value is not None else "kappa undefined"

    def listed(row: int, column: int) -> str:
        return to("disagreements", cell=of_cell((table.row_members[row], table.column_members[column])))

    return panel(
        "Agreement",
        [
            bar(
                f"Passages with a label and a judgment (source: {found.source})",
                [
                    ("relevant by both", int(counts[0, 0]), "rated", listed(0, 0)),
                    ("relevant by label only", int(counts[0, 1]), "one", listed(0, 1)),
                    ("relevant by judgment only", int(counts[1, 0]), "other", listed(1, 0)),
                    ("not relevant by both", int(counts[1, 1]), "textless", listed(1, 1)),
                ],
            ),
            text(
                f"Labels and judgments (source: {found.source}) agree on relevance for {ui.percent(_same(found))} of"
                f" passages ({number})."
            ),
        ],
        address,
    )


def _same(found: Agreeing) -> float | None:
    counts = found.merged.table.counts
    return float((counts[0, 0] + counts[1, 1]) / counts.sum()) if counts.sum() else None


def board(found: Leading | None) -> dict[str, Any]:
    """Return the best systems with their error bars, and the agreement with the official leaderboard."""
    address = to("leaderboard")
    if found is None or not found.board.systems:
        return panel("Leaderboard", [text("No leaderboard yet. Import runs and grade the pool.")], address)
    systems = found.board.systems
    shown = systems[:SYSTEMS]
    spans = [(one.score - (one.std_error or 0), one.score + (one.std_error or 0)) for one in shown]
    low, high = min(span[0] for span in spans), max(span[1] for span in spans)
    width = (high - low) or 1.0
    rows = [
        {
            "rank": str(one.rank),
            "name": one.run,
            "title": f"{one.run}: {one.score:.4f}" + (f" ± {one.std_error:.4f}" if one.std_error else ""),
            "score": f"{one.score:.3f}",
            "at": (one.score - low) / width,
            "from": (span[0] - low) / width,
            "till": (span[1] - low) / width,
            "to": to("leaderboard", followed=one.run),
        }
        for one, span in zip(shown, spans, strict=True)
    ]
    tied = sum(spans[0][0] <= span[1] for span in spans[1:])
    said = []
    if tied:
        said.append(f"The error bars of the best system overlap with those of {how_many(tied, 'systems')} shown here.")
    correlation = found.correlation
    if found.against and correlation is not None and correlation.spearman is not None:
        said.append(
            f"Spearman correlation with the official leaderboard ({found.against}): {correlation.spearman:z.2f}."
        )
    said += filter(None, (found.board.too_few, found.ungraded))
    rest = f"{len(systems):,} systems by {found.board.measure}"
    drawn: Block = {"kind": "systems", "rows": rows}
    return panel("Leaderboard", [drawn, text(" ".join(said)) if said else None], address, rest, wide=True)


def latest(project: Project, now: datetime | None = None) -> dict[str, Any]:
    """Return the latest actions."""
    acts = activity(project, page_size=ACTS).acts
    now = now or datetime.now(UTC).replace(tzinfo=None)
    return panel(
        "Recent activity",
        [lines([_act(act, now) for act in acts])] if acts else [text("No activity yet.")],
        to("activity"),
    )


def _act(act: Act, now: datetime) -> dict[str, Any]:
    screen, query = act.place or ("activity", {})
    said = ui.shortened(f"{act.author} {act.said}", 150)
    return count(None, said, to(screen, **query), aside=ago(act.happened_at, now))


def ago(then: datetime, now: datetime) -> str:
    """Return the elapsed time in words: just now, 5 min ago, 3 h ago, or the date."""
    passed = now - then
    if passed < timedelta(minutes=1):
        return "just now"
    if passed < timedelta(hours=1):
        return f"{passed // timedelta(minutes=1)} min ago"
    return f"{passed // timedelta(hours=1)} h ago" if passed < timedelta(days=1) else f"{then:%d %b %Y}"
