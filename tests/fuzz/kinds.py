"""The table of kinds of input: how one is made, what is done with it, and how large its share is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from random import Random

from core.formats import KINDS_OF_FILE
from tests.fuzz import answers, commands, editing, imports, naming, projects, prompting
from tests.fuzz.bench import Bench
from tests.fuzz.inputs import Input


@dataclass(frozen=True)
class Kind:
    """One kind of input.

    Args:
        make: an input by dice.
        try_: sends it through its door; whether it was accepted. Raises what must not happen.
        share: of all inputs, relative to the other kinds.
    """

    make: Callable[[Random], Input]
    try_: Callable[[Bench, Input], bool]
    share: float


KINDS: dict[str, Kind] = {
    **{name: Kind(partial(imports.files_of, name), imports.take_files, 6) for name in KINDS_OF_FILE},
    "detect": Kind(imports.any_file, imports.guess, 12),
    "ratings": Kind(answers.an_answer, answers.read_answer, 18),
    "prompts": Kind(prompting.a_prompt, prompting.use_prompt, 10),
    "names": Kind(naming.a_name, naming.use_name, 7),
    "editing": Kind(editing.an_edit, editing.edit, 1.5),
    "commands": Kind(commands.a_command, commands.run_command, 1),
}
if projects.is_there():
    KINDS["project"] = Kind(projects.a_project, projects.take_project, 0.5)
