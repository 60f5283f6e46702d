"""Benches of grading: a local model against a loop over pairs, and an endpoint against its ideal rate."""

from __future__ import annotations

import random
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from time import perf_counter, sleep
from typing import Any

from bench.figures import Figure, timed
from exam_workbench.graders import Control, Pair, ReadingGrader, fill_prompt, make_grader
from exam_workbench.graders._reading.parsing import parse_rating
from exam_workbench.types import Grade, GraderInput
from tests.made.tiny_models import ANSWERS, FILLER, build_tiny_causal, build_tiny_t5

ROOT = Path(__file__).resolve().parents[1]
MODELS: tuple[tuple[str, Callable[[Path], Path], str], ...] = (
    ("t5", build_tiny_t5, "self-rating"),
    ("causal", build_tiny_causal, "self-rating"),
    ("causal", build_tiny_causal, "self-rating-chat"),
)
"""Architecture, function that makes a small model of it, and prompt."""
ENDPOINTS = ((0.2, 8, 160), (1.0, 64, 640), (2.0, 256, 5100))
"""Latency in seconds, calls in flight, calls."""


def local(tiny: bool) -> Iterator[Figure]:
    """Measure pairs per second of small local models, compared with `generate` for one pair at a time.

    Raises:
        AssertionError: the two give different ratings.
    """
    questions, passages = _texts(*((3, 4) if tiny else (10, 15)))
    with tempfile.TemporaryDirectory() as root:
        for name, build, prompt in MODELS[:1] if tiny else MODELS:
            folder = Path(root) / name
            if not folder.exists():
                build(folder)
            grader: Any = make_grader("self-rating", {"model": str(folder), "prompt": prompt})
            # The first pair loads the model; the loop loads its own before its clock starts.
            _grade(grader, {0: questions[0]}, {100: passages[100]})
            seconds, grades = timed(perf_counter, _grade, grader, questions, passages)
            alternative, ratings = _loop(folder, grader, questions, passages)
            assert ratings == {pair: grade.rating for pair, grade in grades.items()}
            ratio = alternative / seconds
            yield Figure(
                f"local grading, {name}, {prompt}, {len(grades)} pairs",
                f"{len(grades) / seconds:,.0f} pairs/s",
                f"loop of generate: {len(ratings) / alternative:,.0f} pairs/s",
                ratio,
                "ratio >= 5",
                ratio >= 5,
            )


def endpoint(tiny: bool) -> Iterator[Figure]:
    """Measure calls per second at endpoints of a fixed latency, compared with the ideal n / latency."""
    for latency, in_flight, calls in ((0.05, 4, 80),) if tiny else ENDPOINTS:
        seconds, grades = _ask_endpoint(latency, in_flight, calls)
        assert all(grade.status == "graded" for grade in grades.values())
        ideal = in_flight / latency
        share = len(grades) / seconds / ideal
        yield Figure(
            f"endpoint of {latency * 1000:,.0f} ms, {in_flight} in flight, {len(grades):,} calls",
            f"{len(grades) / seconds:,.0f} calls/s",
            f"n / latency: {ideal:,.0f} calls/s",
            share,
            "ratio >= .9",
            share >= 0.9,
        )


def _texts(questions: int, passages: int) -> tuple[dict[int, GraderInput], dict[int, str]]:
    """Make texts of different lengths from the words of the small models; most passages contain a rating."""
    dice = random.Random(1)
    ratings = [word for word, answer in ANSWERS.items() if answer in "012345"]
    asked = {key: GraderInput(" ".join(["which", *dice.choices(FILLER[:40], k=8), "?"])) for key in range(questions)}
    texts = {}
    for key in range(passages):
        words = dice.choices(FILLER[:40], k=dice.randrange(20, 200))
        words.insert(dice.randrange(len(words)), dice.choice(ratings))
        texts[100 + key] = " ".join(words)
    return asked, texts


def _grade(
    grader: Any, questions: dict[int, GraderInput], passages: dict[int, str], control: Control | None = None
) -> dict[Pair, Grade]:
    pairs = [(question, passage) for question in questions for passage in passages]
    batches = grader.grade(questions, passages, pairs, control or Control())
    return {(question, passage): grade for batch in batches for question, passage, grade in batch}


def _loop(
    folder: Path, grader: ReadingGrader, questions: dict[int, GraderInput], passages: dict[int, str]
) -> tuple[float, dict[Pair, int | None]]:
    """Grade with one prompt and one `generate` per pair; return seconds and ratings."""
    from transformers import AutoModelForCausalLM, AutoModelForSeq2SeqLM, AutoTokenizer

    is_t5 = folder.name == "t5"
    loader = AutoModelForSeq2SeqLM if is_t5 else AutoModelForCausalLM
    tokenizer = AutoTokenizer.from_pretrained(folder, trust_remote_code=False)
    model = loader.from_pretrained(folder, trust_remote_code=False).eval()
    ratings: dict[Pair, int | None] = {}
    start = perf_counter()
    for question, asked in questions.items():
        for passage, text in passages.items():
            call = next(grader.steps(asked, text))
            inputs = tokenizer(fill_prompt(call.prompt, call.values).joined(), return_tensors="pt")
            output = model.generate(**inputs, max_new_tokens=call.max_tokens, do_sample=False)[0]
            written = output if is_t5 else output[inputs["input_ids"].shape[1] :]
            ratings[question, passage] = parse_rating(tokenizer.decode(written, skip_special_tokens=True)).rating
    return perf_counter() - start, ratings


def _ask_endpoint(latency: float, in_flight: int, calls: int) -> tuple[float, dict[Pair, Grade]]:
    """Return the elapsed seconds of all calls, and their grades."""
    with tempfile.TemporaryDirectory() as root:
        port_file = Path(root) / "port"
        command = [sys.executable, "-m", "tests.made.endpoint_server", "--port-file", str(port_file)]
        server = subprocess.Popen([*command, "--latency", str(latency)], cwd=ROOT)
        try:
            while not port_file.exists():
                assert server.poll() is None, "The endpoint ended before it listened."
                sleep(0.05)
            url = f"http://127.0.0.1:{port_file.read_text()}/v1"
            grader = make_grader("self-rating", {"back_end": "openai", "model": "m", "base_url": url})
            questions = {key: GraderInput(f"Question {key}?") for key in range(10)}
            passages = {100 + key: f"Passage number {key}." for key in range(calls // 10)}
            _grade(grader, {0: questions[0]}, {100: "A first passage."})
            return timed(perf_counter, _grade, grader, questions, passages, Control(concurrency=in_flight))
        finally:
            server.terminate()
            server.wait()
