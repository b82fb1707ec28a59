"""Prompt sources, one file each. Every source is a fixed, seeded order of distinct prompts."""

from verispec_bench.workload.prompt import Message, Prompt
from verispec_bench.workload.source import load_prompts, prompts_digest

__all__ = ["Message", "Prompt", "load_prompts", "prompts_digest"]
