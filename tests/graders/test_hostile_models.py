"""Hostile model folders that would run code, hang or exhaust memory are refused."""

from __future__ import annotations

import ast
import contextlib
import io
import json
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from exam_workbench.errors import GradingError
from exam_workbench.graders import Call, Control, Prompt
from exam_workbench.graders._local import prompting
from exam_workbench.graders._local.loading import explain_loading_error
from exam_workbench.graders._local.prompting import fill_chat_template
from exam_workbench.graders._local.transformers_back_end import TransformersBackEnd
from exam_workbench.graders._reading.calls import complete_calls
from tests.made.tiny_models import CHAT_TEMPLATE, build_tiny_causal, shared_model

ROOT = Path(__file__).resolve().parents[2]
RATE = Prompt("rate", "Rate", "self-rating", "{question} {context} Rate:", "rating", "these tests")
CALL = Call(RATE, {"question": "what is it ?", "context": "a gold ring"}, "text", max_tokens=8)


@pytest.fixture(scope="module")
def llama(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return shared_model(tmp_path_factory, build_tiny_causal)


@pytest.fixture
def folder(llama: Path, tmp_path: Path) -> Path:
    """Return a copy of a sound model, for tests to make hostile."""
    return Path(shutil.copytree(llama, tmp_path / "model"))


@pytest.fixture(autouse=True)
def _consent(monkeypatch: pytest.MonkeyPatch) -> None:
    """Answer yes to every terminal prompt."""
    monkeypatch.setattr(sys, "stdin", io.StringIO("y\n" * 99))
    monkeypatch.setattr("builtins.input", lambda *_: "y")


def ask(folder: Path) -> str:
    """Return the answer of the model in a folder."""
    (completion,) = complete_calls(TransformersBackEnd(str(folder)), [CALL], Control())
    assert completion.error is None
    return completion.text


def change(file: Path, **fields: Any) -> None:
    content = json.loads(file.read_text()) if file.exists() else {}
    file.write_text(json.dumps(content | fields))


def test_code_in_a_model_folder_is_never_run(folder: Path, tmp_path: Path) -> None:
    marker = tmp_path / "ran"
    (folder / "custom_generate").mkdir()
    for name in ("own.py", "custom_generate/generate.py"):
        (folder / name).write_text(f"import os\nos.makedirs({str(marker)!r}, exist_ok=True)\n")
    sound = ask(folder)
    # The library loads known architectures with its own classes, even if the folder names others.
    own = {"AutoConfig": "own.OwnConfig", "AutoModelForCausalLM": "own.OwnModel"}
    change(folder / "config.json", auto_map=own)
    assert ask(folder) == sound
    change(folder / "config.json", model_type="own")
    with pytest.raises(GradingError):
        complete_calls(TransformersBackEnd(str(folder)), [CALL], Control())
    TransformersBackEnd(str(folder)).count_tokens("the best")
    change(folder / "config.json", model_type="llama", auto_map={})
    own = {"AutoTokenizer": [None, "own.OwnTokenizer"]}
    change(folder / "tokenizer_config.json", auto_map=own, tokenizer_class="Own")
    with contextlib.suppress(GradingError):
        ask(folder)
    assert not marker.exists()


def test_pickled_weights_are_refused_and_never_read(folder: Path, tmp_path: Path) -> None:
    marker, weights = tmp_path / "ran", folder / "model.safetensors"
    # This pickle makes a folder when it is read.
    pickled = f"cos\nmkdir\n(S{str(marker)!r}\ntR.".encode()
    (folder / "pytorch_model.bin").write_bytes(pickled)
    (folder / "adapter_model.bin").write_bytes(pickled)
    # Pickles are ignored if safetensors exist.
    ask(folder)
    weights.rename(folder / "other.safetensors")
    names = {"lm_head.weight": "pytorch_model.bin"}
    hostile: list[Callable[[], Any]] = [
        lambda: None,
        lambda: change(folder / "model.safetensors.index.json", weight_map=names, metadata={}),
        lambda: change(folder / "config.json", transformers_weights="adapter_model.bin"),
        lambda: change(folder / "config.json", transformers_weights="model.safetensors.index.json"),
        lambda: torch.save({"lm_head.weight": torch.zeros(1)}, folder / "pytorch_model.bin"),
    ]
    for make in hostile:
        make()
        with pytest.raises(GradingError):
            complete_calls(TransformersBackEnd(str(folder)), [CALL], Control())
    assert not marker.exists()


def test_damaged_model_files_are_refused(folder: Path) -> None:
    for name, content in [
        ("model.safetensors", b"\xff" * 100),
        ("model.safetensors", b""),
        ("tokenizer.json", b"[]"),
        ("tokenizer.json", b"\xff"),
        ("tokenizer_config.json", b"[]"),
        ("config.json", b"[]"),
        ("config.json", b"[" * 100_000),
        ("config.json", b'{"model_type": "llama", "hidden_size": "many"}'),
    ]:
        before = (folder / name).read_bytes()
        (folder / name).write_bytes(content)
        with pytest.raises(GradingError):
            ask(folder)
        (folder / name).write_bytes(before)


def test_loading_errors_name_causes_and_hostile_templates_stop() -> None:
    own = explain_loading_error(
        "m", ValueError("Please pass the argument `trust_remote_code=True` to allow custom code to be run.")
    )
    pickled = explain_loading_error("m", OSError("Error no file named model.safetensors found in directory m."))
    assert len({own.message, pickled.message, explain_loading_error("m", OSError("other")).message}) == 3
    for template in HOSTILE.values():
        with pytest.raises(GradingError):
            fill_chat_template(tokenizer(template), [HELLO])
        assert fill_chat_template(tokenizer("{{ messages[0].content }}"), [HELLO] * 3) == [HELLO[0]["content"]] * 3


# Chat templates


def tokenizer(template: str) -> Any:
    values = {"bos_token": "<s>"}
    return SimpleNamespace(special_tokens_map=values, get_chat_template=lambda: template, name_or_path="m")


HELLO = [{"role": "user", "content": "hello 😀 \u2028 \x00"}]
ENDLESS = "{% for i in range(99999) %}{% for j in range(99999) %}{% endfor %}{% endfor %}"
HOSTILE = {
    "class": "{{ ''.__class__.__mro__ }}", "globals": "{{ cycler.__init__.__globals__.os.getcwd() }}",
    "memory": "{{ 'a' * 99999999999 }}", "wide": "{{ 'a'.center(99999999999) }}",
    "format": "{{ '%99999999999d' % 1 }}", "range": "{% for i in range(9999999999) %}{% endfor %}",
    "recursion": "{% macro a() %}{{ a() }}{% endmacro %}{{ a() }}", "length": "{{ 'a' * 5000000 }}",
    "type": "{{ 1 + 'a' }}",
}  # fmt: skip


@pytest.fixture
def _impatient(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(prompting, "SPEED", 10_000_000)
    yield monkeypatch.setattr(prompting, "SECONDS", 0.5)


def test_chat_template_is_filled_as_by_the_library(folder: Path) -> None:
    from transformers import AutoTokenizer

    known: Any = AutoTokenizer.from_pretrained(str(folder))
    system = [{"role": "system", "content": "Rate."}, *HELLO]
    for known.chat_template in (
        CHAT_TEMPLATE,
        "{{ bos_token }}{{ messages | tojson }}{{ enable_thinking }}{{ eos_token }}\n",
        "{%- if messages[0]['role'] == 'system' -%}{{ raise_exception('no') }}{%- endif -%}\n {{ bos_token }}",
        "{% generation %}{{ messages[0].content.upper() }}{% endgeneration %}",
    ):
        found = fill_chat_template(known, [HELLO, system, HELLO])
        expected = known.apply_chat_template(HELLO, tokenize=False, add_generation_prompt=True, enable_thinking=False)
        assert found[0] == found[2] == expected
        assert (found[1] is None) == ("raise_exception" in known.chat_template)
    known.chat_template = {"tool_use": CHAT_TEMPLATE}
    known.save_pretrained(folder)
    with pytest.raises(GradingError):
        ask(folder)


@pytest.mark.usefixtures("_impatient")
def test_endless_template_is_stopped(folder: Path) -> None:
    (folder / "chat_template.jinja").write_text(ENDLESS)
    with pytest.raises(GradingError):
        ask(folder)
    # Only one late message among many triggers the loop.
    late = "{% if messages[0].content == 'last' %}" + ENDLESS + "{% endif %}"
    many = [HELLO] * 500 + [[{"role": "user", "content": "last"}]] + [[{"role": "user", "content": "x" * 9999}]] * 20
    with pytest.raises(GradingError):
        fill_chat_template(tokenizer(late), many)
    assert fill_chat_template(tokenizer("a"), [HELLO]) == ["a"]


def test_template_process_has_no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prompting, "_process", None)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    fill_chat_template(tokenizer("a"), [HELLO])
    process = prompting._process
    assert process is not None
    if sys.platform == "linux":
        assert b"sk-secret" not in Path(f"/proc/{process.pid}/environ").read_bytes()
    prompting._end_process(process)


# Static check of the sources


WORDS = ("from_pretrained", "LLM", "apply_chat_template", "pickle", "torch.load", "pipeline")


def test_every_model_loading_call_forbids_remote_code() -> None:
    sources = {
        file: file.read_text(encoding="utf-8") for top in ("core", "bench") for file in (ROOT / top).rglob("*.py")
    }
    loaded = 0
    for file, source in sources.items():
        for node in ast.walk(ast.parse(source)) if any(word in source for word in WORDS) else ():
            if not isinstance(node, ast.Call):
                continue
            called, given = ast.unparse(node.func), {word.arg: ast.unparse(word.value) for word in node.keywords}
            if called.endswith((".from_pretrained", ".LLM")):
                loaded += 1
                assert given.get("trust_remote_code") == "False", file
            if file.is_relative_to(ROOT / "core" / "graders"):
                assert not called.endswith(("torch.load", "pickle.load", "pickle.loads", "transformers.pipeline")), file
                assert not called.endswith("apply_chat_template"), file
    assert loaded >= 3
