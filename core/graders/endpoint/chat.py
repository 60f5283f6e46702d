"""Chat and plain completions as data: what is sent for a call, how a body is read, what an objection means."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

import orjson

from ...limits import limit
from ..control import Tokens
from ..prompts.prompt import PASSAGE, Messages, fill, variables
from ..reading.answers import is_of_schema
from ..reading.calls import Call, Completion
from ..reading.parsing import ABSTENTION
from ..reading.reasoning import reasoning_length
from ..reading.settled import settled

Api = Literal["chat", "completions"]
"""What an endpoint is asked for: an answer in a chat, or how a text goes on."""

Clean = Callable[[str], str]
"""Takes keys out of a text."""

CHARACTERS_PER_TOKEN = 4
"""A rule of thumb for English; what an endpoint reports takes its place."""
STRUCTURED_ROOM = 64
"""Tokens at least for an answer in JSON, whose braces and name take some."""
AROUND_PROMPT = 256
"""Tokens that an endpoint may put around a prompt: its template, the schema, a line of its own."""
CHARACTERS_AT_MOST = 8
"""Characters of a token on average, at most."""
UNEXPLAINED = (400, 422)
"""Statuses with which endpoints refuse a prompt that is too long, whatever their message says."""
LONG = 500
"""Characters that a passage keeps at least if it is shortened on a guess."""
SHORTEST_PASSAGE = 80
"""Characters below which a passage is not shortened further: such a rest says nothing of the passage."""
END = ("\n\n",)
"""Where a completion stops: a model that only goes on writes no end of its answer, but the next question."""
MOST_THINKING = 200_000
"""Tokens of room for thinking at most."""
CUT_OFF_THINKING = "cut off while the model was thinking; raise thinking_tokens"
"""Why there is no answer where a reasoning model used all the room that it had."""
SHORTEST_LIMIT = 16
"""Smaller numbers are no limit of tokens."""
DEEPEST_ERROR = 4
"""Lists and objects that an error is looked for in."""
SHOWN = 200
"""Characters of an endpoint's own words in a message."""


@dataclass(frozen=True)
class Dialect:
    """What an endpoint is thought to take, until it objects.

    Args:
        api: chat, or plain completions.
        structured: answers in JSON of a schema.
        limit: name of the field that bounds the length of an answer.
        temperature: whether it may be set.
        system: whether the model has a system role; if not, the system's words begin those of the user.
    """

    api: Api = "chat"
    structured: bool = True
    limit: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    temperature: bool = True
    system: bool = True


@dataclass(frozen=True)
class Request:
    """One call, ready to be sent.

    Args:
        call: what is asked.
        body: fields of the request by name.
        length: characters of the prompt.
        reserved: tokens read and written at most, for the budget.
        structured: whether it asks for JSON of a schema.
        shortened: estimated tokens of the passage left out.
        kept: characters of the passage in it; 0 where the prompt has none.
    """

    call: Call
    body: dict[str, Any]
    length: int
    reserved: tuple[int, int]
    structured: bool
    shortened: int
    kept: int

    @property
    def half(self) -> int:
        """Characters of the passage to keep if the prompt is too long; 0 if that is too few."""
        return self.kept // 2 if self.kept // 2 >= SHORTEST_PASSAGE else 0

    @property
    def half_on_a_guess(self) -> int:
        """As `half` if the prompt only may be too long; 0 also if the passage was shortened before."""
        return self.kept // 2 if self.kept // 2 >= LONG and not self.shortened else 0

    @property
    def tokens(self) -> tuple[float, float]:
        """Tokens of the prompt, by estimate: at least and at most."""
        return self.length / CHARACTERS_AT_MOST, sum(self.reserved)


@dataclass(frozen=True)
class Answer:
    """The content of a body: the endpoint is well and answered.

    Args:
        completion: as the endpoint gave it, maybe with an error about this pair.
        used: tokens.
        model: the model that it says gave it; empty if it does not say.
    """

    completion: Completion
    used: Tokens
    model: str = ""


class UnusableBodyError(Exception):
    """A body that is no completion; its text says why."""


class ReportedError(UnusableBodyError):
    """An error that came with a status of success: gateways report so what failed behind them.

    Args:
        error: the error itself.
        told: it in words.
    """

    def __init__(self, error: object, told: str) -> None:
        super().__init__(f"the answer is an error: {told}" if told else "the answer has no choice")
        codes = [error.get(name) for name in ("code", "status")] if isinstance(error, dict) else []
        self.error = error
        self.status = next((int(code) for code in map(str, codes) if _STATUS.fullmatch(code)), None)
        """The HTTP status that it names; None if it names none."""


def prepare(
    call: Call,
    model: str,
    temperature: float,
    dialect: Dialect,
    keep: int | None,
    max_tokens_in: int | None,
    thinking: int = 0,
) -> Request | Completion:
    """Turn a call into a request.

    Args:
        call: what is asked.
        model: name of the model.
        temperature: of the sampling; 0 for the likeliest answer.
        dialect: what the endpoint takes.
        keep: characters of the passage to keep; all for None.
        max_tokens_in: tokens of the prompt at most, by estimate; the passage is shortened to that.
        thinking: tokens beyond those of the answer, for what a reasoning model writes before it.

    Returns:
        The request, or a completion with an error where no request can be made of the call.
    """
    if call.form in ("likelihood", "span"):
        return Completion(error=f"the answer form {call.form!r} needs a model on this computer")
    try:
        "".join(call.values.values()).encode()
    except UnicodeEncodeError as error:
        return Completion(error=f"the text cannot be sent: {error.reason}")
    whole = call.values.get(PASSAGE, "") if PASSAGE in variables(call.prompt) else ""
    passage = whole if keep is None else _cut(whole, keep)
    messages = _filled(call, passage)
    if max_tokens_in is not None and (excess := _length(messages) - max_tokens_in * CHARACTERS_PER_TOKEN) > 0:
        passage = _cut(passage, len(passage) - excess)
        if not passage:
            return Completion(error=f"the prompt is longer than {max_tokens_in} tokens even without the passage")
        messages = _filled(call, passage)
    schema = _response_format(call, messages) if dialect.structured else None
    structured = schema is not None and schema["type"] == "json_schema"
    room = thinking + (max(call.max_tokens, STRUCTURED_ROOM) if structured else call.max_tokens)
    body: dict[str, Any] = {"model": model, dialect.limit: room}
    if dialect.api == "completions":
        body |= {"prompt": messages.joined(), "stop": list(END)}
    else:
        body["messages"] = _in_roles(messages if dialect.system else Messages(messages.joined()))
    if dialect.temperature:
        body["temperature"] = temperature
    if schema is not None:
        body["response_format"] = schema
    # No token is shorter than a byte, whatever the script: a budget must hold for numbers and for other scripts too.
    read = AROUND_PROMPT + sum(len(text.encode()) for text in (messages.system, messages.user))
    left_out = math.ceil((len(whole) - len(passage)) / CHARACTERS_PER_TOKEN)
    return Request(call, body, _length(messages), (read, room), structured, left_out, len(passage))


def read_answer(content: bytes, request: Request, clean: Clean) -> Answer:
    """Read the body of an answer.

    Args:
        content: the body.
        request: what it answers.
        clean: takes keys out of a message; the text of the completion is left as it came.

    Raises:
        ReportedError: it holds an error, or no choice.
        UnusableBodyError: it is no completion: not JSON, cut off, or of other types.
    """
    try:
        body = orjson.loads(content)
    except orjson.JSONDecodeError:
        kind = "a web page" if content.lstrip()[:1] == b"<" else "not JSON, or cut off"
        raise UnusableBodyError(f"the answer is {kind}") from None
    choices = body.get("choices") if isinstance(body, dict) else None
    choice = choices[0] if isinstance(choices, list) and choices and isinstance(choices[0], dict) else {}
    ended = choice.get("finish_reason")
    failed = [whole["error"] for whole in (body, choice) if isinstance(whole, dict) and whole.get("error")]
    if ended == "error":
        failed.append({"message": "the answer ended in an error"})
    if failed or not choice:
        error = error_in(failed[0] if failed else body)
        raise ReportedError(error, explanation(error, clean))
    message = {"content": choice.get("text", 0)} if "prompt" in request.body else choice.get("message")
    filtered = isinstance(ended, str) and _STOPPED.search(ended.lower()) is not None
    if not isinstance(message, dict) and not filtered:
        raise UnusableBodyError("the answer has no message")
    message = _in_one_piece(message if isinstance(message, dict) else {})
    text, refusal = message.get("content"), message.get("refusal")
    if not isinstance(text, str | None):
        raise UnusableBodyError("the content of the answer is not text")
    complete = ended != "length"
    if not complete and text:
        # Models give their verdict first and explain it, or write on, until they are cut off.
        enough = settled(request.call)
        complete = (request.structured and is_of_schema(request.call, text)) or (enough is not None and enough(text))
    completion = Completion(
        text=text or "", complete=complete, structured=request.structured, shortened=request.shortened
    )
    if isinstance(refusal, str) and refusal:
        completion = replace(completion, error=f"refused: {brief(clean(refusal))}")
    elif filtered:
        completion = replace(completion, error="stopped by the endpoint's content filter")
    named = body.get("model")
    model = brief(clean(named)) if isinstance(named, str) else ""
    thoughts = _thoughts(message, completion.text)
    used = told_tokens(body.get("usage"), estimated_usage(request, completion.text))
    if thoughts and not used.thinking:
        used = used._replace(thinking=min(math.ceil(len(thoughts) / CHARACTERS_PER_TOKEN), used.written))
    if completion.error is None and ended == "length" and used.thinking and not completion.text.strip():
        completion = replace(completion, error=CUT_OFF_THINKING)
    return Answer(completion, used, model)


def _in_one_piece(message: dict[str, Any]) -> dict[str, Any]:
    """A message whose content is one text: its text parts joined, with other texts (reasoning, refusals) by their kind.

    Mistral's reasoning models, among others, send a list of parts in the place of a text.
    """
    parts = message.get("content")
    if not isinstance(parts, list) or not all(isinstance(part, dict) for part in parts):
        return message
    texts: dict[str, str] = {"content": ""}
    for part in parts:
        kind = {"text": "content", "output_text": "content", "refusal": "refusal"}.get(part.get("type"), "reasoning")
        inner = next((part[name] for name in ("text", "thinking", "reasoning", "refusal") if part.get(name)), "")
        pieces = inner if isinstance(inner, list) else [inner]
        found = (piece.get("text") if isinstance(piece, dict) else piece for piece in pieces)
        texts[kind] = texts.get(kind, "") + "".join(piece for piece in found if isinstance(piece, str))
    return message | texts


def _thoughts(message: Mapping[str, Any], text: str) -> str:
    """What a model is said, or seen, to have thought before its answer; empty where nothing is known of that."""
    for name in ("reasoning_content", "reasoning"):
        if isinstance(said := message.get(name), str) and said:
            return said
    return text[: reasoning_length(text)]


def estimated_usage(request: Request, text: str = "") -> Tokens:
    """Tokens read and written, by a rule of thumb, where an endpoint does not say."""
    return Tokens(math.ceil(request.length / CHARACTERS_PER_TOKEN), math.ceil(len(text) / CHARACTERS_PER_TOKEN))


def error_in(body: object) -> object:
    """The error that a body holds: in a list, as Gemini sends it, under `error`, or as the body itself."""
    for _ in range(DEEPEST_ERROR):
        if isinstance(body, list):
            inner = body[0] if body else None
        else:
            inner = body.get("error") or body.get("errors") if isinstance(body, dict) else None
        if not isinstance(inner, dict | list | str):
            break
        body = inner
    return body


def explanation(body: object, clean: Clean) -> str:
    """An endpoint's own words on what went wrong, in one short line; empty where there are none.

    Args:
        body: what it sent.
        clean: takes keys out of a text; before it is shortened, as half a key is not known for one.
    """
    body = error_in(body)
    if isinstance(body, dict):
        body = _said_whole(next((body[name] for name in ("message", "detail", "msg") if body.get(name)), ""))
    if not isinstance(body, str):
        return ""
    return "it sent a web page" if body.lstrip()[:1] == "<" else brief(clean(body))


def _said_whole(said: object) -> str:
    """What an endpoint said as one text, whatever it is; empty where it is nested too deep or has too long a number."""
    try:
        return said if isinstance(said, str) else json.dumps(said, ensure_ascii=False)
    except (RecursionError, ValueError):
        # It is in the place of a message that a person might read; nobody could read that one.
        return ""


Objection = Literal[
    "too long", "no structure", "other limit", "no temperature", "no system role", "filtered", "no credit", "no key"
]


def objection(body: object, sent: Mapping[str, Any], tokens: tuple[float, float] = (math.inf, 0)) -> Objection | None:
    """What an endpoint objects to in a request; None where it is nothing that can be understood.

    Codes and numbers go before words. Words that the prompt itself has say nothing: an error may repeat them.

    Args:
        body: the error that it sent.
        sent: fields of the request by name. It can only object to what was sent, so that no change
            is made twice.
        tokens: that the prompt may have, by estimate: at least and at most.
    """
    error = error_in(body)
    words = _said_whole(error).lower()
    messages = sent.get("messages", [])
    prompt = json.dumps(sent.get("prompt", messages), ensure_ascii=False).lower()

    def says(signs: re.Pattern[str]) -> bool:
        return any(found[0] not in prompt for found in signs.finditer(words))

    codes = {str(error.get(name)).lower() for name in ("code", "type")} if isinstance(error, dict) else set()
    if "insufficient_quota" in codes:
        return "no credit"
    if codes & _FILTER_CODES:
        return "filtered"
    if says(_TOO_LONG) or (says(_LENGTHS) and _tells_length(words, tokens)):
        return "too long"
    parts = {None, *sent, *(message["role"] for message in messages)}
    for against, part, signs in _OBJECTIONS:
        if part in parts and says(signs):
            return against
    return "filtered" if says(_FILTERED) and not says(_ACCOUNT) else None


def asks_too_much(error: object) -> bool:
    """Whether a rate limit says that one request alone is beyond it, so that waiting does not help."""
    found = _REQUESTED.search(_said_whole(error).lower().replace(",", ""))
    return found is not None and int(found[2]) > int(found[1])


def _tells_length(words: str, tokens: tuple[float, float]) -> bool:
    """Whether of two numbers the larger may be the tokens of the prompt, so that the smaller is the limit."""
    numbers = {int(number) for number in _NUMBER.findall(words.replace(",", ""))}
    longest = max((number for number in numbers if tokens[0] <= number <= tokens[1]), default=0)
    return any(SHORTEST_LIMIT <= number < longest for number in numbers)


_STATUS = re.compile("[4-9][0-9]{2}")
_NUMBER = re.compile(r"(?<![\w.])\d{2,8}(?![\w.]\d)")
_LENGTHS = re.compile(r"\b(?:tokens?|length|context|characters|size)\b")
_REQUESTED = re.compile(r"\blimit:? (\d+)\b.{0,40}?\brequested:? (\d+)\b")
_TOO_LONG = re.compile(
    r"context[ _](?:length|limit|size|window)|exceed_context|maximum (?:context|input|prompt)\b|string_above_max_length"
    r"|tokens?_limit_reached|(?:input|prompt|request)_too_l(?:arge|ong)"
    r"|\b(?:body|content|input|message|payload|prompt|request|text)s?\b\W+(?:\w+\W+){0,4}?too (?:large|long)\b"
    r"|too many (?:\w+ )?tokens|too large for model|(?:model|max\w*) token limit|expected maxlength"
    r"|\b(?:input|prompt)s?\W+(?:length|must have (?:less|fewer)|size|tokens?)\b"
    r"|(?:reduce|shorten) (?:the|your) (?:input|length|message|prompt|size|text)|\u8d85\u957f"
)
_OBJECTIONS: tuple[tuple[Objection, str | None, re.Pattern[str]], ...] = (
    ("no key", None, re.compile(r"api[ _-]?key[ _](?:not[ _]valid|invalid)|(?:incorrect|invalid)[ _]api[ _-]?key")),
    ("other limit", "max_tokens", re.compile("max_completion_tokens")),
    ("no structure", "response_format", re.compile(r"response[_ ]format|json[_ ]schema|structured output")),
    (
        "no system role",
        "system",
        re.compile(
            r"(?:system|developer)[\s_'\"`\\]*(?:instruction|message|prompt|role)s?\b"
            r"|\broles?\b[^.]{0,30}?\b(?:system|developer)\b|messages?\W{0,3}\d*\W{0,3}role\b|roles must alternate"
            r"|user and assistant|'user' or 'assistant'|(?:invalid|unexpected|unknown|unsupported) (?:message )?role"
        ),
    ),
    ("no temperature", "temperature", re.compile(r"['\"`]?\btemperature\b(?:['\"`\\]|=[\d.]+)?")),
)
"""Objections with the field or the role that has to be sent for them, None for any, and their signs."""
_FILTER_CODES = {
    *("content_filter", "content_policy_violation", "data_inspection_failed", "datainspectionfailed"),
    *("moderation_blocked", "invalid_prompt", "prompt_blocked", "guardrail_intervened"),
}
_FILTERED = re.compile(
    r"content[ _-]?(?:exists risk|filter|management|policy)|data inspection|flagged|guardrail|high risk|inappropriate"
    r"|moderation|prohibited|responsible ?ai|safety|sensitive|usage polic|violat"
)
_ACCOUNT = re.compile(r"\b(?:account|api key|organi[sz]ation|subscription)\b")
_STOPPED = re.compile(r"blocklist|filter|guardrail|moderation|prohibited|recitation|safety|sensitive|spii")
"""Signs in codes and words of errors, and in the reason for which an answer ended, in lower case; see `objection`."""


def _filled(call: Call, passage: str) -> Messages:
    return fill(call.prompt, {**call.values, PASSAGE: passage}, fence=call.fence)


def _in_roles(messages: Messages) -> list[dict[str, str]]:
    system = [{"role": "system", "content": messages.system}] if messages.system else []
    return [*system, {"role": "user", "content": messages.user}]


def _length(messages: Messages) -> int:
    return len(messages.system) + len(messages.user)


def _cut(text: str, length: int) -> str:
    """The beginning of a text, up to a word's end."""
    if length >= len(text):
        return text
    kept = text[: max(length, 0)]
    if kept and not text[len(kept)].isspace() and len(words := kept.rsplit(None, 1)) == 2:
        kept = words[0]
    return kept.rstrip()


def _response_format(call: Call, messages: Messages) -> dict[str, Any] | None:
    """The form of answer to ask for; None where it is free text."""
    if call.form == "json" and call.schema is not None:
        return {"type": "json_schema", "json_schema": {"name": "answer", "strict": True, "schema": call.schema}}
    if call.form == "json":
        # OpenAI refuses this type where no message speaks of JSON.
        spoken = "json" in messages.joined().lower()
        return {"type": "json_object"} if spoken else None
    options = call.options or {"yes-no": ("Yes", "No"), "rating": tuple(map(str, range(call.prompt.top + 1)))}.get(
        call.form, ()
    )
    if call.form not in ("rating", "yes-no", "letter") or not options:
        return None
    if call.form == "yes-no" and ABSTENTION in call.prompt.template:
        options = (*options, ABSTENTION)
    if call.form == "rating" and all(option.isdecimal() for option in options):
        name, field = "rating", {"type": "integer", "enum": [int(option) for option in options]}
    else:
        name, field = "answer", {"type": "string", "enum": list(options)}
    schema = {"type": "object", "properties": {name: field}, "required": [name], "additionalProperties": False}
    return {"type": "json_schema", "json_schema": {"name": "grade", "strict": True, "schema": schema}}


def told_tokens(usage: object, estimate: Tokens) -> Tokens:
    """The tokens that an endpoint reports for a call.

    Args:
        usage: the field of its answer, in OpenAI's form; `prompt_cache_hit_tokens` is DeepSeek's word for cached ones.
        estimate: what counts where it reports none, or what is no such number.
    """
    reported = usage if isinstance(usage, dict) else {}
    read = _tokens(reported.get("prompt_tokens"), estimate.read)
    written = _tokens(reported.get("completion_tokens"), estimate.written)
    of_read = reported.get("prompt_tokens_details")
    of_written = reported.get("completion_tokens_details")
    cached = of_read.get("cached_tokens") if isinstance(of_read, dict) else reported.get("prompt_cache_hit_tokens")
    thinking = of_written.get("reasoning_tokens") if isinstance(of_written, dict) else None
    # Both are parts: of more than the whole nothing can be said.
    return Tokens(read, written, min(_tokens(cached, 0), read), min(_tokens(thinking, 0), written))


def _tokens(reported: object, estimate: int) -> int:
    """A number of tokens as an endpoint reports it; the estimate where it reports none, or what is no such number."""
    if isinstance(reported, float) and reported.is_integer():
        reported = int(reported)
    if isinstance(reported, bool) or not isinstance(reported, int) or reported < 0 or (reported == 0 and estimate):
        return estimate
    return min(reported, limit("ENDPOINT_TOKENS"))


def brief(text: str) -> str:
    """A text as one short line that can be shown anywhere: no line breaks, no signs that steer a terminal."""
    line = " ".join("".join(one if one.isprintable() else " " for one in text).split())
    return line if len(line) <= SHOWN else line[: SHOWN - 1] + "…"
