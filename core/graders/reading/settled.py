"""When an answer that is being written needs no more words: nothing after it could change how it is read."""

from __future__ import annotations

from collections.abc import Callable

from core.graders.reading.calls import Call
from core.graders.reading.parsing import settled_letter, settled_rating, settled_yes_no


def settled(call: Call) -> Callable[[str], bool] | None:
    """Whether more text could not change how the answer to a call is read; None where it is read whole."""
    if call.form == "rating":
        return lambda text: settled_rating(text, call.prompt.top)
    if call.form == "yes-no":
        return settled_yes_no
    if call.form == "letter":
        return lambda text: settled_letter(text, call.options)
    return None
