"""Circularity: the models behind questions, grades and systems, with warnings if a model plays two roles."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from ..bank import graders
from ..labels import Policy, basis
from ..records import run_names, stated_families
from ..store import Project, as_act
from ..text import first_few

_STEMS = (
    ("flan", "flan-t5"), ("t5", "t5"), ("gpt", "gpt"), ("chatgpt", "gpt"), ("davinci", "gpt"), ("claude", "claude"),
    ("llama", "llama"), ("mistral", "mistral"), ("mixtral", "mistral"), ("gemma", "gemma"), ("gemini", "gemini"),
    ("qwen", "qwen"), ("deepseek", "deepseek"), ("phi", "phi"), ("command", "command"), ("minilm", "minilm"),
)  # fmt: skip
"""Beginnings of model names, or of their parts between separators, each with its family."""

_O_SERIES = re.compile(r"o[1-9]")


def family_of(model: str) -> str:
    """Return the family of a model by its name, such as "gpt" for openai/gpt-4o-mini.

    For an unknown family, return the name without maker and size.

    Args:
        model: name of the model in a grader or a draft.
    """
    name = model.strip().lower().rpartition("/")[2].partition("@")[0]
    words = [word for word in re.split(r"[-_.: ]+", name) if word]
    for word in words:
        for stem, family in _STEMS:
            if word.startswith(stem):
                return family
        if _O_SERIES.fullmatch(word):
            return "gpt"
    return "-".join(word for word in words if not any(sign.isdigit() for sign in word)) or name


@dataclass(frozen=True)
class Role:
    """A part of the evaluation and the model families behind it.

    Args:
        name: name of the run or the grader; empty for the questions.
        models: names of the models in the data of the project.
        families: the families that a person stated, or else the families of `models`; None if unknown.
        stated: whether a person stated the families.
    """

    name: str
    models: tuple[str, ...]
    families: tuple[str, ...] | None
    stated: bool

    @property
    def says(self) -> str:
        """The families as a phrase."""
        if self.families is None:
            return "not stated"
        return ", ".join(self.families) or "no model"


@dataclass(frozen=True)
class Circularity:
    """The roles of models in an evaluation.

    Args:
        questions, grader: the models behind the questions, and behind the grader; the grader's name is empty without
            grades.
        runs: the models of each system.
        kin: the systems that use a model family of the grader or of the questions.
        warnings: sentences about model families with two roles; empty without such families.
    """

    questions: Role
    grader: Role
    runs: list[Role]
    kin: tuple[str, ...]
    warnings: list[str]

    @property
    def says(self) -> str:
        """The roles as one or two sentences."""
        unstated = sum(run.families is None for run in self.runs)
        rest = f" Systems without stated models: {unstated:,} of {len(self.runs):,}." if unstated else ""
        return f"Models of questions: {self.questions.says}. Models of the grader: {self.grader.says}.{rest}"


@as_act("see boards")
def circularity(project: Project, policy: Policy | None = None, runs: Sequence[str] = ()) -> Circularity:
    """Return the roles of models on the grader's leaderboard.

    Args:
        policy: names the grader; None for the default policy.
        runs: the systems; empty for all.

    Raises:
        InputError: the grader is unknown.
    """
    grader = _grader(project, policy or Policy()) if graders(project) else Role("", (), None, False)
    questions = _questions(project)
    stated = stated_families(project, "run")
    roles = [Role(run, (), stated.get(run), run in stated) for run in runs or run_names(project)]
    families = {*(grader.families or ()), *(questions.families or ())}
    kin = tuple(role.name for role in roles if families.intersection(role.families or ()))
    return Circularity(questions, grader, roles, kin, _warnings(questions, grader, roles))


def _grader(project: Project, policy: Policy) -> Role:
    spec = basis(project, policy).grader.spec
    named = stated_families(project, "grader").get(spec.fingerprint)
    return Role(spec.name, (spec.model,), named if named is not None else (family_of(spec.model),), named is not None)


def _questions(project: Project) -> Role:
    models = tuple(
        model
        for (model,) in project.rows(
            "SELECT model FROM generations WHERE generation_key IN (SELECT generation_key FROM proposals WHERE state ="
            " 'accepted') GROUP BY model ORDER BY min(generation_key)"
        )
    )
    stated = stated_families(project, "questions").get("")
    if stated is None and models:
        return Role("", models, tuple(dict.fromkeys(map(family_of, models))), False)
    return Role("", models, stated, stated is not None)


def _warnings(questions: Role, grader: Role, runs: Sequence[Role]) -> list[str]:
    found = []
    wrote, graded = set(questions.families or ()), set(grader.families or ())
    if both := sorted(wrote & graded):
        found.append(f"{' and '.join(both)} wrote questions and also graded passages against them.")
    for role, families in (("graded the passages", graded), ("wrote the questions", wrote)):
        for family in sorted(families):
            using = [run.name for run in runs if family in (run.families or ())]
            if using:
                found.append(f"{family} {role}, and is also used by {first_few(using)}.")
    return found
