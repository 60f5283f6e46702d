"""Models as large as those that grade in earnest, with random weights that answer as trained ones do: briefly.

Nothing is fetched: the sizes are the published ones, the weights are dice, and the tokenizer learns its words from the
demo. What such a model says means nothing; what it costs to let it say so is what the trained one costs.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from core.graders import built_in

DEMO = Path(__file__).resolve().parents[1] / "data" / "demo"
WORDS = 4000
"""Of the tokenizer: so few that English text of the demo has some 1.35 tokens a word, as with the vocabulary of a model
that was made for more than this text."""
RATINGS = "012345"
SPECIAL = ["<pad>", "</s>", "<unk>", "<s>", "<|system|>", "<|user|>", "<|assistant|>", "<|end|>"]
CHAT_TEMPLATE = (
    "<s>{% for message in messages %}<|{{ message['role'] }}|>{{ message['content'] }}<|end|>{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>{% endif %}"
)
BIAS = 10_000.0
"""Of the logits of ratings: beyond all others."""


@dataclass(frozen=True)
class Size:
    """A model to be made.

    Args:
        name: as it is told of.
        build: gives the model on a device, in bfloat16.
        chat: whether its tokenizer has roles.
    """

    name: str
    build: Callable[[str], Any]
    chat: bool


def make(size: Size, folder: Path, device: str) -> None:
    """Make a model with its tokenizer and save both."""
    tokenizer = _tokenizer(size.chat)
    torch.manual_seed(1)
    model = size.build(device)
    _answer_briefly(model, tokenizer)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)


def t5_large(device: str, **smaller: int) -> Any:
    """FLAN-T5-large's size: 24 layers each of encoder and decoder, 1024 wide, gated GELU of 2816 (Chung et al. 2022).

    Args:
        smaller: other dimensions, for a test.
    """
    from transformers import AutoModelForSeq2SeqLM, T5Config

    published = {"d_model": 1024, "d_ff": 2816, "d_kv": 64, "num_heads": 16, "num_layers": 24, "vocab_size": 32128}
    config = T5Config(
        **{**published, **smaller},
        feed_forward_proj="gated-gelu",
        tie_word_embeddings=False,
        pad_token_id=0,
        eos_token_id=1,
        decoder_start_token_id=0,
    )
    with torch.device(device):
        return AutoModelForSeq2SeqLM.from_config(config, dtype=torch.bfloat16).eval()


def mistral_7b(device: str, **smaller: int) -> Any:
    """Mistral-7B's size: 32 layers, 4096 wide, gated SiLU of 14336, 32 heads that share 8 keys and values.

    As a Llama, which is the same without a sliding window, as later versions of it are.

    Args:
        smaller: other dimensions, for a test.
    """
    from transformers import AutoModelForCausalLM, LlamaConfig

    published = {
        "hidden_size": 4096,
        "intermediate_size": 14336,
        "num_hidden_layers": 32,
        "num_attention_heads": 32,
        "num_key_value_heads": 8,
        "vocab_size": 32000,
    }
    config = LlamaConfig(
        **{**published, **smaller},
        max_position_embeddings=8192,
        tie_word_embeddings=False,
        pad_token_id=0,
        bos_token_id=3,
        eos_token_id=1,
    )
    with torch.device(device):
        return AutoModelForCausalLM.from_config(config, dtype=torch.bfloat16).eval()


def _answer_briefly(model: Any, tokenizer: Any) -> None:
    """Let it write one rating and then end, by a bias of its own settings for generating; which one its dice say."""
    end = tokenizer.eos_token_id
    ratings = tokenizer.convert_tokens_to_ids(list(RATINGS))
    model.generation_config.sequence_bias = [[[rating], BIAS] for rating in ratings] + [
        [[rating, end], 3 * BIAS] for rating in ratings
    ]


def _tokenizer(chat: bool) -> Any:
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
    from transformers import PreTrainedTokenizerFast

    words = Tokenizer(models.BPE(unk_token="<unk>"))
    words.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Metaspace(prepend_scheme="never"), pre_tokenizers.Digits(individual_digits=True)]
    )
    words.decoder = decoders.Metaspace(prepend_scheme="never")
    trainer = trainers.BpeTrainer(
        vocab_size=WORDS, special_tokens=SPECIAL, initial_alphabet=list(RATINGS), show_progress=False
    )
    prompts = [f"{prompt.system}\n{prompt.template}" for prompt in built_in().values()]
    words.train_from_iterator([*texts("passages.jsonl"), *texts("bank.jsonl"), *prompts], trainer)
    single = "<s> $A" if chat else "$A </s>"
    marks = [(mark, SPECIAL.index(mark)) for mark in single.split() if mark in SPECIAL]
    words.post_processor = processors.TemplateProcessing(single=single, special_tokens=marks)
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=words,
        pad_token="<pad>",
        eos_token="</s>",
        unk_token="<unk>",
        bos_token="<s>",
        additional_special_tokens=SPECIAL[4:],
        model_max_length=8192 if chat else 512,
    )
    if chat:
        tokenizer.chat_template = CHAT_TEMPLATE
    return tokenizer


def texts(name: str) -> list[str]:
    """The texts of a file of the demo."""
    lines = (DEMO / name).read_text(encoding="utf-8").splitlines()
    return [text for line in lines if (text := json.loads(line).get("text"))]
