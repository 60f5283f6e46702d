"""Three doors to the work on a project, each with its open tasks: Curate, Review, Publish."""

from datetime import datetime
from typing import Any

from exam_workbench.exchange import Manifest
from exam_workbench.labels import Override, Progress
from exam_workbench.review import Agreeing, ToCurate, Waiting
from exam_workbench.text import how_many
from pages.parts.home.panels import count, lines, panel, text, to


def curate(found: ToCurate, person: str, queries: int, items: int, graded: bool) -> dict[str, Any]:
    """Return the door to the question bank.

    Args:
        queries: number of queries without exams.
        items: number of exam items.
        person: name of the person; empty if they have not entered it.
        graded: whether anything is graded; otherwise ungraded pairs are unknown.
    """
    unsaved = sum(one.count for one in found.drafts)
    waiting = [
        _queries(found.without_questions, "without active questions", "without-questions", counted=False),
        _queries(found.ungraded, "with ungraded pairs", "ungraded"),
        count(
            unsaved,
            "unsaved change by you" if unsaved == 1 else "unsaved changes by you",
            more=_places(found.drafts),
            tone="changed",
            key="unsaved",
        )
        if unsaved
        else None,
        _queries(found.proposed, "with proposed questions to accept or reject", "proposed"),
    ]
    if queries:
        which = "All queries with passages" if found.resting else "All queries"
        nothing = f"{which} have questions{', and all their pairs are graded' if graded else ''}."
        if found.resting:
            nothing += f" Queries without passages and questions: {found.resting:,}."
    elif items:
        nothing = f"The question bank has {how_many(items, 'exam items')}, which examinees answer."
    else:
        nothing = "No queries yet."
    blocks = [lines(waiting) if any(waiting) else text(nothing)]
    if person and not unsaved:
        blocks.append(text("You have no unsaved changes.", key="no-unsaved"))
    return panel("Curate the questions", blocks, to("question_bank"))


def _queries(waiting: list[Waiting], what: str, key: str, counted: bool = True) -> dict[str, Any] | None:
    if not waiting:
        return None
    noun = "query" if len(waiting) == 1 else "queries"
    return count(len(waiting), f"{noun} {what}", more=_places(waiting, counted), key=key)


def _places(waiting: list[Waiting], counted: bool = True) -> list[tuple[str, int | None, str]]:
    return [(one.text, one.count if counted else None, to("question_bank", query=one.query_id)) for one in waiting]


def review(found: Agreeing | None, stale: list[Override], judged: int, graded: bool) -> dict[str, Any]:
    """Return the door to disagreements and overrides.

    Args:
        found: None if no passage has both a label and a judgment.
        judged: number of judgments.
        graded: whether anything is graded.
    """
    if found is None:
        if not judged:
            key, lacking = "no-judgments", "No judgments yet. Import judgments, or judge passages yourself."
        elif not graded:
            key, lacking = "no-labels", "No labels to compare judgments with. Grade the pool first."
        else:
            key, lacking = "nothing-in-common", "No passage has both a label and a judgment yet."
        shown = [text(lacking, key=key)]
        shown.append(lines([count(None, "Read and judge passages", to("passages"))]))
    else:
        what = "open disagreement" if found.open == 1 else "open disagreements"
        shown = [
            lines(
                [
                    count(found.open, f"{what} with {found.source}", to("disagreements"), key="open"),
                    count(found.settled, "resolved", to("disagreements", view="record")) if found.settled else None,
                    _stale(stale),
                    count(None, "Show the largest differences first", to("disagreements")) if found.open else None,
                    count(None, "Show the largest effects on the leaderboard first", to("disagreements", order="board"))
                    if found.open
                    else None,
                ]
            )
        ]
    return panel("Review the ratings", shown, to("disagreements"))


def _stale(stale: list[Override]) -> dict[str, Any] | None:
    if not stale:
        return None
    return count(
        len(stale),
        "stale override (question reworded)" if len(stale) == 1 else "stale overrides (questions reworded)",
        tone="changed",
        key="stale",
        more=[
            (
                one.wording_now,
                None,
                to("passages", query=one.query_id, passage=one.passage_id, question=one.question_id),
            )
            for one in stale
        ],
    )


def publish(found: Progress | None, stale: int, published: Manifest | None) -> dict[str, Any]:
    """Return the door to the qrels with their basis.

    Args:
        stale: number of overrides that do not count until a person confirms them.
        published: the manifest of the last publication.
    """
    address = to("export")
    if found is None:
        return panel("Publish the qrels", [text("No labels yet. Grade the pool first.")], address)
    labelled = sum(number for label, number in found.labels.items() if label is not None)
    share = f"{found.share:.1%}" if found.share is not None else "–"
    blocks = [
        lines(
            [
                count(labelled, f"label{'s' * (labelled != 1)} in the qrels", address, key="labels"),
                count(share, f"of {found.needed:,} needed pairs have a rating", to("grading")),
                count(
                    found.partial_labels,
                    f"partial label{'s' * (found.partial_labels != 1)} (some pairs ungraded or failed)",
                    address,
                )
                if found.partial_labels
                else None,
                count(stale, f"stale override{'s' * (stale != 1)}, not used until confirmed", address, tone="changed")
                if stale
                else None,
            ]
        )
    ]
    if published is None:
        blocks.append(text("No publications yet."))
    else:
        when = datetime.fromisoformat(published["published_at"])
        said = f"Last published on {when:%d %B %Y} by {published['published_by']}:"
        blocks.append(text(f"{said} {how_many(published['qrels']['lines'], 'lines')}."))
    return panel("Publish the qrels", blocks, address)
