"""Hints of errors on screens: a hint that names a command leads to the screen with its buttons
instead.
"""

import re

_COMMAND = r"exam [a-z-]+(?: [a-z-]+)?"
_PARTS = (
    # A command in parentheses, after a colon, as an alternative, or as a whole sentence.
    (rf"\s*\({_COMMAND}[^)]*\)", ""),
    (rf":\s*(?:run )?{_COMMAND}(?:\.\.\.|[^.;]|\.(?=\S))*", "."),
    (rf",? or (?:with |see |run )?{_COMMAND}(?: [A-Z]+\b)*", ""),
    (
        r"\b(?:See|Run:?|List the items with|Make a token with)"
        rf" {_COMMAND}(?:\.\.\.|[^.]|\.(?=\S))*\.?",
        "",
    ),
    (rf" with {_COMMAND}(?: [A-Z]+\b)*(?: and {_COMMAND})?", ""),
    (rf"\s*\bTo [^.]*, use {_COMMAND}\.?", ""),
    (r"\.(?:\.|;)", "."),
)
SCREENS_OF_COMMANDS = {
    "bank open": "leaderboard",
    "bank seal": "leaderboard",
    "export project": None,
    "import project": None,
    "snapshots add": None,
    "activity": "activity",
    "adjudicate": "adjudication",
    "answers": "answers",
    "assignments": "people",
    "audit": "audit",
    "bank": "question_bank",
    "demo": "home",
    "disagreements": "disagreements",
    "examinees": "students",
    "export": "export",
    "generate": "question_bank",
    "gold": "leaderboard",
    "grade": "grading",
    "graders": "grading",
    "import": "home",
    "items": "items",
    "overrides": "passages",
    "people": "people",
    "pool": "grading",
    "prices": "grading",
    "proposals": "question_bank",
    "reteval": "answers",
    "snapshots": "answers",
    "support": "passages",
    "tokens": "people",
}
"""The screen with the buttons for a command, by its first words; None for a command without
buttons.
"""


def hint_on_screen(hint: str) -> tuple[str, str | None]:
    """Return a hint without its commands, and the screen with the buttons for the first of them.

    A hint that names no command, or a command without buttons, is unchanged, and its screen is
    None.
    """
    found = re.findall(r"\bexam ([a-z-]+)(?: ([a-z-]+))?", hint)
    screens = [
        SCREENS_OF_COMMANDS.get(f"{first} {second}", SCREENS_OF_COMMANDS.get(first))
        for first, second in found
    ]
    if not screens or None in screens:
        return hint, None
    for pattern, replacement in _PARTS:
        hint = re.sub(pattern, replacement, hint)
    return hint.strip(), screens[0]
