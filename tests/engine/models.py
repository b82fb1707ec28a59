"""Tiny models with random weights, made where they are needed."""

from pathlib import Path
from typing import Any

MERGES = [("a", "b"), ("ab", "c"), ("c", "a"), ("d", "d"), ("Ã", "©")]
"""Tokens of more than one byte: "ab", "abc", "ca", "dd" and "é" (as ByteLevel spells its two bytes)."""
EOS = "</s>"
DAMPING = 0.3
"""Of the last layer, so that the first one alone often, and not always, says the same."""


def make_byte_model(path: Path) -> None:
    """A 2-layer Llama over 262 tokens: every byte, so that most characters take several; a few words; the end."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    tokens = [*sorted(pre_tokenizers.ByteLevel.alphabet()), *("".join(pair) for pair in MERGES), EOS]
    tokenizer = Tokenizer(models.BPE({token: i for i, token in enumerate(tokens)}, MERGES))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token=EOS).save_pretrained(path)
    model = _tiny_llama(len(tokens), bos_token_id=None, eos_token_id=len(tokens) - 1)
    for projection in (model.model.layers[-1].self_attn.o_proj, model.model.layers[-1].mlp.down_proj):
        projection.weight.data *= DAMPING
    model.save_pretrained(path)


def make_letter_model(path: Path) -> None:
    """A 2-layer Llama over 16 tokens: letters, and the end."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    _tiny_llama(16).save_pretrained(path)
    vocabulary = {letter: i for i, letter in enumerate("ab")} | {EOS: 2}
    vocabulary |= {letter: i for i, letter in enumerate("defghijklmnop", start=3)}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="a"))
    tokenizer.pre_tokenizer = pre_tokenizers.Split("", "isolated")
    tokenizer.decoder = decoders.Fuse()
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token=EOS).save_pretrained(path)


def _tiny_llama(vocab_size: int, **options: Any) -> Any:
    """Random weights, the same at every call; heads of 32 are the smallest that vLLM's CPU attention takes."""
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=vocab_size,
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=1,
        num_key_value_heads=1,
        head_dim=32,
        initializer_range=0.4,
        max_position_embeddings=256,
        **options,
    )
    return LlamaForCausalLM(config)


def make_first_layer(path: Path, target: Path) -> None:
    """A draft model: the target's first layer, with its embeddings, norm and head."""
    import torch
    from transformers import AutoTokenizer, LlamaForCausalLM

    model = LlamaForCausalLM.from_pretrained(target, dtype=torch.float32)
    model.model.layers = model.model.layers[:1]
    model.config.num_hidden_layers = 1
    model.save_pretrained(path)
    AutoTokenizer.from_pretrained(target).save_pretrained(path)
