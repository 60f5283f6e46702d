from ._basis import (
    MISSING as MISSING,
    SETTING_OF_MIN_JUDGMENT as SETTING_OF_MIN_JUDGMENT,
    Basis as Basis,
    Policy as Policy,
    Ratings as Ratings,
    Skipped as Skipped,
    basis as basis,
    coverage_of as coverage_of,
    graded as graded,
    graded_pairs as graded_pairs,
    has_probabilities as has_probabilities,
    label_sql as label_sql,
    labels_of as labels_of,
    overriding as overriding,
    ratings as ratings,
    usual_min_judgment as usual_min_judgment,
    weights_of as weights_of,
)
from ._citation_support import (
    SUPPORT as SUPPORT,
    Citation as Citation,
    citation_grader as citation_grader,
    citations as citations,
    response_support as response_support,
    set_support as set_support,
    support_agreement as support_agreement,
    support_board as support_board,
)
from ._cover_measure import coverage_measure as coverage_measure
from ._coverage import (
    RANKED as RANKED,
    Scores as Scores,
    coverage as coverage,
    coverage_by_rank as coverage_by_rank,
    coverage_of_union as coverage_of_union,
    covered as covered,
    first_answers as first_answers,
    reference_coverage as reference_coverage,
)
from ._grading_progress import (
    Progress as Progress,
    Readiness as Readiness,
    failed_pairs as failed_pairs,
    grades_table as grades_table,
    pairs_needed as pairs_needed,
    pool_summary as pool_summary,
    progress as progress,
    readiness as readiness,
    seen_by as seen_by,
    ungraded_pairs as ungraded_pairs,
)
from ._labels import (
    from_answers as from_answers,
    label_pairs as label_pairs,
    label_qrels as label_qrels,
    labels as labels,
    pooled_labels as pooled_labels,
    pooled_passages as pooled_passages,
)
from ._leaderboard import (
    FEWEST_GRADED as FEWEST_GRADED,
    Leaderboard as Leaderboard,
    QueryScore as QueryScore,
    System as System,
    graded_share as graded_share,
    inspect_query as inspect_query,
    order_systems as order_systems,
    per_query_scores as per_query_scores,
    queries_with_ungraded as queries_with_ungraded,
)
from ._leaderboard_making import (
    judged_scores as judged_scores,
    label_board as label_board,
    label_scores as label_scores,
    leaderboard as leaderboard,
    score_runs as score_runs,
)
from ._leaderboard_variants import (
    DEFAULT_MAX_K as DEFAULT_MAX_K,
    MAX_K as MAX_K,
    PERS as PERS,
    CoverCurves as CoverCurves,
    NuggetBoardRow as NuggetBoardRow,
    Per as Per,
    cover_curves as cover_curves,
    leaderboard_per as leaderboard_per,
    nugget_board as nugget_board,
)
from ._official_comparison import (
    DEFAULT_MEASURE as DEFAULT_MEASURE,
    Comparison as Comparison,
    Queries as Queries,
    QueryChoice as QueryChoice,
    Shift as Shift,
    compare as compare,
    compare_boards as compare_boards,
    correlation_shift as correlation_shift,
    official_board as official_board,
    over as over,
    sides as sides,
)
from ._overrides import (
    Override as Override,
    confirm as confirm,
    override as override,
    override_all as override_all,
    overrides as overrides,
    queries_of_questions as queries_of_questions,
    withdraw as withdraw,
    withdraw_all as withdraw_all,
    write_override as write_override,
    write_withdrawal as write_withdrawal,
)
from ._parquet_leaderboards import GradeFiles as GradeFiles, leaderboard_of_files as leaderboard_of_files
from ._query_ratings import (
    QueryRatings as QueryRatings,
    labels_under as labels_under,
    load_ratings as load_ratings,
    query_scores as query_scores,
    ratings_beside as ratings_beside,
    scored as scored,
    wording as wording,
)
