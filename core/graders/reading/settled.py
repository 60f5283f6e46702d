"""When an answer that is being written needs no more words: nothing after it could change how it is read."""

from __future__ import annotations

from collections.abc import Callable

from .calls import Call
from .parsing import settled_letter, settled_rating, settled_yes_no
from .reasoning import opened_reasoning


def settled(call: Call, prompt: str = "") -> Callable[[str], bool] | None:
    """Whether the answer to a call needs no more text; None if it is read whole.

    Args:
        call: what is asked.
        prompt: the text that the model goes on from. If it ends in an opening mark of reasoning, the text that the
            model writes begins as reasoning.
    """
    opened = opened_reasoning(prompt)
    by_form: dict[str, Callable[[str], bool]] = {
        "rating": lambda text: settled_rating(opened + text, call.prompt.top),
        "yes-no": lambda text: settled_yes_no(opened + text),
        "letter": lambda text: settled_letter(opened + text, call.options),
    }
    return by_form.get(call.form)
