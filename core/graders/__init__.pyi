from ._access import (
    OWNER as OWNER,
    VISITOR as VISITOR,
    WELL_KNOWN as WELL_KNOWN,
    Access as Access,
    HostKey as HostKey,
    OfferedEndpoint as OfferedEndpoint,
    address_origin as address_origin,
    check_further_fields as check_further_fields,
    checked_host as checked_host,
    current_access as current_access,
    extend_access as extend_access,
    is_loopback as is_loopback,
    key_for as key_for,
    offered_endpoints as offered_endpoints,
    offered_models as offered_models,
    providers as providers,
    same_address as same_address,
    unshared_localhost as unshared_localhost,
    use_access as use_access,
    usual_address as usual_address,
)
from ._embedding.embedding_grader import (
    sentence_vectors as sentence_vectors,
    text_similarities as text_similarities,
    unit_vectors as unit_vectors,
)
from ._embedding.minilm import load_encoder as load_encoder, model_folder as model_folder
from ._endpoint.chat import (
    MOST_BYTES as MOST_BYTES,
    MOST_CALLS as MOST_CALLS,
    MOST_THINKING as MOST_THINKING,
    EndpointBatch as EndpointBatch,
)
from ._endpoint.http_client import fetch_all as fetch_all
from ._endpoint.offline_calls import (
    CallResult as CallResult,
    ReplayedPair as ReplayedPair,
    grader_endpoint as grader_endpoint,
    is_remote as is_remote,
    order_pairs as order_pairs,
    replay_pair as replay_pair,
    tokens_in_answer as tokens_in_answer,
)
from ._endpoint.retry import (
    Fetched as Fetched,
    FetchMethod as FetchMethod,
    PassingError as PassingError,
    RequestSettings as RequestSettings,
    is_passing_status as is_passing_status,
)
from ._grader_interface import (
    BATCH_SHARE as BATCH_SHARE,
    NOTHING_USED as NOTHING_USED,
    AwaitedEndpoint as AwaitedEndpoint,
    Control as Control,
    Grader as Grader,
    Outcome as Outcome,
    Pair as Pair,
    PairsToGrade as PairsToGrade,
    Price as Price,
    StoredVectors as StoredVectors,
    Tokens as Tokens,
    Usage as Usage,
    VectorStore as VectorStore,
    make_usage as make_usage,
    other_models_note as other_models_note,
)
from ._grader_kinds import (
    CHECKS as CHECKS,
    CHOICES_BY as CHOICES_BY,
    EXTRACTIVE_MODEL as EXTRACTIVE_MODEL,
    GRADERS as GRADERS,
    LOCAL_MODEL as LOCAL_MODEL,
    back_end_name as back_end_name,
    find_remaking_parameters as find_remaking_parameters,
    make_back_end as make_back_end,
    make_grader as make_grader,
    short_model_name as short_model_name,
    usual_prompt as usual_prompt,
)
from ._local.loading import (
    current_loading as current_loading,
    model_identity as model_identity,
)
from ._local.transformers_back_end import pair_scores as pair_scores
from ._plan_files import (
    NamedGrade as NamedGrade,
    PlannedGrader as PlannedGrader,
    grade_plan as grade_plan,
    holds_grades as holds_grades,
    read_grades as read_grades,
    write_pairs as write_pairs,
)
from ._prompts.prompt import (
    USES as USES,
    Example as Example,
    Messages as Messages,
    Prompt as Prompt,
    built_in_prompts as built_in_prompts,
    fence_mark as fence_mark,
    fill_prompt as fill_prompt,
    prompt_variables as prompt_variables,
    read_prompt as read_prompt,
    with_examples as with_examples,
    write_prompt as write_prompt,
)
from ._reading.calls import (
    BackEnd as BackEnd,
    Call as Call,
    Completion as Completion,
    PairTrial as PairTrial,
    ReadingGrader as ReadingGrader,
    Sampling as Sampling,
    Steps as Steps,
    read_completion as read_completion,
    stream_completions as stream_completions,
    try_pair as try_pair,
)
from ._reading.grading_methods import bare_choices as bare_choices, key_position as key_position
from ._reading.injections import (
    CHANGES as CHANGES,
    InjectionTrial as InjectionTrial,
    try_injections as try_injections,
)
from ._reading.matching import word_match as word_match
from ._reading.non_answers import without_thoughts as without_thoughts
from ._reading.parsing import (
    CUT_OFF as CUT_OFF,
    EMPTY as EMPTY,
    ill_formed as ill_formed,
    parse_list as parse_list,
    says_unanswerable as says_unanswerable,
)
