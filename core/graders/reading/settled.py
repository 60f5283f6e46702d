"""Early end of an answer: a test whether further text could change how it is read."""

from __future__ import annotations

from collections.abc import Callable

from .calls import Call
from .parsing import settled_letter, settled_rating, settled_yes_no
from .reasoning import opened_reasoning


def settled(call: Call, prompt: str = "") -> Callable[[str], bool] | None:
    """Return a test whether the answer to a call needs no more text; None if the whole answer is needed.

    Args:
        call: the call.
        prompt: the prompt's text. If it ends in an opening mark of reasoning, the model's text begins as reasoning.
    """
    opened = opened_reasoning(prompt)
    by_form: dict[str, Callable[[str], bool]] = {
        "rating": lambda text: settled_rating(opened + text, call.prompt.top),
        "yes-no": lambda text: settled_yes_no(opened + text),
        "letter": lambda text: settled_letter(opened + text, call.options),
    }
    return by_form.get(call.form)
