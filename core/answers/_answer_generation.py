"""Generators of answers, and their answers from the top of runs and from the gold passages.

Runs are answered at temperature 0, gold passages in several draws. Only missing answers are
requested, each context once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from ..bank import find_prompt_for, question_text_key
from ..choices import (
    ANSWER_PROMPT,
    ANSWER_RULES,
    ANSWER_SEED,
    GOLD_DRAWS,
    GOLD_TEMPERATURE,
    MOST_ANSWER_TOKENS,
    PASSAGE_ORDER,
    PASSAGE_ORDERS,
    STATED_TOKENS,
    AnswerRule,
    PassageOrder,
)
from ..errors import GradingError, InputError, check_in_range, check_known
from ..graders import (
    CUT_OFF,
    EMPTY,
    BackEnd,
    Call,
    Completion,
    Control,
    Prompt,
    ReadingGrader,
    Sampling,
    back_end_name,
    built_in_prompts,
    current_access,
    fence_mark,
    fill_prompt,
    load_encoder,
    make_back_end,
    make_grader,
    model_folder,
    says_unanswerable,
    short_model_name,
    stream_completions,
    without_thoughts,
)
from ..grading import PriceTag, sampled_price
from ..jobs import ALL_MISSING, BackgroundJob, JobScope, Progress, Report
from ..records import (
    AnswerModel,
    AnswerPlace,
    Generated,
    add_generated,
    answer_models,
    fingerprint_of,
    generated_of,
)
from ..sentences import split_sentences
from ..store import Project
from ..text import how_many
from ._answer_contexts import (
    ANSWERS,
    USUAL_GOLD,
    AnswerJob,
    AskedQuery,
    Gold,
    asked_queries,
    context_of,
    gold_passages,
    named_runs,
    passage_texts,
    run_job,
    start_answer_job,
    top_passages,
)

USE = "answer from passages"
PARTING = "\n\n"
"""Separator of the passages of a context."""


@dataclass(frozen=True)
class GeneratorPlan:
    """The settings of a generator.

    Args:
        settings: of the model, as for a grader: model, back_end, base_url, key_variable, dtype and
            so on.
        rule: an item of `ANSWER_RULES` instead of a model with a prompt.
        prompt: name of the prompt.
        n_tokens: the answer length stated in the prompt.
        max_tokens: the length at which an answer is cut off.
        name: its name for people; None for a name made of the model's.
        order: the order in which a model gets its passages.
    """

    settings: Mapping[str, Any] | None = None
    rule: AnswerRule | None = None
    prompt: str = ANSWER_PROMPT
    n_tokens: int = STATED_TOKENS
    max_tokens: int = MOST_ANSWER_TOKENS
    name: str | None = None
    order: PassageOrder = PASSAGE_ORDER


@dataclass(frozen=True)
class ReadyGenerator:
    """A generator that can be asked.

    Args:
        model: its identity.
        rule: None for a model with a prompt.
        prompt: with places for question, context and number of tokens; for a rule, that of an
            extractive model.
        fence: whether passages are marked as data.
        n_tokens, max_tokens, order: see `GeneratorPlan`.
        settings: of the model.
    """

    model: AnswerModel
    rule: str | None
    prompt: Prompt
    fence: bool
    n_tokens: int
    max_tokens: int
    settings: Mapping[str, Any]
    order: str = PASSAGE_ORDER

    @property
    def draws_differ(self) -> bool:
        """Whether it can draw different answers."""
        return self.rule is None

    @property
    def needs_model(self) -> bool:
        """Whether it needs a model that costs something."""
        return self.rule != "nearest-sentence"

    def back_end(self, sampling: Sampling | None = None) -> BackEnd:
        """Return the model; nothing is loaded before the first call.

        Args:
            sampling: settings of a random draw; None for the likeliest answer.

        Raises:
            InputError: a setting is invalid.
        """
        if self.rule == "extractive":
            return _extractive_grader(self.settings).back_end
        return make_back_end(self.settings, sampling=sampling)[0]


def make_generator(project: Project, plan: GeneratorPlan) -> ReadyGenerator:
    """Return a generator as it will be added with its first answer; nothing is written, and no
    model is loaded.

    Raises:
        InputError: a setting is invalid, the prompt is unknown, or no model is named.
    """
    settings = {
        name: value for name, value in (plan.settings or {}).items() if value not in (None, "")
    }
    check_known("unknown-passage-order", "passage order", PASSAGE_ORDERS, plan.order)
    if plan.rule is not None:
        if plan.order != PASSAGE_ORDER:
            raise InputError(
                "settings-for-a-rule",
                f"Rule {plan.rule} supports only the order {PASSAGE_ORDER}.",
                "Remove the order, or name a model.",
            )
        return _by_rule(plan.rule, settings, plan.name)
    if "temperature" in settings:
        raise InputError(
            "useless-parameter",
            "Unknown parameter 'temperature': a generator does not set it.",
            "Remove it. Answers from runs use 0. For gold passages, set it when"
            " you generate answers.",
        )
    least = min(plan.n_tokens, plan.max_tokens)
    check_in_range("parameter-out-of-range", f"Token limit {least}", "Use 1 or more.", least >= 1)
    prompt = find_prompt_for(project, USE, plan.prompt)
    where = back_end_name(settings)
    _, model = make_back_end(settings)
    fence = bool(settings.pop("fence", where == "openai"))
    # Only settings that change answers; the machine and the waiting time for an endpoint do not.
    own: dict[str, Any] = {
        name: settings[name]
        for name in ("max_tokens_in", "extra", "api", "num_beams")
        if name in settings
    }
    if where != "openai":
        # Fixed because the default depends on the computer, which would make it another generator.
        given = settings.get("dtype", "auto")
        own["dtype"] = settings["dtype"] = "float32" if given == "auto" else str(given)
    identity = {
        "n_tokens": plan.n_tokens,
        "max_tokens": plan.max_tokens,
        "order": plan.order,
        "at": where,
    }
    identity["fence"] = fence_mark(prompt, fence)
    parameters = {"settings": settings, "prompt": prompt.name} | identity
    return ReadyGenerator(
        AnswerModel(
            plan.name
            or short_model_name(model)
            + ("" if prompt.name == ANSWER_PROMPT else f", {prompt.name}")
            + ("" if plan.order == PASSAGE_ORDER else f", {plan.order}"),
            fingerprint_of(["generator", model, prompt.hash, identity, own]),
            model,
            prompt.name,
            prompt.hash,
            parameters,
        ),
        None,
        prompt,
        fence,
        plan.n_tokens,
        plan.max_tokens,
        settings,
        plan.order,
    )


def generator_again(project: Project, model: AnswerModel) -> ReadyGenerator:
    """Return a generator of the project, ready to be asked again.

    Raises:
        InputError: its answers were imported, or it cannot be made here any more.
        GradingError: its model or prompt has changed.
    """
    if model.from_elsewhere:
        raise InputError(
            "answers-from-a-file",
            f"The answers of generator '{model.name}' were imported, so it cannot be asked.",
            "Choose another generator.",
        )
    parameters = model.parameters
    rule = parameters.get("rule")
    if rule is not None:
        ready = _by_rule(rule, parameters["settings"], model.name)
    else:
        settings = dict(parameters["settings"]) | {"fence": parameters["fence"]}
        ready = make_generator(
            project,
            GeneratorPlan(
                settings,
                None,
                parameters["prompt"],
                parameters["n_tokens"],
                parameters["max_tokens"],
                model.name,
                parameters["order"],
            ),
        )
    if ready.model.fingerprint != model.fingerprint:
        raise GradingError(
            "model-changed",
            f"The model or prompt of generator '{model.name}' has changed since it was added.",
            "Add it again under another name.",
        )
    return ready


def _by_rule(rule: AnswerRule, settings: Mapping[str, Any], name: str | None) -> ReadyGenerator:
    check_known(
        "unknown-generator-rule", "generator rule", ANSWER_RULES, rule, hint="Or name a model."
    )
    if rule == "nearest-sentence":
        if settings:
            raise InputError(
                "settings-for-a-rule",
                f"Rule {rule} has no model settings.",
                "Remove the model settings.",
            )
        model = "all-MiniLM-L6-v2"
    else:
        model = _extractive_grader(settings).spec.model
    parameters = {"rule": rule, "order": PASSAGE_ORDER, "settings": dict(settings)}
    return ReadyGenerator(
        AnswerModel(
            name
            or (rule if rule == "nearest-sentence" else f"extractive ({short_model_name(model)})"),
            fingerprint_of(["generator", model, rule, PASSAGE_ORDER, settings.get("dtype")]),
            model,
            "",
            "",
            parameters,
        ),
        rule,
        EXTRACTION,
        False,
        STATED_TOKENS,
        MOST_ANSWER_TOKENS,
        settings,
    )


EXTRACTION = Prompt("question", "Question", "answer", "{question}\n{context}", "text", "ours")
"""The prompt of an extractive model: only the question, followed by the passage."""


def _extractive_grader(settings: Mapping[str, Any]) -> ReadingGrader:
    """Return the grader whose model an extractive generator uses.

    Raises:
        InputError: a setting is invalid.
    """
    made = make_grader("extractive", dict(settings), built_in_prompts())
    assert isinstance(made, ReadingGrader)
    return made


def nearest_sentences(questions_with_texts: Sequence[tuple[str, Sequence[str]]]) -> list[str]:
    """Return the sentence nearest to each question by the cosine of the vectors of
    all-MiniLM-L6-v2; the first of equals.

    Args:
        questions_with_texts: n questions, each with its texts.

    Returns:
        n sentences; empty if the texts have no sentence.

    Raises:
        GradingError: the encoder cannot be loaded.
    """
    cut = [
        [text[begin:end] for text in texts for begin, end in split_sentences(text)]
        for _, texts in questions_with_texts
    ]
    rows = {
        text: 0
        for (question, _), sentences in zip(questions_with_texts, cut, strict=True)
        for text in (question, *sentences)
    }
    rows = {text: row for row, text in enumerate(rows)}
    vectors = load_encoder(model_folder()).encode(list(rows))
    nearest = []
    for (question, _), sentences in zip(questions_with_texts, cut, strict=True):
        if not sentences:
            nearest.append("")
            continue
        cosines = vectors[[rows[text] for text in sentences]] @ vectors[rows[question]]
        # Rounded because batches and their order change the last digits, which must not change
        # answers.
        nearest.append(sentences[int(np.argmax(np.round(cosines.astype(np.float64), 4)))].strip())
    return nearest


@dataclass(frozen=True)
class AnswerRequest:
    """A requested answer."""

    query: AskedQuery
    context: tuple[int, ...]
    temperature: float
    draw: int
    seed: int | None


def wanted_place(line: AnswerRequest) -> tuple[str, tuple[int, ...], float, int]:
    """Return the identity of an answer by the words of its query, which may not have a key yet."""
    return line.query.text, line.context, line.temperature, line.draw


def place_of(line: AnswerRequest, keys: Mapping[str, int]) -> AnswerPlace:
    """Return the identity under which an answer is kept.

    Args:
        keys: of the words of queries.
    """
    return keys[line.query.text], line.context, line.temperature, line.draw


def parts_of(ready: ReadyGenerator, line: AnswerRequest) -> list[AnswerRequest]:
    """Return the answers from single passages that an answer is made of; empty if all passages are
    in one prompt.
    """
    if ready.order != "one by one" or len(line.context) == 1:
        return []
    return [replace(line, context=(key,)) for key in line.context]


def join_answers(
    place: AnswerPlace, parts: Sequence[Generated], seed: int | None = None
) -> Generated:
    """Join the answers given passage by passage: the last one that is not "unanswerable" counts.

    Source: llm-reteval specification, section 4.1; the paper allows it but does not say how answers
    are joined. If every part is unanswerable, so is the whole. If a part failed, so has the whole:
    the part might have been the last answer.

    Args:
        place: of the answer.
        parts: the answers from its passages, the best passage first.
    """
    if lost := [part for part in parts if part.text is None]:
        reason = f"{len(lost)} of {len(parts)} passages failed: {lost[0].reason}"
        return Generated(place, None, reason, seed, sum(part.shortened for part in parts))
    ranked_answers = [
        (rank, part.text)
        for rank, part in enumerate(parts, 1)
        if part.text and not says_unanswerable(part.text)
    ]
    rank, text = ranked_answers[-1] if ranked_answers else (None, parts[-1].text)
    note = (
        "no passage contains an answer"
        if rank is None
        else f"from passage {rank} of {len(parts)}, of which {len(ranked_answers)} gave an answer"
    )
    return Generated(place, text, None, seed, sum(part.shortened for part in parts), note)


KS = (1, 5, 10)
"""Default depths for answers from runs (llm-reteval, table 1)."""
NO_ROOM = (
    "the passages are too long, so the best (last) one would be shortened: use fewer, or best first"
)
BLOCK = 512
"""Answers whose contexts are in memory at a time."""


@dataclass(frozen=True)
class WantedAnswers:
    """The answers to generate.

    Args:
        runs: from the top of these runs; None for all runs, an empty tuple for no runs.
        ks: depths, in passages of each run.
        from_gold: whether to answer from the gold passages, too.
        gold: the choice of gold passages.
        draws: number of answers from the gold passages of each query.
        temperature: of these draws; above 0 if there are several.
        seed: of the first draw; the others have the numbers that follow.
        query_ids: only these queries; for None all with gold passages, or all if no gold passages
            are known.
    """

    runs: tuple[str, ...] | None = None
    ks: tuple[int, ...] = KS
    from_gold: bool = True
    gold: Gold = USUAL_GOLD
    draws: int = GOLD_DRAWS
    temperature: float = GOLD_TEMPERATURE
    seed: int = ANSWER_SEED
    query_ids: tuple[str, ...] | None = None


@dataclass(frozen=True)
class AnswerPlan:
    """The requests that a generation would make.

    For a generator that reads passages one by one, they include the answers from single passages.

    Args:
        needed: wanted answers, each context once.
        known: of these, the existing ones.
        failed: of these, those that failed and are not asked again.
        to_ask: the remaining ones.
        shared: wanted answers that another run or depth needs as well, from the same context.
        skipped: places (query, run, depth) without a passage of the run.
        without_text: places with passages but without texts.
    """

    needed: int
    known: int
    failed: int
    to_ask: list[AnswerRequest]
    shared: int
    skipped: int
    without_text: int


def plan_answers(
    project: Project, ready: ReadyGenerator, request: WantedAnswers, caps: JobScope = ALL_MISSING
) -> AnswerPlan:
    """Return the missing ones of the wanted answers, without calling a model.

    Raises:
        InputError: a run, source or query is unknown, nothing is wanted, or a number is out of
            range.
    """
    _check_wanted(request)
    gold = (
        gold_passages(project, request.gold)
        if request.from_gold or request.query_ids is None
        else {}
    )
    queries = asked_queries(project, request.query_ids)
    if request.query_ids is None and gold:
        queries = [query for query in queries if query.query_id in gold]
    lines: dict[tuple[str, tuple[int, ...], float, int], AnswerRequest] = {}
    shared = skipped = without_text = 0
    runs = named_runs(project, request.runs) if request.runs != () else []
    ranked = top_passages(project, runs, max(request.ks, default=1)) if runs else {}
    for query in queries:
        for run in runs:
            passages = ranked[run].get(query.query_id, [])
            for k in request.ks:
                context = context_of(passages[:k])
                if not context:
                    skipped, without_text = (
                        skipped + (not passages),
                        without_text + bool(passages),
                    )
                    continue
                line = AnswerRequest(query, context, 0.0, 1, None)
                shared += wanted_place(line) in lines
                lines |= {wanted_place(entry): entry for entry in (*parts_of(ready, line), line)}
        if request.from_gold and (context := context_of(gold.get(query.query_id, []))):
            for draw, temperature, seed in _plan_draws(ready, request):
                line = AnswerRequest(query, context, temperature, draw, seed)
                lines |= {wanted_place(entry): entry for entry in (*parts_of(ready, line), line)}
    stored = next(
        (
            entry
            for entry in answer_models(project, "generator")
            if entry.fingerprint == ready.model.fingerprint
        ),
        None,
    )
    generated = generated_of(project, stored.key) if stored else {}
    to_ask, known_count, failed = [], 0, 0
    for line in lines.values():
        answer = generated.get((line.query.text_key, line.context, line.temperature, line.draw))
        if caps.includes(answer is not None, answer is not None and answer.text is None):
            to_ask.append(line)
        elif answer is not None:
            known_count, failed = (
                known_count + (answer.text is not None),
                failed + (answer.text is None),
            )
    return AnswerPlan(
        len(lines),
        known_count,
        failed,
        _limit_lines(ready, to_ask, caps),
        shared,
        skipped,
        without_text,
    )


def _limit_lines(
    ready: ReadyGenerator, lines: list[AnswerRequest], caps: JobScope
) -> list[AnswerRequest]:
    """Return as many lines as the limit allows, and then those that are joined from others."""
    asked = [line for line in lines if not parts_of(ready, line)][: caps.limit]
    joined = [line for line in lines if parts_of(ready, line)]
    return asked + (joined if caps.limit is None else joined[: max(0, caps.limit - len(asked))])


def _plan_draws(
    ready: ReadyGenerator, request: WantedAnswers
) -> list[tuple[int, float, int | None]]:
    """Return number, temperature and seed of each draw; a deterministic generator has one."""
    if not ready.draws_differ:
        return [(1, 0.0, None)]
    seeded = ready.model.parameters.get("at") != "openai" or current_access().any_address
    return [
        (1 + at, request.temperature, request.seed + at if seeded else None)
        for at in range(request.draws)
    ]


def _check_wanted(request: WantedAnswers) -> None:
    if request.runs == () and not request.from_gold:
        raise InputError(
            "no-answers-wanted",
            "No source of passages is chosen.",
            "Name runs, or request answers from the gold passages.",
        )
    check_in_range(
        "parameter-out-of-range",
        "k, draws or seed",
        "Use k and draws from 1, and a seed from 0.",
        min((*request.ks, request.draws)) >= 1 and request.seed >= 0,
    )
    if not request.ks and request.runs != ():
        raise InputError(
            "depth-out-of-range", "The number of passages is missing.", "Use at least one k."
        )
    if request.temperature < 0 or (request.temperature == 0 and request.draws > 1):
        raise InputError(
            "draws-at-temperature-zero",
            f"Temperature {request.temperature:g} is invalid for"
            f" {how_many(request.draws, 'draws')}.",
            "Use a temperature above 0, or one draw at temperature 0.",
        )


def answers_price(project: Project, ready: ReadyGenerator, plan: AnswerPlan) -> PriceTag:
    """Estimate the cost of a plan from a sample of it, without calling a model."""
    lines = [line for line in plan.to_ask if not parts_of(ready, line)]
    if not ready.needs_model or not lines:
        return PriceTag(len(plan.to_ask), 0, 0, 0, 0.0, None, True)

    def fill_prompts(sample: Sequence[AnswerRequest]) -> list[str]:
        texts = passage_texts(project, {key for line in sample for key in line.context})
        return [
            fill_prompt(ready.prompt, _prompt_values(ready, line, texts), ready.fence).joined()
            for line in sample
        ]

    return sampled_price(
        project,
        ready.back_end(),
        ready.model.model,
        lines,
        fill_prompts,
        ready.n_tokens + 1,
        len(plan.to_ask),
    )


def _prompt_values(
    ready: ReadyGenerator, line: AnswerRequest, texts: dict[int, str]
) -> dict[str, str]:
    keys = line.context[::-1] if ready.order == "best last" else line.context
    context = PARTING.join(texts[key] for key in keys if key in texts)
    return {"question": line.query.text, "context": context, "n_tokens": str(ready.n_tokens)}


def generate_answers(
    project: Project,
    ready: ReadyGenerator,
    request: WantedAnswers,
    author: str,
    caps: JobScope = ALL_MISSING,
    report: Report = lambda name, progress: None,
    control: Control | None = None,
) -> Progress:
    """Generate the missing answers in this thread. Earlier answers are kept even if it fails.

    All passages go into one prompt, the best first. If they do not fit, the end is cut off: the
    last passage first, never the question (llm-reteval specification, section 4.1). If the best
    passage is last, it would be cut off, so the answer fails instead. If passages are read one by
    one, `join_answers` joins their answers.

    Args:
        report: receives the generator's name and the progress after every commit.
        control: to pause and cancel it from elsewhere.

    Returns:
        The final progress; `graded` is the number of answers.

    Raises:
        InputError: see `plan_answers`; or the cost is capped and the model has no price.
    """
    plan = plan_answers(project, ready, request, caps)
    omissions = [
        f"{how_many(plan.skipped, 'answers')} without passages in the run" if plan.skipped else "",
        f"{how_many(plan.without_text, 'answers')} without passage texts"
        if plan.without_text
        else "",
    ]
    remark = ", ".join(filter(None, omissions))
    # Stored by name because runs that are added later were not requested.
    runs = request.runs if request.runs == () else named_runs(project, request.runs)
    request_record = {
        "runs": runs,
        "ks": list(request.ks),
        "from_gold": request.from_gold,
        "draws": request.draws,
        "temperature": request.temperature,
        "left_out": remark,
        "max_calls": caps.max_calls,
        "max_cost": caps.max_cost,
    }
    kept = {name: value for name, value in request_record.items() if value not in (None, "", False)}
    back_end = ready.back_end() if ready.needs_model else None
    work = AnswerJob(ready.model, kept, len(plan.to_ask), ANSWERS, back_end, caps)
    return run_job(
        project,
        work,
        author,
        report,
        control or Control(),
        lambda cursor: {
            text: question_text_key(cursor, text)
            for text in {line.query.text for line in plan.to_ask}
        },
        lambda keys, control: _with_joined(project, ready, plan.to_ask, keys, control),
        add_generated,
        failed=lambda one: one.text is None,
    )


def start_answering(
    project: Project,
    ready: ReadyGenerator,
    request: WantedAnswers,
    author: str,
    caps: JobScope = ALL_MISSING,
) -> BackgroundJob:
    """Generate the missing answers in the background; see `start_answer_job`."""
    return start_answer_job(
        project,
        ready.model,
        ANSWERS,
        author,
        lambda owned, report, control: generate_answers(
            owned, ready, request, author, caps, report, control
        ),
    )


def _with_joined(
    project: Project,
    ready: ReadyGenerator,
    lines: Sequence[AnswerRequest],
    keys: dict[str, int],
    control: Control,
) -> Iterator[list[Generated]]:
    """Yield answers in batches as they come, then those joined from others. An answer without all
    its parts waits.
    """
    came: dict[AnswerPlace, Generated] = {}
    for batch in _generate_batches(
        project, ready, [line for line in lines if not parts_of(ready, line)], keys, control
    ):
        came |= {entry.place: entry for entry in batch}
        yield batch
    joined = [line for line in lines if parts_of(ready, line)]
    if not joined:
        return
    stored = next(
        entry
        for entry in answer_models(project, "generator")
        if entry.fingerprint == ready.model.fingerprint
    )
    known = generated_of(project, stored.key) | came
    for line in joined:
        parts = [known.get(place_of(part, keys)) for part in parts_of(ready, line)]
        if None not in parts:
            yield [
                join_answers(
                    place_of(line, keys), [part for part in parts if part is not None], line.seed
                )
            ]


def _generate_batches(
    project: Project,
    ready: ReadyGenerator,
    lines: Sequence[AnswerRequest],
    keys: dict[str, int],
    control: Control,
) -> Iterator[list[Generated]]:
    """Yield answers in batches as they come; stop early if `control` asks for it."""
    for sampling in dict.fromkeys(map(_line_sampling, lines)):
        some = [line for line in lines if _line_sampling(line) == sampling]
        back_end = ready.back_end(sampling) if ready.needs_model else None
        for at in range(0, len(some), BLOCK):
            if not control.may_continue():
                return
            block = some[at : at + BLOCK]
            texts = passage_texts(project, {key for line in block for key in line.context})
            if back_end is None:
                read = [(line.query.text, [texts[key] for key in line.context]) for line in block]
                yield [
                    Generated(place_of(line, keys), said or None, None if said else EMPTY)
                    for line, said in zip(block, nearest_sentences(read), strict=True)
                ]
                continue
            form: Literal["span", "text"] = "span" if ready.rule == "extractive" else "text"
            calls = [
                Call(
                    ready.prompt,
                    _prompt_values(ready, line, texts),
                    form,
                    ready.fence,
                    max_tokens=ready.max_tokens,
                )
                for line in block
            ]
            for batch in stream_completions(back_end, calls, control):
                yield [_read_answer(ready, block[i], completion, keys) for i, completion in batch]


def _line_sampling(line: AnswerRequest) -> Sampling | None:
    return None if line.temperature == 0 else Sampling(line.temperature, line.seed)


def _read_answer(
    ready: ReadyGenerator, line: AnswerRequest, completion: Completion, keys: dict[str, int]
) -> Generated:
    """Return a completion as an answer: its text without preceding thoughts, or the reason for
    failure.
    """
    place = place_of(line, keys)
    if completion.error is not None:
        return Generated(place, None, completion.error, line.seed, completion.shortened)
    if completion.shortened and ready.order == "best last" and len(line.context) > 1:
        return Generated(place, None, NO_ROOM, line.seed, completion.shortened)
    text = without_thoughts(completion.text).strip()
    if not text:
        return Generated(
            place, None, EMPTY if completion.complete else CUT_OFF, line.seed, completion.shortened
        )
    note = completion.notes(
        f"the passages were shortened by {how_many(completion.shortened, 'tokens')}",
        None if completion.complete else "cut off at the maximum length",
    )
    return Generated(place, text, None, line.seed, completion.shortened, note)
