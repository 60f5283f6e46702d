from ._exam_analysis import (
    Analysis as Analysis,
    IntervalEstimate as IntervalEstimate,
    analyse_responses as analyse_responses,
    design_of as design_of,
)
from ._exam_improvement import (
    FEWEST_ITEMS as FEWEST_ITEMS,
    TIMES as TIMES,
    Improvement as Improvement,
    PlantedFaults as PlantedFaults,
    improve_items as improve_items,
    plant_faults as plant_faults,
)
from ._fit_statistics import (
    ItemWorth as ItemWorth,
    item_rest as item_rest,
)
from ._response_fits import (
    ESTIMATORS as ESTIMATORS,
    FEWEST as FEWEST,
    fit_graded as fit_graded,
    fit_marginal as fit_marginal,
    graded_information as graded_information,
)
from ._response_models import (
    GRID as GRID,
    answer_information as answer_information,
    answer_probability as answer_probability,
    information_by_category as information_by_category,
    mean_information as mean_information,
)
