"""A passage and its questions as HTML; text from outside is escaped and shown completely."""

import html
from collections.abc import Mapping

from exam_workbench import bank, labels, review, types
from pages.parts.shared import look, ui

MOVERS_SHOWN = 5

RATES_ONLY = ("self-rating", "direct")
"""Methods whose answers are ratings rather than parts of the passage, unless they have several
words.
"""

CONTROLS = {code: chr(0x2400 + code) for code in range(32) if chr(code) not in "\n\t"}
CONTROLS |= {0x7F: "\u2421"} | {code: f"[U+{code:04X}]" for code in range(0x80, 0xA0)}
"""Visible replacements of control characters."""


def as_html(text: str) -> str:
    """Return text from outside as inert HTML that shows every character."""
    return html.escape(as_shown(text))


def as_shown(text: str) -> str:
    """Return text from outside with control characters made visible; it is not escaped for HTML."""
    return text.replace("\r\n", "\n").translate(CONTROLS)


Mark = tuple[review.Span, int, str, bool]
"""Span, number of the question, tooltip, and whether the rating is below the min rating."""


def text_html(text: str, marks: list[Mark]) -> str:
    """Return the passage with marked answers, each with the number of its question."""
    pieces = review.cut_segments(text, [span for span, _, _, _ in marks])
    return (
        '<div class="passage-text" dir="auto"'
        f' tabindex="0">{"".join(_mark_up(one, marks) for one in pieces)}</div>'
    )


def answer_marks(
    desk: review.PassageDetails, graders: Mapping[str, types.GraderSpec], min_rating: int
) -> list[Mark]:
    """Return the spans of the answers that graders extracted from the passage, unless they are
    rated 0 or failed.

    Args:
        graders: by name.
        min_rating: from the scoring settings; the scale of a grader may end below it.
    """
    marks_by_span: dict[tuple[review.Span, int], Mark] = {}
    for shown_question in desk.asked:
        for grader, grade in shown_question.said.items():
            spec = graders[grader]
            only_rated = spec.method in RATES_ONLY and len((grade.answer or "").split()) < 3
            if only_rated or not grade.rating:
                continue
            if span := review.find_answer(desk.text or "", grade.answer):
                short = grade.rating < spec.min_rating(min_rating)
                title = (
                    f"{shown_question.number}. {shown_question.question.shown_text}"
                    f" (rated {grade.rating} by {grader})"
                )
                marks_by_span.setdefault(
                    (span, shown_question.number), (span, shown_question.number, title, short)
                )
    return list(marks_by_span.values())


def _mark_up(segment: review.Segment, marks: list[Mark]) -> str:
    content = as_html(segment.text)
    if not segment.inside:
        return content
    inside = [marks[i] for i in segment.inside]
    title = html.escape(
        "\n".join(title for _, _, title, _ in inside).translate(CONTROLS), quote=True
    )
    short = ' class="short"' if all(short for _, _, _, short in inside) else ""
    numbers = ", ".join(
        str(number) for number in dict.fromkeys(marks[i][1] for i in segment.ending)
    )
    return f'<mark title="{title}"{short}>{content}</mark>' + (
        f"<sup>{numbers}</sup>" if numbers else ""
    )


def passage_html(desk: review.PassageDetails, marks: list[Mark], labelled: bool) -> str:
    """Return the query and the passage, which are always in sight.

    Args:
        marks: spans of answers.
        labelled: whether to show the label with its origin.
    """
    lines = [f'<h2 dir="auto">{as_html(ui.shorten_text(desk.query, ui.HEADING))}</h2>']
    if desk.narrative:
        narrative = as_html(ui.shorten_text(desk.narrative, ui.HEADING))
        begins = f'<b>Narrative</b> <span dir="auto">{narrative}</span>'
        lines.append(
            f'<details><summary>{begins}</summary><div dir="auto">{narrative}</div></details>'
        )
    if desk.text is None:
        lines.append(
            f'<p class="dim">Passage {as_html(desk.passage_id)} has no text. Import it on Home.</p>'
        )
    else:
        lines.append(text_html(desk.text, marks))
    foot = [_label_html(desk)] if labelled else []
    foot += [f'<span class="dim">Passage {as_html(desk.passage_id)}</span>']
    if desk.signs:
        found = ", ".join(
            sign.what + (f" (“{sign.words}”)" if sign.words else "") for sign in desk.signs
        )
        foot.append(f'<span class="speaks">Addresses the grader: {as_html(found)}.</span>')
    lines.append(f'<div class="foot">{"".join(foot)}</div>')
    return f'<div class="desk-passage">{"".join(lines)}</div>'


def _label_html(desk: review.PassageDetails) -> str:
    """Return the label of a passage, the questions that determine it, the share of rated pairs."""
    if not desk.pooled:
        return '<span class="dim">No label: the passage is not in the pool.</span>'
    given = [str(one.number) for one in desk.asked if one.gives_label and one.number]
    notes = [f"from question{'s' * (len(given) > 1)} {', '.join(given)}"] if given else []
    partial = "" if desk.label is None else "partial: "
    notes += (
        [f"{partial}{desk.usable} of {desk.needed} pairs have a rating"]
        if desk.usable < desk.needed
        else []
    )
    about = f' <span class="dim">{" · ".join(notes)}</span>' if notes else ""
    return f'<div class="label">Label {look.rating_html(desk.label)}{about}</div>'


def difference_html(before: str, after: str) -> str:
    """Return HTML of a text before and after: removed words struck out, added words underlined."""
    tags = {"same": "{}", "removed": "<del>{}</del>", "added": "<ins>{}</ins>"}
    parts = [tags[tag].format(as_html(part)) for tag, part in bank.word_difference(before, after)]
    # A space separates a removed word from the added one.
    return "".join(parts).replace("</del><ins>", "</del> <ins>")


def effect_text(effect: review.Effect, title: str) -> str:
    """Return the effect of ratings on the passage's label and on the leaderboard, as Markdown."""
    before, after = name_label(effect.label_before), name_label(effect.label_after)
    label = f"The label stays {before}." if before == after else f"**Label {before} → {after}**"
    measure, systems = effect.after.measure, effect.systems
    jumped = sum(system.rank_before != system.rank_after for system in systems)
    moves = f"{jumped} change{'s' * (jumped == 1)} rank" if jumped else "No system changes its rank"
    scores = (
        f"{moves}, {len(systems)} of {len(effect.after.systems)} change {measure}:"
        if systems
        else f"No change in {measure}."
    )
    moved = [
        f"- {ui.escape(system.run)}: {ui.as_number(system.score_before, 4)} →"
        f" {ui.as_number(system.score_after, 4)},"
        f" rank {' → '.join(dict.fromkeys((str(system.rank_before), str(system.rank_after))))}"
        for system in systems[:MOVERS_SHOWN]
    ]
    if (rest := len(systems) - MOVERS_SHOWN) > 0:
        moved.append(f"- and {rest} more")
    parts = [f"**{title}**", label, ui.escape(scores), "\n".join(moved)]
    if (shift := effect.shift) is not None:
        pair = (
            "undefined"
            if shift.before is None or shift.after is None
            else f"{shift.before:z.3f} → {shift.after:z.3f}"
        )
        sentence = (
            f"Spearman with the official leaderboard: {pair}. {shift.says}"
            f" {shift.queries.description}"
        )
        parts.append(ui.escape(sentence))
    return "\n\n".join(parts)


def override_html(item: labels.Override, without: int | None, now: int | None, text: str) -> str:
    """Return an override for the list, with the label of its passage without and with it."""
    state = (
        '<span class="stale">stale</span>'
        if item.stale
        else "waiting for adjudication"
        if item.held
        else "current"
    )
    label = (
        f"label {name_label(without)} → {name_label(now)}"
        if without != now
        else f"label {name_label(now)} with and without it"
    )
    return (
        f'<div class="asked">{look.rating_html(item.rating)} <span'
        f' class="words">{as_html(item.wording_now)}</span>'
        f'<div class="answer">{as_html(text)}</div>'
        f'<span class="gray">{state} · {label} · by {as_html(item.author)},'
        f" {item.made_at:%d %B %Y}:"
        f" {as_html(item.reason)}</span></div>"
    )


def name_label(label: int | None) -> str:
    """Return a label in words."""
    return "none" if label is None else str(label)
