"""YAML readers, which refuse alias bombs, deep nesting, classes and endless numbers."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from exam_workbench.answers import read_target
from exam_workbench.errors import FileError
from exam_workbench.exams._item_filters import read_keywords
from exam_workbench.graders import built_in_prompts, read_prompt, with_examples
from exam_workbench.plain_yaml import MAX_BYTES, read_yaml, write_yaml

READERS: dict[str, Callable[[str], Any]] = {
    "prompt": lambda text: read_prompt(text, "a.yaml"),
    "examples": lambda text: with_examples(built_in_prompts()["Sun_few"], text, "a.yaml"),
    "keywords": lambda text: read_keywords(text, "a.yaml"),
    "target": lambda text: read_target(text, "a.yaml"),
}
BOMB = "a: &a [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{later}: &{later} [{', '.join([f'*{earlier}'] * 10)}]\n"
    for earlier, later in zip("abcdefghijk", "bcdefghijkl", strict=True)
)
HOSTILE = {
    "alias bomb": BOMB,
    "itself": "request: &a {query: '{query}', more: *a}\nurl: http://127.0.0.1/\npassages: hits\n",
    "flow": "[" * 5_000,
    "blocks": "\n".join(" " * depth + "a:" for depth in range(400)),
    "compact": "- " * 5_000,
    "merge": "a: &a {b: c}\n<<: *a\n",
    "class": "!!python/object/apply:os.system [ls]",
    "own tag": "a: !mine b",
    "large": "a: " + "x" * MAX_BYTES,
    "endless number": "0x" + "f" * 90_000 + ": a",
    "sixties": "a: 1" + ":1" * 40_000,
    "no number": "a: .nan",
    "control": 'a: "\\u0007"',
    "half a sign": 'a: "\\ud83d"',
    "key of a list": "? [a]\n: b",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_file_is_refused_by_every_reader(name: str) -> None:
    for read in READERS.values():
        with pytest.raises(FileError) as caught:
            read(HOSTILE[name])
        assert caught.value.hint and "\n" not in caught.value.message


@pytest.mark.parametrize("text", ["[" * 100 + "]" * 100, "[" * 100_000, "NaN", "9" * 5000, "1e400", '"\\u0000"', ""])
def test_json_has_the_same_limits(text: str) -> None:
    with pytest.raises(FileError):
        read_yaml(text, "a.JSON", "")


def test_plain_values_are_read_as_in_json() -> None:
    content = {"a": [1, 2.5, True, None, "2024-01-01", {"b": "two\nlines\n"}], "c": {}}
    assert read_yaml(write_yaml(content), "a.yaml", "") == content
    assert read_yaml(json.dumps(content), "a.yaml", "") == read_yaml(json.dumps(content), "a.json", "") == content
    # A date stays a string, so that it can be sent to an endpoint.
    assert read_yaml("since: 2024-01-01", "a.yaml", "") == {"since": "2024-01-01"}
