"""Running the steps of many pairs at once, with a model that answers calls in batches."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from ...types import Grade
from ..base import Outcome, Pair
from ..control import Control
from .calls import BackEnd, Call, Completion, Steps

WINDOW = 256
"""Most pairs in progress: enough for batches of similar length, few enough to start and stop quickly."""

Answer = Callable[[Sequence[Call], Control], Iterator[list[tuple[int, Completion]]]]
"""Answers calls batch by batch, each answer with the index of its call.

Calls that `control` forbids are left out: such an answer is missing, not failed.
"""


def drive_in_windows(
    work: Iterable[tuple[Pair, Steps]], control: Control, answer: Answer, window: int = WINDOW
) -> Iterator[list[Outcome]]:
    """Run the steps of pairs, a window of them at a time.

    Every round asks the pending call of each pair in progress; finished pairs are replaced by new ones.

    Args:
        work: pairs with their steps; consumed as capacity becomes free.
        control: asked before every round and, by `answer`, before every batch.
        answer: the model.
        window: most pairs in progress.

    Yields:
        The outcomes of every batch that finished some pairs. Pairs with open calls have no outcome if `control` stopped
        the job.
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
    """Yield completions with the indexes of their calls as they arrive, in any order; fewer if `control` stops the job.

    A batch may be empty: an endpoint yields one at least every second, so that the caller regains control.
    """
    arrived: dict[int, Completion] = {}

    def steps(i: int, call: Call) -> Steps:
        # The interface drives pairs to grades; only the completion on the way is needed here.
        arrived[i] = yield call
        return Grade(None, "failed")

    for outcomes in back_end.drive((((i, 0), steps(i, call)) for i, call in enumerate(calls)), control):
        yield [(i, arrived.pop(i)) for i, _, _ in outcomes]


def complete(back_end: BackEnd, calls: Sequence[Call], control: Control) -> list[Completion]:
    """Return a completion for each call, in their order; a call that `control` forbids gets an error.

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
    """Run the next step of a pair, which asks again or ends. A completion of None starts the pair."""
    try:
        call = next(steps) if completion is None else steps.send(completion)
    except StopIteration as end:
        done.append((*pair, end.value))
    else:
        pending.append((pair, steps, call))
