"""All charts as Altair charts: functions from plain data, for screens, notebooks and printed figures."""

from __future__ import annotations

from .audit_forecast import forecast_chart
from .comparisons import PRINTED_CLOUD, difference_matrix, query_scatter, system_scatter
from .exam_charts import LINE_COLOURS, ability_curves, accuracy_chart, information_curves, topic_chart
from .leaderboards import COLOURS, coverage_chart, leaderboard_chart, panel_chart, slope_chart
from .marks import PICKED, Chart
from .printing import CONVERTING, FORMATS, for_print, for_screen, picture
from .threshold_curves import VALUES, threshold_chart

__all__ = [
    "COLOURS",
    "CONVERTING",
    "FORMATS",
    "LINE_COLOURS",
    "PICKED",
    "PRINTED_CLOUD",
    "VALUES",
    "Chart",
    "ability_curves",
    "accuracy_chart",
    "coverage_chart",
    "difference_matrix",
    "for_print",
    "for_screen",
    "forecast_chart",
    "information_curves",
    "leaderboard_chart",
    "panel_chart",
    "picture",
    "query_scatter",
    "slope_chart",
    "system_scatter",
    "threshold_chart",
    "topic_chart",
]
