"""Taking many pairs through their steps at once with a model that answers calls in batches."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from ...types import Grade
from ..base import Outcome, Pair
from ..control import Control
from .calls import BackEnd, Call, Completion, Steps

WINDOW = 256
"""Pairs under way at most: enough to fill batches of like length, few enough to be quick to begin and to stop."""

Answer = Callable[[Sequence[Call], Control], Iterator[list[tuple[int, Completion]]]]
"""Answers calls batch by batch, each answer with the position of its call. It leaves out the calls that
`control` does not allow: an answer that was never asked for is missing, not failed."""


def drive_in_windows(
    work: Iterable[tuple[Pair, Steps]], control: Control, answer: Answer, window: int = WINDOW
) -> Iterator[list[Outcome]]:
    """Take pairs through their steps, a window of them at a time.

    Every round asks the pending call of each pair under way; room that pairs leave is filled with new ones.

    Args:
        work: pairs with the steps that grade them; consumed as room comes free.
        control: asked before every round and, by `answer`, before every batch.
        answer: the model.
        window: pairs under way at most.

    Yields:
        The outcomes of every batch that ended some pairs. Pairs that still wanted to ask when `control` stopped
        the job have no outcome.
    """
    waiting = iter(work)
    pending: list[tuple[Pair, Steps, Call]] = []
    try:
        while True:
            control.wait_while_paused()
            if control.stopping:
                return
            done: list[Outcome] = []
            while len(pending) < window and (new := next(waiting, None)) is not None:
                _step(*new, None, pending, done)
            if done:
                yield done
            if not pending:
                return
            asking, pending = pending, []
            unanswered = set(range(len(asking)))
            try:
                for batch in answer([call for _, _, call in asking], control):
                    done = []
                    for index, completion in batch:
                        unanswered.discard(index)
                        pair, steps, _ = asking[index]
                        _step(pair, steps, completion, pending, done)
                    if done:
                        yield done
            finally:
                for index in unanswered:
                    asking[index][1].close()
    finally:
        for _, steps, _ in pending:
            steps.close()


def answers(back_end: BackEnd, calls: Sequence[Call], control: Control) -> Iterator[list[tuple[int, Completion]]]:
    """Completions with the positions of their calls as they come, in any order; fewer if `control` stops it.

    A batch may be empty: one comes at least every second from an endpoint, so that its caller can look around.
    """
    arrived: dict[int, Completion] = {}

    def steps(i: int, call: Call) -> Steps:
        # The seam takes pairs through to grades; only the completion on the way is of interest here.
        arrived[i] = yield call
        return Grade(None, "failed")

    for outcomes in back_end.drive((((i, 0), steps(i, call)) for i, call in enumerate(calls)), control):
        yield [(i, arrived.pop(i)) for i, _, _ in outcomes]


def complete(back_end: BackEnd, calls: Sequence[Call], control: Control) -> list[Completion]:
    """A completion for each call, in their order; one that `control` did not allow has an error.

    Raises:
        GradingError: the back end cannot answer at all.
    """
    completions = [Completion(complete=False, error="not asked, because the job was stopped")] * len(calls)
    for batch in answers(back_end, calls, control):
        for index, completion in batch:
            completions[index] = completion
    return completions


def _step(
    pair: Pair,
    steps: Steps,
    completion: Completion | None,
    pending: list[tuple[Pair, Steps, Call]],
    done: list[Outcome],
) -> None:
    """Let a pair take its next step: it asks again, or it ends. None starts it."""
    try:
        call = next(steps) if completion is None else steps.send(completion)
    except StopIteration as end:
        done.append((*pair, end.value))
    else:
        pending.append((pair, steps, call))
