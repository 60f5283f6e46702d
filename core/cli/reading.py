"""Which commands only read: they open the project beside others that read it at the same time."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any


def _always(given: Mapping[str, Any]) -> bool:
    return True


def _without_examples(given: Mapping[str, Any]) -> bool:
    # Examples make a prompt of their own, which the project keeps.
    return given["examples"] is None


READING: Mapping[str, Callable[[Mapping[str, Any]], bool]] = {
    "activity": _always,
    "adjudicate history": _always,
    "adjudicate list": _always,
    "agreement": _always,
    "answers list": _always,
    "audit board": _always,
    "audit calibrate": lambda given: given["accept"] is None,
    "audit curve": _always,
    "audit list": _always,
    "audit methods": _always,
    "audit roles": _always,
    "audit status": _always,
    "backup": lambda given: given["every"] is None,
    "bank diff": _always,
    "bank drafts": _always,
    "bank list": _always,
    "batch status": _always,
    "changes": _always,
    "check": _always,
    "correlate": _always,
    "double agreement": _always,
    "double list": _always,
    "disagreements list": _always,
    "disagreements record": _always,
    "curve": _always,
    "exam-board": _always,
    "failures": _always,
    "gold": lambda given: given["run"] is None and not given["none"],
    "graders list": _always,
    "graders test": _without_examples,
    "irt bank": _always,
    "items categories": lambda given: given["keywords"] is None and not given["usual_keywords"],
    "items list": _always,
    # What the filters encode is kept.
    "items statistics": lambda given: not given["filters"],
    "jobs": _always,
    "judge list": _always,
    "leaderboard": _always,
    "meta": _always,
    "override list": _always,
    "passages": _always,
    "people list": _always,
    # To write calls down, texts get their keys.
    "plan": lambda given: given["examples"] is None and given["output"] is None,
    "pool": lambda given: given["depth"] is None,
    "prices": _always,
    "prompts list": _always,
    "prompts show": _always,
    "proposals list": _always,
    "publications": _always,
    "responses": _always,
    "reteval": _always,
    "reteval agreement": _always,
    "reteval cases": _always,
    "reteval correlate": _always,
    "runs list": _always,
    "selection": _always,
    "significance": _always,
    "status": _always,
    "target diff": _always,
    "target list": _always,
    "students list": _always,
    "token list": _always,
    "unjudged": _always,
    "guidelines show": _always,
    "work list": _always,
    "vectors": lambda given: not given["drop"],
}
"""By the words of a command, whether it only reads with the parameters that it was given. Every other one writes."""


def only_reads(command: str, given: Mapping[str, Any]) -> bool:
    """Whether a command leaves the project as it is.

    Args:
        command: its words after `exam`, such as "bank list".
        given: its parameters by name.
    """
    reads = READING.get(command)
    return reads is not None and reads(given)
