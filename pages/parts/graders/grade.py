"""The display of a grade: its rating, its origin, and the probability of each rating."""

from collections.abc import Sequence

import streamlit as st

from exam_workbench.types import Grade
from pages.parts.shared import look, ui
from pages.parts.shared.html import visible

STYLE = """<style>
.ew-grade { display: flex; flex-wrap: wrap; gap: 0.2rem 0.7rem; align-items: baseline; }
.ew-grade > span:not(.ew-rating) { color: var(--ew-dim); }
.ew-grade > .ew-rating { font-size: 1.25rem; }
.ew-spread { border-collapse: collapse; margin-top: 0.5rem; font-size: 0.9rem; }
.ew-spread :is(th, td) { padding: 0.1rem 0.6rem 0.1rem 0; text-align: start; font-weight: 400; }
.ew-spread td:last-child { text-align: end; font-variant-numeric: tabular-nums; }
.ew-spread .track { width: 12rem; }
.ew-spread .bar { height: 0.7rem; border-radius: 0.2rem; outline: 1px solid var(--ew-line); }
</style>"""
DEFAULTED = "default rating: the answer has no number (0 if it says that the question is unanswerable, else 1)"


def show_grade(grade: Grade, top: int, address: str | None = None) -> None:
    """Draw a grade: rating, status, confidence, and the probability of each rating if known.

    Args:
        top: the highest rating of the grader.
        address: address of the endpoint, shown with a failure; None for a model on this computer.
    """
    if grade.status == "failed":
        place = f" at {address}" if address else ""
        st.container(key="grade failed").error(
            ui.plain(f"Failed{place}: {(grade.reason or 'no usable rating').rstrip('.')}.")
            + " The pair has no rating.",
            icon=":material/error:",
        )
    else:
        st.html(STYLE + grade_html(grade, top))
    if grade.answer:
        st.caption("Answer")
        st.text(grade.answer)
    if grade.note:
        st.caption(f":material/info: {ui.plain(grade.note)}")


def grade_html(grade: Grade, top: int) -> str:
    """Return a grade with a rating as HTML."""
    words = [f"of {top}", DEFAULTED if grade.status == "defaulted" else grade.status]
    if grade.confidence is not None:
        words.append(f"model's confidence {ui.percent(grade.confidence)}")
    said = "".join(f"<span>{visible(word)}</span>" for word in words)
    return f'<div class="ew-grade">{look.rating(grade.rating)}{said}</div>{_spread(grade.distribution or ())}'


def _spread(probabilities: Sequence[float]) -> str:
    """Return the probability of every rating, as bars."""
    if not probabilities:
        return ""
    rows = "".join(
        f'<tr><th scope="row">{look.rating(rating)}</th>'
        f'<td class="track"><div class="bar" style="width: {share:.1%}; background: var(--ew-r{rating})"></div></td>'
        f"<td>{share:.0%}</td></tr>"
        for rating, share in enumerate(probabilities)
    )
    return f'<table class="ew-spread" aria-label="Probability of each rating">{rows}</table>'
