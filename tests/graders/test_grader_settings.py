"""What a grader that reads is set to: it changes the ratings and is in the fingerprint, and old grades are found."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from exam_workbench.bank import grader_again
from exam_workbench.errors import GradingError, InputError
from exam_workbench.graders import (
    Call,
    Control,
    ReadingGrader,
    built_in_prompts,
    fill_prompt,
    find_remaking_parameters,
    make_grader,
)
from exam_workbench.graders._local import loading as local_loading
from exam_workbench.graders._local.loading import load_model, resolved_dtype
from exam_workbench.graders._local.transformers_back_end import TransformersBackEnd
from exam_workbench.graders._prompts.prompt import fence_text
from exam_workbench.graders._reading.calls import complete_calls
from exam_workbench.grading import Request, make_plan, run_job
from exam_workbench.store import Project
from exam_workbench.types import Asked, Grade, Question
from tests.made.endpoint_server import EndpointServer, Reply, Seen, going_on
from tests.made.projects import fill as fill_project
from tests.made.refusals import refusal
from tests.made.tiny_models import CHAT_TEMPLATE, FILLER, _text_tokenizer

RUNS = {"one": {"q1": ["p1", "p2"]}}
WHY = Question("q1/a", "q1", "Why?")


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Models that learnt nothing, so that every number counts: t5, causal, and the same causal one that chats."""
    from transformers import GPT2Config, GPT2LMHeadModel, T5Config, T5ForConditionalGeneration

    root = tmp_path_factory.mktemp("models")
    torch.manual_seed(7)
    for name, template in (("t5", "$A </s>"), ("causal", "<s> $A"), ("chat", "<s> $A")):
        tokenizer = _text_tokenizer(template, limit=512)
        ids = {"vocab_size": len(tokenizer), "pad_token_id": 0, "eos_token_id": 1}
        if name == "t5":
            size = {"d_model": 32, "d_kv": 16, "d_ff": 32, "num_layers": 1, "num_heads": 2, "dropout_rate": 0.0}
            model: Any = T5ForConditionalGeneration(
                T5Config(**size, **ids, decoder_start_token_id=0, initializer_factor=2.0)
            )
        else:
            wide = {"n_embd": 32, "n_layer": 2, "n_head": 2, "n_positions": 512, "initializer_range": 0.5}
            model = GPT2LMHeadModel(GPT2Config(**wide, **ids, bos_token_id=3))
        if name == "chat":
            tokenizer.chat_template = CHAT_TEMPLATE
        model.save_pretrained(root / name)
        tokenizer.save_pretrained(root / name)
    return root


@pytest.fixture
def no_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local_loading, "_may_have_gpu", lambda: False)


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local_loading, "_may_have_gpu", lambda: True)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda: True)


def made(kind: str, model: Path | str, **more: Any) -> ReadingGrader:
    grader = make_grader(kind, {"model": str(model), **more})
    assert isinstance(grader, ReadingGrader)
    return grader


def prompt_of(grader: ReadingGrader) -> str:
    call = next(grader.steps(Asked("Why?", "because", ("because", "no")), "It rains."))
    return fill_prompt(call.prompt, call.values, call.fence).joined()


# --- The number format


def test_auto_is_another_grader_where_it_is_another_number_format(
    models: Path, no_gpu: None, request: pytest.FixtureRequest
) -> None:
    on_processor = made("self-rating", models / "t5").spec
    request.getfixturevalue("gpu")
    on_gpu = made("self-rating", models / "t5").spec
    assert on_processor.fingerprint != on_gpu.fingerprint
    assert on_gpu.parameters["dtype"] == "bfloat16"
    assert on_gpu.fingerprint == made("self-rating", models / "t5", dtype="bfloat16").spec.fingerprint
    assert on_processor.fingerprint == made("self-rating", models / "t5", dtype="float32").spec.fingerprint
    assert on_processor.fingerprint == made("self-rating", models / "t5", device="cpu").spec.fingerprint


def test_the_number_format_is_known_without_a_model_library(no_gpu: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: pytest.fail("torch was asked"))
    assert [resolved_dtype(device, "auto") for device in ("auto", "cpu", "cuda")] == ["float32", "float32", "bfloat16"]
    assert resolved_dtype("auto", "bfloat16") == "bfloat16"


@pytest.mark.parametrize("named", [{}, {"dtype": "float32"}])
def test_grades_of_a_processor_that_an_earlier_version_stored_are_found(
    named: dict[str, str], models: Path, project: Project, no_gpu: None
) -> None:
    spec = made("self-rating", models / "t5").spec
    # Earlier versions put the format down where a person had named it.
    earlier = replace(spec, parameters=spec.parameters | named)
    fill_project(project, [WHY], {("Why?", "p1"): 4, ("Why?", "p2"): 2}, RUNS, earlier)
    assert make_plan(project, spec, 1).known == 2
    hub = make_grader("self-rating", {"model": "somebody/a-model"}).spec
    again = find_remaking_parameters(replace(hub, parameters=hub.parameters | named))
    assert again is not None and make_grader("self-rating", again).spec.fingerprint == hub.fingerprint


def test_a_grader_of_a_processor_goes_on_as_it_was_on_a_computer_with_a_gpu(
    project: Project, no_gpu: None, request: pytest.FixtureRequest
) -> None:
    spec = make_grader("self-rating", {"model": "somebody/a-model"}).spec
    request.getfixturevalue("gpu")
    again = grader_again(project, spec)
    assert isinstance(again, ReadingGrader) and again.spec.fingerprint == spec.fingerprint
    assert again.back_end.dtype == "float32"  # type: ignore[attr-defined]


def test_the_model_that_checks_extracted_answers_has_the_same_format(models: Path, no_gpu: None) -> None:
    plain = make_grader("extractive", {"model": str(models / "t5"), "check": "model"}).spec
    half = make_grader("extractive", {"model": str(models / "t5"), "check": "model", "dtype": "bfloat16"}).spec
    assert "verify_dtype" not in plain.parameters
    assert (half.parameters["dtype"], half.parameters["verify_dtype"]) == ("bfloat16", "bfloat16")


# --- Beams


def beamed(folder: str, text: str, tokens: int, beams: int) -> str:
    """What the library's own beam search writes for one prompt."""
    loaded = load_model(folder)
    inputs = loaded.tokenizer(text, return_tensors="pt")
    with torch.inference_mode():
        ids = loaded.model.generate(
            input_ids=inputs.input_ids,
            attention_mask=inputs.attention_mask,
            max_new_tokens=tokens,
            do_sample=False,
            num_beams=beams,
            pad_token_id=0,
        )
    start = 1 if loaded.seq2seq else inputs.input_ids.shape[1]
    written: str = loaded.tokenizer.decode(ids[0, start:], skip_special_tokens=True).strip()
    return written


@pytest.mark.parametrize("name", ["t5", "causal"])
def test_beams_write_what_generate_writes_with_beams(name: str, models: Path) -> None:
    folder = str(models / name)
    prompt = built_in_prompts()["answer"]
    words = [" ".join(FILLER[i : i + 3 * i + 2]) for i in range(4)]
    calls = [
        Call(prompt, {"question": question, "context": text}, "text", max_tokens=8)
        for text in words
        for question in ("what is it ?", "how ?")
    ]
    found = complete_calls(TransformersBackEnd(folder, num_beams=5), calls, Control())
    greedy = complete_calls(TransformersBackEnd(folder), calls, Control())
    expected = [beamed(folder, fill_prompt(call.prompt, call.values).joined(), 8, 5) for call in calls]
    assert [one.text for one in found] == expected
    assert [one.text for one in greedy] != expected


def test_a_rating_by_beams_is_read_from_the_text_and_has_no_probabilities(models: Path) -> None:
    scale = tuple("012345")
    call = Call(
        built_in_prompts()["self-rating"],
        {"question": "q ?", "context": "red leaves"},
        "rating",
        options=scale,
        max_tokens=6,
    )
    (found,) = complete_calls(TransformersBackEnd(str(models / "t5"), num_beams=3), [call], Control())
    assert found.distribution is None
    assert found.text == beamed(str(models / "t5"), fill_prompt(call.prompt, call.values).joined(), 6, 3)


def test_beams_are_in_the_fingerprint_and_one_of_them_is_greedy(models: Path, no_gpu: None) -> None:
    greedy = made("self-rating", models / "t5").spec
    assert made("self-rating", models / "t5", num_beams=1).spec.fingerprint == greedy.fingerprint
    five = made("self-rating", models / "t5", num_beams=5).spec
    assert five.parameters["num_beams"] == 5 and five.fingerprint != greedy.fingerprint
    of_another_type = "parameter-of-wrong-type"
    for wrong, code in (
        (0, ""),
        (2.5, of_another_type),
        ("five", of_another_type),
        (1000, ""),
        (True, of_another_type),
    ):
        with refusal(code or "parameter-out-of-range", "num_beams"):
            made("self-rating", models / "t5", num_beams=wrong)


def test_a_setting_that_would_do_nothing_is_refused(models: Path) -> None:
    for settings in (
        {"num_beams": 5, "back_end": "openai", "base_url": "http://localhost/v1"},
        {"num_beams": 5, "by": "likelihood"},
        {"normalise": "none", "by": "letter"},
        {"api": "completions"},
    ):
        with refusal("useless-parameter"):
            made("choice", models / "causal", **settings)


# --- Choices by likelihood


@pytest.mark.parametrize("name", ["t5", "causal"])
def test_likelihoods_are_divided_by_tokens_characters_or_nothing(name: str, models: Path, no_gpu: None) -> None:
    choices = ("red", "leaves of the best passage")
    asked = Asked("which ?", "red", choices)

    def values(**more: str) -> dict[str, float]:
        grader = made("choice", models / name, **more)
        ((_, _, grade),) = [o for b in grader.grade({1: asked}, {2: "all of it"}, [(1, 2)], Control()) for o in b]
        lines = [line.rsplit(": ", 1) for line in (grade.raw or "").splitlines()]
        best = max(lines, key=lambda line: float(line[1]))[0]
        assert grade.answer == best and grade.rating == int(best == "red")
        return {choice: float(value) for choice, value in lines}

    total = values(normalise="none")
    for choice in choices:
        assert values()[choice] == pytest.approx(total[choice] / len(choice.split()), abs=1e-3)
        assert values(normalise="characters")[choice] == pytest.approx(total[choice] / len(choice), abs=1e-3)


def test_the_normalisation_is_in_the_fingerprint_and_tokens_are_what_it_was(models: Path) -> None:
    usual = made("choice", models / "causal").spec
    assert usual.fingerprint == made("choice", models / "causal", normalise="tokens").spec.fingerprint
    others = [made("choice", models / "causal", normalise=name).spec for name in ("characters", "none")]
    assert len({usual.fingerprint, *(spec.fingerprint for spec in others)}) == 3
    with refusal("unknown-parameter-value", "normalise"):
        made("choice", models / "causal", normalise="words")


# --- What a prompt ends in


def test_only_a_causal_model_without_a_chat_template_gets_a_prompt_that_ends_in_the_answer(models: Path) -> None:
    ends = {
        name: prompt_of(made("self-rating", models / name, prompt="self-rating")).splitlines()[-1]
        for name in ("t5", "causal", "chat")
    }
    assert ends == {"t5": "Context: It rains.", "causal": "Rating:", "chat": "Context: It rains."}
    fenced = prompt_of(made("self-rating", models / "causal", fence=True))
    assert fenced.splitlines()[-2].startswith("</passage-") and fenced.endswith("\nRating:")
    assert prompt_of(made("answer", models / "causal")).endswith("\nAnswer:")
    # The papers' own ends stay as they are.
    assert prompt_of(made("direct", models / "causal", prompt="Sun")).endswith("Passage: It rains.\nAnswer:")


def test_the_cue_is_in_the_fingerprint_and_without_it_the_grader_is_the_old_one(models: Path, no_gpu: None) -> None:
    cued = made("self-rating", models / "causal").spec
    assert cued.parameters["cue"] == "Rating:" and cued.prompt_hash == built_in_prompts()["self-rating"].hash
    plain = made("self-rating", models / "causal", cue="none")
    assert "cue" not in plain.spec.parameters and plain.spec.fingerprint != cued.fingerprint
    assert prompt_of(plain).endswith("Context: It rains.")
    assert "cue" not in made("self-rating", models / "chat").spec.parameters
    assert "cue" not in made("direct", models / "causal", prompt="Sun").spec.parameters
    own = made("self-rating", models / "t5", cue="Score:")
    assert prompt_of(own).endswith("\nScore:") and own.spec.parameters["cue"] == "Score:"
    for wrong in ("{context}", "two\nlines", 7, "x" * 200):
        with refusal("invalid-cue"):
            made("self-rating", models / "t5", cue=wrong)


def test_a_model_that_turns_out_to_need_a_cue_is_not_asked_without_one(models: Path, tmp_path: Path) -> None:
    import shutil

    folder = tmp_path / "odd"
    shutil.copytree(models / "causal", folder)
    config = json.loads((folder / "config.json").read_text())
    # From its small files alone it cannot be told to be causal.
    (folder / "config.json").write_text(json.dumps({k: v for k, v in config.items() if k != "architectures"}))
    grader = made("self-rating", folder)
    with refusal("chat-template-unusable", kind=GradingError):
        list(grader.grade({1: Asked("Why?")}, {2: "It rains."}, [(1, 2)], Control()))
    sure = made("self-rating", folder, cue="none")
    assert len(list(sure.grade({1: Asked("Why?")}, {2: "It rains."}, [(1, 2)], Control()))) == 1


# --- Plain completions


def talkative(seen: Seen) -> Reply:
    """Goes on after its answer until it is cut off, as such models do."""
    return going_on(" 4\nQuestion: what else?", finish="length")


@pytest.fixture
def server() -> Iterator[EndpointServer]:
    with EndpointServer(talkative) as running:
        yield running


def completing(server: EndpointServer, kind: str = "self-rating", **more: Any) -> ReadingGrader:
    return made(kind, "m", back_end="openai", base_url=server.url, api="completions", **more)


def only(grader: ReadingGrader, passage: str = "It rains.") -> Grade:
    ((_, _, grade),) = [
        o for b in grader.grade({1: Asked("Why?", "rain")}, {2: passage}, [(1, 2)], Control()) for o in b
    ]
    return grade


def test_a_completion_is_asked_for_with_the_whole_prompt_as_one_text(server: EndpointServer) -> None:
    grader = completing(server, prompt="self-rating")
    grade = only(grader)
    assert (grade.rating, grade.status) == (4, "graded")
    (seen,) = server.seen
    assert seen.path == "/v1/completions"
    assert seen.body["prompt"] == prompt_of(grader) and seen.body["prompt"].endswith("\nRating:")
    assert all(part in seen.body["prompt"] for part in fence_text("It rains.")), "the passage, and that it is data"
    assert not {"messages", "response_format"} & set(seen.body)
    assert seen.body["stop"] == ["\n\n"]


def test_a_completion_that_is_read_whole_fails_where_it_is_cut_off(server: EndpointServer) -> None:
    server.behave = lambda seen: going_on("because of the", finish="length")
    assert only(completing(server, "answer")).status == "failed"
    server.behave = lambda seen: going_on(" rain")
    right = only(completing(server, "answer"))
    assert (right.rating, right.answer) == (1, "rain")


@pytest.mark.parametrize("reply", [going_on(None), going_on(["4"]), Reply(content=b'{"choices": [{}]}')])
def test_a_completion_of_a_wrong_shape_is_no_rating(server: EndpointServer, reply: Reply) -> None:
    server.behave = lambda seen: reply
    assert only(completing(server, attempts=1)).status == "failed"


def test_completions_are_another_grader_than_a_chat(server: EndpointServer) -> None:
    chat = made("self-rating", "m", back_end="openai", base_url=server.url).spec
    assert (
        chat.fingerprint
        == made("self-rating", "m", back_end="openai", base_url=server.url, api="chat").spec.fingerprint
    )
    plain = completing(server).spec
    assert plain.parameters["api"] == "completions" and plain.fingerprint != chat.fingerprint
    with refusal("useless-parameter"):
        completing(server, structured="json")
    with refusal("unknown-parameter-value"):
        made("self-rating", "m", back_end="openai", base_url=server.url, api="telepathy")


def test_a_job_over_completions_grades_and_keeps_its_budget(server: EndpointServer, project: Project) -> None:
    fill_project(project, [WHY], {}, RUNS)
    final = run_job(project, completing(server), Request(max_calls=1), "ann")
    assert (final.state, final.graded) == ("stopped", 1)
    assert final.usage.input_tokens > 0 and math.isclose(final.usage.cost, 0)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("base_url", 5), ("base_url", ["http://x"]), ("model", ["a"]), ("extra", "abc"), ("extra", [1]),
        ("timeout_s", "x"), ("timeout_s", math.nan), ("timeout_s", math.inf), ("timeout_s", 3601), ("attempts", 1e9),
        ("attempts", True), ("key_variable", 7), ("temperature", math.nan), ("temperature", math.inf),
        ("device", 5), ("dtype", [1]), ("prompt", ["a"]), ("prompt", {}), ("revision", 5), ("max_tokens_in", 1.5),
        ("num_beams", "2"), ("structured", []), ("check", ["words"]), ("back_end", {"a": 1}), ("cue", 5),
    ],
)  # fmt: skip
def test_a_parameter_of_another_kind_is_refused(name: str, value: object) -> None:
    kind = "answer" if name == "check" else "self-rating"
    where = {} if name in ("device", "dtype", "revision", "num_beams") else {"base_url": "http://127.0.0.1:9/v1"}
    with pytest.raises(InputError):
        make_grader(kind, {"model": "google/flan-t5-large", **where, name: value})


@pytest.mark.parametrize("cuts", ["abc", 5, [1, "x"], [[1, 2]], {"a": 1}, [math.nan] * 5, [None] * 5])
def test_cuts_of_another_kind_are_refused(cuts: object) -> None:
    with pytest.raises(InputError):
        make_grader("embedding", {"cuts": cuts})


# --- bfloat16 on processors


@pytest.mark.parametrize(
    ("flags", "dtype"),
    [
        ("flags\t\t: fpu avx512f avx512_bf16 avx512_vnni", "bfloat16"),
        ("flags\t\t: fpu amx_bf16 amx_tile", "bfloat16"),
        ("Features\t: fp asimd bf16 i8mm", "bfloat16"),
        ("flags\t\t: fpu avx512f avx512_vnni", "float32"),
    ],
)
def test_a_processor_with_bfloat16_uses_it_and_that_is_another_grader(
    flags: str, dtype: str, models: Path, no_gpu: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "cpuinfo").write_text(flags)
    monkeypatch.setattr(local_loading, "CPU_INFO", tmp_path / "cpuinfo")
    local_loading.has_bfloat16.cache_clear()
    try:
        assert [resolved_dtype(device, "auto") for device in ("auto", "cpu")] == [dtype] * 2
        assert resolved_dtype("auto", "float32") == "float32"
        spec = made("self-rating", models / "t5").spec
        assert spec.fingerprint == made("self-rating", models / "t5", dtype=dtype).spec.fingerprint
    finally:
        local_loading.has_bfloat16.cache_clear()
