"""Items written by a model, one per passage of a project: prompts, parsed replies, proposals."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any, Literal

from ..bank import DraftedItem, Generation, clean_line
from ..choices import EXAM_DOMAIN, EXAM_QUERY
from ..errors import InputError, check_in_range
from ..graders import (
    CUT_OFF,
    EMPTY,
    Call,
    Completion,
    Control,
    Prompt,
    fill_prompt,
    without_thoughts,
)
from ..grading import (
    Asked,
    Drafter,
    PriceTag,
    Report,
    blank_generation,
    find_prompt,
    run_drafting,
    sampled_price,
)
from ..jobs import UNCAPPED, BackgroundJob, Caps, Report as Watch, job_control, start_background
from ..records import add_queries, check_runs, passage_texts
from ..store import Project
from ..text import clean_text, without_marks
from ..types import Query

Part = Literal["question", "choices", "key"]
PARTS: tuple[Part, ...] = ("question", "choices", "key")

CHOICES = 4
SHORTEST_QUESTION = 50
"""Characters that a question must exceed; shorter ones are stems without content (the authors'
parser).
"""

_STYLES = ("A)", "A.", "1)", "1.", "a)", "a.")
"""Marks of choices, in the order in which they are tried."""
_CLASSES = {"A": "A-Z", "1": "1-9", "a": "a-z"}
_QUESTION = r"question(?:[ \t]*\d+)?[ \t]*\*{0,2}:\*{0,2}"
_HEADERS = (
    re.compile(rf"^[ \t#*]*{_QUESTION}", re.IGNORECASE | re.MULTILINE),
    re.compile(rf"\b{_QUESTION}", re.IGNORECASE),
)
"""A header at the beginning of a line takes precedence over one within an introduction."""
_KEYS = tuple(
    re.compile(rf"\b{begins}[ \t*_]*", re.IGNORECASE)
    for begins in (
        r"correct[ \t]+answer(?:[ \t]+is)?[ \t]*\*{0,2}:",
        r"answer[ \t]*\*{0,2}:",
        r"answer[ \t]+is\b:?",
    )
)
_LETTER = re.compile(
    r"[\s*_\"'“‘(\[{]{0,4}([A-Za-z0-9])(?=[).:,;*_\"'”’\]}]|\s*\Z|[ \t]*\n|[ \t]+[-–—])"
)
_EXPLANATION = r"\n[ \t#*]*explanations?\b"
_END_OF_CHOICES = re.compile(_EXPLANATION, re.IGNORECASE)
_END_OF_CHOICE = re.compile(rf"\n[ \t]*\n|{_EXPLANATION}", re.IGNORECASE)


@dataclass(frozen=True)
class ParsedItem:
    """An item as a model wrote it, with the choices in the model's order and without their marks.

    Args:
        key: position of the right choice, from 0.
    """

    question: str
    choices: tuple[str, ...]
    key: int


@dataclass(frozen=True)
class UnreadableReply:
    """A reply that is not a valid item.

    Args:
        parts: the parts that could not be read, in the order question, choices, key.
        reason: their faults, as a phrase.
    """

    parts: tuple[Part, ...]
    reason: str


def parse_item(text: str) -> ParsedItem | UnreadableReply:
    """Read a question, its four choices and its key from a model's reply.

    As text (exam-generation-irt, A.1 and A.2; the order of marks is that of the authors' parser):
    - The question is between `Question:` and the first choice, has more than 50 characters and ends
      in a question mark.
    - Choices are marked `A)`, else `A.`, `1)`, `1.`, `a)`, `a.`. There are exactly four, not empty,
    with different marks.
    - The key is the letter after `Correct Answer:`, else `answer:`, `answer is`, and is one of the
    marks. The letter must not begin a phrase: the article in "answer is A bucket" does not count.

    As JSON: an object with `question`, `choices` (a list of four) and `correct_answer`, a letter or
    the text of a choice. The question, choices and key must satisfy the same conditions as in text.

    Args:
        text: the reply, with or without text around the item; thoughts before it are ignored.
    """
    text = clean_text(without_thoughts(text))
    found = _find_object(text)
    return _of_words(text) if found is None else _of_object(found)


def shuffle_seed(exam_seed: int, item_id: str) -> int:
    """Return the seed of an item's order: the first 63 bits of the BLAKE2b hash of the exam seed
    and the item id.
    """
    digest = hashlib.blake2b(f"{exam_seed}/{item_id}".encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big") >> 1


def shuffle_choices(choices: Sequence[str], seed: int) -> tuple[str, ...]:
    """Return choices in an order that depends only on the seed; the key is a text and needs no
    change.

    Places are ordered by the hash of seed and place, so that the order is the same in every version
    of Python.
    """
    places = sorted(
        range(len(choices)), key=lambda at: hashlib.blake2b(f"{seed}/{at}".encode()).digest()
    )
    return tuple(choices[at] for at in places)


def _of_words(text: str) -> ParsedItem | UnreadableReply:
    header = next(filter(None, (pattern.search(text) for pattern in _HEADERS)), None)
    begin = header.end() if header else 0
    marks, key_at, letter = _find_marks(text, begin)
    question = _clean_question(text[begin : marks[0].start()]) if marks else ""
    letters = [mark["mark"].upper() for mark in marks]
    ends = [mark.start() for mark in marks[1:]] + [len(text) if key_at is None else key_at]
    choices = tuple(
        _clean_choice(text[mark.end() : end]) for mark, end in zip(marks, ends, strict=False)
    )
    key = (
        letters.index(letter.upper()) if letter is not None and letter.upper() in letters else None
    )
    no_key = (
        "no letter follows 'Correct Answer:'"
        if letter is None
        else f"{letter} marks none of the choices"
    )
    unasked = question_fault(question) if marks else None
    fault = "it does not begin with 'Question:'" if header is None else unasked
    return _assemble_item(question, fault, choices, choices_fault(choices, letters), key, no_key)


def _assemble_item(
    question: str,
    question_is: str | None,
    choices: tuple[str, ...],
    choices_are: str | None,
    key: int | None,
    no_key: str,
) -> ParsedItem | UnreadableReply:
    """Return an item of its parts, or the faults of the parts.

    Args:
        question_is, choices_are: their faults; None without one.
        key: position of the right choice; None if unknown.
        no_key: why it is unknown.
    """
    faults = dict(
        zip(PARTS, (question_is, choices_are, no_key if key is None else None), strict=True)
    )
    lost = {part: fault for part, fault in faults.items() if fault}
    if lost or key is None:
        return UnreadableReply(
            tuple(lost), "; ".join(f"the {part}: {fault}" for part, fault in lost.items())
        )
    return ParsedItem(question, choices, key)


def question_fault(question: str) -> str | None:
    """Return why a text is not an exam question; None for a valid one."""
    if len(question) <= SHORTEST_QUESTION:
        return (
            f"its {len(question)} characters are too few, more than {SHORTEST_QUESTION} are needed"
        )
    return None if question.endswith("?") else "it does not end with a question mark"


def choices_fault(choices: Sequence[str], marks: Sequence[str] | None = None) -> str | None:
    """Return why texts are not the choices of an item; None for valid ones."""
    if len(choices) != CHOICES:
        return f"there are {len(choices)} instead of {CHOICES}"
    if marks is not None and len(set(marks)) < CHOICES:
        return "two of them have the same mark"
    return None if all(choices) else "at least one is empty"


def _find_marks(text: str, begin: int) -> tuple[list[re.Match[str]], int | None, str | None]:
    """Return the marks of the choices, the start of the key part, and the letter of the key.

    The style is the first that has four marks before the key, else the one with the most marks.
    """
    best: tuple[list[re.Match[str]], int | None, str | None] = ([], None, None)
    for own_line in (True, False):
        for style in _STYLES:
            marks = list(_mark_pattern(style, own_line).finditer(text, begin))
            if not marks:
                continue
            key_at, letter = _find_key(text, marks[0].end())
            explained = _END_OF_CHOICES.search(text, marks[0].end())
            end = min(
                at for at in (key_at, explained and explained.start(), len(text)) if at is not None
            )
            before = [mark for mark in marks if mark.start() < end]
            if len(before) == CHOICES:
                return before, key_at, letter
            if len(before) > max(1, len(best[0])):
                best = before, key_at, letter
    return best if best[0] else ([], *_find_key(text, begin))


def _mark_pattern(style: str, own_line: bool) -> re.Pattern[str]:
    marks, sign = _CLASSES[style[0]], re.escape(style[1])
    before = r"(?m:^)[ \t]*(?:[-•][ \t]+)?[*_(]{0,3}" if own_line else r"(?<!\S)"
    return re.compile(rf"{before}(?P<mark>[{marks}])[*_]{{0,2}}{sign}(?!\d)[*_]{{0,2}}")


def _find_key(text: str, begin: int) -> tuple[int | None, str | None]:
    """Return where the words that name the key begin, and its letter; the first words followed by a
    letter count.
    """
    first: int | None = None
    for pattern in _KEYS:
        for match in pattern.finditer(text, begin):
            letter = _LETTER.match(text, match.end())
            line = text.rfind("\n", begin, match.start()) + 1
            at = (
                max(line, begin)
                if line and _is_introduction(text[line : match.start()])
                else match.start()
            )
            first = at if first is None else first
            if letter:
                return at, letter[1]
    return first, None


def _is_introduction(words: str) -> bool:
    """Return whether the words before the key on its line are only an introduction such as "So
    the", or emphasis.
    """
    return len(words.split()) <= 3 and not re.match(r"\s*[*_(]{0,3}\w[).]", words)


def _clean_choice(text: str) -> str:
    """Return a choice up to a blank line or the explanation, on one line."""
    return clean_line(_END_OF_CHOICE.split(text.strip("\n \t"), maxsplit=1)[0]).strip("*_ ")


def _clean_question(text: str) -> str:
    """Return a question with its lines, which code and lists need, but without blank ones."""
    lines = (" ".join(line.split()) for line in text.split("\n"))
    return "\n".join(line for line in lines if line).strip("*_ \n")


def _find_object(text: str) -> dict[str, Any] | None:
    """Return the first JSON object in a text that has a question, ignoring text around it."""
    decoder = json.JSONDecoder()
    for opening in re.finditer(r"\{\s*\"", text):
        try:
            value, _ = decoder.raw_decode(text, opening.start())
        except (ValueError, RecursionError):
            continue
        if isinstance(value, dict) and "question" in value:
            return value
    return None


def _of_object(fields: dict[str, Any]) -> ParsedItem | UnreadableReply:
    question = (
        _clean_question(clean_text(fields["question"]))
        if isinstance(fields["question"], str)
        else ""
    )
    given = fields.get("choices")
    given = list(given.values()) if isinstance(given, dict) else given
    texts = given if isinstance(given, list) and all(isinstance(one, str) for one in given) else []
    choices = without_marks([clean_line(one) for one in texts])
    key = _named_choice(fields.get("correct_answer"), choices)
    no_key = "'correct_answer' is neither the letter nor the text of a choice"
    return _assemble_item(
        question, question_fault(question), choices, choices_fault(choices), key, no_key
    )


def _named_choice(answer: object, choices: Sequence[str]) -> int | None:
    """Return the position of the choice that is named by a letter, or by its text with or without a
    letter.
    """
    if not isinstance(answer, str):
        return None
    text = clean_line(clean_text(answer))
    for form in (text, re.sub(r"^[A-Z][).:]\s*", "", text)):
        if form in choices:
            return choices.index(form)
    letter = re.match(r"\(?([A-Z])(?:[).:]|\Z)", text)
    at = ord(letter[1]) - ord("A") if letter else len(choices)
    return at if at < len(choices) else None


USUAL_PROMPTS = {"transformers": "exam-item", "openai": "exam-item-json"}
"""By back end: the paper's own prompt, and one for chats that requests JSON."""
TOKENS = 1024
"""Room for an item with its explanation."""
WRITTEN = 220
"""Tokens of a typical item by a model."""
BLOCK = 1000
"""Passages whose texts are in memory at a time."""

_SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {
        "question": {"type": "string"},
        "choices": {
            "type": "array",
            "items": {"type": "string"},
            "minItems": CHOICES,
            "maxItems": CHOICES,
        },
        "correct_answer": {"type": "string"},
        "explanation": {"type": "string"},
    },
    "required": ["question", "choices", "correct_answer", "explanation"],
    "additionalProperties": False,
}


@dataclass(frozen=True)
class ItemRequest:
    """The items that a model is to write.

    Args:
        query_id: the query of the items; it is added if missing.
        domain: the subject of the passages, for the prompt's {task_domain}.
        prompt: its name; None for the usual one of the back end.
        run: only passages that this run ranks for some query; None for all with a text.
        limit: maximum number of passages to ask about, drawn at random; None for all.
        seed: of the exam; it determines the passages drawn under a limit and the order of choices.
        topic: of the items. None with a run means the words of the query that ranks the passage
            highest.
        again: whether to ask again about passages for which the model wrote no item.
    """

    query_id: str = EXAM_QUERY
    domain: str = EXAM_DOMAIN
    prompt: str | None = None
    run: str | None = None
    limit: int | None = None
    seed: int = 0
    topic: str | None = None
    again: bool = False


ONE_EACH = ItemRequest()
"""An item for every passage, with the usual prompt."""


@dataclass(frozen=True)
class Chunk:
    """A passage for an item, and the topic of the item if known."""

    passage_id: str
    topic: str | None


def item_prompt(project: Project, drafter: Drafter, item_request: ItemRequest) -> Prompt:
    """Return the prompt to use.

    Raises:
        InputError: no prompt for items has this name.
    """
    return find_prompt(
        project,
        item_request.prompt or USUAL_PROMPTS["openai" if drafter.fence else "transformers"],
        "item",
    )


def chunks_to_ask(project: Project, drafter: Drafter, item_request: ItemRequest) -> list[Chunk]:
    """Return the passages that still need a call of this model with this prompt for this exam, in
    the order of the seed.

    A passage for which no answer arrived counts as not asked about, so a repeated call continues
    there.

    Raises:
        InputError: the run or prompt is unknown, or the limit is below 1.
    """
    check_in_range(
        "limit-out-of-range",
        f"Passage limit {item_request.limit}",
        "Use 1 or more.",
        item_request.limit is None or item_request.limit >= 1,
    )
    prompt = item_prompt(project, drafter, item_request)
    topic = "NULL"
    ranked = ""
    if item_request.run is not None:
        check_runs(project, [item_request.run])
        topic = "any_value(r.topic)"
        ranked = (
            "JOIN (SELECT passage_key, arg_min(q.text, (rank, query_key)) AS topic FROM rankings"
            " JOIN runs USING (run_key) JOIN queries q USING (query_key) WHERE runs.name = $run"
            " GROUP BY passage_key) r USING (passage_key)"
        )
    rows = project.rows(
        f"SELECT passage_id, {topic} FROM passages p {ranked}"
        " WHERE p.text_key IS NOT NULL AND passage_key NOT IN ( SELECT passage_key FROM generations"
        " JOIN queries USING (query_key) WHERE kind = 'item' AND query_id = $query"
        "  AND model = $model AND prompt_hash = $prompt AND passage_key IS NOT NULL"
        "  AND (reason IS NULL OR (raw <> '' AND NOT $again))) GROUP BY passage_id",
        {
            "query": item_request.query_id,
            "model": drafter.model,
            "prompt": prompt.hash,
            "again": item_request.again,
        }
        | ({"run": item_request.run} if item_request.run is not None else {}),
    )
    found = [Chunk(passage_id, item_request.topic or of_query) for passage_id, of_query in rows]
    found.sort(key=lambda one: (_draw_key(item_request.seed, one.passage_id), one.passage_id))
    return found[: item_request.limit]


def generation_price(project: Project, drafter: Drafter, item_request: ItemRequest) -> PriceTag:
    """Estimate the cost of writing items from a sample of the passages, without calling the model.

    Raises:
        InputError: see `chunks_to_ask`.
    """
    prompt = item_prompt(project, drafter, item_request)
    return sampled_price(
        project,
        drafter.back_end,
        drafter.model,
        chunks_to_ask(project, drafter, item_request),
        lambda sample: [
            fill_prompt(
                prompt, {"context": text, "task_domain": item_request.domain}, drafter.fence
            ).joined()
            for text in passage_texts(project, [chunk.passage_id for chunk in sample]).values()
        ],
        WRITTEN,
    )


def generate_items(
    project: Project,
    drafter: Drafter,
    author: str,
    item_request: ItemRequest = ONE_EACH,
    control: Control | None = None,
    watch: Watch = lambda model, progress: None,
) -> Report:
    """Write an item for each passage with a model (exam-generation-irt, section 3.2 and A.1); each
    becomes a proposal.

    After an interruption, the same call continues with the rest. An unreadable reply is recorded
    with the part that failed.

    Args:
        control, watch: see `grading.run_drafting`.

    Raises:
        InputError: see `chunks_to_ask`; or every passage was asked about.
        GradingError: the model cannot answer at all.
    """
    chunks = chunks_to_ask(project, drafter, item_request)
    if not chunks:
        raise InputError(
            "no-passage-left",
            "No passages left: this model was already asked about all of them.",
            "Import passages with texts, or ask again about passages without an item (--again).",
        )
    prompt = item_prompt(project, drafter, item_request)
    with project.transaction() as cursor:
        add_queries(
            cursor, [Query(item_request.query_id, f"Exam on {item_request.domain}")], replace=False
        )

    def make_calls(block: Sequence[Chunk]) -> list[Asked]:
        texts = passage_texts(project, [chunk.passage_id for chunk in block])
        return [
            (
                _make_call(prompt, texts[chunk.passage_id], drafter, item_request),
                partial(_read_completion, chunk, drafter, prompt, item_request),
            )
            for chunk in block
        ]

    blocks = (make_calls(chunks[start : start + BLOCK]) for start in range(0, len(chunks), BLOCK))
    request = asdict(item_request) | {"prompt": prompt.name}
    return run_drafting(
        project, drafter, "items", request, len(chunks), blocks, author, control, watch
    )


def start_writing(
    project: Project,
    drafter: Drafter,
    author: str,
    item_request: ItemRequest,
    caps: Caps = UNCAPPED,
) -> BackgroundJob:
    """Write items with a model in the background; a project runs one such job at a time. The result
    is a `Report`.

    Raises:
        GradingError: another one is running.
        InputError: the cost is capped and the model has no price.
        NotAllowed: the role of the person does not include writing with models.
    """
    control = job_control(project, drafter.model, drafter.back_end, caps)
    return start_background(
        project,
        "items",
        "write with models",
        author,
        lambda owned: BackgroundJob(
            drafter.model,
            "passages",
            item_request,
            author,
            control,
            lambda report, job: generate_items(
                owned, drafter, author, item_request, job.control, report
            ),
        ),
    )


def _draw_key(seed: int, passage_id: str) -> bytes:
    return hashlib.blake2b(f"{seed}/{passage_id}".encode(), digest_size=16).digest()


def _make_call(prompt: Prompt, text: str, drafter: Drafter, item_request: ItemRequest) -> Call:
    values = {"context": text, "task_domain": item_request.domain}
    if prompt.form == "json":
        return Call(prompt, values, "json", drafter.fence, max_tokens=TOKENS, schema=_SCHEMA)
    return Call(prompt, values, "text", drafter.fence, max_tokens=TOKENS)


def _read_completion(
    chunk: Chunk,
    drafter: Drafter,
    prompt: Prompt,
    item_request: ItemRequest,
    completion: Completion,
) -> Generation:
    """Return a completion as a generation: an item with its choices shuffled, or the reason for
    failure.
    """
    empty = replace(
        blank_generation(
            "item", item_request.query_id, drafter, prompt, passage_id=chunk.passage_id
        ),
        raw=completion.text,
    )
    if completion.error is not None:
        return replace(empty, raw="", reason=completion.error)
    parsed = parse_item(completion.text)
    if isinstance(parsed, UnreadableReply):
        reason = parsed.reason if completion.complete else f"{CUT_OFF}; {parsed.reason}"
        # A blank answer still counts as an answer. An empty `raw` means that no answer arrived.
        return replace(
            empty, raw=completion.text or " ", reason=reason if completion.text.strip() else EMPTY
        )
    identity = "\x1f".join((prompt.hash, drafter.model, chunk.passage_id, completion.text))
    name = hashlib.blake2b(identity.encode(errors="replace"), digest_size=6).hexdigest()
    item_id = f"{item_request.query_id}/{name}"
    seed = shuffle_seed(item_request.seed, item_id)
    item = DraftedItem(
        item_id,
        shuffle_choices(parsed.choices, seed),
        parsed.choices[parsed.key],
        chunk.topic,
        seed,
    )
    return replace(empty, texts=(parsed.question,), item=item)
