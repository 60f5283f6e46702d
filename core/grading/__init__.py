"""Grading: planning, prices, jobs and failures; also drafting of questions by models."""

from __future__ import annotations

from .answer_keys import DEFAULT_PROMPT, KeyPassage, draft_answer_key, passages_for_key
from .batches import (
    Standing,
    call_batches,
    cancel,
    follow,
    outcome,
    send,
    standing,
    step,
    waiting_jobs,
)
from .billing import Bill, bills
from .drafting import (
    KINDS,
    MOST,
    Drafter,
    Failure,
    Kind,
    Report,
    Watch,
    blank,
    drafting_control,
    find_prompt,
    fitting_prompts,
    make_drafter,
    suggest,
    usual_settings,
)
from .elsewhere import take_in, take_in_grades, write_missing
from .failures import Doubtful, Which, doubtful_pairs, reasons
from .grades import NO_USABLE_RATING, write_grades
from .kept_vectors import ProjectVectors, count_vectors, drop_vectors
from .left_out import LeftOut, left_out
from .pairs import Plan, make_plan, missing_pairs
from .prefixes import CHARACTERS_A_TOKEN
from .price_tag import PriceTag, price_tag, time_needed
from .request import Request
from .running import make_control, run_job, start_job
from .scope import Scope
from .trying import fill_in, pair_to_try, questions_for, questions_to_try

__all__ = [
    "CHARACTERS_A_TOKEN",
    "DEFAULT_PROMPT",
    "KINDS",
    "MOST",
    "NO_USABLE_RATING",
    "Bill",
    "Doubtful",
    "Drafter",
    "Failure",
    "KeyPassage",
    "Kind",
    "LeftOut",
    "Plan",
    "PriceTag",
    "ProjectVectors",
    "Report",
    "Request",
    "Scope",
    "Standing",
    "Watch",
    "Which",
    "bills",
    "blank",
    "call_batches",
    "cancel",
    "count_vectors",
    "doubtful_pairs",
    "draft_answer_key",
    "drafting_control",
    "drop_vectors",
    "fill_in",
    "find_prompt",
    "fitting_prompts",
    "follow",
    "left_out",
    "make_control",
    "make_drafter",
    "make_plan",
    "missing_pairs",
    "outcome",
    "pair_to_try",
    "passages_for_key",
    "price_tag",
    "questions_for",
    "questions_to_try",
    "reasons",
    "run_job",
    "send",
    "standing",
    "start_job",
    "step",
    "suggest",
    "take_in",
    "take_in_grades",
    "time_needed",
    "usual_settings",
    "waiting_jobs",
    "write_grades",
    "write_missing",
]
