from ._drafting import (
    DEFAULT_PROMPT as DEFAULT_PROMPT,
    Asked as Asked,
    Drafter as Drafter,
    Failure as Failure,
    KeyPassage as KeyPassage,
    Report as Report,
    blank_generation as blank_generation,
    draft_answer_key as draft_answer_key,
    draft_proposals as draft_proposals,
    draft_rewordings as draft_rewordings,
    find_prompt as find_prompt,
    fitting_prompts as fitting_prompts,
    make_drafter as make_drafter,
    passages_for_key as passages_for_key,
    run_drafting as run_drafting,
    usual_settings as usual_settings,
)
from ._grade_storage import (
    NO_USABLE_RATING as NO_USABLE_RATING,
    ProjectVectors as ProjectVectors,
    count_vectors as count_vectors,
    drop_vectors as drop_vectors,
    write_grades as write_grades,
)
from ._grader_checks import (
    AGAIN as AGAIN,
    SENTINELS as SENTINELS,
    probe_grader as probe_grader,
    watch_grader as watch_grader,
)
from ._grading_jobs import (
    BatchProgress as BatchProgress,
    advance_batches as advance_batches,
    batch_standing as batch_standing,
    call_batches as call_batches,
    cancel_batches as cancel_batches,
    follow_batches as follow_batches,
    jobs_outcome as jobs_outcome,
    make_control as make_control,
    run_job as run_job,
    send_batches as send_batches,
    start_job as start_job,
    waiting_jobs as waiting_jobs,
)
from ._needed_pairs import (
    DoubtfulPair as DoubtfulPair,
    Plan as Plan,
    Request as Request,
    Scope as Scope,
    SkippedCounts as SkippedCounts,
    Which as Which,
    count_reasons as count_reasons,
    count_skipped as count_skipped,
    doubtful_pairs as doubtful_pairs,
    make_plan as make_plan,
    missing_pairs as missing_pairs,
)
from ._offline_grading import (
    import_answer_files as import_answer_files,
    import_grade_files as import_grade_files,
    write_missing as write_missing,
)
from ._price_tag import (
    Bill as Bill,
    PriceTag as PriceTag,
    list_bills as list_bills,
    price_tag as price_tag,
    sampled_price as sampled_price,
    time_needed as time_needed,
)
from ._prompt_preview import (
    SampleOutcome as SampleOutcome,
    fill_for_question as fill_for_question,
    has_only_samples as has_only_samples,
    judged_sample as judged_sample,
    pair_to_try as pair_to_try,
    questions_for as questions_for,
    questions_to_try as questions_to_try,
    sample_outcome as sample_outcome,
)
