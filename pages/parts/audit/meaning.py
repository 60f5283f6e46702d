"""The meaning of labels in judgments, and proposals for a min rating and for cut points."""

import streamlit as st

from exam_workbench import audit as room
from exam_workbench import catalogue, errors
from exam_workbench.audit import Audit, Calibration, Share
from exam_workbench.project import Project
from pages.parts.shared import look, presses, ui

STYLE = """
.ew-shares { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: 0.93rem; }
.ew-shares :is(th, td) { padding: 0.2rem 0.7rem; text-align: right; font-weight: 400; white-space: nowrap;
  border-bottom: 1px solid var(--ew-line); }
.ew-shares thead th { color: var(--ew-dim); font-size: 0.83rem; vertical-align: bottom; }
.ew-shares .share { position: relative; display: block; min-width: 6.5rem; height: 1.7rem; line-height: 1.35rem; }
.ew-shares .share i { position: absolute; bottom: 0; height: 4px; border-radius: 2px; }
.ew-shares .share .all { left: 0; right: 0; background: var(--ew-line); }
.ew-shares .share .range { background: color-mix(in srgb, #3b73b9 55%, transparent); }
.ew-shares .share .at { width: 4px; margin-left: -2px; background: light-dark(#1f2428, #e4e7ea); }
.ew-shares .none { color: var(--ew-dim); }
.ew-shares .now > :is(th, td) { background: light-dark(#f0f4f8, #1f2a33); }
.ew-shares small { color: var(--ew-dim); }
.ew-scroll { overflow-x: auto; container-type: inline-size; }
@container (max-width: 44rem) {
  .ew-shares { font-size: 0.86rem; } .ew-shares :is(th, td) { padding: 0.2rem 0.35rem; }
  .ew-shares .share { min-width: 4.9rem; }
}
"""


def draw(project: Project, audit: Audit) -> None:
    """Draw the meaning of each label, the effect of each min rating, and proposals that can be applied."""
    try:
        found = room.calibration(project, audit)
    except errors.WorkbenchError as error:
        ui.empty(error.message, error.hint or "")
        return
    st.html(f"<style>{STYLE}</style>")
    st.subheader("Judgments by label", anchor=False)
    st.caption(
        "For each label: the estimated share of its passages with each judgment, and its interval.",
        help="These shares are estimates for the whole pool. They may differ for the top passages of one system.",
    )
    st.html(_meanings(found))
    st.subheader("Label quality by min rating", anchor=False)
    st.html(_min_ratings(found))
    _take_min_rating(found)
    if found.cuts or found.new_cuts:
        _cuts(project, audit, found)


def _share(share: Share | None) -> str:
    """Return a percentage above its interval, as HTML."""
    if share is None or share.value is None or share.low is None or share.high is None:
        return '<span class="none">–</span>'
    low, high = (min(max(100 * end, 0.0), 100.0) for end in (share.low, share.high))
    return (
        f'<span class="share" title="{share.value:.3f} [{share.low:.3f}, {share.high:.3f}]">{share.value:.0%}'
        f' <small>{low:.0f}–{high:.0f}</small><i class="all"></i>'
        f'<i class="range" style="left:{low:.1f}%;width:{high - low:.1f}%"></i>'
        f'<i class="at" style="left:{100 * share.value:.1f}%"></i></span>'
    )


def _table(head: list[str], rows: list[tuple[bool, list[str]]]) -> str:
    """Return an HTML table with row headings; rows that apply now are tinted."""
    names = "".join(f'<th scope="col">{one}</th>' for one in head)
    body = "".join(
        f'<tr{" class=now" * now}><th scope="row">{first}</th>{"".join(f"<td>{one}</td>" for one in rest)}</tr>'
        for now, (first, *rest) in rows
    )
    return (
        '<div class="ew-scroll" tabindex="0" role="group" aria-label="Table"><table class="ew-shares">'
        f"<thead><tr>{names}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def _meanings(found: Calibration) -> str:
    values = sorted({value for one in found.meanings for value in one.chances})
    head = ["Label", "Passages", "Judged", *(f"judged {value}" for value in values), "Mean"]
    return _table(
        head,
        [
            (
                False,
                [
                    look.rating(one.label), f"{one.passages:,}", f"{one.judged:,}",
                    *(_share(one.chances.get(value)) for value in values), ui.number(one.mean, 2),
                ],
            )
            for one in reversed(found.meanings)
        ],
    )  # fmt: skip


def _min_ratings(found: Calibration) -> str:
    rows = []
    for one in found.min_ratings:
        marks = [*(["now"] if one.rating == found.min_rating else []), *(["balanced"] * (one.rating == found.balanced))]
        told = one.quality
        kappa = told.kappa
        said = "–" if kappa.value is None else f"{kappa.value:z.2f} <small>{kappa.low:z.2f}–{kappa.high:z.2f}</small>"
        name = f"{one.rating} <small>{' and '.join(marks)}</small>"
        rows.append(
            (one.rating == found.min_rating, [name, *map(_share, (told.precision, told.recall, told.accuracy)), said])
        )
    return _table(["Min rating", "Precision", "Recall", "Accuracy", "Kappa"], rows)


def _take_min_rating(found: Calibration) -> None:
    if found.balanced is None:
        st.caption("Precision and recall are undefined at every min rating. Judge more passages.")
    elif found.balanced == found.min_rating:
        st.container(key="balanced").caption(
            f"Precision and recall are closest at {found.balanced}, the min rating of this audit."
        )
    else:
        with st.container(horizontal=True, vertical_alignment="center"):
            st.container(key="balanced").markdown(f"Precision and recall are closest at **{found.balanced}**.")
            ui.go("leaderboard", f"Use min rating {found.balanced}", tau=str(found.balanced))


def _cuts(project: Project, audit: Audit, found: Calibration) -> None:
    st.subheader("Cut points of the embedding grader", anchor=False)
    st.markdown(f"Current: {_listed(found.cuts)}.")
    if not found.new_cuts:
        st.caption(ui.plain(found.why_no_cuts))
        return
    st.markdown(f"Fitted to the judgments: **{_listed(found.new_cuts)}**.")
    with st.container(horizontal=True, vertical_alignment="bottom"):
        name = st.text_input("Name of the new grader", f"Embedding, {audit.name}", key="cuts-name", width=320)
        accepted = presses.button("Add grader", icon=":material/add:", key="accept cuts")
    if accepted:
        with ui.errors():
            room.accept_cut_points(project, audit, name, ui.author())
            st.success(ui.plain(f"Added the grader {name}. To grade with it: {catalogue.grade_command(name)}"))
            ui.go("grading", "Grade with this grader")


def _listed(cuts: tuple[float, ...]) -> str:
    return ", ".join(f"{cut:.3f}" for cut in cuts)
