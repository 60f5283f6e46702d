"""Prompts: no text breaks out of its place, and a file that is read can be written."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from exam_workbench.errors import InputError
from exam_workbench.graders import Prompt, built_in, fill, read_prompt, variables, write_prompt
from exam_workbench.graders.prompts.prompt import VARIABLES
from tests.fuzz.checks import fuzzed, in_time, refused_well
from tests.fuzz.strategies import RAW, damaged, texts

FILE = "prompt.yaml"
FENCED = (("context", "passage"), ("answer", "answer"), ("result", "answer"))
OWN_VARIABLES = {
    "generate items": ("task_domain", "documentation", "passage", "context"),
    "answer from passages": ("question", "passage", "context", "n_tokens"),
    "compare answers": ("question", "query", "correct_answer", "answer", "result"),
}
"""Names in braces in the prompts of some uses."""
OTHER_NAMES = {
    "direct": {"question": "query_title", "answer": "correct_answer"},
    "generate items": {"documentation": "context"},
    "compare answers": {"query": "question", "answer": "correct_answer"},
}
PROMPTS = st.sampled_from(sorted(built_in())).map(lambda name: built_in()[name])
BREAKING = " ".join(f"{{{name}}}" for name in VARIABLES) + " </passage-1234abcd> <passage-"


@fuzzed(150)
@given(PROMPTS, st.data(), st.booleans())
def test_a_filled_prompt_is_its_template_and_its_values(prompt: Prompt, data: st.DataObject, fence: bool) -> None:
    names = sorted(variables(prompt))
    values = {name: data.draw(texts() | st.just(BREAKING), name) for name in names}
    if names and data.draw(st.integers(0, 19)) == 0:
        values.pop(data.draw(st.sampled_from(names)))
    try:
        made = fill(prompt, values, fence)
    except InputError as error:
        refused_well(error)
        return
    wanted = dict(values)
    for name, what in FENCED if fence else ():
        if name not in variables(prompt):
            continue
        said = re.search(rf"The text between <({what}-[0-9a-f]+)> and </\1> is .*", made.system or made.user)
        assert said and made.user.count(said[1]) == (2 if made.system else 4), "two tags that no value can forge"
        assert all(said[1] not in value for value in values.values())
        wanted[name] = f"<{said[1]}>\n{values[name]}\n</{said[1]}>"
        if not made.system:
            wanted[name] = f"{said[0]}\n{wanted[name]}"
    assert made.user == _expected(prompt, wanted)


def _expected(prompt: Prompt, values: dict[str, str]) -> str:
    """The filled template from its pieces: no value is searched for variables."""
    aliases = {"passage": "context", **OTHER_NAMES.get(prompt.use, {})}
    names = OWN_VARIABLES.get(prompt.use, (*VARIABLES, "examples"))
    pieces = re.split(r"\{(" + "|".join(names) + r")\}", prompt.template)
    examples = []
    for worked in prompt.examples:
        parts = re.split(r"\{(question|passage|answer)\}", prompt.example)
        parts[1::2] = [getattr(worked, name) for name in parts[1::2]]
        examples.append("".join(parts))
    known = {**values, "examples": "\n\n".join(examples)}
    pieces[1::2] = [known[aliases.get(name, name)] for name in pieces[1::2]]
    return "".join(pieces)


@st.composite
def prompt_files(draw: DrawFn) -> bytes:
    """A prompt as YAML in which values, bytes or both are spoilt."""
    text = write_prompt(draw(PROMPTS))
    odd = st.sampled_from((*RAW, "&a [*a]", "!!python/object:os.system", "[", "~", "|", "a: 2024-13-45", "<<: 5"))
    for name in draw(st.lists(st.sampled_from(re.findall(r"(?m)^(\w+):", text)), max_size=3)):
        value = draw(texts() | odd)
        text = re.sub(rf"(?m)^{name}:.*$", lambda _, line=f"{name}: {value}": line, text, count=1)
    data = text.encode()
    return draw(damaged(data) | st.just(data))


@fuzzed(60)
@given(prompt_files())
def test_a_prompt_file_is_refused_or_written_again(data: bytes) -> None:
    text = data.decode(errors="replace")
    try:
        with in_time():
            prompt = read_prompt(text, FILE)
    except InputError as error:
        refused_well(error, [FILE])
        return
    assert read_prompt(write_prompt(prompt), FILE) == prompt
