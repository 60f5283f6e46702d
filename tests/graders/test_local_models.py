"""The transformers back end, on tiny models trained for these tests."""

from __future__ import annotations

import errno
import itertools
import json
import random
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given, strategies as st

from exam_workbench.errors import GradingError
from exam_workbench.graders import Call, Completion, Control, Outcome, Prompt, Steps, current_loading, fill_prompt
from exam_workbench.graders._local.loading import explain_loading_error, load_model, model_identity
from exam_workbench.graders._local.prompting import Batch, Group
from exam_workbench.graders._local.text_generation import LEAST_SHARED, Options, share_prefixes
from exam_workbench.graders._local.transformers_back_end import (
    ExtractiveBackEnd,
    TransformersBackEnd,
    out_of_memory_halves,
)
from exam_workbench.graders._reading.calls import Form, complete_calls, drive_in_windows
from exam_workbench.types import Grade
from tests.made import tiny_models
from tests.made.refusals import check_error, refusal
from tests.made.tiny_models import generated

RATE = Prompt(
    name="rate",
    title="Rate",
    use="self-rating",
    template="How well can the question be answered? Passage: {context} Question: {question} Rate from 0 to 5:",
    form="rating",
    source="these tests",
)
DIGITS = tuple("012345")
RATED = {"clay": 0, "tin": 1, "iron": 2, "bronze": 3, "silver": 4, "gold": 5}


@pytest.fixture(scope="module", autouse=True)
def _one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="module")
def t5(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(tiny_models.shared_model(tmp_path_factory, tiny_models.build_tiny_t5))


@pytest.fixture(scope="module")
def llama(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(tiny_models.shared_model(tmp_path_factory, tiny_models.build_tiny_causal))


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(tiny_models.shared_model(tmp_path_factory, tiny_models.build_tiny_extractive))


@pytest.fixture(scope="module")
def gpt2(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(tiny_models.shared_model(tmp_path_factory, tiny_models.build_untrained, name="causal"))


def passage(marker: str, words: int, seed: int = 0) -> str:
    """Return meaningless words with a marker among them."""
    chance = random.Random(f"{marker} {words} {seed}")
    text = [chance.choice(tiny_models.FILLER[:40]) for _ in range(words)]
    text.insert(chance.randint(0, words), marker)
    return " ".join(text)


def rating(text: str, question: str = "what is it made of?", **changes: Any) -> Call:
    call = Call(RATE, {"question": question, "context": text}, "rating", options=DIGITS, max_tokens=12)
    return replace(call, **changes)


def ask(back_end: TransformersBackEnd | ExtractiveBackEnd, *calls: Call) -> list[Completion]:
    return complete_calls(back_end, calls, Control())


@contextmanager
def tokens_read(back_end: TransformersBackEnd) -> Iterator[list[int]]:
    """Yield the token counts, padding included, of the model's forward calls within the block."""
    read: list[int] = []
    hook = back_end._loaded.model.register_forward_pre_hook(
        lambda model, args, given: read.append(given["input_ids"].numel()), with_kwargs=True
    )
    try:
        yield read
    finally:
        hook.remove()


def test_seq2seq_and_causal_models_rate_and_report_completeness(t5: str, llama: str) -> None:
    calls = [rating(passage(marker, words)) for words in (6, 40, 90) for marker in RATED]
    expected = [*map(str, RATED.values())] * 3
    assert [completion.text for completion in ask(TransformersBackEnd(t5), *calls)] == expected
    calls = [rating(passage(marker, words)) for words in (6, 40, 60) for marker in RATED]
    assert [completion.text for completion in ask(TransformersBackEnd(llama), *calls)] == expected
    endless, short = ask(TransformersBackEnd(t5), rating(passage("rain", 20)), rating(passage("tin", 20)))
    assert (endless.text, endless.complete) == (" ".join(["drip"] * 12), False)
    assert (short.text, short.complete) == ("1", True)


@pytest.mark.parametrize("model", ["t5", "llama", "gpt2"])
@pytest.mark.parametrize("form", ["rating", "text"])
def test_batches_match_single_calls_and_generate(model: str, form: Form, request: pytest.FixtureRequest) -> None:
    folder = request.getfixturevalue(model)
    # Six markers suffice for an untrained model, as they still cover all three text lengths.
    markers = [*tiny_models.ANSWERS][:6] if model == "gpt2" else [*tiny_models.ANSWERS]
    calls = [rating(passage(m, words), form=form) for m, words in zip(markers, itertools.cycle((3, 30, 80)))]
    together = ask(TransformersBackEnd(folder, batch_tokens=500), *calls)
    alone = [ask(TransformersBackEnd(folder), call)[0] for call in calls]
    assert [c.text for c in together] == [c.text for c in alone]
    for call, completion in zip(calls, together, strict=True):
        plain = generated(folder, fill_prompt(call.prompt, call.values).joined(), call.max_tokens)
        # Generation of a rating stops once nothing can change it.
        assert completion.text == plain if form == "text" else plain.startswith(completion.text)


@pytest.mark.parametrize("model", ["llama", "gpt2"])
def test_shared_passage_is_read_once_with_same_answers(model: str, request: pytest.FixtureRequest) -> None:
    folder = request.getfixturevalue(model)
    questions = ["what is it?", "which is the best of all of them, and on what is it?", "how?"]
    calls = [rating(passage(m, words), q) for m in RATED for words in (30, 70) for q in questions]
    calls.append(rating("short and alone"))
    random.Random(1).shuffle(calls)
    sharing, plain = TransformersBackEnd(folder), TransformersBackEnd(folder, share_prefixes=False)
    with tokens_read(sharing) as with_sharing:
        with_it = ask(sharing, *calls)
    with tokens_read(plain) as without_sharing:
        without = ask(plain, *calls)
    assert [c.text for c in with_it] == [c.text for c in without]
    for one, other in zip(with_it, without, strict=True):
        assert one.distribution == (other.distribution and pytest.approx(other.distribution, abs=1e-4))
    assert 0 < sum(with_sharing) < 0.6 * sum(without_sharing)


@given(st.lists(st.lists(st.sampled_from([1, 2]), min_size=1, max_size=6), min_size=1, max_size=7))
def test_prefix_groups_minimise_tokens_read(ends: list[list[int]]) -> None:
    prompts = sorted([7] * LEAST_SHARED + end for end in ends)

    def least(begin: int) -> int:
        """Return the fewest tokens read from prompt `begin` on, by trying all divisions."""
        if begin == len(prompts):
            return 0
        found = []
        for end in range(begin + 1, len(prompts) + 1):
            rows = prompts[begin:end]
            same = next(
                (i for i, each in enumerate(zip(*rows, strict=False)) if len({*each}) > 1), len(min(rows, key=len))
            )
            shared = min(same, min(map(len, rows)) - 1) if len(rows) > 1 else 0
            if len(rows) == 1 or shared >= LEAST_SHARED:
                once = shared if len(rows) > 1 else 0
                found.append(once + sum(len(row) - once for row in rows) + least(end))
        return min(found)

    groups = share_prefixes(prompts)
    read = sum(group.shared + sum(len(prompts[row]) - group.shared for row in group.rows) for group in groups)
    assert read == least(0)


@pytest.mark.parametrize("model", ["t5", "llama"])
def test_rating_distribution_sums_to_one_and_fits_text(model: str, request: pytest.FixtureRequest) -> None:
    calls = [rating(passage(m, 20, seed)) for m in (*RATED, "brass") for seed in range(3)]
    for completion in ask(TransformersBackEnd(request.getfixturevalue(model)), *calls):
        assert completion.distribution is not None
        assert list(completion.distribution) == list(DIGITS)
        assert sum(completion.distribution.values()) == pytest.approx(1)
        assert max(completion.distribution, key=completion.distribution.__getitem__) == completion.text[-1]


def test_distributions_cover_ratings_verdicts_and_letters(t5: str) -> None:
    (completion,) = ask(TransformersBackEnd(t5), rating(passage("brass", 20)))
    assert completion.text == "Rating : 3"
    assert completion.distribution is not None and completion.distribution["3"] > 0.5
    off, unanswerable = ask(TransformersBackEnd(t5), rating(passage("mud", 20)), rating(passage("fog", 20)))
    assert (off.text, off.distribution) == ("10", None)
    assert (unanswerable.text, unanswerable.distribution) == ("unanswerable", None)
    options = ("Yes", "No")
    calls = [rating(passage(m, 20), form="yes-no", options=options) for m in ("oak", "elm")]
    calls += [rating(passage(m, 20), form="letter", options=tuple("ABCD")) for m in ("apple", "cedar")]
    yes, no, first, third = ask(TransformersBackEnd(t5), *calls)
    assert [c.text for c in (yes, no, first, third)] == ["Yes", "No", "A", "C"]
    assert yes.distribution is not None and yes.distribution["Yes"] > 0.5
    assert no.distribution is not None and no.distribution["No"] > 0.5
    assert third.distribution is not None and third.distribution["C"] > 0.5


def test_multi_token_options_are_compared_at_the_differing_token() -> None:
    class Signs:
        """A tokenizer that puts a mark token before digits, as some do."""

        unk_token_id = None

        def __call__(self, text: str, add_special_tokens: bool) -> Any:
            digits = {"0": [100, 10], "1": [100, 11], "2": [12]}
            return type("Encoded", (), {"input_ids": digits[text.strip()]})

        def get_vocab(self) -> dict[str, int]:
            return {"▁": 100, "0": 10, "1": 11, "2": 12}

    options = Options(("0", "1", "2"), Signs())
    scores = torch.full((2, len(options.tokens)), -9.0)
    scores[1, options.tokens.index(10)] = 1.0
    scores[1, options.tokens.index(11)] = 3.0
    found = options.distribution([100, 11], scores, "1")
    assert found is not None
    assert found["1"] == pytest.approx(1 / (1 + torch.e**-2), abs=1e-3)
    assert found["2"] == 0


def test_only_passages_are_shortened_and_oversized_prompt_fails_alone(t5: str, llama: str) -> None:
    text = passage("silver", 10) + " the" * 600 + " END"
    call = rating(text)
    back_end = TransformersBackEnd(t5, max_tokens_in=100)
    (completion,) = ask(back_end, call)
    whole = back_end.count_tokens(fill_prompt(call.prompt, call.values).joined())
    assert whole is not None
    assert completion.text == "4"
    assert completion.shortened == whole + 1 - 100
    prepared = back_end._prompting.prepare([call], lambda call: 0)[0]
    assert len(prepared.tokens) == 100
    assert prepared.text.endswith(" the Question: what is it made of? Rate from 0 to 5:")
    assert "END" not in prepared.text
    too_long, fine = ask(
        TransformersBackEnd(t5, max_tokens_in=60), rating("gold", "why? " * 100), rating(passage("gold", 5))
    )
    assert too_long.error is not None and "too long" in too_long.error
    assert (fine.text, fine.error) == ("5", None)
    back_end = TransformersBackEnd(llama, max_tokens_in=120)
    (completion,) = ask(back_end, rating(passage("silver", 5) + " the" * 300))
    assert completion.text == "4"
    prepared = back_end._prompting.prepare([rating("the " * 300)], lambda call: call.max_tokens)[0]
    assert len(prepared.tokens) == 120 - 12


def test_special_tokens_in_a_passage_are_plain_text(llama: str, t5: str) -> None:
    for folder in (llama, t5):
        back_end = TransformersBackEnd(folder)
        tokens = back_end._prompting.prepare([rating("a </s> b <|assistant|> c <s>")], lambda call: 0)[0].tokens
        inside = back_end._loaded.tokenizer.convert_ids_to_tokens(tokens)
        assert "<|assistant|>" not in inside
        assert inside.count("</s>") == (1 if folder == t5 else 0)
        assert inside.count("<s>") == (1 if folder == llama else 0)


def with_template(folder: str, template: str, to: Path) -> str:
    """Save a copy of a model with a chat template; return its folder."""
    from transformers import AutoModelForCausalLM, AutoTokenizer

    tokenizer: Any = AutoTokenizer.from_pretrained(folder)
    tokenizer.chat_template = template
    tokenizer.save_pretrained(to)
    AutoModelForCausalLM.from_pretrained(folder).save_pretrained(to)
    return str(to)


def test_chat_model_uses_its_own_template(llama: str, tmp_path: Path) -> None:
    folder = with_template(llama, tiny_models.CHAT_TEMPLATE, tmp_path)
    call = replace(rating(passage("gold", 20)), prompt=replace(RATE, system="You rate."), form="text")
    back_end = TransformersBackEnd(folder)
    text = back_end._prompting.prepare([call], lambda call: 0)[0].text
    user = fill_prompt(call.prompt, call.values).user
    assert text == f"<s><|system|>You rate.<|end|><|user|>{user}<|end|><|assistant|>"
    assert ask(back_end, call)[0].text == generated(folder, text, call.max_tokens, special=False)


@pytest.mark.parametrize(
    "template",
    [
        tiny_models.CHAT_TEMPLATE.replace(
            "{% for", "{% if messages[0]['role'] == 'system' %}{{ raise_exception('no') }}{% endif %}{% for"
        ),
        tiny_models.CHAT_TEMPLATE.replace("<|{{", "{% if message['role'] == 'user' %}<|{{").replace(
            "{% endfor", "{% endif %}{% endfor"
        ),
    ],
    ids=["refuses", "drops"],
)
def test_template_without_system_role_gets_both_texts_as_user(template: str, llama: str, tmp_path: Path) -> None:
    call = replace(rating("gold"), prompt=replace(RATE, system="You rate."))
    back_end = TransformersBackEnd(with_template(llama, template, tmp_path))
    text = back_end._prompting.prepare([call], lambda call: 0)[0].text
    assert text == f"<s><|user|>{fill_prompt(call.prompt, call.values).joined()}<|end|><|assistant|>"


def likelihood(marker: str, *options: str) -> Call:
    return rating(passage(marker, 20), form="likelihood", options=options)


@pytest.mark.parametrize("share", [True, False])
@pytest.mark.parametrize("model", ["t5", "llama", "gpt2"])
def test_likelihoods_match_the_loss_of_the_option(model: str, share: bool, request: pytest.FixtureRequest) -> None:
    folder = request.getfixturevalue(model)
    calls = [likelihood("maple", "the red leaves of maple", "5", "the red of"), likelihood("gold", "4", "5")]
    found = ask(TransformersBackEnd(folder, share_prefixes=share), *calls)
    loaded = load_model(folder)
    for call, completion in zip(calls, found, strict=True):
        prompt = fill_prompt(RATE, call.values).joined()
        for option in call.options:
            if loaded.seq2seq:
                given = loaded.tokenizer(prompt, return_tensors="pt").input_ids
                labels = loaded.tokenizer(option, return_tensors="pt").input_ids[:, :-1]
            else:
                given = loaded.tokenizer(f"{prompt} {option}", return_tensors="pt").input_ids
                labels = given.clone()
                labels[:, : len(loaded.tokenizer(prompt).input_ids)] = -100
            with torch.inference_mode():
                loss = loaded.model(input_ids=given, labels=labels).loss
            assert completion.distribution is not None
            assert completion.distribution[option] == pytest.approx(-float(loss), abs=1e-4)
    if model != "gpt2":
        assert [completion.text for completion in found] == ["the red leaves of maple", "5"]


def span(text: str, question: str = "where is it?") -> Call:
    return Call(RATE, {"question": question, "context": text}, "span")


def test_extractive_answer_is_any_part_of_a_passage_and_other_forms_go_elsewhere(reader: str, t5: str) -> None:
    (found,) = ask(ExtractiveBackEnd(reader), span("This is the Gold   Coin, and all of it."))
    assert found.text == "Gold   Coin"
    assert found.distribution is not None and found.distribution["answer"] > 0.5
    assert sum(found.distribution.values()) == pytest.approx(1)
    none, empty = ask(ExtractiveBackEnd(reader), span("This is the best of all."), span("  "))
    assert none.text == empty.text == ""
    assert none.distribution is not None and none.distribution["no answer"] > 0.5
    assert none.error is None and none.shortened == 0
    calls = [
        span("the best of all " * before + "gold ring " + "and the most of it " * 40) for before in (0, 12, 33, 61)
    ]
    found = ask(ExtractiveBackEnd(reader, batch_tokens=300), *calls, span("it is the best of all " * 60))
    assert [c.text for c in found] == ["gold ring"] * 4 + [""]
    (found,) = ask(ExtractiveBackEnd(reader), span("gold coin", "where " * 100))
    assert found.error is not None and "no room" in found.error
    back_end = ExtractiveBackEnd(reader, other=TransformersBackEnd(t5))
    cut, rated = ask(back_end, span("a gold coin"), rating(passage("iron", 20)))
    assert (cut.text, rated.text) == ("gold coin", "2")
    with refusal("model-extracts"):
        ask(ExtractiveBackEnd(reader), rating("iron"))
    with refusal("model-writes"):
        ask(TransformersBackEnd(t5), span("a gold coin"))


def test_models_are_loaded_on_first_call_and_shared(t5: str) -> None:
    one, other = TransformersBackEnd(t5, device="cpu"), TransformersBackEnd(t5)
    assert one.count_tokens("the best") == 2, "the tokenizer needs no weights"
    assert TransformersBackEnd("nobody/no-such-model").count_tokens("the best") is None
    ask(one, rating("gold"))
    ask(other, rating("gold"))
    assert one.count_tokens("the best") == 2
    if not torch.cuda.is_available():
        assert load_model(t5, device="cpu") is load_model(t5, device="auto", dtype="float32")
    assert current_loading() is None


@pytest.mark.parametrize("model", ["t5", "llama"])
def test_half_precision_ratings_match_greedy_decoding(model: str, request: pytest.FixtureRequest) -> None:
    folder = request.getfixturevalue(model)
    questions = ["what is it made of?", "what is it?"]
    calls = [rating(passage(marker, words), q) for marker in RATED for words in (5, 20, 60) for q in questions]
    found = ask(TransformersBackEnd(folder, device="cpu", dtype="bfloat16"), *calls)
    texts = [fill_prompt(call.prompt, call.values).joined() for call in calls]
    assert [c.text for c in found] == [generated(folder, text, 12, dtype="bfloat16") for text in texts]
    assert {c.text for c in found} >= {*map(str, RATED.values())}


def test_missing_or_broken_models_and_devices_are_refused(t5: str, tmp_path: Path) -> None:
    with refusal("model-unusable", kind=GradingError):
        ask(TransformersBackEnd(str(tmp_path / "nowhere")), rating("gold"))
    with refusal("model-unusable", kind=GradingError):
        model_identity(str(tmp_path))
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "t5"}))
    with pytest.raises(GradingError):
        ask(TransformersBackEnd(str(tmp_path)), rating("gold"))
    with refusal("unknown-device"):
        TransformersBackEnd(t5, device="abacus")
    with refusal("unknown-number-format"):
        TransformersBackEnd(t5, dtype="int1")
    if not torch.cuda.is_available():
        with refusal("no-gpu", kind=GradingError):
            ask(TransformersBackEnd(t5, device="cuda"), rating("gold"))
    assert explain_loading_error("m", OSError(errno.ENOSPC, "No space left on device")).code == "disk-full"
    offline = OSError("cannot load")
    offline.__cause__ = ConnectionError("no route")
    assert explain_loading_error("m", offline).code == "model-unusable"
    check_error(explain_loading_error("m", ValueError("odd\nmore")), "model-unusable", "odd")


def test_model_identity_follows_folder_content_or_hub_revision(t5: str, tmp_path: Path) -> None:
    (tmp_path / "m").mkdir()
    for name in ("config.json", "model.safetensors", "README.md"):
        (tmp_path / "m" / name).write_text(name)
    first = model_identity(str(tmp_path / "m"))
    assert first.startswith("m@sha256:") and len(first) == len("m@sha256:") + 12
    (tmp_path / "m" / "README.md").write_text("other words")
    assert model_identity(str(tmp_path / "m")) == first
    (tmp_path / "m" / "model.safetensors").write_text("other weights")
    assert model_identity(str(tmp_path / "m")) != first
    assert model_identity("google/flan-t5-large") == "google/flan-t5-large"
    assert model_identity("google/flan-t5-large", "abc") == "google/flan-t5-large@abc"


def steps(*calls: Call) -> Steps:
    """Make the calls in turn; the grade holds their texts."""
    texts = []
    for call in calls:
        completion = yield call
        texts.append(completion.text)
    return Grade(0, raw=" ".join(texts))


def drive(back_end: TransformersBackEnd, work: list[tuple[tuple[int, int], Steps]], control: Control) -> list[Outcome]:
    return [outcome for batch in back_end.drive(work, control) for outcome in batch]


def test_pairs_complete_all_steps_and_cap_or_cancel_keeps_outcomes(t5: str) -> None:
    markers = ["tin", "gold", "iron", "silver"] * 5
    work = [((i, 0), steps(*[rating(passage(m, 10 + i))] * (i % 3))) for i, m in enumerate(markers)]
    control = Control()
    outcomes = drive(TransformersBackEnd(t5, batch_tokens=200), work, control)
    assert {(q, g.raw) for q, _, g in outcomes} == {
        (i, " ".join([str(RATED[m])] * (i % 3))) for i, m in enumerate(markers)
    }
    assert control.usage.calls == sum(i % 3 for i in range(len(markers)))
    assert control.usage.input_tokens > 0 and control.usage.output_tokens > 0 and control.usage.cost == 0
    work = [((i, 0), steps(rating(passage("tin", 20)))) for i in range(30)]
    control = Control(max_calls=7)
    assert len(drive(TransformersBackEnd(t5, batch_tokens=100), work, control)) == 7
    assert control.exhausted and control.usage.calls == 7
    work = [((i, 0), steps(rating(passage("tin", 20)))) for i in range(30)]
    control = Control()
    came = []
    for batch in TransformersBackEnd(t5, batch_tokens=100).drive(work, control):
        came += batch
        control.cancel()
    assert 0 < len(came) < 30
    assert all(grade.raw == "1" for _, _, grade in came)
    two_steps = [((0, 0), steps(rating("tin"), rating("tin")))]
    assert drive(TransformersBackEnd(t5), two_steps, control) == []


def test_pause_holds_the_next_batch_until_resume(t5: str) -> None:
    control = Control()
    control.pause()
    came: list[Outcome] = []
    work = [((i, 0), steps(rating(passage("tin", 20)))) for i in range(3)]
    thread = threading.Thread(target=lambda: came.extend(drive(TransformersBackEnd(t5), work, control)))
    thread.start()
    thread.join(0.2)
    assert thread.is_alive() and not came
    control.resume()
    thread.join(60)
    assert len(came) == 3


def test_started_pairs_never_exceed_the_window() -> None:
    begun = 0

    def counted() -> Steps:
        nonlocal begun
        begun += 1
        yield rating("tin")
        return Grade(1)

    most: list[int] = []

    def answer(calls: Any, control: Control) -> Iterator[list[tuple[int, Completion]]]:
        most.append(len(calls))
        # In reverse order, because batches sorted by length reorder calls too.
        yield from ([(i, Completion("1"))] for i in reversed(range(len(calls))))

    work: Iterator[tuple[tuple[int, int], Steps]] = (((i, 0), counted()) for i in range(10))
    outcomes = drive_in_windows(work, Control(), answer, window=4)
    next(outcomes)
    assert begun == 4
    assert len(list(outcomes)) == 9
    assert most == [4, 4, 2]


@pytest.mark.parametrize(
    "error",
    [
        torch.OutOfMemoryError("CUDA out of memory"),
        MemoryError(),
        RuntimeError("[enforce fail at alloc_cpu.cpp] DefaultCPUAllocator: can't allocate memory: you tried to ..."),
    ],
)
def test_out_of_memory_batch_is_split(t5: str, monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    back_end = TransformersBackEnd(t5)
    calls = [rating(passage(marker, 20)) for marker in RATED]
    whole: Callable[..., Any] = back_end._runner.inputs
    sizes = []

    def small_memory(prompts: Any, batch: Any, *rest: Any) -> Any:
        sizes.append(len(batch))
        if len(batch) > 2:
            raise error
        return whole(prompts, batch, *rest)

    monkeypatch.setattr(back_end._runner, "inputs", small_memory)
    assert [c.text for c in ask(back_end, *calls)] == [*map(str, RATED.values())]
    assert max(sizes) == 6


def test_single_prompt_over_memory_is_refused_and_other_errors_propagate() -> None:
    def full(batch: Batch) -> None:
        raise MemoryError

    with refusal("out-of-memory", kind=GradingError):
        list(out_of_memory_halves([Group((0, 1))], full))

    def odd(batch: Batch) -> None:
        raise RuntimeError("shapes differ")

    with pytest.raises(RuntimeError, match="shapes differ"):
        list(out_of_memory_halves([Group((0, 1))], odd))
