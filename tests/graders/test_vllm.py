"""The vLLM back end, as far as it goes where vLLM is not installed: bench/vllm_drill.py is the drill with it.

What is asked of an engine, and what is made of what it gives, is tried with one that goes on from a prompt token by
token, greedily and with the library's own model, and tells of that in vLLM's words.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from core.errors import GradingError
from core.graders import Call, Control, Prompt, Usage, back_ends_here, built_in, make_grader
from core.graders.cluster.worker import Graders
from core.graders.local import vllm as vllm_module
from core.graders.local.back_end import TransformersBackEnd
from core.graders.local.loading import load_model
from core.graders.local.vllm import SURROUNDINGS, VllmBackEnd
from core.types import Asked
from tests.made.refusals import refusal
from tests.made.tiny_models import build_tiny_causal, shared_model

RATE = Prompt(
    name="rate",
    title="Rate",
    use="self-rating",
    template="How well can the question be answered? Passage: {context} Question: {question} Rate from 0 to 5:",
    form="rating",
    source="these tests",
)
MARKERS = ("rain", "maple", "gold", "brass", "mud", "fog", "oak", "apple", "nothing")


class Engine:
    """An engine that answers as vLLM's does, one prompt at a time, with a model of the transformers library."""

    started: list[Engine] = []  # noqa: RUF012
    broken = False

    def __init__(self, model: str, max_model_len: int, **settings: Any) -> None:
        self.loaded, self.limit = load_model(model), max_model_len
        self.windows: list[int] = []
        self.started.append(self)

    def generate(
        self, prompts: Sequence[dict[str, list[int]]], settings: Sequence[Any], use_tqdm: bool
    ) -> list[SimpleNamespace]:
        if self.broken:
            raise RuntimeError("CUDA out of memory\nand much more")
        self.windows.append(len(prompts))
        return [self._answer(each["prompt_token_ids"], one) for each, one in zip(prompts, settings, strict=True)]

    @torch.inference_mode()
    def _answer(self, prompt: list[int], settings: Any) -> SimpleNamespace:
        assert len(prompt) + settings.max_tokens <= self.limit
        told = None
        if settings.prompt_logprobs is not None:
            logits = torch.log_softmax(self.loaded.model(torch.tensor([prompt])).logits[0], -1)
            later = [{t: SimpleNamespace(logprob=float(logits[i, t]))} for i, t in enumerate(prompt[1:])]
            told = [None, *later]
        written: list[int] = []
        logprobs: list[dict[int, SimpleNamespace]] = []
        while len(written) < settings.max_tokens and written[-1:] != [1]:
            scores = self.loaded.model(torch.tensor([prompt + written]), logits_to_keep=1).logits[0, -1].log_softmax(-1)
            written.append(int(scores.argmax()))
            watched = settings.logprob_token_ids or []
            logprobs.append({token: SimpleNamespace(logprob=float(scores[token])) for token in watched})
        why = "stop" if written[-1] == 1 else "length"
        output = SimpleNamespace(token_ids=written, finish_reason=why, logprobs=logprobs)
        return SimpleNamespace(outputs=[output], prompt_logprobs=told, num_cached_tokens=0)


def parameters(**given: Any) -> SimpleNamespace:
    return SimpleNamespace(**{"prompt_logprobs": None, "logprob_token_ids": None, **given})


@pytest.fixture
def engines(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Engine]]:
    """The engines that a test starts."""
    monkeypatch.setitem(sys.modules, "vllm", SimpleNamespace(LLM=Engine, SamplingParams=parameters))  # type: ignore[arg-type]
    monkeypatch.setattr(Engine, "started", [])
    for name, value in SURROUNDINGS.items():
        monkeypatch.setenv(name, value)
    yield Engine.started
    vllm_module._running.clear()


@pytest.fixture(scope="module")
def llama(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(shared_model(tmp_path_factory, build_tiny_causal))


@pytest.fixture
def described(tmp_path: Path) -> Path:
    """The folder of a model of which there is the configuration alone."""
    (tmp_path / "config.json").write_text(json.dumps({"architectures": ["LlamaForCausalLM"]}))
    return tmp_path


def calls() -> list[Call]:
    """Calls of every form that a model that writes answers, of several lengths, one of them too long for it."""
    found = []
    for number, marker in enumerate(MARKERS):
        values = {"question": "what is it made of ?", "context": marker + " the of" * (3 + 40 * number)}
        found += [
            Call(RATE, values, "rating", options=tuple("012345"), max_tokens=12),
            Call(RATE, values, "letter", options=("A", "B", "C", "D"), max_tokens=8),
            Call(RATE, values, "yes-no", options=("Yes", "No"), max_tokens=8),
            Call(RATE, values, "text", max_tokens=9),
            Call(RATE, values, "likelihood", options=("red leaves", "Yes", "the of the"), per="characters"),
        ]
    return found


def test_every_form_is_answered_as_the_transformers_library_answers_it(llama: str, engines: list[Engine]) -> None:
    plain, control = TransformersBackEnd(llama, device="cpu"), Control()
    by_vllm, other = VllmBackEnd(llama), Control()
    expected, got = plain.complete(calls(), control), by_vllm.complete(calls(), other)
    for one, two in zip(expected, got, strict=True):
        assert (two.text, two.complete, two.shortened, two.error) == (one.text, one.complete, one.shortened, one.error)
        assert (two.distribution is None) == (one.distribution is None)
        assert dict(two.distribution or {}) == pytest.approx(dict(one.distribution or {}), abs=1e-5)
    assert any(one.shortened for one in got) and sum(one.distribution is not None for one in got) > len(MARKERS)
    assert other.usage == control.usage
    assert by_vllm.tokens_plain == plain.tokens_plain


def test_an_answer_that_is_settled_is_not_written_on(llama: str, engines: list[Engine]) -> None:
    endless = calls()[5 * MARKERS.index("rain") :][:3]
    VllmBackEnd(llama).complete([calls()[5 * MARKERS.index("gold")], *endless], Control())
    (engine,) = engines
    # After a few tokens three of them have not ended, and go on together.
    assert engine.windows == [4, 3]


def test_what_the_caps_do_not_allow_is_not_asked(llama: str, engines: list[Engine]) -> None:
    control = Control(max_calls=2)
    answers = VllmBackEnd(llama).complete(calls()[:4], control)
    assert [one.error is None for one in answers] == [True, True, False, False]
    control = Control()
    control.cancel()
    assert list(VllmBackEnd(llama).answer(calls()[:2], control)) == []


def test_two_graders_of_one_model_share_its_engine_and_another_model_takes_its_place(
    llama: str, engines: list[Engine]
) -> None:
    for back_end in (VllmBackEnd(llama), VllmBackEnd(llama), VllmBackEnd(llama, max_tokens_in=100)):
        back_end.complete(calls()[:1], Control())
    assert [engine.limit for engine in engines] == [512, 100]
    assert [one.model for one in vllm_module._running.values()] == engines[1:]


def test_an_engine_that_gives_up_ends_the_job_and_the_next_job_starts_another(
    llama: str, engines: list[Engine], monkeypatch: pytest.MonkeyPatch
) -> None:
    back_end = VllmBackEnd(llama)
    with monkeypatch.context() as broken:
        broken.setattr(Engine, "broken", True)
        with refusal("engine-gave-up", "RuntimeError", "CUDA", kind=GradingError):
            back_end.complete(calls()[:1], Control())
    (answer,) = back_end.complete(calls()[:1], Control())
    assert answer.error is None and len(engines) == 2


def test_a_worker_of_a_cluster_makes_the_same_grader(llama: str, engines: list[Engine]) -> None:
    made_of = ("self-rating", {"model": llama, "back_end": "vllm"}, built_in())
    worker = Graders(*made_of)
    assert worker.fingerprint == make_grader(*made_of).spec.fingerprint
    outcomes, used = worker.grade({1: Asked("what is it ?")}, {7: "the of clay"}, [(1, 7)])
    assert [grade.rating for _, _, grade in outcomes] == [0] and isinstance(used, Usage) and len(engines) == 1


def test_by_vllm_a_grader_is_another_one(described: Path) -> None:
    plain, by_vllm, half = (
        make_grader("self-rating", {"model": str(described), "back_end": where, "dtype": dtype}).spec
        for where, dtype in (("transformers", "float32"), ("vllm", "float32"), ("vllm", "bfloat16"))
    )
    assert len({plain.fingerprint, by_vllm.fingerprint, half.fingerprint}) == 3
    assert by_vllm.parameters == plain.parameters | {"back_end": "vllm"}
    assert by_vllm.name == plain.name.replace(")", ", by vLLM)")
    assert by_vllm.prompt_hash == plain.prompt_hash and half.parameters["dtype"] == "bfloat16"
    choice = make_grader("choice", {"model": str(described), "back_end": "vllm"}).spec
    assert choice.parameters["by"] == "likelihood"


@pytest.mark.parametrize(
    ("kind", "given", "why"),
    [
        ("self-rating", {"num_beams": 2}, ("useless-parameter",)),
        ("self-rating", {"device": "cuda:1"}, ("useless-parameter", "device")),
        ("self-rating", {"model": ""}, ("encoder-decoder-model", "google/flan-t5-large")),
        ("extractive", {}, ("extractive-on-vllm",)),
        (
            "extractive",
            {"back_end": None, "verify_back_end": "vllm", "check": "model"},
            ("encoder-decoder-model", "google/flan-t5-large"),
        ),
    ],
)
def test_what_vllm_cannot_do_is_refused_before_anything_is_loaded(
    described: Path, kind: str, given: dict[str, Any], why: tuple[str, ...]
) -> None:
    with refusal(*why):
        make_grader(kind, {"model": str(described), "back_end": "vllm", **given})


def test_a_model_with_an_encoder_is_refused_before_it_is_loaded(described: Path) -> None:
    (described / "config.json").write_text(json.dumps({"is_encoder_decoder": True}))
    with refusal("encoder-decoder-model"):
        make_grader("self-rating", {"model": str(described), "back_end": "vllm"})


def test_an_extractive_model_may_be_checked_by_one_that_vllm_runs(described: Path) -> None:
    given = {"model": str(described), "check": "model", "verify_model": str(described)}
    plain, by_vllm = (make_grader("extractive", given | more).spec for more in ({}, {"verify_back_end": "vllm"}))
    assert by_vllm.parameters == plain.parameters | {"verify_back_end": "vllm"}


def test_without_vllm_it_is_said_what_to_install_and_no_setting_of_a_person_is_changed(
    described: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "vllm", None)
    for name in SURROUNDINGS:
        monkeypatch.setenv(name, "theirs")
    with refusal("package-missing", kind=GradingError) as refused:
        VllmBackEnd(str(described)).complete(calls()[:1], Control())
    assert f"pip install vllm=={vllm_module.VERSION}" in refused.value.hint
    assert {sys.modules["os"].environ[name] for name in SURROUNDINGS} == {"theirs"}


def test_screens_offer_vllm_where_it_is_or_was_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("core.graders.making.find_spec", lambda name: None)
    assert back_ends_here() == ["transformers", "openai"]
    assert back_ends_here("vllm") == ["transformers", "openai", "vllm"]
