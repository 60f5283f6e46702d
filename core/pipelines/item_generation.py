"""Generation of items by a model from the passages of a project, one per passage; each becomes a proposal."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..bank import DraftedItem, Generation, add_generations
from ..catalogue import prices
from ..errors import GradingError, InputError
from ..graders import CUT_OFF, EMPTY, Call, Completion, Control, Prompt, answers, fill
from ..grading import (
    CHARACTERS_A_TOKEN,
    Drafter,
    Failure,
    PriceTag,
    Report,
    Watch,
    blank,
    drafting_control,
    find_prompt,
)
from ..jobs import UNCAPPED, BackgroundJob, Caps, Progress, job_control, start_background
from ..jobs import Report as JobReport
from ..project import Project, add_queries, check_runs, log
from ..types import Query
from .item_parsing import CHOICES, Unparsed, parse_item, shuffle_seed, shuffled
from .items import EXAM

USUAL_PROMPTS = {"transformers": "exam-item", "openai": "exam-item-json"}
"""By back end: the paper's own prompt, and one for chats that requests JSON."""
DOMAIN = "a collection of documents"
TOKENS = 1024
"""Room for an item with its explanation."""
WRITTEN = 220
"""Tokens of a typical item by a model."""
SAMPLE = 200
BLOCK = 1000
"""Passages whose texts are in memory at a time."""

_SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {
        "question": {"type": "string"},
        "choices": {"type": "array", "items": {"type": "string"}, "minItems": CHOICES, "maxItems": CHOICES},
        "correct_answer": {"type": "string"},
        "explanation": {"type": "string"},
    },
    "required": ["question", "choices", "correct_answer", "explanation"],
    "additionalProperties": False,
}


@dataclass(frozen=True)
class Wanted:
    """The items that a model is to write.

    Args:
        query_id: the query of the items; it is added if missing.
        domain: the subject of the passages, for the prompt's {task_domain}.
        prompt: its name; None for the usual one of the back end.
        run: only passages that this run ranks for some query; None for all with a text.
        limit: most passages to ask about, drawn at random; None for all.
        seed: of the exam; it determines the passages drawn under a limit and the order of choices.
        topic: of the items; with a run and None, the words of the query that ranks the passage highest.
        again: whether to ask again about passages for which the model wrote no item.
    """

    query_id: str = EXAM
    domain: str = DOMAIN
    prompt: str | None = None
    run: str | None = None
    limit: int | None = None
    seed: int = 0
    topic: str | None = None
    again: bool = False


ONE_EACH = Wanted()
"""An item for every passage, with the usual prompt."""


@dataclass(frozen=True)
class Chunk:
    """A passage for an item, and the topic of the item if known."""

    passage_id: str
    topic: str | None


def item_prompt(project: Project, drafter: Drafter, wanted: Wanted) -> Prompt:
    """Return the prompt to use.

    Raises:
        InputError: no prompt for items has this name.
    """
    return find_prompt(project, wanted.prompt or USUAL_PROMPTS["openai" if drafter.fence else "transformers"], "item")


def chunks_to_ask(project: Project, drafter: Drafter, wanted: Wanted) -> list[Chunk]:
    """Return the passages that this model was not asked about with this prompt for this exam, in the order of the seed.

    A passage for which no answer arrived counts as not asked about, so a repeated call continues there.

    Raises:
        InputError: the run or prompt is unknown, or the limit is below 1.
    """
    if wanted.limit is not None and wanted.limit < 1:
        raise InputError("limit-out-of-range", f"Passage limit {wanted.limit} is out of range.", "Use 1 or more.")
    prompt = item_prompt(project, drafter, wanted)
    topic = "NULL"
    ranked = ""
    if wanted.run is not None:
        check_runs(project, [wanted.run])
        topic = "any_value(r.topic)"
        ranked = (
            "JOIN (SELECT passage_key, arg_min(q.text, (rank, query_key)) AS topic FROM rankings"
            " JOIN runs USING (run_key) JOIN queries q USING (query_key) WHERE runs.name = $run GROUP BY passage_key) r"
            " USING (passage_key)"
        )
    rows = project.rows(
        f"SELECT passage_id, {topic} FROM passages p {ranked} WHERE p.text_key IS NOT NULL AND passage_key NOT IN ("
        " SELECT passage_key FROM generations JOIN queries USING (query_key) WHERE kind = 'item' AND query_id = $query"
        "  AND model = $model AND prompt_hash = $prompt AND passage_key IS NOT NULL"
        "  AND (reason IS NULL OR (raw <> '' AND NOT $again)))"
        " GROUP BY passage_id",
        {"query": wanted.query_id, "model": drafter.model, "prompt": prompt.hash, "again": wanted.again}
        | ({"run": wanted.run} if wanted.run is not None else {}),
    )
    found = [Chunk(passage_id, wanted.topic or of_query) for passage_id, of_query in rows]
    found.sort(key=lambda one: (_draw(wanted.seed, one.passage_id), one.passage_id))
    return found[: wanted.limit]


def generation_price(project: Project, drafter: Drafter, wanted: Wanted) -> PriceTag:
    """Estimate the cost of writing items from a sample of the passages, without calling the model.

    Raises:
        InputError: see `chunks_to_ask`.
    """
    chunks = chunks_to_ask(project, drafter, wanted)
    prompt = item_prompt(project, drafter, wanted)
    sample = random.Random(0).sample(chunks, min(SAMPLE, len(chunks)))
    texts = _texts(project, sample)
    read, counted = 0, True
    for chunk in sample:
        text = fill(prompt, {"context": texts[chunk.passage_id], "task_domain": wanted.domain}, drafter.fence).joined()
        tokens = drafter.back_end.count_tokens(text)
        counted = counted and tokens is not None
        read += len(text) // CHARACTERS_A_TOKEN + 1 if tokens is None else tokens
    tokens_in = round(read * len(chunks) / len(sample)) if sample else 0
    tokens_out = WRITTEN * len(chunks)
    price = prices(project).get(drafter.model)
    cost = None if price is None else price.of(tokens_in, tokens_out)
    return PriceTag(len(chunks), len(chunks), tokens_in, tokens_out, cost, None, counted)


def generate_items(
    project: Project,
    drafter: Drafter,
    author: str,
    wanted: Wanted = ONE_EACH,
    control: Control | None = None,
    watch: Watch = lambda done, total: None,
) -> Report:
    """Write an item for each passage with a model (exam-generation-irt, section 3.2 and A.1); each becomes a proposal.

    Every reply is stored before `watch` is called, so an interruption loses only open requests, and the same call
    continues with the rest. An unreadable reply is recorded with the part that failed.

    Args:
        control: pauses and stops it, caps its cost, and sets how long to wait for an endpoint; None for
            `drafting_control`, for a person who is watching.

    Raises:
        InputError: see `chunks_to_ask`; or every passage was asked about.
        GradingError: the model cannot answer at all.
    """
    chunks = chunks_to_ask(project, drafter, wanted)
    if not chunks:
        raise InputError(
            "no-passage-left",
            "No passages left: this model was already asked about all of them.",
            "Import passages with texts, or ask again about passages without an item (--again).",
        )
    prompt = item_prompt(project, drafter, wanted)
    control = control or drafting_control(project, drafter)
    with project.transaction() as cursor:
        add_queries(cursor, [Query(wanted.query_id, f"Exam on {wanted.domain}")], replace=False)
    keys: list[int] = []
    failed: list[Failure] = []
    done = 0
    watch(0, len(chunks))
    try:
        for start in range(0, len(chunks), BLOCK):
            block = chunks[start : start + BLOCK]
            texts = _texts(project, block)
            calls = [_call(prompt, texts[chunk.passage_id], drafter, wanted) for chunk in block]
            for batch in answers(drafter.back_end, calls, control):
                read = [_read(block[at], completion, drafter, prompt, wanted) for at, completion in batch]
                if read:
                    keys += add_generations(project, read, author)
                failed += [
                    Failure(one.query_id, None, f"passage {one.passage_id}: {one.reason}")
                    for one in read
                    if one.reason is not None
                ]
                done += len(batch)
                watch(done, len(chunks))
            if control.stopping:
                break
    except GradingError as error:
        kept = f"Earlier proposals kept: {len(keys):,}." if keys else ""
        raise GradingError(error.code, error.message, f"{error.hint} {kept}".strip()) from error
    finally:
        if done:
            with project.transaction() as cursor:
                log(
                    cursor, author, "draft items", query=wanted.query_id, model=drafter.model, prompt=prompt.name,
                    asked=done, proposals=len(keys),
                )  # fmt: skip
    return Report(done, keys, failed, 0, len(chunks) - done)


def start_writing(
    project: Project, drafter: Drafter, author: str, wanted: Wanted, caps: Caps = UNCAPPED
) -> BackgroundJob:
    """Write items with a model in the background; a project runs one such job at a time. The result is a `Report`.

    Raises:
        GradingError: another one is running.
        InputError: the cost is capped and the model has no price.
        NotAllowed: the role of the person does not include writing with models.
    """
    project.require("write with models", author=author)
    control = job_control(project, drafter.model, drafter.back_end, caps)

    def make(owned: Project) -> BackgroundJob:
        def write(report: JobReport, job: BackgroundJob) -> Report:
            def watch(done: int, total: int) -> None:
                report(drafter.model, Progress("running", total, done))

            return generate_items(owned, drafter, author, wanted, job.control, watch)

        return BackgroundJob(drafter.model, "passages", wanted, author, control, write)

    return start_background(project, "items", make)


def _draw(seed: int, passage_id: str) -> bytes:
    return hashlib.blake2b(f"{seed}/{passage_id}".encode(), digest_size=16).digest()


def _texts(project: Project, chunks: Sequence[Chunk]) -> dict[str, str]:
    return dict(
        project.rows(
            "SELECT passage_id, text FROM passages JOIN passage_texts USING (text_key)"
            " WHERE list_contains($ids, passage_id)",
            {"ids": [chunk.passage_id for chunk in chunks]},
        )
    )


def _call(prompt: Prompt, text: str, drafter: Drafter, wanted: Wanted) -> Call:
    values = {"context": text, "task_domain": wanted.domain}
    if prompt.form == "json":
        return Call(prompt, values, "json", drafter.fence, max_tokens=TOKENS, schema=_SCHEMA)
    return Call(prompt, values, "text", drafter.fence, max_tokens=TOKENS)


def _read(chunk: Chunk, completion: Completion, drafter: Drafter, prompt: Prompt, wanted: Wanted) -> Generation:
    """Return a completion as a generation: an item with its choices shuffled, or the reason for failure."""
    empty = replace(blank("item", wanted.query_id, drafter, prompt, passage_id=chunk.passage_id), raw=completion.text)
    if completion.error is not None:
        return replace(empty, raw="", reason=completion.error)
    parsed = parse_item(completion.text)
    if isinstance(parsed, Unparsed):
        reason = parsed.reason if completion.complete else f"{CUT_OFF}; {parsed.reason}"
        # A blank answer still counts as an answer. An empty `raw` means that no answer arrived.
        return replace(empty, raw=completion.text or " ", reason=reason if completion.text.strip() else EMPTY)
    identity = "\x1f".join((prompt.hash, drafter.model, chunk.passage_id, completion.text))
    name = hashlib.blake2b(identity.encode(errors="replace"), digest_size=6).hexdigest()
    item_id = f"{wanted.query_id}/{name}"
    seed = shuffle_seed(wanted.seed, item_id)
    key = parsed.choices[parsed.key]
    item = DraftedItem(item_id, shuffled(parsed.choices, seed), key, chunk.topic, seed)
    return replace(empty, texts=(parsed.question,), item=item)
