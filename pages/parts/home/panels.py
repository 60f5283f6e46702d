"""Panels of numbers that link to their details, drawn in the browser by a small component."""

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any, NoReturn
from urllib.parse import urlencode

import streamlit as st

from exam_workbench import exchange, labels
from exam_workbench.records import Act, activity
from exam_workbench.review import Agreeing, Leading, ToCurate, Waiting
from exam_workbench.store import Project
from exam_workbench.text import how_many
from pages.parts.shared import components, screens, ui
from pages.parts.shared.address import of_cell, travelling

Block = dict[str, Any]
"""A part of a panel: a bar, systems with their intervals, lines of counts, or a sentence."""

MORE = 50
"""Largest number of places that a line of counts lists; the rest is a number."""


def to(screen: str, **query: str | int) -> str:
    """Return a relative link to a screen, with the project and the choices that hold on all screens."""
    named = {"project": str(st.session_state["project"])} if st.session_state.get("project") else {}
    path = "" if screen == next(iter(screens.SCREENS)) else screen
    return f"{path or '.'}?{urlencode({**named, **travelling(), **query})}"


def draw(key: str, panels: Iterable[dict[str, Any]], framed: bool = True) -> None:
    """Draw panels side by side, as many as fit.

    Args:
        key: key of the component.
        panels: made by `panel`.
        framed: whether each panel has a border.
    """
    components.draw("panels", key, {"panels": list(panels), "framed": framed})


def go(screen: str, query: Mapping[str, str]) -> NoReturn:
    """Switch to a screen; this ends the run.

    Args:
        query: parameters of its address, added to the choices that hold on all screens.
    """
    st.switch_page(f"pages/{screen}.py", query_params={**travelling(), **query})


def panel(
    title: str, blocks: Iterable[Block | None], address: str | None = None, about: str = "", wide: bool = False
) -> dict[str, Any]:
    """Return a panel with a title.

    Args:
        blocks: contents from the top; None is left out.
        address: link of the title.
        about: a few words next to the title.
        wide: whether it is twice as wide if the window allows it.
    """
    return {"title": title, "about": about, "wide": wide, "to": address, "blocks": [block for block in blocks if block]}


def text(words: str, tone: str = "", key: str = "") -> Block:
    """Return a sentence; `tone` is "", "strong" or "changed", and `key` distinguishes it from others."""
    return {"kind": "text", "text": words, "tone": tone, "key": key}


def bar(label: str, parts: Iterable[tuple[str, int, str, str | None]]) -> Block:
    """Return a bar of parts, with a legend of the non-empty ones.

    Args:
        label: describes the whole for screen readers.
        parts: name, count, tone (a class of the style) and address of each.
    """
    shown = [
        {"name": name, "count": count, "shown": f"{count:,}", "tone": tone, "to": address}
        for name, count, tone, address in parts
        if count
    ]
    said = ", ".join(f"{part['shown']} {part['name']}" for part in shown)
    return {"kind": "bar", "label": f"{label}: {said}", "parts": shown}


def lines(found: Iterable[Mapping[str, Any] | None]) -> Block:
    """Return lines of counts made by `count`; None is left out."""
    return {"kind": "lines", "lines": [one for one in found if one]}


def count(
    number: int | str | None,
    words: str,
    address: str | None = None,
    tone: str = "",
    more: Iterable[tuple[str, int | None, str]] = (),
    aside: str = "",
    key: str = "",
) -> dict[str, Any]:
    """Return a line with a number and its meaning.

    Args:
        number: None for a line of words only.
        address: link of the line.
        tone: "changed" or "failed" for a coloured number.
        more: places behind the number, listed when the line is opened: text, count and address of each.
        aside: a few words after it.
        key: distinguishes the line from others.
    """
    listed = list(more)
    places = [
        {"text": one, "to": where} | ({} if many is None else {"count": f"{many:,}"})
        for one, many, where in listed[:MORE]
    ]
    shown = {} if number is None else {"count": f"{number:,}" if isinstance(number, int) else number}
    rest = f"and {len(listed) - MORE:,} more" if len(listed) > MORE else ""
    return shown | {
        "text": words,
        "to": address,
        "tone": tone,
        "more": places,
        "rest": rest,
        "aside": aside,
        "key": key,
    }


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


def review(found: Agreeing | None, stale: list[labels.Override], judged: int, graded: bool) -> dict[str, Any]:
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


def _stale(stale: list[labels.Override]) -> dict[str, Any] | None:
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


def publish(found: labels.Progress | None, stale: int, published: exchange.Manifest | None) -> dict[str, Any]:
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


def grading(found: labels.Progress | None, failed: int) -> dict[str, Any]:
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
                f" passages ({number}). {found.confirms}".rstrip()
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
    return panel(
        "Recent activity",
        [lines([_act(act, now) for act in acts])] if acts else [text("No activity yet.")],
        to("activity"),
    )


def _act(act: Act, now: datetime | None) -> dict[str, Any]:
    screen, query = act.place or ("activity", {})
    said = ui.shortened(f"{act.author} {act.said}", 150)
    return count(None, said, to(screen, **query), aside=ago(act.happened_at, now))


def ago(then: datetime, now: datetime | None = None) -> str:
    """Return the elapsed time in words: just now, 5 min ago, 3 h ago, or the date.

    Args:
        now: None for the local time of this computer, in which a project records times.
    """
    passed = (now or datetime.now()) - then
    if passed < timedelta(minutes=1):
        return "just now"
    if passed < timedelta(hours=1):
        return f"{passed // timedelta(minutes=1)} min ago"
    return f"{passed // timedelta(hours=1)} h ago" if passed < timedelta(days=1) else f"{then:%d %b %Y}"
