from ._exam_analysis import (
    Analysis as Analysis,
    Bounded as Bounded,
    analyse_responses as analyse_responses,
    design_of as design_of,
)
from ._exam_improvement import (
    DROP as DROP,
    FEWEST_ITEMS as FEWEST_ITEMS,
    STEPS as STEPS,
    TIMES as TIMES,
    Improvement as Improvement,
    Planting as Planting,
    improve_items as improve_items,
    plant_faults as plant_faults,
)
from ._fit_statistics import (
    CRITERIA as CRITERIA,
    REPEATS as REPEATS,
    Criterion as Criterion,
    ItemWorth as ItemWorth,
    item_rest as item_rest,
)
from ._response_fits import (
    ESTIMATORS as ESTIMATORS,
    FEWEST as FEWEST,
    EstimatorName as EstimatorName,
    fit_graded as fit_graded,
    fit_marginal as fit_marginal,
    graded_information as graded_information,
)
from ._response_models import (
    GRID as GRID,
    MODELS as MODELS,
    Model as Model,
    answer_information as answer_information,
    answer_probability as answer_probability,
    information_by_category as information_by_category,
    mean_information as mean_information,
)
