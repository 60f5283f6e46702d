"""Panels of numbers that link to their details, drawn in the browser by a small component."""

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any

from exam_workbench import board_summary, exchange, labels, run_names
from exam_workbench.records import ActivityEntry, list_actions
from exam_workbench.review import CurationWork, LabelJudgmentAgreement, WaitingQuery
from exam_workbench.store import Project
from exam_workbench.text import how_many
from pages.parts.shared import components, ui
from pages.parts.shared.address import of_cell, screen_link

Block = dict[str, Any]
"""A part of a panel: a bar, systems with their intervals, lines of counts, or a sentence."""

MORE = 50
"""Largest number of places that a line of counts lists; the rest is a number."""


def draw(key: str, panels: Iterable[dict[str, Any]], framed: bool = True) -> None:
    """Draw panels side by side, as many as fit.

    Args:
        key: key of the component.
        panels: made by `make_panel`.
        framed: whether each panel has a border.
    """
    components.draw("panels", key, {"panels": list(panels), "framed": framed})


def make_panel(
    title: str,
    blocks: Iterable[Block | None],
    address: str | None = None,
    about: str = "",
    wide: bool = False,
) -> dict[str, Any]:
    """Return a panel with a title.

    Args:
        blocks: contents from the top; None is left out.
        address: link of the title.
        about: a few words next to the title.
        wide: whether it is twice as wide if the window allows it.
    """
    return {
        "title": title,
        "about": about,
        "wide": wide,
        "to": address,
        "blocks": [block for block in blocks if block],
    }


def text_block(words: str, key: str = "") -> Block:
    """Return a sentence; `key` distinguishes it from others."""
    return {"kind": "text", "text": words, "tone": "", "key": key}


def bar_block(label: str, parts: Iterable[tuple[str, int, str, str | None]]) -> Block:
    """Return a bar of parts, with a legend of the non-empty ones.

    Args:
        label: describes the whole for screen readers.
        parts: name, count, tone (a class of the style) and address of each.
    """
    bars = [
        {"name": name, "count": count, "shown": f"{count:,}", "tone": tone, "to": address}
        for name, count, tone, address in parts
        if count
    ]
    said = ", ".join(f"{part['shown']} {part['name']}" for part in bars)
    return {"kind": "bar", "label": f"{label}: {said}", "parts": bars}


def lines_block(counts: Iterable[Mapping[str, Any] | None]) -> Block:
    """Return lines of counts made by `count_line`; None is left out."""
    return {"kind": "lines", "lines": [line for line in counts if line]}


def count_line(
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
        more: places behind the number, listed when the line is opened: text, count and address of
            each.
        aside: a few words after it.
        key: distinguishes the line from others.
    """
    listed = list(more)
    places = [
        {"text": one, "to": where} | ({} if many is None else {"count": f"{many:,}"})
        for one, many, where in listed[:MORE]
    ]
    count_parts = (
        {} if number is None else {"count": f"{number:,}" if isinstance(number, int) else number}
    )
    rest = f"and {len(listed) - MORE:,} more" if len(listed) > MORE else ""
    return count_parts | {
        "text": words,
        "to": address,
        "tone": tone,
        "more": places,
        "rest": rest,
        "aside": aside,
        "key": key,
    }


def curate_door(
    work: CurationWork, person: str, queries: int, items: int, graded: bool
) -> dict[str, Any]:
    """Return the door to the question bank.

    Args:
        queries: number of queries without exams.
        items: number of exam items.
        person: name of the person; empty if they have not entered it.
        graded: whether anything is graded; otherwise ungraded pairs are unknown.
    """
    unsaved = sum(draft.count for draft in work.drafts)
    waiting = [
        _queries_line(
            work.without_questions, "without active questions", "without-questions", counted=False
        ),
        _queries_line(work.ungraded, "with ungraded pairs", "ungraded"),
        count_line(
            unsaved,
            "unsaved change by you" if unsaved == 1 else "unsaved changes by you",
            more=_query_links(work.drafts),
            tone="changed",
            key="unsaved",
        )
        if unsaved
        else None,
        _queries_line(work.proposed, "with proposed questions to accept or reject", "proposed"),
    ]
    if queries:
        which = "All queries with passages" if work.resting else "All queries"
        nothing = f"{which} have questions{', and all their pairs are graded' if graded else ''}."
        if work.resting:
            nothing += f" Queries without passages and questions: {work.resting:,}."
    elif items:
        nothing = f"The question bank has {how_many(items, 'exam items')}, which examinees answer."
    else:
        nothing = "No queries yet."
    blocks = [lines_block(waiting) if any(waiting) else text_block(nothing)]
    if person and not unsaved:
        blocks.append(text_block("You have no unsaved changes.", key="no-unsaved"))
    return make_panel("Curate the questions", blocks, screen_link("question_bank"))


def _queries_line(
    waiting: list[WaitingQuery], what: str, key: str, counted: bool = True
) -> dict[str, Any] | None:
    if not waiting:
        return None
    noun = "query" if len(waiting) == 1 else "queries"
    return count_line(len(waiting), f"{noun} {what}", more=_query_links(waiting, counted), key=key)


def _query_links(
    waiting: list[WaitingQuery], counted: bool = True
) -> list[tuple[str, int | None, str]]:
    return [
        (
            query.text,
            query.count if counted else None,
            screen_link("question_bank", query=query.query_id),
        )
        for query in waiting
    ]


def review_door(
    agreed: LabelJudgmentAgreement | None, stale: list[labels.Override], judged: int, graded: bool
) -> dict[str, Any]:
    """Return the door to disagreements and overrides.

    Args:
        agreed: None if no passage has both a label and a judgment.
        judged: number of judgments.
        graded: whether anything is graded.
    """
    if agreed is None:
        reasons = (
            (
                not judged,
                "no-judgments",
                "No judgments yet. Import judgments, or judge passages yourself.",
            ),
            (
                not graded,
                "no-labels",
                "No labels to compare judgments with. Grade the pool first.",
            ),
            (True, "nothing-in-common", "No passage has both a label and a judgment yet."),
        )
        key, lacking = next((key, words) for applies, key, words in reasons if applies)
        blocks = [text_block(lacking, key=key)]
        blocks.append(lines_block([count_line(None, "Judge passages", screen_link("my_work"))]))
    else:
        case_noun = "open disagreement" if agreed.open == 1 else "open disagreements"
        blocks = [
            lines_block(
                [
                    count_line(
                        agreed.open,
                        f"{case_noun} with {agreed.source}",
                        screen_link("disagreements"),
                        key="open",
                    ),
                    count_line(
                        agreed.settled, "resolved", screen_link("disagreements", view="record")
                    )
                    if agreed.settled
                    else None,
                    _stale_line(stale),
                    count_line(
                        None, "Show the largest differences first", screen_link("disagreements")
                    )
                    if agreed.open
                    else None,
                    count_line(
                        None,
                        "Show the largest effects on the leaderboard first",
                        screen_link("disagreements", order="board"),
                    )
                    if agreed.open
                    else None,
                    count_line(None, "Judge passages", screen_link("my_work")),
                ]
            )
        ]
    return make_panel("Review the ratings", blocks, screen_link("disagreements"))


def _stale_line(stale: list[labels.Override]) -> dict[str, Any] | None:
    if not stale:
        return None
    return count_line(
        len(stale),
        "stale override (question reworded)"
        if len(stale) == 1
        else "stale overrides (questions reworded)",
        tone="changed",
        key="stale",
        more=[
            (
                override.wording_now,
                None,
                screen_link(
                    "passages",
                    query=override.query_id,
                    passage=override.passage_id,
                    question=override.question_id,
                ),
            )
            for override in stale
        ],
    )


def publish_door(
    progress: labels.Progress | None, stale: int, published: exchange.Manifest | None
) -> dict[str, Any]:
    """Return the door to the qrels with their basis.

    Args:
        stale: number of overrides that do not count until a person confirms them.
        published: the manifest of the last publication.
    """
    address = screen_link("export")
    if progress is None:
        return make_panel(
            "Publish the qrels", [text_block("No labels yet. Grade the pool first.")], address
        )
    labelled = sum(number for label, number in progress.labels.items() if label is not None)
    share, _, basis = labels.graded_sentence(progress.rated, progress.needed).partition(" ")
    blocks = [
        lines_block(
            [
                count_line(
                    labelled, f"label{'s' * (labelled != 1)} in the qrels", address, key="labels"
                ),
                count_line(share, basis, screen_link("grading")) if share else None,
                count_line(
                    progress.partial_labels,
                    f"partial label{'s' * (progress.partial_labels != 1)} (some pairs"
                    " ungraded or failed)",
                    address,
                )
                if progress.partial_labels
                else None,
                count_line(
                    stale,
                    f"stale override{'s' * (stale != 1)}, not used until confirmed",
                    address,
                    tone="changed",
                )
                if stale
                else None,
            ]
        )
    ]
    if published is None:
        blocks.append(text_block("No publications yet."))
    else:
        when = datetime.fromisoformat(published["published_at"])
        said = f"Last published on {when:%d %B %Y} by {published['published_by']}:"
        blocks.append(text_block(f"{said} {how_many(published['qrels']['lines'], 'lines')}."))
    return make_panel("Publish the qrels", blocks, address)


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


def contents_panel(counts: dict[str, int]) -> dict[str, Any]:
    """Return the counts of the project's contents, and of those known only by id."""
    missing = [
        count_line(
            counts[name],
            f"{name if counts[name] > 1 else name.replace('s without', ' without')}: import {what}",
            tone="changed",
        )
        for name, what in (
            ("passages without text", "the texts before grading"),
            ("questions without text", "the question bank with the texts"),
        )
        if counts[name]
    ]
    # Items are questions, and exams are queries, but both have counts of their own.
    counts_shown = counts | {
        "queries": counts["queries"] - counts["exams"],
        "questions": counts["questions"] - counts["items"],
    }
    of_exams = () if counts["items"] or counts["students"] else ("items", "students")
    present_counts = [
        count_line(
            counts_shown[name],
            how_many(counts_shown[name], name.replace("student", "examinee")).partition(" ")[2],
            screen_link(screen),
        )
        for name, screen in COUNTED.items()
        if name not in of_exams
    ]
    return make_panel(
        "Project contents",
        [{"kind": "counts", "lines": present_counts}, lines_block(missing) if missing else None],
    )


def grading_panel(progress: labels.Progress | None, failed: int) -> dict[str, Any]:
    """Return how many pairs behind the labels are graded, and the distribution of the labels.

    Args:
        failed: number of failed pairs of all graders, shown before anything is graded.
    """
    address = screen_link("grading")
    if progress is None:
        more = f"Failed pairs (no usable rating): {failed:,}." if failed else ""
        return make_panel(
            "Grading", [text_block("No grades yet."), text_block(more) if more else None], address
        )
    labelled = [(label, number) for label, number in progress.labels.items() if label is not None]
    unlabelled = progress.labels.get(None, 0)
    return make_panel(
        "Grading",
        [
            bar_block(
                "Question–passage pairs",
                [
                    ("graded", progress.graded, "rated", address),
                    (
                        "overridden",
                        progress.overridden,
                        "person",
                        screen_link("passages", overridden="true"),
                    ),
                    ("failed", progress.failed, "failed", address),
                    ("ungraded", progress.ungraded, "open", address),
                    ("without text", progress.without_text, "textless", screen_link("passages")),
                ],
            ),
            text_block("Labels of passages"),
            bar_block(
                "Labels of passages",
                [
                    *(
                        (
                            f"label {label}",
                            number,
                            f"r{label}",
                            screen_link("passages", has_label=str(label)),
                        )
                        for label, number in labelled
                    ),
                    (
                        "without label",
                        unlabelled,
                        "none",
                        screen_link("passages", has_label="none"),
                    ),
                ],
            ),
        ],
        address,
        labels.graded_sentence(progress.rated, progress.needed),
    )


def agreement_panel(agreed: LabelJudgmentAgreement | None) -> dict[str, Any]:
    """Return the agreement of labels with judgments, both as binary values."""
    address = screen_link("disagreements")
    if agreed is None:
        return make_panel(
            "Agreement", [text_block("No passage has both a label and a judgment.")], address
        )
    table, kappa = agreed.merged.table, agreed.merged.kappa
    counts = table.counts
    same = float((counts[0, 0] + counts[1, 1]) / counts.sum()) if counts.sum() else None
    number = (
        f"kappa {ui.as_number(kappa.value, 2)}" if kappa.value is not None else "kappa undefined"
    )

    def cell_link(row: int, column: int) -> str:
        return screen_link(
            "disagreements", cell=of_cell((table.row_members[row], table.column_members[column]))
        )

    return make_panel(
        "Agreement",
        [
            bar_block(
                f"Passages with a label and a judgment (source: {agreed.source})",
                [
                    ("relevant by both", int(counts[0, 0]), "rated", cell_link(0, 0)),
                    ("relevant by label only", int(counts[0, 1]), "one", cell_link(0, 1)),
                    ("relevant by judgment only", int(counts[1, 0]), "other", cell_link(1, 0)),
                    ("not relevant by both", int(counts[1, 1]), "textless", cell_link(1, 1)),
                ],
            ),
            text_block(
                f"Labels and judgments (source: {agreed.source}) agree on relevance for "
                f"{ui.as_percent(same)} of"
                f" passages ({number}). {agreed.confirms}".rstrip()
            ),
        ],
        address,
    )


def board_panel(leading: board_summary.BoardSummary | None) -> dict[str, Any]:
    """Return the best systems with their error bars, and the sentence above the leaderboard."""
    address = screen_link("leaderboard")
    if leading is None or not leading.board.systems:
        return make_panel(
            "Leaderboard",
            [text_block("No leaderboard yet. Import runs and grade the pool.")],
            address,
        )
    systems = leading.board.systems
    systems_shown = systems[:SYSTEMS]
    names = run_names.short_names(system.run for system in systems_shown)
    spans = [
        (system.score - (system.std_error or 0), system.score + (system.std_error or 0))
        for system in systems_shown
    ]
    low, high = min(span[0] for span in spans), max(span[1] for span in spans)
    width = (high - low) or 1.0
    rows = [
        {
            "rank": str(system.rank),
            "name": names[system.run],
            "title": f"{system.run}: {system.score:.4f}"
            + (f" ± {system.std_error:.4f}" if system.std_error else ""),
            "score": f"{system.score:.3f}",
            "at": (system.score - low) / width,
            "from": (span[0] - low) / width,
            "till": (span[1] - low) / width,
            "to": screen_link("leaderboard", followed=system.run),
        }
        for system, span in zip(systems_shown, spans, strict=True)
    ]
    parts = (leading.separation, leading.queries, leading.agreement)
    sentences = [*(f"{part}." for part in parts if part), leading.board.too_few or ""]
    rest = f"{len(systems):,} systems by {leading.board.measure}"
    drawn: Block = {"kind": "systems", "rows": rows}
    return make_panel(
        "Leaderboard", [drawn, text_block(" ".join(sentences).rstrip())], address, rest, wide=True
    )


def latest_panel(project: Project) -> dict[str, Any]:
    """Return the latest actions."""
    acts = list_actions(project, page_size=ACTS).acts
    return make_panel(
        "Recent activity",
        [lines_block([_act_line(act) for act in acts])]
        if acts
        else [text_block("No activity yet.")],
        screen_link("activity"),
    )


def _act_line(act: ActivityEntry) -> dict[str, Any]:
    screen, query = act.place or ("activity", {})
    words = ui.shorten_text(f"{act.author} {act.said}", 150)
    return count_line(None, words, screen_link(screen, **query), aside=ago(act.happened_at))


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
    return (
        f"{passed // timedelta(hours=1)} h ago"
        if passed < timedelta(days=1)
        else f"{then:%d %b %Y}"
    )
