"""Charts on screens; a click on a mark can set widgets."""

from collections.abc import Mapping

import streamlit as st

from exam_workbench import charts


def draw_chart(
    chart: charts.Chart, key: str | None = None, sets: Mapping[str, str] | None = None
) -> None:
    """Draw a chart.

    Args:
        sets: for each widget that a click on a mark sets, the field of the mark. Needs a key.
    """
    themed = charts.for_screen(chart, st.context.theme.type == "dark")
    with charts.CONVERTING:
        if key is None or sets is None:
            st.altair_chart(themed)
        else:
            st.altair_chart(
                themed,
                key=key,
                selection_mode=[charts.PICKED],
                on_select=lambda: _set_widgets(key, sets),
            )


def _set_widgets(key: str, sets: Mapping[str, str]) -> None:
    if picked := st.session_state[key].selection.get(charts.PICKED):
        for widget, field in sets.items():
            st.session_state[widget] = picked[0][field]
