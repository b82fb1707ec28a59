"""One batch that mixes every kind of request whose state a rejected draft could spoil."""

import random
from dataclasses import dataclass, field, replace

from vllm import SamplingParams
from vllm.sampling_params import RepetitionDetectionParams, RequestOutputKind, StructuredOutputsParams

LENGTH = 24
TOP = 5
CONTEXT = 128
PRINTABLE = 94
"""The first tokens are ASCII's printable characters: a prompt of these ends with a whole character."""
LONG = 100
"""Prompt tokens of a request whose prefill takes several steps of the speculative engine of replay.py."""
IN_CHUNKS = ("long prompt", "prompt logprobs")
TEXT, LAW = "; text", "; law"
STATEFUL = (
    "plain", "presence penalty", "frequency penalty", "repetition penalty", "bad words", "stop string",
    "min_tokens before a stop id", "regular expression", "JSON schema", "split characters", "everything",
)  # fmt: skip


@dataclass(frozen=True)
class Asked:
    """A named request; options are those of SamplingParams."""

    name: str
    prompt: list[int]
    options: dict = field(default_factory=dict)

    def params(self, kind: RequestOutputKind) -> SamplingParams:
        options = {"max_tokens": LENGTH, "temperature": 0.0, "logprobs": TOP} | self.options
        if constraint := options.pop("structured", None):
            options["structured_outputs"] = StructuredOutputsParams(**constraint)
        return SamplingParams(**options, output_kind=kind)


SCHEMA = {
    "type": "object",
    "properties": {
        "on": {"type": "boolean"},
        "kind": {"enum": ["é", "naïve", "漢字"]},
        "size": {"type": "integer", "minimum": 0, "maximum": 99},
    },
    "required": ["on", "kind", "size"],
    "additionalProperties": False,
}


def kinds(tokenizer) -> dict[str, dict]:
    """Options by kind of request; a few letters are allowed where words must come up by chance."""

    def allowed(letters: str, *further: str) -> dict:
        return {"allowed_token_ids": [i for t in (*letters, *further) for i in _bytes(tokenizer, t)]}

    end = tokenizer.eos_token_id
    (d,) = tokenizer.encode("d")
    with_end = {"allowed_token_ids": [*allowed("abcx")["allowed_token_ids"], end]}
    long = {"max_tokens": 60}
    return {
        "plain": {},
        "top-k and top-p": {"top_k": 20, "top_p": 0.9},
        "presence penalty": {"presence_penalty": 1.5},
        "frequency penalty": {"frequency_penalty": 1.5} | allowed("abcde"),
        "repetition penalty": {"repetition_penalty": 1.8} | allowed("abcdefg"),
        "bad words": {"bad_words": ["b", "ac", "ddd"]} | allowed("abcd"),
        "allowed ids": allowed("acegikmoqsuwy"),
        "min_tokens before the end": {"min_tokens": 9} | with_end | long,
        "min_tokens before a stop id": {"min_tokens": 7, "stop_token_ids": [d]} | allowed("abcd") | long,
        "min_tokens before a stop string": {"min_tokens": 11, "stop": ["ba", "ac"]} | allowed("abc") | long,
        "stop id": {"stop_token_ids": [d]} | allowed("abcdefgh") | long,
        "stop string": {"stop": ["baeg", "fefab", "dca"]} | allowed("abcdefgh", "ab") | long,
        "stop string inside a token": {"stop": ["fb", "bc"]} | allowed("abcdefgh", "abc") | long,
        "stop string kept": {"stop": ["fffba", "hb"], "include_stop_str_in_output": True} | allowed("abcdfgh") | long,
        "stop string of many characters": {"stop": ["éééé"]} | allowed("é漢") | long,
        "the end": with_end | long,
        "the end ignored": {"ignore_eos": True} | with_end,
        "the end shown": {"ignore_eos": True, "skip_special_tokens": False} | with_end,
        "one token": {"max_tokens": 1},
        "two tokens": {"max_tokens": 2},
        "regular expression": {"structured": {"regex": "[a-d]{3}(é|ü|漢|😀){4}-[0-9]{2,6}"}} | long,
        "JSON schema": {"structured": {"json": SCHEMA}, "max_tokens": 72},
        "split characters": allowed("é漢😀a"),
        "no logprobs": {"logprobs": None},
        "sampled token's logprob": {"logprobs": 0},
        "prompt logprobs": {"prompt_logprobs": 2, "logprobs": 3},
        "min_p": {"min_p": 0.1},
        "logit_bias": {"logit_bias": {_bytes(tokenizer, "z")[0]: 4.0, end: 3.0}},
        "no text": {"detokenize": False},
        "long prompt": {},
        "up to the context's end": {"max_tokens": None, "ignore_eos": True},
        "everything": {
            "presence_penalty": 0.5, "frequency_penalty": 0.5, "repetition_penalty": 1.2, "bad_words": ["ba"],
            "logit_bias": {d: 1.0}, "min_tokens": 6, "stop_token_ids": [d], "stop": ["hg"], "top_k": 6,
        } | allowed("abcdefgh", "ab") | long,
        "flat logprobs": {"flat_logprobs": True},
        "streamed by fours": {"stream_interval": 4},
        "repetition ends it": {"repetition_detection": RepetitionDetectionParams(3, 1, 4)} | allowed("abcd") | long,
    }  # fmt: skip


def mixed_batch(tokenizer) -> list[Asked]:
    """Every kind once greedy and once sampled by a seed, each with a prompt of its own."""
    batch = []
    for number, (kind, options) in enumerate(kinds(tokenizer).items()):
        source = random.Random(number)
        length = {"up to the context's end": CONTEXT - 14}.get(kind, LONG if kind in IN_CHUNKS else 8 + number % 37)
        prompt = [source.randrange(PRINTABLE) for _ in range(length)]
        batch.append(Asked(f"{kind}, greedy", prompt, _only_for_samples(options)))
        seeded = {"temperature": 0.9, "seed": 1000 + number}
        batch.append(Asked(f"{kind}, seeded", prompt[::-1], options | seeded))
    return batch


def structured_batch() -> list[Asked]:
    """Eight requests that each must answer in JSON, four of them sampled."""
    batch = []
    for number in range(8):
        source = random.Random(100 + number)
        prompt = [source.randrange(PRINTABLE) for _ in range(40 + number)]
        seeded = {"temperature": 1.0, "seed": number} if number % 2 else {}
        options = {"structured": {"json": SCHEMA}, "max_tokens": 72} | seeded
        batch.append(Asked(f"JSON schema {number}", prompt, options))
    return batch


def with_whole_laws(batch: list[Asked]) -> list[Asked]:
    """The same requests, asking for every token's logprob; without text, which would take vLLM minutes to decode.

    Those that need their text (stop strings) are left without logprobs.
    """
    whole, none = {"detokenize": False, "logprobs": -1}, {"logprobs": None}
    return [replace(one, options=one.options | (none if one.options.get("stop") else whole)) for one in batch]


def twins(batch: list[Asked]) -> list[Asked]:
    """Requests of the kinds whose state is looked into: once with text, and once with every token's logprob."""
    law = {"detokenize": False, "logprobs": -1, "stop": None}
    return [
        replace(one, name=one.name + twin, options=one.options | options)
        for one in batch
        if one.name.rsplit(", ", 1)[0] in STATEFUL
        for twin, options in ((TEXT, {"logprobs": None}), (LAW, law))
    ]


def unstopped(batch: list[Asked]) -> list[Asked]:
    """The same requests, going on after a stop string, a stop id or the end: what an adversary drafts past them."""
    on = {"stop": None, "stop_token_ids": None, "ignore_eos": True, "logprobs": None, "prompt_logprobs": None}
    return [
        replace(one, options=one.options | on)
        for one in batch
        if not {"min_tokens", "structured", "ignore_eos"} & one.options.keys()
    ]


def _only_for_samples(options: dict) -> dict:
    return {name: value for name, value in options.items() if name not in ("top_k", "top_p", "min_p")}


def _bytes(tokenizer, text: str) -> list[int]:
    """The token of a text that is one, else those of its bytes."""
    token = tokenizer.encode(text)
    if len(token) == 1:
        return token
    return [tokenizer.convert_tokens_to_ids(c) for c in _byte_level(text)]


def _byte_level(text: str) -> str:
    from tokenizers import pre_tokenizers

    return "".join(piece for piece, _ in pre_tokenizers.ByteLevel(add_prefix_space=False).pre_tokenize_str(text))
