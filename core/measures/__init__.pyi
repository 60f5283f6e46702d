from ._agreement import (
    Coefficient as Coefficient,
    CrossTable as CrossTable,
    alpha_of as alpha_of,
    cohen_kappa as cohen_kappa,
    cross_table as cross_table,
    halves as halves,
    krippendorff_alpha as krippendorff_alpha,
    matching as matching,
    merge as merge,
    per_level as per_level,
    weighted_kappa as weighted_kappa,
)
from ._correlation import (
    Correlation as Correlation,
    Ties as Ties,
    bootstrap as bootstrap,
    bootstrap_samples as bootstrap_samples,
    correlate as correlate,
    correlate_by as correlate_by,
)
from ._drift_test import DRIFT_ALARM as DRIFT_ALARM, drift_evidence as drift_evidence, noise_bound as noise_bound
from ._intents import Answers as Answers, answers_of as answers_of, make_intent_evaluator as make_intent_evaluator
from ._means import (
    Array as Array,
    Interval as Interval,
    Skipped as Skipped,
    mean_and_standard_error as mean_and_standard_error,
    system_score as system_score,
    tied as tied,
    wilson as wilson,
)
from ._measure import (
    COVER as COVER,
    MEASURES as MEASURES,
    SUPPORT_PRECISION as SUPPORT_PRECISION,
    SUPPORT_RECALL as SUPPORT_RECALL,
    SUPPORTED_COVER as SUPPORTED_COVER,
    Measure as Measure,
    MeasureBasis as MeasureBasis,
    parse_measure as parse_measure,
)
from ._nugget_measures import (
    NUGGETS_SUPPORTED as NUGGETS_SUPPORTED,
    NuggetScores as NuggetScores,
    mean_nugget_scores as mean_nugget_scores,
    nugget_scores as nugget_scores,
)
from ._paired_tests import (
    ALPHA as ALPHA,
    PERMUTATIONS as PERMUTATIONS,
    holm as holm,
    mcnemar as mcnemar,
    randomisation_test as randomisation_test,
    separable_differences as separable_differences,
    t_test as t_test,
)
from ._repair import HELD_OUT as HELD_OUT, RepairTest as RepairTest, rewording_test as rewording_test, spent as spent
from ._sealed import SEALED_LEVEL as SEALED_LEVEL, sealed_test as sealed_test
from ._system_choice import (
    Choice as Choice,
    Choosing as Choosing,
    NewScore as NewScore,
    Pairing as Pairing,
    Stake as Stake,
    Table as Table,
    choosing as choosing,
    stakes as stakes,
)
from ._text_similarity import SIMILARITIES as SIMILARITIES
from ._trec_measures import make_evaluator as make_evaluator, trec_order as trec_order
