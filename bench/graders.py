"""Measure graders that read: local models beside a plain loop, an endpoint beside its ideal, prefixes, injections."""

from __future__ import annotations

import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from core.graders import INJECTIONS, Control, Pair, ReadingGrader, fill, make_grader, parse_rating, try_injections
from core.types import Asked, Grade
from tests.made.tiny_models import ANSWERS, FILLER, build_tiny_causal, build_tiny_t5

QUESTIONS, PASSAGES = 10, 15
ENDPOINTS = ((0.2, 8, 160), (1.0, 64, 640), (2.0, 256, 5100))
"""Latency in seconds, calls in flight, calls."""


def texts(dice: random.Random) -> tuple[dict[int, Asked], dict[int, str]]:
    """Questions and passages of many lengths in the words of the tiny models, with a rating in most passages."""
    ratings = [word for word, answer in ANSWERS.items() if answer in "012345"]
    questions = {q: Asked(" ".join(["which", *dice.choices(FILLER[:40], k=8), "?"])) for q in range(QUESTIONS)}
    passages = {}
    for p in range(PASSAGES):
        words = dice.choices(FILLER[:40], k=dice.randrange(20, 200))
        words.insert(dice.randrange(len(words)), dice.choice(ratings))
        passages[100 + p] = " ".join(words)
    return questions, passages


def graded(
    grader: Any, questions: dict[int, Asked], passages: dict[int, str], control: Control | None = None
) -> dict[Pair, Grade]:
    """Every question with every passage."""
    pairs = [(q, p) for q in questions for p in passages]
    batches = grader.grade(questions, passages, pairs, control or Control())
    return {(q, p): grade for batch in batches for q, p, grade in batch}


def plain_loop(folder: Path, grader: ReadingGrader, questions: dict[int, Asked], passages: dict[int, str]) -> Any:
    """What one would write in an afternoon: one prompt, one generate, one answer at a time."""
    from transformers import AutoModelForCausalLM, AutoModelForSeq2SeqLM, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(folder, trust_remote_code=False)
    seq2seq = "t5" in folder.name
    model = (
        (AutoModelForSeq2SeqLM if seq2seq else AutoModelForCausalLM)
        .from_pretrained(folder, trust_remote_code=False)
        .eval()
    )
    found: dict[Pair, int | None] = {}
    start = time.perf_counter()
    for q, asked in questions.items():
        for p, passage in passages.items():
            call = next(grader.steps(asked, passage))
            inputs = tokenizer(fill(call.prompt, call.values).joined(), return_tensors="pt")
            out = model.generate(**inputs, max_new_tokens=call.max_tokens, do_sample=False)[0]
            written = out if seq2seq else out[inputs["input_ids"].shape[1] :]
            found[q, p] = parse_rating(tokenizer.decode(written, skip_special_tokens=True)).rating
    return found, time.perf_counter() - start


def local(say: Any) -> None:
    """Pairs a second of local models beside the plain loop with the same model."""
    with tempfile.TemporaryDirectory() as root:
        for name, build, prompt in (
            ("t5", build_tiny_t5, "self-rating"),
            ("causal", build_tiny_causal, "self-rating"),
            ("causal, passage first", build_tiny_causal, "self-rating-chat"),
        ):
            folder = Path(root) / name.split(",")[0]
            if not folder.exists():
                build(folder)
            grader = make_grader("self-rating", {"model": str(folder), "prompt": prompt})
            assert isinstance(grader, ReadingGrader)
            questions, passages = texts(random.Random(1))
            # The first pairs load the model, which the loop does before its clock starts.
            graded(grader, {0: questions[0]}, {100: passages[100]})
            start = time.perf_counter()
            ours = graded(grader, questions, passages)
            took = time.perf_counter() - start
            theirs, plain = plain_loop(folder, grader, questions, passages)
            same = sum(ours[pair].rating == rating for pair, rating in theirs.items())
            back_end: Any = grader.back_end
            say(
                f"local model, tiny {name}, {len(theirs)} pairs",
                f"{len(ours) / took:,.0f} pairs/s",
                f"a generate loop {len(theirs) / plain:,.0f} pairs/s",
                f"{plain / took:.1f} x",
                f"{same} of {len(theirs)} ratings the same",
                f"{1 - back_end.tokens_computed / back_end.tokens_plain:.0%} of the prompts' tokens not computed",
            )


def endpoint(say: Any) -> None:
    """Calls a second against endpoints of a fixed latency, so many in flight, beside the ideal: in flight / latency."""
    for latency, in_flight, calls in ENDPOINTS:
        took, spent, made = _against_endpoint(latency, in_flight, calls)
        ideal = in_flight / latency
        say(
            f"endpoint of {latency * 1000:,.0f} ms, {in_flight} in flight, {made:,} calls",
            f"{made / took:,.0f} calls/s",
            f"ideal {ideal:,.0f} calls/s",
            f"{made / took / ideal:.2f} of the ideal",
            f"{spent / made * 1000:.2f} ms of processor a call, which bears {made / spent:,.0f} calls/s on a core",
        )


def _against_endpoint(latency: float, in_flight: int, calls: int) -> tuple[float, float, int]:
    """Seconds, seconds of processor of this process alone, and calls made, from the first pair to the last."""
    with tempfile.TemporaryDirectory() as root:
        port_file = Path(root) / "port"
        command = [sys.executable, "-m", "tests.made.endpoint_server", "--port-file", str(port_file)]
        server = subprocess.Popen([*command, "--latency", str(latency)], cwd=Path(__file__).resolve().parents[1])
        try:
            while not port_file.exists():
                time.sleep(0.05)
            url = f"http://127.0.0.1:{port_file.read_text()}/v1"
            grader = make_grader("self-rating", {"back_end": "openai", "model": "m", "base_url": url})
            questions = {q: Asked(f"Question {q}?") for q in range(10)}
            passages = {100 + p: f"Passage number {p}." for p in range(calls // 10)}
            graded(grader, {0: questions[0]}, {100: "A first passage."})
            start, spent = time.perf_counter(), time.process_time()
            found = graded(grader, questions, passages, Control(concurrency=in_flight))
            took, spent = time.perf_counter() - start, time.process_time() - spent
        finally:
            server.terminate()
            server.wait()
    assert all(grade.status == "graded" for grade in found.values())
    return took, spent, len(found)


def injections(say: Any) -> None:
    """How many texts that only ask for a good rating get a better one, by kind of grader, with a fence and without."""
    neutral = "the question is in the context and it is not clay ."
    asked = Asked("which of the answers is best ?", "sand", ("clay", "sand"))
    kinds: list[tuple[str, dict[str, Any]]] = [
        ("self-rating", {"prompt": "self-rating-chat"}),
        ("direct", {}),
        ("answer", {"check": "words"}),
        ("answer", {"check": "model"}),
        ("choice", {"by": "letter"}),
    ]
    with tempfile.TemporaryDirectory() as root:
        folders = {"t5": build_tiny_t5(Path(root) / "t5"), "causal": build_tiny_causal(Path(root) / "causal")}
        for name, folder in folders.items():
            for kind, settings in kinds:
                for fence in (False, True):
                    made = make_grader(kind, {"model": str(folder), "fence": fence, **settings})
                    what = " ".join([kind, *(str(value) for value in settings.values())])
                    _say_injections(
                        say, f"tiny {name}, {what}, {'fenced' if fence else 'not fenced'}", made, asked, neutral
                    )
    _say_injections(say, "embedding", make_grader("embedding", {}), Asked("which of the answers is best ?"), neutral)


def _say_injections(say: Any, what: str, grader: Any, asked: Asked, neutral: str) -> None:
    trial = try_injections(grader, asked, neutral)
    changed = sum(rating != trial.without for rating in trial.ratings.values())
    families = ", ".join(f"{family} {worked}" for family, (worked, _) in trial.families.items() if worked)
    say(
        f"injections, {what}",
        f"{len(trial.worked)} of {len(INJECTIONS)} get a better rating",
        f"{changed} another, {trial.failed} none",
        families,
    )


def readers(say: Any) -> None:
    """All of it."""
    local(say)
    endpoint(say)
