"""The forward pass of a BERT encoder.

The embedded model does without the transformers library, which takes longer to load than the
grading of a question.

Source: Devlin et al. (2019), BERT; names of the weights as in the published files.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch.nn import functional


@dataclass(frozen=True)
class Bert:
    """A BERT encoder without a pooler.

    Args:
        weights: tensors by their published name, all on one device.
        layers, heads: numbers of layers and of attention heads.
        eps: epsilon of the layer norms.
    """

    weights: Mapping[str, torch.Tensor]
    layers: int
    heads: int
    eps: float

    def __call__(self, ids: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """Encode a batch of texts.

        Args:
            ids: long (texts, tokens): tokens, padded on the right.
            mask: bool (texts, tokens): True for tokens, False for padding.

        Returns:
            Float (texts, tokens, width): the last layer.
        """
        weights = self.weights
        # All texts belong to the first segment.
        hidden = (
            weights["embeddings.word_embeddings.weight"][ids]
            + weights["embeddings.token_type_embeddings.weight"][0]
            + weights["embeddings.position_embeddings.weight"][: ids.shape[1]]
        )
        hidden = self._norm("embeddings.LayerNorm", hidden)
        for number in range(self.layers):
            layer = f"encoder.layer.{number}"
            attended = self._dense(
                f"{layer}.attention.output.dense",
                self._attention(f"{layer}.attention.self", hidden, mask),
            )
            hidden = self._norm(f"{layer}.attention.output.LayerNorm", attended + hidden)
            wide = functional.gelu(self._dense(f"{layer}.intermediate.dense", hidden))
            hidden = self._norm(
                f"{layer}.output.LayerNorm", self._dense(f"{layer}.output.dense", wide) + hidden
            )
        return hidden

    def _attention(self, name: str, hidden: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        query, key, value = (
            self._dense(f"{name}.{part}", hidden)
            .reshape(*mask.shape, self.heads, -1)
            .transpose(1, 2)
            for part in ("query", "key", "value")
        )
        seen = functional.scaled_dot_product_attention(
            query, key, value, attn_mask=mask[:, None, None, :]
        )
        return seen.transpose(1, 2).flatten(2)

    def _dense(self, name: str, hidden: torch.Tensor) -> torch.Tensor:
        return functional.linear(
            hidden, self.weights[f"{name}.weight"], self.weights[f"{name}.bias"]
        )

    def _norm(self, name: str, hidden: torch.Tensor) -> torch.Tensor:
        weight, bias = self.weights[f"{name}.weight"], self.weights[f"{name}.bias"]
        return functional.layer_norm(hidden, weight.shape, weight, bias, self.eps)
