"""Three doors to the work on a project, each with what waits behind it: Curate, Review, Publish."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from core.exchange import Manifest
from core.labels import Override, Progress
from core.review import Agreeing, ToCurate, Waiting
from core.text import how_many
from pages.parts.home.panels import count, lines, panel, text, to


def curate(found: ToCurate, person: str, queries: int, items: int, graded: bool) -> dict[str, Any]:
    """The door to the question bank.

    Args:
        queries: how many there are beside exams.
        items: of exams.
        person: who works here; empty for somebody who has not said a name.
        graded: whether anything is, so that it is known which pairs are not.
    """
    unsaved = sum(one.count for one in found.drafts)
    waiting = [
        _queries(found.without_questions, "without active questions", counted=False),
        _queries(found.ungraded, "with ungraded pairs"),
        count(
            unsaved,
            "unsaved change of yours" if unsaved == 1 else "unsaved changes of yours",
            more=_places(found.drafts),
            tone="changed",
        )
        if unsaved
        else None,
        _queries(found.proposed, "with proposed questions to decide on"),
    ]
    if queries:
        which = "Every query with passages" if found.resting else "Every query"
        nothing = f"{which} has questions{', and all their pairs are graded' if graded else ''}."
        if found.resting:
            have = "has" if found.resting == 1 else "have"
            nothing += f" {how_many(found.resting, 'queries')} {have} neither passages nor questions."
    elif items:
        nothing = f"The bank has {how_many(items, 'items')} of exams, which students sit."
    else:
        nothing = "There are no queries yet."
    blocks = [lines(waiting) if any(waiting) else text(nothing)]
    if person and not unsaved:
        blocks.append(text("You have no unsaved changes."))
    return panel("Curate the questions", blocks, to("question_bank"))


def _queries(waiting: list[Waiting], what: str, counted: bool = True) -> dict[str, Any] | None:
    if not waiting:
        return None
    noun = "query" if len(waiting) == 1 else "queries"
    return count(len(waiting), f"{noun} {what}", more=_places(waiting, counted))


def _places(waiting: list[Waiting], counted: bool = True) -> list[tuple[str, int | None, str]]:
    return [(one.text, one.count if counted else None, to("question_bank", query=one.query_id)) for one in waiting]


def review(found: Agreeing | None, stale: list[Override], judged: int, graded: bool) -> dict[str, Any]:
    """The door to disagreements and overrides.

    Args:
        found: None where no passage has both a label and a judgment.
        judged: judgments that there are.
        graded: whether anything is.
    """
    if found is None:
        if not judged:
            lacking = "There is nothing yet to compare labels with: import judgments, or judge passages yourself."
        elif not graded:
            lacking = "There is nothing yet to compare judgments with: labels come from grading."
        else:
            lacking = "No passage has both a label and a judgment yet."
        shown = [text(lacking)]
        shown.append(lines([count(None, "Read and judge passages", to("passages"))]))
    else:
        what = "open disagreement" if found.open == 1 else "open disagreements"
        shown = [
            lines(
                [
                    count(found.open, f"{what} with {found.source}, value by value", to("disagreements")),
                    count(found.settled, "settled", to("disagreements", view="record")) if found.settled else None,
                    _stale(stale),
                    count(None, "The worst first", to("disagreements")) if found.open else None,
                    count(None, "Next to check: what could move the board most", to("disagreements", order="board"))
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
        "override is stale: its question was reworded"
        if len(stale) == 1
        else "overrides are stale: reworded questions",
        tone="changed",
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
    """The door to the qrels: what they rest on.

    Args:
        stale: overrides that do not count until somebody confirms them.
        published: the manifest of the last publication.
    """
    address = to("export")
    if found is None:
        return panel("Publish the qrels", [text("There are no labels yet: they come from grading.")], address)
    labelled = sum(number for label, number in found.labels.items() if label is not None)
    share = f"{found.share:.1%}" if found.share is not None else "–"
    blocks = [
        lines(
            [
                count(labelled, "labels in the qrels", address),
                count(share, f"of {found.needed:,} needed pairs have a rating", to("grading")),
                count(found.partial_labels, "labels rest on a part of their pairs", address)
                if found.partial_labels
                else None,
                count(stale, "stale overrides do not count", address, tone="changed") if stale else None,
            ]
        )
    ]
    if published is None:
        blocks.append(text("Nothing has been published yet."))
    else:
        when = datetime.fromisoformat(published["published_at"])
        said = f"Published last {when:%d %B %Y} by {published['published_by']}:"
        blocks.append(text(f"{said} {how_many(published['qrels']['lines'], 'lines')}."))
    return panel("Publish the qrels", blocks, address)
