"""A passage and its questions as HTML: every piece of text from outside is escaped, and nothing of it is hidden."""

from __future__ import annotations

import html

from core.review import AskedQuestion, Desk, Said, Segment, Span, find_answer, segments

RATES_ONLY = ("self-rating", "direct")
"""Methods whose answer is what the model wrote, not a part of the passage, unless it says more than a few words."""

CONTROLS = {code: chr(0x2400 + code) for code in range(32) if chr(code) not in "\n\t"}
CONTROLS |= {0x7F: "\u2421"} | {code: f"[U+{code:04X}]" for code in range(0x80, 0xA0)}
"""What stands for a character that a browser would swallow."""


def visible(text: str) -> str:
    """Text from outside as HTML that shows every character and does nothing."""
    return html.escape(text.replace("\r\n", "\n").translate(CONTROLS))


Mark = tuple[Span, int, str, bool]
"""Where it is, the question's number, what hovering says, and whether the rating falls short."""


def text_html(text: str, marks: list[Mark]) -> str:
    """The passage with answers marked, each numbered by its question."""
    pieces = segments(text, [span for span, _, _, _ in marks])
    return f'<div class="passage-text" dir="auto" tabindex="0">{"".join(_piece(one, marks) for one in pieces)}</div>'


def answer_marks(desk: Desk, methods: dict[str, str], min_rating: int) -> list[Mark]:
    """Where the answers stand that graders extracted from the passage.

    Args:
        methods: of the graders that are looked at, by name.
    """
    found: dict[tuple[Span, int], Mark] = {}
    for one in desk.asked:
        for grader, said in one.said.items():
            if methods.get(grader) in RATES_ONLY and len((said.answer or "").split()) < 3:
                continue
            if span := find_answer(desk.text or "", said.answer):
                title = f"{one.number}. {_words(one)} (rated {said.rating} by {grader})"
                found.setdefault((span, one.number), (span, one.number, title, (said.rating or 0) < min_rating))
    return list(found.values())


def _piece(segment: Segment, marks: list[Mark]) -> str:
    shown = visible(segment.text)
    if not segment.inside:
        return shown
    inside = [marks[i] for i in segment.inside]
    title = html.escape("\n".join(title for _, _, title, _ in inside).translate(CONTROLS), quote=True)
    short = ' class="short"' if all(short for _, _, _, short in inside) else ""
    numbers = ", ".join(str(number) for number in dict.fromkeys(marks[i][1] for i in segment.ending))
    return f'<mark title="{title}"{short}>{shown}</mark>' + (f"<sup>{numbers}</sup>" if numbers else "")


def _words(one: AskedQuestion) -> str:
    return one.question.shown


def question_html(one: AskedQuestion, shown: list[str], hidden: bool) -> str:
    question = one.question
    about: list[str] = [] if question.kind == "question" else [question.kind]
    about += [] if question.weight == 1 else [f"weight {question.weight:g}"]
    about += ["avoid"] if question.weight < 0 else []
    about += ["gives the label"] if one.gives_label and not hidden else []
    head = "The query itself" if one.number == 0 else visible(_words(one))
    lines = [
        f'<span class="gray">{one.number or ""}</span> <span class="words">{head}</span>'
        f' <span class="gray">{html.escape(" · ".join(about))}</span>'
    ]
    if not hidden:
        lines += [_said_html(grader, one.said.get(grader), len(shown) > 1) for grader in shown]
        if one.override is not None:
            given = one.override
            lines.append(
                f'<div class="said"><b>{given.rating}</b><span class="gray">override by {visible(given.author)},'
                f" {given.made_at:%d %B %Y}: {visible(given.reason)}</span></div>"
            )
        lines += [
            f'<div class="said"><span>{old.rating}</span><span class="gray"><span class="stale">stale</span>'
            f" override by {visible(old.author)} of the wording “{visible(old.wording)}”</span></div>"
            for old in one.stale
        ]
    return f'<div class="asked" dir="auto">{"".join(lines)}</div>'


def _said_html(grader: str, said: Said | None, several: bool) -> str:
    name = [grader] if several else []
    if said is None:
        words = visible(" · ".join([*name, "not asked"]))
        return f'<div class="said"><span>–</span><span class="gray">{words}</span></div>'
    more = name + ([] if said.status == "failed" else [said.status])
    more += [] if said.confidence is None else [f"confidence {said.confidence:.0%}"]
    more += [said.reason] if said.reason else []
    more += [said.note] if said.note else []
    failed = '<span class="failed">failed</span> ' if said.status == "failed" else ""
    answer = f'<div class="answer" title="{visible(said.answer)}">{visible(said.answer)}</div>' if said.answer else ""
    rating = "–" if said.rating is None else f"<b>{said.rating}</b>"
    return (
        f'<div class="said"><span>{rating}</span><div>{answer}{failed}'
        f'<span class="gray">{visible(" · ".join(more))}</span></div></div>'
    )
