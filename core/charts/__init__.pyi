from ._chart_files import (
    CONVERTING as CONVERTING,
    FORMATS as FORMATS,
    for_print as for_print,
    for_screen as for_screen,
    render_chart as render_chart,
)
from ._chart_marks import PICKED as PICKED, Chart as Chart
from ._curve_charts import (
    VALUES as VALUES,
    forecast_chart as forecast_chart,
    sample_chart as sample_chart,
    threshold_chart as threshold_chart,
)
from ._exam_charts import (
    LINE_COLOURS as LINE_COLOURS,
    ability_curves as ability_curves,
    accuracy_chart as accuracy_chart,
    information_curves as information_curves,
    topic_chart as topic_chart,
)
from ._system_charts import (
    COLOURS as COLOURS,
    ERROR_BARS as ERROR_BARS,
    PRINTED_CLOUD as PRINTED_CLOUD,
    coverage_chart as coverage_chart,
    difference_matrix as difference_matrix,
    leaderboard_chart as leaderboard_chart,
    panel_chart as panel_chart,
    query_scatter as query_scatter,
    slope_chart as slope_chart,
    system_scatter as system_scatter,
)
