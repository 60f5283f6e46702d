"""The cascade on the Grading screen: planned, priced beside the plain baseline, asked part by part, with its board."""

from __future__ import annotations

import streamlit as st

from core.cascade import (
    ALPHA,
    DELTA,
    SAMPLE,
    Boards,
    Cascade,
    Part,
    Portion,
    boards,
    calibrate,
    cascades,
    gather,
    grader_of,
    plan,
    portions,
    request_of,
)
from core.catalogue import find_grader, graders, named_graders
from core.errors import WorkbenchError
from core.graders import Grader
from core.grading import PriceTag, Request
from core.measures.cascade import AGREEMENTS, PROMISES
from core.project import Project
from pages.parts.shared import presses, ui
from pages.parts.shared.job_plan import budget, start

PORTIONS = {
    "sample": "The sample",
    "escalated": "All that it asks again, the sample among it",
    "baseline": "Baseline: only the union of what systems rank within the cutoff",
    "pool": "The whole pool",
}
AGREE = {"relevance": "on one side of the min rating", "label": "in the label itself"}
OF = {"all": "of the board's weight", "kept": "of the weight that keeps cheap labels"}
CHOSEN = "cascade"


def cascade(project: Project) -> None:
    """Plan a cascade, or choose one and see what it costs, ask its next part, and look at its board."""
    graded = {one.spec.fingerprint: one.spec.name for one in graders(project) if one.grades}
    known = [one.name for one in reversed(cascades(project))]
    if not graded and not known:
        return
    st.header("Cascade", anchor=False)
    st.caption(
        "A cheap grader grades all, an expensive one is asked again where the cheap one is unsure and the board would "
        "feel it. How much that is, a sample tells, with a promise. Beside it always stands the plain baseline: the "
        "expensive grader on nothing but the union of the systems' tops."
    )
    with st.expander("Plan a cascade"):
        _plan(project, graded)
    if not known:
        return
    name = st.selectbox("Show", known, index=None, key=CHOSEN, placeholder="Choose a cascade")
    if name is not None:
        with ui.errors():
            _show(project, next(one for one in cascades(project) if one.name == name))


def _plan(project: Project, graded: dict[str, str]) -> None:
    named = {one.name: one.name for one in named_graders(project) if one.name not in graded.values()}
    columns = st.columns(2)
    cheap = columns[0].selectbox("Cheap grader", list(graded), format_func=graded.__getitem__, key="cascade cheap")
    others = {key: title for key, title in (graded | named).items() if key != cheap}
    expensive = columns[1].selectbox(
        "Expensive grader", list(others), format_func=others.__getitem__, key="cascade expensive",
        help="One that has graded here, or that is kept under a name above.",
        placeholder="Keep one under a name first, with Save as" if not others else "Choose one",
    )  # fmt: skip
    name = columns[0].text_input("Name of the cascade", key="cascade name")
    measure = columns[1].text_input(
        "Weighs by", "nDCG@10", key="cascade measure",
        help="What passages weigh on the board: P@k, DCG@k, nDCG@k (as DCG@k), or RBP(p=0.8)@k.",
    )  # fmt: skip
    how, sample_of = st.columns(2), st.columns(3)
    alpha = sample_of[0].number_input("Disagrees at most", 0.01, 0.99, ALPHA, 0.01, key="cascade alpha")
    promise = how[0].selectbox("Share", PROMISES, format_func=OF.__getitem__, key="cascade promise")
    agreement = how[1].selectbox("Agree", AGREEMENTS, format_func=AGREE.__getitem__, key="cascade agreement")
    sure = sample_of[1].number_input(
        "Promise (1 − δ)", 0.01, 0.99, 1 - DELTA, 0.01, key="cascade promised",
        help="How often the share that disagrees is not larger, over samples that could have been drawn.",
    )  # fmt: skip
    sample = sample_of[2].number_input("Draws of the sample", 3, None, SAMPLE, key="cascade sample")
    if presses.button("Plan", icon=":material/stairs:", disabled=cheap is None or expensive is None):
        with ui.errors():
            made = plan(
                project, name, str(cheap), str(expensive), measure, sample=int(sample), alpha=alpha,
                delta=round(1 - sure, 6), agreement=agreement, promise=promise, author=ui.author(),
            )  # fmt: skip
            st.session_state[CHOSEN] = made.name
            st.rerun()


def _show(project: Project, made: Cascade) -> None:
    cheap, expensive = (find_grader(project, one).spec.name for one in (made.cheap, made.expensive))
    st.markdown(
        f"**{ui.plain(expensive)}** is asked where **{ui.plain(cheap)}** is unsure. At most {made.alpha:.0%} "
        f"{OF[made.promise]} disagrees {AGREE[made.agreement]}, in {1 - made.delta:.0%} of samples; "
        f"weighed by {ui.plain(made.measure)}, bank version {made.policy.bank_version}."
    )
    try:
        grader: Grader | None = grader_of(project, made)
    except WorkbenchError as error:
        grader = None
        st.caption(f":material/info: {ui.plain(error.message)} {ui.plain(error.hint or '')}")
    found = project.remember(("cascade portions", made.key, grader is None), lambda: portions(project, made, grader))
    _portions(found)
    if grader is not None:
        _next(project, made, grader)
    if not gather(project, made).sample_open:
        _promised(project, made)
        _board(project.remember(("cascade boards", made.key), lambda: boards(project, made)))


def _portions(found: list[Portion]) -> None:
    st.dataframe(
        {
            "What": [PORTIONS[one.name] for one in found],
            "Passages": [one.passages for one in found],
            "Pairs": [None if one.plan is None else one.plan.needed for one in found],
            "Known": [None if one.plan is None else one.plan.known for one in found],
            "To grade": [None if one.plan is None else one.plan.to_grade for one in found],
            "Price": [_price(one.price) if one.plan is not None else "told by the sample" for one in found],
        },
        hide_index=True,
        placeholder="–",
    )


def _price(tag: PriceTag | None) -> str | None:
    if tag is None or not tag.calls:
        return None
    return f"{tag.calls:,} calls" + ("" if tag.cost is None else f", ≈ {tag.cost:,.2f}")


def _next(project: Project, made: Cascade, grader: Grader) -> None:
    """The buttons that ask the next part, or the baseline alone."""
    request = budget(project, grader, Request(), "cascade")
    parts: dict[Part, str] = {
        "sample": "Grade the sample",
        "escalated": "Grade what it asks again",
        "baseline": "Grade the baseline alone",
    }
    with st.container(horizontal=True):
        for part, label in parts.items():
            if presses.button(label, disabled=not _missing(project, made, part), icon=":material/play_arrow:"):
                with ui.errors():
                    asked = request_of(project, made, part, request)
                    if asked is not None:
                        start(project, grader, asked)


def _missing(project: Project, made: Cascade, part: Part) -> bool:
    # The caps are only part of how it is asked, and change nothing of whether there is something to ask.
    return project.remember(
        ("cascade part", made.key, part), lambda: request_of(project, made, part, Request()) is not None
    )  # fmt: skip


def _promised(project: Project, made: Cascade) -> None:
    """What the sample says."""
    told = calibrate(project, made)
    chosen = told.decision.guarantee.chosen
    if not chosen.kept:
        st.info("No threshold keeps the promise: all on the board is asked again, which is the plain baseline.")
        return
    st.caption(
        f"{told.escalated:,} of {told.union:,} passages on the board are asked again, {told.sampled:,} of them in the "
        f"sample. By the sample at most {chosen.bound:.1%} disagrees at this threshold; {told.waiting:,} wait to be "
        "asked."
    )


def _board(found: Boards) -> None:
    """The board of the cascade beside the others, and how near each is to whatever is known whole."""
    others = found.others
    ranks = {label: {one.run: one.rank for one in board.systems} for label, board in others.items()}
    st.dataframe(
        {
            "Rank": [one.rank for one in found.cascade.systems],
            "Run": [one.run for one in found.cascade.systems],
            found.cascade.measure: [one.score for one in found.cascade.systems],
            "Std error": [one.std_error for one in found.cascade.systems],
            **{f"Rank: {label}": [rank.get(one.run) for one in found.cascade.systems] for label, rank in ranks.items()},
        },
        column_config={
            name: st.column_config.NumberColumn(format="%.4f") for name in (found.cascade.measure, "Std error")
        },
        hide_index=True,
        placeholder="–",
    )
    near = [
        f"{name} with {other} {told.kendall:z.3f}"
        for name, by in found.correlations().items()
        for other, told in by.items()
        if told.kendall is not None
    ]
    if near:
        st.caption(f"Kendall's tau: {', '.join(near)}.")
    st.caption(
        f"{found.labels.from_expensive:,} of {len(found.labels.labels):,} labels are the expensive grader's. The board "
        f"“top {found.depth}” rests on {found.baseline_passages:,} passages alone; the baseline down to rank "
        f"{found.cutoff} has {found.cutoff_passages:,}. The labels with the grader whose each is: exam cascade labels."
    )
