from ._batch_jobs import (
    Standing as Standing,
    call_batches as call_batches,
    cancel as cancel,
    follow as follow,
    outcome as outcome,
    send as send,
    standing as standing,
    step as step,
    waiting_jobs as waiting_jobs,
)
from ._drafting import (
    DEFAULT_PROMPT as DEFAULT_PROMPT,
    KINDS as KINDS,
    MOST as MOST,
    Asked as Asked,
    Drafter as Drafter,
    Failure as Failure,
    KeyPassage as KeyPassage,
    Kind as Kind,
    Report as Report,
    blank as blank,
    draft_answer_key as draft_answer_key,
    draft_rewordings as draft_rewordings,
    find_prompt as find_prompt,
    fitting_prompts as fitting_prompts,
    make_drafter as make_drafter,
    passages_for_key as passages_for_key,
    run_drafting as run_drafting,
    suggest as suggest,
    usual_settings as usual_settings,
)
from ._failed_pairs import Doubtful as Doubtful, Which as Which, doubtful_pairs as doubtful_pairs, reasons as reasons
from ._grade_storage import NO_USABLE_RATING as NO_USABLE_RATING, write_grades as write_grades
from ._grading_jobs import make_control as make_control, run_job as run_job, start_job as start_job
from ._grading_request import Request as Request, Scope as Scope
from ._needed_pairs import (
    LeftOut as LeftOut,
    Plan as Plan,
    left_out as left_out,
    make_plan as make_plan,
    missing_pairs as missing_pairs,
)
from ._offline_grading import take_in as take_in, take_in_grades as take_in_grades, write_missing as write_missing
from ._price_tag import (
    CHARACTERS_A_TOKEN as CHARACTERS_A_TOKEN,
    Bill as Bill,
    PriceTag as PriceTag,
    bills as bills,
    price_tag as price_tag,
    sampled_price as sampled_price,
    time_needed as time_needed,
)
from ._probing import PROBED as PROBED, probe as probe
from ._prompt_preview import (
    SampleOutcome as SampleOutcome,
    fill_in as fill_in,
    judged_sample as judged_sample,
    only_tried as only_tried,
    pair_to_try as pair_to_try,
    questions_for as questions_for,
    questions_to_try as questions_to_try,
    sample_outcome as sample_outcome,
)
from ._sentinels import AGAIN as AGAIN, SENTINELS as SENTINELS, watch as watch
from ._vector_storage import (
    ProjectVectors as ProjectVectors,
    count_vectors as count_vectors,
    drop_vectors as drop_vectors,
)
