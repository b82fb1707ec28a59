"""Prompt sources, one file each. Every source is a fixed, seeded order of distinct prompts."""

from verispec_bench.workload.exact_length import fixed_length
from verispec_bench.workload.prompt import Message, Prompt
from verispec_bench.workload.source import load_prompts, load_workload
from verispec_bench.workload.tokenizer import tokenise
from verispec_bench.workload.workload import Tokenise, Workload, prompts_digest

__all__ = [
    "Message",
    "Prompt",
    "Tokenise",
    "Workload",
    "fixed_length",
    "load_prompts",
    "load_workload",
    "prompts_digest",
    "tokenise",
]
