"""Scores of questions with passages by a cross-encoder, which reads both together."""

from __future__ import annotations

from collections.abc import Sequence

from ...errors import InputError
from .loading import load_model

BATCH = 32


def pair_scores(model: str, pairs: Sequence[tuple[str, str]]) -> list[float]:
    """Score (question, passage) pairs: the logit of a cross-encoder's last class; higher is more relevant.

    A passage that is too long is cut at its end.

    Args:
        model: folder, or name on the hub, of a model for sequence classification.

    Raises:
        InputError: the model has another kind, so that its scores would be random.
        GradingError: it cannot be loaded.
    """
    loaded = load_model(model, task="pair")
    kinds = loaded.model.config.architectures or []
    if not any(kind.endswith("ForSequenceClassification") for kind in kinds):
        raise InputError(
            "not-a-cross-encoder",
            f"The model {model} is not a cross-encoder.",
            "Use a model for sequence classification.",
        )
    import torch

    found: list[float] = []
    with loaded.lock, torch.inference_mode():
        for start in range(0, len(pairs), BATCH):
            questions, passages = zip(*pairs[start : start + BATCH], strict=True)
            read = loaded.tokenizer(list(questions), list(passages), padding=True, truncation="only_second",
                                    max_length=loaded.limit, return_tensors="pt").to(loaded.device)  # fmt: skip
            found += loaded.model(**read).logits[:, -1].float().tolist()
    return found
