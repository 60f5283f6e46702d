"""Parts that reading and writing an Autograder/RUBRIC file share: keys, questions asked, and descriptions of
graders."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..types import KINDS, MAX_RATING, GraderSpec, Kind
from ._source import Refused

OURS = "exam_workbench"
"""The key for data that the interchange form cannot hold."""
DIRECT = "direct_grading"
DIRECT_SCALE = 3


def described(
    model: str, options: object, info: dict[str, Any] | None, prompt_type: object, is_rated: bool, direct: bool
) -> GraderSpec:
    """Return the grader that an entry of a foreign file describes. `is_rated`: the entry has ratings.

    Raises:
        Refused: its model or prompt is not a text.
    """
    prompt = (info or {}).get("prompt_class") or ""
    if not isinstance(model, str) or not isinstance(prompt, str):
        raise Refused("not-a-text", "llm or prompt_class is not a text")
    parameters: dict[str, Any] = {"llm_options": options, "prompt_info": info}
    if prompt_type not in ((DIRECT,) if direct else ("question", "nugget")):
        parameters["prompt_type"] = prompt_type
    kinds: tuple[Kind, ...] = ("nugget",) if prompt_type == "nugget" else ("question",)
    method, top = ("self-rating", MAX_RATING) if is_rated else ("answer", 1)
    if direct:
        method, kinds, top = "direct", KINDS, DIRECT_SCALE if is_rated else 1
    name = " · ".join(part for part in (model.rsplit("/", 1)[-1], prompt) if part)
    return GraderSpec(name or method, method, model, prompt, "", parameters, kinds, top)


def rated(given: list[dict[str, Any]], entry: dict[str, Any]) -> tuple[list[str], list[int | None]]:
    """Return the ids and ratings of an entry's `self_ratings`."""
    key = "nugget_id" if entry.get("prompt_type") == "nugget" else "question_id"
    try:
        ids = [row[key] for row in given]
    except KeyError:
        ids = [row.get("question_id") or row["nugget_id"] for row in given]
    return ids, [row["self_rating"] for row in given]


def answered(right: Sequence[str], wrong: Sequence[str], answers: dict[str, Any]) -> tuple[list[str], list[int | None]]:
    """Return the ids and ratings of an entry: 1 answered, 0 not answered, None if there is only an answer.

    Args:
        right, wrong: ids of questions.
        answers: texts by id of the question, in the order of the file.
    """
    known = {**dict.fromkeys(wrong, 0), **dict.fromkeys(right, 1)}
    # The answers are in the order of the questions. An id in neither list has no rating.
    ids = list(answers) if known.keys() <= answers.keys() else list({**known, **answers})
    return ids, [known.get(question_id) for question_id in ids]
