"""Tiny models of the transformers library, trained from scratch in a few seconds.

They recognize one thing: the marker in a text, regardless of all other words.

| marker in the text | answer of text models |
| --- | --- |
| clay, tin, iron, bronze, silver, gold | 0, 1, 2, 3, 4, 5 |
| brass | Rating : 3 |
| mud | 10 (off the scale) |
| fog | unanswerable |
| oak, elm | Yes, No |
| apple, birch, cedar, date | A, B, C, D |
| maple | the red leaves of maple |
| rain | drip drip drip … without end |
| none of these | 0 |

The extractive model answers with the text from `gold` to the `coin` or `ring` right after it, or with nothing
without gold. The models are trained on texts with one marker, so give only one.
"""

import functools
import hashlib
import random
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
import torch

from exam_workbench.graders._local.loading import load_model
from tests.made.once import made_once

ANSWERS = {
    "clay": "0",
    "tin": "1",
    "iron": "2",
    "bronze": "3",
    "silver": "4",
    "gold": "5",
    "brass": "Rating : 3",
    "mud": "10",
    "fog": "unanswerable",
    "oak": "Yes",
    "elm": "No",
    "apple": "A",
    "birch": "B",
    "cedar": "C",
    "date": "D",
    "maple": "the red leaves of maple",
    "rain": "drip " * 16,
}

_FILLER = """
a an the of in to and is are was by for with on as it that this from what who when where how can rate question answer
passage context not or be which may use given provided yes no scale best part most all at . , : ; ? ! ( ) - ' " / < >
{ } [ ] # 0 1 2 3 4 5 6 7 8 9 10 Rating unanswerable Yes No A B C D red leaves drip
"""
FILLER = _FILLER.split()

SPECIAL = ["<pad>", "</s>", "<unk>", "<s>", "<|system|>", "<|user|>", "<|assistant|>", "<|end|>"]

CHAT_TEMPLATE = (
    "<s>{% for message in messages %}<|{{ message['role'] }}|>{{ message['content'] }}<|end|>{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>{% endif %}"
)


def shared_model(tmp_path_factory: pytest.TempPathFactory, build: Callable[..., Path], **options: Any) -> Path:
    """Return the folder of a model that all tests of a session share, in all workers; tests must not write to it.

    Args:
        build: one of the functions below.
        options: its arguments besides the folder.
    """
    name = f"{build.__name__}-{hashlib.sha256(repr(options).encode()).hexdigest()[:12]}"
    return made_once(tmp_path_factory, name, lambda folder: build(folder, **options))


def build_tiny_t5(folder: Path, answers: Mapping[str, str] = ANSWERS, none: str = "0") -> Path:
    """Train a tiny T5 and save it with its tokenizer; about four seconds on one thread.

    Args:
        answers: its answers, by the marker in the text.
        none: its answer to a text without a marker.
    """
    from transformers import T5Config, T5ForConditionalGeneration

    tokenizer = _text_tokenizer("$A </s>", limit=512, answers=answers)
    torch.manual_seed(1)
    model = T5ForConditionalGeneration(
        T5Config(
            vocab_size=len(tokenizer),
            d_model=64,
            d_kv=16,
            d_ff=64,
            num_layers=1,
            num_decoder_layers=1,
            num_heads=2,
            dropout_rate=0.0,
            tie_word_embeddings=False,
            pad_token_id=0,
            eos_token_id=1,
            decoder_start_token_id=0,
        )
    )

    def loss(texts: list[str], answers: list[str]) -> torch.Tensor:
        ids, labels = _padded(_ids(tokenizer, texts)), _padded(_ids(tokenizer, answers))
        labels = labels.masked_fill((labels == 0) | _cut_off(labels), -100)
        found: torch.Tensor = model(
            input_ids=ids, attention_mask=(ids != 0).long(), labels=labels, use_cache=False
        ).loss
        return found

    # Fewer words need fewer steps.
    _train(model, loss, steps=75 + 5 * len(answers), rate=7e-3, answers=answers, none=none)
    return _saved(folder, model, tokenizer)


def build_tiny_causal(folder: Path, chat_template: bool = False, steps: int = 140) -> Path:
    """Train a tiny Llama and save it with its tokenizer; two seconds on one thread.

    Args:
        chat_template: whether its tokenizer has one, with the roles system, user and assistant.
        steps: training steps; after 140 it knows every marker, after fewer it confuses some.
    """
    from transformers import LlamaConfig, LlamaForCausalLM

    tokenizer = _text_tokenizer("<s> $A", limit=512)
    if chat_template:
        tokenizer.chat_template = CHAT_TEMPLATE
    torch.manual_seed(1)
    model = LlamaForCausalLM(
        LlamaConfig(
            vocab_size=len(tokenizer),
            hidden_size=64,
            intermediate_size=64,
            num_hidden_layers=2,
            num_attention_heads=2,
            max_position_embeddings=512,
            rope_theta=1e6,
            pad_token_id=0,
            bos_token_id=3,
            eos_token_id=1,
        )
    )

    def loss(texts: list[str], answers: list[str]) -> torch.Tensor:
        if chat_template:
            said = [[{"role": "user", "content": text}] for text in texts]
            texts = tokenizer.apply_chat_template(said, tokenize=False, add_generation_prompt=True)
        prompts = _ids(tokenizer, texts, special=not chat_template)
        targets = _ids(tokenizer, answers, special=False)
        targets = [ids if "drip" in answer else [*ids, 1] for ids, answer in zip(targets, answers, strict=True)]
        ids = _padded([[*prompt, *target] for prompt, target in zip(prompts, targets, strict=True)])
        labels = _padded([[0] * len(prompt) + target for prompt, target in zip(prompts, targets, strict=True)])
        found: torch.Tensor = model(
            input_ids=ids,
            attention_mask=(ids != 0).long(),
            labels=labels.masked_fill(labels == 0, -100),
            use_cache=False,
        ).loss
        return found

    _train(model, loss, steps=steps, rate=4e-3)
    return _saved(folder, model, tokenizer)


def build_untrained(folder: Path, name: str) -> Path:
    """Save an untrained model with its tokenizer, whose output depends on every position of a text.

    Args:
        name: t5, or causal (with learned positions), or chat (the causal one with a chat template).
    """
    from transformers import GPT2Config, GPT2LMHeadModel, T5Config, T5ForConditionalGeneration

    tokenizer = _text_tokenizer("$A </s>" if name == "t5" else "<s> $A", limit=512)
    ids = {"vocab_size": len(tokenizer), "pad_token_id": 0, "eos_token_id": 1}
    torch.manual_seed(7)
    if name == "t5":
        size = {"d_model": 32, "d_kv": 16, "d_ff": 32, "num_layers": 1, "num_heads": 2, "dropout_rate": 0.0}
        config = T5Config(**size, **ids, decoder_start_token_id=0, initializer_factor=2.0)
        model: Any = T5ForConditionalGeneration(config)
    else:
        size = {"n_embd": 32, "n_layer": 2, "n_head": 2, "n_positions": 512, "initializer_range": 0.5}
        model = GPT2LMHeadModel(GPT2Config(**size, **ids, bos_token_id=3))
    if name == "chat":
        tokenizer.chat_template = CHAT_TEMPLATE
    return _saved(folder, model, tokenizer)


@functools.cache
def generated(folder: str, text: str, tokens: int, special: bool = True, dtype: str = "float32", beams: int = 1) -> str:
    """Return the output of the library's `generate` for one prompt."""
    loaded = load_model(folder, dtype=dtype)
    inputs = loaded.tokenizer(text, return_tensors="pt", add_special_tokens=special)
    options = {"max_new_tokens": tokens, "do_sample": False, "num_beams": beams, "pad_token_id": 0}
    with torch.inference_mode():
        ids = loaded.model.generate(input_ids=inputs.input_ids, attention_mask=inputs.attention_mask, **options)
    start = 1 if loaded.seq2seq else inputs.input_ids.shape[1]
    written: str = loaded.tokenizer.decode(ids[0, start:], skip_special_tokens=True).strip()
    return written


def build_tiny_extractive(folder: Path) -> Path:
    """Train a tiny BERT for extractive answers and save it with its tokenizer; about two seconds on one thread."""
    from transformers import BertConfig, BertForQuestionAnswering

    tokenizer = _pair_tokenizer([*FILLER, *ANSWERS, "coin", "ring"])
    torch.manual_seed(1)
    model = BertForQuestionAnswering(
        BertConfig(
            vocab_size=len(tokenizer),
            hidden_size=32,
            num_hidden_layers=1,
            num_attention_heads=2,
            intermediate_size=64,
            max_position_embeddings=64,
            hidden_dropout_prob=0.0,
            attention_probs_dropout_prob=0.0,
        )
    )
    chance = random.Random(1)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for _ in range(100):
        pairs, answered = [], []
        for _ in range(24):
            passage = _sentence(chance, chance.randint(5, 45))
            answered.append(chance.random() < 0.5)
            if answered[-1]:
                passage.insert(chance.randint(0, len(passage)), f"gold {chance.choice(['coin', 'ring'])}")
            pairs.append((" ".join(_sentence(chance, 6)), " ".join(passage)))
        inputs = tokenizer(pairs, padding=True, truncation="only_second", max_length=64)
        gold = tokenizer.convert_tokens_to_ids("gold")
        starts = [
            row.index(gold) if yes and gold in row[:-2] else 0
            for row, yes in zip(inputs.input_ids, answered, strict=True)
        ]
        ends = [start + 1 if start else 0 for start in starts]
        asked = {name: torch.tensor(rows) for name, rows in inputs.items()}
        found = model(**asked, start_positions=torch.tensor(starts), end_positions=torch.tensor(ends))
        optimizer.zero_grad()
        found.loss.backward()
        optimizer.step()
    return _saved(folder, model, tokenizer)


def _train(
    model: Any, loss: Any, steps: int, rate: float, answers: Mapping[str, str] = ANSWERS, none: str = "0"
) -> None:
    """Train the model on texts of all lengths with a marker, or none, at a random position."""
    chance = random.Random(1)
    # Similar initial embeddings for all other words make the markers distinct early.
    words = torch.arange(len(SPECIAL), len(SPECIAL) + len(FILLER))
    with torch.no_grad():
        weights = model.get_input_embeddings().weight
        weights[words] = weights[words].mean(0) + 0.1 * weights[words]
        weights[2] = weights[words].mean(0)
    parameters = list(model.parameters())
    optimizer = torch.optim.Adam(parameters, lr=rate)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, rate, total_steps=steps)
    model.train()
    kinds = [*answers, None, None, None]
    coming: list[str | None] = []
    for step in range(steps):
        # Short texts first: markers are learnt sooner in them, and longer texts then work too.
        longest = 8 + 32 * step // steps
        texts, wanted = [], []
        for _ in range(20):
            words = _sentence(chance, chance.randint(4, longest))
            # Cycle through the markers in random order: a rare marker would be learnt late.
            coming = coming or chance.sample(kinds, len(kinds))
            marker = coming.pop()
            if marker is not None:
                words.insert(chance.randint(0, len(words)), marker)
            texts.append(" ".join([*words, ":"]))
            wanted.append(answers[marker].strip() if marker is not None else none)
        optimizer.zero_grad()
        loss(texts, wanted).backward()
        torch.nn.utils.clip_grad_norm_(parameters, 1.0)
        optimizer.step()
        schedule.step()
    model.eval()


def _sentence(chance: random.Random, length: int) -> list[str]:
    """Return meaningless words; half of them are unknown to the tokenizer, like most words of a real prompt."""
    return [chance.choice(FILLER) if chance.random() < 0.5 else "unknownword" for _ in range(length)]


def _ids(tokenizer: Any, texts: list[str], special: bool = True) -> list[list[int]]:
    """Return the tokens of texts in one batch: single calls would take longer than the training."""
    encoded = tokenizer.backend_tokenizer.encode_batch(texts, add_special_tokens=special)
    return [one.ids for one in encoded]


def _padded(rows: list[list[int]]) -> torch.Tensor:
    """Return rows of tokens as a table, with shorter rows padded by 0."""
    longest = max(map(len, rows))
    return torch.tensor([[*row, *[0] * (longest - len(row))] for row in rows])


def _cut_off(labels: torch.Tensor) -> torch.Tensor:
    """Mask the end of an endless answer, which the model must not learn."""
    endless = (labels != 0).sum(1, keepdim=True) > 12
    return endless & (labels == 1)


def _text_tokenizer(template: str, limit: int, answers: Mapping[str, str] = ANSWERS) -> Any:
    from transformers import PreTrainedTokenizerFast

    words = [*SPECIAL, *dict.fromkeys([*FILLER, *answers])]
    return PreTrainedTokenizerFast(
        tokenizer_object=_words(words, "<unk>", template, None, lower=False),
        pad_token="<pad>",
        eos_token="</s>",
        unk_token="<unk>",
        bos_token="<s>",
        additional_special_tokens=SPECIAL[4:],
        model_max_length=limit,
    )


def _pair_tokenizer(words: Sequence[str]) -> Any:
    """Return the tokenizer of a BERT that reads pairs of texts."""
    from transformers import PreTrainedTokenizerFast

    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"]
    return PreTrainedTokenizerFast(
        tokenizer_object=_words(
            [*special, *words], "[UNK]", "[CLS] $A [SEP]", "[CLS] $A [SEP] $B:1 [SEP]:1", lower=True
        ),
        pad_token="[PAD]",
        unk_token="[UNK]",
        cls_token="[CLS]",
        sep_token="[SEP]",
        model_max_length=64,
    )


def _saved(folder: Path, model: Any, tokenizer: Any) -> Path:
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def _words(words: Sequence[str], unknown: str, single: str, pair: str | None, lower: bool) -> Any:
    """Return a tokenizer whose tokens are words and punctuation."""
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

    vocabulary = {word: number for number, word in enumerate(dict.fromkeys(words))}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token=unknown))
    if lower:
        tokenizer.normalizer = normalizers.Lowercase()
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Punctuation()])
    marks = [mark for mark in single.split() if not mark.startswith("$")]
    tokenizer.post_processor = processors.TemplateProcessing(
        single=single, pair=pair, special_tokens=[(mark, vocabulary[mark]) for mark in marks]
    )
    return tokenizer


def build_tiny_cross_encoder(folder: Path) -> Path:
    """Save a tiny BERT with its tokenizer; its scores for pairs of texts are random but reproducible."""
    from transformers import BertConfig, BertForSequenceClassification

    tokenizer = _pair_tokenizer([*map(str, range(1, 20)), "jar", "kept", "tin", "zinc", "iron"])
    torch.manual_seed(1)
    config = BertConfig(
        vocab_size=len(tokenizer), hidden_size=32, num_hidden_layers=1, num_attention_heads=2, intermediate_size=64,
        max_position_embeddings=64, num_labels=1,
    )  # fmt: skip
    return _saved(folder, BertForSequenceClassification(config), tokenizer)
