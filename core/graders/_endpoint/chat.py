"""Chat and plain completions: requests, answers, objections, and batches of calls."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

import orjson

from ...choices import Api
from ...limits import read_limit
from .._grader_interface import Tokens
from .._prompts.prompt import PASSAGE, Messages, fill_prompt, prompt_variables
from .._reading.calls import Call, Completion, is_answer, make_settled_test, named_option
from .._reading.non_answers import reasoning_length
from .._reading.parsing import ABSTENTION

Clean = Callable[[str], str]
"""Removes keys from a text."""

CHARACTERS_PER_TOKEN = 4
"""A rule of thumb for English; numbers that an endpoint reports replace it."""
STRUCTURED_ROOM = 64
"""Minimum token limit for an answer in JSON, because its braces and name need some."""
AROUND_PROMPT = 256
"""Tokens that an endpoint may add to a prompt: its template, the schema, a line of its own."""
CHARACTERS_AT_MOST = 8
"""Upper bound of the average number of characters per token."""
UNEXPLAINED = (400, 422)
"""Statuses with which endpoints refuse a prompt that is too long, regardless of their message."""
LONG = 500
"""Minimum number of characters of a passage that is shortened on a guess."""
SHORTEST_PASSAGE = 80
"""Number of characters below which a passage is not shortened further, because the rest would be
meaningless.
"""
END = ("\n\n",)
"""Stop sequence of a completion: a model that only continues text writes the next question instead
of an end.
"""
LOGPROBS = 10
"""Number of likely tokens to report: the digits of a scale, and other ways to write them."""
MOST_THINKING = 200_000
"""Upper limit of tokens for thinking."""
CUT_OFF_THINKING = "cut off while the model was thinking; raise thinking_tokens"
"""Reason of a missing answer if a reasoning model used its whole limit for thinking."""
SHORTEST_LIMIT = 16
"""Smaller numbers are not token limits."""
DEEPEST_ERROR = 4
"""Maximum number of nested lists and objects in which an error is searched."""
SHOWN = 200
"""Maximum number of characters of an endpoint's own words in a message."""


MOST_CALLS = 50_000
MOST_BYTES = 200_000_000
"""Limits of a batch's file (OpenAI, API reference, Batch: "up to 50,000 requests, and can be up to
200 MB in size").
"""


@dataclass(frozen=True)
class EndpointBatch:
    """A batch, as the endpoint describes it.

    Args:
        id: its id.
        status: validating, in_progress, finalizing, completed, expired, cancelling, cancelled or
            failed.
        input_file: id of the file with its calls.
        mark: its mark; empty without one.
        files: ids of the files with answers and errors, as far as they exist.
        done: number of finished calls, including failed ones.
        code, message: reason of a failure; empty without one.
    """

    id: str
    status: str
    input_file: str
    mark: str
    files: tuple[str, ...]
    done: int
    code: str
    message: str

    @property
    def is_over(self) -> bool:
        """Whether the batch has reached its final state."""
        return self.status in ("completed", "expired", "cancelled", "failed")


@dataclass(frozen=True)
class Dialect:
    """Fields that an endpoint presumably accepts, until it objects.

    Args:
        api: chat, or plain completions.
        structured: whether answers can be JSON with a schema.
        limit: name of the field for the maximum length of an answer.
        temperature: whether it may be set.
        system: whether the model has a system role; if not, the system text begins the user text.
        logprobs: whether the answer of a chat may come with probabilities of tokens.
    """

    api: Api = "chat"
    structured: bool = True
    limit: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    temperature: bool = True
    system: bool = True
    logprobs: bool = True


@dataclass(frozen=True)
class Request:
    """One call, ready to be sent.

    Args:
        call: the call.
        body: fields of the request by name.
        length: characters of the prompt.
        reserved: maximum number of tokens read and written, for the budget.
        structured: whether it requests JSON with a schema.
        shortened: estimated tokens of the passage left out.
        kept: characters of the passage in it; 0 for a prompt without a passage.
    """

    call: Call
    body: dict[str, Any]
    length: int
    reserved: tuple[int, int]
    structured: bool
    shortened: int
    kept: int

    @property
    def half_length(self) -> int:
        """Number of characters of the passage to keep if the prompt is too long; 0 if that is too
        few.
        """
        return self.kept // 2 if self.kept // 2 >= SHORTEST_PASSAGE else 0

    @property
    def half_on_a_guess(self) -> int:
        """The same as `half_length`, for a prompt that may be too long; 0 also if the passage was
        shortened before.
        """
        return self.kept // 2 if self.kept // 2 >= LONG and not self.shortened else 0

    @property
    def tokens(self) -> tuple[float, float]:
        """Estimated bounds of the prompt's tokens: least and most."""
        return self.length / CHARACTERS_AT_MOST, sum(self.reserved)


@dataclass(frozen=True)
class Answer:
    """The content of a successful answer.

    Args:
        completion: the endpoint's completion, which may have an error about this pair.
        used: tokens.
        model: name of the model in the answer; empty if missing.
    """

    completion: Completion
    used: Tokens
    model: str = ""


class UnusableBodyError(Exception):
    """A body that is not a completion; its text says why."""


class ReportedError(UnusableBodyError):
    """An error in an answer with a success status: some gateways report failures behind them like
    this.

    Args:
        error: the error itself.
        words: the error in words.
    """

    def __init__(self, error: object, words: str) -> None:
        super().__init__(
            f"the answer is an error: {words}" if words else "the answer has no choice"
        )
        codes = [error.get(name) for name in ("code", "status")] if isinstance(error, dict) else []
        self.error = error
        self.status = next((int(code) for code in map(str, codes) if _STATUS.fullmatch(code)), None)
        """The HTTP status in the error; None without one."""


def prepare_request(
    call: Call,
    model: str,
    temperature: float,
    dialect: Dialect,
    keep: int | None,
    max_tokens_in: int | None,
    thinking: int,
    extra: Mapping[str, Any],
) -> Request | Completion:
    """Convert a call to a request.

    Args:
        call: the call.
        model: name of the model.
        temperature: temperature of the sampling; 0 for the likeliest answer.
        dialect: accepted fields of the endpoint.
        keep: characters of the passage to keep; None for all.
        max_tokens_in: maximum number of tokens of the prompt, by estimate; longer passages are
            shortened.
        thinking: tokens for a reasoning model's thoughts, in addition to those of the answer.
        extra: further fields of the request.

    Returns:
        The request, or a completion with an error if the call cannot be a request.
    """
    if call.form in ("likelihood", "span"):
        return Completion(error=f"the answer form {call.form!r} needs a model on this computer")
    try:
        "".join(call.values.values()).encode()
    except UnicodeEncodeError as error:
        return Completion(error=f"the text cannot be sent: {error.reason}")
    whole = call.values.get(PASSAGE, "") if PASSAGE in prompt_variables(call.prompt) else ""
    passage = whole if keep is None else _cut_text(whole, keep)
    messages = _fill_with_passage(call, passage)
    if (
        max_tokens_in is not None
        and (excess := _messages_length(messages) - max_tokens_in * CHARACTERS_PER_TOKEN) > 0
    ):
        passage = _cut_text(passage, len(passage) - excess)
        if not passage:
            return Completion(
                error=f"the prompt is longer than {max_tokens_in} tokens even without the passage"
            )
        messages = _fill_with_passage(call, passage)
    schema = _response_format(call, messages) if dialect.structured else None
    structured = schema is not None and schema["type"] == "json_schema"
    room = thinking + (max(call.max_tokens, STRUCTURED_ROOM) if structured else call.max_tokens)
    body: dict[str, Any] = {"model": model, dialect.limit: room}
    if dialect.api == "completions":
        body |= {"prompt": messages.joined(), "stop": list(END)}
    else:
        sent = messages if dialect.system else Messages(messages.joined())
        body["messages"] = sent.by_role()
    if dialect.temperature:
        body["temperature"] = temperature
    if schema is not None:
        body["response_format"] = schema
    if dialect.logprobs and dialect.api == "chat" and call.options and not thinking:
        # The thoughts of a reasoning model would bring thousands of them.
        body |= {"logprobs": True, "top_logprobs": LOGPROBS}
    body |= extra
    # No token is shorter than a byte in any script, so this bound holds for numbers and other
    # scripts, too.
    read = AROUND_PROMPT + sum(len(text.encode()) for text in (messages.system, messages.user))
    left_out = math.ceil((len(whole) - len(passage)) / CHARACTERS_PER_TOKEN)
    return Request(
        call, body, _messages_length(messages), (read, room), structured, left_out, len(passage)
    )


def read_answer(content: bytes, request: Request, clean: Clean) -> Answer:
    """Read the body of an answer.

    Args:
        content: the body.
        request: the request that it answers.
        clean: removes keys from a message; the text of the completion is not changed.

    Raises:
        ReportedError: the body has an error, or no choice.
        UnusableBodyError: the body is not a completion: not JSON, cut off, or with wrong types.
    """
    try:
        body = orjson.loads(content)
    except orjson.JSONDecodeError:
        kind = "a web page" if content.lstrip()[:1] == b"<" else "not JSON, or cut off"
        raise UnusableBodyError(f"the answer is {kind}") from None
    choices = body.get("choices") if isinstance(body, dict) else None
    choice = (
        choices[0] if isinstance(choices, list) and choices and isinstance(choices[0], dict) else {}
    )
    ended = choice.get("finish_reason")
    failed = [
        whole["error"] for whole in (body, choice) if isinstance(whole, dict) and whole.get("error")
    ]
    if ended == "error":
        failed.append({"message": "the answer ended in an error"})
    if failed or not choice:
        error = error_in(failed[0] if failed else body)
        raise ReportedError(error, error_explanation(error, clean))
    message = (
        {"content": choice.get("text", 0)} if "prompt" in request.body else choice.get("message")
    )
    filtered = isinstance(ended, str) and _STOPPED.search(ended.lower()) is not None
    if not isinstance(message, dict) and not filtered:
        raise UnusableBodyError("the answer has no message")
    message = _join_content(message if isinstance(message, dict) else {})
    text, refusal = message.get("content"), message.get("refusal")
    if not isinstance(text, str | None):
        raise UnusableBodyError("the content of the answer is not text")
    complete = ended != "length"
    if not complete and text:
        # Some models write their answer first and continue until they are cut off.
        enough = make_settled_test(request.call)
        is_whole = request.structured and is_answer(request.call, text, structured=True)
        complete = is_whole or (enough is not None and enough(text))
    named = body.get("model")
    model = printable_line(clean(named)) if isinstance(named, str) else ""
    completion = Completion(
        text=text or "",
        complete=complete,
        structured=request.structured,
        shortened=request.shortened,
        model=None if model in ("", request.body["model"]) else model,
    )
    if isinstance(refusal, str) and refusal:
        completion = replace(completion, error=f"refused: {printable_line(clean(refusal))}")
    elif filtered:
        completion = replace(completion, error="stopped by the endpoint's content filter")
    if request.body.get("logprobs") and completion.error is None:
        chances = _option_chances(request.call, completion, choice.get("logprobs"))
        completion = replace(completion, distribution=chances)
    thoughts = _model_thoughts(message, completion.text)
    used = reported_tokens(body.get("usage"), estimated_usage(request, completion.text))
    if thoughts and not used.thinking:
        used = used._replace(
            thinking=min(math.ceil(len(thoughts) / CHARACTERS_PER_TOKEN), used.written)
        )
    if (
        completion.error is None
        and ended == "length"
        and used.thinking
        and not completion.text.strip()
    ):
        completion = replace(completion, error=CUT_OFF_THINKING)
    return Answer(completion, used, model)


_AROUND_OPTION = " \t\n\"'`*_Ġ▁"
"""Signs around an option within a token."""


def _option_chances(call: Call, completion: Completion, logprobs: Any) -> dict[str, float] | None:
    """Return the probability of each option at the token with which the model wrote its choice.

    Args:
        logprobs: of the answer, as OpenAI's chat completions have them; anything else counts as
            missing.

    Returns:
        Probabilities that sum to 1; None if the answer has no choice, or no such token is reported.
    """
    tokens = logprobs.get("content") if isinstance(logprobs, dict) else None
    named = named_option(call, completion)
    if not isinstance(tokens, list) or named is None:
        return None
    # Reasoning before the answer may name the choice, too.
    order = reversed(tokens) if reasoning_length(completion.text) else tokens
    option_token = next(
        (
            token
            for token in order
            if isinstance(token, dict) and _option_in(token) == named.casefold()
        ),
        None,
    )
    top = option_token.get("top_logprobs") if option_token else None
    weights = dict.fromkeys(map(str.casefold, call.options), 0.0)
    for one in top if isinstance(top, list) else ():
        value = one.get("logprob") if isinstance(one, dict) else None
        if isinstance(value, float | int) and value <= 0 and _option_in(one) in weights:
            weights[_option_in(one)] += math.exp(value)
    total = sum(weights.values())
    return (
        {option: weights[option.casefold()] / total for option in call.options} if total else None
    )


def _option_in(token: dict[str, Any]) -> str:
    return str(token.get("token")).strip(_AROUND_OPTION).casefold()


def _join_content(message: dict[str, Any]) -> dict[str, Any]:
    """Return a message with its content as one text: text parts are joined, and other texts are
    grouped by kind.

    Some models, such as Mistral's reasoning models, send a list of parts instead of a text.
    """
    parts = message.get("content")
    if not isinstance(parts, list) or not all(isinstance(part, dict) for part in parts):
        return message
    texts: dict[str, str] = {"content": ""}
    for part in parts:
        kind = {"text": "content", "output_text": "content", "refusal": "refusal"}.get(
            part.get("type"), "reasoning"
        )
        inner = next(
            (part[name] for name in ("text", "thinking", "reasoning", "refusal") if part.get(name)),
            "",
        )
        pieces = inner if isinstance(inner, list) else [inner]
        inner_texts = (piece.get("text") if isinstance(piece, dict) else piece for piece in pieces)
        texts[kind] = texts.get(kind, "") + "".join(
            piece for piece in inner_texts if isinstance(piece, str)
        )
    return message | texts


def _model_thoughts(message: Mapping[str, Any], text: str) -> str:
    """Return a model's reported or visible thoughts before its answer; empty if unknown."""
    reported = (message.get(name) for name in ("reasoning_content", "reasoning"))
    return next(
        (part for part in reported if isinstance(part, str) and part),
        text[: reasoning_length(text)],
    )


def estimated_usage(request: Request, text: str = "") -> Tokens:
    """Return the estimated tokens read and written, for endpoints that do not report them."""
    return Tokens(
        math.ceil(request.length / CHARACTERS_PER_TOKEN),
        math.ceil(len(text) / CHARACTERS_PER_TOKEN),
    )


def error_in(body: object) -> object:
    """Return the error in a body: in a list (Gemini), under `error`, or the body itself."""
    for _ in range(DEEPEST_ERROR):
        if isinstance(body, list):
            inner = body[0] if body else None
        else:
            inner = body.get("error") or body.get("errors") if isinstance(body, dict) else None
        if not isinstance(inner, dict | list | str):
            break
        body = inner
    return body


def error_explanation(body: object, clean: Clean) -> str:
    """Return an endpoint's own words about a problem in one short line; empty without any.

    Args:
        body: body of the answer.
        clean: removes keys from a text. It must run before shortening, because half a key is not
            recognized.
    """
    body = error_in(body)
    if isinstance(body, dict):
        body = _message_text(
            next((body[name] for name in ("message", "detail", "msg") if body.get(name)), "")
        )
    if not isinstance(body, str):
        return ""
    return "it sent a web page" if body.lstrip()[:1] == "<" else printable_line(clean(body))


def _message_text(value: object) -> str:
    """Return an endpoint's message of any type as one text; empty if it is nested too deeply or has
    too long a number."""
    try:
        return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    except (RecursionError, ValueError):
        # Such a value is useless as a message for a person.
        return ""


Objection = Literal[
    "too long",
    "no structure",
    "other limit",
    "no temperature",
    "no system role",
    "no logprobs",
    "filtered",
    "no credit",
    "no key",
]


def find_objection(
    body: object, sent: Mapping[str, Any], tokens: tuple[float, float] = (math.inf, 0)
) -> Objection | None:
    """Return an endpoint's objection to a request; None if it has no known meaning.

    Codes and numbers take precedence over words. Words that are in the prompt are ignored, because
    an error may repeat them.

    Args:
        body: the error of the endpoint.
        sent: fields of the request by name. Objections to other fields are ignored, so that no
            change is made twice.
        tokens: estimated bounds of the prompt's tokens: least and most.
    """
    error = error_in(body)
    words = _message_text(error).lower()
    messages = sent.get("messages", [])
    prompt = json.dumps(sent.get("prompt", messages), ensure_ascii=False).lower()

    def has_sign(signs: re.Pattern[str]) -> bool:
        return any(match[0] not in prompt for match in signs.finditer(words))

    codes = (
        {str(error.get(name)).lower() for name in ("code", "type")}
        if isinstance(error, dict)
        else set()
    )
    if "insufficient_quota" in codes:
        return "no credit"
    if codes & _FILTER_CODES:
        return "filtered"
    if has_sign(_TOO_LONG) or (has_sign(_LENGTHS) and _names_length(words, tokens)):
        return "too long"
    parts = {None, *sent, *(message["role"] for message in messages)}
    return next(
        (against for against, part, signs in _OBJECTIONS if part in parts and has_sign(signs)),
        "filtered" if has_sign(_FILTERED) and not has_sign(_ACCOUNT) else None,
    )


def asks_too_much(error: object) -> bool:
    """Return whether a rate limit is lower than this request, so that waiting does not help."""
    match = _REQUESTED.search(_message_text(error).lower().replace(",", ""))
    return match is not None and int(match[2]) > int(match[1])


def _names_length(words: str, tokens: tuple[float, float]) -> bool:
    """Return whether a message has a number that may be the prompt's tokens, and a smaller one that
    may be the limit."""
    numbers = {int(number) for number in _NUMBER.findall(words.replace(",", ""))}
    longest = max((number for number in numbers if tokens[0] <= number <= tokens[1]), default=0)
    return any(SHORTEST_LIMIT <= number < longest for number in numbers)


_STATUS = re.compile("[4-9][0-9]{2}")
_NUMBER = re.compile(r"(?<![\w.])\d{2,8}(?![\w.]\d)")
_LENGTHS = re.compile(r"\b(?:tokens?|length|context|characters|size)\b")
_REQUESTED = re.compile(r"\blimit:? (\d+)\b.{0,40}?\brequested:? (\d+)\b")
_TOO_LONG = re.compile(
    r"context[ _](?:length|limit|size|window)|exceed_context|maximum"
    r" (?:context|input|prompt)\b|string_above_max_length"
    r"|tokens?_limit_reached|(?:input|prompt|request)_too_l(?:arge|ong)"
    r"|\b(?:body|content|input|message|payload|prompt|request|text)s?\b\W+(?:\w+\W+){0,4}?too"
    r" (?:large|long)\b"
    r"|too many (?:\w+ )?tokens|too large for model|(?:model|max\w*) token limit|expected maxlength"
    r"|\b(?:input|prompt)s?\W+(?:length|must have (?:less|fewer)|size|tokens?)\b"
    r"|(?:reduce|shorten) (?:the|your) (?:input|length|message|prompt|size|text)|\u8d85\u957f"
)
_OBJECTIONS: tuple[tuple[Objection, str | None, re.Pattern[str]], ...] = (
    (
        "no key",
        None,
        re.compile(
            r"api[ _-]?key[ _](?:not[ _]valid|invalid)|(?:incorrect|invalid)[ _]api[ _-]?key"
        ),
    ),
    ("no logprobs", "logprobs", re.compile("logprobs")),
    ("other limit", "max_tokens", re.compile("max_completion_tokens")),
    (
        "no structure",
        "response_format",
        re.compile(r"response[_ ]format|json[_ ]schema|structured output"),
    ),
    (
        "no system role",
        "system",
        re.compile(
            r"(?:system|developer)[\s_'\"`\\]*(?:instruction|message|prompt|role)s?\b"
            r"|\broles?\b[^.]{0,30}?\b(?:system|developer)\b|messages?\W{0,3}\d*\W{0,3}role\b"
            r"|roles must alternate|user and assistant|'user' or 'assistant'"
            r"|(?:invalid|unexpected|unknown|unsupported) (?:message )?role"
        ),
    ),
    ("no temperature", "temperature", re.compile(r"['\"`]?\btemperature\b(?:['\"`\\]|=[\d.]+)?")),
)
"""Objections, the field or role that must have been sent for them (None for any), and their signs.
"""
_FILTER_CODES = {
    *(
        "content_filter",
        "content_policy_violation",
        "data_inspection_failed",
        "datainspectionfailed",
    ),
    *("moderation_blocked", "invalid_prompt", "prompt_blocked", "guardrail_intervened"),
}
_FILTERED = re.compile(
    r"content[ _-]?(?:exists risk|filter|management|policy)|data inspection|flagged|guardrail|high"
    r" risk|inappropriate"
    r"|moderation|prohibited|responsible ?ai|safety|sensitive|usage polic|violat|\u654f\u611f"
)
_ACCOUNT = re.compile(r"\b(?:account|api key|organi[sz]ation|subscription)\b")
_STOPPED = re.compile(
    r"blocklist|filter|guardrail|moderation|prohibited|recitation|safety|sensitive|spii"
)
"""Signs in codes and words of errors, and in the finish reason of an answer, in lower case; see
`find_objection`.
"""


def _fill_with_passage(call: Call, passage: str) -> Messages:
    return fill_prompt(call.prompt, {**call.values, PASSAGE: passage}, fence=call.fence)


def _messages_length(messages: Messages) -> int:
    return len(messages.system) + len(messages.user)


def _cut_text(text: str, length: int) -> str:
    """Cut a text to at most the given length, which is below its own, at the end of a word."""
    kept = text[: max(length, 0)]
    if kept and not text[len(kept)].isspace() and len(words := kept.rsplit(None, 1)) == 2:
        kept = words[0]
    return kept.rstrip()


def _response_format(call: Call, messages: Messages) -> dict[str, Any] | None:
    """Return the answer format to request; None for free text."""
    if call.form == "json" and call.schema is not None:
        return {
            "type": "json_schema",
            "json_schema": {"name": "answer", "strict": True, "schema": call.schema},
        }
    if call.form == "json":
        # OpenAI refuses this type if no message mentions JSON.
        return {"type": "json_object"} if "json" in messages.joined().lower() else None
    options = call.options or {
        "yes-no": ("Yes", "No"),
        "rating": tuple(map(str, range(call.prompt.top + 1))),
    }.get(call.form, ())
    if call.form not in ("rating", "yes-no", "letter") or not options:
        return None
    if call.form == "yes-no" and ABSTENTION in call.prompt.template:
        options = (*options, ABSTENTION)
    if call.form == "rating" and all(option.isdecimal() for option in options):
        name, field = "rating", {"type": "integer", "enum": [int(option) for option in options]}
    else:
        name, field = "answer", {"type": "string", "enum": list(options)}
    schema = {
        "type": "object",
        "properties": {name: field},
        "required": [name],
        "additionalProperties": False,
    }
    return {
        "type": "json_schema",
        "json_schema": {"name": "grade", "strict": True, "schema": schema},
    }


def reported_tokens(usage: object, estimate: Tokens) -> Tokens:
    """Return the tokens that an endpoint reports for a call.

    Args:
        usage: the field of its answer, in OpenAI's form; `prompt_cache_hit_tokens` is DeepSeek's
            name for cached tokens.
        estimate: used if the report is missing or invalid.
    """
    reported = usage if isinstance(usage, dict) else {}
    read = _valid_token_count(reported.get("prompt_tokens"), estimate.read)
    written = _valid_token_count(reported.get("completion_tokens"), estimate.written)
    of_read = reported.get("prompt_tokens_details")
    of_written = reported.get("completion_tokens_details")
    cached = (
        of_read.get("cached_tokens")
        if isinstance(of_read, dict)
        else reported.get("prompt_cache_hit_tokens")
    )
    thinking = of_written.get("reasoning_tokens") if isinstance(of_written, dict) else None
    # Cached and reasoning tokens are parts of the tokens read and written, so they cannot exceed
    # these.
    return Tokens(
        read,
        written,
        min(_valid_token_count(cached, 0), read),
        min(_valid_token_count(thinking, 0), written),
    )


def _valid_token_count(reported: object, estimate: int) -> int:
    """Return a reported number of tokens; the estimate if it is missing or invalid."""
    if isinstance(reported, float) and reported.is_integer():
        reported = int(reported)
    if (
        isinstance(reported, bool)
        or not isinstance(reported, int)
        or reported < 0
        or (reported == 0 and estimate)
    ):
        return estimate
    return min(reported, read_limit("ENDPOINT_TOKENS"))


def printable_line(text: str) -> str:
    """Return a text as one short printable line, without line breaks and control characters for
    terminals.
    """
    line = " ".join("".join(sign if sign.isprintable() else " " for sign in text).split())
    return line if len(line) <= SHOWN else line[: SHOWN - 1] + "…"
