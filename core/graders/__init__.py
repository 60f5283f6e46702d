"""Graders: all methods of grading, with their models and prompts. No grader knows a project."""

from __future__ import annotations

from .access.access import (
    OWNER,
    VISITOR,
    Access,
    HostKey,
    acting,
    check_further_fields,
    current,
    key_for,
    naming,
    provide_access,
    unshared_localhost,
    usual_address,
)
from .access.addresses import checked_host, is_loopback, origin, same_address
from .access.endpoints import WELL_KNOWN, OfferedEndpoint, offered_endpoints, provide_endpoints
from .access.keys import provide_keys
from .access.model_places import offered_models
from .base import Grader, Outcome, Pair, PairsToGrade
from .control import BATCH_SHARE, NOTHING_USED, Awaited, Control, Price, Tokens, Usage, used_by
from .embedding.grader import sentence_vectors, similarity, unit_vectors
from .embedding.minilm import load_encoder, model_folder
from .endpoint.batch_types import MOST_BYTES, MOST_CALLS, EndpointBatch, PassingError
from .endpoint.chat import MOST_THINKING
from .endpoint.elsewhere import (
    Played,
    Told,
    asked_by,
    endpoint_of,
    in_order,
    is_remote,
    play,
    tokens_told,
)
from .endpoint.fetching import fetch_all
from .endpoint.manners import Fetched, FetchMethod, Manners
from .endpoint.retry import passes
from .kinds import GRADERS, make_grader, remade_from, usual_prompt
from .local.back_end import MOST_BEAMS
from .local.loading import DTYPES, loading, model_identity
from .local.reranking import pair_scores
from .making import (
    APIS,
    BACK_ENDS,
    CHECKS,
    CHOICES_BY,
    EXTRACTIVE_MODEL,
    LOCAL_MODEL,
    NORMALISATIONS,
    back_end_name,
    make_back_end,
)
from .on_ray import grade_plan
from .pair_files import NamedGrade, PlannedGrader, holds_grades, read_grades, write_pairs
from .prompts.prompt import (
    USES,
    Example,
    Messages,
    Prompt,
    built_in,
    fence_mark,
    fill,
    read_prompt,
    variables,
    with_examples,
    write_prompt,
)
from .reading.answers import read
from .reading.calls import BackEnd, Call, Completion, Per, Sampling, Steps
from .reading.driving import answers
from .reading.grader import ReadingGrader
from .reading.injections import InjectionTrial, try_injections
from .reading.matching import word_match
from .reading.methods import bare_choices, key_position
from .reading.model_names import said_of_models
from .reading.parsing import CUT_OFF, EMPTY, ill_formed, parse_list, unanswerable
from .reading.reasoning import without_thoughts
from .reading.trying import Trial, try_pair
from .vectors import Kept, VectorStore

__all__ = [
    "APIS",
    "BACK_ENDS",
    "BATCH_SHARE",
    "CHECKS",
    "CHOICES_BY",
    "CUT_OFF",
    "DTYPES",
    "EMPTY",
    "EXTRACTIVE_MODEL",
    "GRADERS",
    "LOCAL_MODEL",
    "MOST_BEAMS",
    "MOST_BYTES",
    "MOST_CALLS",
    "MOST_THINKING",
    "NORMALISATIONS",
    "NOTHING_USED",
    "OWNER",
    "USES",
    "VISITOR",
    "WELL_KNOWN",
    "Access",
    "Awaited",
    "BackEnd",
    "Call",
    "Completion",
    "Control",
    "EndpointBatch",
    "Example",
    "FetchMethod",
    "Fetched",
    "Grader",
    "HostKey",
    "InjectionTrial",
    "Kept",
    "Manners",
    "Messages",
    "NamedGrade",
    "OfferedEndpoint",
    "Outcome",
    "Pair",
    "PairsToGrade",
    "PassingError",
    "Per",
    "PlannedGrader",
    "Played",
    "Price",
    "Prompt",
    "ReadingGrader",
    "Sampling",
    "Steps",
    "Tokens",
    "Told",
    "Trial",
    "Usage",
    "VectorStore",
    "acting",
    "answers",
    "asked_by",
    "back_end_name",
    "bare_choices",
    "built_in",
    "check_further_fields",
    "checked_host",
    "current",
    "endpoint_of",
    "fence_mark",
    "fetch_all",
    "fill",
    "grade_plan",
    "holds_grades",
    "ill_formed",
    "in_order",
    "is_loopback",
    "is_remote",
    "key_for",
    "key_position",
    "load_encoder",
    "loading",
    "make_back_end",
    "make_grader",
    "model_folder",
    "model_identity",
    "naming",
    "offered_endpoints",
    "offered_models",
    "origin",
    "pair_scores",
    "parse_list",
    "passes",
    "play",
    "provide_access",
    "provide_endpoints",
    "provide_keys",
    "read",
    "read_grades",
    "read_prompt",
    "remade_from",
    "said_of_models",
    "same_address",
    "sentence_vectors",
    "similarity",
    "tokens_told",
    "try_injections",
    "try_pair",
    "unanswerable",
    "unit_vectors",
    "unshared_localhost",
    "used_by",
    "usual_address",
    "usual_prompt",
    "variables",
    "with_examples",
    "without_thoughts",
    "word_match",
    "write_pairs",
    "write_prompt",
]
