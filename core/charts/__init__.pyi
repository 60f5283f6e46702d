from ._audit_forecast import forecast_chart as forecast_chart
from ._chart_files import (
    CONVERTING as CONVERTING,
    FORMATS as FORMATS,
    for_print as for_print,
    for_screen as for_screen,
    picture as picture,
)
from ._chart_marks import PICKED as PICKED, Chart as Chart
from ._comparison_charts import (
    PRINTED_CLOUD as PRINTED_CLOUD,
    difference_matrix as difference_matrix,
    query_scatter as query_scatter,
    system_scatter as system_scatter,
)
from ._exam_charts import (
    LINE_COLOURS as LINE_COLOURS,
    ability_curves as ability_curves,
    accuracy_chart as accuracy_chart,
    information_curves as information_curves,
    topic_chart as topic_chart,
)
from ._leaderboard_charts import (
    COLOURS as COLOURS,
    coverage_chart as coverage_chart,
    leaderboard_chart as leaderboard_chart,
    panel_chart as panel_chart,
    slope_chart as slope_chart,
)
from ._sample_sizes import sample_chart as sample_chart
from ._threshold_curves import VALUES as VALUES, threshold_chart as threshold_chart
