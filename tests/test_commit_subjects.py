"""The commit hook, which refuses subjects that break the rules of CONTRIBUTING.md."""

import re
from pathlib import Path

import pytest
import yaml

CONFIG = Path(__file__).resolve().parents[1] / ".pre-commit-config.yaml"


def refused(message: str) -> bool:
    """Return whether the hook refuses a message, with the same pattern search as pre-commit."""
    hooks = yaml.safe_load(CONFIG.read_text(encoding="utf-8"))["repos"][0]["hooks"]
    pattern = next(hook["entry"] for hook in hooks if hook["id"] == "subject")
    return re.search(pattern, message, re.MULTILINE | re.DOTALL) is not None


@pytest.mark.parametrize(
    ("message", "wrong"),
    [
        ("Fix tie handling in alpha_nDCG\n", False),
        ("Fix tie handling\n\nthe body may be anything.\n", False),
        ("Merge branch 'main' of a very long name that no person has chosen and that is generated", False),
        ("F" * 72, False),
        ("F" * 73, True),
        ("fix tie handling\n", True),
        ("Fix tie handling.\n", True),
        ("\nFix tie handling\n", True),
        ("", True),
    ],
)
def test_subject_is_short_capitalised_and_without_period(message: str, wrong: bool) -> None:
    assert refused(message) is wrong
