from ._audit_planning import (
    best as best,
    better as better,
    expected_width as expected_width,
    guessed_spread as guessed_spread,
    judgments_needed as judgments_needed,
    judgments_to_tell as judgments_to_tell,
    level_at as level_at,
    precise as precise,
    simultaneous as simultaneous,
)
from ._audited_scores import (
    VARIANCES as VARIANCES,
    Comparisons as Comparisons,
    Estimates as Estimates,
    Variance as Variance,
    alike as alike,
    compare as compare,
    estimates as estimates,
)
from ._gain_estimates import (
    Batch as Batch,
    Corrected as Corrected,
    Pool as Pool,
    combined_weights as combined_weights,
    correct as correct,
    expected_spread as expected_spread,
    missing_bounds as missing_bounds,
    pool_of as pool_of,
    predict_batches as predict_batches,
    residual_spread as residual_spread,
)
from ._grader_agreement import (
    clustered as clustered,
    cross_fitted as cross_fitted,
    kappas as kappas,
    relevant_shares as relevant_shares,
)
from ._grader_sets import GraderSet as GraderSet, compare_graders as compare_graders
from ._label_quality import (
    Quality as Quality,
    Rate as Rate,
    balanced as balanced,
    cut_points as cut_points,
    meanings as meanings,
    quality as quality,
    thresholds as thresholds,
)
from ._leaderboard_difference import (
    composite as composite,
    group_bias as group_bias,
    kendall_bounds as kendall_bounds,
    machine_bias as machine_bias,
    true_correlation as true_correlation,
)
from ._sampling_design import (
    FLOOR as FLOOR,
    Array as Array,
    Flags as Flags,
    LinearMeasure as LinearMeasure,
    Weights as Weights,
    chances as chances,
    draw as draw,
    importance as importance,
    linear_measure as linear_measure,
    planned_chances as planned_chances,
    shares as shares,
)
