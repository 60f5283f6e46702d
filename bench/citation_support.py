"""How well graders of citations tell right citations from wrong ones: AUC on questions with gold passages.

    python -m bench.citation_support FILE [--examples N] [--base-url URL --model NAME]

FILE is a JSON list of {question, answers, text}, such as NQ-open with gold passages. Each example gives three pairs: a
statement of its answer with its passage (supported), with the most similar other passage that lacks the answer (wrong
passage), and a statement of another example's answer with its passage (wrong fact).
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np
from sklearn.metrics import roc_auc_score

from exam_workbench.graders import Control, make_grader, unit_vectors
from exam_workbench.types import GraderInput


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path)
    parser.add_argument("--examples", type=int, default=300)
    parser.add_argument("--base-url")
    parser.add_argument("--model", default="model")
    given = parser.parse_args()
    examples = json.loads(given.file.read_text(encoding="utf-8"))
    examples = [one for one in examples if one["answers"][0].lower() in one["text"].lower()][: given.examples]
    texts, answers = [one["text"] for one in examples], [one["answers"][0] for one in examples]
    vectors = unit_vectors(texts, keep=False)
    alike = vectors @ vectors.T
    # Pairs of one passage follow each other: a model reads their common beginning once.
    flat: list[tuple[str, str]] = []
    for i, one in enumerate(examples):
        lacking = [j for j in np.argsort(-alike[i]) if answers[i].lower() not in texts[j].lower()]
        other = next(answers[j] for j in lacking if answers[j].lower() not in texts[i].lower())
        right = _statement(one["question"], answers[i])
        flat += [(right, texts[i]), (_statement(one["question"], other), texts[i]), (right, texts[lacking[0]])]
    parameters = {"base_url": given.base_url, "model": given.model, "timeout_s": 600} if given.base_url else {}
    grader = make_grader("support" if parameters else "support-embedding", parameters)
    asked = {i: GraderInput(sentence) for i, (sentence, _) in enumerate(flat)}
    passages = {i: passage for i, (_, passage) in enumerate(flat)}
    scores = np.full(len(flat), np.nan)
    ratings = np.full(len(flat), -1)
    for batch in grader.grade(asked, passages, [(i, i) for i in asked], Control(concurrency=1)):
        for i, _, grade in batch:
            if grade.rating is not None:
                ratings[i] = grade.rating
                scores[i] = grade.rating if parameters else float(grade.raw or 0)
    print(f"{grader.spec.name}: {len(examples)} examples, failed {int((ratings < 0).sum())}")
    for at, name in enumerate(("supported", "wrong fact", "wrong passage")):
        own = ratings[at::3]
        counts = ", ".join(f"{int((own == rating).sum())} rated {rating}" for rating in range(3))
        auc = f", AUC against supported {_auc(scores[::3], scores[at::3]):.3f}" if at else ""
        print(f"{name}: {counts}{auc}")


def _statement(question: str, answer: str) -> str:
    return f"The answer to the question “{question}” is {answer}."


def _auc(right: np.ndarray, wrong: np.ndarray) -> float:
    scores = np.concatenate([right, wrong])
    rated = np.isfinite(scores)
    return float(roc_auc_score((np.arange(len(scores)) < len(right))[rated], scores[rated]))


if __name__ == "__main__":
    main()
