"""A guess at what a file is, from its name and its beginning."""

from __future__ import annotations

import re

import orjson

from core.formats import passages, queries
from core.formats.car_outlines import is_outline, is_outline_list
from core.formats.leaderboards import TITLE, is_number, is_trec_eval_output
from core.formats.question_bank import ITEM_KEYS
from core.formats.responses import QUERY_KEYS, RUN_KEYS, SENTENCE_KEYS, TEXT_KEYS
from core.formats.source import Source, peek
from core.formats.tqa import is_tqa

PEEKED = 1 << 16
BANK_KEYS = {"question_id", "kind", "weight", "answer_key", "choices", "subtopic_id"}
PASSAGE_TEXT = 200


def detect(source: Source) -> str | None:
    """Guess what a file is from its name and its first lines.

    Args:
        source: any file.

    Returns:
        A key of KINDS_OF_FILE, or None where nothing fits.
    """
    text = peek(source, PEEKED)
    if not text or text.isspace():
        return None
    name = source.file.lower()
    whole = len(text.encode()) < PEEKED
    lines = text.splitlines()
    lines = [line for line in (lines if whole or len(lines) < 2 else lines[:-1]) if line.strip()][:40]
    start = lines[0].lstrip()
    if is_tqa(text):
        return "bank"
    if is_outline_list(text):
        return "queries"
    if start.startswith("["):
        return "graded" if re.match(r'\[\s*("[^"]*"|\d+)\s*,\s*\[', start) else None
    if start.startswith("{"):
        return _of_objects(lines, name) or _of_map(text.lstrip())
    return _of_columns(lines, name) or _of_cells(lines, name) or _of_name(name)


def _of_objects(lines: list[str], name: str) -> str | None:
    """A JSONL file by the keys of its first object, which may be cut off."""
    try:
        keys = set(orjson.loads(lines[0]))
    except orjson.JSONDecodeError:
        keys = set(re.findall(r'[{,]\s*"([^"\\]+)"\s*:', lines[0]))
    if keys.intersection(SENTENCE_KEYS) and "references" in keys:
        return "responses"
    if all(keys.intersection(wanted) for wanted in (RUN_KEYS, QUERY_KEYS, TEXT_KEYS)):
        return "responses"
    if "query_id" in keys and keys & {*ITEM_KEYS, *BANK_KEYS}:
        return "bank"
    if is_outline(dict.fromkeys(keys)):
        return "queries"
    is_passage = keys.intersection(passages.ID_KEYS) and keys.intersection(passages.TEXT_KEYS)
    is_query = keys.intersection(queries.ID_KEYS) and keys.intersection(queries.TEXT_KEYS)
    if is_passage and is_query:
        of_passage = re.search("passage|corpus|collection|doc", name) or keys & {"contents", "body"}
        return "passages" if of_passage or not re.search("quer|topic", name) else "queries"
    if is_query and re.search("bank|question|nugget", name):
        return "bank"
    return "passages" if is_passage else "queries" if is_query else None


def _of_map(text: str) -> str | None:
    """A JSON map by its first entry, as the rest may be cut off."""
    if re.match(r"\{[^\n]+\}\r?\n\s*\{", text):
        return None
    key = r'"(?:[^"\\]|\\.)*"\s*:\s*'
    entry = r"\{\s*" + key
    number = r"-?\d+(\.\d+)?([eE][+-]?\d+)?\s*[,}]"
    if re.match(entry + number, text) or re.match(entry + entry + number, text):
        return "leaderboard"
    if re.match(entry + entry + r'"(?:[^"\\]|\\.)*"\s*[,}]', text):
        return "responses"
    empty = r"\{\s*(" + key + r"\{\s*\}\s*,\s*)*"
    if re.match(empty + key + entry + r'\{\s*"(text|relevance)"\s*:', text):
        return "bank"
    return "queries" if re.match(entry + r'"(?:[^"\\]|\\.)*"\s*[,}]', text) else None


def _of_columns(lines: list[str], name: str) -> str | None:
    rows = [line.split() for line in lines]
    # The last line may be cut off; the reader says so better than a failed guess does.
    sure = rows[:-1] or rows
    if all(len(row) >= 6 and is_number(row[4]) for row in sure):
        return "runs"
    if all(len(row) == 4 and re.fullmatch(r"[+-]?\d+", row[3]) for row in sure):
        return "qrels"
    return None


def _of_cells(lines: list[str], name: str) -> str | None:
    header = [cell.strip().lower() for cell in re.split("[,;\t]", lines[0])]
    if "query_id" in header and ("question_id" in header or "text" in header) and "\t" not in lines[0]:
        return "bank"
    if "query_id" in header and BANK_KEYS & set(header):
        return "bank"
    if TITLE.match(lines[0]):
        return "leaderboard"
    rows = [[cell.strip() for cell in line.split("\t")] for line in lines]
    if any(len(row) < 2 for row in rows[:3]):
        return None
    if is_trec_eval_output(rows[0]):
        return None
    if not any(map(is_number, rows[0])) and any(map(is_number, rows[1][1:] if len(rows) > 1 else ())):
        return "leaderboard"
    if all(is_number(row[1]) for row in rows if len(row) > 1):
        return None
    if re.search("passage|corpus|collection|doc", name):
        return "passages"
    average = sum(len(row[1]) for row in rows if len(row) > 1) / len(rows)
    return "queries" if re.search("quer|topic", name) or average < PASSAGE_TEXT else "passages"


def _of_name(name: str) -> str | None:
    ending = re.search(r"\.(run|qrels?)(\.gz)?$", name)
    return None if ending is None else "runs" if ending[1] == "run" else "qrels"
