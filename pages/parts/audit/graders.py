"""All graders of the project, scored by the judgments of one audit, and the grader to choose."""

import streamlit as st

from exam_workbench import audit as room
from exam_workbench.errors import WorkbenchError
from exam_workbench.store import Project
from pages.parts.shared import ui


def draw(project: Project, audit: room.Audit) -> None:
    """Draw the graders by their correlation with the audited leaderboard."""
    try:
        found = room.choose_grader(project, audit)
    except WorkbenchError as error:
        ui.empty(error.message, error.hint or "")
        return
    st.container(key="chosen-grader").markdown(ui.plain(found.says))
    st.dataframe(
        {
            "Grader": [one.grader for one in found.graders],
            "Labelled": [one.labelled for one in found.graders],
            "Correlation": [one.correlation for one in found.graders],
            "Behind the chosen": [_behind(one) for one in found.graders],
            "Not separated": [one.kept for one in found.graders],
        },
        hide_index=True,
        column_config={
            "Labelled": st.column_config.NumberColumn(format="percent", help="Share of the audit's passages"),
            "Correlation": st.column_config.NumberColumn(
                format="%.3f", help="Pearson's correlation of the grader's leaderboard with the audited leaderboard"
            ),
            "Behind the chosen": st.column_config.TextColumn(
                help=f"Difference, with its {found.confidence:.0%} interval"
            ),
            "Not separated": st.column_config.CheckboxColumn(help="No other grader is significantly better."),
        },
    )
    ui.go("leaderboard", f"Show the leaderboard of {ui.plain(found.chosen)}", grader=found.chosen)
    st.caption(
        f"{found.judged:,} judgments. Noise of the sample lowers all correlations by the same factor, so compare the"
        " differences."
    )


def _behind(one: room.ScoredGrader) -> str:
    if one.low is None or one.high is None:
        return "–"
    return f"{one.behind:z.3f} [{one.low:z.3f}, {one.high:z.3f}]"
