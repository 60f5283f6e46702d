"""Measure what local models of the usual sizes make of a GPU: pairs a second, and the share of its peak that is used.

Run as `python -m bench.gpu [FOLDER]`; the models are made in FOLDER, or left there by an earlier run.
"""

from __future__ import annotations

import random
import sys
import tempfile
import time
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import torch
import transformers

from bench.gpu_models import Size, make, mistral_7b, t5_large, texts
from core.graders import (
    Control,
    Pair,
    ReadingGrader,
    TransformersBackEnd,
    default_budget,
    fill,
    load_model,
    make_grader,
    parse_rating,
)
from core.types import Asked, Grade

QUERIES, QUESTIONS, PASSAGES = 5, 10, 40
"""Each query's passages meet each of its questions; the smaller model gets twice as many queries."""
LOOPED = 200
"""Pairs of the plain loop."""
BUDGETS = (16384, 65536, 131072)
"""Tokens of a batch that are tried beside the grader's own."""
DATA_SHEET = {"H100": 989.4, "H200": 989.4, "A100": 312.0, "L40S": 362.0, "L4": 121.0, "A10": 125.0, "4090": 165.2}
"""TFLOP/s of dense bfloat16 products that NVIDIA states, by what the card's name holds; the SXM part's where there are
several."""

T5 = Size("FLAN-T5-large's size", t5_large, chat=False)
CAUSAL = Size("7B", mistral_7b, chat=True)


@dataclass(frozen=True)
class Work:
    """What is graded.

    Args:
        questions, passages: by text key.
        pairs: of every query each question with each passage.
    """

    questions: dict[int, Asked]
    passages: dict[int, str]
    pairs: list[Pair]


def work(queries: int, questions: int, passages: int, seed: int = 1) -> Work:
    """Passages of about 120 words in sentences of the demo's, and the demo's questions; no text comes twice."""
    dice = random.Random(seed)
    sentences = [sentence for text in texts("passages.jsonl") for sentence in text.split(". ") if len(sentence) > 20]
    asked = texts("bank.jsonl")
    made = Work({}, {}, [])
    for query in range(queries):
        own = [query * questions + q for q in range(questions)]
        beside = [1_000_000 + query * passages + p for p in range(passages)]
        for key in own:
            made.questions[key] = Asked(f"{asked[key % len(asked)]}{' Again?' * (key // len(asked))}")
        for key in beside:
            length, words = dice.gauss(120, 30), list[str]()
            while len(words) < length:
                words += f"{dice.choice(sentences)}.".split()
            made.passages[key] = " ".join(words)
        made.pairs.extend((q, p) for q in own for p in beside)
    return made


def graded(grader: Any, of: Work, pairs: list[Pair]) -> tuple[dict[Pair, Grade], float]:
    """The grades of pairs, and the seconds that they took."""
    start = time.perf_counter()
    found = {(q, p): g for some in grader.grade(of.questions, of.passages, pairs, Control()) for q, p, g in some}
    return found, time.perf_counter() - start


def looped(folder: Path, grader: ReadingGrader, of: Work, pairs: list[Pair]) -> tuple[dict[Pair, int | None], float]:
    """What one would write in an afternoon: one prompt, one `generate`, one answer at a time."""
    loaded = load_model(str(folder))
    tokenizer, model, found = loaded.tokenizer, loaded.model, dict[Pair, int | None]()
    start = time.perf_counter()
    for q, p in pairs:
        call = next(grader.steps(of.questions[q], of.passages[p]))
        messages = fill(call.prompt, call.values)
        if tokenizer.chat_template:
            turns = [{"role": "system", "content": messages.system}] if messages.system else []
            turns.append({"role": "user", "content": messages.user})
            text = tokenizer.apply_chat_template(turns, tokenize=False, add_generation_prompt=True)
        else:
            text = messages.joined()
        inputs = tokenizer(text, return_tensors="pt", add_special_tokens=not tokenizer.chat_template)
        given = {name: inputs[name].to(loaded.device) for name in ("input_ids", "attention_mask")}
        with torch.inference_mode():
            out = model.generate(**given, max_new_tokens=call.max_tokens, do_sample=False)[0]
        written = out if loaded.seq2seq else out[given["input_ids"].shape[1] :]
        found[q, p] = parse_rating(tokenizer.decode(written, skip_special_tokens=True)).rating
    return found, time.perf_counter() - start


def operations(model: Any, computed: int, pairs: int, length: float) -> float:
    """Floating-point operations of grading: two for each parameter that a token meets, and those of attention.

    A causal model's prompt meets the parameters of all layers, and a token half of its prompt before it. An encoder's
    token meets those of the encoder and the keys and values that the decoder makes of it, and all of its prompt.
    Embeddings are looked up. Each pair's answer is two steps, of which each meets the output's words as well.

    Args:
        model: as the library gives it.
        computed: tokens of prompts that were run through it.
        pairs: how many were graded.
        length: tokens of a prompt on average.
    """
    config = model.config
    words = model.get_output_embeddings().weight.numel()
    # Attention: two products of a state's width for each token that is looked at, each of two operations.
    if config.is_encoder_decoder:
        crossed = 2 * config.num_decoder_layers * config.d_model * config.num_heads * config.d_kv
        reading = _parameters(model.encoder) + crossed
        writing = _parameters(model.decoder) - crossed + words
        looking = 4 * config.num_layers * config.num_heads * config.d_kv * length
        first = 2
    else:
        reading = writing = _parameters(model.model)
        looking = 4 * config.num_hidden_layers * config.hidden_size * length / 2
        # The first word of an answer is read off the prompt's last token.
        first, writing = 1, writing + 2 * words
    return computed * (2 * reading + looking) + pairs * first * 2 * writing


def _parameters(part: Any) -> int:
    tables = {id(p) for m in part.modules() if isinstance(m, torch.nn.Embedding) for p in m.parameters()}
    return sum(p.numel() for p in part.parameters() if id(p) not in tables)


def peak(device: str = "cuda", size: int = 8192, times: int = 20) -> float:
    """TFLOP/s of a product of two large matrices of random bfloat16, the median of `times`."""
    one, other = (torch.randn(size, size, device=device, dtype=torch.bfloat16) for _ in range(2))
    for _ in range(5):
        one @ other
    seconds = []
    for _ in range(times):
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        one @ other
        end.record()
        end.synchronize()
        seconds.append(start.elapsed_time(end) / 1000)
    return float(2 * size**3 / sorted(seconds)[times // 2] / 1e12)


def measure(say: Any, size: Size, prompt: str, folder: Path, of: Work, measured: float, stated: float | None) -> None:
    """One model with one prompt: loading, the grader's own batches, others, and the plain loop."""
    if not (folder / "config.json").exists():
        make(size, folder, "cuda")
        torch.cuda.empty_cache()
    what = f"{size.name}, {prompt}"
    start = time.perf_counter()
    made: Any = make_grader("self-rating", {"model": str(folder), "prompt": prompt})
    hashed = time.perf_counter() - start
    # The first pairs load the model and start the GPU's libraries, which no rate shall hold.
    _, loading = graded(made, of, of.pairs[:1])
    say(f"{what}: hashing {hashed:.1f} s, loading and the first pair {loading:.1f} s")
    graded(made, of, of.pairs[:400])
    own: dict[Pair, Grade] = {}
    for budget in (None, *BUDGETS):
        made.back_end = TransformersBackEnd(str(folder), batch_tokens=budget)
        torch.cuda.reset_peak_memory_stats()
        grades, took = graded(made, of, of.pairs)
        own = own or grades
        back = made.back_end
        pairs, plain = len(grades), back.tokens_plain
        done = operations(load_model(str(folder)).model, back.tokens_computed, pairs, plain / pairs) / took / 1e12
        tokens = f"{budget:,}" if budget else f"the grader's own {default_budget('cuda'):,}"
        say(
            f"{what}, {tokens} tokens a batch",
            f"{pairs / took:,.0f} pairs/s",
            f"{plain / took:,.0f} prompt tokens/s",
            f"{plain / pairs:.0f} tokens a prompt",
            f"{1 - back.tokens_computed / plain:.0%} not computed",
            f"{done:.0f} TFLOP/s",
            f"{done / measured:.0%} of measured, " + (f"{done / stated:.0%} of stated" if stated else "none stated"),
            f"{torch.cuda.max_memory_allocated() / 2**30:.1f} GiB",
            f"{sum(grade.status == 'graded' for grade in grades.values()):,} graded",
            f"{sum(grades[pair].rating == own[pair].rating for pair in own):,} as in own batches",
        )
        if budget is None:
            rate = pairs / took
    some = of.pairs[:: max(1, len(of.pairs) // LOOPED)]
    looped(folder, made, of, some[:5])
    theirs, plain_took = looped(folder, made, of, some)
    same = sum(own[pair].rating == rating for pair, rating in theirs.items())
    say(
        f"{what}, a loop of generate",
        f"{len(theirs) / plain_took:.1f} pairs/s",
        f"{rate * plain_took / len(theirs):.1f} x",
        f"{same} of {len(theirs)} ratings the same",
    )


def gpu(say: Any, folder: Path | None = None) -> None:
    """All of it; a sentence where there is no GPU."""
    if not torch.cuda.is_available():
        say("There is no CUDA device on this computer: nothing was measured.")
        return
    card, measured = torch.cuda.get_device_name(), peak()
    stated = next((rate for name, rate in DATA_SHEET.items() if name in card), None)
    say(f"{card}, torch {torch.__version__}, transformers {transformers.__version__}")
    say(
        f"a product of 8192 x 8192 bfloat16: {measured:.0f} TFLOP/s",
        f"the data sheet {stated:.0f} TFLOP/s" if stated else "no data sheet known",
    )
    of = work(QUERIES, QUESTIONS, PASSAGES)
    with tempfile.TemporaryDirectory() as root:
        run = partial(measure, say, measured=measured, stated=stated)
        place = folder or Path(root)
        run(T5, "self-rating", place / "t5-large", of=work(2 * QUERIES, QUESTIONS, PASSAGES))
        run(CAUSAL, "self-rating-chat", place / "causal-7b", of=of)
        run(CAUSAL, "self-rating", place / "causal-7b", of=of)


if __name__ == "__main__":
    gpu(lambda *facts: print("   ".join(facts), flush=True), Path(sys.argv[1]) if len(sys.argv) > 1 else None)
