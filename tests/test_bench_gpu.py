"""The models that a GPU is measured with answer as trained ones do, whatever their size."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch

from bench import gpu
from bench.gpu_models import Size, make, mistral_7b, t5_large
from core.graders import load_model, make_grader

SMALL_T5 = partial(t5_large, d_model=64, d_ff=96, d_kv=16, num_heads=4, num_layers=3, vocab_size=4096)
SMALL_CAUSAL = partial(
    mistral_7b,
    hidden_size=64,
    intermediate_size=96,
    num_hidden_layers=3,
    num_attention_heads=4,
    num_key_value_heads=2,
    vocab_size=4096,
)


@pytest.mark.parametrize(
    ("size", "prompt"),
    [(Size("t5", SMALL_T5, chat=False), "self-rating"), (Size("causal", SMALL_CAUSAL, chat=True), "self-rating-chat")],
)
def test_a_model_of_random_weights_gives_a_rating_and_ends(size: Size, prompt: str, tmp_path: Path) -> None:
    make(size, tmp_path, "cpu")
    grader: Any = make_grader("self-rating", {"model": str(tmp_path), "prompt": prompt, "dtype": "bfloat16"})
    of = gpu.work(queries=1, questions=2, passages=3)
    grades, _ = gpu.graded(grader, of, of.pairs)
    assert {grade.status for grade in grades.values()} == {"graded"}
    alone, _ = gpu.looped(tmp_path, grader, of, of.pairs)
    assert alone == {pair: grade.rating for pair, grade in grades.items()}
    back = grader.back_end
    assert gpu.operations(load_model(str(tmp_path)).model, back.tokens_computed, 6, back.tokens_plain / 6) > 0


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU, which takes minutes")
def test_without_a_gpu_a_sentence_says_so() -> None:
    said: list[str] = []
    gpu.gpu(lambda *facts: said.extend(facts))
    assert said == ["There is no CUDA device on this computer: nothing was measured."]
